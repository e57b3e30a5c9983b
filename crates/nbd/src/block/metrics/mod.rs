//! What a device tells of itself, over HTTP: `/status` as JSON, `/metrics` for Prometheus
//! (prometheus.io, "Text-based format", version 0.0.4).

mod text;

use super::Serving;
use crate::server::{Listen, Listener, NbdError};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tiny_http::{Header, Method, Response, Server};

/// A server of status, until it is dropped.
pub struct Metrics {
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
    place: Listen,
    /// Removes the socket's file in the end.
    _listener: Listener,
}

impl Metrics {
    /// Tells at a place. Beyond this machine only with the explicit word in the place.
    ///
    /// # Errors
    ///
    /// A place that cannot be used.
    pub fn start(serving: Serving, place: &Listen) -> Result<Self, NbdError> {
        let (listener, place) = Listener::open(place, false)?;
        let server =
            Server::from_listener(listener.waiting()?, None).map_err(|error| NbdError::Listen {
                place: place.uri("http"),
                error: io::Error::other(error.to_string()),
            })?;
        let server = Arc::new(server);
        let inside = Arc::clone(&server);
        let answer = move || {
            for request in inside.incoming_requests() {
                let plain = matches!(request.method(), Method::Get | Method::Head);
                let (code, kind, body) = match request.url() {
                    _ if !plain => (405, "text/plain", "GET only\n".to_owned()),
                    "/metrics" => (200, "text/plain; version=0.0.4", text::of(&serving.status())),
                    "/status" | "/" => {
                        let status = serde_json::to_string(&serving.status());
                        (200, "application/json", status.expect("numbers and names"))
                    }
                    _ => (404, "text/plain", "there is /status and /metrics\n".to_owned()),
                };
                let header = Header::from_bytes("Content-Type", kind).expect("plain text");
                let response =
                    Response::from_string(body).with_status_code(code).with_header(header);
                // A client that left is no concern of ours.
                let _ = request.respond(response);
            }
        };
        let thread = thread::Builder::new().name("block-status".into()).spawn(answer)?;
        Ok(Self { server, thread: Some(thread), place, _listener: listener })
    }

    /// Where it listens, a free port filled in.
    #[must_use]
    pub fn uri(&self) -> String {
        self.place.uri("http")
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}
