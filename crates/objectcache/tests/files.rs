//! Caches in files, with threads: concurrent use, kills of the process, and files that cannot be
//! used.

use bytes::Bytes;
use gordon_objectcache::{
    Admission, Cache, Config, Error, Flash, Lifetime, Put, Stats, Tier, block_on,
};
use gordon_store::{Backend, Faults, Image};
use gordon_testkit::{Random, image, watchdog};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// A cache in a file, in a file with sets, or in a NAND image, by the extension.
fn config(path: &Path) -> Config {
    let is = |expected| path.extension().is_some_and(|extension| extension == expected);
    let image = Flash::image(path.into());
    let flash = if is("img") { image } else { Flash::new(path.into(), 4 << 20) };
    let sets = is("sets").then_some(0.5);
    let flash = Flash { segment: Some(64 << 10), sets, ..flash };
    Config { flash: Some(flash), ..Config::new(200_000) }
}

fn body(number: u64, version: u64) -> Bytes {
    let len = if number.is_multiple_of(11) { 40_000 } else { 500 + number as usize * 37 % 3000 };
    let words = [number, version, number ^ version.rotate_left(20)];
    let bytes = words.map(u64::to_le_bytes).concat();
    let mut body = bytes.repeat(len.div_ceil(bytes.len()));
    body.truncate(len);
    body.into()
}

fn key(number: u64) -> Vec<u8> {
    format!("object {number}").into_bytes()
}

/// Reads an object, whose metadata are its version. Each byte must be that of the version.
fn read(cache: &Cache, number: u64) -> Option<(u64, Tier)> {
    let object = block_on(cache.get(&key(number)))?;
    let version = u64::from_le_bytes(object.meta().try_into().expect("8 bytes"));
    let found = block_on(object.read(0..u64::MAX)).expect("it is open")?;
    assert!(found == body(number, version), "object {number}, version {version}");
    Some((version, object.tier()))
}

fn put(cache: &Cache, number: u64, version: u64) -> Result<Put, Error> {
    block_on(cache.put(&key(number), &version.to_le_bytes(), body(number, version)))
}

#[test]
fn threads_share_a_cache_and_each_sees_the_newest_version() {
    let _watchdog = watchdog("threads_share_a_cache_and_each_sees_the_newest_version");
    let folder = tempfile::tempdir().expect("a folder");
    share(folder.path());
    assert!(folder.path().join("cache.flash").is_file());
}

#[test]
fn threads_share_a_cache_with_sets() {
    let _watchdog = watchdog("threads_share_a_cache_with_sets");
    let folder = tempfile::tempdir().expect("a folder");
    let stats = share(&folder.path().join("cache.sets"));
    assert!(stats.set_objects > 0, "{stats:#?}");
}

/// Threads use a cache at this path. Returns its counters.
fn share(path: &Path) -> Stats {
    let (cache, recovery) = Cache::open(config(path)).expect("it opens");
    assert!(recovery.created);
    let threads: Vec<_> = (0..4)
        .map(|me| {
            let cache = cache.clone();
            thread::spawn(move || {
                let mut random = Random::new(me);
                let mut newest = vec![0; 2000];
                for version in 1..6000 {
                    // Each thread has its own objects.
                    let number = random.below(500).min(random.below(500)) as u64 * 4 + me;
                    let known = &mut newest[number as usize];
                    match random.below(10) {
                        0 => {
                            block_on(cache.delete(&key(number))).expect("it works");
                            *known = 0;
                        }
                        1..=3 => {
                            assert_eq!(
                                put(&cache, number, version).expect("it works"),
                                Put::Stored
                            );
                            *known = version;
                        }
                        _ => match read(&cache, number) {
                            Some((found, _)) => assert_eq!(found, *known, "object {number}"),
                            None => {
                                put(&cache, number, version).expect("it works");
                                *known = version;
                            }
                        },
                    }
                }
                newest
            })
        })
        .collect();
    let all: Vec<Vec<u64>> =
        threads.into_iter().map(|thread| thread.join().expect("no thread fails")).collect();
    let stats = cache.stats();
    assert!(
        stats.events.flash_hits > 0 && stats.events.dram_hits > 0 && stats.events.damaged == 0,
        "{stats:#?}"
    );
    assert!(stats.dram_bytes + stats.index_bytes <= 210_000, "{stats:#?}");
    assert!(matches!(Cache::open(config(path)), Err(Error::InUse(_))));
    block_on(cache.close()).expect("it closes");
    assert!(matches!(put(&cache, 1, 1), Err(Error::Closed)));
    drop(cache);
    let (cache, recovery) = Cache::open(config(path)).expect("it opens");
    assert!(recovery.clean && recovery.objects > 0, "{recovery:?}");
    for number in 0..2000 {
        if let Some((found, _)) = read(&cache, number) {
            assert_eq!(found, all[number as usize % 4][number as usize]);
        }
    }
    assert_eq!(block_on(cache.check()).expect("it works").damaged, 0);
    stats
}

/// The process to be killed: stores, replaces and deletes objects, and prints each operation before
/// and after it.
#[test]
fn child() {
    let Ok(path) = std::env::var("CACHE_CHILD") else { return };
    let first: u64 = std::env::var("CACHE_FROM").expect("it is set").parse().expect("a number");
    let (cache, _) = Cache::open(config(Path::new(&path))).expect("it opens");
    let mut out = std::io::stdout();
    let mut random = Random::new(first);
    for version in first.. {
        let number = random.below(600) as u64;
        if random.below(4) == 0 {
            writeln!(out, "begin {number} 0").expect("written");
            block_on(cache.delete(&key(number))).expect("it works");
            writeln!(out, "end {number} 0").expect("written");
        } else if random.below(2) == 0 {
            // Also in the middle of reads.
            read(&cache, number);
        } else {
            writeln!(out, "begin {number} {version}").expect("written");
            put(&cache, number, version).expect("it works");
            writeln!(out, "end {number} {version}").expect("written");
        }
    }
}

#[test]
fn a_kill_at_any_moment_brings_nothing_back_and_gives_no_wrong_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    kill_often(folder.path());
}

#[test]
fn a_kill_at_any_moment_brings_nothing_back_from_sets() {
    let folder = tempfile::tempdir().expect("a folder");
    kill_often(&folder.path().join("cache.sets"));
}

#[test]
fn a_kill_at_any_moment_loses_nothing_durable_on_a_nand_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flash.img");
    let faults = Faults { program_failures: 1e-4, erase_failures: 1e-4, ..Faults::default() };
    let device = image::device(4096, 16, 100, faults, 1);
    drop(Image::create(&path, device, Backend::File).expect("it is created"));
    kill_often(&path);
}

/// Kills a process that uses a cache at this path again and again.
fn kill_often(path: &Path) {
    // `CACHE_KILLS=200` for the number of the requirements.
    let kills = std::env::var("CACHE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let mut random = Random::new(9);
    let mut newest = vec![0_u64; 600];
    let (mut from, mut warm) = (1, 0);
    for _ in 0..kills {
        let mut child = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "child", "--nocapture"])
            .env("CACHE_CHILD", path)
            .env("CACHE_FROM", from.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = 1 + random.below(1000);
        let mut unsettled: Vec<(usize, u64)> = Vec::new();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut count = 0;
        for line in output.lines().map_while(Result::ok) {
            let mut words = line.split(' ');
            let what = words.next().unwrap_or_default();
            let (Some(number), Some(version)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            let Ok(version) = version.parse::<u64>() else { continue };
            match what {
                "begin" => unsettled.push((number, version)),
                "end" => {
                    unsettled.clear();
                    newest[number] = version;
                }
                _ => continue,
            }
            from = from.max(version + 1);
            count += 1;
            // What it prints after the kill counts as well.
            if count == lines {
                child.kill().expect("it is killed");
            }
        }
        child.wait().expect("it ends");
        from += 100_000;
        let (cache, recovery) = Cache::open(config(path)).expect("it opens");
        assert!(!recovery.damaged_journal, "{recovery:?}");
        warm += recovery.objects;
        for (number, newest) in newest.iter_mut().enumerate() {
            let Some((found, _)) = read(&cache, number as u64) else { continue };
            let may = unsettled.iter().any(|(of, version)| (*of, *version) == (number, found));
            assert!(found == *newest || may, "object {number}: {found}, the newest is {newest}");
            *newest = found;
        }
        for (number, version) in unsettled {
            if version == 0 && read(&cache, number as u64).is_none() {
                newest[number] = 0;
            }
        }
        // Objects of a segment that was being overwritten may be damaged: misses.
    }
    assert!(warm > 0, "no restart was warm");
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |config: Config| Cache::open(config).err().expect("it is refused");
    let file = folder.path().join("text");
    std::fs::write(&file, "of another program").expect("written");
    assert!(matches!(refused(config(&file)), Error::Foreign(path) if path == file));
    assert!(matches!(refused(config(Path::new("/dev/null"))), Error::NotStorage(_)));
    let missing = folder.path().join("no/such/folder");
    assert!(matches!(refused(config(&missing)), Error::Io { path, .. } if path == missing));
    // Far more than any file system has.
    let mut large = config(&folder.path().join("large"));
    if let Some(flash) = &mut large.flash {
        (flash.size, flash.segment) = (Some(1 << 50), Some(1 << 30));
    }
    match refused(large) {
        Error::NoSpace { size, .. } => assert_eq!(size, 1 << 50),
        // The file system has no such large files.
        Error::Io { source, .. } => assert_eq!(source.raw_os_error(), Some(27), "{source}"),
        other => panic!("{other}"),
    }
    assert!(!folder.path().join("large").exists(), "nothing is left behind");
    let cut_off = folder.path().join("cut off");
    drop(Cache::open(config(&cut_off)).expect("it opens"));
    std::fs::File::options()
        .write(true)
        .open(&cut_off)
        .expect("it opens")
        .set_len(1 << 20)
        .unwrap();
    assert!(matches!(refused(config(&cut_off)), Error::Damaged { .. }));
}

/// Futures can move between the threads of a runtime.
#[test]
fn futures_are_send() {
    fn send<T: Send>(_: T) {}
    let (cache, _) = Cache::open(Config::new(1000)).expect("it opens");
    send(cache.get(b"key"));
    send(cache.put(b"key", b"", Bytes::new()));
    send(cache.writer(b"key", b"", None).finish());
    send(cache.update_meta(b"key", b""));
    send(cache.delete(b"key"));
    send(cache.purge(b""));
    send(cache.check());
    send(cache.close());
    block_on(cache.put(b"key", b"", Bytes::new())).expect("it works");
    let object = block_on(cache.get(b"key")).expect("it is there");
    send(object.read(0..1));
    fn shared<T: Send + Sync>(_: T) {}
    shared(object);
    shared(cache);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |change: &dyn Fn(&mut Flash)| {
        let mut config = config(folder.path());
        config.flash.as_mut().map(change);
        match Cache::open(config) {
            Err(Error::Config { key, .. }) => key,
            other => panic!("{:?}", other.err()),
        }
    };
    assert_eq!(refused(&|flash| flash.segment = Some(5000)), "segment");
    assert_eq!(refused(&|flash| flash.segment = Some(0)), "segment");
    assert_eq!(refused(&|flash| flash.size = Some(300_000)), "flash");
    assert_eq!(refused(&|flash| flash.admission = Admission::Random(1.5)), "admission");
    let lifetime = |years| Some(Lifetime { years, endurance: 3000 });
    assert_eq!(refused(&|flash| flash.lifetime = lifetime(-1.0)), "lifetime");
    assert_eq!(refused(&|flash| flash.lifetime = lifetime(f64::NAN)), "lifetime");
    let both = |flash: &mut Flash| {
        (flash.lifetime, flash.admission) = (lifetime(5.0), Admission::Hits(2));
    };
    assert_eq!(refused(&both), "admission");
    for share in [0.0, 1.0, -0.5, f64::NAN, 1e-6] {
        assert_eq!(refused(&|flash| flash.sets = Some(share)), "sets");
    }
    // Too little is left for two segments.
    assert_eq!(refused(&|flash| flash.sets = Some(0.99)), "flash");
    let sets_for_years = |flash: &mut Flash| {
        (flash.lifetime, flash.sets) = (lifetime(5.0), Some(0.5));
    };
    assert_eq!(refused(&sets_for_years), "lifetime");
    let mut little = config(&folder.path().join("little.sets"));
    little.dram = 4000;
    assert!(matches!(Cache::open(little), Err(Error::Config { key: "dram", .. })));
    assert!(!folder.path().join("cache.flash").exists());
    let block = Config { block: 0, ..Config::new(1000) };
    assert!(matches!(Cache::open(block), Err(Error::Config { key: "block", .. })));
}

#[test]
fn a_cache_in_dram_only_evicts_the_least_recently_used() {
    let (cache, _) = Cache::open(Config::new(20_000)).expect("it opens");
    for number in 1..=4 {
        assert_eq!(put(&cache, number, 1).expect("it works"), Put::Stored);
    }
    read(&cache, 1).expect("it is there");
    for number in 12..30 {
        put(&cache, number, 1).expect("it works");
        read(&cache, 1).expect("it was requested");
    }
    assert!(read(&cache, 2).is_none());
    assert!(block_on(cache.delete(&key(1))).expect("it works"));
    assert!(!block_on(cache.delete(&key(1))).expect("it works"));
    let large = Bytes::from(vec![1; 30_000]);
    assert_eq!(block_on(cache.put(b"large", b"", large)).expect("it works"), Put::TooLarge);
    let stats = cache.stats();
    assert!(stats.dram_bytes <= 20_000 && stats.events.flash_hits == 0 && stats.index_bytes == 0);
    assert_eq!(stats.events.requests, stats.events.dram_hits + stats.events.misses);
    let prefixed = block_on(cache.purge(b"object 2")).expect("it works");
    assert!(prefixed >= 9, "{prefixed}");
    block_on(cache.close()).expect("it closes");
}

#[test]
fn a_range_of_a_large_object_reads_only_its_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    (config.block, config.dram) = (8 << 10, 1 << 20);
    let (cache, _) = Cache::open(config).expect("it opens");
    let large: Bytes = (0..500_000_u32).flat_map(u32::to_le_bytes).take(600_000).collect();
    let mut writer = cache.writer(b"large", b"meta", Some(600_000));
    for part in large.chunks(7001) {
        writer.write(Bytes::copy_from_slice(part)).expect("it fits");
    }
    assert_eq!(block_on(writer.finish()).expect("it works"), Put::Stored);
    let object = block_on(cache.get(b"large")).expect("it is there");
    assert_eq!((object.len(), object.meta()), (600_000, &b"meta"[..]));
    let before = cache.stats().events.requests;
    for (start, end) in [(0, 10), (8190, 8195), (599_990, 700_000), (300_000, 320_000), (5, 5)] {
        let found = block_on(object.read(start..end)).expect("it is open").expect("it is there");
        assert!(found == large[start as usize..(end as usize).min(600_000)]);
    }
    // 1, 2, 1, 4 and no blocks.
    assert_eq!(cache.stats().events.requests - before, 8);
    assert!(block_on(cache.update_meta(b"large", b"new")).expect("it works"));
    let again = block_on(cache.get(b"large")).expect("it is there");
    assert_eq!(again.meta(), b"new");
    assert!(block_on(again.read(0..u64::MAX)).expect("it is open").expect("all of it") == large);
    // A body of another length is refused, and a writer that is dropped stores nothing.
    let mut writer = cache.writer(b"other", b"", Some(10));
    assert!(matches!(writer.write(vec![0; 11].into()), Err(Error::Length { .. })));
    writer.write(vec![0; 5].into()).expect("it fits");
    assert!(matches!(block_on(writer.finish()), Err(Error::Length { expected: 10, found: 5 })));
    assert!(block_on(cache.get(b"other")).is_none());
    assert!(block_on(cache.delete(b"large")).expect("it works"));
    assert!(block_on(cache.get(b"large")).is_none());
}

#[test]
fn a_body_in_parts_of_any_size_is_stored_as_it_was_written() {
    let config = Config { block: 1024, ..Config::new(1 << 20) };
    let (cache, _) = Cache::open(config).expect("it opens");
    for len in [0, 1, 700, 1023, 1024, 1025, 2048, 2049, 5000] {
        let body: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        for part in [1, 300, 1024, 1500, 6000] {
            for length in [None, Some(len as u64)] {
                let mut writer = cache.writer(b"key", b"", length);
                for part in body.chunks(part) {
                    writer.write_slice(part).expect("it is open");
                }
                assert_eq!(block_on(writer.finish()).expect("it works"), Put::Stored);
                let object = block_on(cache.get(b"key")).expect("it is there");
                let found = block_on(object.read(0..u64::MAX)).expect("it is open");
                assert!(found.expect("all of it") == body, "{len} in parts of {part}");
            }
        }
    }
    // No memory for what was announced and does not come.
    let mut writer = cache.writer(b"key", b"", Some(u64::MAX));
    writer.write_slice(b"some").expect("it is open");
    assert!(matches!(block_on(writer.finish()), Err(Error::Length { .. })));
}

#[test]
fn metadata_change_by_what_they_are_and_once_for_each_call() {
    let (cache, _) = Cache::open(Config::new(1 << 20)).expect("it opens");
    let add = |cache: &Cache| {
        let one_more = |meta: &[u8]| Some(Bytes::from(vec![meta[0] + 1]));
        block_on(cache.change_meta(b"key", one_more)).expect("it works")
    };
    assert!(!add(&cache));
    block_on(cache.put(b"key", &[0], Bytes::from_static(b"body"))).expect("it works");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| assert!(add(&cache))));
        }
    });
    assert!(!block_on(cache.change_meta(b"key", |_| None)).expect("it works"));
    let object = block_on(cache.get(b"key")).expect("it is there");
    assert_eq!(object.meta(), [100]);
    assert_eq!(block_on(object.read(0..9)).expect("it is open").as_deref(), Some(&b"body"[..]));
}

#[test]
fn complete_blocks_are_read_while_the_object_is_written() {
    let config = Config { block: 1024, ..Config::new(1 << 20) };
    let (cache, _) = Cache::open(config).expect("it opens");
    let whole: Vec<u8> = (0..5000_u32).map(|at| (at % 251) as u8).collect();
    let mut writer = cache.writer(b"key", b"", None);
    let mut start = 0;
    // A block ends when the next one begins, because a body of exactly one block is not large.
    for (end, complete) in [(1024, 0), (1025, 1024), (4096, 3072), (5000, 4096)] {
        writer.write_slice(&whole[start..end]).expect("it is open");
        start = end;
        let read = writer.written().map(|object| {
            assert_eq!((object.len(), object.block()), (complete as u64, 1024));
            block_on(object.read(0..u64::MAX)).expect("it is open").expect("its blocks")
        });
        assert!(read.unwrap_or_default() == whole[..complete]);
        assert!(block_on(cache.get(b"key")).is_none());
    }
    block_on(writer.finish()).expect("it is open");
    assert_eq!(block_on(cache.get(b"key")).expect("it is there").len(), 5000);
}

#[test]
fn reads_of_flash_are_completed_by_an_event_loop_and_then_by_a_thread_again() {
    let name = "reads_of_flash_are_completed_by_an_event_loop_and_then_by_a_thread_again";
    let _watchdog = watchdog(name);
    let folder = tempfile::tempdir().expect("a folder");
    let (cache, _) = Cache::open(config(folder.path())).expect("it opens");
    // More than DRAM holds.
    (0..400).for_each(|number| assert!(matches!(put(&cache, number, 1), Ok(Put::Stored))));
    let read_all = |expected: u64| {
        let before = cache.stats().events.flash_hits;
        let found: Vec<_> = (0..400).map(|number| read(&cache, number)).collect();
        assert!(found.iter().flatten().all(|(version, _)| *version == 1));
        let hits = cache.stats().events.flash_hits - before;
        assert!(hits >= expected, "{hits} hits in flash");
    };
    let Some(completions) = cache.completions() else {
        gordon_testkit::skipped(&format!("{name}: {}", cache.stats().access));
        return;
    };
    thread::scope(|scope| {
        // More reads at a time than the ring has places.
        let readers: Vec<_> = (0..80).map(|_| scope.spawn(|| read_all(50))).collect();
        while readers.iter().any(|reader| !reader.is_finished()) {
            let mut ready = [PollFd::new(&completions, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            if poll(&mut ready, Some(&wait)) == Ok(1) {
                completions.run();
            }
        }
        readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
    });
    drop(completions);
    read_all(50);
    // A second event loop, which ends after the cache was closed.
    let completions = cache.completions().expect("io_uring");
    block_on(cache.close()).expect("closed");
    drop(cache);
    completions.run();
    drop(completions);
    Cache::open(config(folder.path())).expect("nobody uses the file any more");
}
