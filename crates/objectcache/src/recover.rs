//! Opening a cache: creation, and the scan of directories after a restart.

use crate::blocking::block_on;
use crate::error::{Error, at_path};
use crate::format::journal::{Page, Record, record_bytes};
use crate::format::object::{Kind, Stored};
use crate::format::segment::{Directory, Footer, first_read};
use crate::format::superblock::{EraseBlocks, NoSuperblock, Superblock};
use crate::format::{PAGE, VERSION};
use crate::medium::{self, Buffer, Storage};
use crate::sets::BATCH;
use crate::state::{SegmentInfo, Shared};
use crate::stats::Recovery;
use crate::worker::{places, read_directory};
use gordon_cache::tiered::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Result;
use std::path::Path;
use std::time::Instant;

/// Reads of the scan in flight.
const WINDOW: u32 = 64;
/// Sequence numbers that are left out after a restart of a cache with sets. A set has the number
/// with which it was written, and that is not read now; purges from now on must have higher ones.
/// No process gives out as many numbers without one that is durable in the log or in the journal.
const GAP: u64 = 1 << 32;
/// Pages of the journal that are read at a time, with both copies, up to this number of bytes.
const CHUNK: u64 = 64 * 2 * PAGE as u64;

/// Writes the superblock and an empty journal.
pub(crate) fn create(storage: &dyn Storage, superblock: &Superblock) -> Result<()> {
    let page = Page {
        generation: 1,
        number: 0,
        batch: 0,
        first_pages: 1,
        floor: 0,
        written: 0,
        records: Vec::new(),
    };
    let unit = usize::try_from(superblock.unit()).unwrap_or(usize::MAX);
    let bytes = page.bytes(superblock.id, unit);
    let at = superblock.journal_at(1);
    storage.begin(at..at + superblock.journal())?;
    medium::write(storage, at, &[&bytes[..], &bytes].concat())?;
    storage.sync()?;
    let mut bytes = superblock.bytes();
    bytes.resize(unit, 0);
    let distance = Superblock::copy_at(superblock.blocks);
    for at in [0, distance] {
        storage.begin(at..at + distance)?;
        medium::write(storage, at, &bytes)?;
        // A power cut damages one copy at most.
        storage.sync()?;
    }
    Ok(())
}

/// Reads the superblock of a storage with these erase blocks. `None` if it has no cache.
pub(crate) fn superblock(
    storage: &dyn Storage,
    blocks: Option<EraseBlocks>,
    path: &Path,
) -> std::result::Result<Option<Superblock>, Error> {
    let second = Superblock::copy_at(blocks);
    if storage.len() < second + PAGE as u64 {
        let is_empty = storage.len() == 0;
        return if is_empty { Ok(None) } else { Err(Error::Foreign(path.to_path_buf())) };
    }
    let mut unreadable = None;
    let copies = [0, second].map(|at| match medium::read(storage, at, PAGE) {
        Ok(mut page) => Superblock::parse(page.slice()),
        Err(error) => {
            unreadable = Some(error);
            Err(NoSuperblock::Damaged)
        }
    });
    let path = path.to_path_buf();
    match copies {
        [Ok(found), _] | [_, Ok(found)] if found.blocks != blocks => Err(Error::Foreign(path)),
        [Ok(found), _] | [_, Ok(found)] => {
            let (len, size) = (storage.len(), found.size);
            if len < size {
                let why = format!("cut off: {len} bytes, its superblock says {size}");
                return Err(Error::Damaged { path, why });
            }
            Ok(Some(found))
        }
        // Both copies are there before the cache is used.
        [Err(NoSuperblock::Empty), Err(NoSuperblock::Empty | NoSuperblock::Damaged)]
        | [Err(NoSuperblock::Damaged), Err(NoSuperblock::Empty)] => Ok(None),
        [Err(NoSuperblock::Version(version)), _] | [_, Err(NoSuperblock::Version(version))] => {
            Err(Error::Version { path, version, known: VERSION })
        }
        [Err(NoSuperblock::Damaged), _] | [_, Err(NoSuperblock::Damaged)] => {
            if let Some(error) = unreadable {
                return Err(at_path(&path)(error));
            }
            Err(Error::Damaged { path, why: "both superblocks are damaged".into() })
        }
        _ => Err(Error::Foreign(path)),
    }
}

/// Reads bytes of the journal. A page that cannot be read is as good as a damaged one.
fn read_all(storage: &dyn Storage, at: u64, len: usize) -> Buffer {
    if let Ok(read) = medium::read(storage, at, len) {
        return read;
    }
    let mut all = Buffer::new(len);
    for (number, page) in (0..).zip(all.slice().chunks_mut(PAGE)) {
        if let Ok(mut read) = medium::read(storage, at + number * PAGE as u64, PAGE) {
            page.copy_from_slice(read.slice());
        }
    }
    all
}

/// A half of the journal.
#[derive(Default)]
struct Half {
    generation: u64,
    /// The pages from its start.
    pages: Vec<Page>,
    /// Whether pages that were durable are missing.
    is_damaged: bool,
    /// Whether the generation was completely started.
    is_complete: bool,
}

/// Reads the newest generation of a half of the journal. `None` if it has none.
fn half(storage: &dyn Storage, superblock: &Superblock, half: usize) -> Option<Half> {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (unit, pair) = (superblock.unit(), superblock.journal_page());
    let len = u64::from(superblock.journal_pages()) * pair;
    let chunk = (CHUNK / pair).max(1) * pair;
    let mut all: Vec<Option<Page>> = Vec::new();
    for start in (0..len).step_by(size(chunk)) {
        let at = superblock.journal_at(half) + start;
        let mut chunk = read_all(storage, at, size(chunk.min(len - start)));
        for pair in chunk.slice().chunks(size(pair)) {
            let mut copies = pair.chunks(size(unit)).map(|copy| Page::parse(copy, superblock.id));
            let page = copies.find_map(|page| page);
            all.push(page.filter(|page| page.number as usize == all.len()));
        }
    }
    let generation = all.iter().flatten().map(|page| page.generation).max()?;
    let mut rest = all.into_iter().map(|page| page.filter(|page| page.generation == generation));
    let pages: Vec<Page> = rest.by_ref().map_while(|page| page).collect();
    // After the first page that is missing, there may be pages of the same batch, which was being
    // written. A page of a later batch means that the missing one was durable.
    let is_damaged = rest.flatten().any(|page| page.batch as usize > pages.len());
    let is_complete = pages.first().is_some_and(|first| pages.len() >= first.first_pages as usize);
    Some(Half { generation, pages, is_damaged, is_complete })
}

/// What the journal says about objects.
#[derive(Default)]
struct Removals {
    removed: BTreeMap<u64, u64>,
    purged: Vec<(u64, Box<[u8]>)>,
    /// Offset and sequence number of the segment.
    lost: BTreeSet<(u64, u64)>,
}

/// Reads the journal and the directories of all segments, and adds the objects to the machine.
pub(crate) fn recover(shared: &Shared, superblock: &Superblock) -> Result<Recovery> {
    let started = Instant::now();
    let storage = &*shared.storage;
    let mut recovery = Recovery::default();
    // What is read from here on stays there: a record that was not synced when the process was
    // killed must not be found now, and be lost in a power cut after it was relied on.
    storage.sync()?;
    let halves = [half(storage, superblock, 0), half(storage, superblock, 1)];
    let seen = halves.iter().flatten().map(|half| half.generation).max().unwrap_or(0);
    let is_used = |half: &Half| half.is_damaged || half.is_complete;
    let used = halves.into_iter().flatten().filter(is_used);
    let newest = used.max_by_key(|half| half.generation);
    let journal = newest.unwrap_or(Half { is_damaged: true, ..Half::default() });
    let mut written = 0;
    let mut removals = Removals::default();
    if journal.is_damaged {
        // It is not known which objects were removed, nor what was purged from sets.
        discard_all(shared)?;
        discard_sets(shared)?;
    }
    {
        let mut state = shared.state();
        state.journal.superblock = Some(*superblock);
        let capacity = record_bytes(shared.unit);
        state.purges.set_journal(superblock.journal_pages() as usize, capacity);
        (state.journal.generation, state.journal.is_started) = (journal.generation, true);
        if journal.is_damaged {
            recovery.damaged_journal = true;
            state.journal.restart_now();
        }
        if seen > journal.generation {
            // A crash interrupted the start of this generation. The next start takes a new number,
            // so that recovery does not accept pages of this one.
            (state.journal.generation, state.journal.is_started) = (seen, false);
            state.journal.restart_now();
        }
        for page in journal.pages {
            state.journal.next_page = page.number + 1;
            state.journal.floor = page.floor;
            written = written.max(page.written);
            state.journal.records.extend(page.records);
        }
        if !storage.continues() {
            state.journal.next_page = superblock.journal_pages();
        }
        let records = std::mem::take(&mut state.journal.records);
        for record in &records {
            state.sequence = state.sequence.max(record.sequence());
            match record {
                Record::Removed { hash, sequence } => {
                    let newest = removals.removed.entry(*hash).or_default();
                    *newest = (*newest).max(*sequence);
                }
                Record::Purged { prefix, in_sets, sequence } => {
                    if *in_sets {
                        state.purges.restore(*sequence, prefix);
                    }
                    removals.purged.push((*sequence, prefix.clone()));
                }
                Record::Lost { offset, segment, .. } => {
                    removals.lost.insert((*offset, *segment));
                }
                Record::Closed { .. } => {}
            }
        }
        state.journal.records = records;
        state.sequence = state.sequence.max(state.journal.floor);
    }
    let order = newest_last(shared, &mut recovery)?;
    let tail = first_read(shared.segment);
    for window in order.chunks(WINDOW as usize) {
        let start = |number: u32| shared.offset(number) + (shared.segment - tail) as u64;
        let reads: Vec<_> =
            window.iter().map(|it| (*it, shared.reads.read(start(*it), tail))).collect();
        for (number, read) in reads {
            let end = block_on(read).unwrap_or_default();
            let directory = match Directory::parse(&end, shared.segment, shared.id, number) {
                Some(directory) => Some(directory),
                // Longer, or unreadable, or damaged.
                None => read_directory(shared, number).ok().flatten(),
            };
            match directory {
                Some(directory) => {
                    written = written.max(directory.written);
                    add(shared, &directory, &removals, &mut recovery)?;
                    recovery.segments += 1;
                }
                None => {
                    recovery.damaged_segments += 1;
                    shared.discard(number)?;
                }
            }
        }
    }
    let mut state = shared.state();
    let newest = state.sequence;
    let is_last =
        |record: &Record| matches!(record, Record::Closed { sequence } if *sequence == newest);
    let closed = state.journal.records.iter().any(is_last);
    recovery.clean = closed;
    if shared.sets > 0 {
        state.sequence += GAP;
    }
    state.counters.written_before = written;
    state.machine.resume(written);
    state.machine.recovered(order.last().map_or(0, |newest| newest + 1));
    (recovery.objects, recovery.bytes) = state.machine.in_flash();
    drop(state);
    recovery.seconds = started.elapsed().as_secs_f64();
    Ok(recovery)
}

/// Makes all directories invalid.
fn discard_all(shared: &Shared) -> Result<()> {
    let count = shared.state().segments.len();
    for number in 0..u32::try_from(count).unwrap_or(u32::MAX) {
        shared.discard(number)?;
    }
    Ok(())
}

/// Empties all sets.
fn discard_sets(shared: &Shared) -> Result<()> {
    let empty = vec![0; BATCH as usize * PAGE];
    for first in (0..shared.sets).step_by(BATCH as usize) {
        let count = BATCH.min(shared.sets - first) as usize;
        medium::write(&*shared.storage, shared.set_offset(first), &empty[..count * PAGE])?;
    }
    shared.storage.sync()
}

/// The segments with a footer, in the order in which they were written. Others are erased, so that
/// their objects do not come back if they become readable.
fn newest_last(shared: &Shared, recovery: &mut Recovery) -> Result<Vec<u32>> {
    let count = u32::try_from(shared.state().segments.len()).unwrap_or(u32::MAX);
    let mut found = Vec::new();
    for first in (0..count).step_by(WINDOW as usize) {
        let window = first..count.min(first.saturating_add(WINDOW));
        let last_page = |number: u32| {
            let at = shared.offset(number) + (shared.segment - PAGE) as u64;
            (number, shared.reads.read(at, PAGE))
        };
        let reads: Vec<_> = window.map(last_page).collect();
        for (number, read) in reads {
            let page = block_on(read).unwrap_or_default();
            match Footer::parse(&page, shared.id, number) {
                Some(footer) => found.push((footer.sequence, number)),
                None if !page.is_empty() && page.iter().all(|byte| *byte == 0) => {}
                None => {
                    recovery.damaged_segments += 1;
                    shared.discard(number)?;
                }
            }
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, number)| number).collect())
}

/// Adds the objects of a segment.
fn add(
    shared: &Shared,
    directory: &Directory,
    removals: &Removals,
    recovery: &mut Recovery,
) -> Result<()> {
    let mut state = shared.state();
    let all = places(directory, directory.number, shared.segment);
    let mut first = u64::MAX;
    let floor = state.journal.floor;
    for (entry, place) in directory.entries.iter().zip(all) {
        let sequence = entry.sequence;
        state.sequence = state.sequence.max(sequence);
        first = first.min(sequence);
        let is_newer = |removed: &u64| *removed > sequence;
        let purged = |(at, prefix): &(u64, Box<[u8]>)| {
            is_newer(at) && entry.kind != Kind::Block && entry.key.starts_with(prefix)
        };
        let is_gone = sequence < floor
            || removals.removed.get(&entry.hash).is_some_and(is_newer)
            || removals.lost.contains(&(place.offset, directory.sequence))
            || removals.purged.iter().any(purged);
        if is_gone {
            recovery.removed += 1;
            continue;
        }
        // An older copy, in a segment that was being evicted.
        let mut candidate = state.machine.peek(entry.hash);
        while let Place::Flash { offset, .. } = candidate {
            state.machine.release(offset);
            let at = shared.base + offset;
            let page = medium::read(&*shared.storage, at / PAGE as u64 * PAGE as u64, PAGE);
            let hash = page.ok().and_then(|mut page| {
                #[allow(clippy::cast_possible_truncation)] // less than a page
                let start = (at % PAGE as u64) as usize;
                Stored::hash(&page.slice()[start..])
            });
            // What cannot be read is not kept either.
            if hash.is_none_or(|hash| hash == entry.hash) {
                state.machine.remove(entry.hash, offset);
                candidate = state.machine.peek(entry.hash);
            } else {
                candidate = state.machine.peek_next(entry.hash, offset);
            }
        }
        state.machine.recover(&place);
    }
    state.sequence = state.sequence.max(directory.sequence);
    let info = SegmentInfo { sequence: directory.sequence, first };
    state.segments[directory.number as usize] = info;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::FileStorage;
    use crate::open::Medium;
    use crate::{Cache, Config, Flash};
    use gordon_testkit::MemoryMedia;
    use std::sync::Arc;
    use std::time::Duration;

    /// Bytes of the flash of a test.
    const SIZE: u64 = 1 << 20;

    fn open(media: &Arc<MemoryMedia>) -> Cache {
        let flash = Flash { segment: Some(16 << 10), ..Flash::new("test".into(), SIZE) };
        let config = Config { flash: Some(flash), ..Config::new(100_000) };
        let clock = Arc::new(|| Duration::ZERO);
        let medium = Medium { media: media.clone(), clock, inline: true };
        Cache::open_on(config, medium).expect("it opens").0
    }

    #[test]
    fn pages_of_an_interrupted_generation_do_not_pass_for_those_of_the_next_one() {
        let media = Arc::new(MemoryMedia::new(SIZE));
        drop(open(&media));
        let storage = FileStorage(media.clone());
        let found = superblock(&storage, None, Path::new("test")).expect("it is read");
        let found = found.expect("there is a cache");
        let live = half(&storage, &found, 1).expect("the first generation").generation;
        // The second of three pages with which a compaction would have started a generation.
        let other = usize::from(live.is_multiple_of(2));
        for number in 0..2 {
            let page = Page {
                generation: live + 1,
                number,
                batch: 0,
                first_pages: 3,
                floor: 0,
                written: 0,
                records: Vec::new(),
            };
            let bytes = page.bytes(found.id, PAGE);
            let at = found.journal_at(other) + u64::from(number) * found.journal_page();
            medium::write(&storage, at, &[&bytes[..], &bytes].concat()).expect("it is written");
        }
        let cache = open(&media);
        block_on(cache.purge(b"/")).expect("it is recorded");
        drop(cache);
        let next = half(&storage, &found, other).expect("a generation");
        assert_eq!((next.generation, next.is_complete), (live + 3, true));
        // The live generation stayed until the next one was durable.
        assert_eq!(half(&storage, &found, 1 - other).map(|half| half.generation), Some(live));
    }
}
