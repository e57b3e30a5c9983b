//! The part of HTTP/1.1 that a status page needs: one request a connection, without a body.
//!
//! One thread serves all clients sequentially. A client has [`PATIENCE`] to send its request, and
//! the same time to receive the answer, so that no client delays the others for long.

use gordon_nbd::Listener;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, RecvFlags, SendFlags};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum size of the head of a request.
const HEAD: usize = 8192;
/// Maximum time to send a request, and maximum time to receive the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause after a system call that failed.
const PAUSE: Duration = Duration::from_millis(20);

/// The answer to a request.
pub(super) struct Answer {
    pub code: u16,
    pub kind: &'static str,
    pub body: String,
}

/// Serves requests until `wake_fd` is readable. `answer` gets the method and the path.
pub(super) fn serve(listener: &Listener, wake_fd: &OwnedFd, answer: impl Fn(&str, &str) -> Answer) {
    while !is_woken(wake_fd, None) {
        let mut fds = [PollFd::new(wake_fd, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        let waited = poll(&mut fds, None);
        let accepted = match waited {
            Ok(_) if fds[1].revents().is_empty() => continue,
            Ok(_) => listener.accept(),
            Err(Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
        match accepted {
            Ok((socket, _)) => {
                // Errors concern only this client, which has left or is too slow.
                let _ = serve_one(&socket, wake_fd, &answer);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // Descriptors or memory may become available again.
            Err(_) => {
                if is_woken(wake_fd, Some(PAUSE)) {
                    return;
                }
            }
        }
    }
}

/// Waits at most `time` for `wake_fd`. Returns whether it is readable.
fn is_woken(wake_fd: &OwnedFd, time: Option<Duration>) -> bool {
    let mut fds = [PollFd::new(wake_fd, PollFlags::IN)];
    match poll(&mut fds, Some(&timespec(time.unwrap_or_default()))) {
        Ok(ready) => ready > 0,
        Err(_) => {
            // `poll` does not report a stop now; a stop makes `wake_fd` readable.
            thread::sleep(time.unwrap_or_default());
            rustix::io::read(wake_fd, &mut [0; 8]).is_ok()
        }
    }
}

fn serve_one(
    client: &OwnedFd,
    wake_fd: &OwnedFd,
    answer: &impl Fn(&str, &str) -> Answer,
) -> io::Result<()> {
    let head = head(client, wake_fd)?;
    let Some((method, path)) = request(&head) else {
        let (code, kind, body) = (400, "text/plain", "not an HTTP request\n".to_owned());
        return send(client, wake_fd, &Answer { code, kind, body }, true);
    };
    send(client, wake_fd, &answer(method, path), method != "HEAD")
}

/// Receives the head of a request, up to the first empty line.
fn head(client: &OwnedFd, wake_fd: &OwnedFd) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = vec![0; HEAD];
    let mut len = 0;
    while len < HEAD {
        let received = retry_on_intr(|| net::recv(client, &mut head[len..], RecvFlags::DONTWAIT));
        match received {
            Ok((_, 0)) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok((_, count)) => len += count,
            Err(Errno::WOULDBLOCK) => {
                wait(client, wake_fd, PollFlags::IN, deadline)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        if head[..len].windows(4).any(|end| end == b"\r\n\r\n") {
            head.truncate(len);
            return Ok(head);
        }
    }
    Err(ErrorKind::InvalidData.into())
}

/// The method and the path (without a query) of a request; `None` if it is not HTTP/1.
fn request(head: &[u8]) -> Option<(&str, &str)> {
    let line = head.split(|&byte| byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let path = target.split('?').next()?;
    (version.starts_with("HTTP/1.") && words.next().is_none()).then_some((method, path))
}

fn send(client: &OwnedFd, wake_fd: &OwnedFd, answer: &Answer, with_body: bool) -> io::Result<()> {
    let Answer { code, kind, body } = answer;
    let reason = match code {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        _ => "Method Not Allowed",
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {code} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    let text = [head.as_bytes(), if with_body { body.as_bytes() } else { &[] }].concat();
    let deadline = Instant::now() + PATIENCE;
    let mut rest = &text[..];
    while !rest.is_empty() {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match retry_on_intr(|| net::send(client, rest, flags)) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::WOULDBLOCK) => wait(client, wake_fd, PollFlags::OUT, deadline)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until the client's socket is ready. Fails at the deadline, or if the server stops.
fn wait(
    client: &OwnedFd,
    wake_fd: &OwnedFd,
    events: PollFlags,
    deadline: Instant,
) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() || is_woken(wake_fd, None) {
        return Err(ErrorKind::TimedOut.into());
    }
    let mut fds = [PollFd::new(wake_fd, PollFlags::IN), PollFd::new(client, events)];
    match poll(&mut fds, Some(&timespec(left))) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Converts a duration for the kernel.
fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).expect("waits here are a few seconds at most")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_nbd::Listen;
    use gordon_testkit::watchdog;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    /// Serves pages whose content is the method and path of the request, while `test` runs.
    fn served(name: &'static str, test: impl FnOnce(&Path)) {
        let _watchdog = watchdog(name);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let (listener, _) = Listener::open(&Listen::Unix(path.clone()), false).expect("a socket");
        let wake_fd =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("an eventfd");
        thread::scope(|scope| {
            scope.spawn(|| {
                let body = |method: &str, path: &str| format!("{method} {path}").repeat(100_000);
                serve(&listener, &wake_fd, |method, path| Answer {
                    code: 200,
                    kind: "text/plain",
                    body: body(method, path),
                });
            });
            test(&path);
            rustix::io::write(&wake_fd, &1u64.to_ne_bytes()).expect("woken");
        });
    }

    fn ask(path: &Path, request: &str) -> String {
        let mut client = UnixStream::connect(path).expect("it listens");
        client.write_all(request.as_bytes()).expect("sent");
        let mut text = String::new();
        client.read_to_string(&mut text).expect("an answer");
        text
    }

    #[test]
    fn an_answer_has_a_content_length_and_none_to_head_has_a_body() {
        served("an_answer_has_a_content_length_and_none_to_head_has_a_body", |path| {
            let page = ask(path, "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
            let (head, body) = page.split_once("\r\n\r\n").expect("a head");
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert_eq!(body, "GET /a".repeat(100_000));
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
            let head = ask(path, "HEAD /a HTTP/1.0\r\n\r\n");
            assert!(head.contains("Content-Length: 700000") && head.ends_with("\r\n\r\n"));
        });
    }

    #[test]
    fn invalid_and_slow_clients_do_not_block_others() {
        served("invalid_and_slow_clients_do_not_block_others", |path| {
            for wrong in ["hello\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n"] {
                assert!(ask(path, wrong).starts_with("HTTP/1.1 400 "), "{wrong}");
            }
            // Clients that leave before or during their request, or send an endless head.
            drop(UnixStream::connect(path).expect("it listens"));
            let mut half = UnixStream::connect(path).expect("it listens");
            half.write_all(b"GET / HT").expect("sent");
            half.shutdown(Shutdown::Write).expect("shut");
            assert_eq!(half.read_to_end(&mut Vec::new()).expect("closed"), 0);
            let mut long = UnixStream::connect(path).expect("it listens");
            // The server may close the connection before everything is sent.
            let _ = long.write_all(&[b'x'; 2 * HEAD]);
            // Clients that send nothing, or do not receive their long answer.
            let _silent = UnixStream::connect(path).expect("it listens");
            let mut deaf = UnixStream::connect(path).expect("it listens");
            deaf.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
            assert!(ask(path, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
        });
    }

    #[test]
    fn a_stop_does_not_wait_for_a_client() {
        let mut client = None;
        served("a_stop_does_not_wait_for_a_client", |path| {
            let mut silent = UnixStream::connect(path).expect("it listens");
            silent.write_all(b"GET / HT").expect("sent");
            client = Some(silent);
        });
    }
}
