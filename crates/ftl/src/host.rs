//! What the host asks for.

use crate::io::{Action, Extent, Host, How, Out, Piece, RequestId};
use crate::machine::Ftl;
use crate::units::{Kind, NONE, Queue, State, Unit, Waiting};
use gordon_nand::Buf;
use gordon_units::Lpn;

impl<O: Out> Ftl<O> {
    #[inline(always)]
    pub(crate) fn host(&mut self, host: Host) {
        match host {
            Host::Read(extent) => self.read(extent),
            Host::Write(extent) if self.worn_out => {
                let pieces = extent.count(self.config.sectors_per_page);
                (0..pieces).for_each(|_| self.refuse(extent.request));
            }
            Host::Write(extent) => self.write(extent),
            Host::Trim(request, _) if self.worn_out => self.refuse(request),
            Host::Trim(request, lpn) => self.trim(request, lpn),
            Host::Flush(request) => {
                self.stats.flushes += 1;
                self.epochs.flush(request);
                if self.worn_out {
                    self.refuse_flushes();
                } else {
                    self.ack_flushes();
                }
            }
        }
    }

    #[inline(always)]
    fn expect_inside(&self, extent: Extent) {
        let end = extent.first.checked_add(extent.sectors);
        let all = u64::from(self.config.exported) * u64::from(self.config.sectors_per_page);
        let inside = extent.sectors > 0 && end.is_some_and(|end| end <= all);
        assert!(inside, "no such range: {extent:?}");
    }

    #[inline(always)]
    fn read(&mut self, extent: Extent) {
        self.expect_inside(extent);
        // Pages of the request that lie in one super-page are read together.
        let (mut head, mut last, mut slots) = (NONE, NONE, 0);
        for piece in extent.pieces(self.config.sectors_per_page) {
            self.stats.host_reads += 1;
            let lpn = piece.lpn;
            let psn = self.map.get(lpn.0);
            if let Some(at) = self.map.unit(psn) {
                let unit = &mut self.units[at];
                if unit.state == State::Reading {
                    self.pieces.push(&mut unit.readers, piece, Kind::Read, 0);
                    self.stats.bypassed += 1;
                } else {
                    self.stats.forwarded += 1;
                    self.give(at, piece, How::Buffer);
                }
                continue;
            }
            if let Some(at) = self.cached_unit(lpn) {
                self.stats.bypassed += 1;
                self.give(at, piece, How::Buffer);
                continue;
            }
            if psn == NONE {
                self.stats.unmapped_reads += 1;
                self.with_buffer(Action::GiveZeros(piece));
                self.act(Action::Ack(piece.request, How::Buffer));
                continue;
            }
            self.stats.host_page_reads += 1;
            let mut unit = Unit::new(lpn.0, psn, State::Reading);
            self.pieces.push(&mut unit.readers, piece, Kind::Read, 0);
            let at = self.units.add(unit);
            if self.config.bypass {
                self.list(at);
            }
            if slots > 0 && self.page_of(self.units[last].psn) == self.page_of(psn) {
                self.units[last].next = at;
                slots += 1;
            } else {
                if slots > 0 {
                    self.read_pages(head, slots);
                }
                (head, slots) = (at, 1);
            }
            last = at;
        }
        if slots > 0 {
            self.read_pages(head, slots);
        }
    }

    #[inline(always)]
    fn write(&mut self, extent: Extent) {
        self.expect_inside(extent);
        for piece in extent.pieces(self.config.sectors_per_page) {
            self.stats.host_writes += 1;
            let epoch = self.epochs.enter();
            let place = self.map.get(piece.lpn.0);
            match self.map.unit(place) {
                Some(at) => self.write_to(at, piece, epoch),
                None => self.write_fresh(piece, place, epoch),
            }
        }
    }

    /// Writes a piece of a page with work in flight.
    fn write_to(&mut self, at: u32, piece: Piece, epoch: u32) {
        let unit = &self.units[at];
        if unit.only_reads() {
            if self.is_whole(piece) {
                let home = unit.home;
                self.unlist(at);
                return self.write_fresh(piece, home, epoch);
            }
            // The read that is pending is the one this write needs.
            self.stats.bypassed += 1;
            self.units[at].merged = true;
            self.accept_at(at, piece, epoch);
        } else if unit.state == State::Programming || !unit.held.is_empty() || !self.config.combine
        {
            // A trim that is held must come first. Reads are served from the buffer as it is,
            // so what is held is not acknowledged yet.
            self.hold(at, piece, Kind::Write, epoch);
        } else {
            self.stats.combined += 1;
            let ready = unit.state == State::Ready;
            self.accept_at(at, piece, epoch);
            if ready {
                self.with_buffer(Action::Fill(Buf(at), piece));
            }
        }
    }

    /// What is held waits until the unit is programmed: that may not be left to the write buffer.
    fn hold(&mut self, at: u32, piece: Piece, kind: Kind, epoch: u32) {
        self.pieces.push(&mut self.units[at].held, piece, kind, epoch);
        self.draining |= self.units[at].state == State::Ready;
    }

    /// Writes a piece of a page that is at `home`, with no work in flight.
    #[inline(always)]
    fn write_fresh(&mut self, piece: Piece, home: u32, epoch: u32) {
        let whole = self.is_whole(piece);
        let mut unit = Unit::new(piece.lpn.0, home, State::Ready);
        (unit.stalls, unit.listed) = (self.stalls, true);
        let acked = self.accept(&mut unit, piece, epoch);
        let at = if let Some(at) = self.cached_unit(piece.lpn) {
            self.stats.bypassed += u64::from(!whole);
            self.cached = None;
            self.units[at] = unit;
            at
        } else if home != NONE && !whole {
            self.stats.merge_page_reads += 1;
            (unit.state, unit.merged) = (State::Reading, true);
            let at = self.units.add(unit);
            self.read_pages(at, 1);
            at
        } else {
            let at = self.units.add(unit);
            if !whole {
                self.with_buffer(Action::Zero(Buf(at)));
            }
            at
        };
        self.map.set_unit(piece.lpn.0, at);
        if home != NONE {
            // For when it is programmed.
            self.map.want_emptied(&self.out, home);
        }
        if acked {
            self.act(Action::Ack(piece.request, How::Buffer));
        }
        if unit.state == State::Ready {
            self.with_buffer(Action::Fill(Buf(at), piece));
            self.ready.push_back(&mut self.units, at);
        }
    }

    /// A unit takes in a written piece; true where the write buffer has room for it, so that it is to
    /// be acknowledged.
    #[inline(always)]
    fn accept(&mut self, unit: &mut Unit, piece: Piece, epoch: u32) -> bool {
        if !unit.buffered && self.buffered < self.config.write_buffer {
            unit.buffered = true;
            self.buffered += 1;
        }
        let acked = unit.buffered;
        self.stats.buffered += u64::from(acked);
        let waiting = Waiting { piece, kind: Kind::Write, epoch, acked, next: NONE };
        self.pieces.hold(&mut unit.taking, waiting);
        acked
    }

    /// As [`accept`](Self::accept), for a unit on its way.
    fn accept_at(&mut self, at: u32, piece: Piece, epoch: u32) {
        let mut unit = self.units[at];
        if !unit.buffered && self.buffered < self.config.write_buffer {
            self.acknowledge_early(&mut unit);
        }
        let acked = self.accept(&mut unit, piece, epoch);
        self.units[at] = unit;
        if acked {
            self.act(Action::Ack(piece.request, How::Buffer));
        }
    }

    /// A unit that had found no room in the write buffer gets some: the writes it has taken wait no
    /// longer.
    #[cold]
    fn acknowledge_early(&mut self, unit: &mut Unit) {
        let mut taken = core::mem::replace(&mut unit.taking, Queue::EMPTY);
        while let Some(waiting) = self.pieces.pop(&mut taken) {
            self.pieces.hold(&mut unit.taking, Waiting { acked: true, ..waiting });
            if !waiting.acked {
                self.stats.buffered += 1;
                self.act(Action::Ack(waiting.piece.request, How::Buffer));
            }
        }
    }

    fn trim(&mut self, request: RequestId, lpn: Lpn) {
        let len = self.config.sectors_per_page;
        let first = u64::from(lpn.0) * u64::from(len);
        self.expect_inside(Extent { request, first, sectors: u64::from(len) });
        let piece = Piece { request, lpn, start: 0, len };
        self.stats.trims += 1;
        let mut epoch = None;
        if let Some(at) = self.map.unit_of(lpn.0) {
            let unit = &self.units[at];
            if !unit.only_reads() {
                let waits = unit.state == State::Ready && unit.held.is_empty();
                if !(waits && unit.buffered && unit.copies.is_none()) {
                    let epoch = self.epochs.enter();
                    self.hold(at, piece, Kind::Trim, epoch);
                    return;
                }
                // Nobody can read what waits in the write buffer any more. A flush that waits for it
                // now waits for the trim.
                epoch = self.pieces.iter(self.units[at].taking).next().map(|first| first.epoch);
                self.note_trim(lpn, epoch);
                self.ready.remove(&mut self.units, at);
                self.forget_writes(at);
                self.end(at);
            } else {
                self.unlist(at);
            }
        }
        if let Some(at) = self.cached_unit(lpn) {
            self.cached = None;
            self.units.remove(at);
        }
        if epoch.is_none() {
            self.note_trim(lpn, None);
        }
        self.unmap(lpn);
        self.act(Action::Ack(request, How::Buffer));
    }

    /// The page is on the array no more; a unit of it may go on.
    pub(crate) fn unmap(&mut self, lpn: Lpn) {
        let place = self.map.get(lpn.0);
        let psn = match self.map.unit(place) {
            Some(at) => core::mem::replace(&mut self.units[at].home, NONE),
            None => {
                self.map.set(lpn.0, NONE);
                place
            }
        };
        if psn != NONE {
            let sequence = self.blocks.sequence(self.block_of(psn));
            if sequence > self.trim_floor {
                self.trim_floor = sequence;
                self.renumber_points();
            }
            self.invalidate(psn);
        }
    }

    /// Lets every open block take pages that are not mapped: those below the trim floor get a new
    /// number for the pages they have yet to take. Each page is programmed with the number of its
    /// time, so what is there already keeps its age. Without this one trim of fresh data would
    /// leave all new data to the one write point that has opened a block since.
    pub(crate) fn renumber_points(&mut self) {
        for at in 0..self.points.len() {
            let point = self.points.get(at);
            if let Some(block) = point.block
                && point.sequence < self.trim_floor
            {
                let sequence = self.blocks.renumber(block);
                self.points.renumber(at, sequence);
            }
        }
    }

    #[inline]
    pub(crate) fn cached_unit(&self, lpn: Lpn) -> Option<u32> {
        self.cached.filter(|&at| self.units[at].lpn == lpn.0)
    }

    pub(crate) fn is_whole(&self, piece: Piece) -> bool {
        piece.len == self.config.sectors_per_page
    }

    /// Lets later requests find a unit.
    #[inline(always)]
    pub(crate) fn list(&mut self, at: u32) {
        let unit = &mut self.units[at];
        unit.listed = true;
        self.map.set_unit(unit.lpn, at);
    }

    /// Takes a unit off the map: a pending read goes on, but later requests do not join it.
    #[inline(always)]
    pub(crate) fn unlist(&mut self, at: u32) {
        let unit = &mut self.units[at];
        unit.listed = false;
        self.map.set(unit.lpn, unit.home);
    }

    /// Nothing is left to do for a unit.
    #[inline(always)]
    pub(crate) fn end(&mut self, at: u32) {
        self.buffered -= u32::from(self.units[at].buffered);
        self.unlist(at);
        self.units.remove(at);
    }

    #[inline]
    pub(crate) fn give(&mut self, at: u32, piece: Piece, how: How) {
        self.with_buffer(Action::Give(Buf(at), piece));
        self.act(Action::Ack(piece.request, how));
    }

    pub(crate) fn refuse(&mut self, request: RequestId) {
        self.stats.refused += 1;
        self.act(Action::Refuse(request));
    }

    #[inline]
    pub(crate) fn ack_flushes(&mut self) {
        while let Some(request) = self.epochs.flushed() {
            self.act(Action::Ack(request, How::Flash));
        }
    }
}
