//! Buffers as direct I/O wants them, on large pages.

use gordon_sys::memory::{LARGE_PAGE, advise_large_pages};

/// What a buffer starts at: pages, which every device takes.
pub const PAGE: usize = 4096;

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
        let align = if len >= LARGE_PAGE { LARGE_PAGE } else { PAGE };
        let bytes = vec![0; len + align - 1];
        let start = bytes.as_ptr().align_offset(align);
        advise_large_pages(bytes[start..start + len].as_ptr_range());
        Self { bytes, start, len }
    }

    /// The bytes of a vector. They start at any address, so direct I/O cannot use this buffer.
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

    /// Gives its memory away for a time; answers where in it the buffer starts. It is empty until
    /// [`put_back`](Self::put_back).
    pub fn lend(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.bytes), self.start)
    }

    /// What was lent.
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
