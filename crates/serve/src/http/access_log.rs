//! The access log in the combined format of Apache and nginx.

use http::{HeaderMap, Method, Uri, Version};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use time::OffsetDateTime;

/// Size at which lines are written to the file.
const BUFFER: usize = 32 << 10;

/// A log of requests. Lines are written when enough have been collected, at each `flush`, and at
/// the end.
pub(crate) struct AccessLog {
    path: PathBuf,
    file: Mutex<LogFile>,
}

struct LogFile {
    file: File,
    lines: String,
    lost: u64,
}

impl LogFile {
    fn flush(&mut self) {
        if !self.lines.is_empty() && self.file.write_all(self.lines.as_bytes()).is_err() {
            self.lost += 1;
        }
        self.lines.clear();
    }
}

/// What is logged of a request.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub peer: IpAddr,
    pub method: Method,
    pub uri: Uri,
    pub version: Version,
    pub referer: Option<http::HeaderValue>,
    pub agent: Option<http::HeaderValue>,
}

impl Logged {
    pub fn of(peer: IpAddr, head: &http::request::Parts) -> Self {
        let field = |headers: &HeaderMap, name| headers.get(name).cloned();
        Self {
            peer,
            method: head.method.clone(),
            uri: head.uri.clone(),
            version: head.version,
            referer: field(&head.headers, http::header::REFERER),
            agent: field(&head.headers, http::header::USER_AGENT),
        }
    }
}

impl AccessLog {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = LogFile { file: append(path)?, lines: String::new(), lost: 0 };
        Ok(Self { path: path.into(), file: Mutex::new(file) })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LogFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file again, after it was renamed.
    pub fn reopen(&self) -> io::Result<()> {
        let file = append(&self.path)?;
        let mut log = self.lock();
        log.flush();
        log.file = file;
        Ok(())
    }

    /// Writes out what was collected.
    pub fn flush(&self) {
        self.lock().flush();
    }

    /// Number of writes that failed; their lines are lost.
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }

    pub fn add(&self, logged: &Logged, status: u16, bytes: u64, now: OffsetDateTime) {
        let mut log = self.lock();
        line(&mut log.lines, logged, status, bytes, now);
        if log.lines.len() >= BUFFER {
            log.flush();
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.flush();
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn line(out: &mut String, logged: &Logged, status: u16, bytes: u64, now: OffsetDateTime) {
    let month =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            [usize::from(u8::from(now.month())) - 1];
    // Writing to a `String` does not fail.
    let _ = write!(
        out,
        "{} - - [{:02}/{month}/{}:{:02}:{:02}:{:02} +0000] \"{} ",
        logged.peer,
        now.day(),
        now.year(),
        now.hour(),
        now.minute(),
        now.second(),
        logged.method,
    );
    let target = logged.uri.path_and_query().map_or("/", |target| target.as_str());
    escape(out, target.as_bytes());
    let version = match logged.version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    };
    let _ = write!(out, " {version}\" {status} {bytes} \"");
    escape(out, logged.referer.as_ref().map_or(b"-", |value| value.as_bytes()));
    out.push_str("\" \"");
    escape(out, logged.agent.as_ref().map_or(b"-", |value| value.as_bytes()));
    out.push_str("\"\n");
}

/// Quotes, backslashes and bytes that are not printable ASCII become `\xHH`, so that no client can
/// write a line of its own.
fn escape(out: &mut String, text: &[u8]) {
    for &byte in text {
        if matches!(byte, b'"' | b'\\') || !(0x20..0x7f).contains(&byte) {
            let _ = write!(out, "\\x{byte:02X}");
        } else {
            out.push(char::from(byte));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_combined_format_and_no_client_can_end_it() {
        let logged = Logged {
            peer: IpAddr::from([127, 0, 0, 1]),
            method: Method::GET,
            uri: Uri::from_static("/a?b=1"),
            version: Version::HTTP_11,
            referer: None,
            agent: http::HeaderValue::from_bytes(b"x\" \xff").ok(),
        };
        let mut out = String::new();
        let now = OffsetDateTime::from_unix_timestamp(1_000_000_000).expect("a time");
        line(&mut out, &logged, 200, 5, now);
        let expected = "127.0.0.1 - - [09/Sep/2001:01:46:40 +0000] \"GET /a?b=1 HTTP/1.1\" 200 5 \
                        \"-\" \"x\\x22 \\xFF\"\n";
        assert_eq!(out, expected);
    }
}
