//! HTTP front ends of the object cache: the files of a folder, and a caching reverse proxy of an
//! HTTP origin. The HTTP itself is hyper's; RFC 9111 is that of http-cache-semantics.
//!
//! - [`Server`]: listeners, limits of clients, TLS, an orderly stop.
//! - `http`: what both front ends need of HTTP: preconditions, ranges, Cache-Status, bodies.
//! - `files` and `origin`: the two front ends.
//! - `flight`: requests for one key that wait for one fetch.
//!
//! docs/design/serving.md describes the model, the limits, and measurements.
#![forbid(unsafe_code)]

mod body;
mod budget;
mod counters;
mod error;
mod files;
mod flight;
mod frames;
mod http;
mod limits;
mod meta;
mod origin;
mod pages;
mod power;
mod routing;
mod server;
mod site;
mod stats;

pub use counters::{Counts, Results};
pub use error::ServeError;
pub use limits::Limits;
pub use power::{Energy, PowerModel};
#[cfg(any(fuzzing, test))]
pub use server::fuzzing;
pub use server::{ServeConfig, Server, Source, TlsFiles};
pub use stats::{ServeStats, Warmed};
