//! The controller of a classic drive: what arrives, and which segment and turn a command gets.
//!
//! `proceed` goes from one step of the drive to the next. `begin` processes a command that has
//! arrived, `find` looks for its data in the buffer, `best` chooses the next command of the queue.
//! The commands get the head in [`arm`](super::arm) and the bus in [`bus`](super::bus).

use super::ClassicDisk;
use super::arm::Access;
use super::buffer::{Hit, SegmentUse};
use super::bus::BusStep;
use super::command::Command;
use super::queue::{ArmState, QueuedCommand};
use gordon_blockio::{Completion, IoOp, Request, SECTOR};
use gordon_units::Ns;

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

    /// Accepts a command from the host.
    pub(super) fn arrive(&mut self, id: u64, request: &Request) {
        let start = request.offset.0 / SECTOR.0;
        let end = start + request.len.0 / SECTOR.0;
        let write = request.op == IoOp::Write;
        let through = write && (request.durable || !self.buffer.immediate_report);
        let command = Command { id, write, through, start, end, sent: start, ..Command::default() };
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
    pub(super) fn begin(&mut self, key: usize) {
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
    pub(super) fn mark(&self, count: u64, share: f64) -> u64 {
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
    pub(super) fn find(&mut self, key: usize) -> (Hit, Option<usize>) {
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
    pub(super) fn is_ready(&mut self, key: usize) -> bool {
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
    pub(super) fn best(&mut self) -> Option<usize> {
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
            actuator: &self.arm,
            now: self.now,
            turned: self.last_turned(),
            least_write_seek: self.overheads.least_write_seek,
        };
        self.queue.choose(&arm, ready, (whole, partial))
    }
}
