//! Responses from stored or local representations.

use super::{Asked, Site};
use crate::body::{Content, ObjectPieces, Pieces};
use crate::http::plan::{Part, part_of};
use crate::http::status_field::{CacheResult, CacheStatus};
use crate::meta::{StoredMeta, StoredResponse};
use bytes::Bytes;
use gordon_objectcache::{Object, Tier};
use http::header::{
    ACCEPT_RANGES, AGE, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName, RETRY_AFTER,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use std::ops::Range;
use std::sync::Arc;

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// A response, and how it is counted.
pub(crate) struct Served {
    pub response: Response<Content>,
    pub status: Option<CacheStatus>,
}

impl Served {
    /// A short text; nothing was looked up.
    pub fn error(status: StatusCode, why: &'static str) -> Self {
        let mut response = Response::new(Content::Bytes(Bytes::from_static(why.as_bytes())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        Self { response, status: None }
    }

    /// Success without a body; nothing was looked up.
    pub fn nothing() -> Self {
        let mut response = Response::new(Content::Empty);
        *response.status_mut() = StatusCode::NO_CONTENT;
        Self { response, status: None }
    }

    /// Adds how the request was served.
    pub fn with(mut self, status: CacheStatus) -> Self {
        self.response.headers_mut().append(CACHE_STATUS, status.value());
        self.status = Some(status);
        self
    }
}

/// Looks up a key: a response, or the names of the fields by which variants differ.
pub(crate) async fn found(site: &Site, key: &[u8]) -> Option<(Object, StoredMeta)> {
    let object = site.cache.get(key).await?;
    let meta = StoredMeta::decode(object.meta())?;
    Some((object, meta))
}

/// The body of an answer. Blocks that an object has lost are read from the second part.
pub(crate) enum Answer {
    Object(Object, Option<Arc<dyn Pieces>>),
    /// Bytes that are not in the cache yet, or are never put there.
    Content(Option<u64>, Box<dyn FnOnce(Range<u64>, bool) -> Content + Send>),
}

/// Answers a request with a representation: all of it, a part, or that the client has it. `None` if
/// an object turned out to be damaged or gone.
pub(crate) async fn respond(
    site: &Arc<Site>,
    asked: &Asked,
    stored: &StoredResponse,
    answer: Answer,
    status: CacheStatus,
) -> Option<Served> {
    let length = match &answer {
        Answer::Object(object, _) => Some(object.len()),
        Answer::Content(length, _) => *length,
    };
    let is_get = asked.head.method == Method::GET;
    let part = part_of(&asked.head.headers, is_get, stored.status, &stored.headers, length);
    let mut headers = stored.headers.clone();
    headers.remove(CONTENT_LENGTH);
    let is_used_again = status.result != CacheResult::Miss || stored.freshness.age_s > 0;
    if is_used_again && stored.stamp.is_none() {
        headers.insert(AGE, HeaderValue::from(stored.freshness.age_s(asked.now)));
    }
    if stored.status == StatusCode::OK && length.is_some() {
        headers.entry(ACCEPT_RANGES).or_insert(HeaderValue::from_static("bytes"));
    }
    let whole = 0..length.unwrap_or(u64::MAX);
    let (code, range) = match part {
        Part::Whole => (stored.status, Some(whole)),
        Part::Some(range) => {
            let (first, last, length) = (range.start, range.end - 1, length.unwrap_or(0));
            let text = format!("bytes {first}-{last}/{length}");
            headers.insert(CONTENT_RANGE, HeaderValue::from_str(&text).expect("ASCII"));
            (StatusCode::PARTIAL_CONTENT, Some(range))
        }
        Part::NotModified => {
            keep_for_not_modified(&mut headers);
            (StatusCode::NOT_MODIFIED, None)
        }
        Part::Failed => {
            return Some(Served::error(StatusCode::PRECONDITION_FAILED, "").with(status));
        }
        Part::Unsatisfiable => {
            let mut served = Served::error(StatusCode::RANGE_NOT_SATISFIABLE, "");
            let text = format!("bytes */{}", length.unwrap_or(0));
            let value = HeaderValue::from_str(&text).expect("ASCII");
            served.response.headers_mut().insert(CONTENT_RANGE, value);
            return Some(served.with(status));
        }
    };
    let content = match (range, is_get) {
        (None, _) => Content::Empty,
        (Some(range), false) => {
            if length.is_some() {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
            }
            Content::Empty
        }
        (Some(range), true) => match answer {
            Answer::Object(object, other) => read(site, object, other, range).await?,
            Answer::Content(_, make) => make(range, length.is_some()),
        },
    };
    let mut response = Response::new(content);
    *response.status_mut() = code;
    *response.headers_mut() = headers;
    Some(Served { response, status: None }.with(status))
}

/// The fields of 304 (RFC 9110, section 15.4.5): no others describe the representation.
fn keep_for_not_modified(headers: &mut HeaderMap) {
    for name in [CONTENT_TYPE, http::header::CONTENT_ENCODING, http::header::CONTENT_LANGUAGE] {
        headers.remove(name);
    }
}

/// The body of a range of an object: at once if it lies in one block, otherwise block by block.
async fn read(
    site: &Arc<Site>,
    object: Object,
    otherwise: Option<Arc<dyn Pieces>>,
    range: Range<u64>,
) -> Option<Content> {
    if range.is_empty() {
        return Some(Content::Empty);
    }
    let step = site.block;
    if range.start / step == (range.end - 1) / step {
        let reserved = site.budget.reserve_later(range.end - range.start).await;
        let bytes = object.read(range).await.ok()??;
        return Some(Content::Bytes(reserved.hold(bytes)));
    }
    let pieces = ObjectPieces { object, budget: Arc::clone(&site.budget), otherwise };
    Some(Content::pieces(Arc::new(pieces), range, step))
}

/// How a hit in a tier is counted.
pub(crate) fn hit(object: &Object) -> CacheResult {
    match object.tier() {
        Tier::Dram => CacheResult::Dram,
        Tier::Flash => CacheResult::Flash,
    }
}
