//! The task that fetches or validates a response for all clients that wait for it.
//!
//! Only a body whose end is certain is stored: one of a declared length, in chunks, or of HTTP/2. A
//! body that ends with its connection could be the part that arrived before the origin died.

use super::forward::InChunks;
use super::variants::{SEPARATOR, names, selecting, variant_key};
use super::{Origin, is_authorized};
use crate::body::Idle;
use crate::flight::{Outcome, Pilot};
use crate::frames::{BodyError, FRAME};
use crate::http::freshness::judge;
use crate::http::hop;
use crate::meta::{StoredMeta, StoredResponse, Vary};
use crate::site::{Asked, Site};
use bytes::Bytes;
use http::header::{
    AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderName, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE, SET_COOKIE, TRANSFER_ENCODING,
};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Fields that a 304 does not replace: they describe the stored body.
const OF_BODY: [HeaderName; 4] =
    [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_RANGE, TRANSFER_ENCODING];
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// A fetch to be done.
pub(super) struct Job {
    site: Arc<Site>,
    origin: Arc<Origin>,
    pilot: Pilot,
    request: Request<()>,
    /// The request fields by which the response is chosen and judged.
    asked: HeaderMap,
    /// The response to validate.
    stored: Option<StoredResponse>,
    /// The response is looked up first: it is validated while it is served.
    is_in_background: bool,
}

impl Job {
    pub fn new(
        site: &Arc<Site>,
        origin: &Arc<Origin>,
        pilot: Pilot,
        asked: &Asked,
        stored: Option<StoredResponse>,
    ) -> Self {
        let mut request = origin.request(asked);
        *request.method_mut() = Method::GET;
        // The client's conditions and range are evaluated here.
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_RANGE, RANGE] {
            request.headers_mut().remove(name);
        }
        let asked = asked.head.headers.clone();
        let origin = Arc::clone(origin);
        Self {
            site: Arc::clone(site),
            origin,
            pilot,
            request,
            asked,
            stored,
            is_in_background: false,
        }
    }

    pub fn in_background(
        site: &Arc<Site>,
        origin: &Arc<Origin>,
        pilot: Pilot,
        asked: &Asked,
    ) -> Self {
        Self { is_in_background: true, ..Self::new(site, origin, pilot, asked, None) }
    }
}

/// Does the job. The clients learn the result by the flight.
pub(super) async fn run(mut job: Job) {
    let site = Arc::clone(&job.site);
    let origin = Arc::clone(&job.origin);
    if job.is_in_background {
        job.stored = match crate::site::found(&site, &job.pilot.flight.key).await {
            Some((_, StoredMeta::Response(response))) => Some(response),
            _ => None,
        };
    }
    if let Some(stored) = &job.stored {
        for (ours, theirs) in [(ETAG, IF_NONE_MATCH), (LAST_MODIFIED, IF_MODIFIED_SINCE)] {
            if let Some(value) = stored.headers.get(ours) {
                job.request.headers_mut().insert(theirs, value.clone());
            }
        }
    }
    let requested = SystemTime::now();
    let request = std::mem::take(&mut job.request);
    match origin.send(&site, request, None).await {
        Err(failure) => job.pilot.publish(Outcome::Failed(failure.status, failure.why)),
        Ok(response) => take(&job, response, requested, origin.patience).await,
    }
}

async fn take(
    job: &Job,
    response: Response<Incoming>,
    requested: SystemTime,
    patience: std::time::Duration,
) {
    let received = SystemTime::now();
    if response.status() == StatusCode::NOT_MODIFIED
        && let Some(stored) = &job.stored
    {
        if is_of(stored, response.headers()) {
            validated(job, stored, response.headers(), requested, received).await;
        } else {
            // The origin means another response. Without an outcome the clients try again.
            let key = &job.pilot.flight.key;
            let _ = job.pilot.flight.store(job.site.cache.delete(key)).await;
        }
        return;
    }
    let Some((stored, length)) = storable(job, &response, requested, received) else {
        alone(job, response).await;
        return;
    };
    let (Some(names), Some(selecting)) =
        (names(&stored.headers), selecting(&stored.headers, &job.asked))
    else {
        alone(job, response).await;
        return;
    };
    let Some(key) = stored_key(job, &names).await else {
        alone(job, response).await;
        return;
    };
    let Some(meta) = StoredMeta::Response(stored.clone()).encode() else {
        alone(job, response).await;
        return;
    };
    let response_head = Arc::new(stored);
    job.pilot.publish(Outcome::Shared { response: response_head, length, selecting });
    let body = Idle::new(response.into_body(), patience);
    // An error has already ended the flight for its clients, and dropped what was to be stored.
    let _ = receive(job, &key, &meta, length, body).await;
}

/// The response as it is stored, if it may be, with its length.
fn storable(
    job: &Job,
    response: &Response<Incoming>,
    requested: SystemTime,
    received: SystemTime,
) -> Option<(StoredResponse, Option<u64>)> {
    let mut headers = response.headers().clone();
    let freshness = judge(&job.asked, response.status(), &headers, requested, received)?;
    let length = http_body::Body::size_hint(response.body()).exact();
    let ends_with_connection = length.is_none()
        && (response.version() == Version::HTTP_10 || response.version() == Version::HTTP_11)
        && response.extensions().get::<InChunks>().is_none();
    if ends_with_connection {
        return None;
    }
    headers.remove(AGE);
    headers.remove(CONTENT_LENGTH);
    hop::via(&mut headers, response.version());
    let stored = StoredResponse { status: response.status(), headers, freshness, stamp: None };
    Some((stored, length))
}

/// Where the response is stored: under the key of its variant, whose names are stored first.
async fn stored_key(job: &Job, names: &[HeaderName]) -> Option<Vec<u8>> {
    let site = &job.site;
    let flight = &job.pilot.flight;
    let base = flight.key.split(|&byte| byte == SEPARATOR).next().unwrap_or_default();
    if names.is_empty() {
        return Some(base.to_vec());
    }
    let found = match crate::site::found(site, base).await {
        Some((_, StoredMeta::Vary(found))) if found.names == names => Some(found),
        _ => None,
    };
    let is_new = found.is_none();
    let vary = found.unwrap_or_else(|| Vary {
        // The state has random keys.
        generation: RandomState::new().hash_one(base),
        names: names.to_vec(),
    });
    let key = variant_key(base, &vary, &job.asked);
    if key.len() > super::LONGEST_KEY {
        return None;
    }
    if is_new {
        let marker = StoredMeta::Vary(vary).encode()?;
        flight.store(site.cache.put(base, &marker, Bytes::new())).await?.ok()?;
    }
    Some(key)
}

/// Receives the body for the clients and the cache.
async fn receive(
    job: &Job,
    key: &[u8],
    meta: &[u8],
    length: Option<u64>,
    mut body: Idle,
) -> Result<(), BodyError> {
    let site = &job.site;
    let mut writer = Some(site.cache.writer(key, meta, length));
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        received += data.len() as u64;
        site.counters.origin_bytes.add(data.len() as u64);
        if length.is_some_and(|length| received > length) {
            return Err(BodyError::Incomplete);
        }
        if writer.as_mut().is_some_and(|writer| writer.write(data.clone()).is_err()) {
            writer = None;
        }
        let reserved = job.pilot.reserve(&site.budget, data.len() as u64).await;
        let mut rest = reserved.hold(data);
        while !rest.is_empty() {
            job.pilot.push(rest.split_to(rest.len().min(FRAME))).await;
        }
    }
    if length.is_some_and(|length| received != length) {
        return Err(BodyError::Incomplete);
    }
    if let Some(writer) = writer {
        // A cache that cannot store serves nonetheless.
        let _ = job.pilot.flight.store(writer.finish()).await;
    }
    job.pilot.finish();
    Ok(())
}

/// Hands a response that is not stored to the client that caused the fetch.
async fn alone(job: &Job, response: Response<Incoming>) {
    let status = response.status();
    let is_newer = job.stored.is_some() && !super::is_failure(status);
    if is_newer {
        // What is stored is outdated.
        let key = &job.pilot.flight.key;
        let _ = job.pilot.flight.store(job.site.cache.delete(key)).await;
    }
    job.pilot.publish(Outcome::Alone { status, response: Mutex::new(Some(response)) });
}

/// Whether a 304 is about the stored response: it has the same entity tag, or none.
fn is_of(stored: &StoredResponse, update: &HeaderMap) -> bool {
    let tag = |headers: &HeaderMap| {
        let text = headers.get(ETAG)?.to_str().ok()?.trim();
        Some(text.strip_prefix("W/").unwrap_or(text).to_owned())
    };
    tag(update).is_none_or(|new| tag(&stored.headers) == Some(new))
}

/// Replaces the metadata of a response that is current (RFC 9111, section 4.3.4).
async fn validated(
    job: &Job,
    stored: &StoredResponse,
    update: &HeaderMap,
    requested: SystemTime,
    received: SystemTime,
) {
    let mut headers = stored.headers.clone();
    for name in update.keys() {
        if OF_BODY.contains(name) || *name == AGE || *name == CACHE_STATUS {
            continue;
        }
        headers.remove(name);
        for value in update.get_all(name) {
            headers.append(name, value.clone());
        }
    }
    if !update.contains_key(SET_COOKIE) {
        // The stored one was for another client.
        headers.remove(SET_COOKIE);
    }
    let mut judged = headers.clone();
    if let Some(age) = update.get(AGE) {
        judged.insert(AGE, age.clone());
    }
    let freshness = judge(&job.asked, stored.status, &judged, requested, received);
    let key = &job.pilot.flight.key;
    let site = &job.site;
    let response = StoredResponse {
        status: stored.status,
        headers,
        freshness: freshness.unwrap_or(stored.freshness),
        stamp: None,
    };
    let meta = StoredMeta::Response(response.clone()).encode();
    match (freshness, meta) {
        (Some(_), Some(meta)) => {
            // Only of what was validated: another fetch may have stored a response since.
            let meta = Bytes::from(meta);
            let change = |old: &[u8]| match StoredMeta::decode(old) {
                Some(StoredMeta::Response(found)) if found == *stored => Some(meta.clone()),
                _ => None,
            };
            let _ = job.pilot.flight.store(site.cache.change_meta(key, change)).await;
        }
        // It must not be stored any more, as a private one.
        _ if !is_authorized(&job.asked) => {
            let _ = job.pilot.flight.store(site.cache.delete(key)).await;
        }
        _ => {}
    }
    let (stored, response) = (stored.clone(), Arc::new(response));
    job.pilot.publish(Outcome::Validated { stored, response });
    job.pilot.finish();
}
