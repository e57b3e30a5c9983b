//! What of a representation a request gets: preconditions (RFC 9110, section 13) and ranges
//! (section 14).

use super::freshness::date;
use headers::{ETag, HeaderMapExt, IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince};
use http::header::{
    IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, StatusCode};
use http_range_header::{RangeUnsatisfiableError, parse_range_header};
use std::ops::Range;

/// The answer to a request, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// 206 with these bytes; not empty.
    Some(Range<u64>),
    /// 304: the client has it.
    NotModified,
    /// 412: a precondition failed.
    Failed,
    /// 416: no range lies in it.
    Unsatisfiable,
}

/// Whether a request has a precondition or a range. Most have none, and are not evaluated.
pub(crate) fn has_conditions(request: &HeaderMap) -> bool {
    [IF_MATCH, IF_UNMODIFIED_SINCE, IF_NONE_MATCH, IF_MODIFIED_SINCE, RANGE]
        .iter()
        .any(|name| request.contains_key(name))
}

/// Evaluates the preconditions and the range of a request for a stored or local representation.
/// `length` is its length, if that is known. Several ranges are answered with all of it.
pub(crate) fn part_of(
    request: &HeaderMap,
    is_get: bool,
    status: StatusCode,
    stored: &HeaderMap,
    length: Option<u64>,
) -> Part {
    if status != StatusCode::OK || !has_conditions(request) {
        return Part::Whole;
    }
    let etag = stored.typed_get::<ETag>();
    let modified = date(stored, &LAST_MODIFIED);
    if request.contains_key(IF_MATCH) {
        let matches = request.typed_get::<IfMatch>().is_some_and(|all| {
            all == IfMatch::any() || etag.as_ref().is_some_and(|tag| all.precondition_passes(tag))
        });
        if !matches {
            return Part::Failed;
        }
    } else if let (Some(since), Some(modified)) =
        (request.typed_get::<IfUnmodifiedSince>(), modified)
        && !since.precondition_passes(modified)
    {
        return Part::Failed;
    }
    if request.contains_key(IF_NONE_MATCH) {
        let differs = request.typed_get::<IfNoneMatch>().is_none_or(|all| {
            all != IfNoneMatch::any()
                && etag.as_ref().is_none_or(|tag| all.precondition_passes(tag))
        });
        if !differs {
            return Part::NotModified;
        }
    } else if let (Some(since), Some(modified)) = (request.typed_get::<IfModifiedSince>(), modified)
        && !since.is_modified(modified)
    {
        return Part::NotModified;
    }
    match (length, request.contains_key(RANGE) && is_get) {
        (Some(length), true) if may_be_partial(request, etag.as_ref(), stored) => {
            range_of(request, length)
        }
        _ => Part::Whole,
    }
}

/// If-Range: the client's part is of this very representation. Only strong validators count.
fn may_be_partial(request: &HeaderMap, etag: Option<&ETag>, stored: &HeaderMap) -> bool {
    let Some(value) = request.get(IF_RANGE) else { return true };
    let text = value.to_str().unwrap_or_default().trim();
    if text.ends_with('"') {
        let stored = stored.get(http::header::ETAG).and_then(|tag| tag.to_str().ok());
        return etag.is_some() && !text.starts_with("W/") && stored.map(str::trim) == Some(text);
    }
    date(request, &IF_RANGE).is_some_and(|since| date(stored, &LAST_MODIFIED) == Some(since))
}

fn range_of(request: &HeaderMap, length: u64) -> Part {
    let text = request.get(RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Units are in any case. Fields that do not parse are ignored, as other units are.
    let (unit, set) = text.split_at_checked("bytes=".len()).unwrap_or_default();
    let text = format!("bytes={}", set.trim());
    if !unit.eq_ignore_ascii_case("bytes=") {
        return Part::Whole;
    }
    let parsed = parse_range_header(&text).and_then(|parsed| parsed.validate(length));
    match parsed.as_deref() {
        Ok([range]) => Part::Some(*range.start()..range.end() + 1),
        Err(RangeUnsatisfiableError::Unsatisfiable) => Part::Unsatisfiable,
        _ => Part::Whole,
    }
}

/// Whether a request asks for a part that begins at the first byte and has no end: for a cache the
/// same as the whole.
pub(crate) fn is_whole_range(request: &HeaderMap) -> bool {
    request.get(RANGE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"bytes=0-"))
        && !request.contains_key(IF_RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    const STORED: [(&str, &str); 2] =
        [("etag", "\"a\""), ("last-modified", "Sun, 09 Sep 2001 01:46:40 GMT")];

    fn fields(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn part(request: &[(&'static str, &'static str)]) -> Part {
        part_of(&fields(request), true, StatusCode::OK, &fields(&STORED), Some(10))
    }

    #[test]
    fn ranges() {
        for (text, expected) in [
            ("bytes=0-0", Part::Some(0..1)),
            ("Bytes=2-", Part::Some(2..10)),
            ("bytes=-3", Part::Some(7..10)),
            ("bytes=-30", Part::Some(0..10)),
            ("bytes=5-99999999999999999999", Part::Some(5..10)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=10-11, 2-3", Part::Some(2..4)),
            ("bytes=0-1, 4-5", Part::Whole),
            ("bytes=5-4", Part::Whole),
            ("bytes=x", Part::Whole),
            ("lines=0-1", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(part(&[("range", text)]), expected, "{text}");
        }
    }

    #[test]
    fn a_range_depends_on_if_range() {
        for (text, is_part) in [
            ("\"a\"", true),
            ("\"b\"", false),
            ("W/\"a\"", false),
            ("Sun, 09 Sep 2001 01:46:40 GMT", true),
            ("Sun, 09 Sep 2001 01:46:41 GMT", false),
            ("Sun, 09 Sep 2001 01:46:39 GMT", false),
            ("x", false),
        ] {
            let found = part(&[("range", "bytes=0-4"), ("if-range", text)]);
            assert_eq!(found == Part::Some(0..5), is_part, "{text}");
        }
    }

    #[test]
    fn preconditions() {
        let (old, new) = ("Sun, 09 Sep 2001 01:46:39 GMT", "Sun, 09 Sep 2001 01:46:40 GMT");
        let cases: [(&[_], Part); 12] = [
            (&[("if-none-match", "\"a\"")], Part::NotModified),
            (&[("if-none-match", "\"x\", W/\"a\"")], Part::NotModified),
            (&[("if-none-match", "*")], Part::NotModified),
            (&[("if-none-match", "\"b\"")], Part::Whole),
            (&[("if-modified-since", new)], Part::NotModified),
            (&[("if-modified-since", old)], Part::Whole),
            (&[("if-none-match", "\"b\""), ("if-modified-since", new)], Part::Whole),
            (&[("if-match", "\"b\"")], Part::Failed),
            (&[("if-match", "\"a\"")], Part::Whole),
            (&[("if-match", "*")], Part::Whole),
            (&[("if-unmodified-since", old)], Part::Failed),
            (&[("if-unmodified-since", new), ("range", "bytes=1-1")], Part::Some(1..2)),
        ];
        for (request, expected) in cases {
            assert_eq!(part(request), expected, "{request:?}");
        }
    }
}
