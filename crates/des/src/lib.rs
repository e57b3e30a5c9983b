//! Discrete-event simulation with an order of events that depends on nothing but the inputs.
//!
//! [`Agenda`] hands out events by (time, slot); each of its slots has at most one pending event.
//! [`Timeline`] is a resource that serves one user at a time, first come first served:
//! a bus, a host link. Time is `Ns`, whole nanoseconds on a virtual clock.

mod agenda;
mod timeline;

pub use agenda::Agenda;
pub use timeline::Timeline;
