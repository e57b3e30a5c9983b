//! Tests of TLS: everything works inside it, and clients that are not admitted see nothing.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Client, Served, memory, option_bytes, serve_options};
use gordon_nbd::{NbdError, Server, ServerOptions, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// PEM files of an authority, and of a server and a client that it signed, with the names that
/// GnuTLS clients expect.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority =
            CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.path().join("ca-cert.pem"), authority.pem()).unwrap();
        for name in ["server", "client"] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            fs::write(folder.path().join(format!("{name}-cert.pem")), certificate.pem()).unwrap();
            let key = key.serialize_pem();
            fs::write(folder.path().join(format!("{name}-key.pem")), key).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn tls(&self, clients: bool) -> Tls {
        let authority = self.path("ca-cert.pem");
        let clients: Option<&Path> = clients.then_some(&authority);
        Tls::from_files(&self.path("server-cert.pem"), &self.path("server-key.pem"), clients)
            .unwrap()
    }

    fn client(
        &self,
        stream: UnixStream,
        certificate: bool,
    ) -> StreamOwned<ClientConnection, UnixStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("ca-cert.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = if certificate {
            let chain = vec![CertificateDer::from_pem_file(self.path("client-cert.pem")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(self.path("client-key.pem")).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        let name = ServerName::try_from("localhost").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
    }
}

fn serve(tls: Tls) -> Served {
    let mut options = ServerOptions::new(Arc::new(memory(64 << 20)));
    options.tls = Some(tls);
    serve_options(options)
}

/// A client inside TLS that has sent no options yet.
fn secure(
    files: &Files,
    served: &Served,
    certificate: bool,
) -> Client<StreamOwned<ClientConnection, UnixStream>> {
    let mut plain = Client::greet(served.stream());
    assert_eq!(plain.option(5, &[]), Ok(Vec::new()));
    let Client { stream, .. } = plain;
    Client::greeted(files.client(stream, certificate))
}

#[test]
fn everything_works_inside_tls() {
    let files = Files::new();
    let served = serve(files.tls(false));
    let mut client = secure(&files, &served, false);
    assert_eq!(client.option(5, &[]), Err(3), "TLS already");
    client.choose("", true);
    let data: Vec<u8> = (0..8_000_000u32).map(|at| (at % 251) as u8).collect();
    client.write(5, &data).unwrap();
    assert_eq!(client.read(5, 8_000_000), Ok(data));
    let cookies: Vec<_> =
        (0..200).map(|at| client.send(common::READ, 0, at * 4096, 4096, &[])).collect();
    for cookie in cookies {
        assert_eq!(client.answer().unwrap().0, cookie);
    }
    // The connection survives being idle for longer than a tick.
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(client.read(40 << 20, 3), Ok(vec![0; 3]));
    let mut served = served;
    assert_eq!(served.stop(), 0);
    assert!(client.is_over());
}

#[test]
fn a_server_that_requires_tls_refuses_all_other_options() {
    let files = Files::new();
    let served = serve(files.tls(false));
    let mut client = Client::greet(served.stream());
    assert_eq!(client.option(3, &[]), Err(5));
    assert_eq!(client.option(8, &[]), Err(5));
    assert_eq!(client.option(7, &[0; 6]), Err(5));
    // Unencrypted options behind STARTTLS could come from an attacker, so the server disconnects.
    let both = [option_bytes(5, &[]), option_bytes(3, &[])].concat();
    client.stream.write_all(&both).unwrap();
    let mut said = Vec::new();
    client.stream.read_to_end(&mut said).unwrap();
    assert_eq!(said.len(), 20, "one ACK, then the end of the stream");

    let served = serve(files.tls(false).optional());
    assert_eq!(served.client().read(0, 1), Ok(vec![0]));
    let mut client = secure(&files, &served, false);
    client.choose("", false);
    assert_eq!(client.read(0, 1), Ok(vec![0]));
}

#[test]
fn clients_need_a_certificate_if_authorities_are_given() {
    let files = Files::new();
    let served = serve(files.tls(true));
    let mut client = secure(&files, &served, true);
    client.choose("", true);
    assert_eq!(client.read(0, 1), Ok(vec![0]));
    let mut nobody = secure(&files, &served, false);
    let refused = nobody.stream.write_all(&option_bytes(3, &[]));
    assert!(refused.and_then(|()| nobody.stream.read_exact(&mut [0; 20])).is_err());
}

#[test]
fn garbage_instead_of_tls_disconnects_the_client() {
    let files = Files::new();
    let served = serve(files.tls(false));
    let mut client = Client::greet(served.stream());
    client.option(5, &[]).unwrap();
    client.stream.write_all(&[0x55; 5000]).unwrap();
    let mut said = Vec::new();
    // TLS may send an alert before the stream ends.
    let _ = client.stream.read_to_end(&mut said);
    served.await_clients(0);
}

#[test]
fn unusable_certificates_and_keys_are_refused() {
    let files = Files::new();
    let (certificate, key) = (files.path("server-cert.pem"), files.path("server-key.pem"));
    let empty = files.path("empty");
    fs::write(&empty, "").unwrap();
    for (certificate, key) in [
        (&files.path("none"), &key),
        (&empty, &key),
        (&certificate, &empty),
        (&certificate, &files.path("client-key.pem")),
    ] {
        let error = Tls::from_files(certificate, key, None).unwrap_err();
        assert!(matches!(error, NbdError::Tls { .. }), "{error}");
    }
    assert!(Tls::from_files(&certificate, &key, Some(&empty)).is_err());
}

#[test]
fn tcp_addresses_beyond_this_machine_are_allowed_with_required_tls() {
    let files = Files::new();
    let listen = gordon_nbd::Listen::Tcp { address: "0.0.0.0:0".parse().unwrap(), insecure: false };
    for (tls, fits) in [(files.tls(false), true), (files.tls(false).optional(), false)] {
        let mut options = ServerOptions::new(Arc::new(memory(4096)));
        options.tls = Some(tls);
        options.listen.push(listen.clone());
        assert_eq!(Server::start(options).is_ok(), fits);
    }
}

#[test]
fn gnutls_clients_can_connect() {
    let files = Files::new();
    let served = serve(files.tls(true));
    let uri = format!(
        "nbds+unix:///?socket={}&tls-certificates={}&tls-hostname=localhost",
        served.socket.display(),
        files.0.path().display()
    );
    let Some(said) = common::run("gnutls_clients_can_connect", "nbdinfo", &["--size", &uri]) else {
        return;
    };
    assert_eq!(said.trim(), "67108864");
}
