//! Writes the records of the journal that are queued, and compacts the journal.

use crate::format::PAGE;
use crate::format::journal::{Page, RECORD_BYTES, Record};
use crate::medium;
use crate::oneshot::Sender;
use crate::state::{Shared, State};
use gordon_store::Media;
use std::collections::BTreeMap;

/// Bytes that a page of the journal takes on the medium: it is written twice.
const PAIR: u64 = 2 * PAGE as u64;

/// A write of pages of the journal.
struct Write {
    at: u64,
    pages: Vec<Page>,
    waiting: Vec<Sender<Result<(), String>>>,
}

/// Number of pages that these records take.
fn page_count(records: &[Record]) -> usize {
    let (mut pages, mut used) = (1, 0);
    for record in records {
        if used + record.len() > RECORD_BYTES {
            (pages, used) = (pages + 1, 0);
        }
        used += record.len();
    }
    pages
}

/// Writes the records that are queued. Returns whether there were any.
pub(crate) fn step(shared: &Shared) -> bool {
    let Some(write) = next_write(&mut shared.state()) else { return false };
    let media = &*shared.media;
    let result = carry_out(media, shared.id, &write).map_err(|error| error.to_string());
    let mut state = shared.state();
    state.journal.in_flight.clear();
    match &result {
        Ok(()) => state.journal.floor_pending = false,
        Err(_) => {
            state.journal.restart = true;
            state.counters.events.io_errors += 1;
        }
    }
    let bytes = write.pages.len() as u64 * PAIR;
    state.machine.count_written(bytes);
    state.pump();
    drop(state);
    shared.notify();
    for waiting in write.waiting {
        waiting.send(result.clone());
    }
    true
}

fn carry_out(media: &dyn Media, id: u64, write: &Write) -> std::io::Result<()> {
    for (at, page) in (0..).zip(&write.pages) {
        let bytes = page.bytes(id);
        medium::write(media, write.at + at * PAIR, &[&bytes[..], &bytes].concat())?;
    }
    media.sync()
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
    let pages = u32::try_from(superblock.journal() / PAIR).unwrap_or(u32::MAX);
    let first = state.journal.next_page;
    let new = state.journal.pages(&pending, first, written);
    state.journal.records.extend(pending.iter().cloned());
    state.journal.in_flight = pending;
    let end = first + u32::try_from(new.len()).unwrap_or(u32::MAX);
    let half = |generation: u64| usize::from(generation % 2 == 1);
    if end <= pages && !state.journal.restart && !state.journal.floor_pending {
        state.journal.next_page = end;
        let at = superblock.journal_at(half(state.journal.generation)) + u64::from(first) * PAIR;
        return Some(Write { at, pages: new, waiting });
    }
    // A quarter is kept for new records.
    compact(state, pages as usize * 3 / 4);
    if page_count(&state.journal.records) > pages as usize {
        let journal = &mut state.journal;
        (journal.waiting, journal.blocked, journal.restart) = (waiting, true, true);
        return None;
    }
    let journal = &mut state.journal;
    journal.generation += 1;
    journal.restart = false;
    let mut all = journal.pages(&journal.records, 0, written);
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    all.iter_mut().for_each(|page| page.first_pages = count);
    journal.next_page = count;
    Some(Write { at: superblock.journal_at(half(journal.generation)), pages: all, waiting })
}

/// Drops records that no longer matter. If the others take more than `most` pages, evicts the
/// segments with the oldest objects.
fn compact(state: &mut State, most: usize) {
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
        if page_count(&state.journal.records) <= most || !state.evict_oldest() {
            return;
        }
        state.journal.floor_pending = true;
    }
}
