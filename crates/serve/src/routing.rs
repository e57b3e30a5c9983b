//! The way of a request to a front end.

use crate::body::Idle;
use crate::files::Files;
use crate::http::access_log::Logged;
use crate::origin::Origin;
use crate::pages;
use crate::site::{Asked, Served, Site, Tracked};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// Where the content comes from.
pub(crate) enum Upstream {
    Files(Files),
    Origin(Arc<Origin>),
}

/// A front end, and what it works with.
pub(crate) struct App {
    pub site: Arc<Site>,
    pub upstream: Upstream,
}

/// Serves a request of a connection.
pub(crate) async fn serve(
    app: Arc<App>,
    peer: IpAddr,
    is_tls: bool,
    request: Request<Incoming>,
) -> Response<Tracked> {
    let (head, body) = request.into_parts();
    let logged = app.site.log.is_some().then(|| Logged::of(peer, &head));
    let body = Idle::new(body, app.site.limits.stall);
    let body = (!http_body::Body::is_end_stream(&body)).then_some(body);
    let asked = Asked { head, body, now: SystemTime::now(), peer, is_tls };
    let served = route(&app, asked).await;
    Tracked::response(Arc::clone(&app.site), served, logged)
}

/// Finds who answers a request.
pub(crate) async fn route(app: &App, asked: Asked) -> Served {
    let site = &app.site;
    if asked.head.uri.path().starts_with(pages::PREFIX)
        && asked.peer.to_canonical().is_loopback()
        && let Some(page) = pages::answer(site, &asked.head)
    {
        return page;
    }
    if asked.head.uri.path() == "*" {
        // The request is about a server and not about a resource (RFC 9110, section 9.3.7). To its
        // clients a gateway is that server; the origin's `*` would be that of another one.
        return match asked.head.method {
            Method::OPTIONS => Served::nothing(),
            _ => Served::error(StatusCode::BAD_REQUEST, "`*` is for OPTIONS only\n"),
        };
    }
    let is_exhausted = site.budget.used() >= site.budget.limit();
    if is_exhausted {
        site.counters.refused_memory.add(1);
        let why = "too many clients receive slowly; try again\n";
        return Served::error(StatusCode::SERVICE_UNAVAILABLE, why);
    }
    match &app.upstream {
        Upstream::Files(files) => files.serve(site, asked).await,
        Upstream::Origin(origin) => origin.serve(site, asked).await,
    }
}
