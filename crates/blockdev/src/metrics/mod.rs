//! The status of a device over HTTP: `/status` as JSON, `/metrics` for Prometheus (prometheus.io,
//! "Text-based format", version 0.0.4).

mod http;
mod text;

use crate::serving::Serving;
use gordon_nbd::threads::spawn;
use gordon_nbd::{Listen, Listener, NbdError};
use http::Answer;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

/// An HTTP server of the status. Dropping it stops it.
pub struct Metrics {
    wake_fd: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    place: Listen,
}

impl Metrics {
    /// Serves the status at this address. An address that other machines can reach must be marked
    /// as insecure.
    ///
    /// # Errors
    ///
    /// The address cannot be used.
    pub fn start(serving: Serving, place: &Listen) -> Result<Self, NbdError> {
        let (listener, place) = Listener::open(place, false)?;
        let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake_fd = Arc::new(wake_fd.map_err(io::Error::from)?);
        let wake = Arc::clone(&wake_fd);
        let answer = move |method: &str, path: &str| {
            let plain = matches!(method, "GET" | "HEAD");
            let (code, kind, body) = match path {
                _ if !plain => (405, "text/plain", "GET only\n".to_owned()),
                "/metrics" => (200, "text/plain; version=0.0.4", text::of(&serving.status())),
                "/status" | "/" => {
                    let status = serde_json::to_string(&serving.status());
                    (200, "application/json", status.expect("numbers and names"))
                }
                _ => (404, "text/plain", "there is /status and /metrics\n".to_owned()),
            };
            Answer { code, kind, body }
        };
        let serve = move || http::serve(&listener, &wake, answer);
        let thread = spawn("block-status", serve)?;
        Ok(Self { wake_fd, thread: Some(thread), place })
    }

    /// The URI at which it listens, with the port that was chosen.
    #[must_use]
    pub fn uri(&self) -> String {
        self.place.uri("http")
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        // The write fails only if the counter overflows, after 2^64 writes.
        let _ = rustix::io::write(&*self.wake_fd, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}
