//! The server: listeners, limits of clients, an orderly stop.

mod accept;
mod control;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod settings;
mod stall;
mod tls;

use crate::budget::Budget;
use crate::counters::Counters;
use crate::error::ServeError;
use crate::files::Files;
use crate::flight::Flights;
use crate::http::access_log::AccessLog;
use crate::limits::Limits;
use crate::origin::Origin;
use crate::power::PowerModel;
use crate::routing::{App, Upstream};
use crate::site::Site;
use crate::stats::ServeStats;
use accept::{Acceptor, listen};
use control::ControlSocket;
use gordon_objectcache::{Cache, Config};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tls::Tls;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// Interval at which lines of the access log are written.
const FLUSH: Duration = Duration::from_secs(1);

/// Maximum number of threads that read files.
const READERS: usize = 32;

/// Where the content comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The files of a folder.
    Root {
        /// The folder.
        path: PathBuf,
        /// Symbolic links may lead out of the folder.
        follows_links: bool,
    },
    /// An HTTP server.
    Origin {
        /// Its URL.
        url: String,
        /// Certificates of authorities for https, instead of those that the system trusts.
        authorities: Option<PathBuf>,
    },
}

/// The certificate of the server and its key, as PEM files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The chain of certificates.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// The options of a server.
#[derive(Debug)]
pub struct ServeConfig {
    /// Where the content comes from.
    pub source: Source,
    /// The cache.
    pub cache: Config,
    /// Addresses at which it listens. Port 0 chooses a free port.
    pub listen: Vec<SocketAddr>,
    /// Serves TLS at these addresses.
    pub tls: Option<TlsFiles>,
    /// The control socket, which only its owner can use.
    pub control: Option<PathBuf>,
    /// The access log.
    pub access_log: Option<PathBuf>,
    /// Number of threads that serve clients.
    pub threads: usize,
    /// Limits of clients.
    pub limits: Limits,
    /// The power of DRAM and flash.
    pub power: PowerModel,
}

/// A running server. Dropping it stops it.
pub struct Server {
    app: Arc<App>,
    listening: Vec<SocketAddr>,
    tls: Option<Arc<Tls>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Server {
    /// Opens the cache, listens, and serves.
    ///
    /// # Errors
    ///
    /// The source, the cache, an address or a certificate cannot be used.
    pub fn start(config: ServeConfig) -> Result<Self, ServeError> {
        let ServeConfig { source, cache, listen: addresses, tls, control, access_log, .. } = config;
        let limits = config.limits;
        if limits.connections == 0 {
            return Err(ServeError::Limits("one connection is the least"));
        }
        let threads = config.threads.max(1);
        let mut builder =
            if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
        let runtime = builder
            .max_blocking_threads(READERS)
            .worker_threads(threads)
            .thread_name("cache-serve")
            .enable_all()
            .build()?;
        let inside = runtime.enter();
        let (upstream, name) = match &source {
            Source::Root { path, follows_links } => {
                let bad = |error: std::io::Error| {
                    let why = error.to_string();
                    ServeError::Root { path: path.clone(), why }
                };
                let files = Files::open(path, *follows_links).map_err(bad)?;
                (Upstream::Files(files), path.display().to_string())
            }
            Source::Origin { url, authorities } => {
                let origin = Origin::open(url, authorities.as_deref(), limits.origin)?;
                (Upstream::Origin(Arc::new(origin)), url.clone())
            }
        };
        let tls = tls.map(|files| Tls::open(files).map(Arc::new)).transpose()?;
        let log = access_log
            .map(|path| AccessLog::open(&path).map_err(|error| ServeError::Log { path, error }));
        let log = log.transpose()?;
        let sockets: Vec<_> = addresses.iter().map(|at| listen(*at)).collect::<Result<_, _>>()?;
        let mut listening = Vec::new();
        for socket in &sockets {
            listening.push(socket.local_addr()?);
        }
        let control = control.map(|path| ControlSocket::open(&path)).transpose()?;
        let block = u64::from(cache.block);
        let (cache, recovery) = Cache::open(cache)?;
        let site = Arc::new(Site {
            cache,
            recovery,
            block,
            flights: Arc::new(Flights::default()),
            counters: Counters::default(),
            budget: Budget::new(limits.memory.0),
            limits,
            log,
            started: Instant::now(),
            clients: std::sync::atomic::AtomicUsize::new(0),
            source: name,
            power: config.power,
        });
        let app = Arc::new(App { site, upstream });
        drop(inside);
        let (stop, stopped) = oneshot::channel();
        let acceptor = Acceptor { app: Arc::clone(&app), tls: tls.clone() };
        let run = move || runtime.block_on(acceptor.run(sockets, control, stopped));
        let thread = std::thread::Builder::new().name("cache-serve".to_owned()).spawn(run)?;
        Ok(Self { app, listening, tls, stop: Some(stop), thread: Some(thread) })
    }

    /// The addresses at which it listens, with the ports that were chosen.
    #[must_use]
    pub fn listening(&self) -> &[SocketAddr] {
        &self.listening
    }

    /// Figures since the start.
    #[must_use]
    pub fn stats(&self) -> ServeStats {
        ServeStats::of(&self.app.site)
    }

    /// Whether it still serves; a server that does not has failed.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Opens the access log again and reads the certificate again. What cannot be read stays as it
    /// was.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn reload(&self) -> Result<(), ServeError> {
        if let Some(log) = &self.app.site.log {
            log.reopen().map_err(|error| ServeError::Log { path: log.path().into(), error })?;
        }
        self.tls.as_ref().map_or(Ok(()), |tls| tls.reload())
    }

    /// Stops the server: no new clients, requests in flight may finish within [`Limits::grace`],
    /// then the cache is closed.
    ///
    /// # Errors
    ///
    /// The cache could not be closed.
    pub fn stop(mut self) -> Result<(), ServeError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ServeError> {
        // The receiver is gone only if the thread has ended.
        drop(self.stop.take());
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A destructor has no one to report a failure to.
            let _ = self.end();
        }
    }
}
