//! Buffers aligned for direct I/O, on large pages.

use gordon_sys::memory::{LARGE_PAGE, advise_large_pages};

/// Alignment of buffers in bytes, which suffices for every device.
pub const PAGE: usize = 4096;

/// Bytes aligned to a page, or to a large page if they fill one.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// A buffer of `len` bytes, rounded up to whole pages and zeroed; the system allocates pages
    /// when they are used.
    pub fn new(len: usize) -> Self {
        let len = len.next_multiple_of(PAGE);
        let align = if len >= LARGE_PAGE { LARGE_PAGE } else { PAGE };
        let bytes = vec![0; len + align - 1];
        let start = bytes.as_ptr().align_offset(align);
        advise_large_pages(bytes[start..start + len].as_ptr_range());
        Self { bytes, start, len }
    }

    /// A buffer made of a vector. It may start at any address, so direct I/O may not be able to use
    /// it.
    pub fn of(bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        Self { bytes, start: 0, len }
    }

    /// Whether direct I/O can use this buffer.
    pub fn is_aligned(&self) -> bool {
        self.get().as_ptr().align_offset(PAGE) == 0
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Lends the memory; returns it with the offset of the buffer in it. The buffer is empty until
    /// [`put_back`](Self::put_back).
    pub fn lend(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.bytes), self.start)
    }

    /// Returns the memory that was lent.
    pub fn put_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
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
