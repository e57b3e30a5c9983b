//! A caching reverse proxy of one origin (RFC 9111, RFC 5861).
//!
//! GET requests without a range are looked up; what is not fresh is fetched or validated once for
//! all clients that wait. HEAD is answered from the stored response to GET. Other methods pass
//! through, and invalidate what they may have changed. A range that is not in the cache passes
//! through, and its response is not stored.

mod client;
mod fetch;
mod forward;
mod ranges;
mod upload;
mod variants;

use crate::body::{Content, Pieces};
use crate::error::ServeError;
use crate::flight::Outcome;
use crate::http::directives::Directives;
use crate::http::freshness::Verdict;
use crate::http::hop;
use crate::http::plan::is_whole_range;
use crate::http::status_field::{CacheResult, CacheStatus};
use crate::meta::StoredResponse;
use crate::site::{Answer, Asked, Served, Site, hit, respond};
use client::{Client, connect};
use fetch::{Job, run};
use gordon_objectcache::Object;
use http::header::{
    AUTHORIZATION, CONTENT_LOCATION, IF_MATCH, IF_UNMODIFIED_SINCE, LOCATION, RANGE,
};
use http::{Method, StatusCode, Uri};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use variants::{Lookup, lookup, selecting};

/// Attempts of a request whose fetches end without a result.
const ATTEMPTS: usize = 3;
/// Longest key of an object; longer URLs pass through.
const LONGEST_KEY: usize = 4096;

/// The front end.
#[derive(Debug)]
pub(crate) struct Origin {
    client: Client,
    scheme: http::uri::Scheme,
    authority: http::uri::Authority,
    /// Path before that of requests, without a slash at its end.
    base: String,
    patience: Duration,
}

impl Origin {
    /// # Errors
    ///
    /// The URL is not one of HTTP, or the authorities of TLS cannot be read.
    pub fn open(
        url: &str,
        authorities: Option<&Path>,
        patience: Duration,
    ) -> Result<Self, ServeError> {
        let wrong = |why: &str| ServeError::Origin { url: url.to_owned(), why: why.to_owned() };
        let parsed: Uri = url.parse().map_err(|_| wrong("not a URL"))?;
        let scheme = parsed.scheme().cloned().ok_or_else(|| wrong("not a URL with http://"))?;
        if scheme != http::uri::Scheme::HTTP && scheme != http::uri::Scheme::HTTPS {
            return Err(wrong("neither http nor https"));
        }
        let authority = parsed.authority().cloned().ok_or_else(|| wrong("a URL without a host"))?;
        if authority.host().is_empty() {
            return Err(wrong("a URL without a host"));
        }
        if authority.as_str().contains('@') {
            return Err(wrong("a URL with a user name, which is not sent"));
        }
        if parsed.query().is_some() {
            return Err(wrong("a URL with a query"));
        }
        let base = parsed.path().trim_end_matches('/').to_owned();
        let is_tls = scheme == http::uri::Scheme::HTTPS;
        let client = connect(is_tls, authorities, patience)?;
        Ok(Self { client, scheme, authority, base, patience })
    }

    pub async fn serve(self: &Arc<Self>, site: &Arc<Site>, mut asked: Asked) -> Served {
        // The origin does not see these fields, so no variant may be chosen by them.
        hop::strip(&mut asked.head.headers);
        match asked.head.method {
            Method::GET | Method::HEAD => self.get(site, asked).await,
            Method::CONNECT | Method::TRACE => {
                Served::error(StatusCode::NOT_IMPLEMENTED, "not a method of this proxy\n")
            }
            Method::OPTIONS if !hop::may_forward(&mut asked.head.headers) => Served::nothing(),
            _ => self.change(site, asked).await,
        }
    }

    async fn get(self: &Arc<Self>, site: &Arc<Site>, mut asked: Asked) -> Served {
        let key = base_key(&asked.head.uri);
        let headers = &asked.head.headers;
        // Conditions on changes are for the origin, as are bodies, which have no meaning to a
        // cache.
        let is_for_origin = asked.body.is_some()
            || headers.contains_key(IF_MATCH)
            || headers.contains_key(IF_UNMODIFIED_SINCE);
        if is_for_origin || key.len() > LONGEST_KEY {
            return self.pass(site, asked, CacheStatus::bypass("bypass")).await;
        }
        let directives = Directives::of(headers);
        if is_whole_range(headers) {
            // The answer is the same, and can be stored.
            asked.head.headers.remove(RANGE);
        }
        let may_fetch = asked.head.method == Method::GET
            && !asked.head.headers.contains_key(RANGE)
            && !directives.has("no-store");
        for _ in 0..ATTEMPTS {
            let found = lookup(site, &key, &asked.head.headers).await;
            let Lookup { key: variant, found } = found;
            let mut stale = None;
            if let Some((object, response)) = found {
                let fields = (response.status, &response.headers);
                let fresh = &response.freshness;
                let verdict = fresh.verdict(&asked.head.headers, fields, asked.now);
                if verdict == Verdict::Stale
                    || directives.has("only-if-cached") && verdict != Verdict::Fresh
                {
                    stale = Some((object, response));
                } else {
                    if verdict == Verdict::WhileRevalidate {
                        self.revalidate(site, &asked, &variant);
                    }
                    let mut status = CacheStatus::new(hit(&object));
                    if response.freshness.lifetime_s != u32::MAX {
                        status.ttl_s = Some(response.freshness.ttl_s(asked.now));
                    }
                    if status.ttl_s.is_some_and(|ttl| ttl <= 0) {
                        status.result = CacheResult::Stale;
                    }
                    let answer = self.object(site, &asked, &variant, object, &response);
                    if let Some(served) = respond(site, &asked, &response, answer, status).await {
                        return served;
                    }
                }
            }
            if directives.has("only-if-cached") {
                let why = "not in the cache\n";
                return Served::error(StatusCode::GATEWAY_TIMEOUT, why)
                    .with(CacheStatus::bypass("request"));
            }
            if !may_fetch {
                let result = if stale.is_some() { CacheResult::Expired } else { CacheResult::Miss };
                return self.pass(site, asked, CacheStatus::new(result)).await;
            }
            let tried = self.fetched(site, &asked, &variant, stale).await;
            match tried {
                Tried::Served(served) => return *served,
                // What was stored meanwhile is not of the future.
                Tried::Again => asked.now = SystemTime::now(),
                Tried::Alone(result) => {
                    return self.pass(site, asked, CacheStatus::new(result)).await;
                }
            }
        }
        self.pass(site, asked, CacheStatus::new(CacheResult::Miss)).await
    }

    /// Joins the fetch of a key, or starts it.
    async fn fetched(
        self: &Arc<Self>,
        site: &Arc<Site>,
        asked: &Asked,
        key: &[u8],
        stale: Option<(Object, StoredResponse)>,
    ) -> Tried {
        let result = if stale.is_some() { CacheResult::Expired } else { CacheResult::Miss };
        if !site.may_fetch(key) {
            return Tried::Alone(result);
        }
        let (flight, pilot) = site.flights.join(key, site.window());
        let reader = flight.attach();
        let is_leader = pilot.is_some();
        if let Some(pilot) = pilot {
            let stored = stale.as_ref().map(|(_, response)| response.clone());
            tokio::spawn(run(Job::new(site, self, pilot, asked, stored)));
        }
        let Some(outcome) = flight.outcome().await else { return Tried::Again };
        let may_replace_error = stale.as_ref().is_some_and(|(_, response)| {
            response.freshness.may_replace_error(&asked.head.headers, asked.now)
        });
        let mut status = CacheStatus { is_collapsed: !is_leader, ..CacheStatus::new(result) };
        // A response that may not be used again without validation is the leader's alone.
        let may_share = |response: &StoredResponse| {
            let fields = (response.status, &response.headers);
            let now = SystemTime::now();
            is_leader
                || response.freshness.verdict(&asked.head.headers, fields, now) != Verdict::Stale
        };
        match &*outcome {
            Outcome::Shared { response, length, selecting: fetched } => {
                let mine = selecting(&response.headers, &asked.head.headers);
                if mine.as_ref() != Some(fetched) {
                    return Tried::Again;
                }
                if !may_share(response) {
                    return Tried::Alone(result);
                }
                let Some(reader) = reader else { return Tried::Alone(result) };
                status.forwarded_status = Some(response.status.as_u16());
                status.is_stored = true;
                let length = *length;
                let make = move |range: Range<u64>, is_known: bool| {
                    let rest = is_known.then_some(range.end - range.start);
                    Content::Flight(reader.limit(range.start, rest))
                };
                let answer = Answer::Content(length, Box::new(make));
                let served = respond(site, asked, response, answer, status).await;
                served.map_or(Tried::Again, |served| Tried::Served(Box::new(served)))
            }
            Outcome::Validated { stored, response } => {
                // The body belongs to the response that was validated.
                let Some((object, _)) = stale.filter(|(_, found)| found == stored) else {
                    return Tried::Again;
                };
                if !may_share(response) {
                    return Tried::Alone(result);
                }
                status.result = CacheResult::Revalidated;
                status.forwarded_status = Some(304);
                let answer = self.object(site, asked, key, object, response);
                let served = respond(site, asked, response, answer, status).await;
                served.map_or(Tried::Again, |served| Tried::Served(Box::new(served)))
            }
            Outcome::Alone { status: code, response } => {
                if is_failure(*code)
                    && may_replace_error
                    && let Some(stale) = stale
                    && let Some(served) = serve_stale(site, asked, stale, Some(*code)).await
                {
                    return Tried::Served(Box::new(served));
                }
                let mut taken = response.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let Some(taken) = is_leader.then(|| taken.take()).flatten() else {
                    return Tried::Alone(result);
                };
                let served = self.through(taken, status, asked.head.version);
                Tried::Served(Box::new(served))
            }
            Outcome::Failed(code, why) => {
                if may_replace_error
                    && let Some(stale) = stale
                    && let Some(served) = serve_stale(site, asked, stale, None).await
                {
                    return Tried::Served(Box::new(served));
                }
                Tried::Served(Box::new(Served::error(*code, why).with(status)))
            }
        }
    }

    /// An object as an answer; lost blocks of a large one are fetched.
    fn object(
        self: &Arc<Self>,
        site: &Arc<Site>,
        asked: &Asked,
        key: &[u8],
        object: Object,
        response: &StoredResponse,
    ) -> Answer {
        let is_large = object.len() > site.block;
        let ranges = is_large.then(|| self.ranges(site, asked, key, response));
        Answer::Object(object, ranges.map(|ranges| Arc::new(ranges) as Arc<dyn Pieces>))
    }

    /// Validates a stored response while it is served.
    fn revalidate(self: &Arc<Self>, site: &Arc<Site>, asked: &Asked, key: &[u8]) {
        if !site.may_fetch(key) {
            return;
        }
        let (_, pilot) = site.flights.join(key, site.window());
        if let Some(pilot) = pilot {
            tokio::spawn(run(Job::in_background(site, self, pilot, asked)));
        }
    }

    /// Forwards a request. If its method is unsafe, the stored responses that it may have changed
    /// are invalidated (RFC 9111, section 4.4), even if the client disconnects before the reply.
    async fn change(self: &Arc<Self>, site: &Arc<Site>, asked: Asked) -> Served {
        let (origin, site) = (Arc::clone(self), Arc::clone(site));
        let changed = tokio::spawn(async move { origin.change_and_remove(&site, asked).await });
        changed.await.unwrap_or_else(|_| {
            Served::error(StatusCode::BAD_GATEWAY, "the request was not completed\n")
        })
    }

    async fn change_and_remove(&self, site: &Arc<Site>, asked: Asked) -> Served {
        let is_safe = asked.head.method == Method::OPTIONS;
        let uri = asked.head.uri.clone();
        let served = self.pass(site, asked, CacheStatus::bypass("method")).await;
        let code = served.response.status();
        if !is_safe && (code.is_success() || code.is_redirection()) {
            invalidate(site, &base_key(&uri)).await;
            for name in [LOCATION, CONTENT_LOCATION] {
                let value = served.response.headers().get(name);
                let other = value
                    .and_then(|value| value.to_str().ok())
                    .and_then(|text| text.parse::<Uri>().ok());
                let Some(other) = other else { continue };
                // Of another host nothing is stored.
                if other
                    .authority()
                    .is_none_or(|found| *found == self.authority || Some(found) == uri.authority())
                {
                    invalidate(site, &base_key(&other)).await;
                }
            }
        }
        served
    }
}

/// What came of a try to fetch.
enum Tried {
    Served(Box<Served>),
    /// The fetch was of another variant, or died.
    Again,
    /// The response is for another client.
    Alone(CacheResult),
}

/// Statuses that a stale response may replace (RFC 5861, section 4).
fn is_failure(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500 | 502 | 503 | 504)
}

async fn serve_stale(
    site: &Arc<Site>,
    asked: &Asked,
    (object, response): (Object, StoredResponse),
    forwarded: Option<StatusCode>,
) -> Option<Served> {
    let status = CacheStatus {
        ttl_s: Some(response.freshness.ttl_s(asked.now)),
        forwarded_status: forwarded.map(|status| status.as_u16()),
        ..CacheStatus::new(CacheResult::Stale)
    };
    respond(site, asked, &response, Answer::Object(object, None), status).await
}

/// The key of a URL: its path and its query. All hosts are one site.
pub(crate) fn base_key(uri: &Uri) -> Vec<u8> {
    uri.path_and_query().map_or("/", |target| target.as_str()).as_bytes().to_vec()
}

/// Removes the response of a key with all its variants, and keeps running fetches from storing
/// them. Returns 1 if there was one.
pub(crate) async fn invalidate(site: &Site, key: &[u8]) -> u64 {
    let mut variants = key.to_vec();
    variants.push(variants::SEPARATOR);
    site.flights.revoke(|found| found == key || found.starts_with(&variants)).await;
    // A cache that cannot remove an object no longer returns it, or fails on the next lookup.
    u64::from(site.cache.delete(key).await.unwrap_or(false))
}

/// Whether a request may carry what only its sender may see.
pub(crate) fn is_authorized(headers: &http::HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION)
}
