//! Bodies of responses.
//!
//! A body is sent in frames of at most [`FRAME`] bytes. A frame is handed over when the connection
//! takes it, so a client that receives slowly holds one or two frames, and what they are a part of.

use crate::budget::Budget;
use crate::flight::Reader;
use crate::frames::{BodyError, FRAME};
use bytes::Bytes;
use gordon_objectcache::Object;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

pub(crate) type Pending = Pin<Box<dyn Future<Output = Result<Bytes, BodyError>> + Send>>;

/// Reads a body piece by piece. Returns bytes from the start of a range, or all of it.
pub(crate) trait Pieces: Send + Sync + 'static {
    fn read(self: Arc<Self>, range: Range<u64>) -> Pending;
}

/// An object of several blocks. A block that is not in the cache any more is read where the object
/// came from, if the representation there is the same.
pub(crate) struct ObjectPieces {
    pub object: Object,
    pub budget: Arc<Budget>,
    pub otherwise: Option<Arc<dyn Pieces>>,
}

impl Pieces for ObjectPieces {
    fn read(self: Arc<Self>, range: Range<u64>) -> Pending {
        Box::pin(async move {
            let reserved = self.budget.reserve_later(range.end - range.start).await;
            match (self.object.read(range.clone()).await, &self.otherwise) {
                (Ok(Some(bytes)), _) => Ok(reserved.hold(bytes)),
                (_, Some(other)) => {
                    drop(reserved);
                    Arc::clone(other).read(range).await
                }
                _ => Err(BodyError::Lost),
            }
        })
    }
}

/// A body.
pub(crate) enum Content {
    Empty,
    /// Bytes in memory.
    Bytes(Bytes),
    /// A body that is read piece by piece.
    Pieces {
        from: Arc<dyn Pieces>,
        range: Range<u64>,
        step: u64,
        pending: Option<Pending>,
    },
    /// A fetch that may still be running.
    Flight(Reader),
    /// A response that is not stored.
    Through(Idle),
}

impl Content {
    pub fn pieces(from: Arc<dyn Pieces>, range: Range<u64>, step: u64) -> Self {
        Self::Pieces { from, range, step, pending: None }
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        match this {
            Self::Empty => Poll::Ready(None),
            Self::Bytes(bytes) => {
                let frame = if bytes.len() > FRAME {
                    bytes.split_to(FRAME)
                } else {
                    let last = std::mem::take(bytes);
                    *this = Self::Empty;
                    last
                };
                Poll::Ready((!frame.is_empty()).then(|| Ok(Frame::data(frame))))
            }
            Self::Pieces { from, range, step, pending } => {
                if range.is_empty() {
                    return Poll::Ready(None);
                }
                let end = range.end.min((range.start / *step + 1) * *step);
                let read = pending.get_or_insert_with(|| Arc::clone(from).read(range.start..end));
                let bytes = ready!(read.as_mut().poll(cx));
                *pending = None;
                Poll::Ready(Some(bytes.and_then(|bytes| {
                    range.start += bytes.len() as u64;
                    let is_good = !bytes.is_empty() && range.start <= range.end;
                    if is_good { Ok(Frame::data(bytes)) } else { Err(BodyError::Lost) }
                })))
            }
            Self::Flight(reader) => {
                let next = ready!(reader.poll_next(cx));
                Poll::Ready(next.map(|bytes| bytes.map(Frame::data)))
            }
            Self::Through(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Pieces { range, .. } => range.is_empty(),
            Self::Flight(_) => false,
            Self::Through(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces { range, .. } => SizeHint::with_exact(range.end - range.start),
            Self::Flight(reader) => {
                reader.length().map_or_else(SizeHint::new, SizeHint::with_exact)
            }
            Self::Through(body) => body.size_hint(),
        }
    }
}

/// A body of a connection, which fails if nothing arrives for some time.
pub(crate) struct Idle {
    body: Incoming,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Idle {
    pub fn new(body: Incoming, limit: Duration) -> Self {
        Self { body, limit, timer: None }
    }
}

impl Body for Idle {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(frame) = frame {
            self.timer = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(BodyError::Http)));
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(BodyError::Slow)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
