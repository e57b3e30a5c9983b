#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! - [`Export`]: the port to the storage that is served, with its contract.
//! - [`Server`]: sockets, TLS, threads and limits, which [`ServerOptions`] sets.
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
