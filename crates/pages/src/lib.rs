//! Large pages, and memory before it is needed: for tables and records of gigabytes that are read
//! at random.
//!
//! With pages of 4 KiB each access misses the processor's table of pages too, which on a virtual
//! machine costs more than the memory itself: with large ones a preconditioned 512 GiB device is
//! ready in a third of the time. A gigabyte is also 262,144 faults of small pages and 512 of large
//! ones.

use std::ops::Range;

/// Bytes of a large page of x86-64, and of most others with pages of 4 KiB.
pub const LARGE: usize = 2 << 20;

/// Asks the system to back memory of the caller's with large pages, where it is worth it. Nothing
/// is promised.
#[allow(unsafe_code)]
pub fn want_large_pages(memory: Range<*const u8>) {
    let start = memory.start.addr().next_multiple_of(LARGE);
    let end = memory.end.addr() / LARGE * LARGE;
    if cfg!(miri) || end < start + LARGE {
        return;
    }
    let range = memory.start.with_addr(start).cast_mut().cast();
    // SAFETY: this advice never changes what memory holds, whosever it is, and where the system
    // cannot follow it, it says so and does nothing.
    let advised =
        unsafe { rustix::mm::madvise(range, end - start, rustix::mm::Advice::LinuxHugepage) };
    // Without them it is only slower.
    let _ = advised;
}

/// Asks the processor for the memory where `items` start, which is needed soon.
#[allow(unsafe_code)]
#[inline]
pub fn want_soon<T>(items: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().cast()) };
    }
    // Elsewhere it is only slower.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_holds_what_it_held() {
        let bytes: Vec<u8> = (0..3 * LARGE).map(|at| (at % 251) as u8).collect();
        want_large_pages(bytes.as_ptr_range());
        want_soon(&bytes);
        want_soon::<u8>(&[]);
        assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8));
    }
}
