//! A drive of the 1990s, which carries out one command at a time and has a segmented buffer.
//!
//! It has the parameters by which DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger, CMU-PDL-08-101)
//! describes such drives; several of these were measured. All times are in closed form, track by
//! track: when a command starts, its end is known.
//!
//! - **Overheads** depend on the operation, on whether its data are in the buffer, and on the
//!   previous operation. The arm does not start before they are over.
//! - **Reads** cross the bus as they come off the medium, at most at the rate of the bus. After a
//!   miss the head reads ahead, up to a limit, over tracks and cylinders.
//! - **Writes** are acknowledged when they are in the buffer, if the drive supports that, and go to
//!   the medium at once; a later command waits for them.
//! - **A command during read-ahead** continues the read-ahead if it requests the sectors being
//!   read. Otherwise it stops the read-ahead at the end of the current sector or seek.
//! - **The host** queues all commands except the one in progress, and selects the next one by a
//!   [policy](crate::SchedulingPolicy). No command passes a flush.
//!
//! A trim is acknowledged and changes nothing. A flush waits for the medium.

mod buffer;
mod config;
mod media;
#[cfg(test)]
mod tests;

pub use config::{
    BufferConfig, ClassicConfig, ExtraDisconnect, HostBus, Overheads, ReadAhead, ReadWriteTimes,
};

use crate::disk::{
    Candidate, Choice, DiskConfigError, DiskStats, Head, Scheduler, SchedulerInput, ShortSkew,
};
use buffer::BufferSegments;
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_units::{Bytes, Ns};
use media::{Actuator, MediaPass, MediaStream};
use std::collections::VecDeque;

/// A command that waits at the host.
#[derive(Clone, Copy, Debug)]
struct WaitingCommand {
    id: u64,
    request: Request,
    candidate: Candidate,
}

impl AsRef<Candidate> for WaitingCommand {
    fn as_ref(&self) -> &Candidate {
        &self.candidate
    }
}

/// A simulated drive that carries out one command at a time.
#[derive(Clone, Debug)]
pub struct ClassicDisk {
    overheads: Overheads,
    bus: HostBus,
    buffer: BufferConfig,
    arm: Actuator,
    clock: Ns,
    waiting: VecDeque<WaitingCommand>,
    scheduler: Scheduler,
    /// The command in progress, with the time of its completion.
    current: Option<Completion>,
    segments: BufferSegments,
    /// The stream that reads into segment `running`, possibly ahead.
    stream: MediaStream,
    running: Option<u32>,
    /// Segment that is being written to the medium, its end, and when the write is done.
    writing: (u32, u64, Ns),
    last_read: bool,
    /// Time up to which the mechanism's reading has been counted.
    since: Ns,
    usage: Usage,
    stats: DiskStats,
}

impl ClassicDisk {
    /// Creates a drive at time zero with an empty buffer and its head on the outermost track.
    ///
    /// # Errors
    /// Returns an error if the config is inconsistent.
    pub fn new(config: &ClassicConfig) -> Result<Self, DiskConfigError> {
        let mechanics = config.check()?;
        let (seek, rotation) = (Ns::ZERO, Ns::ZERO);
        Ok(Self {
            overheads: config.overheads,
            bus: config.bus,
            buffer: config.buffer,
            arm: Actuator { mechanics, head: Head::default(), seek, rotation, passes: 0, moves: 0 },
            clock: Ns::ZERO,
            waiting: VecDeque::new(),
            scheduler: Scheduler::new(&config.scheduler),
            current: None,
            segments: BufferSegments::new(&config.buffer),
            stream: MediaStream::default(),
            running: None,
            writing: (0, 0, Ns::ZERO),
            last_read: true,
            since: Ns::ZERO,
            usage: Usage::default(),
            stats: DiskStats::default(),
        })
    }

    /// Warnings for the results: skews at which a transfer loses a revolution.
    pub fn warnings(&self) -> Vec<String> {
        let short = self.arm.mechanics.short_skews().into_iter().map(|short| {
            let ShortSkew { key, skew, read, write } = short;
            let both = if skew < read { "reads and writes" } else { "writes" };
            format!(
                "{key} is {skew} at the shortest, and a write needs {write} to get to the next track (a \
                 read {read}): sequential {both} lose a revolution there"
            )
        });
        short.collect()
    }

    /// Counters since the creation of the drive.
    pub fn stats(&self) -> DiskStats {
        DiskStats {
            positionings: self.arm.passes,
            seeks: self.arm.moves,
            seek_time: self.arm.seek,
            rotation_time: self.arm.rotation,
            ..self.stats
        }
    }

    /// Bandwidth of the bus for reads, in bytes per second.
    pub fn link_rate(&self) -> Bytes {
        Bytes((SECTOR.0 * 1_000_000_000).div_ceil(self.bus.read_sector.0.max(1)))
    }

    fn sectors(&self) -> u64 {
        self.arm.mechanics.geometry().sectors()
    }

    /// The scheduling candidate of a request.
    fn candidate(&self, request: &Request, since: Ns) -> Candidate {
        let lba = (request.offset.0 / SECTOR.0).min(self.sectors() - 1);
        Candidate { lba, target: self.arm.mechanics.aim(lba), since }
    }

    /// Removes and returns the next command.
    fn next(&mut self) -> Option<WaitingCommand> {
        let passable = self.waiting.iter().take_while(|one| one.request.op != IoOp::Flush).count();
        if passable < 2 {
            return self.waiting.pop_front();
        }
        let (all, none) = (self.waiting.make_contiguous(), &[] as &[WaitingCommand]);
        let choice = self.scheduler.choose(&SchedulerInput {
            mechanics: &self.arm.mechanics,
            // The arm does not start before the overhead has passed.
            at: self.clock + self.overheads.read_miss.get(self.last_read),
            head: self.arm.head,
            next: None,
            reads: &all[..passable],
            destages: none,
            destage_now: false,
        });
        match choice {
            Some(Choice::Read(at)) => self.waiting.remove(at),
            _ => self.waiting.pop_front(),
        }
    }

    /// Starts a command; none may be in progress.
    fn start(&mut self, id: u64, request: Request) {
        let start = request.offset.0 / SECTOR.0;
        let end = start + request.len.0 / SECTOR.0;
        let (at, cause) = match request.op {
            IoOp::Read => self.read(start, end),
            IoOp::Write => self.write(start, end),
            IoOp::Discard => (self.clock, Cause::Buffer),
            IoOp::Flush => (self.clock.max(self.writing.2), Cause::Medium),
        };
        if matches!(request.op, IoOp::Read | IoOp::Write) {
            self.last_read = request.op == IoOp::Read;
        }
        self.current = Some(Completion { id, at, cause, failed: false });
    }

    /// Updates the segment that read-ahead fills. If read-ahead continues, returns when the current
    /// sector or seek ends, and whether it is a seek.
    fn update_read_ahead(&mut self, at: Ns) -> Option<(Ns, bool)> {
        let id = self.running?;
        let limit = self.segments.get(id).limit;
        let ahead = self.buffer.read_ahead;
        let goes_on = |from: Head, to: Head| match ahead {
            ReadAhead::None | ReadAhead::Track(_) => from == to,
            ReadAhead::Cylinder(_) => from.cylinder == to.cylinder,
            ReadAhead::Sectors(_) | ReadAhead::Tracks => true,
        };
        let position = self.stream.position(at, limit, &mut self.arm, goes_on);
        self.segments.fill(id, position.reached);
        if position.step.is_none() {
            self.account(at);
        }
        position.step
    }

    /// Counts the reading time of a stream that has ended or was stopped.
    fn account(&mut self, at: Ns) {
        if let Some(id) = self.running.take() {
            let limit = self.segments.get(id).limit;
            let last = self.stream.passes.iter().rfind(|pass| pass.lead <= at);
            let end = last.map_or(at, |pass: &MediaPass| {
                pass.done(limit.min(pass.end).max(pass.first + 1) - 1)
            });
            self.usage.read += end.min(at).saturating_sub(self.since);
        }
    }

    /// Stops read-ahead. Returns for how long the arm is still occupied.
    fn stop_read_ahead(&mut self, at: Ns, (ends, seeks): (Ns, bool)) -> Ns {
        self.account(at);
        if seeks || !self.buffer.stops_at_once { ends.saturating_sub(at) } else { Ns::ZERO }
    }

    /// End of the sectors to read for a read of this range, including read-ahead.
    fn limit(&self, segment_start: u64, start: u64, end: u64) -> u64 {
        let geometry = self.arm.mechanics.geometry();
        let limit = match self.buffer.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Track(most) | ReadAhead::Cylinder(most) | ReadAhead::Sectors(most) => {
                end + most
            }
            ReadAhead::Tracks if end >= geometry.sectors() => end,
            ReadAhead::Tracks => {
                let (first, last) = geometry.track(geometry.location(end));
                let more = geometry.track_of(start).get();
                if segment_start < first { last + more } else { last }
            }
        };
        limit.min(geometry.sectors())
    }

    fn read(&mut self, start: u64, end: u64) -> (Ns, Cause) {
        let (now, o, after) = (self.clock, self.overheads, self.last_read);
        let ready = now + o.read_miss.get(after);
        let busy = self.writing.2;
        let waits = busy > now;
        let step = self.update_read_ahead(now.max(busy));
        let hit = self.segments.find(start, end, self.running);
        let whole = hit.is_some_and(|segment| segment.end >= end);
        let id = hit.map_or_else(|| self.segments.to_read(self.running), |segment| segment.id);
        let goes_on = step.is_some() && hit.is_some() && self.running == Some(id);
        let mut occupied = Ns::ZERO;
        if let Some(step) = step
            && !goes_on
        {
            occupied = self.stop_read_ahead(now.max(busy), step);
        }
        self.segments.mark_used(id);
        let segment = self.segments.get(id);
        if hit.is_none() {
            (segment.start, segment.end, segment.limit) = (start, start, 0);
        }
        (segment.valid, segment.read, segment.written) = (true, true, false);
        let (first, had, old) = (segment.start, segment.end, segment.limit);
        let limit = old.max(self.limit(first, start, end));
        self.segments.get(id).limit = limit;
        if !goes_on && (!whole || (self.buffer.read_ahead_on_hit && had < limit)) {
            let begins = ready.max(busy) + occupied;
            self.stream.start(begins, had);
            (self.running, self.since) = (Some(id), begins);
        }
        let sector = self.bus.read_sector;
        let from = if waits || (hit.is_none() && !self.bus.held) {
            let mut from = (ready + o.read_disconnect.get(after)).max(busy);
            if !whole {
                let most = (end - start).min(self.buffer.segment_sectors);
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss
                )] // sectors of a segment
                let mark = ((most as f64 * self.buffer.read_mark) as u64).max(1);
                from = from.max(self.stream.done(start + mark - 1, &mut self.arm));
            }
            from + o.reselect + o.prepare
        } else {
            let overhead = if hit.is_some() { o.read_hit } else { o.read_miss };
            now + overhead.get(after) + o.prepare
        };
        // No sector crosses the bus before it has been read; checking the first and last sector of
        // each pass suffices.
        let mut done = from + Ns(sector.0 * (end - start));
        if whole {
            self.stats.cache_hits += 1;
        } else {
            self.stats.read_ahead_hits += u64::from(hit.is_some());
            let missing = start.max(had);
            self.stream.reach(end, &mut self.arm);
            for pass in &self.stream.passes {
                let (a, b) = (pass.first.max(missing), pass.end.min(end));
                if a < b {
                    for lba in [a, b - 1] {
                        done = done.max(pass.done(lba) + Ns(sector.0 * (end - lba)));
                    }
                    self.stats.transfer_time += pass.time(b - a);
                }
            }
            self.segments.fill(id, end);
        }
        (done + o.read_completion, if whole { Cause::Buffer } else { Cause::Medium })
    }

    fn write(&mut self, start: u64, end: u64) -> (Ns, Cause) {
        let (now, o, after) = (self.clock, self.overheads, self.last_read);
        let sectors = Ns(self.bus.write_sector.0 * (end - start));
        let (id, so_far, busy) = self.writing;
        let waits = busy > now;
        let immediate = self.buffer.immediate_report;
        let overhead = o.write.get(after);
        if waits && immediate && self.buffer.join_writes && so_far == start {
            return (self.append_write(id, end, now + overhead + o.prepare), Cause::Buffer);
        }
        let step = self.update_read_ahead(now.max(busy));
        let running = self.running;
        let id = self.segments.to_write(start, end, running);
        let segment = *self.segments.get(id);
        let again = segment.written && start != segment.end && self.segments.is_latest(id);
        let extra = o.extra.filter(|_| again);
        let occupied = step.map_or(Ns::ZERO, |step| self.stop_read_ahead(now.max(busy), step));
        self.segments.mark_used(id);
        self.segments.forget(start, end, id, running);
        let (mut ready, mut bus) = (now + overhead, now + overhead + o.prepare);
        if let Some(extra) = extra {
            ready = now + extra.command + extra.seek_delta;
            bus = now + extra.command + extra.disconnect + extra.pause + o.reselect + o.prepare;
        }
        if waits {
            ready = ready.max(busy);
            bus = (ready + o.write_disconnect).max(busy) + o.reselect + o.prepare;
        }
        let valid = self.buffer.read_hits_written;
        let segment = self.segments.get(id);
        (segment.start, segment.end, segment.limit) = (start, end, 0);
        (segment.valid, segment.written, segment.read) = (valid, true, false);
        let medium = self.write_to_medium(ready + occupied, bus, start, end);
        if immediate {
            self.writing = (id, end, medium);
            return (bus + sectors + o.write_completion, Cause::Buffer);
        }
        let leave = extra.map_or(o.write_disconnect, |extra| extra.second_disconnect);
        let back = extra.map_or(o.reselect, |extra| extra.second_reselect);
        (medium.max(bus + sectors + leave) + back + o.write_completion, Cause::Medium)
    }

    /// Appends a write to the one in progress on the medium, which it directly follows.
    fn append_write(&mut self, id: u32, end: u64, bus: Ns) -> Ns {
        let start = self.writing.1;
        self.segments.mark_used(id);
        self.segments.get(id).end = end;
        let medium = self.write_to_medium(self.writing.2.max(bus), bus, start, end);
        self.writing = (id, end, medium);
        bus + Ns(self.bus.write_sector.0 * (end - start)) + self.overheads.write_completion
    }

    /// Writes a range to the medium and returns when it is done. The arm may start at `ready`, and
    /// the first sector is on the bus from `bus` on. A sector whose data arrive too late costs a
    /// revolution.
    fn write_to_medium(&mut self, ready: Ns, bus: Ns, start: u64, end: u64) -> Ns {
        let sector = self.bus.write_sector.0;
        // Drives that disconnect from the bus in between need some sectors before they begin.
        let count = end - start;
        let wanted = match self.overheads.extra {
            Some(_) if count >= 45 => 15,
            Some(_) => count.min(10),
            None => 0,
        };
        let (mut at, mut lba, mut least) = (ready, start, self.overheads.least_write_seek);
        while lba < end {
            let pass = self.arm.pass(at, lba, true, least);
            least = Ns::ZERO;
            let turn = pass.time(pass.held);
            let last = pass.end.min(end);
            let mut begins = pass.begins;
            while lba < last {
                let came = bus + Ns(sector * (lba + 1 - start).max(wanted));
                if begins < came {
                    begins += turn * (came - begins).0.div_ceil(turn.0.max(1));
                    continue;
                }
                // Number of sectors whose data arrive before the head does.
                let mut pass_over = last - lba;
                let each = pass.time(1).0;
                if sector > each {
                    let slack = (begins - (bus + Ns(sector * (lba + 1 - start)))).0;
                    pass_over = pass_over.min(slack / (sector - each) + 1);
                }
                begins += pass.time(pass_over);
                lba += pass_over;
                at = begins;
            }
            self.stats.transfer_time += pass.time(last - pass.first);
        }
        self.stats.destages += 1;
        self.stats.sectors_destaged += count;
        self.usage.write += at.saturating_sub(ready);
        at
    }
}

impl Device for ClassicDisk {
    fn capacity(&self) -> Bytes {
        SECTOR * self.sectors()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        assert!(at >= self.clock, "request {id} at {at}, the disk is at {}", self.clock);
        gordon_blockio::check_range(self.capacity(), id, &request);
        self.clock = at;
        if self.current.is_none() {
            // No command waits.
            self.start(id, request);
        } else {
            let candidate = self.candidate(&request, at);
            self.waiting.push_back(WaitingCommand { id, request, candidate });
        }
    }

    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        let Some(at) = self.waiting.iter().rposition(|waiting| waiting.id == id) else {
            return false;
        };
        let candidate = self.candidate(&request, self.waiting[at].candidate.since);
        self.waiting[at] = WaitingCommand { id, request, candidate };
        true
    }

    fn next_event(&self) -> Option<Ns> {
        self.current.map(|current| current.at)
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        if let Some(current) = self.current.take() {
            self.clock = current.at;
            self.stats.requests += 1;
            completed.push(current);
            if let Some(WaitingCommand { id, request, .. }) = self.next() {
                self.start(id, request);
            }
        }
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}
