//! The control socket: HTTP over a Unix socket that only its owner can use.
//!
//! `GET /stats`, `POST /purge`, `POST /check` and `POST /warm`; bodies and answers are JSON.

use super::settings::{PAUSE, builder};
use crate::body::Content;
use crate::error::ServeError;
use crate::pages::json;
use crate::routing::{App, Upstream, route};
use crate::site::{Asked, Site};
use crate::stats::Warmed;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::fs::{Mode, chmod};
use serde::Deserialize;
use std::convert::Infallible;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::task::JoinHandle;

/// Maximum size of a command.
const COMMAND: usize = 16 << 20;

/// The socket, which is removed when this is dropped.
pub(super) struct ControlSocket {
    listener: Option<UnixListener>,
    path: PathBuf,
    /// Device and inode of the socket, to remove no file that has replaced it.
    inode: (u64, u64),
    serving: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Listens. A stale socket at the path is replaced.
    pub fn open(path: &Path) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Listen { place: path.display().to_string(), error };
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(ServeError::Exists(path.into()));
            }
            // Only a stale socket refuses connections.
            Ok(_) => match std::os::unix::net::UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(failed)?;
                }
                _ => return Err(ServeError::Exists(path.into())),
            },
            Err(_) => {}
        }
        let open = || {
            let listener = UnixListener::bind(path)?;
            chmod(path, Mode::RUSR | Mode::WUSR)?;
            listener.set_nonblocking(true)?;
            let found = fs::symlink_metadata(path)?;
            std::io::Result::Ok((listener, (found.dev(), found.ino())))
        };
        let (listener, inode) = open().map_err(failed)?;
        Ok(Self { listener: Some(listener), path: path.into(), inode, serving: None })
    }

    pub fn start(mut self, app: Arc<App>) -> Result<Self, ServeError> {
        let Some(listener) = self.listener.take() else { return Ok(self) };
        let listener = tokio::net::UnixListener::from_std(listener)?;
        self.serving = Some(tokio::spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                let app = Arc::clone(&app);
                tokio::spawn(async move {
                    let limits = app.site.limits;
                    let service = service_fn(move |request| {
                        let app = Arc::clone(&app);
                        async move { Ok::<_, Infallible>(command(&app, request).await) }
                    });
                    // A client that leaves has its answer, or does not want it.
                    let _ = builder(&limits).serve_connection(TokioIo::new(socket), service).await;
                });
            }
        }));
        Ok(self)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == self.inode);
        if is_ours {
            // A destructor has no one to report a failure to.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Purge {
    path: String,
    #[serde(default)]
    prefix: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Warm {
    paths: Vec<String>,
}

async fn command(app: &App, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, COMMAND).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return answer(StatusCode::BAD_REQUEST, &failure(&error.to_string())),
    };
    let done = match (&head.method, head.uri.path()) {
        (&Method::GET, "/stats") => Ok(json(&app.site)),
        (&Method::POST, "/purge") => purge(app, &body).await,
        (&Method::POST, "/check") => check(&app.site).await,
        (&Method::POST, "/warm") => warm(app, &body).await,
        _ => return answer(StatusCode::NOT_FOUND, &failure("not a command")),
    };
    match done {
        Ok(text) => answer(StatusCode::OK, &text),
        Err(why) => answer(StatusCode::BAD_REQUEST, &failure(&why)),
    }
}

fn failure(why: &str) -> String {
    serde_json::json!({ "error": why }).to_string()
}

fn answer(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn purge(app: &App, body: &[u8]) -> Result<String, String> {
    let site = &app.site;
    let asked: Purge = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let key = app.upstream.key(&asked.path, asked.prefix).ok_or("not a path, as /a/b.html")?;
    let removed = if asked.prefix {
        site.flights.revoke(|found| found.starts_with(&key)).await;
        site.cache.purge(&key).await.map_err(|error| error.to_string())?
    } else {
        crate::origin::invalidate(site, &key).await
    };
    Ok(serde_json::json!({ "purged": removed }).to_string())
}

/// Verifies every object in flash.
async fn check(site: &Site) -> Result<String, String> {
    let checked = site.cache.check().await.map_err(|error| error.to_string())?;
    serde_json::to_string(&checked).map_err(|error| error.to_string())
}

async fn warm(app: &App, body: &[u8]) -> Result<String, String> {
    let asked: Warm = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut warmed = Warmed::default();
    for path in asked.paths {
        warmed.requested += 1;
        let uri: Option<Uri> = path.parse().ok().filter(|_| path.starts_with('/'));
        let Some(uri) = uri else {
            warmed.failed += 1;
            continue;
        };
        match bytes_of(app, uri).await {
            Some(bytes) => {
                warmed.stored += 1;
                warmed.bytes += bytes;
            }
            None => warmed.failed += 1,
        }
    }
    serde_json::to_string(&warmed).map_err(|error| error.to_string())
}

/// Requests a path as a client would, and returns the length of its body.
async fn bytes_of(app: &App, uri: Uri) -> Option<u64> {
    let (mut head, ()) = Request::new(()).into_parts();
    head.uri = uri;
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let asked = Asked { head, body: None, now: SystemTime::now(), peer, is_tls: false };
    let served = route(app, asked).await;
    let is_success = served.response.status().is_success();
    let mut content: Content = served.response.into_body();
    let mut bytes = 0;
    while let Some(frame) = content.frame().await {
        bytes += frame.ok()?.data_ref().map_or(0, |data| data.len() as u64);
    }
    is_success.then_some(bytes)
}

impl Upstream {
    /// The key of a path, or the start of the keys of paths that begin with it.
    fn key(&self, path: &str, is_prefix: bool) -> Option<Vec<u8>> {
        match self {
            Self::Files(files) => files.key_of(path, is_prefix),
            Self::Origin(_) => path.starts_with('/').then(|| path.as_bytes().to_vec()),
        }
    }
}
