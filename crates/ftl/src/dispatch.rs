//! Full buffers to write points.
//!
//! A unit gets its place at the last moment, when a write point is idle: until then more writes
//! can join it, and the load of the lanes is known. Copies of garbage collection go first. The
//! host stops while only the reserve is free ([`gc`](crate::gc) shows why that suffices).
//!
//! A super-page of several logical pages takes the units that wait. Without a write buffer it is
//! programmed with what there is, for the host waits; copies wait for others that are on their way.

use crate::io::Action;
use crate::machine::Ftl;
use crate::place::Kind;
use crate::units::{Cause, NONE, State, Unit};
use alloc::collections::VecDeque;
use gordon_nand::{Buf, FlashOp};

/// How many waiting units are tried for an idle write point: the first may only go to a busy one.
const LOOK_AHEAD: usize = 16;

impl Ftl {
    /// Issues programs while there is a write point for one; true if any was issued.
    pub(crate) fn dispatch(&mut self) -> bool {
        let mut issued = false;
        if !self.collector.ready.is_empty() {
            let kind = self.points.kind_of_copies();
            while self.points.idle(kind) > 0 && self.copies_may_go() {
                let Some((at, point)) = self.pick(&self.collector.ready, kind, true) else { break };
                self.program(at, point, true);
                issued = true;
            }
        }
        while !self.ready.is_empty() && self.points.idle(Kind::Host) > 0 {
            if self.blocks.free() <= self.config.reserve {
                if !self.stalled {
                    self.stalled = true;
                    self.stalls = self.stalls.wrapping_add(1);
                }
                return issued;
            }
            self.stalled = false;
            if self.host_waits() {
                return issued;
            }
            let Some((at, point)) = self.pick(&self.ready, Kind::Host, false) else { break };
            self.program(at, point, false);
            issued = true;
        }
        if self.ready.is_empty() {
            self.draining = false;
        }
        issued
    }

    /// Whether the copies that are ready fill a super-page, or no more will come soon.
    fn copies_may_go(&self) -> bool {
        let Some(ready) = u32::try_from(self.collector.ready.len()).ok().filter(|&n| n > 0) else {
            return false;
        };
        ready >= self.config.slots || ready == self.collector.copies - self.collector.programming
    }

    /// Whether the write buffer holds back what is ready, for more may join it.
    #[inline]
    fn host_waits(&self) -> bool {
        let room = self.config.write_buffer;
        if room == 0 || self.draining || self.epochs.is_flushing() {
            return false;
        }
        // Writes that found no room in it are waited for.
        let all_acked = self.ready.len() <= self.buffered as usize;
        let full = self.ready.len() >= self.config.slots as usize;
        all_acked && (self.buffered <= room / 2 || (!full && self.buffered < room))
    }

    /// The first of `queue` that has a write point, and which.
    fn pick(&self, queue: &VecDeque<u32>, kind: Kind, copies: bool) -> Option<(usize, usize)> {
        let fresh = self.blocks.lane_to_open();
        let scarce = copies && self.blocks.free() <= self.config.reserve;
        let point_for = |floor| {
            let fresh = if scarce && self.has_room(kind, floor) { None } else { fresh };
            self.points.choose(kind, floor, fresh)
        };
        let picked = if copies && self.config.slots > 1 {
            // Those that fill a super-page go together, so that copies take no more room than is
            // reckoned with.
            point_for(self.floor_of_batch(queue)).map(|point| (0, point))
        } else {
            let mut tried = (0..).zip(queue.iter().take(LOOK_AHEAD));
            loop {
                let Some((at, &unit)) = tried.next() else { break None };
                if let Some(point) = point_for(self.floor_of(self.units[unit].lpn)) {
                    break Some((at, point));
                }
            }
        };
        // Where copies have their own write points, those of one kind may all be too old for a page
        // that was written by the other: one of them then goes on under a new number.
        let renumbered = || Some((0, self.points.choose(kind, 0, None)?));
        picked.or_else(|| if self.points.are_apart() { renumbered() } else { None })
    }

    /// The highest number that a copy of the pages may have that are to go together.
    fn floor_of_batch(&self, queue: &VecDeque<u32>) -> u64 {
        let batch = queue.iter().take(self.config.slots as usize);
        batch.map(|&unit| self.floor_of(self.units[unit].lpn)).max().unwrap_or(0)
    }

    /// Whether an open block, its write point busy or not, may take a page.
    fn has_room(&self, kind: Kind, floor: u64) -> bool {
        let floor = if self.points.are_apart() { 0 } else { floor };
        self.points.all().iter().any(|p| {
            p.kind == kind && p.block.is_some() && p.sequence >= floor && p.next < self.data_pages
        })
    }

    /// Programs the unit at `at` of its queue, and others of it that may go with it.
    fn program(&mut self, at: usize, point: usize, copies: bool) {
        if self.points.get(point).block.is_none() {
            let opened = self.open(point);
            debug_assert!(opened, "one without a block is chosen only where one is free");
        }
        let mut sequence = self.points.get(point).sequence;
        if self.points.are_apart() {
            let queue = if copies { &self.collector.ready } else { &self.ready };
            let floor = if copies {
                self.floor_of_batch(queue)
            } else {
                self.floor_of(self.units[queue[at]].lpn)
            };
            if floor > sequence {
                let block = self.points.get(point).block.expect("opened above");
                sequence = self.blocks.renumber(block);
                self.points.renumber(point, sequence);
            }
        }
        let head = self.unqueue(at, copies);
        let (mut last, mut slots) = (head, 1);
        let (mut next, mut tried) = (at, 0);
        while slots < self.config.slots && tried < self.config.slots as usize + LOOK_AHEAD {
            let queue = if copies { &self.collector.ready } else { &self.ready };
            let Some(&unit) = queue.get(next) else { break };
            if self.floor_of(self.units[unit].lpn) <= sequence {
                self.unqueue(next, copies);
                self.units[last].next = unit;
                (last, slots) = (unit, slots + 1);
            } else {
                next += 1;
            }
            tried += 1;
        }
        self.units[last].next = NONE;
        self.stats.padded += u64::from(self.config.slots - slots);
        let ppn = self.next_page(point);
        let first = self.slot(ppn, 0);
        let mut unit = head;
        for psn in first..first + self.config.slots {
            if unit == NONE {
                self.map.write(psn, None);
                continue;
            }
            let Unit { lpn, copies, next, .. } = self.units[unit];
            let kept = &mut self.units[unit];
            debug_assert_eq!(kept.state, State::Ready);
            (kept.state, kept.psn) = (State::Programming, psn);
            match copies.filter(|_| kept.taking.is_empty()) {
                None => self.stats.host_programs += 1,
                Some(Cause::Collection) => self.stats.gc_programs += 1,
                Some(Cause::Levelling) => self.stats.wear_programs += 1,
            }
            self.collector.programming += u32::from(copies.is_some());
            self.map.write(psn, Some(lpn));
            unit = next;
        }
        let unit = &mut self.units[head];
        unit.sequence = sequence;
        // Write points are numbered in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            unit.point = point as u32;
        }
        self.stats.program_operations += 1;
        self.act(Action::Flash(FlashOp::Program { ppn, buf: Buf(head) }));
    }

    fn unqueue(&mut self, at: usize, copies: bool) -> u32 {
        let queue = if copies { &mut self.collector.ready } else { &mut self.ready };
        let unit = if at == 0 { queue.pop_front() } else { queue.remove(at) };
        unit.expect("picked from the queue")
    }

    pub(crate) fn program_summary(&mut self, point: usize) {
        let place = *self.points.get(point);
        let block = place.block.expect("a full write point has a block");
        let ppn = self.next_page(point);
        let mut unit = Unit::new(0, State::Programming);
        (unit.listed, unit.psn) = (false, self.slot(ppn, 0));
        (unit.point, unit.sequence) =
            (u32::try_from(point).expect("numbered in 32 bits"), place.sequence);
        let at = self.units.add(unit);
        self.stats.summary_programs += u64::from(self.config.slots);
        self.stats.program_operations += 1;
        self.with_buffer(Action::Summarize(Buf(at), block));
        self.act(Action::Flash(FlashOp::Program { ppn, buf: Buf(at) }));
    }

    /// Gives a write point a new block; false if there is none.
    pub(crate) fn open(&mut self, point: usize) -> bool {
        let Some((block, lane, sequence)) = self.blocks.open() else { return false };
        self.points.open(point, block, lane, sequence);
        true
    }

    /// Takes the next page of a write point, which is busy from now.
    #[inline]
    fn next_page(&mut self, point: usize) -> gordon_units::Ppn {
        let page = self.points.take(point);
        let block = self.points.get(point).block;
        self.layout.ppn(block.expect("the write point is open"), page)
    }
}
