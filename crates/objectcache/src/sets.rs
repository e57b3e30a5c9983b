//! Sets of small objects: how they are read, and how the thread that writes updates them.
//!
//! A set is a page, which is read, changed in memory and written in place. A torn write damages it:
//! its objects are then misses, as any damaged object. An object is removed from a set by writing
//! the set without it, and a removal is complete when that is durable. Only purges are records of
//! the journal (`purges.rs`). Until a write is durable, the filter of a set in memory has the old
//! and the new objects.
//!
//! Readers do not wait for writers. While a set is being written, its new content is read from
//! memory. A reader whose set was written meanwhile reads it again.

use crate::format::PAGE;
use crate::format::object::Stored;
use crate::format::set::{DamagedSet, SetContent, SetObject, parse_set};
use crate::journal::Durable;
use crate::reads::is_closed;
use crate::set_states::wait;
use crate::state::{Job, Shared, State};
use bytes::Bytes;
use std::ops::Range;

/// Bytes in the log of the largest object that moves to a set: a quarter of a set.
pub(crate) const LARGEST_SMALL: u32 = 1024;
/// Objects that move to a set together, as in Kangaroo: fewer are evicted with their segment.
pub(crate) const THRESHOLD: u32 = 2;
/// Sets that are written with one sync, or read at once.
pub(crate) const BATCH: u32 = 64;

pub(crate) fn hashes(objects: &[SetObject]) -> Vec<u64> {
    objects.iter().map(|object| object.hash).collect()
}

impl State {
    /// Removes objects from a set. The removal is durable when the result resolves.
    pub fn remove_from_set(&mut self, set: u32, hashes: &[u64]) -> Durable {
        let removing = self.sets.removing.entry(set).or_default();
        let new = hashes.iter().filter(|hash| !removing.hashes.contains(hash)).copied();
        let new: Vec<u64> = new.collect();
        removing.hashes.extend(new);
        let durable = wait(&mut removing.waiting);
        self.queue_update(set);
        durable
    }

    /// Queues an update of a set, if none is queued for its removals. Returns whether it was
    /// queued.
    fn queue_update(&mut self, set: u32) -> bool {
        let removing = self.sets.removing.entry(set).or_default();
        let is_new = !std::mem::replace(&mut removing.is_queued, true);
        if is_new {
            // Callers wait for it.
            self.jobs.push_front(Job::UpdateSet { set, moves: false });
        }
        is_new
    }

    /// For an object that is not in a set any more, but may come back after a crash: resolves when
    /// it no longer can.
    pub fn wait_for_set(&mut self, set: u32, hash: u64) -> Option<Durable> {
        if self.sets.is_removing(set, hash) {
            return Some(self.remove_from_set(set, &[]));
        }
        self.sets.writing.get_mut(&set).map(|writing| wait(&mut writing.waiting))
    }

    /// What a reader of a set makes of the page that it read. `None` if it must read it again.
    fn examine(&mut self, pin: &SetPin<'_>, page: Option<&Bytes>) -> Option<Parsed> {
        if !pin.is_current(self) {
            return None;
        }
        let set = pin.set;
        let parsed = match page {
            Some(page) => parse_set(page, pin.shared.id, set),
            None => {
                self.counters.events.io_errors += 1;
                Err(DamagedSet { is_ours: true })
            }
        };
        match parsed {
            Ok(content) => {
                if !self.sets.unsettled.contains(&set) {
                    self.machine.learn_set(set, &hashes(&content.objects));
                }
                Some(Ok(content))
            }
            Err(damage) => {
                // Its objects must not come back if it becomes readable.
                let is_new = self.queue_update(set);
                self.counters.events.damaged += u64::from(is_new && damage.is_ours);
                Some(Err(damage))
            }
        }
    }
}

/// A set that is being read.
pub(crate) struct SetPin<'a> {
    shared: &'a Shared,
    set: u32,
    /// Writes that had started before.
    writes: u64,
}

impl<'a> SetPin<'a> {
    fn new(shared: &'a Shared, state: &mut State, set: u32) -> Self {
        let (readers, writes) = state.sets.readers.entry(set).or_default();
        *readers += 1;
        Self { shared, set, writes: *writes }
    }

    /// Whether no write of the set has started since.
    fn is_current(&self, state: &State) -> bool {
        state.sets.readers.get(&self.set).is_some_and(|(_, writes)| *writes == self.writes)
    }
}

impl Drop for SetPin<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if let Some((readers, _)) = state.sets.readers.get_mut(&self.set) {
            *readers -= 1;
            if *readers == 0 {
                state.sets.readers.remove(&self.set);
            }
        }
    }
}

/// What a page has.
type Parsed = std::result::Result<SetContent, DamagedSet>;

/// The content of a set when it was read.
pub(crate) struct SetView<'a> {
    pin: SetPin<'a>,
    content: Parsed,
}

impl SetView<'_> {
    pub fn set(&self) -> u32 {
        self.pin.set
    }

    /// Whether no write of the set has started since it was read.
    pub fn is_current(&self, state: &State) -> bool {
        self.pin.is_current(state)
    }

    pub fn is_damaged(&self) -> bool {
        self.content.is_err()
    }

    /// Whether objects that are not in the view may come back after a restart, even if no write of
    /// the set is in progress.
    pub fn is_unsettled(&self, state: &State) -> bool {
        self.is_damaged() || state.sets.unsettled.contains(&self.pin.set)
    }

    /// Whether the set is being written.
    pub fn is_being_written(&self, state: &State) -> bool {
        state.sets.writing.contains_key(&self.pin.set)
    }

    /// The objects in the set, and the sequence number with which it was written.
    fn content(&self) -> (&[SetObject], u64) {
        match &self.content {
            Ok(SetContent { sequence, objects }) => (objects, *sequence),
            Err(_) => (&[], 0),
        }
    }

    /// The sequence number with which the set was written.
    pub fn sequence(&self) -> u64 {
        self.content().1
    }

    fn is_purged(&self, state: &State, object: &SetObject) -> bool {
        let Stored { kind, key, .. } = &object.object;
        state.purges.cover(key, *kind, self.sequence())
    }

    /// Whether objects in the set were purged.
    pub fn has_purged(&self, state: &State) -> bool {
        self.content().0.iter().any(|object| self.is_purged(state, object))
    }

    /// The objects that are in the set, were not purged, and are not being removed.
    pub fn present<'a>(&'a self, state: &'a State) -> impl Iterator<Item = &'a SetObject> + 'a {
        let is_present = |object: &&SetObject| {
            !state.sets.is_removing(self.pin.set, object.hash) && !self.is_purged(state, object)
        };
        self.content().0.iter().filter(is_present)
    }

    /// The object of a key in the set, and its position.
    pub fn find(&self, state: &State, hash: u64, key: &[u8]) -> Option<(usize, &Stored)> {
        let is_it = |object: &SetObject| object.hash == hash && object.object.key == key;
        let (objects, _) = self.content();
        let position = objects.iter().position(is_it)?;
        let found = &objects[position];
        let is_gone = state.sets.is_removing(self.pin.set, hash) || self.is_purged(state, found);
        (!is_gone).then_some((position, &found.object))
    }
}

impl Shared {
    /// Reads a set. `None` if the cache was closed.
    pub async fn read_set(&self, set: u32) -> Option<SetView<'_>> {
        loop {
            let view = self.read_sets(set..set + 1).await?.pop()?;
            if let Ok(view) = view {
                return Some(view);
            }
        }
    }

    /// Reads consecutive sets at once. A set that was written meanwhile, or one of several that
    /// cannot be read, is an error: it must be read on its own. `None` if the cache was closed.
    pub async fn read_sets(
        &self,
        sets: Range<u32>,
    ) -> Option<Vec<std::result::Result<SetView<'_>, u32>>> {
        let shared = self;
        let pins: Vec<(SetPin<'_>, Option<SetContent>)> = {
            let mut state = self.state();
            let start = |set| {
                let pin = SetPin::new(shared, &mut state, set);
                (pin, state.sets.writing.get(&set).map(|writing| writing.content.clone()))
            };
            sets.clone().map(start).collect()
        };
        let len = sets.len() * PAGE;
        let read = if pins.iter().all(|(_, written)| written.is_some()) {
            Ok(Bytes::new())
        } else {
            let read = shared.reads.read(shared.set_offset(sets.start), len).await;
            self.state().counters.events.read_bytes += len as u64;
            read
        };
        if read.as_ref().is_err_and(is_closed) {
            return None;
        }
        let mut views = Vec::new();
        for (number, (pin, written)) in pins.into_iter().enumerate() {
            let page = read.as_ref().ok().filter(|_| written.is_none());
            let page = page.map(|bytes| bytes.slice(number * PAGE..(number + 1) * PAGE));
            let content = match written {
                Some(content) => Some(Ok(content)),
                // Only one of them may be unreadable.
                None if page.is_none() && sets.len() > 1 => None,
                None => self.state().examine(&pin, page.as_ref()),
            };
            views.push(match content {
                Some(content) => Ok(SetView { pin, content }),
                None => Err(pin.set),
            });
        }
        Some(views)
    }
}
