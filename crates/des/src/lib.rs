//! Discrete-event simulation with an order of events that depends on nothing but the inputs.
//!
//! [`SlotScheduler`] hands out events by (time, slot); each of its slots has at most one pending
//! event. [`Timeline`] is a resource that serves one user at a time, first come first served: a
//! bus, a host link. Time is `Ns`, whole nanoseconds on a virtual clock.

mod slot_scheduler;
mod timeline;

pub use slot_scheduler::SlotScheduler;
pub use timeline::Timeline;
