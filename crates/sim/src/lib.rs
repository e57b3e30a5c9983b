//! Shared parts of device simulators: an event queue, resource timelines, and several devices as
//! one.
//!
//! [`SlotScheduler`] returns events ordered by (time, slot); each slot has at most one pending
//! event. [`Timeline`] is a resource that serves one user at a time, first come, first served, such
//! as a bus or a host link. Time is `Ns`, whole nanoseconds on a virtual clock, and the order of
//! events depends on the inputs alone.
//!
//! [`stripe`] combines several devices into one (RAID-0, RAID-1, RAID-10), [`bus`] lets them share
//! an adapter, and [`coalesce`] is a host queue that merges waiting requests. [`InOrderHost`]
//! submits requests in order. All are generic over [`Device`](gordon_blockio::Device).

pub mod bus;
pub mod coalesce;
mod in_order_host;
mod slot_scheduler;
pub mod stripe;
mod timeline;

pub use in_order_host::InOrderHost;
pub use slot_scheduler::SlotScheduler;
pub use timeline::Timeline;
