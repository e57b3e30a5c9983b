//! The example: a proxy in a process of its own.

use gordon_testkit::watchdog;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// An origin: each body says which URL and language it is of. It counts its requests.
fn origin() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for client in listener.incoming() {
            let counted = Arc::clone(&counted);
            thread::spawn(move || answer(client.expect("a client"), &counted));
        }
    });
    (address, count)
}

fn answer(client: TcpStream, count: &AtomicUsize) {
    let mut lines = BufReader::new(client.try_clone().expect("a socket")).lines();
    let mut client = client;
    let Some(Ok(first)) = lines.next() else { return };
    let mut language = String::new();
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("accept-language: ") {
            language = value.to_owned();
        }
    }
    count.fetch_add(1, Ordering::SeqCst);
    let url = first.split(' ').nth(1).unwrap_or_default();
    let body = body(url, &language);
    let control = if url.contains("private") { "private" } else { "max-age=60" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nCache-Control: {control}\r\nVary: Accept-Language\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // The proxy may have left.
    let _ = client.write_all(head.as_bytes()).and_then(|()| client.write_all(body.as_bytes()));
}

fn body(url: &str, language: &str) -> String {
    let size = if url.contains("large") { 700_000 } else { 1000 };
    format!("{url} {language}\n").chars().cycle().take(size).collect()
}

/// The example, which is built with the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let folder = test.parent().and_then(Path::parent).expect("a folder of builds");
    folder.join("examples/proxy")
}

struct Proxy {
    process: Child,
    address: SocketAddr,
}

impl Proxy {
    fn start(origin: SocketAddr, folder: &Path) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let mut process = Command::new(program())
            .args([address.to_string(), origin.to_string()])
            .arg(folder)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        while TcpStream::connect(address).is_err() {
            assert!(process.try_wait().expect("a process").is_none(), "it has ended");
            thread::sleep(std::time::Duration::from_millis(10));
        }
        Self { process, address }
    }

    /// The value of X-Cache, and the body.
    fn ask(&self, method: &str, path: &str, fields: &str) -> (String, String) {
        let mut client = TcpStream::connect(self.address).expect("it listens");
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
        client.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let head = head.to_ascii_lowercase();
        let status = head.lines().find_map(|line| line.strip_prefix("x-cache: "));
        (status.unwrap_or(&head[..12]).to_owned(), body.to_owned())
    }

    fn get(&self, path: &str, language: &str) -> String {
        let field = format!("Accept-Language: {language}\r\n");
        let (status, found) = self.ask("GET", path, &field);
        assert!(found == body(path, language), "{path} {language}: {} bytes", found.len());
        status
    }

    fn stop(mut self) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().expect("kill runs");
        assert!(sent.success());
        assert!(self.process.wait().expect("a process").success());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_proxy_serves_from_the_cache_also_after_a_restart() {
    let _watchdog = watchdog("the_proxy_serves_from_the_cache_also_after_a_restart");
    let folder = tempfile::tempdir().expect("a folder");
    let (origin, count) = origin();
    let proxy = Proxy::start(origin, folder.path());
    for path in ["/a", "/large"] {
        assert_eq!(proxy.get(path, "de"), "miss");
        assert_eq!(proxy.get(path, "de"), "hit");
        assert_eq!(proxy.get(path, "en"), "miss");
        assert_eq!(proxy.get(path, "en"), "hit");
    }
    assert_eq!(count.load(Ordering::SeqCst), 4);
    let (status, part) =
        proxy.ask("GET", "/large", "Accept-Language: de\r\nRange: bytes=300000-300009\r\n");
    assert!(status == "hit" && part == body("/large", "de")[300_000..300_010], "{status}");
    assert_eq!(proxy.ask("HEAD", "/a", "Accept-Language: de\r\n").1, "");
    assert_ne!(proxy.get("/private", "de"), "hit");
    assert_ne!(proxy.get("/private", "de"), "hit");
    assert_eq!(proxy.ask("PURGE", "/a", "").0, "http/1.1 200");
    assert_eq!(proxy.ask("PURGE", "/a", "").0, "http/1.1 404");
    let before = count.load(Ordering::SeqCst);
    proxy.stop();
    let proxy = Proxy::start(origin, folder.path());
    assert_eq!(proxy.get("/large", "de"), "hit");
    assert_eq!(proxy.get("/large", "en"), "hit");
    assert_eq!(count.load(Ordering::SeqCst), before);
    assert_eq!(proxy.get("/a", "de"), "miss");
    proxy.stop();
}

#[test]
fn clients_that_ask_at_the_same_time_share_one_fetch() {
    let _watchdog = watchdog("clients_that_ask_at_the_same_time_share_one_fetch");
    let folder = tempfile::tempdir().expect("a folder");
    let (origin, count) = origin();
    let proxy = Proxy::start(origin, folder.path());
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| proxy.get("/large", "de"));
        }
    });
    assert_eq!(count.load(Ordering::SeqCst), 1);
    proxy.stop();
}
