//! Frames of bodies, and why a body fails.

/// Maximum size of a frame.
pub(crate) const FRAME: usize = 64 << 10;

/// Why a body ends before its end. The connection, or the stream of HTTP/2, is aborted then: the
/// client must not take it for complete.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("a block of the object is not in the cache any more")]
    Lost,
    #[error("the origin ended the body early, or sent too much")]
    Incomplete,
    #[error("the origin sent nothing for too long")]
    Slow,
    #[error("the file changed or could not be read")]
    File,
    #[error(transparent)]
    Http(#[from] hyper::Error),
}
