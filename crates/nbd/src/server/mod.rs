//! The server: listeners, one thread for each client, limits, and an orderly stop.

mod accept;
mod budget;
mod connection;
mod error;
mod inbox;
mod listen;
mod options;
mod output;
mod state;
mod stream;
mod tls;
mod wait;

pub use error::NbdError;
pub use listen::{Listen, Listener};
pub use options::{ClientEvent, ConnectionLimits, EventCallback, NamedExport, ServerOptions};
pub use tls::Tls;

use crate::codec::Offer;
use crate::codec::wire::MAX_STRING;
use crate::threads::spawn;
use accept::accept_loop;
use budget::MemoryPool;
use options::byte_count;
use rustix::event::{EventfdFlags, eventfd, poll};
use state::ServerState;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The reply to LIST is sent as a whole, so the number of exports is limited.
const MAX_EXPORTS: usize = 1000;

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<ServerState>,
    listening: Vec<Listen>,
    wake_fd: Arc<OwnedFd>,
    accept_thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at all addresses and serves the exports.
    ///
    /// # Errors
    ///
    /// An export, a limit or an address cannot be used. Nothing stays open then.
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

    /// The addresses at which it listens, with the ports that were chosen.
    #[must_use]
    pub fn listening(&self) -> &[Listen] {
        &self.listening
    }

    /// The same addresses as URIs: `nbds` if TLS is required, otherwise `nbd`.
    #[must_use]
    pub fn uris(&self) -> Vec<String> {
        let required = self.shared.tls.as_ref().is_some_and(|tls| tls.required);
        let protocol = if required { "nbds" } else { "nbd" };
        self.listening.iter().map(|place| place.uri(protocol)).collect()
    }

    /// Number of connected clients.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.shared.clients().len()
    }

    /// Stops the server. It refuses new clients and disconnects idle ones. Busy clients may
    /// finish the requests in flight, and further requests fail with ESHUTDOWN; when
    /// [`ConnectionLimits::grace`] is over, they are disconnected. Returns the number of threads
    /// that are still inside an export then: 0 if the export keeps its contract.
    pub fn stop(mut self) -> usize {
        self.end()
    }

    fn end(&mut self) -> usize {
        let Some(accept_thread) = self.accept_thread.take() else { return 0 };
        // The write fails only if the counter overflows, after 2^64 writes.
        let _ = rustix::io::write(&*self.wake_fd, &1u64.to_ne_bytes());
        // The accept loop panics only if the event callback does, and that panic was reported.
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
