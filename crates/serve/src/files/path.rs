//! From the path of a URL to a path below the root.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Bytes of a path that are encoded in a Location.
const ENCODED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'\\');

/// Maximum length of a path: PATH_MAX of Linux.
const LONGEST: usize = 4096;

/// A path without `.`, `..` and empty names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CleanPath {
    /// Without a slash at the start and the end; empty for the root.
    pub relative: String,
    /// The URL ended with a slash.
    pub is_folder: bool,
}

impl CleanPath {
    /// Decodes a path. `None` if it has `.` or `..` as a name, NUL, or is not UTF-8: no file of a
    /// site needs them, and they are how files beyond the root are asked for.
    pub fn parse(path: &str) -> Option<Self> {
        let decoded = percent_decode_str(path).decode_utf8().ok()?;
        if !decoded.starts_with('/') || decoded.contains('\0') || decoded.len() > LONGEST {
            return None;
        }
        let mut relative = String::with_capacity(decoded.len());
        for name in decoded.split('/').filter(|name| !name.is_empty()) {
            if matches!(name, "." | "..") {
                return None;
            }
            if !relative.is_empty() {
                relative.push('/');
            }
            relative.push_str(name);
        }
        Some(Self { relative, is_folder: decoded.ends_with('/') })
    }

    /// The URL of the same path as a folder. It has one slash at its start, so that it does not
    /// name another host.
    pub fn folder_url(&self) -> String {
        format!("/{}/", utf8_percent_encode(&self.relative, ENCODED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_decoded_once_and_stay_below_the_root() {
        let clean = |path: &str| CleanPath::parse(path).map(|path| path.relative);
        for (path, expected) in [
            ("/", ""),
            ("/a/b.html", "a/b.html"),
            ("//a//b", "a/b"),
            ("/a%20b", "a b"),
            ("/a%2Fb", "a/b"),
            ("/a/..b/...", "a/..b/..."),
            ("/%252e%252e/x", "%2e%2e/x"),
        ] {
            assert_eq!(clean(path).as_deref(), Some(expected), "{path}");
        }
        for path in [
            "",
            "a",
            "/..",
            "/../etc/passwd",
            "/a/../../b",
            "/%2e%2e/x",
            "/a/%2E%2e%2fb",
            "/..%2fx",
            "/.",
            "/a/./b",
            "/a%00b",
            "/%ff",
        ] {
            assert_eq!(clean(path), None, "{path}");
        }
        let folder = CleanPath::parse("//evil.example/a b").expect("a path");
        assert_eq!(folder.folder_url(), "/evil.example/a%20b/");
    }

    proptest! {
        #[test]
        fn no_path_has_a_name_that_leads_up(path in "(/|\\.|%2e|%2F|%5c|a|\\\\|%00|%25){0,12}") {
            if let Some(clean) = CleanPath::parse(&path) {
                prop_assert!(!clean.relative.starts_with('/'));
                prop_assert!(clean.relative.split('/').all(|name| !matches!(name, "." | "..")));
            }
        }
    }
}
