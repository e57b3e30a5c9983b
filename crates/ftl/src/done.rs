//! What follows when an operation is done.

use crate::io::{Action, Piece, RequestId};
use crate::machine::Ftl;
use crate::place::Point;
use crate::units::{Kind, State, Waiting};
use gordon_nand::{Buf, FlashOp, Holds};
use gordon_units::{BlockId, Lpn, Ppn};

impl Ftl {
    pub(crate) fn done(&mut self, op: FlashOp) {
        match op {
            FlashOp::Read { ppn, buf } => {
                let lane = self.lane_of(ppn);
                self.load[lane.index()] -= 1;
                self.read_done(ppn, buf.0);
            }
            FlashOp::Program { ppn, buf, oob } => {
                let lane = self.lane_of(ppn);
                self.load[lane.index()] -= 1;
                match oob.holds {
                    Holds::Data(lpn) => self.program_done(lpn, ppn, buf.0),
                    Holds::Summary => self.summary_done(ppn, buf.0),
                }
            }
            FlashOp::Erase { block } => self.erase_done(block),
        }
    }

    fn read_done(&mut self, ppn: Ppn, at: u32) {
        debug_assert_eq!((self.units[at].state, self.units[at].ppn), (State::Reading, ppn.0));
        let block = self.layout.block_of(ppn);
        if self.blocks.unpin(block) {
            self.erase(block);
        }
        while let Some(Waiting { piece, .. }) = self.pieces.pop(&mut self.units[at].readers) {
            self.give(at, piece);
        }
        let unit = self.units[at];
        if unit.only_reads() {
            if unit.listed {
                // The last page read stays, until another is read or it is written.
                self.table.remove(unit.lpn);
                self.units[at].state = State::Cached;
                if let Some(old) = self.cached.replace(at) {
                    self.units.remove(old);
                }
            } else {
                self.units.remove(at);
            }
            return;
        }
        for waiting in self.pieces.iter(unit.taking) {
            self.actions.push_back(Action::Fill(Buf(at), waiting.piece));
        }
        self.units[at].state = State::Ready;
        if unit.collects {
            self.collector.ready.push_back(at);
        } else {
            self.ready.push_back(at);
        }
    }

    fn program_done(&mut self, lpn: Lpn, ppn: Ppn, at: u32) {
        let unit = self.units[at];
        debug_assert_eq!((unit.state, unit.ppn, unit.lpn), (State::Programming, ppn.0, lpn.0));
        let old = self.lookup(lpn);
        self.map.set(lpn.0, ppn.0 + 1);
        self.blocks.add_valid(self.layout.block_of(ppn));
        if let Some(old) = old {
            self.invalidate(old);
        }
        self.point_done(unit.point);
        self.acknowledge(at);
        if unit.collects {
            self.units[at].collects = false;
            self.collector.copies -= 1;
        }
        self.next_round(at);
    }

    /// A write point is free for its next page, be it the summary of its block.
    fn point_done(&mut self, point: u32) {
        self.points[point as usize].busy = false;
        self.idle_points += 1;
        if self.points[point as usize].next == self.data_pages {
            self.program_summary(point);
        }
    }

    fn summary_done(&mut self, ppn: Ppn, at: u32) {
        let point = self.units[at].point;
        let block = self.layout.block_of(ppn);
        debug_assert_eq!(self.points[point as usize].block, Some(block));
        self.blocks.close(block, self.layout.lane_of(block));
        self.points[point as usize] = Point::CLOSED;
        self.idle_points += 1;
        self.units.remove(at);
    }

    fn erase_done(&mut self, block: BlockId) {
        let lane = self.layout.lane_of(block);
        self.load[lane.index()] -= 1;
        self.stats.erases += 1;
        self.blocks.erased(block, lane);
        self.collector.forget(block);
    }

    /// Acknowledges the writes that a unit has carried.
    fn acknowledge(&mut self, at: u32) {
        while let Some(waiting) = self.pieces.pop(&mut self.units[at].taking) {
            self.act(Action::Ack(waiting.piece.request));
            self.epochs.leave(waiting.epoch);
        }
        self.ack_flushes();
    }

    /// What was held while a unit was programmed goes into its next program, or ends it.
    fn next_round(&mut self, at: u32) {
        let lpn = self.units[at].lpn;
        let mut blank = false;
        while let Some(Waiting { piece, kind, epoch, .. }) =
            self.pieces.pop(&mut self.units[at].held)
        {
            if kind == Kind::Trim {
                // The writes held before it need not be programmed: nobody can read them.
                self.acknowledge(at);
                self.unmap(Lpn(lpn));
                self.acknowledge_trim(piece.request, epoch);
                blank = true;
                continue;
            }
            if core::mem::take(&mut blank) && !self.is_whole(piece) {
                self.act(Action::Zero(Buf(at)));
            }
            self.act(Action::Fill(Buf(at), piece));
            let unit = &mut self.units[at];
            self.stats.combined += u64::from(!unit.taking.is_empty());
            self.pieces.push(&mut unit.taking, piece, kind, epoch);
            if !self.config.combine {
                break;
            }
        }
        if self.units[at].taking.is_empty() {
            self.table.remove(lpn);
            self.units.remove(at);
        } else {
            self.units[at].state = State::Ready;
            self.ready.push_back(at);
        }
    }

    fn is_whole(&self, piece: Piece) -> bool {
        piece.len == self.config.sectors_per_page
    }

    fn acknowledge_trim(&mut self, request: RequestId, epoch: u32) {
        self.act(Action::Ack(request));
        self.epochs.leave(epoch);
        self.ack_flushes();
    }
}
