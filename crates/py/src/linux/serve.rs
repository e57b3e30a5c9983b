//! The HTTP server in front of the object cache.

use super::object_cache::Options;
use crate::error::raise;
use gordon_config::from_json;
use gordon_serve::{Limits, PowerModel, ServeConfig, Server, Source, TlsFiles};
use gordon_units::Bytes;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Serve {
    root: Option<PathBuf>,
    follow_links: bool,
    origin: Option<String>,
    origin_ca: Option<PathBuf>,
    cache: Options,
    listen: Vec<String>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    socket: Option<PathBuf>,
    access_log: Option<PathBuf>,
    threads: usize,
    clients: Option<usize>,
    client_memory: Option<Bytes>,
    origin_timeout_s: Option<f64>,
    power: PowerModel,
}

impl Serve {
    fn config(self) -> PyResult<ServeConfig> {
        let source = match (self.root, self.origin) {
            (Some(path), _) => Source::Root { path, follows_links: self.follow_links },
            (None, url) => {
                Source::Origin { url: url.unwrap_or_default(), authorities: self.origin_ca }
            }
        };
        let tls = self.certificate.zip(self.key);
        let defaults = Limits::default();
        let limits = Limits {
            connections: self.clients.unwrap_or(defaults.connections),
            memory: self.client_memory.unwrap_or(defaults.memory),
            origin: match self.origin_timeout_s {
                None => defaults.origin,
                Some(secs) => Duration::try_from_secs_f64(secs).map_err(|error| {
                    raise(format!("--origin-timeout {secs}: {error}\n  try: --origin-timeout 30"))
                })?,
            },
            ..defaults
        };
        Ok(ServeConfig {
            source,
            cache: self.cache.config(),
            listen: self.listen.iter().map(|place| address(place)).collect::<PyResult<_>>()?,
            tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
            control: self.socket,
            access_log: self.access_log,
            threads: self.threads,
            limits,
            power: self.power,
        })
    }
}

/// Where the server is reachable, as reported to Python.
#[derive(Serialize)]
struct Ready {
    urls: Vec<String>,
    socket: Option<PathBuf>,
}

/// Serves until a signal handler raises; returns the last statistics as JSON. `ready` is called
/// with the addresses (JSON) when clients can connect. `tick` is called some times a second;
/// whenever it returns true, the access log is opened and the certificate is read again, and
/// `reloaded` is called with an error, if any.
#[pyfunction]
pub fn cache_serve(
    py: Python<'_>,
    config: &str,
    ready: &Bound<'_, PyAny>,
    tick: &Bound<'_, PyAny>,
    reloaded: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let config: Serve = from_json(config, "server").map_err(raise)?;
    let scheme = if config.certificate.is_some() { "https" } else { "http" };
    let socket = config.socket.clone();
    let config = config.config()?;
    let server = py.detach(|| Server::start(config)).map_err(raise)?;
    let urls = server.listening().iter().map(|at| format!("{scheme}://{at}")).collect();
    let addresses = serde_json::to_string(&Ready { urls, socket }).map_err(raise)?;
    // A signal handler that raises stops the server; the signal may arrive while `ready` runs.
    let mut outcome = ready.call1((addresses,)).map(|_| ());
    while outcome.is_ok() && server.is_serving() {
        outcome = py.check_signals();
        if outcome.is_ok() {
            outcome = tick.call0().and_then(|reload| {
                if reload.is_truthy()? {
                    let failed = py.detach(|| server.reload()).err().map(|error| error.to_string());
                    reloaded.call1((failed,))?;
                }
                Ok(())
            });
        }
        py.detach(|| std::thread::sleep(Duration::from_millis(50)));
    }
    let stats = py.detach(|| {
        let stats = serde_json::to_string(&server.stats()).map_err(raise);
        server.stop().map_err(raise)?;
        stats
    })?;
    match outcome {
        Err(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok(stats),
    }
}

fn address(place: &str) -> PyResult<SocketAddr> {
    let wrong = || raise(format!("{place} is not an address\n  try: 127.0.0.1:8080"));
    place.to_socket_addrs().ok().and_then(|mut all| all.next()).ok_or_else(wrong)
}
