//! The connections to the origin: hyper's pool, with TLS if the URL says so.

use crate::error::ServeError;
use bytes::Bytes;
use http_body_util::Either;
use http_body_util::Empty;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The body of a request to the origin.
pub(super) type Sent = Either<Empty<Bytes>, super::upload::Upload>;
pub(super) type Client = hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Sent>;

/// Time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an idle connection is kept. Shorter than what servers keep (nginx: 75 s, Apache: 5 s),
/// so that few requests meet a connection that is being closed.
const POOLED: Duration = Duration::from_secs(4);
/// Buffer of a connection, and maximum size of a response's head.
const BUFFER: usize = 64 << 10;

pub(super) fn connect(
    is_tls: bool,
    authorities: Option<&Path>,
    patience: Duration,
) -> Result<Client, ServeError> {
    let roots = if is_tls { trusted(authorities)? } else { RootCertStore::empty() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ServeError::Tls { path: PathBuf::new(), why: error.to_string() })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(CONNECT.min(patience)));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .enable_http2()
        .wrap_connector(http);
    Ok(hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOLED)
        .http1_max_buf_size(BUFFER)
        .build(connector))
}

/// The certificates of authorities: of a file, or those that the system trusts.
fn trusted(authorities: Option<&Path>) -> Result<RootCertStore, ServeError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = authorities else {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(ServeError::Tls {
                path: PathBuf::from("the system's certificates"),
                why: "there are none".to_owned(),
            });
        }
        return Ok(roots);
    };
    let bad = |why: String| ServeError::Tls { path: path.into(), why };
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    for certificate in all.map_err(|error| bad(error.to_string()))? {
        roots.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    if roots.is_empty() { Err(bad("no certificate in it".to_owned())) } else { Ok(roots) }
}
