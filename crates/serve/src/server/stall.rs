//! A socket that fails if its client makes no progress.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// One direction of a socket: since when it waits. The timer is set again only when it fires, so
/// waiting costs no more than reading the clock.
struct Waiting {
    limit: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Waiting {
    fn new(limit: Duration) -> Self {
        Self { limit, since: None, timer: None }
    }

    /// Whether the direction has waited for too long.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let end = since + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        while timer.as_mut().poll(cx).is_ready() {
            if Instant::now() >= end {
                return true;
            }
            timer.as_mut().reset(end);
        }
        false
    }
}

/// A socket with limits of the time without progress: for writing always, for reading while no
/// request is being served.
pub(super) struct Stalling<S> {
    socket: S,
    reading: Waiting,
    writing: Waiting,
    /// Requests of the connection that are being served.
    requests: Arc<AtomicUsize>,
}

impl<S> Stalling<S> {
    pub fn new(socket: S, head: Duration, stall: Duration, requests: Arc<AtomicUsize>) -> Self {
        Self { socket, reading: Waiting::new(head), writing: Waiting::new(stall), requests }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(read) = Pin::new(&mut self.socket).poll_read(cx, buffer) {
            self.reading.since = None;
            return Poll::Ready(read);
        }
        if self.requests.load(Ordering::Relaxed) > 0 {
            self.reading.since = Some(Instant::now());
        }
        if self.reading.is_over(cx) {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> Stalling<S> {
    fn write<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(written) = write(Pin::new(&mut self.socket), cx) {
            self.writing.since = None;
            return Poll::Ready(written);
        }
        if self.writing.is_over(cx) {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |socket, cx| socket.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |socket, cx| socket.poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx, |socket, cx| socket.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = ready!(self.write(cx, |socket, cx| socket.poll_shutdown(cx)));
        Poll::Ready(shut)
    }
}
