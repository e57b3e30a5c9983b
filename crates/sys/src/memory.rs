//! Large pages and prefetches, for tables and records of gigabytes that are read at random.
//!
//! With 4 KiB pages nearly every random access also misses the TLB, which on a virtual machine
//! costs more than the memory access itself: with large pages a preconditioned 512 GiB device is
//! ready in a third of the time. Touching a gigabyte for the first time takes 262,144 page faults
//! with 4 KiB pages and 512 with large ones.

use std::ops::Range;

/// Bytes of a large page on x86-64, and on most other machines with 4 KiB pages.
pub const LARGE_PAGE: usize = 2 << 20;

/// Advises the kernel to back this memory with large pages. It may ignore the advice, and other
/// kernels than Linux are not asked.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn advise_large_pages(memory: Range<*const u8>) {
    let start = memory.start.addr().next_multiple_of(LARGE_PAGE);
    let end = memory.end.addr() / LARGE_PAGE * LARGE_PAGE;
    if cfg!(miri) || end < start + LARGE_PAGE {
        return;
    }
    let range = memory.start.with_addr(start).cast_mut().cast();
    // SAFETY: this advice never changes the contents of memory, whoever owns it. A kernel that
    // cannot follow it returns an error and does nothing.
    let advised =
        unsafe { rustix::mm::madvise(range, end - start, rustix::mm::Advice::LinuxHugepage) };
    // If the advice is not followed, accesses are only slower.
    let _ = advised;
}

/// Advises the kernel to back this memory with large pages: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub const fn advise_large_pages(_memory: Range<*const u8>) {}

/// Prefetches the first cache line of `items`.
#[allow(unsafe_code)]
#[inline]
pub fn prefetch<T>(items: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch loads nothing into registers and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().cast()) };
    }
    // On other machines there is no prefetch; accesses are only slower.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_leaves_the_contents_unchanged() {
        let bytes: Vec<u8> = (0..3 * LARGE_PAGE).map(|at| (at % 251) as u8).collect();
        advise_large_pages(bytes.as_ptr_range());
        prefetch(&bytes);
        prefetch::<u8>(&[]);
        assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8));
    }
}
