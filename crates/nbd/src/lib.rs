//! An NBD server over any [`Export`].
//!
//! - `codec`: the protocol as state machines without I/O.
//! - [`Export`]: the port to the storage that is served. `examples/memory` has a small one.
//! - [`Server`]: sockets, TLS, threads and limits.
//!
//! docs/design/nbd.md describes the model, the limits of a client, and measurements.
#![forbid(unsafe_code)]

mod codec;
mod export;
mod server;
pub mod threads;

#[cfg(fuzzing)]
pub use codec::fuzz;
pub use export::{
    AllocationExtent, CompletionSink, Errno, Export, ExportInfo, MAX_EXTENTS, Op, Request,
    RequestError, RequestOutcome,
};
pub use gordon_blockio::Command;
pub use server::{
    ClientEvent, ConnectionLimits, EventCallback, Listen, Listener, NamedExport, NbdError, Server,
    ServerOptions, Tls,
};
