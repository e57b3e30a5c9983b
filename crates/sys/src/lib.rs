//! What needs `unsafe`: advice about memory to the kernel and the processor, and io_uring.
//!
//! No other crate of the workspace has unsafe code. Each place here has its proof next to it, and
//! the functions that callers see are safe.

pub mod memory;
pub mod ring;
