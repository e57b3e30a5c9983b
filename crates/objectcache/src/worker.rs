//! What the thread that writes segments does, and the threads of a cache.
//!
//! A segment is begun (on NAND flash, erased) and written in four steps: its objects, a sync, its
//! directory with the footer, a sync. Only then may the index refer to the medium
//! ([`TieredMachine::commit`]). A crash between two steps leaves the old directory, whose objects
//! are then found to be overwritten by their headers, or no valid directory.
//!
//! [`TieredMachine::commit`]: gordon_cache::tiered::TieredMachine::commit

use crate::format::PAGE;
use crate::format::object::Identity;
use crate::format::segment::{Directory, Entry, Footer, entry_size, first_read};
use crate::journal_writer;
use crate::medium::{self, Buffer};
use crate::set_writer;
use crate::sets::BATCH;
use crate::state::{Job, Pending, SegmentInfo, Shared, State};
use bytes::Bytes;
use gordon_cache::tiered::DirectoryEntry;
use gordon_store::WentBad;
use std::collections::BTreeMap;
use std::io::Result;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};

/// Starts the threads that write segments and the journal.
pub(crate) fn start(shared: &Arc<Shared>) -> Result<Vec<JoinHandle<()>>> {
    let spawn = |name: &str, ready: fn(&State) -> bool, step: fn(&Shared) -> bool| {
        let shared = shared.clone();
        thread::Builder::new().name(name.into()).spawn(move || work(&shared, ready, step))
    };
    Ok(vec![
        spawn("cache writes", |state| !state.jobs.is_empty(), step)?,
        spawn("cache journal", |state| state.journal.has_work(), journal_writer::step)?,
    ])
}

fn work(shared: &Shared, ready: fn(&State) -> bool, step: fn(&Shared) -> bool) {
    loop {
        let mut state = shared.state();
        while !ready(&state) {
            if state.stopped {
                return;
            }
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        step(shared);
    }
}

/// Without threads, does their work.
pub(crate) fn run_inline(shared: &Shared) {
    while shared.inline && (step(shared) || journal_writer::step(shared)) {}
}

/// Does one job. Returns whether there was one.
pub(crate) fn step(shared: &Shared) -> bool {
    let job = shared.state().jobs.pop_front();
    match job {
        Some(Job::Write(segment)) => write(shared, segment),
        Some(Job::Prepare(segment)) => prepare(shared, segment),
        Some(Job::UpdateSet { set, moves }) => update_sets(shared, set, moves),
        None => return false,
    }
    true
}

/// Updates a set, and other sets that are next.
fn update_sets(shared: &Shared, set: u32, moves: bool) {
    let mut sets = BTreeMap::from([(set, moves)]);
    {
        let mut state = shared.state();
        while sets.len() < BATCH as usize
            && let Some(Job::UpdateSet { set, moves }) = state.jobs.front().copied()
        {
            // A set is requested for its removals once, and once for moves.
            *sets.entry(set).or_default() |= moves;
            state.jobs.pop_front();
        }
    }
    let answers = set_writer::update(shared, &sets);
    finish(shared, shared.state());
    for (waiting, result) in answers {
        waiting.into_iter().for_each(|waiting| waiting.send(result.clone()));
    }
}

fn write(shared: &Shared, number: u32) {
    let stride = shared.segment as u64;
    let (directory, objects, entries): (_, _, Vec<DirectoryEntry>) = {
        let mut state = shared.state();
        state.renew_day((shared.clock)());
        let written = state.machine.counts().written;
        // Sequence numbers are given out now: what was removed before is not written, and a removal
        // from now on has a higher one.
        let mut next = state.sequence;
        let mut entries = Vec::new();
        let mut objects = Vec::new();
        let mut places = Vec::new();
        if let Some(buffer) = state.buffers.get_mut(&number) {
            buffer.first = Some(next + 1);
            for (offset, Pending { entry, object }) in &buffer.objects {
                next += 1;
                entries.push(Entry {
                    hash: entry.key,
                    sequence: next,
                    offset: u32::try_from(offset % stride).unwrap_or(u32::MAX),
                    bytes: entry.bytes,
                    kind: object.kind,
                    key: object.key[..].into(),
                });
                objects.push(object.clone());
                places.push(*entry);
            }
        }
        let sequence = next + 1;
        state.sequence = sequence;
        (Directory { number, sequence, written, entries }, objects, places)
    };
    let mut image = Buffer::new(shared.segment);
    for (entry, object) in directory.entries.iter().zip(&objects) {
        let identity =
            Identity { segment: directory.sequence, hash: entry.hash, sequence: entry.sequence };
        let start = entry.offset as usize;
        object.write(identity, &mut image.slice()[start..start + entry.bytes as usize]);
    }
    drop(objects);
    directory.write(shared.id, image.slice());
    // An erase block that went bad is replaced by another one.
    let result = loop {
        match write_image(shared, number, &directory, image.slice()) {
            Err(error) if WentBad::is_cause_of(&error) => {}
            result => break result,
        }
    };
    let first = directory.entries.iter().map(|entry| entry.sequence).min();
    let mut state = shared.state();
    let before = state.segments[number as usize];
    let written = state.buffers.remove(&number).unwrap_or_default();
    for pending in written.objects.into_values() {
        state.bodies.give(pending.object.body);
    }
    if result.is_ok() {
        state.segments[number as usize] =
            SegmentInfo { sequence: directory.sequence, first: first.unwrap_or(u64::MAX) };
        state.machine.commit(number);
    } else {
        state.counters.events.io_errors += 1;
        // The medium may have the old directory or the new one.
        let first = first.unwrap_or(u64::MAX).min(before.first);
        state.segments[number as usize] = SegmentInfo { sequence: 0, first };
        state.machine.fail(number, &entries);
    }
    finish(shared, state);
}

fn finish(shared: &Shared, mut state: std::sync::MutexGuard<'_, State>) {
    state.journal.blocked = false;
    state.pump();
    state.report_progress();
    drop(state);
    shared.notify();
}

fn write_image(shared: &Shared, number: u32, directory: &Directory, image: &[u8]) -> Result<()> {
    let (storage, unit) = (&*shared.storage, shared.unit);
    let at = shared.offset(number);
    let end = directory.entries.iter().map(|entry| (entry.offset + entry.bytes) as usize).max();
    // The last objects may share a unit with the directory, with which they are written.
    let start = (image.len() - directory.len()) / unit * unit;
    let data = end.unwrap_or(0).next_multiple_of(unit).min(start);
    storage.begin(at..at + image.len() as u64)?;
    medium::write(storage, at, &image[..data])?;
    storage.sync()?;
    medium::write(storage, at + start as u64, &image[start..])?;
    storage.sync()
}

/// Reads the directory of the segment that is evicted next.
fn prepare(shared: &Shared, number: u32) {
    let expected = shared.state().segments[number as usize].sequence;
    let read = if shared.reads_segments {
        medium::read(&*shared.storage, shared.offset(number), shared.segment).ok().map(|buffer| {
            let Buffer { bytes, part } = buffer;
            Bytes::from(bytes).slice(part)
        })
    } else {
        None
    };
    let directory = match &read {
        Some(image) => Directory::parse(image, shared.segment, shared.id, number),
        None => read_directory(shared, number).ok().flatten(),
    };
    let directory = directory.filter(|directory| directory.sequence == expected);
    if directory.is_none() {
        // Its objects must not come back if it becomes readable.
        let erased = shared.discard(number);
        shared.state().counters.events.io_errors += u64::from(erased.is_err());
    }
    let mut state = shared.state();
    let read_bytes = if read.is_some() { shared.segment } else { first_read(shared.segment) };
    state.counters.events.read_bytes += read_bytes as u64;
    match directory {
        Some(directory) => {
            state.prepared = read.map(|image| (number, image));
            let entries = places(&directory, number, shared.segment);
            state.machine.prepared(number, entries);
        }
        None => {
            state.segments[number as usize] = SegmentInfo { sequence: 0, first: u64::MAX };
            state.machine.unreadable(number);
        }
    }
    finish(shared, state);
}

/// The entries of a directory for the machine.
pub(crate) fn places(directory: &Directory, number: u32, stride: usize) -> Vec<DirectoryEntry> {
    let place = |entry: &Entry| DirectoryEntry {
        key: entry.hash,
        offset: u64::from(number) * stride as u64 + u64::from(entry.offset),
        bytes: entry.bytes,
        directory: u32::try_from(entry_size(entry.key.len())).unwrap_or(u32::MAX),
    };
    directory.entries.iter().map(place).collect()
}

/// Reads the directory of a segment. `None` if it has no valid one.
pub(crate) fn read_directory(shared: &Shared, number: u32) -> Result<Option<Directory>> {
    let end = shared.offset(number) + shared.segment as u64;
    let tail = |len: usize| medium::read(&*shared.storage, end - len as u64, len);
    let mut read = tail(first_read(shared.segment))?;
    let Some(len) = directory_len(shared, number, read.slice()) else { return Ok(None) };
    if len > read.slice().len() {
        read = tail(len)?;
    }
    Ok(Directory::parse(read.slice(), shared.segment, shared.id, number))
}

/// As [`read_directory`], without blocking the caller.
pub(crate) async fn read_directory_later(
    shared: &Shared,
    number: u32,
) -> Result<Option<Directory>> {
    let end = shared.offset(number) + shared.segment as u64;
    let tail = |len: usize| shared.reads.read(end - len as u64, len);
    let mut read = tail(first_read(shared.segment)).await?;
    let Some(len) = directory_len(shared, number, &read) else { return Ok(None) };
    if len > read.len() {
        read = tail(len).await?;
    }
    Ok(Directory::parse(&read, shared.segment, shared.id, number))
}

/// Bytes at the end of a segment to read for its directory. `None` if the segment, which ends with
/// `tail`, has no valid footer.
fn directory_len(shared: &Shared, number: u32, tail: &[u8]) -> Option<usize> {
    let footer = Footer::parse(tail, shared.id, number)?;
    let len = footer.len().next_multiple_of(PAGE);
    (len <= shared.segment).then_some(len)
}
