//! Header fields of one connection (RFC 9110, section 7.6.1).

use http::header::{CONNECTION, HeaderName};
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
