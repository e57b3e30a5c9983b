//! The cache.

use crate::error::Error;
use crate::format::LONGEST_KEY;
use crate::format::journal::Record;
use crate::format::object::{Kind, Stored};
use crate::format::segment::Directory;
use crate::journal::{Durable, durable};
use crate::object::{Blocks, Body, block_key};
use crate::oneshot;
use crate::reads::is_closed;
use crate::state::{Found, Pin, SegmentInfo, Shared, State, Status, total};
use crate::stats::{Checked, Put, Stats};
use crate::{Object, Tier, Writer, worker};
use bytes::Bytes;
use gordon_cache::tiered::Place;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A cache of objects. Clones share the same cache.
#[derive(Clone)]
pub struct Cache(pub(crate) Arc<Handle>);

/// The threads of a cache end when its last handle is dropped. What was not written is lost, as after
/// a kill of the process.
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
struct Replaced {
    found: bool,
    put: Put,
    durable: Option<Durable>,
}

/// What a replacement does.
enum Change<'a> {
    Remove,
    Put(Stored),
    /// Puts the object if the current one is the second one.
    Exchange(Stored, &'a Stored),
}

impl Cache {
    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared().state()
    }

    pub(crate) fn block(&self) -> usize {
        self.shared().block
    }

    pub(crate) fn new_generation(&self) -> u64 {
        self.state().next_sequence()
    }

    /// Returns an error if the cache was closed.
    pub(crate) fn is_usable(&self) -> Result<(), Error> {
        if self.state().status == Status::Open { Ok(()) } else { Err(Error::Closed) }
    }

    /// Finds an object. The body of an object of at most [`Config::block`] bytes is in memory when
    /// the future resolves; of a larger one it is read by [`Object::read`].
    ///
    /// [`Config::block`]: crate::Config::block
    pub async fn get(&self, key: &[u8]) -> Option<Object> {
        let (stored, tier) = self.find(Kind::Whole, key).await?;
        let body = match stored.kind {
            Kind::Head => Body::Blocks(Blocks::parse(self, &stored.body)?),
            Kind::Whole | Kind::Block => Body::Whole(stored.body),
        };
        Some(Object { tier, meta: stored.meta, body })
    }

    /// Finds an object, as a request.
    pub(crate) async fn find(&self, kind: Kind, key: &[u8]) -> Option<(Stored, Tier)> {
        let shared = self.shared();
        let hash = shared.hash(kind, key);
        let now = shared.now();
        let found = self.look_up(kind, key, hash).await;
        let mut state = self.state();
        let counters = &mut state.counters;
        counters.requests += 1;
        let Some((stored, tier)) = found else {
            counters.misses += 1;
            return None;
        };
        let bytes = if stored.kind == Kind::Head { 0 } else { stored.body.len() as u64 };
        match tier {
            Tier::Dram => {
                counters.dram_hits += 1;
                counters.dram_hit_bytes += bytes;
            }
            Tier::Flash => {
                counters.flash_hits += 1;
                counters.flash_hit_bytes += bytes;
            }
        }
        drop(state);
        if let Some(trace) = &shared.trace {
            trace.record(now, hash, total(&stored));
        }
        Some((stored, tier))
    }

    async fn look_up(&self, kind: Kind, key: &[u8], hash: u64) -> Option<(Stored, Tier)> {
        let shared = self.shared();
        let mut found = {
            let mut state = self.state();
            if state.status != Status::Open {
                return None;
            }
            let place = state.machine.lookup(shared.now(), hash);
            state.follow(hash, kind, key, place)
        };
        loop {
            let (offset, bytes, segment) = match found {
                Found::Miss => return None,
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
                        if !state.is_purged(key, kind, sequence) {
                            return Some((stored, Tier::Flash));
                        }
                        return None;
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

    /// Reads a candidate on the medium and ends its pin. The result is `None` if the cache was
    /// closed, and `Some(None)` if the object is damaged. With the object comes its sequence number.
    async fn read_pinned(
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
        shared.run_inline();
        match read {
            Ok(bytes) => {
                let stored = Stored::read(&bytes);
                let sound = stored.filter(|(_, identity)| identity.segment == segment);
                Some(sound.map(|(stored, identity)| (stored, identity.sequence)))
            }
            Err(error) if is_closed(&error) => None,
            Err(_) => {
                self.state().counters.io_errors += 1;
                Some(None)
            }
        }
    }

    /// Removes a damaged object, unless its segment has been evicted meanwhile.
    fn forget_damaged(
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
    fn finish(&self) {
        self.shared().notify();
        self.shared().run_inline();
    }

    /// Stores an object, in DRAM first; flash gets it when DRAM evicts it, if admission agrees. It
    /// replaces an older one, which never comes back, also after a crash.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that the older object is gone, or was closed.
    pub async fn put(&self, key: &[u8], meta: &[u8], body: Bytes) -> Result<Put, Error> {
        if body.len() > self.block() {
            let mut writer = self.writer(key, meta, Some(body.len() as u64));
            writer.write(body)?;
            return writer.finish().await;
        }
        // A copy: the body may be a part of a larger buffer, which would stay in memory.
        let body = Bytes::copy_from_slice(&body);
        let (key, meta) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(meta));
        self.store(Stored { kind: Kind::Whole, key, meta, body }).await
    }

    /// Stores an object that has memory of its own.
    pub(crate) async fn store(&self, stored: Stored) -> Result<Put, Error> {
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
        Ok(replaced.put)
    }

    /// Removes or replaces the object of a key.
    async fn change(
        &self,
        key: &[u8],
        hash: u64,
        mut change: Change<'_>,
    ) -> Result<Replaced, Error> {
        // A candidate on the medium that was read: its offset, the sequence number of its segment,
        // and the object if it is the one.
        let mut read: Option<(u64, u64, Option<Stored>)> = None;
        loop {
            let (offset, bytes, segment) = {
                let mut state = self.state();
                if state.status != Status::Open {
                    return Err(Error::Closed);
                }
                match self.try_change(&mut state, key, hash, &mut change, read.as_ref()) {
                    Ok(replaced) => {
                        drop(state);
                        self.finish();
                        return Ok(replaced);
                    }
                    Err(candidate) => candidate,
                }
            };
            let found = self.read_pinned(offset, bytes, segment).await.ok_or(Error::Closed)?;
            if found.is_none() {
                let waiting = self.forget_damaged(&mut self.state(), hash, offset, segment);
                self.finish();
                durable(waiting).await?;
                continue;
            }
            let same = found.map(|(stored, _)| stored).filter(|it| is_of(it, Kind::Whole, key));
            read = Some((offset, segment, same));
        }
    }

    /// Removes or replaces the object of a key, unless a candidate on the medium must be read first:
    /// its offset, size, and the sequence number of its segment are the error.
    fn try_change(
        &self,
        state: &mut State,
        key: &[u8],
        hash: u64,
        change: &mut Change<'_>,
        read: Option<&(u64, u64, Option<Stored>)>,
    ) -> Result<Replaced, (u64, u64, u64)> {
        let is_expected = |change: &Change<'_>, found: &Stored| match change {
            Change::Exchange(_, expected) => found == *expected,
            Change::Remove | Change::Put(_) => true,
        };
        let mut record = state.machine.is_on_medium(hash);
        let mut found = false;
        let mut differs = false;
        let mut place = state.machine.peek(hash);
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
                    let known = read.filter(|(at, of, _)| (*at, *of) == (offset, segment));
                    let Some((_, _, same)) = known else { return Err((offset, bytes, segment)) };
                    state.machine.release(offset);
                    if let Some(same) = same {
                        found = true;
                        differs = !is_expected(change, same);
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
        let must_exist = matches!(change, Change::Exchange(..));
        if differs || (must_exist && !found) {
            return Ok(Replaced { found: false, put: Put::NotAdmitted, durable: None });
        }
        let durable = if record {
            Some(state.record_removal(hash))
        } else if state.journal.must_wait() || state.journal.is_unsettled(hash, key) {
            Some(state.journal.wait())
        } else {
            None
        };
        let put = match std::mem::replace(change, Change::Remove) {
            Change::Remove => {
                state.counters.deletes += u64::from(found);
                Put::NotAdmitted
            }
            Change::Put(stored) | Change::Exchange(stored, _) => {
                state.counters.puts += 1;
                let now = self.shared().now();
                if state.insert(now, hash, stored) { Put::Stored } else { Put::TooLarge }
            }
        };
        state.pump();
        Ok(Replaced { found, put, durable })
    }

    /// Stores a block of a large object. Returns whether it fits.
    pub(crate) fn put_block(&self, generation: u64, number: u64, body: Bytes) -> bool {
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

    /// Stores an object whose body arrives in parts, of this length if it is known.
    #[must_use]
    pub fn writer(&self, key: &[u8], meta: &[u8], length: Option<u64>) -> Writer {
        Writer::new(self, key, meta, length)
    }

    /// Replaces the metadata of an object. Returns whether there was one.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn update_meta(&self, key: &[u8], meta: &[u8]) -> Result<bool, Error> {
        let hash = self.shared().hash(Kind::Whole, key);
        loop {
            self.is_usable()?;
            let Some((old, _)) = self.look_up(Kind::Whole, key, hash).await else {
                return Ok(false);
            };
            let new = Stored { meta: Bytes::copy_from_slice(meta), ..old.copied() };
            let replaced = self.change(key, hash, Change::Exchange(new, &old)).await?;
            if replaced.found {
                durable(replaced.durable).await?;
                return Ok(replaced.put == Put::Stored);
            }
            // Another call has replaced the object meanwhile.
        }
    }

    /// Deletes an object. When the future resolves, the object stays deleted after a crash. Returns
    /// whether there was one. The blocks of a large object are never found again, but keep their
    /// space until they are evicted.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that the object is gone, or was closed.
    pub async fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        let hash = self.shared().hash(Kind::Whole, key);
        let replaced = self.change(key, hash, Change::Remove).await?;
        durable(replaced.durable).await?;
        Ok(replaced.found)
    }

    /// Deletes all objects whose keys start with `prefix`, durably. Returns their number. The
    /// objects are gone when the future is polled first; to count those in flash, it reads the
    /// directories of all segments.
    ///
    /// # Errors
    /// Returns an error if the prefix is longer than any key, if the cache cannot record that the
    /// objects are gone, or if it was closed.
    pub async fn purge(&self, prefix: &[u8]) -> Result<u64, Error> {
        if prefix.len() > LONGEST_KEY {
            return Err(Error::LongPrefix(prefix.len()));
        }
        let is_hit = |stored: &Stored| stored.kind != Kind::Block && stored.key.starts_with(prefix);
        let (sequence, segments, waiting, mut count) = {
            let mut state = self.state();
            if state.status != Status::Open {
                return Err(Error::Closed);
            }
            let sequence = state.next_sequence();
            state.purges.push((sequence, prefix.into()));
            let waiting = state.journal.push(Record::Purged { prefix: prefix.into(), sequence });
            let mut count = 0;
            for place in 0..u32::try_from(state.dram.len()).unwrap_or(u32::MAX) {
                if state.dram[place as usize].as_ref().is_some_and(is_hit) {
                    state.remove_from_dram(place);
                    count += 1;
                }
            }
            let buffered: Vec<(u64, u64)> = state
                .buffers
                .values()
                .flat_map(|buffer| &buffer.objects)
                .filter(|(_, pending)| is_hit(&pending.object))
                .map(|(offset, pending)| (pending.entry.key, *offset))
                .collect();
            for (hash, offset) in buffered {
                count += u64::from(state.remove_from_flash(hash, offset).is_some());
            }
            state.pump();
            (sequence, state.segments.len(), waiting, count)
        };
        self.finish();
        let recorded = durable(Some(waiting)).await;
        for number in 0..u32::try_from(segments).unwrap_or(u32::MAX) {
            count += self.purge_segment(number, prefix, sequence).await;
        }
        let mut state = self.state();
        state.purges.retain(|(at, _)| *at != sequence);
        state.counters.purged += count;
        drop(state);
        recorded?;
        Ok(count)
    }

    /// Removes the objects of a segment with a prefix that are older than a purge.
    async fn purge_segment(&self, number: u32, prefix: &[u8], sequence: u64) -> u64 {
        let shared = self.shared();
        let Some(directory) = self.directory(number).await else { return 0 };
        let places = worker::places(&directory, number, shared.segment);
        let mut count = 0;
        let mut state = self.state();
        for (entry, place) in directory.entries.iter().zip(places) {
            let is_hit = entry.kind != Kind::Block
                && entry.sequence < sequence
                && entry.key.starts_with(prefix);
            let is_same = state.segments[number as usize].sequence == directory.sequence;
            if is_hit && is_same && !state.buffers.contains_key(&number) {
                let removed = state.remove_from_flash(place.key, place.offset);
                count += u64::from(removed.is_some());
            }
        }
        count
    }

    /// The directory of a segment on the medium, if there is one. A damaged one is erased, and its
    /// objects are removed.
    async fn directory(&self, number: u32) -> Option<Directory> {
        let shared = self.shared();
        let offset = u64::from(number) * shared.segment as u64;
        let (_pin, expected) = {
            let mut state = self.state();
            let expected = state.segments[number as usize].sequence;
            if expected == 0 || !state.machine.pin(number) {
                return None;
            }
            (Pin::new(shared, offset), expected)
        };
        let read = worker::read_directory(shared, number).ok().flatten();
        let found = read.filter(|directory| directory.sequence == expected);
        if found.is_none() {
            self.drop_segment(number, expected);
        }
        found
    }

    /// Removes all objects of a segment whose directory is damaged.
    fn drop_segment(&self, number: u32, expected: u64) {
        let shared = self.shared();
        if self.state().segments[number as usize].sequence != expected {
            return;
        }
        let erased = worker::erase(shared, number);
        let mut state = self.state();
        state.counters.io_errors += u64::from(erased.is_err());
        let is_same = state.segments[number as usize].sequence == expected;
        if is_same && !state.buffers.contains_key(&number) {
            let before = state.machine.in_flash().0;
            state.machine.evict_segment(number);
            state.counters.damaged += before - state.machine.in_flash().0;
            state.segments[number as usize] = SegmentInfo { sequence: 0, first: u64::MAX };
        }
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let shared = self.shared();
        let age = (shared.clock)();
        let mut state = self.state();
        let counts = state.machine.counts();
        let day = age.as_secs() / 86_400;
        if state.counters.day.0 != day {
            state.counters.day = (day, counts.written);
        }
        let (dram_objects, dram_bytes) = state.machine.in_dram();
        let (flash_objects, flash_bytes) = state.machine.in_flash();
        let buffered = state.buffers.values().flat_map(|buffer| buffer.objects.values());
        let buffer_bytes = buffered.map(|pending| total(&pending.object)).sum::<u64>()
            + state.prepared.as_ref().map_or(0, |(_, image)| image.len() as u64);
        let segments = if shared.has_flash() { state.segments.len() as u64 } else { 0 };
        let flash_capacity = segments * shared.segment as u64;
        let counters = state.counters;
        #[allow(clippy::cast_precision_loss)] // bytes far below 2^53
        let (capacity, written) = (flash_capacity as f64, counts.written as f64);
        let age_s = age.as_secs_f64();
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let life_s = capacity * shared.endurance as f64 * age_s / written;
        Stats {
            requests: counters.requests,
            dram_hits: counters.dram_hits,
            flash_hits: counters.flash_hits,
            misses: counters.misses,
            dram_hit_bytes: counters.dram_hit_bytes,
            flash_hit_bytes: counters.flash_hit_bytes,
            puts: counters.puts,
            deletes: counters.deletes,
            purged: counters.purged,
            dram_objects,
            dram_bytes,
            dram_capacity: shared.dram,
            index_bytes: if shared.has_flash() { state.machine.index_memory() } else { 0 },
            buffer_bytes,
            flash_objects,
            flash_bytes,
            flash_capacity,
            segments,
            offered_bytes: counts.offered,
            admitted_bytes: counts.admitted,
            refused_bytes: counts.refused,
            total_written_bytes: counts.written,
            written_bytes: counts.written - counters.written_before,
            read_bytes: counters.read_bytes,
            dram_evictions: counters.dram_evictions,
            flash_evictions: counts.evicted,
            reinsertions: counts.reinserted,
            dropped: if shared.has_flash() { counts.dropped } else { 0 },
            damaged: counters.damaged,
            io_errors: counters.io_errors,
            erases: if capacity > 0.0 { written / capacity } else { 0.0 },
            admission_rate: state.machine.admission_rate(),
            age_s,
            budget_bytes_per_day: shared.budget,
            written_today_bytes: counts.written - counters.day.1,
            expected_life_years: (written > 0.0 && age_s > 0.0)
                .then(|| life_s / crate::config::YEAR_S),
            journal_records: state.journal.records.len() as u64,
            access: shared.access.clone(),
        }
    }

    /// Reads and verifies every object in flash. Damaged ones are removed and counted.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that a damaged object is gone, or was closed.
    pub async fn check(&self) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        let segments = self.state().segments.len();
        for number in 0..u32::try_from(segments).unwrap_or(u32::MAX) {
            self.is_usable()?;
            self.check_segment(number, &mut checked).await?;
            self.finish();
        }
        Ok(checked)
    }

    async fn check_segment(&self, number: u32, checked: &mut Checked) -> Result<(), Error> {
        let shared = self.shared();
        let before = self.state().counters.damaged;
        let Some(directory) = self.directory(number).await else {
            checked.damaged += self.state().counters.damaged - before;
            return Ok(());
        };
        let mut waiting = None;
        for place in worker::places(&directory, number, shared.segment) {
            {
                let mut state = self.state();
                if !state.machine.is_live(place.key, place.offset) || !state.machine.pin(number) {
                    continue;
                }
                if state.segments[number as usize].sequence != directory.sequence {
                    state.machine.release(place.offset);
                    continue;
                }
            }
            let bytes = u64::from(place.bytes);
            let read = self.read_pinned(place.offset, bytes, directory.sequence).await;
            match read.ok_or(Error::Closed)? {
                Some(_) => {
                    checked.objects += 1;
                    checked.bytes += bytes;
                }
                None => {
                    let mut state = self.state();
                    let (key, sequence) = (place.key, directory.sequence);
                    let gone = self.forget_damaged(&mut state, key, place.offset, sequence);
                    checked.damaged += u64::from(gone.is_some());
                    waiting = gone.or(waiting);
                }
            }
        }
        self.finish();
        durable(waiting).await
    }

    /// Writes to flash what DRAM holds, as far as admission agrees, so that a restart is warm. From
    /// then on the cache finds nothing, and stores nothing.
    ///
    /// # Errors
    /// Returns an error if the flash does not take the last record. The content is not affected.
    pub async fn close(&self) -> Result<(), Error> {
        {
            let mut state = self.state();
            if state.status != Status::Open {
                return Ok(());
            }
            state.status = Status::Closing;
            state.machine.drain();
        }
        loop {
            let waiting = {
                let mut state = self.state();
                state.pump();
                if state.machine.is_drained() {
                    state.machine.flush();
                    state.pump();
                    if state.machine.in_flight() == 0 && state.jobs.is_empty() {
                        break;
                    }
                }
                let (sender, receiver) = oneshot::channel();
                state.progress.push(sender);
                receiver
            };
            self.finish();
            waiting.await;
        }
        let waiting = {
            let mut state = self.state();
            let sequence = state.next_sequence();
            state.journal.push(Record::Closed { sequence })
        };
        self.finish();
        let recorded = durable(Some(waiting)).await;
        self.state().status = Status::Closed;
        if let Some(trace) = &self.shared().trace {
            trace.flush();
        }
        recorded
    }
}

/// Whether an object is the one of a key.
fn is_of(stored: &Stored, kind: Kind, key: &[u8]) -> bool {
    (stored.kind == Kind::Block) == (kind == Kind::Block) && stored.key == key
}
