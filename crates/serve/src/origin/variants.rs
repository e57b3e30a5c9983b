//! Variants of a resource by Vary (RFC 9111, section 4.1).
//!
//! Under the key of a URL lies the response, or the names of the request fields by which the
//! responses differ, with a random generation. Then each variant lies under the key, [`SEPARATOR`],
//! the generation, and the values of these fields in the request. Without the names nobody finds
//! the variants, so deleting one object removes them all: a search for them would read the whole
//! flash for each unsafe request. They keep their space until they are evicted. No URL has the
//! separator in it, so a purge by prefix removes variants too.

use crate::meta::{StoredMeta, StoredResponse, Vary};
use crate::site::{Site, found};
use gordon_objectcache::Object;
use http::HeaderMap;
use http::header::{HeaderName, VARY};

/// Ends the key of a URL.
pub(crate) const SEPARATOR: u8 = 0;

/// What lies under the key of a request.
pub(crate) struct Lookup {
    /// The key of the response, or of a fetch of it.
    pub key: Vec<u8>,
    pub found: Option<(Object, StoredResponse)>,
}

pub(crate) async fn lookup(site: &Site, key: &[u8], request: &HeaderMap) -> Lookup {
    match found(site, key).await {
        Some((object, StoredMeta::Response(response))) => {
            Lookup { key: key.into(), found: Some((object, response)) }
        }
        Some((_, StoredMeta::Vary(vary))) => {
            let key = variant_key(key, &vary, request);
            let found = match found(site, &key).await {
                Some((object, StoredMeta::Response(response))) => Some((object, response)),
                _ => None,
            };
            Lookup { key, found }
        }
        None => Lookup { key: key.into(), found: None },
    }
}

/// The names in Vary, sorted and without repetition; `None` if it has `*`, or what is not a name.
pub(crate) fn names(response: &HeaderMap) -> Option<Vec<HeaderName>> {
    let mut found = Vec::new();
    for value in response.get_all(VARY) {
        for name in value.to_str().ok()?.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "*" {
                return None;
            }
            found.push(HeaderName::from_bytes(name.as_bytes()).ok()?);
        }
    }
    found.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    found.dedup();
    Some(found)
}

/// The values of the fields of a request that the response's Vary names.
pub(crate) fn selecting(response: &HeaderMap, request: &HeaderMap) -> Option<Vec<u8>> {
    Some(values(&names(response)?, request))
}

/// The key of a variant.
pub(crate) fn variant_key(key: &[u8], vary: &Vary, request: &HeaderMap) -> Vec<u8> {
    let mut out = key.to_vec();
    out.push(SEPARATOR);
    out.extend(vary.generation.to_le_bytes());
    out.extend(values(&vary.names, request));
    out
}

/// One line a field that the request has: name, colon, and its values with commas. Spaces around
/// commas have no meaning.
fn values(names: &[HeaderName], request: &HeaderMap) -> Vec<u8> {
    let mut out = Vec::new();
    for name in names.iter().filter(|name| request.contains_key(*name)) {
        out.extend(name.as_str().as_bytes());
        let mut before = b':';
        for value in request.get_all(name) {
            for part in value.as_bytes().split(|&byte| byte == b',') {
                out.push(before);
                out.extend(part.trim_ascii());
                before = b',';
            }
        }
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn fields(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_key_of_a_variant_has_the_values_of_the_named_fields() {
        let vary = fields(&[("vary", "Accept-Language, accept"), ("vary", "ACCEPT")]);
        let names = names(&vary).expect("no star");
        let vary = Vary { generation: 7, names };
        let key = |request: &[_]| variant_key(b"/a", &vary, &fields(request));
        let german = key(&[("accept-language", "de , en")]);
        assert_eq!(german, b"/a\0\x07\0\0\0\0\0\0\0accept-language:de,en\n");
        let later = Vary { generation: 8, ..vary.clone() };
        assert_ne!(german, variant_key(b"/a", &later, &fields(&[("accept-language", "de,en")])));
        assert_eq!(german, key(&[("accept-language", "de"), ("accept-language", "en")]));
        assert_ne!(german, key(&[("accept-language", "en,de")]));
        assert_ne!(german, key(&[]));
        assert_ne!(key(&[("accept", "")]), key(&[]));
        assert_eq!(super::names(&fields(&[("vary", "accept, *")])), None);
        assert_eq!(super::names(&fields(&[])), Some(Vec::new()));
    }
}
