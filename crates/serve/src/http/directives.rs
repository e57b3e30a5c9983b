//! The directives of Cache-Control (RFC 9111, section 5.2).

use http::{HeaderMap, HeaderValue};
use std::fmt::Write as _;

/// The longest number of seconds (RFC 9111, section 1.2.2).
const LONGEST: u32 = 1 << 31;

/// Directives with lower-case names, in their order.
pub(crate) struct Directives(Vec<(String, Option<String>)>);

impl Directives {
    pub fn of(headers: &HeaderMap) -> Self {
        let mut found = Vec::new();
        for value in headers.get_all(http::header::CACHE_CONTROL) {
            parse(&String::from_utf8_lossy(value.as_bytes()), &mut found);
        }
        Self(found)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(found, _)| found == name)
    }

    /// The number of seconds of a directive, 0 if it is not a number.
    pub fn seconds(&self, name: &str) -> Option<u32> {
        let (_, value) = self.0.iter().find(|(found, _)| found == name)?;
        Some(value.as_deref().and_then(seconds).unwrap_or(0))
    }

    /// The directives as http-cache-semantics parses them: lower case, numbers in range, and no
    /// quoted texts, in which it would look for commas.
    pub fn normalised(&self) -> Option<HeaderValue> {
        let mut text = String::new();
        for (name, value) in &self.0 {
            let comma = if text.is_empty() { "" } else { ", " };
            let value = value.as_deref().map(|value| match seconds(value) {
                Some(number) => number.to_string(),
                None if value.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'.') => {
                    value.to_owned()
                }
                None => "other".to_owned(),
            });
            // Writing to a `String` does not fail.
            let _ = match value {
                Some(value) => write!(text, "{comma}{name}={value}"),
                None => write!(text, "{comma}{name}"),
            };
        }
        HeaderValue::from_str(&text).ok().filter(|text| !text.is_empty())
    }
}

fn seconds(value: &str) -> Option<u32> {
    let is_number = !value.is_empty() && value.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| value.parse().map_or(LONGEST, |number: u32| number.min(LONGEST)))
}

fn parse(text: &str, found: &mut Vec<(String, Option<String>)>) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(['=', ',']).unwrap_or(rest.len());
        let name = rest[..end].trim().to_ascii_lowercase();
        let mut value = None;
        rest = match rest[end..].strip_prefix('=') {
            None => &rest[end..],
            Some(after) => {
                let (text, after) = match after.strip_prefix('"') {
                    Some(quoted) => unquoted(quoted),
                    None => {
                        let end = after.find(',').unwrap_or(after.len());
                        (after[..end].trim_end().to_owned(), &after[end..])
                    }
                };
                value = Some(text);
                after
            }
        };
        // What follows a value up to the next comma has no meaning.
        rest = rest.find(',').map_or("", |comma| &rest[comma + 1..]);
        if !name.is_empty() && name.bytes().all(|c| c.is_ascii_graphic()) {
            found.push((name, value));
        }
    }
}

/// The text of a quoted string, and what follows it.
fn unquoted(quoted: &str) -> (String, &str) {
    let mut text = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (text, &quoted[at + 1..]),
            '\\' => text.extend(letters.next().map(|(_, escaped)| escaped)),
            other => text.push(other),
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &'static str) -> Directives {
        let mut headers = HeaderMap::new();
        headers.insert("cache-control", HeaderValue::from_static(text));
        Directives::of(&headers)
    }

    #[test]
    fn names_are_in_any_case_and_quotes_hide_commas() {
        let found = of(r#"Max-Age=60, private="a, no-store", s-maxage="5" , x"#);
        assert_eq!(found.seconds("max-age"), Some(60));
        assert_eq!(found.seconds("s-maxage"), Some(5));
        assert!(found.has("private") && found.has("x") && !found.has("no-store"));
        let text = found.normalised().expect("a value");
        assert_eq!(text, "max-age=60, private=other, s-maxage=5, x");
    }

    #[test]
    fn invalid_numbers_are_stale_and_large_ones_are_the_largest() {
        for (text, expected) in [
            ("max-age=abc", 0),
            ("max-age=-1", 0),
            ("max-age", 0),
            ("max-age=99999999999", LONGEST),
        ] {
            assert_eq!(of(text).seconds("max-age"), Some(expected), "{text}");
        }
        assert_eq!(of("max-age=1.5").normalised().expect("a value"), "max-age=1.5");
        for odd in ["", ",,", "=", "\"", "a=\"", "a=\"\\"] {
            of(odd);
        }
    }
}
