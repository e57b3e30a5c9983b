//! The state of a cache, and how the actions of the machine are carried out.

use crate::body_pool::BodyPool;
use crate::format::journal::Record;
use crate::format::object::{self, Identity, Kind, Stored};
use crate::format::segment::entry_size;
use crate::format::{PAGE, hash};
use crate::journal::{Durable, Journal};
use crate::medium::Storage;
use crate::oneshot::Sender;
use crate::purges::Purges;
use crate::reads::Reads;
use crate::set_states::SetStates;
use crate::stats::{Events, NandStats};
use crate::trace::TraceWriter;
use bytes::Bytes;
use gordon_cache::tiered::{Action, DirectoryEntry, ObjectSize, Place, Removal, TieredMachine};
use gordon_store::RawWear;
use gordon_units::Ns;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What all handles and threads of a cache share.
pub(crate) struct Shared {
    pub state: Mutex<State>,
    /// Wakes the threads that write.
    pub work: Condvar,
    pub storage: Arc<dyn Storage>,
    pub reads: Reads,
    pub clock: Clock,
    pub trace: Option<TraceWriter>,
    /// Identity of the cache.
    pub id: u64,
    /// Seed of the hash of keys.
    pub seed: u64,
    /// Offset of the first segment.
    pub base: u64,
    /// Offset of the first set, and their number.
    pub sets_at: u64,
    pub sets: u32,
    /// Size of a segment in bytes.
    pub segment: usize,
    /// Unit of writes in bytes.
    pub unit: usize,
    /// Whether whole segments are read before they are evicted.
    pub reads_segments: bool,
    /// Size of a block of a large object.
    pub block: usize,
    /// Whether callers carry out what threads do otherwise.
    pub inline: bool,
    pub access: String,
    /// Size of the DRAM and of the flash in bytes.
    pub dram: u64,
    pub flash: u64,
    /// Rated erases of a block, and the budget in bytes a day, if a lifetime was promised.
    pub endurance: u64,
    pub budget: Option<f64>,
    /// Erases of NAND flash before the creation of the cache.
    pub erases_before: u64,
}

/// The time since the creation of the cache.
pub(crate) type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// Counters since the cache was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub events: Events,
    /// Writes of the journal, and the records that they added.
    pub journal_writes: u64,
    pub journal_recorded: u64,
    /// Bytes that had been written when the cache was opened.
    pub written_before: u64,
    /// Day of the cache, and bytes that had been written when it began.
    pub day: (u64, u64),
}

/// An object in a segment that is in memory.
pub(crate) struct Pending {
    pub entry: DirectoryEntry,
    pub object: Stored,
}

/// A segment that is in memory.
#[derive(Default)]
pub(crate) struct Buffered {
    /// Its objects by offset. Those that are removed before the segment is written are not written.
    pub objects: BTreeMap<u64, Pending>,
    /// Once it is being written: the lowest sequence number of its objects.
    pub first: Option<u64>,
}

/// The medium's part of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentInfo {
    /// Its sequence number; 0 if it has no valid directory.
    pub sequence: u64,
    /// At most the lowest sequence number of an object whose entry the medium may have; `u64::MAX`
    /// if there is none.
    pub first: u64,
}

/// Work for the thread that writes segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Write(u32),
    Prepare(u32),
    /// Remove objects from a set and, if it was the machine that requested this, move objects to it
    /// from the log.
    UpdateSet {
        set: u32,
        moves: bool,
    },
}

/// Whether the cache is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Open,
    /// Everything is being written.
    Closing,
    Closed,
}

pub(crate) struct State {
    pub machine: TieredMachine,
    /// Objects in DRAM by their numbers.
    pub dram: Vec<Option<Stored>>,
    /// Segments in memory.
    pub buffers: BTreeMap<u32, Buffered>,
    pub segments: Vec<SegmentInfo>,
    /// The segment that will be evicted next, and its bytes.
    pub prepared: Option<(u32, Bytes)>,
    /// The segment that was evicted last, from which objects are inserted again.
    source: Option<Bytes>,
    source_sequence: u64,
    pub journal: Journal,
    pub sets: SetStates,
    pub purges: Purges,
    pub jobs: VecDeque<Job>,
    /// The last sequence number.
    pub sequence: u64,
    pub counters: Counters,
    pub status: Status,
    pub bodies: BodyPool,
    /// Whether the threads must end.
    pub stopped: bool,
    /// Woken when a segment has been written or prepared.
    pub progress: Vec<Sender<()>>,
    stride: u64,
}

impl State {
    pub fn new(machine: TieredMachine, segments: usize, stride: u64, bodies: BodyPool) -> Self {
        Self {
            machine,
            dram: Vec::new(),
            buffers: BTreeMap::new(),
            segments: vec![SegmentInfo { sequence: 0, first: u64::MAX }; segments],
            prepared: None,
            source: None,
            source_sequence: 0,
            journal: Journal::default(),
            sets: SetStates::default(),
            purges: Purges::default(),
            jobs: VecDeque::new(),
            sequence: 0,
            counters: Counters::default(),
            status: Status::Open,
            bodies,
            stopped: false,
            progress: Vec::new(),
            stride,
        }
    }

    pub fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Adds an object to DRAM. Returns whether it fits.
    pub fn insert(&mut self, at: Ns, hash: u64, object: Stored) -> bool {
        let size = ObjectSize {
            bytes: object.size() as u64,
            directory: u32::try_from(entry_size(object.key.len())).unwrap_or(u32::MAX),
        };
        let Some(place) = self.machine.insert(at, hash, size) else { return false };
        let place = place as usize;
        if self.dram.len() <= place {
            self.dram.resize_with(place + 1, || None);
        }
        self.dram[place] = Some(object);
        true
    }

    /// The object in DRAM with this number, if it has this key.
    pub fn in_dram(&self, place: u32, kind: Kind, key: &[u8]) -> Option<&Stored> {
        let object = self.dram.get(place as usize)?.as_ref()?;
        (is_same_kind(object.kind, kind) && object.key == key).then_some(object)
    }

    /// The object at an offset in a segment in memory, if it has this key.
    pub fn in_buffer(&self, offset: u64, kind: Kind, key: &[u8]) -> Option<&Pending> {
        let segment = self.machine.segment_of(offset);
        let pending = self.buffers.get(&segment)?.objects.get(&offset)?;
        let object = &pending.object;
        (is_same_kind(object.kind, kind) && object.key == key).then_some(pending)
    }

    pub fn remove_from_dram(&mut self, place: u32) -> Option<Stored> {
        self.machine.remove_from_dram(place);
        self.dram[place as usize].take()
    }

    /// Removes an object from flash. Returns `None` if it is not there, and otherwise whether the
    /// removal must be recorded.
    pub fn remove_from_flash(&mut self, hash: u64, offset: u64) -> Option<bool> {
        let removal = self.machine.remove(hash, offset)?;
        let segment = self.machine.segment_of(offset);
        if let Some(buffer) = self.buffers.get_mut(&segment)
            && buffer.first.is_none()
        {
            // Its write has not started, even if it has been requested: the object is left out.
            buffer.objects.remove(&offset);
            return Some(false);
        }
        Some(removal == Removal::OnMedium)
    }

    /// Records that all objects of a key so far are gone.
    pub fn record_removal(&mut self, hash: u64) -> Durable {
        let sequence = self.next_sequence();
        self.machine.recorded(hash);
        self.journal.push(Record::Removed { hash, sequence })
    }

    /// Removes an object that is damaged on the medium, in the segment with this sequence number.
    pub fn remove_damaged(&mut self, hash: u64, offset: u64, segment: u64) -> Option<Durable> {
        self.remove_from_flash(hash, offset)?;
        self.counters.events.damaged += 1;
        // The header may name another object, and the directory this one: both must stay away.
        let sequence = self.next_sequence();
        self.journal.push(Record::Lost { offset, segment, sequence });
        Some(self.record_removal(hash))
    }

    /// The lowest sequence number of an object that is on the medium or on its way there.
    pub fn oldest_sequence(&self) -> u64 {
        let medium = self.segments.iter().map(|info| info.first);
        let writing = self.buffers.values().filter_map(|buffer| buffer.first);
        medium.chain(writing).min().unwrap_or(u64::MAX)
    }

    /// Evicts the segment on the medium with the oldest objects; the caller raises the floor of the
    /// journal above them. Returns whether there was one.
    pub fn evict_oldest(&mut self) -> bool {
        let candidates = (0..).zip(&self.segments).filter(|(_, info)| info.first != u64::MAX);
        let Some((oldest, _)) = candidates.min_by_key(|(_, info)| info.first) else {
            return false;
        };
        let info = &mut self.segments[oldest as usize];
        info.first = u64::MAX;
        // Otherwise its old objects are evicted already.
        if !self.buffers.contains_key(&oldest) {
            info.sequence = 0;
            self.machine.evict_segment(oldest);
        }
        true
    }

    /// Evicts a segment on the medium that nobody reads, and pins it until the caller has discarded
    /// it. Returns whether there is one with this number.
    pub fn evict_idle(&mut self, number: u32) -> bool {
        let info = &mut self.segments[number as usize];
        let is_stored = info.sequence > 0 && !self.buffers.contains_key(&number);
        if !is_stored || !self.machine.pin_idle(number) {
            return false;
        }
        info.sequence = 0;
        self.machine.evict_segment(number);
        self.journal.is_evicting = true;
        true
    }

    /// Carries out the actions of the machine. What needs the medium becomes a job.
    pub fn pump(&mut self) {
        while let Some(action) = self.machine.next_action() {
            match action {
                Action::Drop { place } => {
                    if let Some(object) = self.dram[place as usize].take() {
                        self.bodies.give(object.body);
                    }
                    self.counters.events.dram_evictions += 1;
                }
                Action::Demote { place, entry } => {
                    let object = self.dram[place as usize].take();
                    self.counters.events.dram_evictions += 1;
                    if let Some(object) = object {
                        self.append(entry, object);
                    }
                }
                Action::Open { segment } => {
                    let prepared = self.prepared.take();
                    self.source = prepared.filter(|(at, _)| *at == segment).map(|(_, it)| it);
                    self.source_sequence = self.segments[segment as usize].sequence;
                    self.buffers.insert(segment, Buffered::default());
                }
                Action::Reinsert { from, to } => self.reinsert(from, to),
                Action::Write { segment } => self.jobs.push_back(Job::Write(segment)),
                Action::Prepare { segment } => self.jobs.push_back(Job::Prepare(segment)),
                Action::UpdateSet { set } => {
                    self.jobs.push_back(Job::UpdateSet { set, moves: true });
                }
            }
        }
    }

    fn append(&mut self, entry: DirectoryEntry, object: Stored) {
        let segment = self.machine.segment_of(entry.offset);
        let buffer = self.buffers.entry(segment).or_default();
        buffer.objects.insert(entry.offset, Pending { entry, object });
    }

    /// Copies an object from the segment that is evicted, unless it is damaged or was purged.
    fn reinsert(&mut self, from: DirectoryEntry, to: u64) {
        let start = usize::try_from(from.offset % self.stride).unwrap_or(usize::MAX);
        let end = start.saturating_add(from.bytes as usize);
        let source = self.source.as_ref().filter(|source| end <= source.len());
        let found = source.and_then(|source| Stored::read(&source.slice(start..end)));
        let expected = |identity: &Identity| {
            identity.segment == self.source_sequence && identity.hash == from.key
        };
        match found.filter(|(_, identity)| expected(identity)) {
            Some((object, identity))
                if !self.purges.cover(&object.key, object.kind, identity.sequence) =>
            {
                // A copy, so that the whole segment does not stay in memory.
                let object = object.copied();
                self.append(DirectoryEntry { offset: to, ..from }, object);
            }
            found => {
                self.counters.events.damaged += u64::from(found.is_none());
                self.machine.remove(from.key, to);
            }
        }
    }

    fn has_work(&self) -> bool {
        !self.jobs.is_empty() || self.journal.has_work()
    }

    /// Reports progress to those who wait for it.
    pub fn report_progress(&mut self) {
        self.progress.drain(..).for_each(|waiting| waiting.send(()));
    }
}

/// Whether an object of a kind may be found under a key of another: blocks have keys of their own.
fn is_same_kind(found: Kind, asked: Kind) -> bool {
    (found == Kind::Block) == (asked == Kind::Block)
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Ns {
        Ns(u64::try_from((self.clock)().as_nanos()).unwrap_or(u64::MAX))
    }

    pub fn hash(&self, kind: Kind, key: &[u8]) -> u64 {
        hash(self.seed, kind, key)
    }

    pub fn has_flash(&self) -> bool {
        self.flash > 0
    }

    /// Offset of a segment on the medium.
    pub fn offset(&self, segment: u32) -> u64 {
        self.base + u64::from(segment) * self.segment as u64
    }

    /// Offset of a set on the medium.
    pub fn set_offset(&self, set: u32) -> u64 {
        self.sets_at + u64::from(set) * PAGE as u64
    }

    /// Makes the directory of a segment invalid, durably.
    pub fn discard(&self, segment: u32) -> std::io::Result<()> {
        let at = self.offset(segment);
        self.storage.discard(at..at + self.segment as u64)
    }

    /// The segment at an address.
    pub fn segment_at(&self, at: u64) -> Option<u32> {
        u32::try_from(at.checked_sub(self.base)? / self.segment as u64).ok()
    }

    pub fn nand_stats(&self, wear: &RawWear, written: u64) -> NandStats {
        let programmed = wear.programs * self.storage.page_bytes();
        #[allow(clippy::cast_precision_loss)] // bytes far below 2^53
        let write_amplification = (written > 0).then(|| programmed as f64 / written as f64);
        NandStats {
            programmed_bytes: programmed,
            write_amplification,
            block_erases: wear.erases,
            least_erases: wear.least,
            most_erases: wear.most,
            good_blocks: wear.good,
            bad_blocks: wear.bad,
            failures: wear.failures,
            bits_corrected: wear.bits_corrected,
        }
    }

    /// Starts to count the bytes written in this day.
    pub fn begin_day(&self) {
        let now = (self.clock)();
        let mut state = self.state();
        state.counters.day = (day_of(now), state.machine.counts().written);
    }

    /// Wakes the threads that write if there is work for them.
    pub fn notify(&self) {
        if !self.inline && self.state().has_work() {
            self.work.notify_all();
        }
    }

    /// Reads an object on the medium; its segment must be pinned.
    pub async fn read_object(&self, offset: u64, bytes: u64) -> std::io::Result<Bytes> {
        let end = (offset / self.segment as u64 + 1) * self.segment as u64;
        // The size is rounded up, at most to the end of the segment.
        let len = usize::try_from(bytes.min(end - offset)).unwrap_or(usize::MAX);
        let read = self.reads.read(self.base + offset, len).await;
        self.state().counters.events.read_bytes += len.div_ceil(PAGE) as u64 * PAGE as u64;
        read
    }
}

/// A segment that is pinned while its bytes are read.
pub(crate) struct Pin<'a> {
    shared: &'a Shared,
    offset: u64,
}

impl<'a> Pin<'a> {
    /// Takes over the pin of a [`Place::Flash`].
    pub fn new(shared: &'a Shared, offset: u64) -> Self {
        Self { shared, offset }
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.machine.release(self.offset);
        state.pump();
        drop(state);
        self.shared.notify();
    }
}

/// Bytes that an object takes in the cache, for the trace.
pub(crate) fn total(object: &Stored) -> u64 {
    (object::size(object.key.len(), object.meta.len(), object.body.len())
        + entry_size(object.key.len())) as u64
}

/// What a lookup found without reading.
pub(crate) enum Found {
    Object(Stored, bool),
    /// A candidate on the medium: offset, size, and sequence number of the segment.
    Candidate {
        offset: u64,
        bytes: u64,
        segment: u64,
    },
    Miss,
}

/// The day of the cache at an age.
fn day_of(age: Duration) -> u64 {
    age.as_secs() / 86_400
}

impl State {
    /// Counts the bytes of a new day from zero.
    pub fn renew_day(&mut self, age: Duration) {
        if self.counters.day.0 != day_of(age) {
            self.counters.day = (day_of(age), self.machine.counts().written);
        }
    }

    /// Follows the places of a key until an object is found or a read is necessary.
    pub fn follow(&mut self, hash: u64, kind: Kind, key: &[u8], mut place: Place) -> Found {
        loop {
            match place {
                Place::Dram(number) => {
                    return match self.in_dram(number, kind, key) {
                        Some(object) => Found::Object(object.clone(), true),
                        None => Found::Miss,
                    };
                }
                Place::Buffered { offset } => {
                    if let Some(pending) = self.in_buffer(offset, kind, key) {
                        return Found::Object(pending.object.clone(), false);
                    }
                    place = self.machine.next_candidate(hash, offset);
                }
                Place::Flash { offset, bytes } => {
                    let segment = self.machine.segment_of(offset);
                    let segment = self.segments[segment as usize].sequence;
                    return Found::Candidate { offset, bytes, segment };
                }
                Place::Miss => return Found::Miss,
            }
        }
    }
}
