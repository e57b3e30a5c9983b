//! The controller of a classic drive: how commands get segments, the arm and the bus.
//!
//! A command *has the arm* from the start of its access until it is completed; then the head may
//! read ahead for nobody, until a command takes the arm. `attach` binds a command to a segment,
//! `give_arm` starts the next access, `transfer` decides what crosses the bus.

use super::ClassicDisk;
use super::buffer::{Hit, SegmentUse};
use super::bus::BusStep;
use super::config::{ReadAhead, WriteJoin};
use super::media::{DataArrival, MediaPass, Room};
use super::queue::{ArmState, QueuedCommand};
use crate::disk::Head;
use gordon_blockio::{Cause, Completion};
use gordon_units::Ns;

/// A command in the drive.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // independent facts about a command
pub(super) struct Command {
    id: u64,
    write: bool,
    start: u64,
    end: u64,
    /// Time when its overhead has passed, so the arm may start.
    ready: Ns,
    hit: Hit,
    segment: Option<usize>,
    /// The next sector to cross the bus.
    sent: u64,
    /// Sectors that make the drive reconnect.
    mark: u64,
    /// Whether it makes an extra disconnection.
    extra: bool,
    /// Whether it has or had the arm.
    on_arm: bool,
    /// Whether all sectors of a write are on the medium.
    on_medium: bool,
    /// Whether its completion was reported, and whether the report has ended.
    reported: bool,
    done: bool,
}

/// An access of the head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    segment: usize,
    /// The command that has the arm; none while the head reads ahead for nobody.
    command: Option<usize>,
    writes: bool,
    /// Whether the head reads, and has not reached its limit.
    reads: bool,
}

impl ClassicDisk {
    /// Time of the next step.
    #[inline]
    pub(super) fn next_step(&self) -> Option<Ns> {
        let mut at = self.media_at.unwrap_or(Ns::MAX);
        if let Some((end, ..)) = self.bus.step {
            at = at.min(end);
        }
        if let Some((end, _)) = self.bus.pause {
            at = at.min(end);
        }
        if let Some((arrives, _)) = self.arriving.front()
            && let Some(free) = self.bus.free_from()
        {
            at = at.min((*arrives).max(self.now).max(free));
        }
        (at < Ns::MAX).then_some(at)
    }

    /// Carries out the next step; returns the command that it completes.
    pub(super) fn proceed(&mut self) -> Option<Completion> {
        let at = self.next_step()?;
        self.now = at;
        let mut done = None;
        if self.media_at == Some(at) {
            self.media_step();
        } else if let Some((end, step, key)) = self.bus.step
            && end == at
        {
            self.bus.step = None;
            match step {
                BusStep::Contact => self.transfer(key),
                BusStep::Transfer { sectors, .. } => self.transferred(key, sectors),
                BusStep::Leave => self.left(key),
                BusStep::Complete => done = Some(self.completed(key)),
            }
        } else if let Some((end, key)) = self.bus.pause
            && end == at
        {
            self.bus.pause = None;
            self.use_bus(Some(key));
        } else if let Some((_, key)) = self.arriving.pop_front() {
            self.interrupt_transfer();
            self.begin(key);
        }
        self.media_at = self.next_media();
        done
    }

    /// Proceeds until a completion is the next step of the bus, if the drive has one command only:
    /// nothing can happen before.
    pub(super) fn run_ahead(&mut self) {
        if self.length > 1 || self.outstanding == 0 {
            return;
        }
        while !matches!(self.bus.step, Some((_, BusStep::Complete, _))) {
            let before = self.now;
            self.proceed();
            debug_assert!(self.next_step().is_some(), "a command is stuck since {before}");
        }
    }

    /// Writes all data to the medium; returns when this is done.
    pub(super) fn write_out(&mut self) -> Ns {
        while self.segments.dirty() > 0 {
            assert!(self.next_step().is_some(), "a write of the drive gets nowhere");
            self.proceed();
        }
        self.now
    }

    /// Takes the bus from a command that waits for the medium.
    fn interrupt_transfer(&mut self) {
        let Some((_, BusStep::Transfer { .. }, key)) = self.bus.step else { return };
        self.advance_read();
        let command = &mut self.commands[key];
        let Some(at) = command.segment else { return };
        command.sent = command.sent.max(self.segments.get(at).end.min(command.end - 1));
        (self.bus.step, self.bus.current) = (None, None);
        self.bus.waiting.push(key);
    }

    /// Accepts a command from the host.
    pub(super) fn arrive(&mut self, id: u64, write: bool, start: u64, end: u64) {
        let command = Command { id, write, start, end, sent: start, ..Command::default() };
        let key = match self.free.pop() {
            Some(key) => {
                self.commands[key] = command;
                key
            }
            None => {
                self.commands.push(command);
                self.commands.len() - 1
            }
        };
        self.arriving.push_back((self.clock + self.overheads.command, key));
    }

    /// Begins to process a command, which has the bus.
    fn begin(&mut self, key: usize) {
        self.advance_read();
        let Command { write, start, end, .. } = self.commands[key];
        let target = self.queue.looks_at_places().then(|| self.arm.mechanics.aim(start));
        let queued = QueuedCommand { key, start, end, write, target, since: self.now };
        self.queue.waiting.push(queued);
        let found = self.find(key);
        if write { self.begin_write(key, found) } else { self.begin_read(key, found) }
    }

    fn begin_read(&mut self, key: usize, (hit, segment): (Hit, Option<usize>)) {
        let (now, after) = (self.now, self.last_read);
        let miss = self.overheads.read_miss.get(after);
        self.commands[key].ready = now + miss;
        let enough = match (hit, segment) {
            (Hit::Whole, _) => true,
            (Hit::Partial, _) if self.buffer.partial_hits_at_once => true,
            (Hit::Partial, Some(at)) => {
                let Command { start, end, .. } = self.commands[key];
                let count = end - start;
                let mark = self.mark(count, self.buffer.read_mark).min(count);
                self.segments.get(at).end >= start + mark.max(1)
            }
            _ => false,
        };
        if self.link.held || enough && self.bus_is_free_for(key, hit, segment) {
            let o = &self.overheads;
            let overhead = if hit == Hit::Miss { miss } else { o.read_hit.get(after) };
            let at = now + overhead + o.prepare;
            self.contact(key, at, (hit, segment));
        } else {
            let leave = self.overheads.read_disconnect.get(after);
            self.bus.begin(now + miss + leave, BusStep::Leave, key);
            self.activate(key, (hit, segment), false);
        }
    }

    fn begin_write(&mut self, key: usize, (hit, segment): (Hit, Option<usize>)) {
        let (now, o) = (self.now, self.overheads);
        let overhead = o.write.get(self.last_read);
        self.commands[key].ready = now + overhead;
        let extra = o.extra.filter(|_| {
            let start = self.commands[key].start;
            self.bus.pause.is_none()
                && segment.is_some_and(|at| {
                    let latest = self.segments.is_latest(at);
                    let segment = self.segments.get(at);
                    latest && segment.written && start != segment.end
                })
        });
        if self.link.held || segment.is_some() && self.bus_is_free_for(key, hit, segment) {
            let Some(extra) = extra else {
                return self.contact(key, now + overhead + o.prepare, (hit, segment));
            };
            let command = &mut self.commands[key];
            (command.ready, command.extra) = (now + extra.command + extra.seek_delta, true);
            self.bus.current = Some(key);
            self.bus.begin(now + extra.command + extra.disconnect, BusStep::Leave, key);
            self.bus.pause = Some((Ns::MAX, key));
            self.attach(key, hit, segment);
            self.activate(key, (hit, segment), true);
        } else {
            self.bus.begin(now + overhead + o.write_disconnect, BusStep::Leave, key);
            self.activate(key, (hit, segment), false);
        }
    }

    /// Whether a command that has just arrived may use the bus at once.
    fn bus_is_free_for(&mut self, key: usize, hit: Hit, segment: Option<usize>) -> bool {
        self.bus.current.is_none()
            && self.bus.waiting.is_empty()
            && (self.access.is_none() || self.may_stop(key, hit, segment))
    }

    /// Keeps the bus for a command that has just arrived.
    fn contact(&mut self, key: usize, at: Ns, (hit, segment): (Hit, Option<usize>)) {
        self.bus.current = Some(key);
        self.bus.begin(at, BusStep::Contact, key);
        self.attach(key, hit, segment);
        self.activate(key, (hit, segment), true);
    }

    /// Number of sectors of a mark, for a command of `count` sectors.
    fn mark(&self, count: u64, share: f64) -> u64 {
        let size = self.buffer.segment_sectors;
        let of = if self.buffer.marks_of_segment { size } else { count.min(size) };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // sectors of a segment
        let mark = of as f64 * share;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        if self.buffer.marks_of_segment { mark.ceil() as u64 } else { (mark as u64).max(1) }
    }

    /// What a command finds in the buffer, and the segment for it.
    fn find(&mut self, key: usize) -> (Hit, Option<usize>) {
        let Command { write, start, end, .. } = self.commands[key];
        let ahead = match self.access {
            Some(Access { segment, command: None, writes: false, .. })
                if self.segments.get(segment).commands == 0 =>
            {
                Some(segment)
            }
            _ => None,
        };
        let (hit, segment, last) = if write {
            self.segments.find_for_write(start, end, ahead)
        } else {
            self.segments.find_for_read(start, end, ahead)
        };
        if last && !self.may_stop(key, hit, segment) { (Hit::Miss, None) } else { (hit, segment) }
    }

    /// Whether the arm can serve a command that waits.
    fn is_ready(&mut self, key: usize) -> bool {
        let Command { write, start, end, segment, .. } = self.commands[key];
        let (hit, segment) = match segment {
            Some(at) => (self.commands[key].hit, Some(at)),
            None => self.find(key),
        };
        let Some(at) = segment else { return false };
        let size = self.buffer.segment_sectors;
        let segment = self.segments.get(at);
        if write {
            let first = segment.unwritten;
            hit != Hit::Append || start == first || end - first <= size
        } else {
            !matches!(segment.state, SegmentUse::Dirty | SegmentUse::Writing)
        }
    }

    /// The command that the arm should serve next.
    fn best(&mut self) -> Option<usize> {
        let mut ready = 0u64;
        let mut whole = 0u64;
        let mut partial = 0u64;
        let mut first = None;
        for at in 0..self.queue.waiting.len().min(64) {
            let key = self.queue.waiting[at].key;
            if self.is_ready(key) {
                ready |= 1 << at;
                if self.queue.in_order() {
                    return Some(key);
                }
                first = first.or(Some(key));
                if self.queue.looks_at_hits() {
                    match self.find(key).0 {
                        Hit::Whole | Hit::Append => whole |= 1 << at,
                        Hit::Partial => partial |= 1 << at,
                        _ => (),
                    }
                }
            }
        }
        if ready.count_ones() < 2 {
            return first;
        }
        let arm = ArmState {
            mechanics: &self.arm.mechanics,
            head: self.arm.head,
            now: self.now,
            turned: self.last_turned(),
            least_write_seek: self.overheads.least_write_seek,
        };
        self.queue.choose(&arm, ready, (whole, partial))
    }

    /// Time of the last sector boundary that the head has passed on its track.
    fn last_turned(&self) -> Ns {
        let last = match self.access {
            Some(Access { writes: true, .. }) => {
                (self.writing.located <= self.now).then_some(self.now)
            }
            _ => self.reading.last_boundary(self.now),
        };
        last.unwrap_or(Ns::ZERO).max(self.turned)
    }

    /// Whether the access in progress can be stopped for a command, or continued by it. If it can
    /// be stopped, the head stops reading.
    fn may_stop(&mut self, key: usize, hit: Hit, segment: Option<usize>) -> bool {
        let Some(access) = self.access else { return true };
        let Command { write, start, end, .. } = self.commands[key];
        let here = segment == Some(access.segment);
        let (ends, hits_next) = (self.buffer.writes_end_read_ahead, self.buffer.hits_next_sector);
        let keeps = self.buffer.keeps_data;
        let running = self.segments.get(access.segment);
        if access.writes {
            return hit == Hit::Append
                && here
                && running.end == start
                && (self.buffer.join == WriteJoin::Always || self.queue.waiting.len() == 1)
                && self.best().is_none_or(|best| best == key);
        }
        let inside = !write && here && start >= running.start;
        let short = running.end < running.least;
        if access.command.is_some() && short && !(inside && start <= running.end) {
            return false;
        }
        let cut = write && ends && running.overlaps(start, end);
        if inside && keeps && (start < running.end || hits_next && start == running.end) {
            return self.best().is_none_or(|best| best == key);
        }
        let running = self.segments.get(access.segment);
        if let Some(command) = access.command {
            if cut {
                let end = running.end.max(self.commands[command].end);
                (running.limit, running.least) = (end, end);
            }
            return false;
        }
        if running.end < running.least && !cut {
            running.limit = running.least;
            return false;
        }
        self.stop_head();
        true
    }

    /// Binds a command to a segment.
    fn attach(&mut self, key: usize, hit: Hit, segment: Option<usize>) {
        let Some(at) = segment else { return };
        let Command { write, start, end, .. } = self.commands[key];
        self.segments.mark_used(at);
        let share = if write { self.buffer.write_mark } else { self.buffer.read_mark };
        let mark = self.mark(end - start, share);
        let command = &mut self.commands[key];
        (command.segment, command.hit, command.mark) = (Some(at), hit, mark);
        if write {
            self.segments.forget(start, end, at);
        }
        self.attached = self.now;
        let segment = self.segments.get(at);
        segment.commands += 1;
        if write {
            segment.writes_end = end;
        }
    }

    /// Prepares the segment of a command that found nothing in it.
    fn take_over(&mut self, key: usize) {
        let Command { write, start, hit, segment: Some(at), .. } = self.commands[key] else {
            return;
        };
        if hit != Hit::Miss || self.commands[key].on_arm {
            return;
        }
        let segment = self.segments.get(at);
        (segment.start, segment.end, segment.limit, segment.least) = (start, start, 0, 0);
        (segment.written, segment.read) = (write, !write);
        segment.unwritten = start;
        segment.state = if write { SegmentUse::Dirty } else { SegmentUse::Clean };
    }

    /// Stops read-ahead for a command if possible, and gives the arm to it. A segment that was
    /// found but not `attached` is forgotten if the arm is not free.
    fn activate(&mut self, key: usize, (hit, segment): (Hit, Option<usize>), attached: bool) {
        let dirty = |disk: &mut Self| {
            segment.is_some_and(|at| disk.segments.get(at).state == SegmentUse::Dirty)
        };
        if let Some(access) = self.access
            && hit != Hit::Collision
            && (self.commands[key].write || !dirty(self))
            && self.may_stop(key, hit, segment)
        {
            let here = segment == Some(access.segment);
            if !here || hit == Hit::Miss {
                self.stop_read_ahead();
            } else if hit != Hit::Append {
                self.hand_over(key);
            }
        }
        if !attached && self.access.is_none() {
            self.attach(key, hit, segment);
        }
        if hit != Hit::Collision {
            self.take_over(key);
            self.give_arm(Some(key), attached);
        }
    }

    /// Stops the head, which reads ahead; the current seek or sector still occupies the arm.
    fn stop_head(&mut self) {
        let Some(Access { reads: true, .. }) = self.access else { return };
        if self.head_step.0 != self.now {
            self.advance_read();
        }
        let Some((ends, seeks)) = self.head_step.1 else { return };
        self.turned = self.reading.last_boundary(self.now).unwrap_or(self.turned);
        self.account(self.now);
        if seeks || !self.buffer.stops_at_once {
            self.arm_busy = ends;
        }
        if let Some(access) = &mut self.access {
            access.reads = false;
        }
    }

    /// Ends an access for nobody.
    fn stop_read_ahead(&mut self) {
        self.stop_head();
        if let Some(access) = self.access.take() {
            self.free_segment(access.segment);
        }
    }

    /// Sets the use of a segment that the head has left.
    fn free_segment(&mut self, at: usize) {
        let keeps = self.buffer.keeps_data;
        let segment = self.segments.get(at);
        let used = keeps || segment.commands > 0;
        segment.state = if used { SegmentUse::Clean } else { SegmentUse::Empty };
    }

    /// Frees the arm for a command that hits what the head reads.
    fn hand_over(&mut self, key: usize) {
        let Some(access) = self.access else { return };
        let end = self.segments.get(access.segment).end;
        let may = access.command.is_none_or(|old| {
            let old = &self.commands[old];
            end >= old.end && old.start < self.commands[key].start
        });
        if may {
            self.handed = access.reads.then_some(access.segment);
            self.access = None;
        }
    }

    /// End of the sectors to read for a read, including read-ahead.
    fn read_limit(&self, segment_start: u64, start: u64, end: u64) -> u64 {
        let geometry = self.arm.mechanics.geometry();
        let buffer = &self.buffer;
        let limit = match buffer.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Tracks if end >= geometry.sectors() => end,
            ReadAhead::Tracks => {
                let (first, last) = geometry.track(geometry.location(end));
                let more = geometry.track_of(start).get();
                if segment_start < first { last + more } else { last }
            }
            ReadAhead::Track(_) | ReadAhead::Cylinder(_) | ReadAhead::Sectors(_)
                if buffer.read_ahead_keeps_read =>
            {
                let room = buffer.segment_sectors.saturating_sub(end - start);
                end + if room < buffer.least_read_ahead { buffer.least_read_ahead } else { room }
            }
            ReadAhead::Track(most) | ReadAhead::Cylinder(most) | ReadAhead::Sectors(most) => {
                end + most
            }
        };
        limit.min(geometry.sectors())
    }

    /// Starts the next access if the arm is free: that of `wanted` if it is ready, or the best of
    /// the queue.
    fn give_arm(&mut self, wanted: Option<usize>, bus_is_busy: bool) {
        if self.access.is_some() {
            return;
        }
        let wanted = wanted.filter(|&key| self.is_ready(key));
        let Some(key) = wanted.or_else(|| self.best()) else { return };
        if self.commands[key].segment.is_none() {
            let (hit, segment) = self.find(key);
            if segment.is_none() {
                return;
            }
            self.attach(key, hit, segment);
        }
        self.take_over(key);
        self.queue.take(key, &self.arm.mechanics);
        let Command { write, segment: Some(segment), .. } = self.commands[key] else { return };
        self.commands[key].on_arm = true;
        let reads = self.handed.take() == Some(segment);
        self.access = Some(Access { segment, command: Some(key), writes: write, reads });
        if write {
            self.start_write(key, segment)
        } else {
            self.start_read(key, segment)
        }
        if !bus_is_busy && self.bus.pause.is_none_or(|(_, paused)| paused != key) {
            self.use_bus(Some(key));
        }
        if !write && !self.queue.waiting.is_empty() {
            self.try_next();
        }
    }

    /// Time when the arm may start for a command.
    fn arm_starts(&self, key: usize) -> Ns {
        let later = |at: Ns| at.saturating_sub(self.now);
        self.now + later(self.commands[key].ready) + later(self.arm_busy)
    }

    fn start_read(&mut self, key: usize, at: usize) {
        let Command { start, end, sent, .. } = self.commands[key];
        let sectors = self.sectors();
        let first = self.segments.get(at).start;
        let limit = self.read_limit(first, start, end);
        let least = (end + self.buffer.least_read_ahead).min(sectors);
        let segment = self.segments.get(at);
        segment.limit = segment.limit.max(limit);
        segment.least = segment.least.max(least);
        (segment.written, segment.read, segment.state) = (false, true, SegmentUse::Reading);
        let had = segment.end;
        let missing = had < end || segment.start > sent;
        let ahead = self.buffer.read_ahead_on_hit && had < segment.limit;
        if !missing {
            self.stats.cache_hits += 1;
        } else if had > start || self.commands[key].hit == Hit::Partial {
            self.stats.read_ahead_hits += 1;
        }
        let begins = self.arm_starts(key);
        let Some(access) = &mut self.access else { return };
        if !access.reads && (missing || ahead) {
            access.reads = true;
            self.reading.start(begins, had);
            self.since = begins;
        }
        if missing {
            self.reading.reach(end, &mut self.arm);
            self.arm.transfer += self.reading.transfer_time(had.max(start), end);
        }
    }

    fn start_write(&mut self, key: usize, at: usize) {
        let begins = self.arm_starts(key);
        let Command { start, hit, .. } = self.commands[key];
        let segment = self.segments.get(at);
        let goes_on = hit == Hit::Append
            && segment.written
            && self.writing.next == start
            && self.writing.at == self.now;
        (segment.written, segment.read, segment.state) = (true, false, SegmentUse::Writing);
        let least = if goes_on { Ns::ZERO } else { self.overheads.least_write_seek };
        self.writing.start(begins, start, least);
        self.plan_write();
    }

    /// Plans the write in progress as far as its data are known.
    fn plan_write(&mut self) {
        let Some(Access { segment: at, command: Some(key), writes: true, .. }) = self.access else {
            return;
        };
        let Command { start, end, done, .. } = self.commands[key];
        let segment = *self.segments.get(at);
        let mut arrival = DataArrival {
            held: segment.end,
            end: segment.end,
            begins: Ns::ZERO,
            sector: self.link.write_sector,
            wanted: 0,
        };
        if let Some((_, BusStep::Transfer { begins, sectors, .. }, other)) = self.bus.step
            && self.commands[other].segment == Some(at)
        {
            let sent = self.commands[other].sent;
            (arrival.held, arrival.end, arrival.begins) = (sent, sent + sectors, begins);
        }
        // Drives that disconnect from the bus in between need some sectors before they begin.
        let count = end - start;
        arrival.wanted = match self.overheads.extra {
            Some(_) if done => 0,
            Some(_) if count >= 45 => 15,
            Some(_) => count.min(10),
            None => 0,
        };
        let until = if done { arrival.end } else { arrival.end.min(end) };
        let how = (done, self.buffer.writes_on_arrival);
        self.writing.run(until, &arrival, how, &mut self.arm);
    }

    /// The first sector of a segment that is not on the medium.
    fn unwritten(&mut self, at: usize) -> u64 {
        if let Some(Access { segment, writes: true, .. }) = self.access
            && segment == at
        {
            let reached = self.writing.reached(self.now);
            self.segments.get(at).unwritten = reached;
        }
        self.segments.get(at).unwritten
    }

    /// Updates the segment that the head reads into. If the head continues, returns when the
    /// current sector or seek ends, and whether it is a seek.
    fn advance_read(&mut self) -> Option<(Ns, bool)> {
        self.head_step = (self.now, None);
        let Some(access @ Access { writes: false, .. }) = self.access else { return None };
        let mut step = None;
        if access.reads {
            let limit = self.segments.get(access.segment).limit;
            let position = self.reading_position(self.now, limit);
            self.segments.fill(access.segment, position.0);
            self.segments.drop_before(access.segment, self.reading.seen(self.now));
            step = position.1;
            if step.is_none() {
                self.turned = self.reading.last_boundary(self.now).unwrap_or(self.turned);
                self.account(self.now);
                self.access = Some(Access { reads: false, ..access });
            }
        }
        if step.is_none() && access.command.is_none() {
            self.access = None;
            self.free_segment(access.segment);
        }
        self.head_step.1 = step;
        step
    }

    /// The first sector that the head has not read at a time, and its step.
    fn reading_position(&mut self, at: Ns, limit: u64) -> (u64, Option<(Ns, bool)>) {
        let ahead = self.buffer.read_ahead;
        let goes_on = |from: Head, to: Head| match ahead {
            ReadAhead::None | ReadAhead::Track(_) => from == to,
            ReadAhead::Cylinder(_) => from.cylinder == to.cylinder,
            ReadAhead::Sectors(_) | ReadAhead::Tracks => true,
        };
        let position = self.reading.position(at, limit, &mut self.arm, goes_on);
        (position.reached, position.step)
    }

    /// Counts the reading time of a stream that has ended or was stopped.
    fn account(&mut self, at: Ns) {
        let Some(access) = self.access else { return };
        let limit = self.segments.get(access.segment).limit;
        let last = self.reading.passes.iter().rfind(|pass| pass.lead <= at);
        let end = last
            .map_or(at, |pass: &MediaPass| pass.done(limit.min(pass.end).max(pass.first + 1) - 1));
        self.usage.read += end.min(at).saturating_sub(self.since);
    }

    /// Gives the arm to the best waiting command if it may stop or continue the read-ahead.
    fn try_next(&mut self) {
        if let Some(key) = self.best() {
            match self.commands[key].segment {
                Some(at) => self.activate(key, (self.commands[key].hit, Some(at)), true),
                None => {
                    let found = self.find(key);
                    self.activate(key, found, false);
                }
            }
        }
    }

    /// Time when the head reaches a point that somebody waits for.
    fn next_media(&mut self) -> Option<Ns> {
        let access = self.access?;
        let segment = *self.segments.get(access.segment);
        match access.command {
            Some(key) if access.writes => {
                let Command { start, end, sent, mark, done, on_medium, .. } = self.commands[key];
                if on_medium {
                    return None;
                }
                if done || sent == end && self.writing.next >= end {
                    return Some(self.writing.at.max(self.now));
                }
                if self.bus.held && self.bus.current == Some(key) {
                    return Some(self.writing.done(self.writing.reached(self.now)));
                }
                if sent == start || sent == end || !self.bus.waits(key) {
                    return None;
                }
                // The drive reconnects when no more than the mark is to be written.
                let at = self.writing.done(segment.end.saturating_sub(mark + 1));
                (at > self.now).then_some(at)
            }
            Some(key) => {
                let Command { sent, end, mark, .. } = self.commands[key];
                let to = match self.bus.waits(key) {
                    true => end.min(sent + mark.max(1)),
                    false if self.bus.held && self.bus.current == Some(key) => sent + 1,
                    false => return None,
                };
                if segment.end >= to {
                    return None;
                }
                let at = self.reading.done(to - 1, &mut self.arm);
                (at > self.now).then_some(at)
            }
            None if self.queue.waiting.is_empty() || !access.reads => None,
            None => {
                let to = if segment.end < segment.least { segment.least } else { segment.limit };
                let (mut at, limit) = (self.now, segment.limit);
                // The head may end its reading before, at the end of a track or cylinder.
                while let (reached, Some((ends, _))) = self.reading_position(at, limit) {
                    if reached >= to {
                        break;
                    }
                    let pass = self.reading.passes.iter().rfind(|pass| pass.lead <= at);
                    at = pass.map_or(ends, |pass| pass.done(pass.end.min(to) - 1)).max(ends);
                }
                self.reading_position(self.now, limit);
                Some(at)
            }
        }
    }

    /// Continues at a point of the access that somebody waits for.
    fn media_step(&mut self) {
        let Some(access) = self.access else { return };
        let Some(key) = access.command else {
            match self.advance_read() {
                None => self.give_arm(None, false),
                Some(_) => self.try_next(),
            }
            return;
        };
        if access.writes {
            let Command { end, done, .. } = self.commands[key];
            if self.writing.at <= self.now && (done || self.writing.next >= end) {
                self.written(key, access.segment);
                return;
            }
        } else {
            self.advance_read();
        }
        self.use_bus(Some(key));
    }

    /// Ends an access that writes.
    fn written(&mut self, key: usize, at: usize) {
        let writing = &self.writing;
        self.stats.destages += 1;
        self.stats.sectors_destaged += writing.next - writing.first;
        self.usage.write += writing.at.saturating_sub(writing.begins);
        self.turned = writing.at;
        self.segments.get(at).unwritten = writing.next;
        self.commands[key].on_medium = true;
        if self.commands[key].done {
            self.release_write(key, at);
        } else {
            self.use_bus(Some(key));
        }
    }

    /// Frees the arm after a write that was completed and is on the medium.
    fn release_write(&mut self, key: usize, at: usize) {
        self.access = None;
        let end = self.commands[key].end;
        self.free.push(key);
        let joined = self.queue.waiting.iter().find(|one| {
            let other = &self.commands[one.key];
            other.write && other.segment == Some(at)
        });
        let joined = joined.map(|one| (one.key, one.start));
        let keeps = self.buffer.keeps_data && self.buffer.read_hits_written;
        let segment = self.segments.get(at);
        segment.commands -= 1;
        let mut next = None;
        if let Some((key, start)) = joined {
            segment.state = SegmentUse::Dirty;
            segment.unwritten = start;
            next = (self.buffer.join == WriteJoin::Alone && start == end).then_some(key);
        } else if keeps || segment.commands > 0 {
            segment.state = SegmentUse::Clean;
        } else {
            segment.state = SegmentUse::Empty;
        }
        self.give_arm(next, false);
    }

    /// Whether a command needs the bus, to transfer data or to be completed.
    fn needs_bus(&mut self, key: usize) -> bool {
        let Command { write, start, end, hit, segment, sent, mark, reported, on_medium, .. } =
            self.commands[key];
        let Some(at) = segment else { return false };
        if reported {
            return false;
        }
        if write {
            let unwritten = self.unwritten(at);
            let to_write = self.segments.get(at).end.saturating_sub(unwritten);
            let room = to_write < self.buffer.segment_sectors;
            let holds = self.segments.get(at).end == sent;
            return on_medium
                || sent == start && hit != Hit::Append
                || holds && sent < end && room && (to_write <= mark || self.bus.held);
        }
        let held = self.bus.held;
        let segment = self.segments.get(at);
        segment.end > sent
            && segment.start <= sent
            && (segment.end >= end || segment.end - sent >= mark || held)
    }

    /// Starts to use the bus for a command if it needs it: for `only`, or for any.
    fn use_bus(&mut self, only: Option<usize>) {
        // A command that has arrived gets the bus first.
        let arrived = self.arriving.front().is_some_and(|(at, _)| *at <= self.now);
        if self.bus.step.is_some() || arrived && !self.bus.held {
            return;
        }
        let key = match (only, self.bus.current) {
            (Some(key), current) if current.is_none_or(|current| current == key) => key,
            (Some(_), _) => return,
            (None, Some(current)) => current,
            (None, None) => {
                if self.reading.begun(self.now) {
                    self.advance_read();
                }
                let Some(key) = self.next_for_bus() else { return };
                key
            }
        };
        if !self.needs_bus(key) {
            return;
        }
        if self.bus.held {
            self.bus.held = false;
            self.transfer(key);
            return;
        }
        self.bus.waiting.retain(|&waiting| waiting != key);
        self.bus.current = Some(key);
        let o = &self.overheads;
        let first = match self.bus.pause {
            Some((_, paused)) if paused == key => true,
            _ => !self.commands[key].extra,
        };
        let back = match o.extra {
            Some(extra) if !first => extra.second_reselect,
            _ => o.reselect,
        };
        let data = self.commands[key].sent < self.commands[key].end;
        let prepare = if data { o.prepare } else { Ns::ZERO };
        self.bus.begin(self.now + back + prepare, BusStep::Contact, key);
    }

    /// The command that has left the bus and needs it first.
    fn next_for_bus(&mut self) -> Option<usize> {
        let mut best: Option<(u32, usize)> = None;
        for at in (0..self.bus.waiting.len()).rev() {
            let key = self.bus.waiting[at];
            let command = self.commands[key];
            let rank = if command.on_arm {
                let has_arm = self.access.is_some_and(|access| access.command == Some(key));
                if has_arm { 9 } else { 10 }
            } else if self.buffer.join == WriteJoin::Alone && command.hit == Hit::Append {
                7
            } else {
                continue;
            };
            if best.is_none_or(|(most, _)| rank >= most) && self.needs_bus(key) {
                best = Some((rank, key));
            }
        }
        best.map(|(_, key)| key)
    }

    /// Transfers the data of a command that has the bus, or completes it, or leaves the bus.
    fn transfer(&mut self, key: usize) {
        let Command { write, end, segment, sent, mark, on_medium, .. } = self.commands[key];
        let Some(at) = segment else {
            // The drive never disconnects; the command waits for the arm.
            self.bus.held = true;
            return;
        };
        let link = self.link;
        if write {
            if sent == end && (on_medium || self.buffer.immediate_report) {
                return self.complete(key);
            }
            let to_write = sent - self.unwritten(at);
            let count = (end - sent).min(self.buffer.segment_sectors.saturating_sub(to_write));
            if count > 0 {
                let until = self.now + Ns(link.write_sector.0 * count);
                let step = BusStep::Transfer { begins: self.now, sectors: count, gaps: Ns::MAX };
                self.bus.begin(until, step, key);
                self.segments.get(at).transfers = true;
                self.plan_write();
            } else if sent < end && (link.held || link.held_in_writes) {
                self.bus.held = true;
            } else {
                let leave = match self.overheads.extra {
                    Some(extra) if self.commands[key].extra => extra.second_disconnect,
                    _ => self.overheads.write_disconnect,
                };
                self.bus.begin(self.now + leave, BusStep::Leave, key);
            }
            return;
        }
        if sent >= end {
            return self.complete(key);
        }
        let holds = link.held || link.held_in_reads;
        let (now, count) = (self.now, end - sent);
        let unbroken = now + Ns(link.read_sector.0 * count);
        let had = self.segments.get(at).end;
        let delivered = |disk: &mut Self, had| {
            let sectors = (sent, had, end);
            disk.reading.delivered(now, sectors, link.read_sector, &mut disk.arm)
        };
        // All sectors cross the bus now if it costs nothing to wait for some of them, or none has
        // to be waited for; else those that the head has read.
        let all =
            holds || self.free_to_leave(mark) || had >= end || delivered(self, had) == unbroken;
        self.make_room(key, at, if all { count } else { had.saturating_sub(sent) });
        if !all || self.length > 1 {
            self.advance_read();
        }
        let had = self.segments.get(at).end;
        let step = |sectors, gaps| BusStep::Transfer { begins: now, sectors, gaps };
        if all {
            let until = delivered(self, had);
            let held = holds || until == unbroken || self.length == 1;
            let gaps = if held { Ns::MAX } else { self.caught_up(sent) };
            self.bus.begin(until, step(count, gaps), key);
        } else if had > sent {
            let had = had.min(end);
            let until = now + Ns(link.read_sector.0 * (had - sent));
            self.bus.begin(until, step(had - sent, Ns::MAX), key);
        } else {
            let leave = self.overheads.read_disconnect.get(self.last_read);
            self.bus.begin(now + leave, BusStep::Leave, key);
        }
    }

    /// Whether it takes no time to leave the bus for want of data and to come back.
    fn free_to_leave(&self, mark: u64) -> bool {
        let o = &self.overheads;
        let leave = o.read_disconnect.get(self.last_read);
        leave + o.reselect + o.prepare == Ns::ZERO && mark <= 1
    }

    /// Time when a transfer that begins now has sent what the head has read by then.
    fn caught_up(&mut self, mut sent: u64) -> Ns {
        let Some(access) = self.access else { return self.now };
        let limit = self.segments.get(access.segment).limit;
        let mut at = self.now;
        loop {
            let (reached, step) = self.reading_position(at, limit);
            if reached <= sent || step.is_none() {
                self.reading_position(self.now, limit);
                return at;
            }
            at += Ns(self.link.read_sector.0 * (reached - sent));
            sent = reached;
        }
    }

    /// Lets the head pass by sectors for which the segment has no room before the data of a
    /// command have left it; `sectors` of them begin to cross the bus.
    fn make_room(&mut self, key: usize, at: usize, sectors: u64) {
        let Command { sent, end, .. } = self.commands[key];
        let size = self.buffer.segment_sectors;
        let segment = *self.segments.get(at);
        if segment.limit <= sent + size || !self.access.is_some_and(|access| access.reads) {
            return;
        }
        let (now, sector) = (self.now, self.link.read_sector);
        let room = Room {
            first: sent + size,
            crosses: now,
            sector,
            ends: now + Ns(sector.0 * sectors),
            all: sent + sectors == end,
            needed: self.attached,
            sector_buffer: self.buffer.sector_buffer,
        };
        let on_arrival = self.buffer.reads_on_arrival;
        self.reading.pass_by(&room, segment.limit, on_arrival, &mut self.arm);
    }

    /// Continues after sectors have crossed the bus.
    fn transferred(&mut self, key: usize, sectors: u64) {
        let command = &mut self.commands[key];
        command.sent += sectors;
        let (sent, write) = (command.sent, command.write);
        if let Some(at) = command.segment {
            let segment = self.segments.get(at);
            if write {
                segment.transfers = false;
                segment.end = segment.end.max(sent);
            }
        }
        self.transfer(key);
    }

    /// Continues after a command has left the bus.
    fn left(&mut self, key: usize) {
        if self.bus.current == Some(key) {
            if let (Some((_, paused)), Some(extra)) = (self.bus.pause, self.overheads.extra)
                && paused == key
            {
                self.bus.pause = Some((self.now + extra.pause, key));
                return;
            }
            self.bus.current = None;
        }
        self.bus.waiting.push(key);
        self.use_bus(None);
    }

    /// Reports a command as completed.
    fn complete(&mut self, key: usize) {
        let Command { write, segment, sent, .. } = self.commands[key];
        self.last_read = !write;
        self.commands[key].reported = true;
        if !write
            && self.buffer.drops_read
            && let Some(at) = segment
        {
            self.advance_read();
            let segment = self.segments.get(at);
            if segment.commands == 1 {
                segment.start = sent;
            }
        }
        let o = &self.overheads;
        let overhead = if write { o.write_completion } else { o.read_completion };
        self.bus.begin(self.now + overhead, BusStep::Complete, key);
    }

    /// Continues after a completion was reported.
    fn completed(&mut self, key: usize) -> Completion {
        let Command { id, write, segment, hit, on_medium, .. } = self.commands[key];
        self.commands[key].done = true;
        self.bus.current = None;
        self.outstanding -= 1;
        self.stats.requests += 1;
        // A command that the host sends now gets the bus before others in the drive.
        self.clock = self.now;
        self.send_commands();
        let cached = if write { self.buffer.immediate_report } else { hit == Hit::Whole };
        let has_arm = self.access.is_some_and(|access| access.command == Some(key));
        if write {
            if on_medium && has_arm {
                self.release_write(key, segment.unwrap_or_default());
            } else {
                self.plan_write();
            }
        } else if let Some(at) = segment {
            self.segments.get(at).commands -= 1;
            self.free.push(key);
            if !self.commands[key].on_arm {
                self.queue.take(key, &self.arm.mechanics);
            }
            if let Some(access) = self.access.as_mut().filter(|_| has_arm) {
                access.command = None;
                let goes_on = access.reads && self.queue.waiting.is_empty();
                if !goes_on && self.advance_read().is_some() {
                    self.try_next();
                }
            } else if !self.buffer.keeps_data
                && self.access.is_none_or(|access| access.segment != at)
            {
                self.free_segment(at);
            }
        }
        self.give_arm(None, false);
        self.use_bus(None);
        let cause = if cached { Cause::Buffer } else { Cause::Medium };
        Completion { id, at: self.now, cause, failed: false }
    }
}
