//! Processes whole blocks of records on several threads, which take blocks in turn.

use crate::memory::Buffer;
use crate::threads::start;
use crate::{Benchmark, Progress, SortError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Bytes of a record.
pub const RECORD: usize = Benchmark::RECORD;

/// Bytes of a block: a multiple of the record length 100 and of the page size 4096, hence of
/// 102,400.
pub const BLOCK: usize = 40 * PIECE;

/// Bytes of a part of a block that stays in a core's cache while it is processed twice.
pub const PIECE: usize = 102_400;

/// Number of threads in addition to one for each core, since some of them wait for the device.
const WAITING: usize = 4;

/// Calls `work` once for each number below `blocks`, in order, on all cores. Each thread has a
/// buffer of one block. The first error ends the work.
pub fn each<W>(blocks: u64, progress: &Progress, work: W) -> Result<(), SortError>
where
    W: Fn(&mut Buffer, u64) -> Result<(), SortError> + Sync,
{
    let taken = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let first: Mutex<Option<SortError>> = Mutex::new(None);
    let go_on = || {
        let mut buffer = Buffer::new(BLOCK);
        while !failed.load(Ordering::Relaxed) {
            // A block that was taken must be processed, since other threads may wait for it.
            let worked = progress.check().map_err(SortError::from).and_then(|()| {
                let block = taken.fetch_add(1, Ordering::Relaxed);
                if block < blocks { work(&mut buffer, block).map(|()| true) } else { Ok(false) }
            });
            match worked {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = usize::try_from(blocks).unwrap_or(usize::MAX).min(cores + WAITING);
    thread::scope(|scope| {
        for _ in 1..threads {
            // If no further thread can be started, the current one does the work.
            let _ = start(scope, go_on);
        }
        go_on();
    });
    first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
