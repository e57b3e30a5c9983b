//! Accepts connections and serves them until the server stops.

use super::FLUSH;
use super::control::ControlSocket;
use super::settings::{PAUSE, builder};
use super::stall::Stalling;
use super::tls::Tls;
use crate::budget::Budget;
use crate::error::ServeError;
use crate::limits::Limits;
use crate::routing::{App, serve};
use crate::site::Site;
use bytes::Bytes;
use http::Version;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// Connections that the kernel may hold until they are accepted.
const BACKLOG: u32 = 4096;

/// Listens at an address.
pub(super) fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let open = || -> io::Result<TcpListener> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A restart must not wait for connections of the past.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    open().map_err(|error| ServeError::Listen { place: address.to_string(), error })
}

/// Serves all listeners.
pub(super) struct Acceptor {
    pub app: Arc<App>,
    pub tls: Option<Arc<Tls>>,
}

impl Acceptor {
    pub async fn run(
        self,
        listeners: Vec<TcpListener>,
        control: Option<ControlSocket>,
        stopped: oneshot::Receiver<()>,
    ) -> Result<(), ServeError> {
        let app = Arc::clone(&self.app);
        let site = Arc::clone(&app.site);
        let shared = Arc::new(self);
        let graceful = Arc::new(GracefulShutdown::new());
        let mut loops = tokio::task::JoinSet::new();
        for listener in listeners {
            loops.spawn(Arc::clone(&shared).accept(listener, Arc::clone(&graceful)));
        }
        let control = control.map(|control| control.start(Arc::clone(&app))).transpose()?;
        if let Some(reads) = site.cache.completions() {
            // Deprecated because a type may close its descriptor while it is registered. This one
            // keeps it open; what replaces the call is unsafe.
            #[allow(deprecated)]
            let reads = AsyncFd::with_interest(reads, Interest::READABLE)?;
            loops.spawn(async move {
                while let Ok(mut ready) = reads.readable().await {
                    // Before what is ready is taken: what completes meanwhile is seen again.
                    ready.clear_ready();
                    reads.get_ref().run();
                }
            });
        }
        let logs = Arc::clone(&site);
        loops.spawn(async move {
            loop {
                tokio::time::sleep(FLUSH).await;
                if let Some(log) = &logs.log {
                    log.flush();
                }
            }
        });
        // Ends when the sender is dropped.
        let _ = stopped.await;
        loops.shutdown().await;
        if let Some(graceful) = Arc::into_inner(graceful) {
            // Connections that are still busy are cut when the runtime is dropped.
            let _ = timeout(site.limits.grace, graceful.shutdown()).await;
        }
        drop(control);
        let closed = site.cache.close().await;
        if let Some(log) = &site.log {
            log.flush();
        }
        closed.map_err(ServeError::from)
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, graceful: Arc<GracefulShutdown>) {
        loop {
            let (socket, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let counters = &self.app.site.counters;
            let Some(place) = Place::take(&self.app.site) else {
                counters.refused_connections.add(1);
                continue;
            };
            counters.connections.add(1);
            // Responses are written whole; without this the last part of one would be delayed.
            let _ = socket.set_nodelay(true);
            let watcher = graceful.watcher();
            tokio::spawn(Arc::clone(&self).connection(socket, peer.ip(), place, watcher));
        }
    }

    async fn connection(
        self: Arc<Self>,
        socket: TcpStream,
        peer: IpAddr,
        place: Place,
        watcher: Watcher,
    ) {
        let Limits { head, stall, .. } = self.app.site.limits;
        let requests = Arc::new(AtomicUsize::new(0));
        let socket = Stalling::new(socket, head, stall, Arc::clone(&requests));
        // What fails here concerns only this client, which has left, is too slow or sends nonsense.
        match &self.tls {
            None => self.speak(socket, peer, false, requests, watcher).await,
            Some(tls) => {
                let acceptor = tls.acceptor();
                if let Ok(Ok(socket)) = timeout(head, acceptor.accept(socket)).await {
                    self.speak(socket, peer, true, requests, watcher).await;
                }
            }
        }
        drop(place);
    }

    pub(super) async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        socket: S,
        peer: IpAddr,
        is_tls: bool,
        requests: Arc<AtomicUsize>,
        watcher: Watcher,
    ) {
        let app = Arc::clone(&self.app);
        let waits = Arc::new(Waits::default());
        let of_connection = Arc::clone(&waits);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let app = Arc::clone(&app);
            let running = Running::start(&requests);
            // The socket of HTTP/1 waits for its client, and has the limit itself.
            let waits = (request.version() == Version::HTTP_2).then(|| Arc::clone(&of_connection));
            async move {
                let response = serve(app, peer, is_tls, request).await;
                let waits = waits.map(|waits| {
                    let wait = waits.begin();
                    (waits, Some(wait))
                });
                Ok::<_, Infallible>(response.map(|body| Whole { body, waits, _running: running }))
            }
        });
        let Site { limits, budget, .. } = &*self.app.site;
        let builder = builder(limits);
        let connection = builder.serve_connection(TokioIo::new(socket), service);
        tokio::select! {
            _ = watcher.watch(connection) => {}
            () = waits.stalled(limits.stall, budget) => {}
        }
    }
}

/// A place among the connections.
struct Place(Arc<Site>);

impl Place {
    fn take(site: &Arc<Site>) -> Option<Self> {
        let before = site.clients.fetch_add(1, Ordering::Relaxed);
        let place = Self(Arc::clone(site));
        (before < site.limits.connections).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a request of a connection while it is served.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn start(requests: &Arc<AtomicUsize>) -> Self {
        requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(requests))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Since when bodies of a connection of HTTP/2 wait for its client, and frames that it took are not
/// sent. A client that does not open the window of a stream leaves the socket free, so that the
/// socket's limit does not notice it.
#[derive(Default)]
struct Waits(Mutex<Vec<Weak<Instant>>>);

/// A frame that is held until it is sent.
struct HeldFrame {
    data: Bytes,
    _since: Arc<Instant>,
}

impl AsRef<[u8]> for HeldFrame {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Waits {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Instant>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A wait from now until the last clone is dropped.
    fn begin(&self) -> Arc<Instant> {
        let since = Arc::new(Instant::now());
        let mut waits = self.lock();
        waits.retain(|wait| wait.strong_count() > 0);
        waits.push(Arc::downgrade(&since));
        since
    }

    /// Ends when a wait has been longer than `stall` while clients have half of their memory or
    /// more: others need it.
    async fn stalled(&self, stall: Duration, budget: &Budget) {
        loop {
            tokio::time::sleep(stall / 4).await;
            let is_old = |since: Arc<Instant>| since.elapsed() > stall;
            let is_stalled = self.lock().iter().filter_map(Weak::upgrade).any(is_old);
            if is_stalled && 2 * budget.used() >= budget.limit() {
                return;
            }
        }
    }
}

/// A body, and its request that is served until the body ends.
struct Whole<B> {
    body: B,
    /// Of HTTP/2: the waits of the connection, and that of this body, if it waits.
    waits: Option<(Arc<Waits>, Option<Arc<Instant>>)>,
    _running: Running,
}

impl<B: http_body::Body<Data = Bytes> + Unpin> http_body::Body for Whole<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<B::Data>, B::Error>>> {
        let frame = std::pin::Pin::new(&mut self.body).poll_frame(cx);
        let Some((waits, wait)) = &mut self.waits else { return frame };
        *wait = None;
        let Poll::Ready(Some(Ok(frame))) = frame else { return frame };
        let since = waits.begin();
        *wait = Some(Arc::clone(&since));
        let held = |data| Bytes::from_owner(HeldFrame { data, _since: since });
        Poll::Ready(Some(Ok(frame.map_data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
