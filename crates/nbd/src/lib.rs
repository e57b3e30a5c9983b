//! A block device for real clients: an NBD server over any [`Export`].
//!
//! - `codec`: the protocol as state machines without I/O.
//! - [`Export`]: the port, what the server asks of whatever holds the bytes.
//! - [`MemoryExport`]: an export that lives in memory and forgets, for tests and benches.
//! - [`block`]: a flash image as an export, at full speed or as fast as the flash it stands for.
//! - [`Server`]: sockets, TLS, threads and limits.
//!
//! The model, what bounds a client, figures: docs/design/nbd.md.
#![forbid(unsafe_code)]

pub mod block;
mod codec;
mod export;
mod memory;
mod server;
mod threads;

#[cfg(fuzzing)]
pub use codec::fuzz;
pub use export::{
    AllocationExtent, Errno, Export, ExportInfo, MAX_EXTENTS, Op, Request, RequestError,
};
pub use memory::MemoryExport;
pub use server::{
    ClientEvent, ConnectionLimits, EventCallback, Listen, NamedExport, NbdError, Server,
    ServerOptions, Tls,
};
