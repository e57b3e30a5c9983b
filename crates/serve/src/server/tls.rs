//! TLS with a certificate from files, which can be read again.

use super::TlsFiles;
use crate::error::ServeError;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// The current certificate.
pub(super) struct Tls {
    files: TlsFiles,
    acceptor: RwLock<TlsAcceptor>,
}

impl Tls {
    pub fn open(files: TlsFiles) -> Result<Self, ServeError> {
        let acceptor = RwLock::new(load(&files)?);
        Ok(Self { files, acceptor })
    }

    /// Reads the files again.
    pub fn reload(&self) -> Result<(), ServeError> {
        let acceptor = load(&self.files)?;
        *self.acceptor.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

fn load(files: &TlsFiles) -> Result<TlsAcceptor, ServeError> {
    let bad = |path: &Path, why: &dyn fmt::Display| ServeError::Tls {
        path: path.into(),
        why: why.to_string(),
    };
    let (certificate, key) = (&files.certificate, &files.key);
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain = chain.map_err(|error| bad(certificate, &error))?;
    if chain.is_empty() {
        return Err(bad(certificate, &"no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(certificate, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| bad(certificate, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
