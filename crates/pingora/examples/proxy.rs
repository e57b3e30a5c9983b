//! A caching proxy: Pingora in front of one HTTP server, with objects in DRAM and flash.
//!
//!     cargo run --example proxy -- 127.0.0.1:8080 127.0.0.1:9000 /var/cache/site
//!
//! Responses are fresh as their Cache-Control says. `PURGE /path` from this machine removes all
//! variants of a path. SIGTERM writes the content of DRAM to flash before the end, SIGINT does it
//! without waiting for clients.

use async_trait::async_trait;
use gordon_objectcache::{Cache, Config, Flash, block_on};
use gordon_pingora::ObjectStorage;
use pingora_cache::cache_control::CacheControl;
use pingora_cache::filters::resp_cacheable;
use pingora_cache::key::HashBinary;
use pingora_cache::lock::{CacheKeyLockImpl, CacheLock};
use pingora_cache::{
    CacheKey, CacheMeta, CacheMetaDefaults, CachePhase, NoCacheReason, RespCacheable,
    VarianceBuilder,
};
use pingora_core::server::configuration::ServerConf;
use pingora_core::server::{RunArgs, Server};
use pingora_core::upstreams::peer::HttpPeer;
use pingora_error::Result;
use pingora_http::{RequestHeader, ResponseHeader};
use pingora_proxy::{ProxyHttp, Session, http_proxy_service};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

/// Responses without Cache-Control or Expires are not stored.
static DEFAULTS: CacheMetaDefaults = CacheMetaDefaults::new(|_| None, 0, 0);
/// One fetch for all clients that ask for the same key.
static LOCK: LazyLock<Box<CacheKeyLockImpl>> =
    LazyLock::new(|| CacheLock::new_boxed(Duration::from_secs(10)));

struct Proxy {
    origin: SocketAddr,
    storage: &'static ObjectStorage,
}

fn is_purge(session: &Session) -> bool {
    session.req_header().method.as_str() == "PURGE"
        && session
            .client_addr()
            .and_then(|address| address.as_inet())
            .is_some_and(|address| address.ip().to_canonical().is_loopback())
}

#[async_trait]
impl ProxyHttp for Proxy {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _: &mut Session, (): &mut ()) -> Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.origin, false, String::new())))
    }

    async fn request_filter(&self, session: &mut Session, (): &mut ()) -> Result<bool> {
        if !is_purge(session) {
            return Ok(false);
        }
        let key = self.cache_key_callback(session, &mut ())?;
        let count = self.storage.purge_variants(&key.to_compact()).await?;
        let mut response = ResponseHeader::build(if count > 0 { 200 } else { 404 }, None)?;
        response.insert_header("content-length", "0")?;
        session.write_response_header(Box::new(response), true).await?;
        Ok(true)
    }

    fn request_cache_filter(&self, session: &mut Session, (): &mut ()) -> Result<()> {
        if matches!(session.req_header().method.as_str(), "GET" | "HEAD") {
            session.cache.enable(self.storage, None, None, Some(&**LOCK), None);
        }
        Ok(())
    }

    fn cache_key_callback(&self, session: &Session, (): &mut ()) -> Result<CacheKey> {
        let uri = &session.req_header().uri;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        Ok(CacheKey::new(target, ""))
    }

    fn response_cache_filter(
        &self,
        session: &Session,
        response: &ResponseHeader,
        (): &mut (),
    ) -> Result<RespCacheable> {
        let varies_by_all = response.headers.get_all("vary").iter().any(|value| {
            value.as_bytes().split(|&byte| byte == b',').any(|v| v.trim_ascii() == b"*")
        });
        if varies_by_all {
            return Ok(RespCacheable::Uncacheable(NoCacheReason::Custom("Vary: *")));
        }
        let control = CacheControl::from_resp_headers(response);
        let is_authorized = session.req_header().headers.contains_key("authorization");
        Ok(resp_cacheable(control.as_ref(), response.clone(), is_authorized, &DEFAULTS))
    }

    fn cache_vary_filter(
        &self,
        meta: &CacheMeta,
        (): &mut (),
        request: &RequestHeader,
    ) -> Option<HashBinary> {
        let mut names: Vec<String> = meta
            .headers()
            .get_all("vary")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        names.sort();
        names.dedup();
        let mut variance = VarianceBuilder::new();
        for name in &names {
            let values = request.headers.get_all(name);
            let values: Vec<_> = values.iter().map(|value| value.as_bytes()).collect();
            variance.add_owned_value(name, values.join(&b','));
        }
        variance.finalize()
    }

    async fn response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        (): &mut (),
    ) -> Result<()> {
        let status = match session.cache.phase() {
            CachePhase::Hit => "hit",
            CachePhase::Stale | CachePhase::StaleUpdating => "stale",
            CachePhase::Revalidated | CachePhase::RevalidatedNoCache(_) => "revalidated",
            CachePhase::Miss | CachePhase::Expired => "miss",
            _ => "bypass",
        };
        response.insert_header("x-cache", status)?;
        Ok(())
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [listen, origin, folder] = &given[..] else {
        return Err(
            "usage: proxy LISTEN ORIGIN FOLDER, as 127.0.0.1:8080 127.0.0.1:9000 /tmp".into()
        );
    };
    let origin =
        origin.parse().map_err(|_| format!("{origin}: not an address, as 127.0.0.1:9000"))?;
    let flash = Flash::new(PathBuf::from(folder), 1 << 30);
    let (cache, recovery) = Cache::open(Config { flash: Some(flash), ..Config::new(128 << 20) })?;
    let storage: &'static ObjectStorage = Box::leak(Box::new(ObjectStorage::new(cache)));
    let settings = ServerConf {
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(10),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, settings);
    server.bootstrap();
    let mut service = http_proxy_service(&server.configuration, Proxy { origin, storage });
    service.add_tcp(listen);
    server.add_service(service);
    std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("http://{listen}: {} objects in flash\n", recovery.objects),
    )?;
    server.run(RunArgs::default());
    block_on(storage.cache().close())?;
    Ok(())
}
