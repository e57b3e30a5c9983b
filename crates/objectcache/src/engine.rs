//! What `get`, `put` and `delete` consist of: lookups that read the flash, and replacements.

use crate::error::Error;
use crate::format::LONGEST_KEY;
use crate::format::object::{Kind, Stored, block_key};
use crate::journal::{Durable, durable};
use crate::oneshot;
use crate::reads::is_closed;
use crate::sets::SetView;
use crate::state::{Found, Pin, Shared, State, Status, total};
use crate::stats::{Put, Tier};
use crate::worker;
use bytes::Bytes;
use gordon_cache::tiered::Place;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A handle of a cache.
#[derive(Clone)]
pub(crate) struct Engine(pub Arc<Handle>);

/// The threads of a cache end when its last handle is dropped. What was not written is lost, as
/// after a kill of the process.
pub(crate) struct Handle {
    pub shared: Arc<Shared>,
    pub threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.state().stopped = true;
        self.shared.work.notify_all();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A thread that panicked has reported that.
            let _ = thread.join();
        }
        self.shared.reads.stop();
        if let Some(trace) = &self.shared.trace {
            trace.flush();
        }
    }
}

/// What a removal or replacement found.
pub(crate) struct Replaced {
    pub found: bool,
    pub put: Put,
    pub durable: Vec<Durable>,
}

/// What must be read before an object can be removed or replaced.
enum Needed {
    /// A candidate on the medium: its offset, its size, and the sequence number of its segment.
    Object(u64, u64, u64),
    Set(u32),
}

/// A candidate on the medium that was read.
struct KnownCandidate {
    offset: u64,
    /// Sequence number of its segment.
    segment: u64,
    /// The object with its own sequence number, if it is the one.
    object: Option<(Stored, u64)>,
}

/// What was read for the removal or replacement of an object.
#[derive(Default)]
struct Known<'a> {
    candidate: Option<KnownCandidate>,
    set: Option<SetView<'a>>,
}

/// What a replacement does.
pub(crate) enum Change<'a> {
    Remove,
    Put(Stored),
    /// Puts the object if the current one is the second one.
    Exchange(Stored, &'a Stored),
}

impl Engine {
    pub fn shared(&self) -> &Shared {
        &self.0.shared
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared().state()
    }

    pub fn block(&self) -> usize {
        self.shared().block
    }

    /// A copy of a body in memory of its size.
    pub fn copied(&self, body: &[u8]) -> Bytes {
        let mut copy = self.state().bodies.take(body.len());
        copy.extend_from_slice(body);
        copy.freeze()
    }

    pub fn new_generation(&self) -> u64 {
        self.state().next_sequence()
    }

    /// Returns an error if the cache was closed.
    pub fn is_usable(&self) -> Result<(), Error> {
        if self.state().status == Status::Open { Ok(()) } else { Err(Error::Closed) }
    }

    /// Finds an object, as a request.
    pub async fn find(&self, kind: Kind, key: &[u8]) -> Option<(Stored, Tier)> {
        let shared = self.shared();
        let hash = shared.hash(kind, key);
        let now = shared.now();
        let found = self.look_up(kind, key, hash).await;
        let mut state = self.state();
        let events = &mut state.counters.events;
        events.requests += 1;
        let Some((stored, tier)) = found else {
            events.misses += 1;
            return None;
        };
        let bytes = if stored.kind == Kind::Head { 0 } else { stored.body.len() as u64 };
        match tier {
            Tier::Dram => {
                events.dram_hits += 1;
                events.dram_hit_bytes += bytes;
            }
            Tier::Flash => {
                events.flash_hits += 1;
                events.flash_hit_bytes += bytes;
            }
        }
        drop(state);
        if let Some(trace) = &shared.trace {
            trace.record(now, hash, total(&stored));
        }
        Some((stored, tier))
    }

    pub async fn look_up(&self, kind: Kind, key: &[u8], hash: u64) -> Option<(Stored, Tier)> {
        let shared = self.shared();
        let (mut found, limit) = {
            let mut state = self.state();
            if state.status != Status::Open {
                return None;
            }
            let place = state.machine.lookup(shared.now(), hash);
            let found = state.follow(hash, kind, key, place);
            // A purge may be forgotten while an object that it removed is being read.
            let limit = match found {
                Found::Object(..) => 0,
                Found::Candidate { .. } | Found::Miss => state.purges.limit(key, kind),
            };
            (found, limit)
        };
        loop {
            let (offset, bytes, segment) = match found {
                Found::Miss => {
                    let found = self.look_up_in_set(kind, key, hash, limit).await;
                    return found.map(|stored| (stored, Tier::Flash));
                }
                Found::Object(stored, true) => return Some((stored, Tier::Dram)),
                Found::Object(stored, false) => return Some((stored, Tier::Flash)),
                Found::Candidate { offset, bytes, segment } => (offset, bytes, segment),
            };
            let read = self.read_pinned(offset, bytes, segment).await?;
            let mut waiting = None;
            {
                let mut state = self.state();
                match read {
                    Some((stored, sequence)) if is_of(&stored, kind, key) => {
                        return (sequence >= limit).then_some((stored, Tier::Flash));
                    }
                    Some(_) => {}
                    None => waiting = self.forget_damaged(&mut state, hash, offset, segment),
                }
                let place = state.machine.next_candidate(hash, offset);
                found = state.follow(hash, kind, key, place);
            }
            if waiting.is_some() {
                self.finish();
                // If the record cannot be written, the object is only forgotten until a restart.
                let _ = durable(waiting).await;
            }
        }
    }

    /// Finds an object in its set, unless the set was written before `limit`.
    async fn look_up_in_set(
        &self,
        kind: Kind,
        key: &[u8],
        hash: u64,
        limit: u64,
    ) -> Option<Stored> {
        let set = self.state().machine.set_with(hash).filter(|_| kind == Kind::Whole)?;
        let view = self.shared().read_set(set).await?;
        let found = {
            let mut state = self.state();
            let found = view.find(&state, hash, key).filter(|_| view.sequence() >= limit);
            match found {
                Some((position, _)) => state.machine.mark_hit_in_set(set, position),
                None => state.machine.count_false_positive(),
            }
            found.map(|(_, object)| object.clone())
        };
        if view.is_damaged() {
            self.finish();
        }
        found
    }

    /// Reads a candidate on the medium and ends its pin. The result is `None` if the cache was
    /// closed, and `Some(None)` if the object is damaged. With the object comes its sequence
    /// number.
    pub async fn read_pinned(
        &self,
        offset: u64,
        bytes: u64,
        segment: u64,
    ) -> Option<Option<(Stored, u64)>> {
        let shared = self.shared();
        let read = {
            let _pin = Pin::new(shared, offset);
            shared.read_object(offset, bytes).await
        };
        worker::run_inline(shared);
        match read {
            Ok(bytes) => {
                let stored = Stored::read(&bytes);
                let sound = stored.filter(|(_, identity)| identity.segment == segment);
                Some(sound.map(|(stored, identity)| (stored, identity.sequence)))
            }
            Err(error) if is_closed(&error) => None,
            Err(_) => {
                self.state().counters.events.io_errors += 1;
                Some(None)
            }
        }
    }

    /// Removes a damaged object, unless its segment has been evicted meanwhile.
    pub fn forget_damaged(
        &self,
        state: &mut State,
        hash: u64,
        offset: u64,
        segment: u64,
    ) -> Option<Durable> {
        let number = state.machine.segment_of(offset);
        let is_same = state.segments[number as usize].sequence == segment;
        if !is_same || state.buffers.contains_key(&number) {
            return None;
        }
        state.remove_damaged(hash, offset, segment)
    }

    /// Wakes the threads that write, or does their work.
    pub fn finish(&self) {
        self.shared().notify();
        worker::run_inline(self.shared());
    }

    /// Stores an object that has memory of its own.
    pub async fn store(&self, stored: Stored) -> Result<Put, Error> {
        if stored.key.len() > LONGEST_KEY {
            self.is_usable()?;
            return Ok(Put::TooLarge);
        }
        let shared = self.shared();
        let key = stored.key.clone();
        let hash = shared.hash(stored.kind, &key);
        let (now, bytes) = (shared.now(), total(&stored));
        let replaced = self.change(&key, hash, Change::Put(stored)).await?;
        if replaced.put == Put::Stored
            && let Some(trace) = &shared.trace
        {
            trace.record(now, hash, bytes);
        }
        durable(replaced.durable).await?;
        self.wait_for_flash().await;
        Ok(replaced.put)
    }

    /// Waits until DRAM is within its size, so that a caller that stores faster than the flash
    /// writes is slowed down. Reads do not wait.
    async fn wait_for_flash(&self) {
        loop {
            let waiting = {
                let mut state = self.state();
                if state.status != Status::Open || !state.machine.is_behind() {
                    return;
                }
                let (sender, receiver) = oneshot::channel();
                state.progress.push(sender);
                receiver
            };
            self.finish();
            waiting.await;
        }
    }

    /// Removes or replaces the object of a key.
    pub async fn change(
        &self,
        key: &[u8],
        hash: u64,
        mut change: Change<'_>,
    ) -> Result<Replaced, Error> {
        let mut known = Known::default();
        loop {
            let needed = {
                let mut state = self.state();
                if state.status != Status::Open {
                    return Err(Error::Closed);
                }
                match self.try_change(&mut state, key, hash, &mut change, &known) {
                    Ok(replaced) => {
                        drop(state);
                        self.finish();
                        return Ok(replaced);
                    }
                    Err(needed) => needed,
                }
            };
            let (offset, bytes, segment) = match needed {
                Needed::Object(offset, bytes, segment) => (offset, bytes, segment),
                Needed::Set(set) => {
                    let view = self.shared().read_set(set).await;
                    known.set = Some(view.ok_or(Error::Closed)?);
                    continue;
                }
            };
            let found = self.read_pinned(offset, bytes, segment).await.ok_or(Error::Closed)?;
            if found.is_none() {
                let waiting = self.forget_damaged(&mut self.state(), hash, offset, segment);
                self.finish();
                durable(waiting).await?;
                continue;
            }
            let same = found.filter(|(stored, _)| is_of(stored, Kind::Whole, key));
            known.candidate = Some(KnownCandidate { offset, segment, object: same });
        }
    }

    /// Removes or replaces the object of a key, unless something must be read first, which is the
    /// error.
    fn try_change(
        &self,
        state: &mut State,
        key: &[u8],
        hash: u64,
        change: &mut Change<'_>,
        known: &Known<'_>,
    ) -> Result<Replaced, Needed> {
        let is_expected = |change: &Change<'_>, found: &Stored| match change {
            Change::Exchange(_, expected) => found == *expected,
            Change::Remove | Change::Put(_) => true,
        };
        let mut record = state.machine.is_on_medium(hash);
        let mut found = false;
        let mut differs = false;
        let mut place = state.machine.peek(hash);
        // An object in DRAM has none of its key in flash.
        let set = match place {
            Place::Dram(_) => None,
            _ => state.machine.set_with(hash),
        };
        let view = match set {
            None => None,
            Some(set) => {
                let is_it = |view: &&SetView<'_>| view.set() == set && view.is_current(state);
                let view = known.set.as_ref().filter(is_it);
                if view.is_none() {
                    if let Place::Flash { offset, .. } = place {
                        state.machine.release(offset);
                    }
                    return Err(Needed::Set(set));
                }
                view
            }
        };
        loop {
            match place {
                Place::Dram(number) => {
                    let same = state.in_dram(number, Kind::Whole, key);
                    differs = same.is_some_and(|same| !is_expected(change, same));
                    found = same.is_some();
                    // A new object takes the place of one whose key has the same hash.
                    if !differs && (found || !matches!(change, Change::Remove)) {
                        state.remove_from_dram(number);
                    }
                    break;
                }
                Place::Buffered { offset } => {
                    let pending = state.in_buffer(offset, Kind::Whole, key);
                    if let Some(pending) = pending {
                        found = true;
                        differs = !is_expected(change, &pending.object);
                        if !differs {
                            record |= state.remove_from_flash(hash, offset) == Some(true);
                        }
                        break;
                    }
                    place = state.machine.peek_next(hash, offset);
                }
                Place::Flash { offset, bytes } => {
                    let number = state.machine.segment_of(offset);
                    let segment = state.segments[number as usize].sequence;
                    let read = known.candidate.as_ref();
                    let read = read.filter(|it| (it.offset, it.segment) == (offset, segment));
                    let Some(KnownCandidate { object: same, .. }) = read else {
                        return Err(Needed::Object(offset, bytes, segment));
                    };
                    state.machine.release(offset);
                    if let Some((same, sequence)) = same {
                        found = !state.purges.cover(key, Kind::Whole, *sequence);
                        differs = found && !is_expected(change, same);
                        if !differs {
                            record |= state.remove_from_flash(hash, offset) == Some(true);
                        }
                        break;
                    }
                    place = state.machine.peek_next(hash, offset);
                }
                Place::Miss => break,
            }
        }
        let in_set = view.and_then(|view| view.find(state, hash, key));
        if let Some((_, same)) = in_set
            && !found
        {
            found = true;
            differs = !is_expected(change, same);
        }
        let must_exist = matches!(change, Change::Exchange(..));
        if differs || (must_exist && !found) {
            return Ok(Replaced { found: false, put: Put::NotAdmitted, durable: Vec::new() });
        }
        let mut durable = Vec::new();
        if record {
            durable.push(state.record_removal(hash));
        } else if state.journal.must_wait() || state.journal.is_unsettled(hash, key) {
            durable.push(state.journal.wait());
        }
        if let Some(view) = view {
            // An object with the same hash leaves the set as well.
            if view.present(state).any(|object| object.hash == hash) || view.is_unsettled(state) {
                durable.push(state.remove_from_set(view.set(), &[hash]));
            } else {
                durable.extend(state.wait_for_set(view.set(), hash));
            }
        }
        let put = match std::mem::replace(change, Change::Remove) {
            Change::Remove => {
                state.counters.events.deletes += u64::from(found);
                Put::NotAdmitted
            }
            Change::Put(stored) | Change::Exchange(stored, _) => {
                state.counters.events.puts += 1;
                let now = self.shared().now();
                if state.insert(now, hash, stored) { Put::Stored } else { Put::TooLarge }
            }
        };
        state.pump();
        Ok(Replaced { found, put, durable })
    }

    /// Stores a block of a large object. Returns whether it fits.
    pub fn put_block(&self, generation: u64, number: u64, body: Bytes) -> bool {
        let shared = self.shared();
        let key = Bytes::copy_from_slice(&block_key(generation, number));
        let hash = shared.hash(Kind::Block, &key);
        let stored = Stored { kind: Kind::Block, key, meta: Bytes::new(), body };
        let (now, bytes) = (shared.now(), total(&stored));
        let fits = {
            let mut state = self.state();
            match state.machine.peek(hash) {
                // Another key with the same hash.
                Place::Dram(number) => {
                    state.remove_from_dram(number);
                }
                Place::Flash { offset, .. } => state.machine.release(offset),
                Place::Buffered { .. } | Place::Miss => {}
            }
            let fits = state.status == Status::Open && state.insert(now, hash, stored);
            state.pump();
            fits
        };
        self.finish();
        if fits && let Some(trace) = &shared.trace {
            trace.record(now, hash, bytes);
        }
        fits
    }

    /// Deletes an object, durably. Returns whether there was one.
    pub async fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        let hash = self.shared().hash(Kind::Whole, key);
        let replaced = self.change(key, hash, Change::Remove).await?;
        durable(replaced.durable).await?;
        Ok(replaced.found)
    }
}

/// Whether an object is the one of a key.
fn is_of(stored: &Stored, kind: Kind, key: &[u8]) -> bool {
    (stored.kind == Kind::Block) == (kind == Kind::Block) && stored.key == key
}
