//! The body of a response, with what is counted and logged when it ends.

use super::{Served, Site};
use crate::body::Content;
use crate::frames::BodyError;
use crate::http::access_log::Logged;
use crate::http::status_field::CacheResult;
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use time::OffsetDateTime;

/// A body that is counted and logged when it is dropped.
pub(crate) struct Tracked {
    content: Content,
    site: Arc<Site>,
    logged: Option<Logged>,
    status: u16,
    result: Option<CacheResult>,
    sent: u64,
    has_failed: bool,
}

impl Tracked {
    pub fn response(site: Arc<Site>, served: Served, logged: Option<Logged>) -> Response<Self> {
        let Served { response, status: cache } = served;
        site.counters.answered(response.status(), cache.as_ref());
        let status = response.status().as_u16();
        response.map(|content| Self {
            content,
            site,
            logged,
            status,
            result: cache.map(|cache| cache.result),
            sent: 0,
            has_failed: false,
        })
    }
}

impl Body for Tracked {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.content).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.sent += bytes;
                // Fetches count what they receive themselves.
                if matches!(self.content, Content::Through(_)) {
                    self.site.counters.origin_bytes.add(bytes);
                }
            }
            Some(Err(_)) => self.has_failed = true,
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.site.counters.sent(self.sent, self.result);
        self.site.counters.aborted.add(u64::from(self.has_failed));
        if let (Some(log), Some(logged)) = (&self.site.log, &self.logged) {
            log.add(logged, self.status, self.sent, OffsetDateTime::now_utc());
        }
    }
}
