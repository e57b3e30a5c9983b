//! TLS with certificates from files.

use super::error::NbdError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The certificate of the server, and which clients it admits. TLS 1.2 and 1.3.
#[derive(Clone)]
pub struct Tls {
    pub(super) config: Arc<ServerConfig>,
    pub(super) required: bool,
}

impl Tls {
    /// Reads the certificate chain and its key from PEM files. Every client must use TLS. If
    /// `clients` is given, a file with certificates of authorities, a client must also present a
    /// certificate that one of them signed.
    ///
    /// # Errors
    ///
    /// A file cannot be read or used.
    pub fn from_files(
        certificate: &Path,
        key: &Path,
        clients: Option<&Path>,
    ) -> Result<Self, NbdError> {
        let chain = certificates(certificate)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| bad(certificate, &error))?;
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(path)? {
                    roots.add(root).map_err(|error| bad(path, &error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| bad(path, &error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config =
            builder.with_single_cert(chain, secret).map_err(|error| bad(certificate, &error))?;
        Ok(Self { config: Arc::new(config), required: true })
    }

    /// Also admits clients that do not use TLS.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { required: false, ..self }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("required", &self.required).finish_non_exhaustive()
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, NbdError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found = found.map_err(|error| bad(path, &error))?;
    if found.is_empty() { Err(bad(path, &"no certificate in it")) } else { Ok(found) }
}

fn bad(path: &Path, why: &dyn fmt::Display) -> NbdError {
    NbdError::Tls { path: path.into(), why: why.to_string() }
}
