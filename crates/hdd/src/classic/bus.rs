//! The bus of a classic drive: which command has it, and what crosses it until when.
//!
//! `use_bus` gives the bus to a command that needs it, `transfer` decides what crosses it.

use super::ClassicDisk;
use super::buffer::Hit;
use super::command::Command;
use super::config::WriteJoin;
use super::media::Room;
use gordon_blockio::{Cause, Completion};
use gordon_units::Ns;

/// What the drive does on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BusStep {
    /// Prepares a transfer of a command's data, or its completion.
    Contact,
    /// Transfers sectors, from a time on. From `gaps` on the bus is free while the drive waits for
    /// the medium between two sectors.
    Transfer { begins: Ns, sectors: u64, gaps: Ns },
    /// Disconnects.
    Leave,
    /// Reports the completion.
    Complete,
}

/// The bus, with the step in progress and the commands that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bus {
    /// The step in progress, its command, and its end.
    pub step: Option<(Ns, BusStep, usize)>,
    /// The command that is to use the bus next, even if it has left it.
    pub current: Option<usize>,
    /// Whether `current` holds the bus, and waits for data or for room.
    pub held: bool,
    /// Commands that have left the bus and are not completed, the last one at the end.
    pub waiting: Vec<usize>,
    /// A command that made an extra disconnection and will come back to the bus at a time.
    pub pause: Option<(Ns, usize)>,
}

impl Bus {
    pub fn begin(&mut self, until: Ns, step: BusStep, command: usize) {
        debug_assert!(self.step.is_none());
        self.step = Some((until, step, command));
    }

    /// Time from which a new command can get the bus; none if somebody holds it.
    pub fn free_from(&self) -> Option<Ns> {
        match self.step {
            None if !self.held => Some(Ns::ZERO),
            Some((_, BusStep::Transfer { gaps, .. }, _)) if gaps < Ns::MAX => Some(gaps),
            _ => None,
        }
    }

    pub fn waits(&self, command: usize) -> bool {
        self.waiting.contains(&command)
    }
}

impl ClassicDisk {
    /// Takes the bus from a command that waits for the medium.
    pub(super) fn interrupt_transfer(&mut self) {
        let Some((_, BusStep::Transfer { .. }, key)) = self.bus.step else { return };
        self.advance_read();
        let command = &mut self.commands[key];
        let Some(at) = command.segment else { return };
        command.sent = command.sent.max(self.segments.get(at).end.min(command.end - 1));
        (self.bus.step, self.bus.current) = (None, None);
        self.bus.waiting.push(key);
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
    pub(super) fn use_bus(&mut self, only: Option<usize>) {
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
    pub(super) fn transfer(&mut self, key: usize) {
        let Command { write, through, end, segment, sent, mark, on_medium, .. } =
            self.commands[key];
        let Some(at) = segment else {
            // The drive never disconnects; the command waits for the arm.
            self.bus.held = true;
            return;
        };
        let link = self.link;
        if write {
            if sent == end && (on_medium || !through) {
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
    pub(super) fn transferred(&mut self, key: usize, sectors: u64) {
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
    pub(super) fn left(&mut self, key: usize) {
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
    pub(super) fn completed(&mut self, key: usize) -> Completion {
        let Command { id, write, through, segment, hit, on_medium, .. } = self.commands[key];
        self.commands[key].done = true;
        self.bus.current = None;
        self.outstanding -= 1;
        self.stats.requests += 1;
        // A command that the host sends now gets the bus before others in the drive.
        self.clock = self.now;
        self.send_commands();
        let cached = if write { !through } else { hit == Hit::Whole };
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
