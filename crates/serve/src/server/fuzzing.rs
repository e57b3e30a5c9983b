//! What a fuzz target needs of the server: whatever clients send, each gets valid responses or a
//! closed connection, and never bytes of another object or of a file outside the folder.
//!
//! An input is text, so that a finding can be read. Its first byte chooses the source: `F` the
//! files of a folder, anything else an origin. Each further line is a connection: `GET /a|Range:
//! bytes=0-1` is one request with the fields that follow, and after `!` come the bytes that are
//! sent, with `|` for the end of a line. The client then ends its own direction.
//!
//! Every object says which it is: its body repeats the URL and, if the response varies, the
//! language of the request. What the origin does is in the URL as well ([`Reply::of`]).

use super::accept::Acceptor;
use super::stall::Stalling;
use crate::budget::Budget;
use crate::counters::Counters;
use crate::files::Files;
use crate::flight::Flights;
use crate::limits::Limits;
use crate::origin::Origin;
use crate::power::PowerModel;
use crate::routing::{App, Upstream};
use crate::site::Site;
use gordon_objectcache::{Cache, Recovery};
use http::Uri;
use hyper_util::server::graceful::GracefulShutdown;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::time::timeout;

/// Connections of an input.
const CONNECTIONS: usize = 32;
/// Time after which an exchange hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time that the origin has for an answer.
const ORIGIN: Duration = Duration::from_millis(100);
/// What is outside the folder.
const SECRET: &str = "SECRET";
/// The files, with their sizes.
const FILES: [(&str, usize); 6] = [
    ("index.html", 300),
    ("a.txt", 1000),
    ("b c.html", 2048),
    ("empty", 0),
    ("dir/index.html", 50),
    ("dir/large.bin", 9000),
];

/// A folder of files, with files and links next to it that lead out of it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the files, unless they exist. They are old enough to be stored when this returns.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn new(path: &Path) -> io::Result<Self> {
        let root = path.join("root");
        if !root.exists() {
            std::fs::create_dir_all(root.join("dir"))?;
            std::fs::create_dir_all(path.join("root-secret"))?;
            for secret in ["secret.txt", "root-secret/a.txt"] {
                std::fs::write(path.join(secret), SECRET)?;
            }
            for (name, size) in FILES {
                std::fs::write(root.join(name), body(&format!("/{name}"), "", size))?;
            }
            for (link, to) in [("in", "a.txt"), ("out", "../secret.txt"), ("up", "..")] {
                std::os::unix::fs::symlink(to, root.join(link))?;
            }
            std::thread::sleep(Duration::from_millis(150));
        }
        Ok(Self(root))
    }
}

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Responses by their status.
    pub statuses: BTreeMap<u16, usize>,
    /// Responses from the cache.
    pub hits: usize,
    /// Requests whose response was cut off.
    pub cut: usize,
}

/// Serves the connections of an input, and checks all that the clients receive. `block` is the
/// block of the cache.
///
/// # Panics
/// Panics if a client received what it must not, or if a task of the server panicked.
pub fn serve(
    folder: &Folder,
    (cache, recovery): (Cache, Recovery),
    block: u64,
    input: &[u8],
) -> Answers {
    count_panics();
    let Some((&kind, rest)) = input.split_first() else { return Answers::default() };
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let limits = Limits { origin: ORIGIN, ..Limits::default() };
        let upstream = if kind == b'F' {
            Upstream::Files(Files::open(&folder.0, false).expect("a folder"))
        } else {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let url = format!("http://{}", listener.local_addr().expect("an address"));
            tokio::spawn(answer(listener));
            Upstream::Origin(Arc::new(Origin::open(&url, None, ORIGIN).expect("a URL")))
        };
        let site = Arc::new(Site {
            cache,
            recovery,
            block,
            flights: Arc::new(Flights::default()),
            counters: Counters::default(),
            budget: Budget::new(limits.memory.0),
            limits,
            log: None,
            started: Instant::now(),
            clients: AtomicUsize::new(0),
            source: String::new(),
            power: PowerModel::default(),
        });
        let app = Arc::new(App { site: Arc::clone(&site), upstream });
        let acceptor = Acceptor { app, tls: None };
        let mut answers = Answers::default();
        for line in
            rest.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).take(CONNECTIONS)
        {
            let sent = bytes_of(line);
            let received = within(exchange(&acceptor, &sent)).await;
            check(kind == b'F', line, &received, &mut answers);
        }
        // No fetch stays, and no memory of a client.
        within(async {
            while site.flights.len() > 0 || site.budget.used() > 0 {
                tokio::time::sleep(Duration::from_micros(100)).await;
            }
        })
        .await;
        assert!(!HAS_PANICKED.get(), "a task of the server panicked");
        answers
    })
}

thread_local! {
    /// Whether a task on this thread has panicked: tokio would hide it.
    static HAS_PANICKED: Cell<bool> = const { Cell::new(false) };
}

fn count_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            HAS_PANICKED.set(true);
            before(info);
        }));
    });
    HAS_PANICKED.set(false);
}

async fn within<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what).await.expect("the server hangs")
}

/// Whether a line is bytes to be sent.
fn is_raw(line: &[u8]) -> bool {
    line.first() == Some(&b'!')
}

/// What a client sends.
fn bytes_of(line: &[u8]) -> Vec<u8> {
    let mut sent = Vec::new();
    let with_ends = |line: &[u8], sent: &mut Vec<u8>| {
        for &byte in line {
            match byte {
                b'|' => sent.extend(b"\r\n"),
                _ => sent.push(byte),
            }
        }
    };
    if is_raw(line) {
        with_ends(&line[1..], &mut sent);
        return sent;
    }
    let end = line.iter().position(|&byte| byte == b'|').unwrap_or(line.len());
    sent.extend(&line[..end]);
    sent.extend(b" HTTP/1.1\r\nHost: a.example");
    with_ends(&line[end..], &mut sent);
    sent.extend(b"\r\n\r\n");
    sent
}

/// Sends bytes on a connection and returns what comes back until it is closed.
async fn exchange(acceptor: &Acceptor, sent: &[u8]) -> Vec<u8> {
    let (client, server) = tokio::io::duplex(1 << 16);
    let requests = Arc::new(AtomicUsize::new(0));
    let Limits { head, stall, .. } = acceptor.app.site.limits;
    let server = Stalling::new(server, head, stall, Arc::clone(&requests));
    let graceful = GracefulShutdown::new();
    // Not of this machine: the pages of the server are not objects.
    let peer = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let serving = acceptor.speak(server, peer, false, requests, graceful.watcher());
    let (mut from, mut to) = split(client);
    let sending = async {
        // The server may close the connection first.
        let _ = to.write_all(sent).await;
        let _ = to.shutdown().await;
    };
    let mut received = Vec::new();
    let (_, _, read) = tokio::join!(serving, sending, from.read_to_end(&mut received));
    read.expect("a connection in memory");
    received
}

/// Checks what a client received.
fn check(is_files: bool, line: &[u8], received: &[u8], answers: &mut Answers) {
    let shown = || (String::from_utf8_lossy(line), String::from_utf8_lossy(received));
    let has_secret = received.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    assert!(!has_secret, "bytes from outside the folder: {:?}", shown());
    let request = Request::of(line);
    if request.is_none() && !received.starts_with(b"HTTP/1.") {
        // HTTP/2, or a connection that was closed.
        return;
    }
    let has_head = line.windows(4).any(|part| part == b"HEAD");
    if request.is_none() && has_head {
        // The lengths of these responses depend on what the server took for a request.
        return;
    }
    let is_head = request.as_ref().is_some_and(|request| request.method == "HEAD");
    let responses = match responses(received, is_head) {
        Ok(responses) => responses,
        Err(why) => panic!("{why}: {:?}", shown()),
    };
    if request.is_some() {
        assert!(responses.len() <= 1, "several responses to one request: {:?}", shown());
        answers.cut += usize::from(responses.is_empty());
    }
    for response in responses {
        *answers.statuses.entry(response.status).or_default() += 1;
        let status = response.field("cache-status").unwrap_or_default();
        answers.hits += usize::from(status.starts_with("gordon; hit"));
        answers.cut += usize::from(!response.is_whole);
        if !matches!(response.status, 200 | 206) || is_head {
            continue;
        }
        let expected = match &request {
            Some(request) => request.expected(is_files),
            None if response.status == 200 => claimed(is_files, line, &response),
            None => continue,
        };
        let Some(expected) = expected else { panic!("a body without an object: {:?}", shown()) };
        let expected = match response.status {
            206 => part(&response, &expected),
            _ => Some(&expected[..]),
        };
        let Some(expected) = expected else { panic!("not a range of the object: {:?}", shown()) };
        let is_right = if response.is_whole {
            response.body == expected
        } else {
            expected.starts_with(&response.body)
        };
        assert!(is_right, "bytes of another object: {:?}", shown());
    }
}

/// A request whose response is known.
struct Request {
    method: String,
    target: Uri,
    /// The values of Accept-Language as the origin sees them.
    language: String,
}

impl Request {
    /// `None` for a line that may be several requests, or none.
    fn of(line: &[u8]) -> Option<Self> {
        if is_raw(line) || line.contains(&b'\r') {
            return None;
        }
        let line = std::str::from_utf8(line).ok()?;
        let mut parts = line.split('|');
        let (method, target) = parts.next()?.split_once(' ')?;
        let target = target.parse().ok()?;
        let mut languages = Vec::new();
        let mut of_connection = Vec::new();
        for field in parts {
            // An empty line ends the head.
            let (name, value) = field.split_once(':')?;
            let values = value.split(',').map(|value| value.trim_matches([' ', '\t']).to_owned());
            match name.to_ascii_lowercase().as_str() {
                "accept-language" => languages.extend(values),
                "connection" => of_connection.extend(values.map(|name| name.to_ascii_lowercase())),
                _ => {}
            }
        }
        if of_connection.iter().any(|name| name == "accept-language") {
            languages.clear();
        }
        Some(Self { method: method.to_owned(), target, language: ascii(&languages.join(",")) })
    }

    /// The object that it is about.
    fn expected(&self, is_files: bool) -> Option<Vec<u8>> {
        if !is_files {
            let target = self.target.path_and_query().map_or("/", |target| target.as_str());
            // The origin gets a request for a host and a port as one of its root.
            let target = if target.starts_with('/') { target } else { "/" };
            return Some(Reply::of(target, &self.language).body);
        }
        let path = decoded(self.target.path());
        let path = String::from_utf8(path).ok()?;
        let mut names: Vec<_> = path.split('/').filter(|name| !name.is_empty()).collect();
        let is_folder = names.is_empty() || names == ["dir"];
        if is_folder {
            names.push("index.html");
        }
        let name = names.join("/");
        let name = if name == "in" { "a.txt" } else { &name };
        let (name, size) = FILES.iter().find(|(found, _)| *found == name)?;
        Some(body(&format!("/{name}"), "", *size))
    }
}

/// The object that a body claims to be, which must be one of those that were requested.
fn claimed(is_files: bool, line: &[u8], response: &Response) -> Option<Vec<u8>> {
    if response.body.is_empty() {
        return Some(Vec::new());
    }
    let first = response.body.split(|&byte| byte == b'\n').next()?;
    if first.len() == response.body.len() && !is_files {
        // Less than its name.
        let is_asked = is_in(line, first.trim_ascii_start().strip_prefix(b"/")?);
        return is_asked.then(|| first.to_vec());
    }
    let first = std::str::from_utf8(first).ok()?;
    let (target, language) = first.split_once(' ').unwrap_or((first, ""));
    if is_files {
        let (name, size) = FILES.iter().find(|(name, _)| target.strip_prefix('/') == Some(name))?;
        return Some(body(&format!("/{name}"), "", *size));
    }
    let asked = target.trim_start_matches('/').as_bytes();
    is_in(line, asked).then(|| Reply::of(target, language).body)
}

fn is_in(line: &[u8], part: &[u8]) -> bool {
    part.is_empty() || line.windows(part.len()).any(|found| found == part)
}

/// A language as bodies have it: a body may end within a character.
fn ascii(language: &str) -> String {
    language.chars().map(|found| if found.is_ascii() { found } else { '?' }).collect()
}

/// The part of an object that Content-Range names.
fn part<'a>(response: &Response, object: &'a [u8]) -> Option<&'a [u8]> {
    let text = response.field("content-range")?;
    let (range, length) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    let is_length = length.parse() == Ok(object.len());
    if is_length && first <= last { object.get(first..=last) } else { None }
}

fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let is_hex = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = digits.filter(is_hex).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|_| byte == b'%') {
            Some(code) => {
                out.push(code);
                rest = &after[2..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

/// The body of an object: its name again and again.
fn body(target: &str, language: &str, size: usize) -> Vec<u8> {
    let space = if language.is_empty() { "" } else { " " };
    format!("{target}{space}{language}\n").bytes().cycle().take(size).collect()
}

/// A response that a client received.
#[derive(Debug)]
struct Response {
    status: u16,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
    /// Whether the end of the body arrived.
    is_whole: bool,
}

impl Response {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// The responses of a connection of HTTP/1, without interim ones.
fn responses(mut bytes: &[u8], is_head: bool) -> Result<Vec<Response>, &'static str> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let end =
            bytes.windows(4).position(|part| part == b"\r\n\r\n").ok_or("a head without end")?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "a head that is not text")?;
        bytes = &bytes[end + 4..];
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let code = first.strip_prefix("HTTP/1.1 ").or_else(|| first.strip_prefix("HTTP/1.0 "));
        let code = code.and_then(|code| code.get(..3)).and_then(|code| code.parse().ok());
        let status: u16 = code.ok_or("not a status line")?;
        let mut fields = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("a field without a colon")?;
            let is_token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err("a field without a name");
            }
            if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
                return Err("a field with a control character");
            }
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let values = |name: &str| -> Vec<&str> {
            fields.iter().filter(|(found, _)| found == name).map(|(_, value)| &value[..]).collect()
        };
        let (lengths, codings) = (values("content-length"), values("transfer-encoding"));
        if lengths.len() + codings.len() > 1 {
            return Err("a body of two lengths");
        }
        let mut body = Vec::new();
        let mut is_whole = true;
        if is_head || status < 200 || status == 204 || status == 304 {
        } else if let [length] = lengths[..] {
            let length: usize = length.parse().map_err(|_| "not a length")?;
            is_whole = length <= bytes.len();
            body.extend(&bytes[..length.min(bytes.len())]);
            bytes = &bytes[body.len()..];
        } else if codings == ["chunked"] {
            is_whole = chunks(&mut bytes, &mut body)?;
        } else if codings.is_empty() {
            body.extend(std::mem::take(&mut bytes));
        } else {
            return Err("an unknown coding");
        }
        if status >= 200 {
            found.push(Response { status, fields, body, is_whole });
        }
    }
    Ok(found)
}

/// Reads chunks. Returns whether the last one arrived.
fn chunks(bytes: &mut &[u8], body: &mut Vec<u8>) -> Result<bool, &'static str> {
    loop {
        let Some(end) = bytes.windows(2).position(|part| part == b"\r\n") else {
            *bytes = &[];
            return Ok(false);
        };
        let size = std::str::from_utf8(&bytes[..end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or("a chunk without a size")?;
        let rest = &bytes[end + 2..];
        let Some(data) = rest.get(..size + 2) else {
            body.extend(&rest[..size.min(rest.len())]);
            *bytes = &[];
            return Ok(false);
        };
        if !data.ends_with(b"\r\n") {
            return Err("a chunk without end");
        }
        body.extend(&data[..size]);
        *bytes = &rest[size + 2..];
        if size == 0 {
            return Ok(true);
        }
    }
}

/// How the bytes of the origin's body are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length,
    Chunks,
    Close,
    /// It announces more than it sends.
    Short,
    /// Chunks without the last one.
    Cut,
}

/// The origin's answer.
#[derive(Debug)]
struct Reply {
    head: String,
    body: Vec<u8>,
    framing: Framing,
}

impl Reply {
    /// The answer to a URL, by the words in it.
    fn of(target: &str, language: &str) -> Self {
        let has = |word: &str| target.contains(word);
        let status = [("error", 500), ("moved", 302), ("absent", 404), ("bad304", 304)];
        let status = status.into_iter().find(|(word, _)| has(word)).map_or(200, |(_, code)| code);
        let mut head = format!("HTTP/1.1 {status} X\r\n");
        for (word, field) in [
            ("fresh", "Cache-Control: max-age=60"),
            ("stale", "Cache-Control: max-age=0, stale-while-revalidate=60, stale-if-error=60"),
            ("private", "Cache-Control: private"),
            ("etag", "ETag: \"v\""),
            ("modified", "Last-Modified: Sun, 09 Sep 2001 01:46:40 GMT"),
            ("vary", "Vary: Accept-Language"),
            ("star", "Vary: *"),
            ("cookie", "Set-Cookie: a=b"),
            ("aged", "Age: 99999999999999999999"),
            ("date", "Date: 99"),
            ("moved", "Location: //b.example/"),
            ("coded", "Content-Encoding: gzip"),
            ("part", "Content-Range: bytes 0-9/10"),
            ("drop", "Connection: cache-control, etag"),
        ] {
            if has(word) {
                head.push_str(field);
                head.push_str("\r\n");
            }
        }
        if has("many") {
            for number in 0..200 {
                head.push_str(&format!("X-{number}: 1\r\n"));
            }
        }
        let framings = [
            ("chunked", Framing::Chunks),
            ("close", Framing::Close),
            ("short", Framing::Short),
            ("cut", Framing::Cut),
        ];
        let framing = framings.into_iter().find(|(word, _)| has(word));
        let framing = framing.map_or(Framing::Length, |(_, framing)| framing);
        let size = target.split_once("len=").map_or("", |(_, after)| after);
        let digits = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
        let size = size[..digits].parse().unwrap_or(100) % 20_000;
        let language = if has("vary") { language } else { "" };
        Self { head, body: body(target, language, size), framing }
    }

    /// All bytes of the answer to a request of this method, which may have a valid condition.
    fn bytes(mut self, method: &str, is_current: bool) -> Vec<u8> {
        if is_current {
            self.head = self.head.replacen("200", "304", 1);
        }
        let mut out = self.head.into_bytes();
        let length = self.body.len();
        let field = match self.framing {
            Framing::Length => format!("Content-Length: {length}\r\n"),
            Framing::Short => format!("Content-Length: {}\r\n", length + 10),
            Framing::Chunks | Framing::Cut => "Transfer-Encoding: chunked\r\n".to_owned(),
            Framing::Close => String::new(),
        };
        out.extend(field.bytes());
        out.extend(b"\r\n");
        if method == "HEAD" || out.starts_with(b"HTTP/1.1 304") {
            return out;
        }
        if !matches!(self.framing, Framing::Chunks | Framing::Cut) {
            out.extend(self.body);
            return out;
        }
        for chunk in self.body.chunks(700) {
            out.extend(format!("{:x}\r\n", chunk.len()).bytes());
            out.extend(chunk);
            out.extend(b"\r\n");
        }
        if self.framing == Framing::Chunks {
            out.extend(b"0\r\n\r\n");
        }
        out
    }
}

/// The origin.
async fn answer(listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(answer_connection(socket));
    }
}

/// Answers the requests of a connection.
async fn answer_connection(mut socket: TcpStream) -> io::Result<()> {
    let mut read = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = read.windows(4).position(|part| part == b"\r\n\r\n") {
                break end + 4;
            }
            if socket.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&read[..end]).into_owned();
        read.drain(..end);
        let mut lines = head.split("\r\n");
        let first: Vec<_> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, _] = first[..] else { return Ok(()) };
        let mut languages = Vec::new();
        let mut is_current = false;
        let mut has_body = false;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let values = value.split(',').map(str::trim);
            match name.to_ascii_lowercase().as_str() {
                "accept-language" => languages.extend(values),
                "if-none-match" => is_current |= target.contains("etag") && value.trim() == "\"v\"",
                "content-length" | "transfer-encoding" => has_body = true,
                _ => {}
            }
        }
        if target.contains("hang") {
            std::future::pending::<()>().await;
        }
        let reply = Reply::of(target, &ascii(&languages.join(",")));
        let is_last = has_body || target.contains("drop") || reply.framing != Framing::Length;
        let bytes = reply.bytes(method, is_current);
        let bytes = if target.contains("garbage") { &bytes[10..] } else { &bytes };
        socket.write_all(bytes).await?;
        if is_last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
