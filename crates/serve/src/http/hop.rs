//! Header fields that concern a proxy (RFC 9110, section 7.6).

use http::header::{CONNECTION, HeaderName, MAX_FORWARDS};
use http::{HeaderMap, HeaderValue};

/// Fields that concern a connection even if Connection does not name them.
const OF_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Removes the fields that concern only the connection on which they arrived.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<_> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}

/// Counts this proxy in Max-Forwards, which limits OPTIONS (RFC 9110, section 7.6.2). Returns
/// whether the request may be forwarded; otherwise this proxy is its recipient.
pub(crate) fn may_forward(headers: &mut HeaderMap) -> bool {
    let limit = headers.get(MAX_FORWARDS).and_then(|value| value.to_str().ok());
    let Some(limit) = limit.and_then(|text| text.parse::<u32>().ok()) else { return true };
    let Some(left) = limit.checked_sub(1) else { return false };
    headers.insert(MAX_FORWARDS, HeaderValue::from(left));
    true
}

/// Appends this proxy to Via.
pub(crate) fn via(headers: &mut HeaderMap, version: http::Version) {
    let version = match version {
        http::Version::HTTP_2 => "2 gordon",
        http::Version::HTTP_10 => "1.0 gordon",
        _ => "1.1 gordon",
    };
    headers.append(http::header::VIA, HeaderValue::from_static(version));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_proxy_counts_in_max_forwards() {
        for (given, may, left) in [
            (None, true, None),
            (Some("0"), false, Some("0")),
            (Some("2"), true, Some("1")),
            (Some("many"), true, Some("many")),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(MAX_FORWARDS, HeaderValue::from_static(given));
            }
            assert_eq!(may_forward(&mut headers), may, "{given:?}");
            assert_eq!(
                headers.get(MAX_FORWARDS).map(HeaderValue::as_bytes),
                left.map(str::as_bytes)
            );
        }
    }

    #[test]
    fn fields_that_connection_names_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("connection", "x-a, close"), ("x-a", "1"), ("x-b", "2"), ("transfer-encoding", "x")]
        {
            headers.append(name, HeaderValue::from_static(value));
        }
        strip(&mut headers);
        assert_eq!(headers.len(), 1);
        assert!(headers.contains_key("x-b"));
    }
}
