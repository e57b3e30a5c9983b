//! Parts of a response that the cache has lost, fetched as ranges of the same representation.

use super::Origin;
use crate::body::{Idle, Pending, Pieces};
use crate::frames::BodyError;
use crate::meta::{StoredMeta, StoredResponse};
use crate::site::{Asked, Site};
use bytes::BytesMut;
use http::header::{
    CONTENT_RANGE, ETAG, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of a stored response. The response is removed if they cannot be fetched: otherwise every
/// request would fail at the same byte.
pub(super) struct OriginRanges {
    site: Arc<Site>,
    origin: Arc<Origin>,
    key: Vec<u8>,
    response: StoredResponse,
    request: Request<()>,
    /// The strong entity tag; without one, parts could be of another version.
    tag: Option<HeaderValue>,
}

impl Origin {
    pub(super) fn ranges(
        self: &Arc<Self>,
        site: &Arc<Site>,
        asked: &Asked,
        key: &[u8],
        response: &StoredResponse,
    ) -> OriginRanges {
        let tag = response.headers.get(ETAG).filter(|tag| tag.as_bytes().starts_with(b"\""));
        let mut request = self.request(asked);
        *request.method_mut() = Method::GET;
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_RANGE] {
            request.headers_mut().remove(name);
        }
        if let Some(tag) = tag {
            request.headers_mut().insert(IF_MATCH, tag.clone());
        }
        let (site, origin) = (Arc::clone(site), Arc::clone(self));
        let (key, response, tag) = (key.to_vec(), response.clone(), tag.cloned());
        OriginRanges { site, origin, key, response, request, tag }
    }
}

impl OriginRanges {
    /// Removes the response, unless another one has replaced it.
    async fn lost(&self) -> BodyError {
        match crate::site::found(&self.site, &self.key).await {
            Some((_, StoredMeta::Response(found))) if found == self.response => {}
            _ => return BodyError::Lost,
        }
        // A cache that cannot remove an object no longer returns it, or fails on the next lookup.
        let _ = self.site.cache.delete(&self.key).await;
        BodyError::Lost
    }
}

impl Pieces for OriginRanges {
    fn read(self: Arc<Self>, range: Range<u64>) -> Pending {
        Box::pin(async move {
            let Some(tag) = &self.tag else { return Err(self.lost().await) };
            let origin = &self.origin;
            let reserved = self.site.budget.reserve_later(range.end - range.start).await;
            let mut request = self.request.clone();
            let last = range.end - 1;
            let text = format!("bytes={}-{last}", range.start);
            let value = HeaderValue::from_str(&text).map_err(|_| BodyError::Lost)?;
            request.headers_mut().insert(RANGE, value);
            let response =
                origin.send(&self.site, request, None).await.map_err(|_| BodyError::Lost)?;
            let expected = format!("bytes {}-{last}/", range.start);
            let is_part = response.status() == StatusCode::PARTIAL_CONTENT
                && response.headers().get(ETAG) == Some(tag)
                && response
                    .headers()
                    .get(CONTENT_RANGE)
                    .is_some_and(|found| found.as_bytes().starts_with(expected.as_bytes()));
            if !is_part {
                let is_temporary = super::is_failure(response.status())
                    || response.status() == StatusCode::TOO_MANY_REQUESTS;
                return Err(if is_temporary { BodyError::Lost } else { self.lost().await });
            }
            let mut body = Idle::new(response.into_body(), origin.patience);
            let mut bytes = BytesMut::new();
            while let Some(frame) = body.frame().await {
                if let Ok(data) = frame?.into_data() {
                    bytes.extend_from_slice(&data);
                }
                if bytes.len() as u64 > range.end - range.start {
                    return Err(BodyError::Incomplete);
                }
            }
            if bytes.len() as u64 != range.end - range.start {
                return Err(BodyError::Incomplete);
            }
            self.site.counters.origin_bytes.add(bytes.len() as u64);
            Ok(reserved.hold(bytes.freeze()))
        })
    }
}
