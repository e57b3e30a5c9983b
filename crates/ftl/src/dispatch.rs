//! Full buffers to write points.
//!
//! A unit gets its place at the last moment, when a write point is idle: until then more writes
//! can join it, and the load of the lanes is known. Copies of garbage collection go first. The
//! host stops while only the reserve is free ([`gc`](crate::gc) shows why that suffices).

use crate::io::Action;
use crate::machine::Ftl;
use crate::place::{self, View};
use crate::units::{State, Unit};
use alloc::collections::VecDeque;
use gordon_nand::{Buf, FlashOp, Holds, Oob};
use gordon_units::{Lpn, Ppn};

/// How many waiting units are tried for an idle write point: the first may only go to a busy one.
const LOOK_AHEAD: usize = 16;

impl Ftl {
    /// Issues programs while there is a write point for one; true if any was issued.
    pub(crate) fn dispatch(&mut self) -> bool {
        let mut issued = false;
        while self.idle_points > 0 {
            let next = self.pick(&self.collector.ready, true);
            if let Some((at, point)) = next {
                let unit = self.collector.ready.remove(at).expect("picked from the queue");
                self.program(unit, point);
            } else if let Some((at, point)) = self.pick(&self.ready, false) {
                let unit = self.ready.remove(at).expect("picked from the queue");
                self.program(unit, point);
            } else {
                break;
            }
            issued = true;
        }
        issued
    }

    /// The first of `queue` that has a write point, and which.
    fn pick(&self, queue: &VecDeque<u32>, collects: bool) -> Option<(usize, usize)> {
        if queue.is_empty() {
            return None;
        }
        let scarce = self.blocks.free() <= self.config.reserve;
        if scarce && !collects {
            return None;
        }
        let fresh = self.blocks.lane_to_open();
        queue.iter().take(LOOK_AHEAD).enumerate().find_map(|(at, &unit)| {
            let floor = match self.lookup(Lpn(self.units[unit].lpn)) {
                Some(ppn) => self.blocks.sequence(self.layout.block_of(ppn)),
                None => self.trim_floor,
            };
            let fresh = if scarce && self.has_room(floor) { None } else { fresh };
            let view = View { points: &self.points, load: &self.load, fresh };
            Some((at, place::choose(&view, floor)?))
        })
    }

    /// Whether an open block, its write point busy or not, may take a page.
    fn has_room(&self, floor: u64) -> bool {
        let room = |next| next < self.data_pages;
        self.points.iter().any(|p| p.block.is_some() && p.sequence >= floor && room(p.next))
    }

    fn program(&mut self, at: u32, point: usize) {
        if self.points[point].block.is_none() {
            self.open(point);
        }
        let ppn = self.next_page(point);
        let unit = &mut self.units[at];
        debug_assert_eq!(unit.state, State::Ready);
        unit.state = State::Programming;
        unit.ppn = ppn.0;
        // Write points are numbered in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            unit.point = point as u32;
        }
        self.written.set(ppn.0, unit.lpn + 1);
        if unit.taking.is_empty() {
            self.stats.gc_programs += 1;
        } else {
            self.stats.host_programs += 1;
        }
        let holds = Holds::Data(Lpn(unit.lpn));
        let oob = Oob { holds, sequence: self.points[point].sequence };
        self.act(Action::Flash(FlashOp::Program { ppn, buf: Buf(at), oob }));
    }

    pub(crate) fn program_summary(&mut self, point: u32) {
        let place = self.points[point as usize];
        let block = place.block.expect("a full write point has a block");
        let ppn = self.next_page(point as usize);
        let mut unit = Unit::new(0, State::Programming);
        (unit.listed, unit.ppn, unit.point) = (false, ppn.0, point);
        let at = self.units.add(unit);
        self.stats.summary_programs += 1;
        let oob = Oob { holds: Holds::Summary, sequence: place.sequence };
        self.act(Action::Summarize(Buf(at), block));
        self.act(Action::Flash(FlashOp::Program { ppn, buf: Buf(at), oob }));
    }

    /// Gives a write point a new block.
    pub(crate) fn open(&mut self, point: usize) {
        let lane = self.blocks.lane_to_open().expect("a block is opened only when one is free");
        let (block, sequence) = self.blocks.open(lane);
        let place = &mut self.points[point];
        (place.block, place.lane, place.sequence, place.next) = (Some(block), lane, sequence, 0);
    }

    /// Takes the next page of a write point, which is busy from now.
    fn next_page(&mut self, point: usize) -> Ppn {
        let place = &mut self.points[point];
        debug_assert!(!place.busy);
        place.busy = true;
        let page = place.next;
        place.next += 1;
        self.idle_points -= 1;
        self.load[place.lane.index()] += 1;
        self.layout.ppn(place.block.expect("the write point is open"), page)
    }
}
