//! Discrete-event simulation: what happens when, in an order that never depends on chance.
//!
//! [`Events`] hands out events by (time, order of scheduling), so the same inputs give the same run
//! on any machine; [`SlotScheduler`] by (time, slot), where each of many slots has at most one to
//! come, much faster. [`Timeline`] is a resource that serves one user at a time, first come first
//! served: a bus, a host link. Time is `Ns`, whole nanoseconds on a virtual clock.

mod events;
mod slot_scheduler;
mod timeline;

pub use events::Events;
pub use slot_scheduler::SlotScheduler;
pub use timeline::Timeline;
