//! The server: listeners, a thread for each client, limits, a clean stop.

mod budget;
mod connection;
mod inbox;
mod listen;
mod options;
mod output;
mod stream;
mod tls;

pub use listen::Listen;
pub use options::{
    ClientEvent, ConnectionLimits, EventCallback, NamedExport, NbdError, ServerOptions,
};
pub use tls::Tls;

use crate::codec::Offer;
use crate::codec::handshake::TlsPolicy;
use crate::codec::wire::MAX_STRING;
use crate::export::Export;
use crate::threads::{spawn, spawn_small};
use budget::MemoryPool;
use inbox::Inbox;
pub(crate) use listen::Listener;
use options::byte_count;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fmt, io};
pub(crate) use stream::{ClientStream, timespec};

/// A list of them must be short enough to tell at once.
const MAX_EXPORTS: usize = 1000;

/// Why a connection ended.
#[derive(Debug)]
enum ConnectionEnd {
    Client,
    Refused(&'static str),
    Handshake,
    Slow,
    Stopped,
    Io(io::Error),
}

impl From<io::Error> for ConnectionEnd {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for ConnectionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => f.write_str("the client left"),
            Self::Refused(why) => f.write_str(why),
            Self::Handshake => f.write_str("the handshake took too long"),
            Self::Slow => f.write_str("too slow for the memory it held"),
            Self::Stopped => f.write_str("the server stopped"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

/// What all threads know.
struct ServerState {
    exports: Vec<Arc<dyn Export>>,
    offers: Arc<[Offer]>,
    tls: Option<Tls>,
    limits: ConnectionLimits,
    memory_pool: Arc<MemoryPool>,
    on_event: Option<EventCallback>,
    clients: Mutex<BTreeMap<u64, Arc<Inbox>>>,
    /// Notified when a client has left.
    client_left: Condvar,
}

impl ServerState {
    fn tls_policy(&self) -> TlsPolicy {
        match &self.tls {
            None => TlsPolicy::Off,
            Some(tls) if tls.required => TlsPolicy::Required,
            Some(_) => TlsPolicy::Offered,
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Inbox>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn emit(&self, event: &ClientEvent) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }
}

/// A server at work, until it is stopped or dropped.
pub struct Server {
    shared: Arc<ServerState>,
    listening: Vec<Listen>,
    wake_fd: Arc<OwnedFd>,
    accept_thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens all places and serves.
    ///
    /// # Errors
    ///
    /// An export, a place or a certificate that cannot be used; then nothing is left open.
    pub fn start(options: ServerOptions) -> Result<Self, NbdError> {
        let ServerOptions { exports, listen, tls, limits, on_event } = options;
        if limits.connections == 0 || limits.requests == 0 {
            return Err(NbdError::Limits("one connection and one request are the least"));
        }
        let mut offers: Vec<Offer> = Vec::new();
        for NamedExport { name, description, export, read_only } in &exports {
            let mut info = export.info();
            info.read_only |= read_only;
            let long = name.len() > MAX_STRING || description.len() > MAX_STRING;
            let twice = offers.iter().any(|offer| offer.name == *name);
            let fault = info
                .fault()
                .or(long.then_some("its name or description is above 4096 bytes"))
                .or(twice.then_some("there is another of that name"))
                .or(offers.len().ge(&MAX_EXPORTS).then_some("there are too many"));
            if let Some(why) = fault {
                return Err(NbdError::Export { name: name.clone(), why });
            }
            if info.maximum > limits.bytes.min(limits.share) {
                return Err(NbdError::Limits("they hold no request of the largest payload"));
            }
            offers.push(Offer { name: name.clone(), description: description.clone(), info });
        }
        if offers.is_empty() {
            return Err(NbdError::Export { name: String::new(), why: "there is none" });
        }
        let required = tls.as_ref().is_some_and(|tls| tls.required);
        let (mut listeners, mut places) = (Vec::new(), Vec::new());
        for listen in &listen {
            let (listener, place) = Listener::open(listen, required)?;
            listeners.push(listener);
            places.push(place);
        }
        let shared = Arc::new(ServerState {
            exports: exports.into_iter().map(|named| named.export).collect(),
            offers: offers.into(),
            tls,
            limits,
            memory_pool: Arc::new(MemoryPool::new(byte_count(limits.share))),
            on_event,
            clients: Mutex::default(),
            client_left: Condvar::new(),
        });
        let wake_fd = Arc::new(
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(io::Error::from)?,
        );
        let (inside, wake) = (Arc::clone(&shared), Arc::clone(&wake_fd));
        let accept = move || accept_loop(&inside, &listeners, &wake, &mut |fds| poll(fds, None));
        let accept_thread = spawn("nbd-accept", accept)?;
        Ok(Self { shared, listening: places, wake_fd, accept_thread: Some(accept_thread) })
    }

    /// Where it listens, free ports filled in.
    #[must_use]
    pub fn listening(&self) -> &[Listen] {
        &self.listening
    }

    /// The same as clients write it: `nbds` where TLS is required.
    #[must_use]
    pub fn uris(&self) -> Vec<String> {
        let required = self.shared.tls.as_ref().is_some_and(|tls| tls.required);
        let protocol = if required { "nbds" } else { "nbd" };
        self.listening.iter().map(|place| place.uri(protocol)).collect()
    }

    /// How many clients there are.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.shared.clients().len()
    }

    /// Lets nobody in, ends those that are idle, lets those that are busy finish what is in flight
    /// (what they send on gets ESHUTDOWN), and cuts them off when [`ConnectionLimits::grace`] is
    /// over. Says how many threads are still inside an export then: none, if it keeps its contract.
    pub fn stop(mut self) -> usize {
        self.end()
    }

    fn end(&mut self) -> usize {
        let Some(accept_thread) = self.accept_thread.take() else { return 0 };
        // It fails only where it was rung 2^64 times.
        let _ = rustix::io::write(&*self.wake_fd, &1u64.to_ne_bytes());
        // It panics only with the observer, whose panic was seen.
        let _ = accept_thread.join();
        self.shared.clients().values().for_each(|inbox| inbox.stop());
        self.wait_for_clients();
        self.shared.clients().values().for_each(|inbox| inbox.cut());
        self.wait_for_clients()
    }

    fn wait_for_clients(&self) -> usize {
        let deadline = Instant::now() + self.shared.limits.grace;
        let mut clients = self.shared.clients();
        while !clients.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.client_left.wait_timeout(clients, left);
            clients = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        clients.len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long a loop pauses after a call to the system that failed: descriptors, threads or memory
/// may come back.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until one of the descriptors is ready, as `poll` without a timeout.
type PollWait<'a> = dyn FnMut(&mut [PollFd<'_>]) -> rustix::io::Result<usize> + 'a;

/// Accepts clients until `wake_fd` is written to.
fn accept_loop(
    shared: &Arc<ServerState>,
    listeners: &[Listener],
    wake_fd: &OwnedFd,
    wait: &mut PollWait<'_>,
) {
    let mut next = 1;
    // Whether the last wait failed: a failure that lasts is reported once.
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
                // `poll` cannot tell, so ask: a ring can be read.
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
    set_socket_timeout(&socket, Timeout::Recv, Some(connection::TICK))?;
    let socket = Arc::new(socket);
    let inbox = Arc::new(Inbox::new(Arc::clone(&socket))?);
    shared.clients().insert(client, Arc::clone(&inbox));
    let place = ConnectionGuard { shared: Arc::clone(shared), client };
    let serve = move || {
        place.shared.emit(&ClientEvent::Connected { client, peer });
        let end = connection::serve(&place.shared, ClientStream::new(socket), inbox);
        place.shared.emit(&ClientEvent::Disconnected { client, why: end.to_string() });
    };
    // Where no thread can be had, the place goes with the closure.
    spawn_small(&format!("nbd-{client}"), 512 << 10, serve)?;
    Ok(())
}

/// A client's entry, removed however its thread ends.
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
    use crate::memory::MemoryExport;
    use gordon_units::Bytes;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    /// The accept loop with a `wait` that fails until it was called `failures` times and then
    /// works. Returns the calls that failed, the events, and what a client received that had
    /// connected before.
    fn with_failures(errno: Errno, failures: usize) -> (usize, Vec<ClientEvent>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let listeners = [Listener::open(&Listen::Unix(path.clone()), false).expect("a socket").0];
        let mut client = UnixStream::connect(path).expect("it listens");
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        let shared = Arc::new(ServerState {
            exports: vec![Arc::new(MemoryExport::new(Bytes(4096)))],
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
                // From the second round on the loop has admitted the client.
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

    /// Failures after which the server is stopped while `wait` still fails.
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
    fn a_stop_is_heard_while_every_wait_fails() {
        let (failed, events, _) = with_failures(Errno::INVAL, LASTING);
        assert_eq!((failed, reported(&events)), (LASTING, 1), "{events:?}");
    }
}
