//! Writes the records of the journal that are queued, and compacts the journal.

use crate::format::journal::{Page, Record};
use crate::format::superblock::Superblock;
use crate::medium::{self, Storage};
use crate::oneshot::Sender;
use crate::state::{Shared, State};
use gordon_cache::tiered::JournalShape;
use gordon_store::WentBad;
use std::collections::BTreeMap;

/// A write of pages of the journal.
struct Write {
    superblock: Superblock,
    generation: u64,
    /// Number of the first page; 0 starts the generation.
    first: u32,
    pages: Vec<Page>,
    waiting: Vec<Sender<Result<(), String>>>,
    /// Number of records that were not written before.
    recorded: u64,
}

/// Number of pages that these records take.
fn page_count(records: &[Record], shape: &JournalShape) -> u32 {
    shape.pages_of(records.iter().map(Record::len))
}

/// Writes the records that are queued. Returns whether there were any.
pub(crate) fn step(shared: &Shared) -> bool {
    let Some(write) = next_write(&mut shared.state()) else { return false };
    let result = carry_out(&*shared.storage, &write);
    let mut state = shared.state();
    state.journal.in_flight.clear();
    let bytes = write.pages.len() as u64 * write.superblock.journal_page();
    state.machine.count_journal(bytes);
    state.counters.journal_writes += 1;
    state.counters.journal_recorded += write.recorded;
    match &result {
        Ok(()) => {
            state.journal.floor_pending = false;
            state.journal.is_started = true;
        }
        Err(error) => {
            state.journal.restart = true;
            if WentBad::is_cause_of(error) {
                // All records are written again, to other erase blocks. The next write answers
                // those who wait.
                let later = std::mem::replace(&mut state.journal.waiting, write.waiting);
                state.journal.waiting.extend(later);
                return true;
            }
            state.counters.events.io_errors += 1;
        }
    }
    state.pump();
    drop(state);
    shared.notify();
    let result = result.map_err(|error| error.to_string());
    for waiting in write.waiting {
        waiting.send(result.clone());
    }
    if write.first == 0 {
        level_wear(shared);
    }
    true
}

/// Discards a segment whose erase blocks are worn far less than those that the journal uses.
fn level_wear(shared: &Shared) {
    let Some(number) = shared.storage.coldest().and_then(|at| shared.segment_at(at)) else {
        return;
    };
    // New objects wait until the old ones cannot come back.
    if !shared.state().evict_idle(number) {
        return;
    }
    let discarded = shared.discard(number);
    let mut state = shared.state();
    state.journal.is_evicting = false;
    if discarded.is_ok() {
        state.segments[number as usize].first = u64::MAX;
    } else {
        state.counters.events.io_errors += 1;
        // The next record is written with a floor above its objects.
        state.journal.floor_pending = true;
    }
    state.machine.release(u64::from(number) * shared.segment as u64);
    state.pump();
    drop(state);
    shared.notify();
}

fn carry_out(storage: &dyn Storage, write: &Write) -> std::io::Result<()> {
    let Write { superblock, generation, first, pages, .. } = write;
    let start = superblock.journal_at(half_of(*generation));
    if *first == 0 {
        storage.begin(start..start + superblock.journal())?;
    }
    for (number, page) in (u64::from(*first)..).zip(pages) {
        let unit = usize::try_from(superblock.unit()).unwrap_or(usize::MAX);
        let bytes = page.bytes(superblock.id, unit);
        let at = start + number * superblock.journal_page();
        medium::write(storage, at, &[&bytes[..], &bytes].concat())?;
    }
    storage.sync()
}

/// The half of a generation.
fn half_of(generation: u64) -> usize {
    usize::from(generation % 2 == 1)
}

/// Takes the queued records and chooses their place.
fn next_write(state: &mut State) -> Option<Write> {
    if !state.journal.has_work() {
        return None;
    }
    let Some(superblock) = state.journal.superblock else {
        // Without flash, nothing has to be recorded.
        state.journal.pending.clear();
        for waiting in std::mem::take(&mut state.journal.waiting) {
            waiting.send(Ok(()));
        }
        return None;
    };
    let written = state.machine.counts().written;
    let pending = std::mem::take(&mut state.journal.pending);
    let waiting = std::mem::take(&mut state.journal.waiting);
    let shape = superblock.journal_shape();
    let (pages, capacity) = (shape.pages, shape.capacity as usize);
    let recorded = pending.len() as u64;
    let first = state.journal.next_page;
    let new = state.journal.pages(&pending, first, written, capacity);
    state.journal.records.extend(pending.iter().cloned());
    state.journal.in_flight = pending;
    let end = first + u32::try_from(new.len()).unwrap_or(u32::MAX);
    let is_due = state.journal.restart || state.journal.was_swept || state.journal.floor_pending;
    if end <= pages && !is_due {
        state.journal.next_page = end;
        let generation = state.journal.generation;
        return Some(Write { superblock, generation, first, pages: new, waiting, recorded });
    }
    compact(state, &shape);
    if page_count(&state.journal.records, &shape) > pages {
        let journal = &mut state.journal;
        (journal.waiting, journal.blocked, journal.restart) = (waiting, true, true);
        return None;
    }
    let journal = &mut state.journal;
    // The last durable generation keeps its half until the new generation is durable.
    journal.generation += if journal.is_started { 1 } else { 2 };
    (journal.restart, journal.was_swept, journal.is_started) = (false, false, false);
    let mut all = journal.pages(&journal.records, 0, written, capacity);
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    all.iter_mut().for_each(|page| page.first_pages = count);
    journal.next_page = count;
    let generation = journal.generation;
    Some(Write { superblock, generation, first: 0, pages: all, waiting, recorded })
}

/// Drops records that no longer matter. If the others take too many pages, evicts the segments with
/// the oldest objects.
fn compact(state: &mut State, shape: &JournalShape) {
    loop {
        let oldest = state.oldest_sequence();
        state.journal.floor = state.journal.floor.max(oldest.min(state.sequence));
        let mut removed: BTreeMap<u64, u64> = BTreeMap::new();
        let mut others = Vec::new();
        for record in state.journal.records.drain(..) {
            match record {
                // Something happened after it.
                Record::Closed { sequence } if sequence != state.sequence => {}
                closed @ Record::Closed { .. } => others.push(closed),
                Record::Purged { prefix, in_sets, sequence } => {
                    let in_sets = in_sets && state.purges.is_listed(&prefix, sequence);
                    if in_sets || sequence >= oldest {
                        others.push(Record::Purged { prefix, in_sets, sequence });
                    }
                }
                record if record.sequence() < oldest => {}
                Record::Removed { hash, sequence } => {
                    let newest = removed.entry(hash).or_default();
                    *newest = sequence.max(*newest);
                }
                other => others.push(other),
            }
        }
        let removed =
            removed.into_iter().map(|(hash, sequence)| Record::Removed { hash, sequence });
        state.journal.records = others.into_iter().chain(removed).collect();
        let fits = page_count(&state.journal.records, shape) <= shape.most_compacted();
        if fits || !state.evict_oldest() {
            return;
        }
        state.journal.floor_pending = true;
    }
}
