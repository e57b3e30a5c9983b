//! Reads logs of web servers in the common log format of NCSA and W3C, and in the combined format,
//! which adds two quoted fields. A line is `host ident user [day/Mon/year:h:m:s zone] "METHOD
//! target PROTOCOL" status bytes`.
//!
//! The result is a trace of objects. An object is a target including its query, and its size is
//! that of the reply. A log of several sites names the site of each request, because `/index.html`
//! of two sites is two objects. The site is found in the places where servers write it: before the
//! host (Apache's `vhost_combined`, `%v:%p %h ...`), in place of the ident (lighttpd's default, `%h
//! %V %u ...`), or in a field after bytes, referrer and agent (nginx's `"$host"`). Taken are GETs
//! with status 200 and a body. Other methods (HEAD, POST), other statuses (partial content, not
//! modified, moved, errors) and replies without bytes (`-` or 0) are left out and counted. Servers
//! write a line when the reply has been sent, but Apache writes the time of arrival, so times may
//! go backwards.

use super::entry_error::EntryError;
use super::request::{NEVER, ObjectRequest};
use gordon_units::Ns;
use std::net::IpAddr;

/// A parsed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogLine {
    /// A request for an object. Its time is in seconds since 1970.
    Taken {
        object: ObjectRequest,
        /// Whether the line names the site, which is then part of the name of the object.
        virtual_host: bool,
    },
    /// The method is not GET.
    Method,
    /// The status is not 200.
    Status,
    /// The reply has no bytes.
    Empty,
}

/// Parses a line that is not blank, without its line end.
pub(super) fn line(line: &[u8]) -> Result<LogLine, EntryError> {
    let blank = memchr::memchr(b' ', line).unwrap_or(line.len());
    if blank == 0 || blank == line.len() {
        return Err(EntryError::field("host", line, "a host, and more fields after a blank"));
    }
    // The name of a user may contain blanks.
    let Some(open) = memchr::memmem::find(line, b" [") else {
        return Err(EntryError::field(
            "time",
            &line[blank..],
            "[day/Mon/year:hour:minute:second zone]",
        ));
    };
    let rest = &line[open + 2..];
    let Some(close) = memchr::memchr(b']', rest) else {
        return Err(EntryError::field("time", rest, "[day/Mon/year:hour:minute:second zone]"));
    };
    let time = time(&rest[..close]).ok_or_else(|| {
        EntryError::field("time", &rest[..close], "day/Mon/year:h:m:s zone from 1970 on")
    })?;
    let client = &line[..open];
    let rest = rest[close + 1..].strip_prefix(b" \"");
    let Some((asked, status, rest)) = rest.and_then(request) else {
        let expected = "a request in quotes and a status of three digits";
        return Err(EntryError::field("request", &line[open + close + 3..], expected));
    };
    let word = rest.split(|&b| b == b' ').next().unwrap_or_default();
    let size = match word {
        b"-" => 0,
        word => digits(word).ok_or_else(|| {
            EntryError::field("bytes", word, "a whole number of at most 18 digits, or -")
        })?,
    };
    if status != 200 {
        return Ok(LogLine::Status);
    }
    let mut words = asked.split(|&b| b == b' ');
    if words.next() != Some(b"GET") {
        return Ok(LogLine::Method);
    }
    if size == 0 {
        return Ok(LogLine::Empty);
    }
    let target = words.next().filter(|target| !target.is_empty());
    let target =
        target.ok_or_else(|| EntryError::field("request", asked, "GET and what is asked for"))?;
    let at = Ns(u64::from(time) * Ns::SECOND.0);
    let site = site_of_client(client).or_else(|| site_at_end(&rest[word.len()..]));
    let object = ObjectRequest { key: hash(site, target), next: NEVER, size, at, write: false };
    Ok(LogLine::Taken { object, virtual_host: site.is_some() })
}

/// The site in `host ident user`, before the host or in place of the ident. The name of a user may
/// contain blanks.
fn site_of_client(client: &[u8]) -> Option<&[u8]> {
    let mut words = client.split(|&b| b == b' ').filter(|word| !word.is_empty());
    let (first, second) = (words.next()?, words.next()?);
    let (third, fourth) = (words.next(), words.next());
    let ident_follows = fourth.is_some() && (third == Some(b"-") || is_address(second));
    if second == b"-" {
        None
    } else if is_address(first) && is_site(second) {
        Some(second)
    } else {
        ident_follows.then_some(first)
    }
}

/// The site in the fields after the bytes. The first two quoted fields are referrer and agent.
/// Later fields may be anything, for example addresses of proxies.
fn site_at_end(mut rest: &[u8]) -> Option<&[u8]> {
    let mut quoted = 0;
    loop {
        rest = rest.trim_ascii_start();
        let (field, after) = match rest {
            [] => return None,
            [b'"', text @ ..] => {
                quoted += 1;
                let end = end_of_quoted(text)?;
                (&text[..end], &text[end + 1..])
            }
            text => text.split_at(memchr::memchr(b' ', text).unwrap_or(text.len())),
        };
        let is_agent = rest[0] == b'"' && quoted <= 2;
        if !is_agent && is_site(field) {
            return Some(field);
        }
        rest = after;
    }
}

/// The end of a quoted field. A backslash escapes quotes in it.
fn end_of_quoted(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'"', text).find(|&end| {
        text[..end].iter().rev().take_while(|&&b| b == b'\\').count().is_multiple_of(2)
    })
}

fn is_address(word: &[u8]) -> bool {
    str::from_utf8(word).is_ok_and(|word| word.parse::<IpAddr>().is_ok())
}

/// Whether a word is the name of a site (RFC 1123, 2.1): labels separated by points, where the last
/// one starts with a letter, and an optional port.
fn is_site(word: &[u8]) -> bool {
    let (name, port) = match memchr::memrchr(b':', word) {
        Some(colon) => (&word[..colon], Some(&word[colon + 1..])),
        None => (word, None),
    };
    let good = |label: &[u8]| {
        !label.is_empty() && label.iter().all(|&b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    let last = name.rsplit(|&b| b == b'.').next().unwrap_or_default();
    last.first().is_some_and(u8::is_ascii_alphabetic)
        && (name.contains(&b'.') || port.is_some())
        && name.split(|&b| b == b'.').all(good)
        && port.is_none_or(|port| digits(port).is_some())
}

/// Splits off the request between quotes and the status, and returns the rest of the line as well.
/// Some servers do not escape quotes within the request, so the closing quote is the first one that
/// precedes a status.
fn request(text: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    memchr::memmem::find_iter(text, b"\" ").find_map(|end| {
        let rest = &text[end + 2..];
        let status = digits(rest.get(..3)?)?;
        let rest = rest[3..].strip_prefix(b" ")?;
        Some((&text[..end], status, rest))
    })
}

fn digits(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 18 || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(word.iter().fold(0, |value, &digit| value * 10 + u64::from(digit - b'0')))
}

/// Parses `10/Oct/2000:13:55:36 -0700` into seconds since 1970.
fn time(text: &[u8]) -> Option<u32> {
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let number = |from: usize, len: usize, below: u64| {
        let value = digits(text.get(from..from + len)?)?;
        (value < below).then(|| i64::try_from(value).unwrap_or(0))
    };
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if text.len() != 26 || marks.iter().any(|&(at, mark)| text[at] != mark) {
        return None;
    }
    let month = MONTHS.chunks(3).position(|name| *name == text[3..6])?;
    let (day, year) = (number(0, 2, 32)?, number(7, 4, 10_000)?);
    // 61 seconds: a minute may contain a leap second.
    let [hour, minute, second] = [number(12, 2, 24)?, number(15, 2, 60)?, number(18, 2, 61)?];
    let zone = (number(22, 2, 25)? * 60 + number(24, 2, 60)?) * 60;
    let ahead = match text[21] {
        b'+' => zone,
        b'-' => -zone,
        _ => return None,
    };
    // Days since 1970, with years that begin in March (Hinnant, "chrono-compatible low-level date
    // algorithms").
    let month = i64::try_from(month).ok()? + 1;
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468;
    u32::try_from(days * 86_400 + hour * 3600 + minute * 60 + second - ahead).ok()
}

/// The key of an object. Its name is the target, preceded by the site in lower case and a blank if
/// the line names a site.
fn hash(site: Option<&[u8]>, target: &[u8]) -> u64 {
    let site = site.map(|site| site.iter().map(u8::to_ascii_lowercase).chain([b' ']));
    let name = site.into_iter().flatten().chain(target.iter().copied());
    hash_name(name)
}

/// FNV-1a (Fowler, Noll and Vo), followed by the finalizer of `MurmurHash`3 (Stafford's variant
/// 13), so that names which differ only at the end differ in all bits.
pub(super) fn hash_name(name: impl Iterator<Item = u8>) -> u64 {
    let mut hash = name.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Whether more than half of the lines are well-formed lines of a log, including those that are
/// left out.
pub(super) fn is_log(lines: &[&[u8]]) -> bool {
    let good = lines.iter().filter(|text| line(text).is_ok()).count();
    good * 2 > lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> (u64, u64) {
        match line(text.as_bytes()) {
            Ok(LogLine::Taken { object, .. }) => (object.at.0 / Ns::SECOND.0, object.size),
            other => panic!("{text}: {other:?}"),
        }
    }

    /// The example in Apache's manual.
    #[test]
    fn the_manuals_line() {
        let text = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
        assert_eq!(taken(text), (971_211_336, 2326));
    }

    #[test]
    fn times_and_zones() {
        let at = |text: &str| time(text.as_bytes());
        assert_eq!(at("01/Jan/1970:00:00:00 +0000"), Some(0));
        assert_eq!(at("01/Jan/1970:01:30:00 +0130"), Some(0));
        assert_eq!(at("29/Feb/2000:23:59:59 +0000"), Some(951_868_799));
        assert_eq!(at("01/Mar/2000:00:00:00 +0000"), Some(951_868_800));
        assert_eq!(at("31/Dec/2016:23:59:60 +0000"), Some(1_483_228_800));
        for bad in [
            "31/Dec/1969:23:59:59 +0000",
            "10/Okt/2000:13:55:36 -0700",
            "10/Oct/2000:24:00:00 +0000",
            "10/Oct/2000:13:55:36",
            "10/Oct/2000:13:55:36 *0700",
            "aa/Oct/2000:13:55:36 +0000",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn objects_differ_by_their_whole_target() {
        let key = |target: &str| {
            let text =
                format!("h - - [10/Oct/2000:13:55:36 +0000] \"GET {target} HTTP/1.1\" 200 5");
            match line(text.as_bytes()) {
                Ok(LogLine::Taken { object, .. }) => object.key,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(key("/a"), key("/a"));
        let keys = [key("/a"), key("/b"), key("/a?x=1"), key("/a?x=2"), key("/A")];
        assert!((0..5).all(|i| (0..i).all(|j| keys[i] != keys[j])));
    }

    #[test]
    fn a_reply_may_be_larger_than_4_gib() {
        let text =
            r#"h - - [10/Oct/2000:13:55:36 +0000] "GET /iso HTTP/1.1" 200 5368709120 "-" "-""#;
        assert_eq!(taken(text).1, 5 << 30);
    }

    /// The site of a line, found by comparing its key with that of each word as the site.
    fn site(client: &str, end: &str) -> Option<String> {
        let text = format!("{client} [10/Oct/2000:13:55:36 +0000] \"GET /a HTTP/1.1\" 200 5{end}");
        let Ok(LogLine::Taken { object, virtual_host }) = line(text.as_bytes()) else {
            panic!("{text}")
        };
        if !virtual_host {
            assert_eq!(object.key, hash(None, b"/a"), "{text}");
            return None;
        }
        let mut words = client.split(' ').chain(end.split([' ', '"']));
        let found = words.find(|word| object.key == hash(Some(word.as_bytes()), b"/a"));
        Some(found.expect("a word of the line").to_owned())
    }

    #[test]
    fn a_site_is_part_of_an_objects_name() {
        const COMBINED: &str = r#" "http://a.example/x" "agent.example.org""#;
        for (client, end, expected) in [
            ("10.0.0.1 - -", "", None),
            ("10.0.0.1 - -", COMBINED, None),
            ("10.0.0.1 - John F. Doe", COMBINED, None),
            ("client.example.org - -", COMBINED, None),
            ("10.0.0.1 ident user", COMBINED, None),
            // Apache's vhost_combined, with and without a port.
            ("a.example.org:443 10.0.0.1 - -", COMBINED, Some("a.example.org:443")),
            ("a.example.org 10.0.0.1 - -", "", Some("a.example.org")),
            ("a.example.org client.example.org - -", "", Some("a.example.org")),
            ("a.example.org 10.0.0.1 ident user", "", Some("a.example.org")),
            ("a.example.org ::1 - John Doe", "", Some("a.example.org")),
            ("localhost 10.0.0.1 - -", "", Some("localhost")),
            ("192.0.2.1:80 10.0.0.1 - -", "", Some("192.0.2.1:80")),
            // lighttpd, and a site after the client.
            ("10.0.0.1 a.example.org -", COMBINED, Some("a.example.org")),
            ("10.0.0.1 localhost:8080 -", COMBINED, Some("localhost:8080")),
            ("10.0.0.1 a.example.org - -", COMBINED, Some("a.example.org")),
            // nginx: the site is at the end.
            ("10.0.0.1 - -", r#" "-" "x" "a.example.org""#, Some("a.example.org")),
            ("10.0.0.1 - -", r#" "-" "x" "10.0.0.2" "a.example.org:80""#, Some("a.example.org:80")),
            ("10.0.0.1 - -", r#" "-" "x \"y\" z" 0.003 a.example.org"#, Some("a.example.org")),
            ("10.0.0.1 - -", " a.example.org", Some("a.example.org")),
            // Addresses of proxies, times and protocols are not sites.
            ("10.0.0.1 - -", r#" "-" "x" "10.0.0.2, 10.0.0.3""#, None),
            ("10.0.0.1 - -", r#" "-" "x" "-" 0.003 TLSv1.3 HIT"#, None),
            ("10.0.0.1 - -", r#" "-" "x" "unfinished"#, None),
        ] {
            assert_eq!(site(client, end).as_deref(), expected, "{client} ... {end}");
        }
        assert_eq!(hash(Some(b"A.Example"), b"/a"), hash(Some(b"a.example"), b"/a"));
        assert_ne!(hash(Some(b"a.example"), b"/A"), hash(Some(b"a.example"), b"/a"));
    }

    #[test]
    fn some_lines_are_left_out_and_others_malformed() {
        let of = |rest: &str| line(format!("h - - [10/Oct/2000:13:55:36 +0000] {rest}").as_bytes());
        assert_eq!(of(r#""HEAD /a HTTP/1.1" 200 5"#), Ok(LogLine::Method));
        assert_eq!(of(r#""GET /a HTTP/1.1" 304 -"#), Ok(LogLine::Status));
        assert_eq!(of(r#""GET /a HTTP/1.1" 200 -"#), Ok(LogLine::Empty));
        assert_eq!(of(r#""GET /a HTTP/1.1" 200 0 "-" "-""#), Ok(LogLine::Empty));
        assert_eq!(of(r#""-" 408 -"#), Ok(LogLine::Status));
        assert!(matches!(of(r#""GET /a"b" HTTP/1.0" 200 7"#), Ok(LogLine::Taken { .. })));
        let error_text = |rest: &str| of(rest).unwrap_err().to_string();
        assert!(
            error_text(r#""GET /a HTTP/1.1" 200 x"#).starts_with("bytes: expected a whole number")
        );
        assert!(error_text(r#""GET /a HTTP/1.1" 200 4294967296000000000"#).starts_with("bytes: "));
        assert!(error_text(r#""GET" 200 5"#).starts_with("request: expected GET and what"));
        assert!(
            error_text(r#""GET /a HTTP/1.1" abc 5"#).starts_with("request: expected a request in")
        );
        assert!(error_text(r#"GET /a HTTP/1.1 200 5"#).starts_with("request: "));
        assert!(
            line(b"h - - 10/Oct/2000 \"GET /a\" 200 5")
                .unwrap_err()
                .to_string()
                .starts_with("time: ")
        );
        assert!(line(b"h - - [10/Oct/2000").unwrap_err().to_string().starts_with("time: "));
        assert!(line(b"nothing").unwrap_err().to_string().starts_with("host: "));
    }
}
