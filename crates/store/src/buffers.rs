//! Buffers of one unit each, indexed by handle.

use gordon_nand::Buf;

/// The bytes of a unit, aligned as the medium requires.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer {
    bytes: Box<[u8]>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    fn new(len: usize, alignment: usize) -> Self {
        let bytes = vec![0; len + alignment - 1].into_boxed_slice();
        let start = (alignment - bytes.as_ptr().addr() % alignment) % alignment;
        Self { bytes, start, len }
    }

    pub fn get(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    pub fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// The buffers of the layer's handles, allocated at the first use of a handle and then kept.
/// Handles are small numbers: there are as many as pages were in flight at once.
#[derive(Debug)]
pub(crate) struct Buffers {
    all: Vec<AlignedBuffer>,
    len: usize,
    alignment: usize,
}

impl Buffers {
    pub fn new(len: usize, alignment: usize) -> Self {
        Self { all: Vec::new(), len, alignment }
    }

    pub fn get(&self, buf: Buf) -> &[u8] {
        self.all[buf.index()].get()
    }

    pub fn get_mut(&mut self, buf: Buf) -> &mut [u8] {
        self.make(buf);
        self.all[buf.index()].get_mut()
    }

    /// Allocates the buffer of a handle if it does not exist yet.
    fn make(&mut self, buf: Buf) {
        while self.all.len() <= buf.index() {
            self.all.push(AlignedBuffer::new(self.len, self.alignment));
        }
    }

    /// Takes a buffer out, so that several can be borrowed at once; return it with
    /// [`put`](Self::put).
    pub fn take(&mut self, buf: Buf) -> AlignedBuffer {
        self.make(buf);
        std::mem::take(&mut self.all[buf.index()])
    }

    /// Returns a buffer after [`take`](Self::take).
    pub fn put(&mut self, buf: Buf, buffer: AlignedBuffer) {
        self.all[buf.index()] = buffer;
    }
}
