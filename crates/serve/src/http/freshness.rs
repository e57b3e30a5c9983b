//! How long a response is fresh. http-cache-semantics decides; it gets the header fields in a
//! normal form: directives in lower case, dates in the one format that it parses, and the age
//! corrected as RFC 9111, section 4.2.3, says.

use super::directives::Directives;
use http::header::{AGE, CACHE_CONTROL, DATE, EXPIRES, LAST_MODIFIED, PRAGMA};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_cache_semantics::{CacheOptions, CachePolicy};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds by which a response may have arrived in the future: a clock is corrected so much.
const AHEAD_MS: u64 = 1000;

/// The freshness of a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Freshness {
    /// When the response arrived, in milliseconds since 1970.
    pub received_ms: u64,
    /// Its age when it arrived.
    pub age_s: u32,
    /// The age up to which it is fresh.
    pub lifetime_s: u32,
    /// How long after that it may be served while it is revalidated (RFC 5861).
    pub while_revalidate_s: u32,
    /// How long after that it may be served if the origin fails (RFC 5861).
    pub if_error_s: u32,
    /// It may never be served stale.
    pub must_revalidate: bool,
}

/// Whether a stored response may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fresh,
    /// It may be served, and must be validated at once.
    WhileRevalidate,
    Stale,
}

impl Freshness {
    /// Of a response that never becomes stale by itself.
    pub fn unlimited(now: SystemTime) -> Self {
        Self {
            received_ms: millis(now),
            age_s: 0,
            lifetime_s: u32::MAX,
            while_revalidate_s: 0,
            if_error_s: 0,
            must_revalidate: false,
        }
    }

    /// Seconds since the origin made the response.
    pub fn age_s(&self, now: SystemTime) -> u64 {
        u64::from(self.age_s) + millis(now).saturating_sub(self.received_ms) / 1000
    }

    /// Seconds for which the response is still fresh; negative if it is stale. If the clock was set
    /// back to before the response arrived, its age is unknown and it is stale.
    pub fn ttl_s(&self, now: SystemTime) -> i64 {
        if self.is_of_the_future(now) {
            return -i64::from(u32::MAX);
        }
        let age = i64::try_from(self.age_s(now)).unwrap_or(i64::MAX);
        i64::from(self.lifetime_s).saturating_sub(age)
    }

    /// Of a file, whose response does not age, the time does not matter.
    fn is_of_the_future(&self, now: SystemTime) -> bool {
        self.lifetime_s != u32::MAX && self.received_ms > millis(now).saturating_add(AHEAD_MS)
    }

    /// Whether the response may be served for a request.
    pub fn verdict(
        &self,
        request: &HeaderMap,
        stored: (StatusCode, &HeaderMap),
        now: SystemTime,
    ) -> Verdict {
        let has_any = request.contains_key(CACHE_CONTROL) || request.contains_key(PRAGMA);
        if has_any && has_demands(request) {
            return self.requested_verdict(request, stored, now);
        }
        let ttl = self.ttl_s(now);
        if ttl > 0 {
            Verdict::Fresh
        } else if !self.must_revalidate && -ttl < i64::from(self.while_revalidate_s) {
            Verdict::WhileRevalidate
        } else {
            Verdict::Stale
        }
    }

    /// Of a request that has directives itself.
    fn requested_verdict(
        &self,
        request: &HeaderMap,
        (status, headers): (StatusCode, &HeaderMap),
        now: SystemTime,
    ) -> Verdict {
        // `max-stale` does not allow these either (RFC 9111, section 4.2.4).
        if self.is_of_the_future(now) || (self.must_revalidate && self.ttl_s(now) <= 0) {
            return Verdict::Stale;
        }
        let asked = normal_request(request);
        // The response may be stored: that was decided when it was.
        let mut storing = asked.clone();
        storing.headers_mut().remove(CACHE_CONTROL);
        storing.headers_mut().remove(http::header::AUTHORIZATION);
        let response = normal_response(status, headers, u64::from(self.age_s));
        let received = UNIX_EPOCH + Duration::from_millis(self.received_ms);
        let policy = CachePolicy::new_options(&storing, &response, received, OPTIONS);
        if policy.before_request(&asked, now).satisfies_without_revalidation() {
            Verdict::Fresh
        } else {
            Verdict::Stale
        }
    }

    /// Whether a stale response may be served because the origin failed.
    pub fn may_replace_error(&self, request: &HeaderMap, now: SystemTime) -> bool {
        let asked = Directives::of(request);
        let allowed = self.if_error_s.max(asked.seconds("stale-if-error").unwrap_or(0));
        !self.must_revalidate
            && !asked.has("no-cache")
            && self.ttl_s(now).saturating_neg() < i64::from(allowed)
    }
}

/// Whether a request says itself what it takes.
fn has_demands(request: &HeaderMap) -> bool {
    let asked = Directives::of(request);
    ["no-cache", "max-age", "min-fresh", "max-stale"].iter().any(|name| asked.has(name))
        || is_no_cache(request)
}

/// Whether the field Pragma, which is older than Cache-Control, has `no-cache`.
fn is_no_cache(headers: &HeaderMap) -> bool {
    let is_pragma =
        |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("no-cache"));
    headers.get_all(PRAGMA).iter().any(is_pragma)
}

const OPTIONS: CacheOptions = CacheOptions {
    shared: true,
    // The tenth of the time since the last change: RFC 9111, section 4.2.2.
    cache_heuristic: 0.1,
    immutable_min_time_to_live: Duration::ZERO,
    ignore_cargo_cult: false,
};

/// The freshness of a response to a GET request; `None` if it must not be stored, or could never be
/// used.
pub(crate) fn judge(
    request: &HeaderMap,
    status: StatusCode,
    headers: &HeaderMap,
    requested: SystemTime,
    received: SystemTime,
) -> Option<Freshness> {
    let response = normal_response(status, headers, 0);
    let policy = CachePolicy::new_options(&normal_request(request), &response, received, OPTIONS);
    if !policy.is_storable() {
        return None;
    }
    let directives = Directives::of(headers);
    let lifetime_s = seconds(policy.time_to_live(received));
    let has_validator =
        headers.contains_key(http::header::ETAG) || headers.contains_key(LAST_MODIFIED);
    let while_revalidate_s = directives.seconds("stale-while-revalidate").unwrap_or(0);
    let if_error_s = directives.seconds("stale-if-error").unwrap_or(0);
    if lifetime_s == 0 && !has_validator && while_revalidate_s == 0 && if_error_s == 0 {
        return None;
    }
    // A response that sets a cookie is for one client, unless it says otherwise.
    let sets_cookie = headers.contains_key(http::header::SET_COOKIE)
        && !["public", "immutable"].iter().any(|name| directives.has(name));
    let has_pragma = !headers.contains_key(CACHE_CONTROL) && is_no_cache(headers);
    let has_no_cache = directives.has("no-cache") || has_pragma || sets_cookie;
    Some(Freshness {
        received_ms: millis(received),
        age_s: initial_age(headers, requested, received),
        lifetime_s,
        while_revalidate_s,
        if_error_s,
        must_revalidate: has_no_cache
            || ["must-revalidate", "proxy-revalidate", "s-maxage"]
                .iter()
                .any(|name| directives.has(name)),
    })
}

/// The corrected initial age (RFC 9111, section 4.2.3).
fn initial_age(headers: &HeaderMap, requested: SystemTime, received: SystemTime) -> u32 {
    let apparent =
        date(headers, &DATE).and_then(|made| received.duration_since(made).ok()).map_or(0, seconds);
    let delay = received.duration_since(requested).map_or(0, seconds);
    let given = headers.get(AGE).and_then(|value| value.to_str().ok()).and_then(|value| {
        let first = value.split(',').next().unwrap_or_default().trim();
        let is_number = !first.is_empty() && first.bytes().all(|c| c.is_ascii_digit());
        is_number.then(|| first.parse().unwrap_or(u32::MAX))
    });
    apparent.max(given.unwrap_or(0).saturating_add(delay))
}

/// A date of any of the three formats.
pub(crate) fn date(headers: &HeaderMap, name: &http::HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?.trim()).ok()
}

fn normal_request(headers: &HeaderMap) -> Request<()> {
    let mut request = Request::new(());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = Uri::from_static("/");
    let mut headers = headers.clone();
    match Directives::of(&headers).normalised() {
        Some(value) => headers.insert(CACHE_CONTROL, value),
        None => headers.remove(CACHE_CONTROL),
    };
    *request.headers_mut() = headers;
    request
}

fn normal_response(status: StatusCode, headers: &HeaderMap, age_s: u64) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    let mut headers = headers.clone();
    if let Some(value) = Directives::of(&headers).normalised() {
        headers.insert(CACHE_CONTROL, value);
    }
    for name in [DATE, EXPIRES, LAST_MODIFIED] {
        if headers.contains_key(&name) {
            match date(&headers, &name).map(httpdate::fmt_http_date) {
                Some(date) => {
                    let value = HeaderValue::from_str(&date);
                    headers.insert(name, value.expect("a date is ASCII"));
                }
                // An invalid Expires is in the past; others have no meaning.
                None if name == EXPIRES => {
                    headers.insert(name, HeaderValue::from_static("0"));
                }
                None => {
                    headers.remove(name);
                }
            }
        }
    }
    headers.insert(AGE, HeaderValue::from(age_s));
    *response.headers_mut() = headers;
    response
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    const NOW: SystemTime = UNIX_EPOCH;

    fn at(s: u64) -> SystemTime {
        NOW + Duration::from_secs(1_000_000_000 + s)
    }

    fn judged(
        request: &[(&'static str, &'static str)],
        response: &[(&'static str, &'static str)],
    ) -> Option<Freshness> {
        judge(&fields(request), StatusCode::OK, &fields(response), at(0), at(0))
    }

    #[test]
    fn a_shared_cache_stores_what_rfc_9111_allows() {
        let cases: [(&[_], &[_], Option<u32>); 12] = [
            (&[], &[("cache-control", "Max-Age=60")], Some(60)),
            (&[], &[("cache-control", "max-age=60, s-maxage=7")], Some(7)),
            (&[], &[("cache-control", "max-age=60, private")], None),
            (&[], &[("cache-control", "no-store, max-age=60")], None),
            (&[("cache-control", "no-store")], &[("cache-control", "max-age=60")], None),
            (&[("authorization", "x")], &[("cache-control", "max-age=60")], None),
            (&[("authorization", "x")], &[("cache-control", "max-age=60, public")], Some(60)),
            (&[], &[("cache-control", "no-cache, max-age=60"), ("etag", "\"a\"")], Some(0)),
            (&[], &[("cache-control", "max-age=0")], None),
            (&[], &[], None),
            (&[], &[("etag", "\"a\"")], Some(0)),
            (&[], &[("vary", "*"), ("cache-control", "max-age=60")], None),
        ];
        for (request, response, expected) in cases {
            let found = judged(request, response).map(|freshness| freshness.lifetime_s);
            assert_eq!(found, expected, "{request:?} {response:?}");
        }
    }

    #[test]
    fn dates_of_all_formats_count() {
        // at(0) is 2001-09-09 01:46:40.
        for expires in [
            "Sun, 09 Sep 2001 01:47:40 GMT",
            "Sunday, 09-Sep-01 01:47:40 GMT",
            "Sun Sep  9 01:47:40 2001",
        ] {
            let found = judged(&[], &[("expires", expires)]).expect("storable");
            assert_eq!(found.lifetime_s, 60, "{expires}");
        }
        assert_eq!(
            judged(&[], &[("expires", "0"), ("etag", "\"a\"")]).map(|f| f.lifetime_s),
            Some(0)
        );
        let old = [("date", "Sun, 09 Sep 2001 01:46:10 GMT"), ("cache-control", "max-age=60")];
        assert_eq!(judged(&[], &old).map(|f| f.age_s), Some(30));
        let heuristic = [("last-modified", "Sun, 09 Sep 2001 01:30:00 GMT")];
        assert_eq!(judged(&[], &heuristic).map(|f| f.lifetime_s), Some(100));
    }

    #[test]
    fn a_request_cannot_take_stale_what_must_be_validated() {
        let max_stale = fields(&[("cache-control", "max-stale")]);
        for response in [
            &[("cache-control", "no-cache"), ("etag", "\"a\"")][..],
            &[("pragma", "no-cache"), ("etag", "\"a\"")],
            &[("set-cookie", "sid=1"), ("etag", "\"a\""), ("cache-control", "max-age=60")],
            &[("cache-control", "s-maxage=0, stale-while-revalidate=60"), ("etag", "\"a\"")],
            &[("cache-control", "proxy-revalidate, max-age=0"), ("etag", "\"a\"")],
        ] {
            let headers = fields(response);
            let stored = judge(&HeaderMap::new(), StatusCode::OK, &headers, at(0), at(0));
            let stored = stored.expect("storable");
            for request in [&max_stale, &HeaderMap::new()] {
                let verdict = stored.verdict(request, (StatusCode::OK, &headers), at(1));
                assert_eq!(verdict, Verdict::Stale, "{response:?}");
            }
            assert!(!stored.may_replace_error(&HeaderMap::new(), at(1)), "{response:?}");
        }
    }

    #[test]
    fn a_response_from_the_future_is_stale() {
        let headers = fields(&[("cache-control", "max-age=60")]);
        let stored =
            judge(&HeaderMap::new(), StatusCode::OK, &headers, at(500), at(500)).expect("storable");
        let verdict =
            |request: &HeaderMap, s| stored.verdict(request, (StatusCode::OK, &headers), at(s));
        assert_eq!(verdict(&HeaderMap::new(), 499), Verdict::Fresh);
        assert_eq!(verdict(&HeaderMap::new(), 400), Verdict::Stale);
        assert_eq!(verdict(&fields(&[("cache-control", "max-age=60")]), 400), Verdict::Stale);
        let file = Freshness::unlimited(at(500));
        assert_eq!(
            file.verdict(&HeaderMap::new(), (StatusCode::OK, &headers), at(400)),
            Verdict::Fresh
        );
    }

    #[test]
    fn a_request_may_demand_more_or_less_than_fresh() {
        let headers = fields(&[(
            "cache-control",
            "max-age=60, stale-while-revalidate=10, stale-if-error=100",
        )]);
        let stored =
            judge(&HeaderMap::new(), StatusCode::OK, &headers, at(0), at(0)).expect("storable");
        let verdict =
            |request: &[_], s| stored.verdict(&fields(request), (StatusCode::OK, &headers), at(s));
        assert_eq!(verdict(&[], 59), Verdict::Fresh);
        assert_eq!(verdict(&[], 65), Verdict::WhileRevalidate);
        assert_eq!(verdict(&[("cache-control", "other")], 65), Verdict::WhileRevalidate);
        assert_eq!(verdict(&[], 71), Verdict::Stale);
        assert_eq!(verdict(&[("cache-control", "no-cache")], 1), Verdict::Stale);
        assert_eq!(verdict(&[("pragma", "no-cache")], 1), Verdict::Stale);
        assert_eq!(verdict(&[("cache-control", "max-age=10")], 5), Verdict::Fresh);
        assert_eq!(verdict(&[("cache-control", "max-age=10")], 15), Verdict::Stale);
        assert_eq!(verdict(&[("cache-control", "min-fresh=30")], 40), Verdict::Stale);
        assert_eq!(verdict(&[("cache-control", "max-stale=100")], 90), Verdict::Fresh);
        assert!(stored.may_replace_error(&HeaderMap::new(), at(150)));
        assert!(!stored.may_replace_error(&HeaderMap::new(), at(161)));
        assert_eq!(stored.age_s(at(5)), 5);
    }
}
