//! A hard disk on a virtual clock. Its simulation cost is per request, not per sector.
//!
//! A command passes four servers. Each does one thing at a time:
//!
//! ```text
//! host queue -> controller -> [cache, queue of reads] -> mechanism -> link -> host
//!   (FIFO)      (overhead)    (memory: see `cache`)      (`mechanics`)  (interface rate)
//! ```
//!
//! - **Commands.** The drive holds as many commands as its queue is deep (NCQ); the others wait at
//!   the host. A flush is not queued: it waits until the drive is empty, and no command passes it
//!   (as in ATA). A trim is acknowledged and changes nothing.
//! - **Reads** that are completely in memory go directly to the link. Others wait for the
//!   mechanism, which serves them in the order of [`Scheduler`]. Data go to the host as they come
//!   off the medium: a read is done one sector's transfer after its last sector, or when the link
//!   is done.
//! - **Read-ahead.** After a read the head continues into the segment, over tracks and cylinders,
//!   up to the limit or until there is other work: a read elsewhere, or a destage that the host
//!   waits for. A read of sectors that are still being fetched waits for them. When the host gets
//!   near the end of the fetched data and the mechanism is idle, more is fetched.
//! - **Writes** are acknowledged when they are in memory. They go to the medium when no read waits
//!   and read-ahead is done; if memory is full or a flush is pending, they compete with the reads.
//!   With `cache.write_through` they are acknowledged when they are on the medium, and always
//!   compete with the reads; so are durable writes (FUA) of any disk.
//! - **Usage.** `read` is the time that the mechanism spends on reads and read-ahead, including
//!   positioning. `write` is that of destages. Both are counted when the operation ends.
//!
//! With `cache.zero_latency` a read begins where the head lands on its track (see `arrival`).
//!
//! Not covered: thermal recalibration, and data loss at a power cut.

mod arrival;
mod cache;
mod check;
pub(crate) mod config;
pub(crate) mod error;
mod geometry;
pub(crate) mod mechanics;
mod power;
mod reads;
mod schedule;
mod seek;
mod sleep;
mod spares;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tracks;
mod writes;
mod zones;

pub use arrival::ReadOnArrival;
pub use config::{
    CacheConfig, DiskConfig, DiskGeometryConfig, InterfaceConfig, LinearZones, Region,
    SchedulerConfig, SchedulingPolicy, SeekConfig, SeekPieces, SeekTimes, Serpentine, ZoneConfig,
    Zones,
};
pub use error::DiskConfigError;
pub use geometry::{DiskGeometry, SectorLocation, Zone};
pub use mechanics::{Head, Mechanics, Positioning, SeekTarget, ShortSkew};
pub use power::{AdaptiveConfig, PowerConfig, PowerState, StandbyConfig};
pub use schedule::{Candidate, Choice, Scheduler, SchedulerInput};
pub use seek::{SeekCurve, SeekDistances};
pub use sleep::{EnergyUse, PowerManagedDisk, SleepStats};
pub use tracks::{TrackExtent, Tracks};

use cache::{DirtySectors, Segments};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_sim::Timeline;
use gordon_units::Divisor;
use gordon_units::{Bytes, Ns};
use reads::{ReadStream, WaitingRead};
use std::collections::VecDeque;
use writes::{PendingFua, WaitingWrite, WriteAck};

/// Counters of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Requests completed.
    pub requests: u64,
    /// Reads served from memory alone.
    pub cache_hits: u64,
    /// Reads that found some of their data read ahead, or being read ahead.
    pub read_ahead_hits: u64,
    /// Number of times the head was positioned.
    pub positionings: u64,
    /// Positionings that moved the arm.
    pub seeks: u64,
    /// Operations that wrote to the medium.
    pub destages: u64,
    /// Time of arm movement, head switches and settling.
    pub seek_time: Ns,
    /// Rotational wait.
    pub rotation_time: Ns,
    /// Time of reading and writing the medium, including read-ahead.
    pub transfer_time: Ns,
    /// Sectors written to the medium.
    pub sectors_destaged: u64,
}

impl DiskStats {
    /// Counters with their names; times in nanoseconds.
    pub fn counters(&self) -> [(&'static str, u64); 10] {
        [
            ("requests", self.requests),
            ("cache_hits", self.cache_hits),
            ("read_ahead_hits", self.read_ahead_hits),
            ("positionings", self.positionings),
            ("seeks", self.seeks),
            ("destages", self.destages),
            ("seek_ns", self.seek_time.0),
            ("rotation_ns", self.rotation_time.0),
            ("transfer_ns", self.transfer_time.0),
            ("sectors_destaged", self.sectors_destaged),
        ]
    }
}

/// A simulated hard disk.
#[derive(Clone, Debug)]
pub struct Disk {
    mechanics: Mechanics,
    scheduler: Scheduler,
    limits: CacheLimits,
    clock: Ns,

    /// Requests that wait for an entry in the drive's queue.
    host: VecDeque<(u64, Request)>,
    /// Number of commands in the drive.
    in_drive: u32,
    controller: Timeline,
    /// Commands in the controller, and when each leaves it.
    arriving: VecDeque<(Ns, u64, Request)>,
    link: Timeline,
    transfers: VecDeque<(Ns, LinkTransfer)>,

    segments: Segments,
    reads: Vec<WaitingRead>,
    /// Writes that wait for space in the cache, from sector `at` on.
    writes: VecDeque<WaitingWrite>,
    dirty: DirtySectors,
    /// Sectors and pieces on their way over the link into `dirty`.
    inbound: (u64, u32),
    flush: Option<u64>,
    /// Writes in the cache that are acknowledged when they are on the medium.
    pending_fua: Vec<PendingFua>,

    task: MechanismTask,
    /// If the current read begins in the middle of a track: its timing, and when its end passes
    /// next.
    arrival: Option<(ReadOnArrival, Ns)>,
    head: Head,
    /// Time up to which the segment that is read into is current.
    filled: Ns,
    /// Sector at which the transfer that just ended would continue.
    next: Option<u64>,
    /// End of the current seek; a seek cannot be aborted.
    arm_free: Ns,
    usage: Usage,
    stats: DiskStats,
}

/// Parameters of the config in the units of the simulation; amounts are in sectors.
#[derive(Clone, Copy, Debug)]
struct CacheLimits {
    queue_depth: u32,
    overhead: Ns,
    rate_per_s: Bytes,
    /// `rate_per_s` as a divisor.
    rate: Divisor,
    dirty: u64,
    extents: usize,
    /// Write-through: writes are acknowledged when they are on the medium.
    through: bool,
    zero_latency: bool,
    read_ahead: u64,
    destage: u64,
}

/// A transfer over the link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinkTransfer {
    /// The data of a read.
    Out { id: u64, cause: Cause },
    /// A piece of a write. The last piece acknowledges the write.
    In { start: u64, end: u64, acknowledges: Option<WriteAck> },
}

/// Current task of the mechanism.
#[derive(Clone, Copy, Debug)]
enum MechanismTask {
    Idle,
    /// Reads `stream` for a command.
    Read {
        read: WaitingRead,
        stream: ReadStream,
    },
    ReadAhead {
        stream: ReadStream,
    },
    /// Writes sectors `start..end`.
    Destage {
        start: u64,
        end: u64,
        since: Ns,
        begins: Ns,
        ends: Ns,
        last: Head,
    },
}

impl Disk {
    /// Creates a disk at time zero with an empty cache and its head on the outermost track.
    ///
    /// # Errors
    /// Returns an error if the config is inconsistent.
    pub fn new(config: &DiskConfig) -> Result<Self, DiskConfigError> {
        let mechanics = config.check()?;
        let (link, cache) = (&config.interface, &config.cache);
        let sectors = |bytes: Bytes| bytes.0 / SECTOR.0;
        let for_reads = sectors(*cache.size - *cache.write_limit);
        Ok(Self {
            mechanics,
            scheduler: Scheduler::new(&config.scheduler),
            limits: CacheLimits {
                queue_depth: *link.queue_depth,
                overhead: *link.overhead,
                rate_per_s: *link.rate_per_s,
                rate: Divisor::new(link.rate_per_s.0),
                dirty: sectors(*cache.write_limit),
                extents: *cache.write_extents as usize,
                through: cache.write_through,
                zero_latency: cache.zero_latency,
                read_ahead: sectors(*cache.read_ahead),
                destage: sectors(*cache.destage),
            },
            clock: Ns::ZERO,
            host: VecDeque::new(),
            in_drive: 0,
            controller: Timeline::default(),
            arriving: VecDeque::new(),
            link: Timeline::default(),
            transfers: VecDeque::new(),
            segments: Segments::new(*cache.segments, for_reads / u64::from(*cache.segments)),
            reads: Vec::new(),
            writes: VecDeque::new(),
            dirty: DirtySectors::default(),
            inbound: (0, 0),
            flush: None,
            pending_fua: Vec::new(),
            task: MechanismTask::Idle,
            arrival: None,
            head: Head::default(),
            filled: Ns::ZERO,
            next: None,
            arm_free: Ns::ZERO,
            usage: Usage::default(),
            stats: DiskStats::default(),
        })
    }

    /// Counters since the creation of the disk.
    pub fn stats(&self) -> DiskStats {
        self.stats
    }

    /// Bandwidth of the link in bytes per second.
    pub fn link_rate(&self) -> Bytes {
        self.limits.rate_per_s
    }

    /// Geometry and seek curves.
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// Accepts commands from the host's queue while the drive has free entries.
    fn accept(&mut self) {
        while self.in_drive < self.limits.queue_depth {
            let Some(&(id, request)) = self.host.front() else { return };
            let flushing = self.flush.is_some()
                || self.arriving.back().is_some_and(|(.., last)| last.op == IoOp::Flush);
            if flushing || (request.op == IoOp::Flush && self.in_drive > 0) {
                return;
            }
            self.host.pop_front();
            self.in_drive += 1;
            let ready = self.controller.reserve(self.clock, self.limits.overhead);
            self.arriving.push_back((ready, id, request));
        }
    }

    /// Starts a command that leaves the controller.
    fn begin(&mut self, id: u64, request: Request, completed: &mut Vec<Completion>) {
        let start = request.offset.0 / SECTOR.0;
        let end = start + request.len.0 / SECTOR.0;
        match request.op {
            IoOp::Read => self.begin_read(id, start, end),
            IoOp::Write => {
                self.writes.push_back(WaitingWrite {
                    id,
                    start,
                    at: start,
                    end,
                    since: self.clock,
                    through: self.limits.through || request.durable,
                });
                self.admit_writes();
            }
            IoOp::Discard => self.complete(id, Cause::Buffer, completed),
            IoOp::Flush => {
                self.flush = Some(id);
                self.finish_flush(Cause::Buffer, completed);
            }
        }
    }

    fn complete(&mut self, id: u64, cause: Cause, completed: &mut Vec<Completion>) {
        completed.push(Completion { id, at: self.clock, cause, failed: false });
        self.stats.requests += 1;
        self.in_drive -= 1;
        self.accept();
    }

    /// Completes a pending flush once no sector is dirty. All writes before the flush were
    /// acknowledged before the drive accepted it, so none is on the link.
    fn finish_flush(&mut self, cause: Cause, completed: &mut Vec<Completion>) {
        if self.dirty.sectors() == 0
            && !matches!(self.task, MechanismTask::Destage { .. })
            && let Some(id) = self.flush.take()
        {
            self.complete(id, cause, completed);
        }
    }

    fn link_time(&self, sectors: u64) -> Ns {
        let bytes = SECTOR * sectors;
        match bytes.0.checked_mul(Ns::SECOND.0) {
            Some(scaled) => Ns(self.limits.rate.ceil(scaled)),
            None => bytes.time_at(self.limits.rate_per_s),
        }
    }

    /// Positions the head on `target`. Returns when the target begins to pass.
    fn position(&mut self, target: SeekTarget, write: bool) -> Ns {
        let at = self.clock.max(self.arm_free);
        let positioning = self.mechanics.position(at, self.head, target, write);
        self.stats.positionings += 1;
        self.stats.seeks += u64::from(self.head.cylinder != target.track.cylinder);
        self.stats.seek_time += positioning.seek;
        self.stats.rotation_time += positioning.rotation;
        self.arm_free = at + positioning.seek;
        self.head = target.track;
        at + positioning.total()
    }

    /// Starts the next task of the mechanism if it is idle, or if it only reads ahead and other
    /// work waits.
    fn dispatch(&mut self) {
        let next = self.next.take();
        match self.task {
            MechanismTask::Idle => {}
            MechanismTask::ReadAhead { stream }
                if !self.reads.is_empty() || self.must_destage() =>
            {
                self.stop_read_ahead(stream);
            }
            _ => return,
        }
        let choice = self.scheduler.choose(&SchedulerInput {
            mechanics: &self.mechanics,
            at: self.clock.max(self.arm_free),
            head: self.head,
            next,
            reads: &self.reads,
            destages: self.dirty.extents(),
            destage_now: self.destage_now(),
        });
        match choice {
            Some(Choice::Read(i)) => {
                let read = self.reads.swap_remove(i);
                let free = (self.clock.max(self.arm_free), self.head);
                let Candidate { lba, target, .. } = read.candidate;
                let mut stream = self.stream(lba, target, read.end);
                if self.limits.zero_latency {
                    self.try_read_on_arrival(&read, &mut stream, free);
                }
                self.task = MechanismTask::Read { read, stream };
            }
            Some(Choice::Destage(i)) => self.destage(i),
            None => {}
        }
    }

    /// Whether there are dirty sectors and the host waits for a destage.
    fn must_destage(&self) -> bool {
        self.destage_now() && self.dirty.sectors() > 0
    }

    fn finish_task(&mut self, completed: &mut Vec<Completion>) {
        match self.task {
            MechanismTask::Idle => unreachable!("idle work has no end"),
            MechanismTask::Read { read, stream } => self.finish_read(read, stream),
            MechanismTask::ReadAhead { stream } => {
                self.account(stream);
                self.head = stream.last;
                self.segments.fill(stream.segment, stream.to);
                self.task = MechanismTask::Idle;
            }
            MechanismTask::Destage { start, end, since, begins, last, .. } => {
                self.usage.write += self.clock - since;
                self.stats.transfer_time += self.clock - begins;
                self.stats.destages += 1;
                self.stats.sectors_destaged += end - start;
                self.head = last;
                self.next = Some(end);
                self.task = MechanismTask::Idle;
                self.segments.keep(start, end);
                self.acknowledge_written(completed);
                self.admit_writes();
                self.finish_flush(Cause::Medium, completed);
            }
        }
    }

    fn task_end(&self) -> Ns {
        match &self.task {
            MechanismTask::Idle => Ns::MAX,
            MechanismTask::Read { stream, .. } | MechanismTask::ReadAhead { stream } => stream.ends,
            MechanismTask::Destage { ends, .. } => *ends,
        }
    }
}

impl Device for Disk {
    fn capacity(&self) -> Bytes {
        SECTOR * self.mechanics.geometry().sectors()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        assert!(at >= self.clock, "request {id} at {at}, the disk is at {}", self.clock);
        let next = self.next_event();
        assert!(next.is_none_or(|next| at <= next), "request {id} at {at} is past an event");
        gordon_blockio::check_range(self.capacity(), id, &request);
        self.clock = at;
        self.host.push_back((id, request));
        self.accept();
    }

    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        let waiting = self.host.iter_mut().rfind(|waiting| waiting.0 == id);
        waiting.map(|waiting| waiting.1 = request).is_some()
    }

    #[inline]
    fn next_event(&self) -> Option<Ns> {
        let transfer = self.transfers.front().map_or(Ns::MAX, |&(at, _)| at);
        let arrival = self.arriving.front().map_or(Ns::MAX, |&(at, ..)| at);
        let next = transfer.min(arrival).min(self.task_end());
        (next != Ns::MAX).then_some(next)
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let Some(at) = self.next_event() else { return };
        self.clock = at;
        if let Some(&(done, transfer)) = self.transfers.front()
            && done == at
        {
            self.transfers.pop_front();
            self.finish_transfer(transfer, completed);
        } else if self.task_end() == at {
            self.finish_task(completed);
        } else if let Some((_, id, request)) = self.arriving.pop_front() {
            self.begin(id, request, completed);
        }
        self.dispatch();
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}
