//! The storage, driven through the trait of pingora-cache.

use bytes::Bytes;
use gordon_objectcache::{Cache, Config, Error, Flash};
use gordon_pingora::ObjectStorage;
use gordon_testkit::watchdog;
use pingora_cache::eviction::{CacheEntryId, CacheEntryKey};
use pingora_cache::key::CacheHashKey;
use pingora_cache::storage::{
    HandleHit, HitHandler, MissFinishType, MissHandler, PurgeOutcome, PurgeTarget, PurgeType,
    Storage,
};
use pingora_cache::trace::{Span, SpanHandle};
use pingora_cache::{CacheKey, CacheMeta};
use pingora_http::ResponseHeader;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

/// Size of a block.
const BLOCK: usize = 2048;
/// Size of a segment.
const SEGMENT: u32 = 16 << 10;
/// The journal, and 12 segments.
const FLASH: u64 = 288 * 1024 + 12 * SEGMENT as u64;

fn config(folder: &Path) -> Config {
    let flash = Flash { segment: Some(SEGMENT), ..Flash::new(folder.into(), FLASH) };
    Config { flash: Some(flash), block: BLOCK as u32, ..Config::new(24_000) }
}

fn open(config: Config) -> &'static ObjectStorage {
    let (cache, _) = Cache::open(config).expect("it opens");
    Box::leak(Box::new(ObjectStorage::new(cache)))
}

/// A storage in DRAM.
fn in_dram() -> &'static ObjectStorage {
    open(Config { block: BLOCK as u32, ..Config::new(1 << 20) })
}

fn span() -> SpanHandle {
    Span::inactive().handle()
}

fn key(name: &str) -> CacheKey {
    CacheKey::new(name, "")
}

fn meta(name: &str) -> CacheMeta {
    let mut header = ResponseHeader::build(200, None).expect("a header");
    header.append_header("x-name", name).expect("a field");
    header.append_header("x-twice", "1").expect("a field");
    header.append_header("x-twice", "2").expect("a field");
    let now = SystemTime::now();
    CacheMeta::new(now + Duration::from_secs(60), now, 5, 7, header)
}

fn body(name: &str, size: usize) -> Bytes {
    format!("{name}\n").bytes().cycle().take(size).collect()
}

async fn miss(storage: &'static ObjectStorage, key: &CacheKey, name: &str) -> MissHandler {
    storage.get_miss_handler(key, &meta(name), &span()).await.expect("a handler")
}

/// Stores a body in parts of this size.
async fn put(
    storage: &'static ObjectStorage,
    key: &CacheKey,
    name: &str,
    size: usize,
    part: usize,
) {
    let mut miss = miss(storage, key, name).await;
    let whole = body(name, size);
    for start in (0..size).step_by(part) {
        let end = size.min(start + part);
        miss.write_body(whole.slice(start..end), end == size).await.expect("written");
    }
    let MissFinishType::Created(written) = miss.finish().await.expect("stored") else {
        panic!("a new object");
    };
    assert_eq!(written, size);
}

async fn look(storage: &'static ObjectStorage, key: &CacheKey) -> Option<(CacheMeta, HitHandler)> {
    storage.lookup(key, &span()).await.expect("a lookup")
}

async fn rest(hit: &mut HitHandler) -> pingora_error::Result<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(part) = hit.read_body().await? {
        assert!(!part.is_empty());
        found.extend(part);
    }
    Ok(found)
}

/// The name in the metadata of an object, and its body.
async fn get(storage: &'static ObjectStorage, key: &CacheKey) -> Option<(String, Vec<u8>)> {
    let (meta, mut hit) = look(storage, key).await?;
    let name = meta.headers()["x-name"].to_str().expect("text").to_owned();
    let body = rest(&mut hit).await.ok()?;
    hit.finish(storage, key, &span()).await.expect("finished");
    Some((name, body))
}

async fn purge(storage: &'static ObjectStorage, key: &CacheKey) -> PurgeOutcome {
    let key = key.to_compact();
    let target = PurgeTarget::Active(&key);
    storage.purge(target, PurgeType::Invalidation, &span()).await.expect("purged")
}

fn now_or_never<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[tokio::test]
async fn what_was_written_is_found_with_its_metadata() {
    let storage = in_dram();
    for (size, part) in [
        (0, 1),
        (1, 1),
        (BLOCK - 1, 500),
        (BLOCK, BLOCK),
        (BLOCK + 1, 7),
        (10 * BLOCK, 3000),
        (10 * BLOCK + 5, 100_000),
    ] {
        let name = format!("{size} in {part}");
        let key = key(&name);
        assert!(look(storage, &key).await.is_none());
        put(storage, &key, &name, size, part).await;
        let (found, mut hit) = look(storage, &key).await.expect("it was stored");
        let expected = meta(&name);
        assert_eq!(found.response_header().headers, expected.response_header().headers);
        assert_eq!(found.stale_while_revalidate_sec(), 5);
        assert!(found.is_fresh(SystemTime::now()));
        assert_eq!(hit.get_eviction_weight(), size);
        assert!(rest(&mut hit).await.expect("a body") == body(&name, size), "{name}");
        assert!(hit.read_body().await.expect("the end").is_none());
    }
}

#[tokio::test]
async fn variants_have_objects_of_their_own_and_are_purged_together() {
    let storage = in_dram();
    let mut keys = [key("a"), key("a"), key("a"), key("b")];
    keys[1].set_variance_key([1; 16]);
    keys[2].set_variance_key([2; 16]);
    for (number, key) in keys.iter().enumerate() {
        put(storage, key, &format!("{number}"), 3 * BLOCK, 999).await;
    }
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(get(storage, key).await.expect("stored").0, format!("{number}"));
    }
    assert_eq!(purge(storage, &keys[1]).await, PurgeOutcome::Purged(None));
    assert!(get(storage, &keys[1]).await.is_none());
    assert!(get(storage, &keys[2]).await.is_some());
    assert_eq!(storage.purge_variants(&keys[0].to_compact()).await.expect("purged"), 2);
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(get(storage, key).await.is_some(), number == 3);
    }
}

#[tokio::test]
async fn readers_follow_a_write_in_progress() {
    let storage = in_dram();
    assert!(storage.support_streaming_partial_write());
    let key = key("a");
    let whole = body("a", 5 * BLOCK);
    let mut miss = miss(storage, &key, "a").await;
    let (_, mut first) = look(storage, &key).await.expect("a write in progress");
    assert!(!first.can_seek() && !first.should_count_access());
    assert!(now_or_never(first.read_body()).is_none(), "nothing is written yet");
    miss.write_body(whole.slice(..100), false).await.expect("written");
    assert_eq!(first.read_body().await.expect("a part"), Some(whole.slice(..100)));
    assert!(now_or_never(first.read_body()).is_none());
    // More than a block: the start is read from the cache.
    miss.write_body(whole.slice(100..3 * BLOCK + 10), false).await.expect("written");
    let tag = miss.streaming_write_tag().map(<[u8]>::to_vec);
    let own = storage.lookup_streaming_write(&key, tag.as_deref(), &span()).await;
    let (_, mut second) = own.expect("a lookup").expect("its own write");
    let reading = tokio::spawn(async move { rest(&mut second).await });
    miss.write_body(whole.slice(3 * BLOCK + 10..), true).await.expect("written");
    let mut found = whole.slice(..100).to_vec();
    found.extend(rest(&mut first).await.expect("the rest"));
    assert!(found == whole);
    miss.finish().await.expect("stored");
    assert!(reading.await.expect("a task").expect("a body") == whole);
    let (_, hit) = look(storage, &key).await.expect("stored");
    assert!(hit.can_seek());
    let gone = storage.lookup_streaming_write(&key, tag.as_deref(), &span()).await;
    assert!(gone.expect("a lookup").is_none(), "the write has ended");
    for tag in [&b"12345678"[..], b"", b"123456789"] {
        let other = storage.lookup_streaming_write(&key, Some(tag), &span()).await;
        assert!(other.expect("a lookup").is_none());
    }
}

#[tokio::test]
async fn a_write_that_is_dropped_stores_nothing_and_fails_its_readers() {
    let storage = in_dram();
    let key = key("a");
    put(storage, &key, "old", 10, 10).await;
    let mut miss = miss(storage, &key, "new").await;
    miss.write_body(body("new", 2 * BLOCK), false).await.expect("written");
    let (_, mut hit) = look(storage, &key).await.expect("the write");
    drop(miss);
    assert!(rest(&mut hit).await.is_err());
    assert_eq!(get(storage, &key).await.expect("the old one").0, "old");
}

#[tokio::test]
async fn writers_of_one_key_do_not_mix() {
    let storage = in_dram();
    let key = key("a");
    let mut one = miss(storage, &key, "one").await;
    let mut two = miss(storage, &key, "two").await;
    let mut hits = Vec::new();
    for miss in [&one, &two] {
        let tag = miss.streaming_write_tag();
        let hit = storage.lookup_streaming_write(&key, tag, &span()).await;
        hits.push(hit.expect("a lookup").expect("its own write"));
    }
    for part in 0..4 {
        let range = part * BLOCK..(part + 1) * BLOCK;
        one.write_body(body("one", 4 * BLOCK).slice(range.clone()), part == 3)
            .await
            .expect("written");
        two.write_body(body("two", 4 * BLOCK).slice(range), part == 3).await.expect("written");
    }
    two.finish().await.expect("stored");
    one.finish().await.expect("stored");
    for ((meta, hit), name) in hits.iter_mut().zip(["one", "two"]) {
        assert_eq!(meta.headers()["x-name"], name);
        assert!(rest(hit).await.expect("a body") == body(name, 4 * BLOCK));
    }
    assert_eq!(get(storage, &key).await.expect("stored").0, "one", "the last one counts");
}

#[tokio::test]
async fn ranges_are_read_in_any_order() {
    let storage = in_dram();
    let key = key("a");
    let size = 5 * BLOCK + 100;
    put(storage, &key, "a", size, 1000).await;
    let whole = body("a", size);
    let (_, mut hit) = look(storage, &key).await.expect("stored");
    assert!(hit.can_seek() && hit.can_seek_multipart());
    for (start, end) in [
        (size - 1, None),
        (0, Some(1)),
        (BLOCK - 1, Some(BLOCK + 1)),
        (100, None),
        (BLOCK, Some(2 * BLOCK)),
        (3, Some(size + 100)),
        (5, Some(5)),
    ] {
        hit.seek(start, end).expect("a range");
        let end = end.unwrap_or(size).min(size);
        assert!(rest(&mut hit).await.expect("a body") == whole.slice(start..end), "{start} {end}");
    }
    assert!(hit.seek(size, None).is_err());
    hit.seek(9, Some(3)).expect("an empty range");
    assert!(rest(&mut hit).await.expect("a body").is_empty());
}

#[tokio::test]
async fn a_purged_object_is_a_miss_also_if_it_is_being_written() {
    let storage = in_dram();
    let key = key("a");
    assert_eq!(purge(storage, &key).await, PurgeOutcome::NotFound);
    put(storage, &key, "a", 3 * BLOCK, 1000).await;
    let compact = key.to_compact();
    let other = CacheEntryKey::identified(compact.clone(), CacheEntryId::new(1));
    let exact = |entry| async move {
        let target = PurgeTarget::Exact(entry);
        storage.purge(target, PurgeType::Eviction, &span()).await.expect("purged")
    };
    assert_eq!(exact(&other).await, PurgeOutcome::NotFound);
    assert!(get(storage, &key).await.is_some());
    let entry = CacheEntryKey::key_only(compact);
    assert_eq!(exact(&entry).await, PurgeOutcome::Purged(None));
    assert!(look(storage, &key).await.is_none());
    let mut miss = miss(storage, &key, "a").await;
    miss.write_body(body("a", 100), true).await.expect("written");
    let (_, mut hit) = look(storage, &key).await.expect("the write");
    assert_eq!(purge(storage, &key).await, PurgeOutcome::Purged(None));
    assert!(look(storage, &key).await.is_none());
    miss.finish().await.expect("ended");
    assert!(look(storage, &key).await.is_none());
    assert_eq!(rest(&mut hit).await.expect("its reader has it"), body("a", 100));
}

#[tokio::test]
async fn metadata_are_replaced_and_expired() {
    let storage = in_dram();
    let key = key("a");
    let update = |name| async move {
        storage.update_meta(&CacheKey::new("a", ""), &meta(name), &span()).await.expect("updated")
    };
    assert!(!update("none").await);
    let compact = key.to_compact();
    let expire =
        || async { storage.expire(PurgeTarget::Active(&compact), &span()).await.expect("expired") };
    assert_eq!(expire().await, PurgeOutcome::NotFound);
    put(storage, &key, "old", 3 * BLOCK, 1000).await;
    assert!(update("new").await);
    let (name, found) = get(storage, &key).await.expect("stored");
    assert!(name == "new" && found == body("old", 3 * BLOCK));
    assert_eq!(expire().await, PurgeOutcome::Expired);
    let (meta, mut hit) = look(storage, &key).await.expect("stored");
    assert!(!meta.is_fresh(SystemTime::now()));
    assert_eq!(meta.stale_if_error_sec(), 7);
    assert!(rest(&mut hit).await.expect("a body") == body("old", 3 * BLOCK));
    assert!(update("fresh").await);
    assert!(look(storage, &key).await.expect("stored").0.is_fresh(SystemTime::now()));
}

#[tokio::test]
async fn the_cache_is_bounded_and_never_returns_another_body() {
    let _watchdog = watchdog("the_cache_is_bounded_and_never_returns_another_body");
    let folder = tempfile::tempdir().expect("a folder");
    let storage = open(config(folder.path()));
    let size = |number: usize| 100 + number * 977 % (3 * BLOCK);
    for number in 0..300 {
        let name = format!("{number}");
        put(storage, &key(&name), &name, size(number), 1500).await;
    }
    let mut found = 0;
    for number in 0..300 {
        let name = format!("{number}");
        if let Some((of, read)) = get(storage, &key(&name)).await {
            assert_eq!(of, name);
            assert!(read == body(&name, size(number)), "{name}");
            found += 1;
        }
    }
    let stats = storage.cache().stats();
    assert!((20..250).contains(&found), "{found} of 300");
    assert!(stats.flash_evictions > 0 && stats.events.flash_hits > 0, "{stats:?}");
    assert!(stats.flash_bytes <= stats.flash_capacity);
    let file = folder.path().join("cache.flash");
    assert_eq!(std::fs::metadata(file).expect("the flash").len(), FLASH);
}

#[tokio::test]
async fn content_outlives_a_restart_and_what_was_purged_does_not() {
    let _watchdog = watchdog("content_outlives_a_restart_and_what_was_purged_does_not");
    let folder = tempfile::tempdir().expect("a folder");
    let storage = open(config(folder.path()));
    for number in 0..20 {
        let name = format!("{number}");
        put(storage, &key(&name), &name, 100 + number * 300, 700).await;
    }
    // It was in flash when it was purged.
    assert_eq!(purge(storage, &key("3")).await, PurgeOutcome::Purged(None));
    storage.cache().close().await.expect("closed");
    let closed = storage.lookup(&key("4"), &span()).await;
    assert!(closed.expect("a lookup").is_none(), "a closed cache finds nothing");
    let mut miss = miss(storage, &key("x"), "x").await;
    assert!(miss.write_body(Bytes::from_static(b"x"), true).await.is_err());
    drop(miss);
    assert!(matches!(Cache::open(config(folder.path())), Err(Error::InUse(_))));
    // The first storage is static and keeps its file open, so a copy of the file is opened.
    let again = tempfile::tempdir().expect("a folder");
    let copy = |name| std::fs::copy(folder.path().join(name), again.path().join(name));
    copy("cache.flash").expect("copied");
    let storage = open(config(again.path()));
    for number in 0..20 {
        let name = format!("{number}");
        let found = get(storage, &key(&name)).await;
        if number == 3 {
            assert!(found.is_none());
            continue;
        }
        let (of, read) = found.expect("stored");
        assert!(of == name && read == body(&name, 100 + number * 300), "{name}");
    }
}

#[tokio::test]
async fn a_damaged_object_is_a_miss() {
    let _watchdog = watchdog("a_damaged_object_is_a_miss");
    let folder = tempfile::tempdir().expect("a folder");
    let storage = open(config(folder.path()));
    for number in 0..20 {
        let name = format!("{number}");
        put(storage, &key(&name), &name, 3000, 700).await;
    }
    storage.cache().close().await.expect("closed");
    let mut bytes = std::fs::read(folder.path().join("cache.flash")).expect("the flash");
    // One byte in every 5000 of the segments, which have the names of objects in their bodies.
    for at in (bytes.len() - 12 * SEGMENT as usize..bytes.len()).step_by(5000) {
        bytes[at] ^= 1;
    }
    let again = tempfile::tempdir().expect("a folder");
    std::fs::write(again.path().join("cache.flash"), bytes).expect("written");
    let storage = open(config(again.path()));
    let mut found = 0;
    for number in 0..20 {
        let name = format!("{number}");
        let key = key(&name);
        let Some((_, mut hit)) = look(storage, &key).await else { continue };
        match rest(&mut hit).await {
            Ok(read) => {
                assert!(read == body(&name, 3000), "{name}");
                found += 1;
            }
            // A block is damaged: the object is gone from now on.
            Err(_) => assert!(look(storage, &key).await.is_none(), "{name}"),
        }
    }
    assert!((1..20).contains(&found), "{found} of 20");
}

#[tokio::test]
async fn what_is_too_large_is_not_stored_and_an_older_object_is_gone() {
    let storage = open(Config { block: 1 << 20, ..Config::new(100_000) });
    let key = key("a");
    put(storage, &key, "old", 1000, 1000).await;
    put(storage, &key, "new", 300_000, 10_000).await;
    assert!(get(storage, &key).await.is_none());
    let mut large = miss(storage, &key, "larger").await;
    let part = body("larger", 700_000);
    large.write_body(part.clone(), false).await.expect("less than a block");
    assert!(large.write_body(part, true).await.is_err());
}

#[test]
fn a_key_does_not_depend_on_the_tag_of_a_user() {
    let storage = in_dram();
    let (one, two) = (CacheKey::new("a", "1"), CacheKey::new("a", "2"));
    assert_eq!(one.combined(), two.combined());
    gordon_objectcache::block_on(async {
        put(storage, &one, "a", 10, 10).await;
        assert!(get(storage, &two).await.is_some());
    });
}

/// The trait objects can move to other threads.
const fn is_shared<T: Send + Sync + ?Sized>() {}
const _: () = is_shared::<ObjectStorage>();
const _: () = is_shared::<dyn HandleHit + Send + Sync>();
