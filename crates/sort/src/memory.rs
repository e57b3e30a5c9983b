//! Memory: buffers as direct I/O wants them, on large pages, and records before they are needed.
//!
//! A gigabyte on pages of 4 KiB is 262,144 faults, and records are read from it at random: each is a
//! miss of the processor's table of pages too. With large ones both are rare.

use std::ops::Range;

/// What a buffer starts at: pages, which every device takes.
pub const PAGE: usize = 4096;

/// A large page of x86-64, and of most others with pages of 4 KiB.
pub const LARGE: usize = 2 << 20;

/// Bytes that start at a page; at a large one where they fill some.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// So many, in whole pages, all zero: memory is taken as they are used.
    pub fn new(len: usize) -> Self {
        let len = len.next_multiple_of(PAGE);
        let align = if len >= LARGE { LARGE } else { PAGE };
        let bytes = vec![0; len + align - 1];
        let start = bytes.as_ptr().align_offset(align);
        want_large_pages(bytes[start..start + len].as_ptr_range());
        Self { bytes, start, len }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn get(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    #[inline]
    pub fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// Asks the system to back memory with large pages. Nothing is promised.
#[allow(unsafe_code)]
fn want_large_pages(range: Range<*const u8>) {
    let start = range.start.addr().next_multiple_of(LARGE);
    let end = range.end.addr() / LARGE * LARGE;
    if cfg!(miri) || end < start + LARGE {
        return;
    }
    let from = range.start.with_addr(start).cast_mut().cast();
    // SAFETY: the range lies within a buffer of ours; this advice never changes what memory holds, and
    // where the system cannot follow it, it says so and does nothing.
    let advised =
        unsafe { rustix::mm::madvise(from, end - start, rustix::mm::Advice::LinuxHugepage) };
    // Without them it is only slower.
    let _ = advised;
}

/// Asks the processor for the memory at `at`, which is needed soon.
#[allow(unsafe_code)]
#[inline]
pub fn want_soon(bytes: &[u8], at: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = bytes.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    // Elsewhere it is only slower.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (bytes, at);
}
