//! The cache.

use crate::engine::{Change, Engine};
use crate::error::Error;
use crate::format::journal::Record;
use crate::format::object::{Kind, Stored};
use crate::format::segment::Directory;
use crate::format::set::set_size;
use crate::format::{LONGEST_KEY, PAGE};
use crate::journal::{Durable, durable};
use crate::object::{Blocks, Body, Object};
use crate::oneshot;
use crate::reads::is_closed;
use crate::ring_reads::{Completions, RingReads};
use crate::sets::{BATCH, SetView};
use crate::state::{Pin, SegmentInfo, State, Status, total};
use crate::stats::{Checked, Put, Stats};
use crate::worker;
use crate::writer::Writer;
use bytes::Bytes;

/// A cache of objects. Clones share the same cache.
#[derive(Clone)]
pub struct Cache(pub(crate) Engine);

impl Cache {
    /// Finds an object. The body of an object of at most [`Config::block`] bytes is in memory when
    /// the future resolves; of a larger one it is read by [`Object::read`].
    ///
    /// [`Config::block`]: crate::Config::block
    pub async fn get(&self, key: &[u8]) -> Option<Object> {
        let (stored, tier) = self.0.find(Kind::Whole, key).await?;
        let body = match stored.kind {
            Kind::Head => Body::Blocks(Blocks::parse(&self.0, &stored.body)?),
            Kind::Whole | Kind::Block => Body::Whole(stored.body),
        };
        Some(Object { tier, meta: stored.meta, body })
    }

    /// Stores an object, in DRAM first; flash gets it when DRAM evicts it, if admission agrees. It
    /// replaces an older one, which never comes back, also after a crash.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that the older object is gone, or was closed.
    pub async fn put(&self, key: &[u8], meta: &[u8], body: Bytes) -> Result<Put, Error> {
        if body.len() > self.0.block() {
            let mut writer = self.writer(key, meta, Some(body.len() as u64));
            writer.write(body)?;
            return writer.finish().await;
        }
        // A copy: the body may be a part of a larger buffer, which would stay in memory.
        let body = self.0.copied(&body);
        let (key, meta) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(meta));
        self.0.store(Stored { kind: Kind::Whole, key, meta, body }).await
    }

    /// Stores an object whose body arrives in parts, of this length if it is known.
    #[must_use]
    pub fn writer(&self, key: &[u8], meta: &[u8], length: Option<u64>) -> Writer {
        Writer::new(&self.0, key, meta, length)
    }

    /// Replaces the metadata of an object. Returns whether there was one.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn update_meta(&self, key: &[u8], meta: &[u8]) -> Result<bool, Error> {
        self.change_meta(key, |_| Some(Bytes::copy_from_slice(meta))).await
    }

    /// Replaces the metadata of an object by what `change` returns; `None` keeps it. Returns
    /// whether it was replaced. `change` may be called again, if another call replaces the object
    /// meanwhile.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn change_meta(
        &self,
        key: &[u8],
        change: impl Fn(&[u8]) -> Option<Bytes>,
    ) -> Result<bool, Error> {
        let hash = self.0.shared().hash(Kind::Whole, key);
        loop {
            self.0.is_usable()?;
            let Some((old, _)) = self.0.look_up(Kind::Whole, key, hash).await else {
                return Ok(false);
            };
            let Some(meta) = change(&old.meta) else { return Ok(false) };
            let new = Stored { meta, ..old.copied() };
            let replaced = self.0.change(key, hash, Change::Exchange(new, &old)).await?;
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
        self.0.delete(key).await
    }

    /// Deletes all objects whose keys start with `prefix`, durably. The objects are gone when the
    /// future is polled first. Returns the number of those in memory: in flash they are not found
    /// any more, and are not counted. They leave with their segment or set. The cache remembers as
    /// many such purges as fit in a quarter of the journal; a further one reads all directories and
    /// sets.
    ///
    /// # Errors
    /// Returns an error if the prefix is longer than any key, if the cache cannot record that the
    /// objects are gone, or if it was closed.
    pub async fn purge(&self, prefix: &[u8]) -> Result<u64, Error> {
        if prefix.len() > LONGEST_KEY {
            return Err(Error::LongPrefix(prefix.len()));
        }
        let is_hit = |stored: &Stored| stored.kind != Kind::Block && stored.key.starts_with(prefix);
        let has_sets = self.0.shared().sets > 0;
        let (sequence, is_listed, waiting, count) = {
            let mut state = self.0.state();
            if state.status != Status::Open {
                return Err(Error::Closed);
            }
            if !has_sets {
                let oldest = state.oldest_sequence();
                state.purges.retire(oldest);
            }
            let sequence = state.next_sequence();
            let is_listed = state.purges.add(sequence, prefix);
            let in_sets = is_listed && has_sets;
            let record = Record::Purged { prefix: prefix.into(), in_sets, sequence };
            let waiting = state.journal.push(record);
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
            state.counters.events.purged += count;
            state.pump();
            (sequence, is_listed, waiting, count)
        };
        self.0.finish();
        let recorded = durable(Some(waiting)).await;
        let swept = if is_listed { Ok(()) } else { self.sweep(sequence).await };
        recorded.and(swept)?;
        Ok(count)
    }

    /// Removes what was purged from all segments and sets, durably. Purges up to a sequence number
    /// need not be remembered then.
    async fn sweep(&self, last: u64) -> Result<(), Error> {
        let segments = self.0.state().segments.len();
        for number in 0..u32::try_from(segments).unwrap_or(u32::MAX) {
            self.sweep_segment(number).await;
        }
        let sweep = |state: &mut State, view: &SetView<'_>| {
            // Also what is not in the set any more: until that is durable, it may come back.
            let is_clean = !view.has_purged(state)
                && !view.is_unsettled(state)
                && !view.is_being_written(state);
            (!is_clean).then(|| state.remove_from_set(view.set(), &[]))
        };
        let swept = self.each_set(sweep).await;
        let waiting = {
            let mut state = self.0.state();
            if swept.is_err() {
                state.purges.forget(last);
                return swept;
            }
            state.purges.retire(last + 1);
            state.journal.was_swept = self.0.shared().sets > 0;
            state.journal.wait()
        };
        self.0.finish();
        durable(Some(waiting)).await
    }

    /// Reads all sets and calls `each` for a few at a time. What it returns is
    /// waited for.
    async fn each_set(
        &self,
        mut each: impl FnMut(&mut State, &SetView<'_>) -> Option<Durable>,
    ) -> Result<(), Error> {
        let shared = self.0.shared();
        let count = shared.sets;
        for first in (0..count).step_by(BATCH as usize) {
            let range = first..count.min(first.saturating_add(BATCH));
            let views = shared.read_sets(range).await.ok_or(Error::Closed)?;
            let mut waiting = Vec::new();
            for view in views {
                let view = match view {
                    Ok(view) => view,
                    Err(set) => shared.read_set(set).await.ok_or(Error::Closed)?,
                };
                let mut state = self.0.state();
                waiting.extend(each(&mut state, &view));
            }
            self.0.finish();
            durable(waiting).await?;
        }
        Ok(())
    }

    /// Removes the objects of a segment that were purged.
    async fn sweep_segment(&self, number: u32) {
        let shared = self.0.shared();
        let Some(directory) = self.directory(number).await else { return };
        let places = worker::places(&directory, number, shared.segment);
        let mut state = self.0.state();
        let is_same = state.segments[number as usize].sequence == directory.sequence;
        if !is_same || state.buffers.contains_key(&number) {
            return;
        }
        for (entry, place) in directory.entries.iter().zip(places) {
            if state.purges.cover(&entry.key, entry.kind, entry.sequence) {
                state.remove_from_flash(place.key, place.offset);
            }
        }
    }

    /// The directory of a segment on the medium, if there is one. A damaged one is erased, and its
    /// objects are removed.
    async fn directory(&self, number: u32) -> Option<Directory> {
        let shared = self.0.shared();
        let offset = u64::from(number) * shared.segment as u64;
        let (_pin, expected) = {
            let mut state = self.0.state();
            let expected = state.segments[number as usize].sequence;
            if expected == 0 || !state.machine.pin(number) {
                return None;
            }
            (Pin::new(shared, offset), expected)
        };
        let read = worker::read_directory_later(shared, number).await;
        if read.as_ref().is_err_and(is_closed) {
            return None;
        }
        let found = read.ok().flatten().filter(|directory| directory.sequence == expected);
        if found.is_none() {
            self.drop_segment(number, expected);
        }
        found
    }

    /// Removes all objects of a segment whose directory is damaged.
    fn drop_segment(&self, number: u32, expected: u64) {
        let shared = self.0.shared();
        if self.0.state().segments[number as usize].sequence != expected {
            return;
        }
        let erased = shared.discard(number);
        let mut state = self.0.state();
        state.counters.events.io_errors += u64::from(erased.is_err());
        let is_same = state.segments[number as usize].sequence == expected;
        if is_same && !state.buffers.contains_key(&number) {
            let before = state.machine.in_flash().0;
            state.machine.evict_segment(number);
            state.counters.events.damaged += before - state.machine.in_flash().0;
            state.segments[number as usize] = SegmentInfo { sequence: 0, first: u64::MAX };
        }
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let shared = self.0.shared();
        let age = (shared.clock)();
        let mut state = self.0.state();
        let counts = state.machine.counts();
        state.renew_day(age);
        let (dram_objects, dram_bytes) = state.machine.in_dram();
        let (flash_objects, flash_bytes) = state.machine.in_flash();
        let buffered = state.buffers.values().flat_map(|buffer| buffer.objects.values());
        let buffer_bytes = buffered.map(|pending| total(&pending.object)).sum::<u64>()
            + state.prepared.as_ref().map_or(0, |(_, image)| image.len() as u64);
        let segments = if shared.has_flash() { state.segments.len() as u64 } else { 0 };
        let sets = u64::from(shared.sets);
        let log_capacity = segments * shared.segment as u64;
        let flash_capacity = log_capacity + sets * PAGE as u64;
        let set_objects = state.machine.in_sets();
        let index_bytes = if shared.has_flash() { state.machine.index_memory() } else { 0 };
        let counters = state.counters;
        #[allow(clippy::cast_precision_loss)] // bytes far below 2^53
        let (capacity, written) = (flash_capacity as f64, counts.written as f64);
        let age_s = age.as_secs_f64();
        let written_bytes = counts.written - counters.written_before;
        let wear = shared.storage.wear();
        let erases = match &wear {
            #[allow(clippy::cast_precision_loss)] // far below 2^53
            Some(wear) => {
                (wear.erases - shared.erases_before.min(wear.erases)) as f64
                    / f64::from(wear.good.max(1))
            }
            None if capacity > 0.0 => written / capacity,
            None => 0.0,
        };
        let nand = wear.map(|wear| shared.nand_stats(&wear, written_bytes));
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let life_s = shared.endurance as f64 * age_s / erases;
        Stats {
            events: counters.events,
            dram_objects,
            dram_bytes,
            dram_capacity: shared.dram,
            index_bytes,
            index_bytes_per_object: share(index_bytes, flash_objects + set_objects),
            buffer_bytes,
            flash_objects,
            flash_bytes,
            flash_capacity,
            log_capacity,
            segments,
            sets,
            set_objects,
            set_false_positives: counts.false_positives,
            offered_bytes: counts.offered,
            admitted_bytes: counts.admitted,
            refused_bytes: counts.refused,
            total_written_bytes: counts.written,
            written_bytes,
            write_amplification: share(written_bytes, counts.admitted),
            flash_evictions: counts.evicted,
            reinsertions: counts.reinserted,
            dropped: if shared.has_flash() { counts.dropped } else { 0 },
            erases,
            nand,
            admission_rate: state.machine.admission_rate(),
            age_s,
            budget_bytes_per_day: shared.budget,
            written_today_bytes: counts.written - counters.day.1,
            expected_life_years: (erases > 0.0 && age_s > 0.0 && sets == 0)
                .then(|| life_s / crate::config::YEAR_S),
            journal_records: state.journal.records.len() as u64,
            journal_capacity: state.journal.superblock.map_or(0, |it| it.journal()),
            journal_written_bytes: counts.journal,
            journal_writes: counters.journal_writes,
            journal_recorded: counters.journal_recorded,
            access: shared.access.clone(),
        }
    }

    /// Lets an event loop complete the reads of flash. `None` if they are not done by io_uring.
    /// There can be one at a time.
    #[must_use]
    pub fn completions(&self) -> Option<Completions> {
        self.0.shared().reads.ring().map(RingReads::completions)
    }

    /// Reads and verifies every object in flash. Damaged ones are removed and counted.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that a damaged object is gone, or was closed.
    pub async fn check(&self) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        let segments = self.0.state().segments.len();
        for number in 0..u32::try_from(segments).unwrap_or(u32::MAX) {
            self.0.is_usable()?;
            self.check_segment(number, &mut checked).await?;
            self.0.finish();
        }
        let before = self.0.state().counters.events.damaged;
        let check = |state: &mut State, view: &SetView<'_>| {
            checked.objects += view.present(state).count() as u64;
            let bytes = view.present(state).map(|object| set_size(&object.object) as u64);
            checked.bytes += bytes.sum::<u64>();
            // A damaged set is written again.
            view.is_damaged().then(|| state.remove_from_set(view.set(), &[]))
        };
        self.each_set(check).await?;
        checked.damaged += self.0.state().counters.events.damaged - before;
        Ok(checked)
    }

    async fn check_segment(&self, number: u32, checked: &mut Checked) -> Result<(), Error> {
        let shared = self.0.shared();
        let before = self.0.state().counters.events.damaged;
        let Some(directory) = self.directory(number).await else {
            checked.damaged += self.0.state().counters.events.damaged - before;
            return Ok(());
        };
        let mut waiting = None;
        let places = worker::places(&directory, number, shared.segment);
        for (entry, place) in directory.entries.iter().zip(places) {
            {
                let mut state = self.0.state();
                if state.purges.cover(&entry.key, entry.kind, entry.sequence) {
                    continue;
                }
                if !state.machine.is_live(place.key, place.offset) || !state.machine.pin(number) {
                    continue;
                }
                if state.segments[number as usize].sequence != directory.sequence {
                    state.machine.release(place.offset);
                    continue;
                }
            }
            let bytes = u64::from(place.bytes);
            let read = self.0.read_pinned(place.offset, bytes, directory.sequence).await;
            match read.ok_or(Error::Closed)? {
                Some(_) => {
                    checked.objects += 1;
                    checked.bytes += bytes;
                }
                None => {
                    let mut state = self.0.state();
                    let (key, sequence) = (place.key, directory.sequence);
                    let gone = self.0.forget_damaged(&mut state, key, place.offset, sequence);
                    checked.damaged += u64::from(gone.is_some());
                    waiting = gone.or(waiting);
                }
            }
        }
        self.0.finish();
        durable(waiting).await
    }

    /// Writes to flash what DRAM holds, as far as admission agrees, so that a restart is warm. From
    /// then on the cache finds nothing, and stores nothing.
    ///
    /// # Errors
    /// Returns an error if the flash does not take the last record. The content is not affected.
    pub async fn close(&self) -> Result<(), Error> {
        {
            let mut state = self.0.state();
            if state.status != Status::Open {
                return Ok(());
            }
            state.status = Status::Closing;
            state.machine.drain();
        }
        loop {
            let waiting = {
                let mut state = self.0.state();
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
            self.0.finish();
            waiting.await;
        }
        let waiting = {
            let mut state = self.0.state();
            let sequence = state.next_sequence();
            state.journal.push(Record::Closed { sequence })
        };
        self.0.finish();
        let recorded = durable(Some(waiting)).await;
        self.0.state().status = Status::Closed;
        let closed = self.0.shared().storage.close();
        if let Some(trace) = &self.0.shared().trace {
            trace.flush();
        }
        recorded.and(closed.map_err(|error| Error::Journal(error.to_string())))
    }
}

/// The first number divided by the second one, unless that is 0.
#[allow(clippy::cast_precision_loss)] // bytes far below 2^53
fn share(of: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| of as f64 / total as f64)
}
