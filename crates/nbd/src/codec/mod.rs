//! The protocol as state machines: they take bytes and return bytes and decisions. They have no
//! sockets, clocks or threads.
//!
//! Source: github.com/NetworkBlockDevice/nbd, doc/proto.md. Implemented are the baseline and all of
//! "maximum interoperability", without the experimental extensions.

#[cfg(fuzzing)]
pub mod fuzz;
pub(crate) mod handshake;
pub(crate) mod reply;
pub(crate) mod request;
#[cfg(test)]
mod tests;
pub(crate) mod wire;

use crate::export::ExportInfo;

/// An export as the server offers it.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) info: ExportInfo,
}

/// The result of the handshake, for the transmission phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Index of the export in the offers.
    pub(crate) export: usize,
    /// The client takes structured replies (chunks).
    pub(crate) structured: bool,
    /// The client selected `base:allocation` and may request block status.
    pub(crate) allocation: bool,
}

/// The transmission flags of an export.
pub(crate) fn transmission_flags(info: &ExportInfo, structured: bool) -> u16 {
    use wire::can::{
        CACHE, DF, FAST_ZERO, FLUSH, FUA, HAS_FLAGS, MULTI_CONN, READ_ONLY, ROTATIONAL, TRIM,
        WRITE_ZEROES,
    };
    let when = |is: bool, flags: u16| if is { flags } else { 0 };
    HAS_FLAGS
        | FLUSH
        | FUA
        | CACHE
        | when(info.read_only, READ_ONLY)
        | when(!info.read_only, TRIM | WRITE_ZEROES | FAST_ZERO)
        | when(info.rotational, ROTATIONAL)
        | when(info.multi_conn, MULTI_CONN)
        | when(structured, DF)
}
