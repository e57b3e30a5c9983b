//! The server: listeners, a thread for each client, limits, a clean stop.

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

/// A list of them must be short enough to tell at once.
const MAX_EXPORTS: usize = 1000;

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
