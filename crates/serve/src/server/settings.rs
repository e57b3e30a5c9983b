//! The settings of HTTP connections.

use crate::limits::Limits;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use std::time::Duration;

/// Buffer of an HTTP/1.1 connection in each direction, and maximum size of a request's head.
const BUFFER: usize = 32 << 10;
/// Maximum number of header fields of an HTTP/1.1 request.
const FIELDS: usize = 100;
/// Maximum size of the header fields of an HTTP/2 request.
const H2_HEAD: u32 = 16 << 10;
/// Maximum number of requests at a time of an HTTP/2 connection.
const H2_STREAMS: u32 = 32;

/// Pause after an accept that failed: descriptors or memory may become available again.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The settings of HTTP.
pub(super) fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        // A client that only ends its own direction, as `nc -N` does, gets its answer.
        .half_close(true)
        .max_buf_size(BUFFER)
        .max_headers(FIELDS)
        // Frames are not copied into a buffer, where they would not count as memory for clients.
        .writev(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(H2_HEAD)
        .max_concurrent_streams(H2_STREAMS)
        .max_send_buf_size(BUFFER)
        .keep_alive_interval(limits.head)
        .keep_alive_timeout(limits.stall);
    builder
}
