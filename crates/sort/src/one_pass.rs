//! One pass: all records are in memory at once.
//!
//! Reading overlaps with making entries; sorting, copying and writing overlap.

use crate::SortError;
use crate::context::SortContext;
use crate::entries::ArenaSplitter;
use crate::format::RecordFormat;
use crate::incore::{EntryScratch, KeyExtractor, MOST_CHUNKS, PartitionedChunk, SortBatch};
use crate::output::{SortOutput, Written};
use crate::stream::{Chunk, RecordStream};
use crate::threads::{FirstError, start};
use gordon_sys::memory::LARGE_PAGE;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Chunks with their entries.
#[derive(Default)]
pub struct Loaded<'r> {
    pub chunks: Vec<Chunk>,
    pub keyed: Vec<PartitionedChunk<'r>>,
}

impl<'r> Loaded<'r> {
    /// Reads up to `most` bytes of whole records, while other threads make entries of the chunks
    /// read.
    pub fn read<S: RecordFormat>(
        context: &SortContext<'_, S>,
        stream: &mut RecordStream<'_, S>,
        keys: &KeyExtractor<'_, S>,
        most: u64,
        share: &ArenaSplitter<'r>,
    ) -> Result<Self, SortError> {
        let failed = FirstError::default();
        let slots: Mutex<Vec<Option<(Chunk, PartitionedChunk<'r>)>>> = Mutex::default();
        // One waiting chunk for each thread suffices; more would not speed up reading.
        let (sender, receiver) = sync_channel::<(usize, Chunk)>(context.threads);
        // Only the threads hold the receiver, so that sending fails when all of them have died.
        let receiver = Arc::new(Mutex::new(receiver));
        let scatter = |receiver: Arc<Mutex<Receiver<_>>>| {
            let mut scratch = EntryScratch::default();
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((number, chunk)) = next else { return };
                let keyed = keys.of(&chunk, number, &mut scratch, share);
                let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
                if slots.len() <= number {
                    slots.resize_with(number + 1, || None);
                }
                slots[number] = Some((chunk, keyed));
            }
        };
        thread::scope(|scope| {
            for _ in 0..context.threads {
                let receiver = receiver.clone();
                failed.note(start(scope, || scatter(receiver)));
            }
            drop(receiver);
            let (mut bytes, mut number) = (0, 0);
            while bytes < most && number < MOST_CHUNKS {
                match stream.next() {
                    Ok(Some(chunk)) => {
                        // A large page is allocated as a whole, however little of it is used.
                        let least = if chunk.buffer.len() < LARGE_PAGE { 0 } else { LARGE_PAGE };
                        bytes += chunk.len().max(least) as u64;
                        if sender.send((number, chunk)).is_err() {
                            break;
                        }
                        number += 1;
                    }
                    Ok(None) => break,
                    Err(error) => {
                        failed.note(Err(error));
                        break;
                    }
                }
            }
            drop(sender);
        });
        failed.result()?;
        let slots = slots.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (chunks, keyed) = slots.into_iter().flatten().unzip();
        Ok(Self { chunks, keyed })
    }

    /// Sorts the records and writes them from byte `at` of the output on.
    pub fn emit<S: RecordFormat>(
        &self,
        context: &SortContext<'_, S>,
        keys: &KeyExtractor<'_, S>,
        to: (&SortOutput<'_>, u64),
        group: u64,
    ) -> Result<Written, SortError> {
        let Self { chunks, keyed } = self;
        context.emit_all(&SortBatch::new(keys, chunks, keyed), to, group)
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.keyed.iter().map(|keyed| keyed.len() as u64).sum()
    }

    /// Sum of the hashes of their keys.
    pub fn key_hash(&self) -> u64 {
        self.keyed.iter().fold(0, |sum, keyed| sum.wrapping_add(keyed.key_hash()))
    }

    /// Bytes of the longest record.
    pub fn longest(&self) -> usize {
        self.keyed.iter().map(PartitionedChunk::longest).max().unwrap_or(0)
    }

    /// Bytes of the records.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }
}
