//! Requests to the origin, and responses that pass through.

use super::Origin;
use super::client::Sent;
use super::upload::Upload;
use crate::body::{Content, Idle};
use crate::http::hop;
use crate::http::status_field::CacheStatus;
use crate::site::{Asked, Served, Site};
use http::header::{EXPECT, HOST, HeaderName, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const FORWARDED: HeaderName = HeaderName::from_static("forwarded");

/// Why there is no response.
#[derive(Debug)]
pub(super) struct Failure {
    pub status: StatusCode,
    pub why: &'static str,
}

/// Marks a response whose body comes in chunks, so that its end is certain.
#[derive(Clone, Copy, Debug)]
pub(super) struct InChunks;

impl Origin {
    /// The head of the request to the origin that belongs to a client's, whose fields of the
    /// connection are removed already.
    pub(super) fn request(&self, asked: &Asked) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = asked.head.method.clone();
        *request.uri_mut() = self.uri(&asked.head.uri);
        let mut headers = asked.head.headers.clone();
        headers.remove(EXPECT);
        let host = headers.remove(HOST);
        let host = host.as_ref().and_then(|host| host.to_str().ok());
        let host = host.or(asked.head.uri.authority().map(|authority| authority.as_str()));
        let peer = asked.peer.to_canonical();
        let peer = if peer.is_ipv6() { format!("\"[{peer}]\"") } else { peer.to_string() };
        let scheme = if asked.is_tls { "https" } else { "http" };
        let host = host.filter(|host| !host.contains(['"', '\\']));
        let host = host.map_or_else(String::new, |host| format!(";host=\"{host}\""));
        if let Ok(value) = HeaderValue::from_str(&format!("for={peer}{host};proto={scheme}")) {
            headers.append(FORWARDED, value);
        }
        hop::via(&mut headers, asked.head.version);
        *request.headers_mut() = headers;
        request
    }

    fn uri(&self, asked: &Uri) -> Uri {
        let target = asked.path_and_query().map_or("/", |target| target.as_str());
        // A target that is a host and a port has no path.
        let target = if target.starts_with('/') { target } else { "/" };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(format!("{}{target}", self.base))
            .build()
            .unwrap_or_default()
    }

    /// Sends a request and returns the head of the response.
    pub(super) async fn send(
        &self,
        site: &Site,
        request: Request<()>,
        body: Option<Idle>,
    ) -> Result<Response<Incoming>, Failure> {
        let passed = Arc::new(AtomicU64::new(0));
        let body: Sent = match body {
            None => Either::Left(Empty::new()),
            Some(body) => Either::Right(Upload { body, passed: Arc::clone(&passed) }),
        };
        site.counters.origin_requests.add(1);
        let mut sent = std::pin::pin!(self.client.request(request.map(|()| body)));
        let mut before = 0;
        let answered = loop {
            match tokio::time::timeout(self.patience, &mut sent).await {
                Ok(answered) => break answered,
                // The client still uploads.
                Err(_) if passed.load(Ordering::Relaxed) > before => {
                    before = passed.load(Ordering::Relaxed);
                }
                Err(_) => {
                    site.counters.origin_failures.add(1);
                    let why = "the origin does not answer\n";
                    return Err(Failure { status: StatusCode::GATEWAY_TIMEOUT, why });
                }
            }
        };
        let mut response = answered.map_err(|_| {
            site.counters.origin_failures.add(1);
            let why = "the origin cannot be reached, or its answer is not HTTP\n";
            Failure { status: StatusCode::BAD_GATEWAY, why }
        })?;
        let coding = response.headers().get(TRANSFER_ENCODING);
        if coding.is_some_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked")) {
            response.extensions_mut().insert(InChunks);
        }
        hop::strip(response.headers_mut());
        Ok(response)
    }

    /// Passes a request to the origin and its response to the client. Nothing is stored.
    pub(super) async fn pass(
        &self,
        site: &Arc<Site>,
        mut asked: Asked,
        mut status: CacheStatus,
    ) -> Served {
        let body = asked.body.take();
        let version = asked.head.version;
        match self.send(site, self.request(&asked), body).await {
            Ok(response) => {
                status.forwarded_status = Some(response.status().as_u16());
                self.through(response, status, version)
            }
            Err(failure) => Served::error(failure.status, failure.why).with(status),
        }
    }

    /// A response for one client.
    pub(super) fn through(
        &self,
        response: Response<Incoming>,
        mut status: CacheStatus,
        version: Version,
    ) -> Served {
        status.forwarded_status = Some(response.status().as_u16());
        let patience = self.patience;
        let mut response = response.map(|body| Content::Through(Idle::new(body, patience)));
        *response.version_mut() = version;
        hop::via(response.headers_mut(), Version::HTTP_11);
        Served { response, status: None }.with(status)
    }
}
