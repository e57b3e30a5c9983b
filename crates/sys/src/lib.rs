//! The operations that need `unsafe`: memory advice to the kernel, prefetches, and io_uring.
//!
//! No other crate of the workspace has unsafe code. Each unsafe block has its proof next to it, and
//! all public functions are safe.

pub mod memory;
#[cfg(target_os = "linux")]
pub mod ring;
