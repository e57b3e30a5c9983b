//! The arm of a classic drive: which command has it, and what the head reads and writes.
//!
//! A command *has the arm* from the start of its access until it is completed; then the head may
//! read ahead for nobody, until a command takes the arm. `attach` binds a command to a segment,
//! `give_arm` starts the next access.

use super::ClassicDisk;
use super::buffer::{Hit, SegmentUse};
use super::bus::BusStep;
use super::command::Command;
use super::config::{ReadAhead, WriteJoin};
use super::media::{DataArrival, MediaPass};
use crate::disk::Head;
use gordon_units::Ns;

/// An access of the head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub segment: usize,
    /// The command that has the arm; none while the head reads ahead for nobody.
    pub command: Option<usize>,
    pub writes: bool,
    /// Whether the head reads, and has not reached its limit.
    pub reads: bool,
}

impl ClassicDisk {
    /// Time of the last sector boundary that the head has passed on its track.
    pub(super) fn last_turned(&self) -> Ns {
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
    pub(super) fn may_stop(&mut self, key: usize, hit: Hit, segment: Option<usize>) -> bool {
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
    pub(super) fn attach(&mut self, key: usize, hit: Hit, segment: Option<usize>) {
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
    pub(super) fn activate(
        &mut self,
        key: usize,
        (hit, segment): (Hit, Option<usize>),
        attached: bool,
    ) {
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
    pub(super) fn free_segment(&mut self, at: usize) {
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
    pub(super) fn give_arm(&mut self, wanted: Option<usize>, bus_is_busy: bool) {
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
            self.reading.want(had.max(start), end, &mut self.arm);
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
    pub(super) fn plan_write(&mut self) {
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
    pub(super) fn unwritten(&mut self, at: usize) -> u64 {
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
    pub(super) fn advance_read(&mut self) -> Option<(Ns, bool)> {
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
    pub(super) fn reading_position(&mut self, at: Ns, limit: u64) -> (u64, Option<(Ns, bool)>) {
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
    pub(super) fn try_next(&mut self) {
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
    pub(super) fn next_media(&mut self) -> Option<Ns> {
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
    pub(super) fn media_step(&mut self) {
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
    pub(super) fn release_write(&mut self, key: usize, at: usize) {
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
}
