//! The accept loop: a thread for each client, up to the limit.

use super::connection;
use super::inbox::Inbox;
use super::listen::Listener;
use super::options::ClientEvent;
use super::state::ServerState;
use super::stream::ClientStream;
use super::wait::{PAUSE, TICK, timespec};
use crate::threads::spawn_small;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

/// Waits until one of the descriptors is ready, like `poll` without a timeout. Tests replace it.
type PollWait<'a> = dyn FnMut(&mut [PollFd<'_>]) -> rustix::io::Result<usize> + 'a;

/// Accepts clients until `wake_fd` is readable.
pub(super) fn accept_loop(
    shared: &Arc<ServerState>,
    listeners: &[Listener],
    wake_fd: &OwnedFd,
    wait: &mut PollWait<'_>,
) {
    let mut next = 1;
    // Whether the last wait failed, so that a lasting failure is reported only once.
    let mut failed = false;
    loop {
        let mut fds = vec![PollFd::new(wake_fd, PollFlags::IN)];
        fds.extend(listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
        match wait(&mut fds) {
            Ok(_) => failed = false,
            Err(Errno::INTR) => continue,
            Err(error) => {
                if !failed {
                    shared.emit(&ClientEvent::Refused {
                        why: format!("cannot wait for clients: {error}"),
                    });
                }
                failed = true;
                // `poll` does not report the stop now; a stop makes `wake_fd` readable.
                if rustix::io::read(wake_fd, &mut [0; 8]).is_ok() {
                    return;
                }
                thread::sleep(PAUSE);
                continue;
            }
        }
        if !fds[0].revents().is_empty() {
            return;
        }
        for (listener, fd) in listeners.iter().zip(&fds[1..]) {
            if fd.revents().is_empty() {
                continue;
            }
            let result = listener.accept().and_then(|(socket, peer)| {
                let client = next;
                next += 1;
                admit(shared, socket, client, peer)
            });
            match result {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    shared.emit(&ClientEvent::Refused { why: error.to_string() });
                    let pause = timespec(PAUSE);
                    let _ = poll(&mut [PollFd::new(wake_fd, PollFlags::IN)], Some(&pause));
                }
            }
        }
    }
}

fn admit(shared: &Arc<ServerState>, socket: OwnedFd, client: u64, peer: String) -> io::Result<()> {
    let limit = shared.limits.connections;
    if shared.clients().len() >= limit {
        shared.emit(&ClientEvent::Refused {
            why: format!("{peer}: {limit} clients are there already"),
        });
        return Ok(());
    }
    set_socket_timeout(&socket, Timeout::Recv, Some(TICK))?;
    let socket = Arc::new(socket);
    let inbox = Arc::new(Inbox::new(Arc::clone(&socket))?);
    shared.clients().insert(client, Arc::clone(&inbox));
    let place = ConnectionGuard { shared: Arc::clone(shared), client };
    let serve = move || {
        place.shared.emit(&ClientEvent::Connected { client, peer });
        let end = connection::serve(&place.shared, ClientStream::new(socket), inbox);
        place.shared.emit(&ClientEvent::Disconnected { client, why: end.to_string() });
    };
    // If the thread cannot be started, the closure is dropped, and the guard with it.
    spawn_small(&format!("nbd-{client}"), 512 << 10, serve)?;
    Ok(())
}

/// The entry of a connected client. Dropping it removes the client, also if its thread panics.
struct ConnectionGuard {
    shared: Arc<ServerState>,
    client: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.shared.clients().remove(&self.client);
        self.shared.client_left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::budget::MemoryPool;
    use crate::server::listen::Listen;
    use crate::server::options::ConnectionLimits;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::sync::{Condvar, Mutex};

    /// Runs the accept loop with a `wait` whose first `failures` calls fail. Returns the number of
    /// failed calls, the events, and the greeting that a client received that had connected before
    /// the loop started.
    fn with_failures(errno: Errno, failures: usize) -> (usize, Vec<ClientEvent>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let listeners = [Listener::open(&Listen::Unix(path.clone()), false).expect("a socket").0];
        let mut client = UnixStream::connect(path).expect("it listens");
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        let shared = Arc::new(ServerState {
            exports: Vec::new(),
            offers: Arc::new([]),
            tls: None,
            limits: ConnectionLimits::default(),
            memory_pool: Arc::new(MemoryPool::new(1 << 20)),
            on_event: Some(Box::new(move |event| seen.lock().expect("sound").push(event.clone()))),
            clients: Mutex::default(),
            client_left: Condvar::new(),
        });
        let wake_fd =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("an eventfd");
        let ring = || rustix::io::write(&wake_fd, &1u64.to_ne_bytes()).expect("rung");
        let (mut failed, mut greeting) = (0, vec![0; 18]);
        accept_loop(&shared, &listeners, &wake_fd, &mut |fds| {
            if failed < failures {
                failed += 1;
                if failed == failures && failures == LASTING {
                    ring();
                }
                return Err(errno);
            }
            let ready = poll(fds, None);
            if !fds[1].revents().is_empty() {
                // The loop admits the client in this round and stops in the next.
                ring();
            }
            ready
        });
        if failures < LASTING {
            client.read_exact(&mut greeting).expect("the loop recovered");
        }
        drop(client);
        while !shared.clients().is_empty() {
            thread::yield_now();
        }
        let events = events.lock().expect("sound").clone();
        (failed, events, greeting)
    }

    /// Number of failures after which the server is stopped while `wait` still fails.
    const LASTING: usize = 5;

    fn reported(events: &[ClientEvent]) -> usize {
        events.iter().filter(|event| matches!(event, ClientEvent::Refused { .. })).count()
    }

    #[test]
    fn a_wait_that_fails_is_reported_once_and_tried_again() {
        let (failed, events, greeting) = with_failures(Errno::NOMEM, 3);
        assert_eq!((failed, reported(&events)), (3, 1), "{events:?}");
        assert_eq!(&greeting[..8], b"NBDMAGIC");
    }

    #[test]
    fn a_wait_that_is_interrupted_is_tried_again_without_a_report() {
        let (failed, events, greeting) = with_failures(Errno::INTR, 3);
        assert_eq!((failed, reported(&events)), (3, 0), "{events:?}");
        assert_eq!(&greeting[..8], b"NBDMAGIC");
    }

    #[test]
    fn the_loop_stops_while_every_wait_fails() {
        let (failed, events, _) = with_failures(Errno::INVAL, LASTING);
        assert_eq!((failed, reported(&events)), (LASTING, 1), "{events:?}");
    }
}
