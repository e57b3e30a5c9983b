//! Simulated storage devices. One contract: a request goes in at a time, a completion comes out at
//! a time ([`Device`]). Behind it: flash ([`ssd`]), a hard disk ([`disk`], of either kind
//! [`drive`]), several of either as one ([`stripe`]), behind one adapter ([`bus`]), behind a host
//! that joins what waits ([`coalesce`]).

pub mod bus;
mod check;
pub mod coalesce;
mod contract;
pub mod disk;
mod divisor;
pub mod drive;
pub mod ssd;
pub mod stripe;

pub use contract::{Cause, Completion, Device, Op, PREFETCH_STAGES, Request, SECTOR, Usage};
pub use divisor::Divisor;
