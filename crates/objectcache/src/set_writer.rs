//! Updates of sets: what the thread that writes does to remove objects from them and to move
//! objects to them from the log.

use crate::format::PAGE;
use crate::format::object::{Identity, Kind, Stored};
use crate::format::set::{DamagedSet, SetContent, SetObject, parse_set, set_page, set_size};
use crate::medium;
use crate::set_states::{Removing, Waiting, Writing};
use crate::state::{Shared, State};
use bytes::Bytes;
use gordon_cache::tiered::{LogObject, SetArrival, SetResident};
use std::collections::BTreeMap;
use std::io::Result;

/// An update of a set that is being prepared.
struct Update {
    set: u32,
    page: std::result::Result<SetContent, DamagedSet>,
    /// Objects in the log.
    candidates: Vec<(LogObject, Identity, Stored)>,
}

/// Those who wait for an update, and its result.
pub(crate) type Answers = Vec<(Waiting, std::result::Result<(), String>)>;

/// Updates sets. The values are whether objects move to a set from the log. Returns who waits.
pub(crate) fn update(shared: &Shared, sets: &BTreeMap<u32, bool>) -> Answers {
    let updates: Vec<Update> = sets.iter().map(|(set, moves)| read(shared, *set, *moves)).collect();
    let mut answers = Answers::new();
    let mut pages: Vec<(u32, Vec<u8>)> = Vec::new();
    {
        let mut state = shared.state();
        for update in updates {
            let set = update.set;
            if let Some(content) = state.begin_update(update, &mut answers) {
                pages.push((set, set_page(shared.id, set, content)));
            }
        }
    }
    let mut failed: BTreeMap<u32, String> = BTreeMap::new();
    for (set, page) in &pages {
        if let Err(error) = medium::write(&*shared.storage, shared.set_offset(*set), page) {
            failed.insert(*set, error.to_string());
        }
    }
    if !pages.is_empty()
        && let Err(error) = shared.storage.sync()
    {
        failed.extend(pages.iter().map(|(set, _)| (*set, error.to_string())));
    }
    let mut state = shared.state();
    for (set, _) in &pages {
        state.end_update(*set, failed.remove(set), &mut answers);
    }
    for _ in sets.values().filter(|moves| **moves) {
        state.machine.set_updated();
    }
    answers
}

/// Reads a set and the objects in the log that can move to it.
fn read(shared: &Shared, set: u32, moves: bool) -> Update {
    let page = read_bytes(shared, shared.set_offset(set), PAGE);
    let found: Vec<(LogObject, u64)> = {
        let mut state = shared.state();
        state.counters.events.read_bytes += PAGE as u64;
        state.counters.events.io_errors += u64::from(page.is_err());
        let found = if moves { state.machine.in_log(set) } else { Vec::new() };
        let segment = |object: &LogObject| {
            let number = state.machine.segment_of(object.offset);
            state.segments[number as usize].sequence
        };
        found.iter().map(|object| (*object, segment(object))).collect()
    };
    let mut candidates = Vec::new();
    for (object, segment) in found {
        let read = read_in_log(shared, &object);
        let stored = read.and_then(|bytes| Stored::read(&bytes));
        if let Some((stored, identity)) = stored
            && identity.segment == segment
            && stored.kind == Kind::Whole
        {
            candidates.push((object, identity, stored.copied()));
        }
    }
    let unreadable = DamagedSet { is_ours: true };
    let page = page.map_or(Err(unreadable), |page| parse_set(&page, shared.id, set));
    Update { set, page, candidates }
}

/// The bytes of an object in the log.
fn read_in_log(shared: &Shared, object: &LogObject) -> Option<Bytes> {
    let len = usize::try_from(object.bytes).ok()?;
    {
        let state = shared.state();
        let number = state.machine.segment_of(object.offset);
        if let Some((prepared, image)) = &state.prepared
            && *prepared == number
        {
            let start = usize::try_from(object.offset % shared.segment as u64).ok()?;
            return image.get(start..start + len).map(|bytes| image.slice_ref(bytes));
        }
    }
    let read = read_bytes(shared, shared.base + object.offset, len);
    let mut state = shared.state();
    state.counters.events.read_bytes += len.div_ceil(PAGE) as u64 * PAGE as u64;
    state.counters.events.io_errors += u64::from(read.is_err());
    read.ok()
}

fn read_bytes(shared: &Shared, at: u64, len: usize) -> Result<Bytes> {
    let start = at / PAGE as u64 * PAGE as u64;
    #[allow(clippy::cast_possible_truncation)] // less than a page
    let skip = (at - start) as usize;
    let buffer = medium::read(&*shared.storage, start, (skip + len).next_multiple_of(PAGE))?;
    let first = buffer.part.start + skip;
    Ok(Bytes::from(buffer.bytes).slice(first..first + len))
}

impl State {
    /// Chooses the new content of a set. Returns it if it must be written.
    fn begin_update(&mut self, update: Update, answers: &mut Answers) -> Option<&SetContent> {
        let Update { set, page, candidates } = update;
        let requested = self.sets.removing.remove(&set);
        let is_counted = requested.is_some();
        let Removing { hashes: removed, waiting, .. } = requested.unwrap_or_default();
        let damage = page.as_ref().err().copied();
        self.counters.events.damaged +=
            u64::from(damage.is_some_and(|damage| damage.is_ours) && !is_counted);
        let SetContent { sequence, objects: olds } = page.unwrap_or_default();
        let before = olds.len() as u64;
        let news = self.movable(candidates);
        let stays = |old: &SetObject| {
            !removed.contains(&old.hash)
                && !self.purges.cover(&old.object.key, old.object.kind, sequence)
        };
        let mut objects = Vec::new();
        let mut residents = Vec::new();
        for (position, old) in olds.into_iter().enumerate() {
            if stays(&old) {
                let SetObject { hash: key, rrpv, object } = old;
                residents.push(SetResident { key, size: size_in_set(&object), position, rrpv });
                objects.push((key, object));
            }
        }
        let is_same = news.is_empty() && residents.len() as u64 == before && damage.is_none();
        if is_same && !self.sets.unsettled.contains(&set) {
            answers.push((waiting, Ok(())));
            return None;
        }
        let mut arrivals = Vec::new();
        for (arrival, object) in news {
            arrivals.push(arrival);
            objects.push((arrival.key, object));
        }
        let choice = self.machine.begin_set(set, before, &residents, &arrivals);
        let chosen = choice.chosen.iter().map(|(number, rrpv)| {
            let (hash, object) = objects[*number].clone();
            SetObject { hash, rrpv: *rrpv, object }
        });
        let chosen: Vec<SetObject> = chosen.collect();
        if let Some((_, writes)) = self.sets.readers.get_mut(&set) {
            *writes += 1;
        }
        let content = SetContent { sequence: self.next_sequence(), objects: chosen };
        let writing = Writing { content, choice, removed, waiting };
        self.sets.writing.insert(set, writing);
        self.sets.writing.get(&set).map(|writing| &writing.content)
    }

    /// The candidates that can move to a set now.
    fn movable(&self, candidates: Vec<(LogObject, Identity, Stored)>) -> Vec<(SetArrival, Stored)> {
        let mut found = Vec::new();
        for (LogObject { offset, was_hit, .. }, identity, object) in candidates {
            let Identity { hash: key, sequence, .. } = identity;
            // It may have been removed since it was read.
            let is_there = self.machine.is_live(key, offset)
                && !self.purges.cover(&object.key, object.kind, sequence);
            if is_there {
                let arrival = SetArrival { key, size: size_in_set(&object), offset, was_hit };
                found.push((arrival, object));
            }
        }
        found
    }

    /// Ends the write of a set.
    fn end_update(&mut self, set: u32, failure: Option<String>, answers: &mut Answers) {
        let Some(writing) = self.sets.writing.remove(&set) else { return };
        let Writing { choice, removed, waiting, .. } = writing;
        match failure {
            None => {
                self.sets.unsettled.remove(&set);
                self.machine.commit_set(&choice);
                answers.push((waiting, Ok(())));
            }
            Some(why) => {
                self.counters.events.io_errors += 1;
                self.sets.unsettled.insert(set);
                self.machine.fail_set(&choice);
                // They stay away until a restart, or until the set is written.
                self.sets.removing.entry(set).or_default().hashes.extend(removed);
                answers.push((waiting, Err(why)));
            }
        }
    }
}

fn size_in_set(object: &Stored) -> u32 {
    u32::try_from(set_size(object)).unwrap_or(u32::MAX)
}
