//! What all connections share, and the way of a request to a front end.

mod answer;
mod tracked;

pub(crate) use answer::{Answer, Served, found, hit, respond};
pub(crate) use tracked::Tracked;

use crate::budget::Budget;
use crate::counters::Counters;
use crate::files::Files;
use crate::flight::Flights;
use crate::http::access_log::{AccessLog, Logged};
use crate::http::body::Idle;
use crate::origin::Origin;
use crate::server::{Limits, pages};
use gordon_objectcache::{Cache, Recovery};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Instant, SystemTime};

/// Where the content comes from.
pub(crate) enum Upstream {
    Files(Files),
    Origin(Box<Origin>),
}

/// The state of a server.
pub(crate) struct Site {
    pub cache: Cache,
    /// What was found when the cache was opened.
    pub recovery: Recovery,
    /// Objects up to this size are read whole.
    pub block: u64,
    pub upstream: Upstream,
    pub flights: Arc<Flights>,
    pub counters: Counters,
    pub budget: Arc<Budget>,
    pub limits: Limits,
    pub log: Option<AccessLog>,
    pub started: Instant,
    /// Open connections.
    pub clients: AtomicUsize,
    /// The source, as a person gave it.
    pub source: String,
    pub power: crate::stats::PowerModel,
}

impl Site {
    /// Bytes by which the clients of one fetch may lag behind it: an object that is not read in
    /// blocks fits.
    pub fn window(&self) -> usize {
        usize::try_from(self.block).unwrap_or(usize::MAX).max(256 << 10)
    }
}

/// A request.
pub(crate) struct Asked {
    pub head: http::request::Parts,
    pub body: Option<Idle>,
    pub now: SystemTime,
    pub peer: IpAddr,
    pub is_tls: bool,
}

/// Serves a request of a connection.
pub(crate) async fn serve(
    site: Arc<Site>,
    peer: IpAddr,
    is_tls: bool,
    request: Request<Incoming>,
) -> Response<Tracked> {
    let (head, body) = request.into_parts();
    let logged = site.log.is_some().then(|| Logged::of(peer, &head));
    let body = Idle::new(body, site.limits.stall);
    let body = (!http_body::Body::is_end_stream(&body)).then_some(body);
    let asked = Asked { head, body, now: SystemTime::now(), peer, is_tls };
    let served = route(&site, asked).await;
    Tracked::response(site, served, logged)
}

/// Finds who answers a request.
pub(crate) async fn route(site: &Arc<Site>, asked: Asked) -> Served {
    if asked.head.uri.path().starts_with(pages::PREFIX)
        && asked.peer.to_canonical().is_loopback()
        && let Some(page) = pages::answer(site, &asked.head)
    {
        return page;
    }
    let is_exhausted = site.budget.used() >= site.budget.limit();
    if is_exhausted {
        site.counters.refused_memory.add(1);
        let why = "too many clients receive slowly; try again\n";
        return Served::error(StatusCode::SERVICE_UNAVAILABLE, why);
    }
    match &site.upstream {
        Upstream::Files(files) => files.serve(site, asked).await,
        Upstream::Origin(origin) => origin.serve(site, asked).await,
    }
}
