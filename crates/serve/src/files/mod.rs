//! The files of a folder.
//!
//! Every request opens its file and compares size, times and inode with those of the object in the
//! cache, so a file that has changed is never served from an older object. The open costs a few
//! microseconds while the kernel has the path in memory; otherwise it is done by a thread that may
//! wait. A file that changed less than [`SETTLED`] before it was read is served but not stored: a
//! second change within one tick of the clock would not show in its times.

mod open;
mod path;

use crate::body::{Content, Pieces};
use crate::flight::{Flight, Outcome, Pilot};
use crate::frames::{BodyError, FRAME};
use crate::http::freshness::Freshness;
use crate::http::plan::{Part, has_conditions, part_of};
use crate::http::status_field::{CacheResult, CacheStatus};
use crate::meta::{FileStamp, StoredMeta, StoredResponse};
use crate::site::{Answer, Asked, Served, Site, found, hit, respond};
use bytes::Bytes;
use gordon_objectcache::Put;
use http::header::{CONTENT_TYPE, ETAG, HeaderValue, LAST_MODIFIED, LOCATION};
use http::{HeaderMap, Method, Response, StatusCode};
use open::{Opened, Root, read_part, stamp_of};
use path::CleanPath;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest tick of the clock of file times (100 a second, the lowest CONFIG_HZ of Linux), with a
/// margin of ten.
const SETTLED: Duration = Duration::from_millis(100);
/// Bytes of a large file that are read at a time.
const STEP: u64 = 256 << 10;
/// Attempts to read a file that changes while it is read.
const ATTEMPTS: usize = 3;

/// The front end.
#[derive(Debug)]
pub(crate) struct Files {
    root: Arc<Root>,
}

impl Files {
    pub fn open(path: &Path, follows_links: bool) -> io::Result<Self> {
        Ok(Self { root: Arc::new(Root::open(path, follows_links)?) })
    }

    pub async fn serve(&self, site: &Arc<Site>, asked: Asked) -> Served {
        if asked.head.method != Method::GET && asked.head.method != Method::HEAD {
            return Served::error(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD only\n");
        }
        let Some(mut path) = CleanPath::parse(asked.head.uri.path()) else {
            return Served::error(StatusCode::BAD_REQUEST, "not a path of this site\n");
        };
        let mut opened = self.look(&path.relative).await;
        if let Opened::Folder = opened {
            if !path.is_folder {
                return moved(&path);
            }
            let slash = if path.relative.is_empty() { "" } else { "/" };
            path.relative.push_str(slash);
            path.relative.push_str("index.html");
            opened = self.look(&path.relative).await;
        } else if path.is_folder && matches!(opened, Opened::File(..)) {
            opened = Opened::Missing;
        }
        match opened {
            Opened::File(file, stamp) => {
                let file = Local { file: Arc::new(file), stamp, relative: path.relative };
                serve_file(site, &asked, file).await
            }
            Opened::Folder | Opened::Missing => {
                Served::error(StatusCode::NOT_FOUND, "no such file\n")
            }
            Opened::Forbidden => Served::error(StatusCode::FORBIDDEN, "not allowed\n"),
            Opened::Failed => {
                Served::error(StatusCode::SERVICE_UNAVAILABLE, "the file cannot be opened\n")
            }
        }
    }

    /// The key of a URL's path, or the start of the keys of paths that begin with it.
    #[allow(clippy::unused_self)]
    pub fn key_of(&self, path: &str, is_prefix: bool) -> Option<Vec<u8>> {
        let CleanPath { relative, is_folder } = CleanPath::parse(path)?;
        let slash = if is_folder && !relative.is_empty() { "/" } else { "" };
        let index = if is_folder && !is_prefix { "index.html" } else { "" };
        Some(key(&format!("{relative}{slash}{index}")))
    }

    async fn look(&self, relative: &str) -> Opened {
        if let Some(found) = self.root.look_cached(relative) {
            return found;
        }
        let (root, relative) = (Arc::clone(&self.root), relative.to_owned());
        waiting(move || root.look_waiting(&relative)).await.unwrap_or(Opened::Failed)
    }
}

/// Does on another thread what may wait for a disk.
async fn waiting<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

fn moved(path: &CleanPath) -> Served {
    let mut response = Response::new(Content::Empty);
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    let url = HeaderValue::from_str(&path.folder_url());
    response.headers_mut().insert(LOCATION, url.expect("an encoded path is ASCII"));
    Served { response, status: None }
}

/// The key of a file in the cache.
pub(crate) fn key(relative: &str) -> Vec<u8> {
    format!("/{relative}").into_bytes()
}

/// An open file.
#[derive(Clone)]
struct Local {
    file: Arc<File>,
    stamp: FileStamp,
    relative: String,
}

impl Local {
    fn response(&self, now: SystemTime) -> StoredResponse {
        let mut headers = HeaderMap::new();
        let kind = mime_guess::from_path(&self.relative).first_or_octet_stream();
        let kind = HeaderValue::from_str(kind.essence_str());
        headers.insert(CONTENT_TYPE, kind.expect("a media type is ASCII"));
        let tag = format!("\"{:x}-{:x}\"", self.stamp.modified_ns, self.stamp.size);
        headers.insert(ETAG, HeaderValue::from_str(&tag).expect("digits"));
        let modified = UNIX_EPOCH + Duration::from_nanos(self.stamp.modified_ns);
        // Not later than now: RFC 9110, section 8.8.2.1.
        let modified = httpdate::fmt_http_date(modified.min(now));
        headers.insert(LAST_MODIFIED, HeaderValue::from_str(&modified).expect("ASCII"));
        let freshness = Freshness::unlimited(now);
        StoredResponse { status: StatusCode::OK, headers, freshness, stamp: Some(self.stamp) }
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        let changed = UNIX_EPOCH + Duration::from_nanos(self.stamp.changed_ns);
        now.duration_since(changed).is_ok_and(|age| age > SETTLED)
    }
}

async fn serve_file(site: &Arc<Site>, asked: &Asked, file: Local) -> Served {
    let size = file.stamp.size;
    let is_get = asked.head.method == Method::GET;
    let mut part = Part::Whole;
    if !is_get || size == 0 || has_conditions(&asked.head.headers) {
        let response = file.response(asked.now);
        let (headers, status) = (&asked.head.headers, response.status);
        part = part_of(headers, is_get, status, &response.headers, Some(size));
        let is_empty = !is_get || !matches!(part, Part::Whole | Part::Some(_));
        if is_empty || size == 0 {
            let answer = Answer::Content(Some(size), Box::new(|_, _| Content::Empty));
            let status = CacheStatus::bypass("bypass");
            return respond(site, asked, &response, answer, status).await.unwrap_or_else(gone);
        }
    }
    let key = key(&file.relative);
    if let Some((object, StoredMeta::Response(stored))) = found(site, &key).await
        && stored.stamp == Some(file.stamp)
        && object.len() == size
    {
        let status = CacheStatus::new(hit(&object));
        let pieces = || -> Arc<dyn Pieces> {
            Arc::new(FilePieces { file: file.clone(), site: Arc::clone(site) })
        };
        let answer = Answer::Object(object, (size > site.block).then(pieces));
        if let Some(served) = respond(site, asked, &stored, answer, status).await {
            return served;
        }
    }
    let response = file.response(asked.now);
    let is_part_of_large = size > site.block && matches!(part, Part::Some(_));
    if is_part_of_large || !file.is_settled(asked.now) {
        // A part of a large file does not bring in the rest.
        return direct(site, asked, file, &response).await;
    }
    fetch(site, asked, file, response).await
}

fn gone() -> Served {
    Served::error(StatusCode::SERVICE_UNAVAILABLE, "the file changes; try again\n")
}

/// Serves from the file without storing it.
async fn direct(site: &Arc<Site>, asked: &Asked, file: Local, response: &StoredResponse) -> Served {
    let size = file.stamp.size;
    site.counters.origin_requests.add(1);
    let pieces = FilePieces { file, site: Arc::clone(site) };
    let make = |range, _| Content::pieces(Arc::new(pieces), range, STEP);
    let answer = Answer::Content(Some(size), Box::new(make));
    let status = CacheStatus::new(CacheResult::Miss);
    respond(site, asked, response, answer, status).await.unwrap_or_else(gone)
}

/// A file that is read piece by piece. Its last piece is sent only if it has not changed.
struct FilePieces {
    file: Local,
    site: Arc<Site>,
}

impl Pieces for FilePieces {
    fn read(
        self: Arc<Self>,
        range: Range<u64>,
    ) -> Pin<Box<dyn Future<Output = Result<Bytes, BodyError>> + Send>> {
        Box::pin(async move {
            let reserved = self.site.budget.reserve_later(range.end - range.start).await;
            let bytes = self.file.piece(range).await.map_err(|_| BodyError::File)?;
            self.site.counters.origin_bytes.add(bytes.len() as u64);
            Ok(reserved.hold(bytes))
        })
    }
}

impl Local {
    /// Reads a piece; an error if the file is not the one that was opened any more.
    async fn piece(&self, range: Range<u64>) -> io::Result<Bytes> {
        let (file, stamp) = (Arc::clone(&self.file), self.stamp);
        let read = move || {
            let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
            let bytes = read_part(&file, range.start, length)?;
            let is_same = stamp_of(&file)? == stamp;
            is_same.then(|| Bytes::from(bytes)).ok_or_else(|| io::Error::other("it changed"))
        };
        waiting(read).await?
    }
}

/// Reads the file once for all clients that wait for it, and stores it.
async fn fetch(site: &Arc<Site>, asked: &Asked, file: Local, response: StoredResponse) -> Served {
    let size = file.stamp.size;
    for _ in 0..ATTEMPTS {
        // A file that has changed is another fetch.
        let key = flight_key(&file);
        if !site.may_fetch(&key) {
            break;
        }
        let (flight, pilot) = site.flights.join(&key, site.window());
        let reader = flight.attach();
        let is_collapsed = pilot.is_none();
        if let Some(pilot) = pilot {
            tokio::spawn(read_and_store(Arc::clone(site), pilot, file.clone(), response.clone()));
        }
        let outcome = flight.outcome().await;
        let (Some(outcome), Some(reader)) = (outcome, reader) else { continue };
        if let Outcome::Failed(status, why) = *outcome {
            return Served::error(status, why);
        }
        let status =
            CacheStatus { is_stored: true, is_collapsed, ..CacheStatus::new(CacheResult::Miss) };
        let make = move |range: Range<u64>, _| {
            Content::Flight(reader.limit(range.start, Some(range.end - range.start)))
        };
        let answer = Answer::Content(Some(size), Box::new(make));
        return respond(site, asked, &response, answer, status).await.unwrap_or_else(gone);
    }
    direct(site, asked, file, &response).await
}

fn flight_key(file: &Local) -> Vec<u8> {
    let s = &file.stamp;
    let mut key = key(&file.relative);
    key.push(0);
    for value in [s.size, s.modified_ns, s.inode, s.changed_ns] {
        key.extend(value.to_le_bytes());
    }
    key
}

/// The task of a fetch.
async fn read_and_store(site: Arc<Site>, pilot: Pilot, file: Local, response: StoredResponse) {
    site.counters.origin_requests.add(1);
    let size = file.stamp.size;
    let meta = StoredMeta::Response(response.clone()).encode();
    let key = key(&file.relative);
    let mut writer = meta.map(|meta| site.cache.writer(&key, &meta, Some(size)));
    let publish = || {
        let response = Arc::new(response.clone());
        pilot.publish(Outcome::Shared { response, length: Some(size), selecting: Vec::new() });
    };
    let is_small = size <= site.block;
    if !is_small {
        publish();
    }
    let mut at = 0;
    while at < size {
        let end = if is_small { size } else { size.min(at + STEP) };
        let reserved = pilot.reserve(&site.budget, end - at).await;
        let bytes = match file.piece(at..end).await {
            Ok(bytes) => bytes,
            Err(_) if is_small => {
                let why = "the file changes, or cannot be read; try again\n";
                pilot.publish(Outcome::Failed(StatusCode::SERVICE_UNAVAILABLE, why));
                return;
            }
            // The clients' connections are aborted, and nothing is stored.
            Err(_) => return,
        };
        at = end;
        site.counters.origin_bytes.add(bytes.len() as u64);
        if writer.as_mut().is_some_and(|writer| writer.write(bytes.clone()).is_err()) {
            writer = None;
        }
        let mut rest = reserved.hold(bytes);
        if is_small {
            publish();
        }
        while !rest.is_empty() {
            pilot.push(rest.split_to(rest.len().min(FRAME))).await;
        }
    }
    if let Some(writer) = writer {
        store(&pilot.flight, async { writer.finish().await }).await;
    }
    pilot.finish();
}

/// Stores the result of a fetch. A cache that cannot store serves nonetheless.
async fn store<E>(flight: &Arc<Flight>, finish: impl Future<Output = Result<Put, E>>) {
    let _ = flight.store(finish).await;
}
