//! A volatile export in memory, for tests and benchmarks, and as an example of an [`Export`].
//!
//! The export is sparse. The first write to a chunk of 64 KiB allocates it, and a trim or zeroes
//! that cover the chunk free it; tables of chunks are allocated in the same way. Each chunk has a
//! lock, so that a request changes the bytes of a chunk atomically.

use gordon_nbd::{AllocationExtent, Command, Errno, Export, ExportInfo, MAX_EXTENTS, Op, Request};
use std::sync::{OnceLock, PoisonError, RwLock};

/// Bytes of a chunk.
const CHUNK: u64 = 64 << 10;
/// Chunks of a table, which covers 64 MiB.
const TABLE: u64 = 1024;

type Chunk = RwLock<Option<Box<[u8]>>>;

/// A sparse export in memory.
#[derive(Debug)]
pub struct MemoryExport {
    info: ExportInfo,
    tables: Vec<OnceLock<Box<[Chunk]>>>,
}

impl MemoryExport {
    /// An export that reads as zeroes. Its tables take 8 bytes for each 64 MiB of its size, so
    /// sizes above some 100 TiB take long to create.
    #[must_use]
    pub fn new(info: ExportInfo) -> Self {
        let tables = info.size.0.div_ceil(CHUNK * TABLE);
        Self { info, tables: (0..tables).map(|_| OnceLock::new()).collect() }
    }

    /// The chunk of this number; `None` if its table does not exist and `create` is false.
    fn chunk(&self, number: u64, create: bool) -> Option<&Chunk> {
        let table = &self.tables[index(number / TABLE)];
        let table = if create {
            table.get_or_init(|| (0..TABLE).map(|_| Chunk::default()).collect())
        } else {
            table.get()?
        };
        Some(&table[index(number % TABLE)])
    }

    fn read(&self, offset: u64, data: &mut [u8]) {
        for (number, from, to, at) in pieces(offset, data.len() as u64) {
            let target = &mut data[at..at + (to - from)];
            let chunk = self.chunk(number, false);
            let held = chunk.map(|chunk| chunk.read().unwrap_or_else(PoisonError::into_inner));
            match held.as_deref() {
                Some(Some(bytes)) => target.copy_from_slice(&bytes[from..to]),
                _ => target.fill(0),
            }
        }
    }

    fn write(&self, offset: u64, data: &[u8]) {
        for (number, from, to, at) in pieces(offset, data.len() as u64) {
            let source = &data[at..at + (to - from)];
            let chunk = self.chunk(number, true);
            let held = chunk.map(|chunk| chunk.write().unwrap_or_else(PoisonError::into_inner));
            if let Some(mut held) = held {
                held.get_or_insert_with(fresh)[from..to].copy_from_slice(source);
            }
        }
    }

    /// Zeroes the range. Unless `allocate` is set, chunks that it covers become holes.
    fn clear(&self, offset: u64, length: u64, allocate: bool) {
        for (number, from, to, _) in pieces(offset, length) {
            let chunk = self.chunk(number, allocate);
            let held = chunk.map(|chunk| chunk.write().unwrap_or_else(PoisonError::into_inner));
            let Some(mut held) = held else { continue };
            if allocate {
                held.get_or_insert_with(fresh)[from..to].fill(0);
            } else if to - from == index(CHUNK) {
                *held = None;
            } else if let Some(bytes) = held.as_mut() {
                bytes[from..to].fill(0);
            }
        }
    }

    fn extents(&self, offset: u64, length: u64) -> Vec<AllocationExtent> {
        let mut extents: Vec<AllocationExtent> = Vec::new();
        for (number, from, to, _) in pieces(offset, length) {
            let chunk = self.chunk(number, false);
            let hole = chunk
                .is_none_or(|chunk| chunk.read().unwrap_or_else(PoisonError::into_inner).is_none());
            let length = (to - from) as u64;
            let full = extents.len() == MAX_EXTENTS;
            match extents.last_mut() {
                Some(last) if last.hole == hole => last.length += length,
                _ if full => break,
                _ => extents.push(AllocationExtent { length, hole, zero: hole }),
            }
        }
        extents
    }

    fn serve(&self, mut request: Request) {
        match request.op() {
            Op::Command(Command::Read { offset }) => self.read(offset, request.data_mut()),
            Op::Command(Command::Write { offset, .. }) => self.write(offset, request.data()),
            Op::Command(Command::Flush) | Op::Cache { .. } => {}
            Op::Command(Command::Trim { offset, length, .. }) => self.clear(offset, length, false),
            Op::Command(Command::WriteZeroes { no_hole: true, fast: true, .. }) => {
                let why = "zeroes that keep their room are written";
                return request.fail(Errno::NotSup, why);
            }
            Op::Command(Command::WriteZeroes { offset, length, no_hole, .. }) => {
                self.clear(offset, length, no_hole)
            }
            Op::Status { offset, length, .. } => {
                return request.done_with(self.extents(offset, length));
            }
        }
        request.done();
    }
}

impl Export for MemoryExport {
    fn info(&self) -> ExportInfo {
        self.info
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        batch.drain(..).for_each(|request| self.serve(request));
    }
}

fn fresh() -> Box<[u8]> {
    vec![0; index(CHUNK)].into()
}

/// Converts an index in a table, a chunk or a request, which all fit.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The chunks of a range. For each: its number, the start and end of the overlap inside the chunk,
/// and the start of the overlap inside the range.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let (mut at, end) = (offset, offset + length);
    std::iter::from_fn(move || {
        let from = at % CHUNK;
        let to = (from + (end - at)).min(CHUNK);
        let piece = (at / CHUNK, index(from), index(to), index(at - offset));
        at += to - from;
        (to > from).then_some(piece)
    })
}
