//! A server from start to stop, by its public interface.

use gordon_objectcache::Config;
use gordon_serve::{Limits, PowerModel, ServeConfig, ServeError, Server, Source};
use gordon_testkit::watchdog;
use gordon_units::Bytes;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

fn config(source: Source) -> ServeConfig {
    ServeConfig {
        source,
        cache: Config::new(16 << 20),
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        tls: None,
        control: None,
        access_log: None,
        threads: 1,
        limits: Limits::default(),
        power: PowerModel::default(),
    }
}

fn folder(path: &Path) -> Source {
    Source::Root { path: path.into(), follows_links: false }
}

fn origin(url: &str) -> Source {
    Source::Origin { url: url.to_owned(), authorities: None }
}

/// The whole answer to a request of one connection.
fn ask(server: &Server, request: &str) -> String {
    let mut client = TcpStream::connect(server.listening()[0]).expect("it listens");
    client.write_all(request.as_bytes()).expect("sent");
    let mut bytes = Vec::new();
    // A connection that is cut is an answer too.
    let _ = client.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn get(server: &Server, path: &str) -> String {
    ask(server, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
}

/// An origin that sends these bytes to each connection that has sent a request.
fn says(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a client");
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(bytes);
        }
    });
    url
}

#[test]
fn a_file_is_served_from_the_cache_and_the_stop_leaves_nothing() {
    let _watchdog = watchdog("a_file_is_served_from_the_cache_and_the_stop_leaves_nothing");
    let root = tempfile::tempdir().expect("a folder");
    std::fs::write(root.path().join("a.txt"), "content").expect("written");
    thread::sleep(Duration::from_millis(150));
    let control = root.path().join("control");
    let mut options = config(folder(root.path()));
    options.control = Some(control.clone());
    options.access_log = Some(root.path().join("log"));
    options.threads = 2;
    let server = Server::start(options).expect("it starts");
    for expected in ["gordon; fwd=uri-miss; stored", "gordon; hit; detail=dram"] {
        let answer = get(&server, "/a.txt");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\ncontent"), "{answer}");
        assert!(answer.contains(&format!("cache-status: {expected}\r\n")), "{answer}");
    }
    let mut client = UnixStream::connect(&control).expect("it listens");
    client.write_all(b"GET /stats HTTP/1.0\r\n\r\n").expect("sent");
    let mut stats = String::new();
    client.read_to_string(&mut stats).expect("an answer");
    assert!(stats.contains("\"kind\":\"serve-stats\""), "{stats}");
    assert_eq!(server.stats().requests.results.dram, 1);
    assert!(server.is_serving());
    server.reload().expect("the log is opened again");
    server.stop().expect("the cache is closed");
    assert!(!control.exists());
    let log = std::fs::read_to_string(root.path().join("log")).expect("a log");
    assert_eq!(log.lines().count(), 2);
}

#[test]
fn a_body_that_ends_early_is_never_whole() {
    let _watchdog = watchdog("a_body_that_ends_early_is_never_whole");
    let url =
        says(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nContent-Length: 10\r\n\r\nhalf");
    let server = Server::start(config(origin(&url))).expect("it starts");
    for _ in 0..2 {
        let answer = get(&server, "/a");
        assert!(answer.contains("content-length: 10\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nhalf") || answer.ends_with("\r\n\r\n"), "{answer}");
    }
    assert_eq!(server.stats().requests.aborted, 2);
    assert_eq!(server.stats().cache.dram_objects, 0);
}

#[test]
fn a_client_that_sends_nothing_is_disconnected() {
    let _watchdog = watchdog("a_client_that_sends_nothing_is_disconnected");
    let root = tempfile::tempdir().expect("a folder");
    let mut options = config(folder(root.path()));
    options.limits.head = Duration::from_millis(200);
    let server = Server::start(options).expect("it starts");
    for start in ["", "GET / HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        ask(&server, start);
    }
    // An idle connection after a request ends too.
    let answer = ask(&server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[test]
fn fetches_that_need_more_memory_than_all_clients_may_have_end() {
    let _watchdog = watchdog("fetches_that_need_more_memory_than_all_clients_may_have_end");
    let root = tempfile::tempdir().expect("a folder");
    let content = "0123456789".repeat(100_000);
    for name in 0..6 {
        std::fs::write(root.path().join(name.to_string()), &content).expect("written");
    }
    thread::sleep(Duration::from_millis(150));
    let mut options = config(folder(root.path()));
    options.limits.memory = Bytes(256 << 10);
    let server = Server::start(options).expect("it starts");
    thread::scope(|scope| {
        for name in 0..6 {
            let (server, content) = (&server, &content);
            scope.spawn(move || {
                // While all memory is in use, requests are refused.
                let answer = loop {
                    let answer = get(server, &format!("/{name}"));
                    if !answer.starts_with("HTTP/1.1 503 ") {
                        break answer;
                    }
                    thread::sleep(Duration::from_millis(5));
                };
                let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
                assert!(body == Some(content), "{} bytes", answer.len());
            });
        }
    });
}

#[test]
fn a_client_that_does_not_open_the_window_of_a_stream_is_disconnected() {
    let _watchdog = watchdog("a_client_that_does_not_open_the_window_of_a_stream_is_disconnected");
    // With a byte of window, the connection takes a frame that it cannot send.
    for window in [0, 1] {
        stalled_by_a_window(window);
    }
}

fn stalled_by_a_window(window: u8) {
    let root = tempfile::tempdir().expect("a folder");
    std::fs::write(root.path().join("a"), "content").expect("written");
    let mut options = config(folder(root.path()));
    options.limits.stall = Duration::from_millis(400);
    // No ping ends the connection, and its frame is all that clients may have.
    options.limits.head = Duration::from_secs(3600);
    options.limits.memory = Bytes(7);
    let server = Server::start(options).expect("it starts");
    let mut client = TcpStream::connect(server.listening()[0]).expect("it listens");
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS: windows of streams.
    sent.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, window]);
    // HEADERS of stream 1: GET http /a, of the host x.
    let fields = [0x82, 0x86, 0x04, 2, b'/', b'a', 0x41, 1, b'x'];
    sent.extend([0, 0, fields.len() as u8, 1, 5, 0, 0, 0, 1]);
    sent.extend(fields);
    client.write_all(&sent).expect("sent");
    let mut bytes = Vec::new();
    // Ends when the server closes the connection.
    let _ = client.read_to_end(&mut bytes);
    assert!(!bytes.windows(7).any(|part| part == b"content"));
    drop(client);
    assert!(get(&server, "/a").ends_with("content"));
}

#[test]
fn what_cannot_be_served_is_an_error_at_the_start() {
    let missing = PathBuf::from("/nonexistent/folder");
    let failed = |options| Server::start(options).err().expect("it does not start");
    assert!(matches!(failed(config(folder(&missing))), ServeError::Root { .. }));
    for url in ["", "x", "ftp://x/", "http://", "http://a@b/", "http://a/?b"] {
        assert!(matches!(failed(config(origin(url))), ServeError::Origin { .. }), "{url}");
    }
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("file");
    std::fs::write(&file, "").expect("written");
    let with = |change: &dyn Fn(&mut ServeConfig)| {
        let mut options = config(folder(root.path()));
        change(&mut options);
        failed(options)
    };
    assert!(matches!(with(&|o| o.control = Some(file.clone())), ServeError::Exists(_)));
    assert!(matches!(with(&|o| o.access_log = Some(missing.clone())), ServeError::Log { .. }));
    assert!(matches!(with(&|o| o.limits.connections = 0), ServeError::Limits(_)));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    assert!(matches!(with(&|o| o.listen = vec![address]), ServeError::Listen { .. }));
}
