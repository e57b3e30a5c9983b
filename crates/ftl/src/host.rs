//! What the host asks for.

use crate::io::{Action, Extent, Host, How, Piece, RequestId};
use crate::machine::Ftl;
use crate::units::{Kind, NONE, State, Unit, Waiting};
use gordon_nand::Buf;
use gordon_units::Lpn;

impl Ftl {
    #[inline]
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

    fn expect_inside(&self, extent: Extent) {
        let end = extent.first.checked_add(extent.sectors);
        let all = u64::from(self.config.exported) * u64::from(self.config.sectors_per_page);
        let inside = extent.sectors > 0 && end.is_some_and(|end| end <= all);
        assert!(inside, "no such range: {extent:?}");
    }

    fn read(&mut self, extent: Extent) {
        self.expect_inside(extent);
        // Pages of the request that lie in one super-page are read together.
        let (mut head, mut last, mut slots) = (NONE, NONE, 0);
        for piece in extent.pieces(self.config.sectors_per_page) {
            self.stats.host_reads += 1;
            let lpn = piece.lpn;
            if let Some(at) = self.table.get(lpn.0) {
                let unit = &mut self.units[at];
                if unit.state == State::Reading {
                    self.pieces.push(&mut unit.readers, piece, Kind::Read, 0);
                    self.stats.bypassed += 1;
                } else {
                    self.stats.forwarded += 1;
                    self.give(at, piece, How::Buffer);
                }
            } else if let Some(at) = self.cached_unit(lpn) {
                self.stats.bypassed += 1;
                self.give(at, piece, How::Buffer);
            } else if let Some(psn) = self.map.get(lpn.0) {
                let mut unit = Unit::new(lpn.0, State::Reading);
                (unit.listed, unit.psn) = (self.config.bypass, psn);
                self.pieces.push(&mut unit.readers, piece, Kind::Read, 0);
                self.stats.host_page_reads += 1;
                let at = self.units.add(unit);
                if self.config.bypass {
                    self.table.insert(lpn.0, at);
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
            } else {
                self.stats.unmapped_reads += 1;
                self.with_buffer(Action::GiveZeros(piece));
                self.act(Action::Ack(piece.request, How::Buffer));
            }
        }
        if slots > 0 {
            self.read_pages(head, slots);
        }
    }

    fn write(&mut self, extent: Extent) {
        self.expect_inside(extent);
        for piece in extent.pieces(self.config.sectors_per_page) {
            self.stats.host_writes += 1;
            self.write_piece(piece);
        }
    }

    fn write_piece(&mut self, piece: Piece) {
        let epoch = self.epochs.enter();
        let (lpn, whole) = (piece.lpn, piece.len == self.config.sectors_per_page);
        if let Some(at) = self.table.get(lpn.0) {
            let unit = &self.units[at];
            if unit.only_reads() {
                if !whole {
                    // The read that is pending is the one this write needs.
                    self.stats.bypassed += 1;
                    self.units[at].merged = true;
                    self.accept(at, piece, epoch);
                    return;
                }
                self.unlist(at);
            } else if unit.state == State::Programming
                || !unit.held.is_empty()
                || !self.config.combine
            {
                // A trim that is held must come first. Reads are served from the buffer as it is,
                // so what is held is not acknowledged yet.
                self.pieces.push(&mut self.units[at].held, piece, Kind::Write, epoch);
                return;
            } else {
                self.stats.combined += 1;
                let ready = unit.state == State::Ready;
                self.accept(at, piece, epoch);
                if ready {
                    self.with_buffer(Action::Fill(Buf(at), piece));
                }
                return;
            }
        }
        let mut unit = Unit::new(lpn.0, State::Ready);
        unit.stalls = self.stalls;
        let cached = self.cached_unit(lpn);
        let at = match (cached, self.map.get(lpn.0)) {
            (Some(at), _) => {
                self.stats.bypassed += u64::from(!whole);
                self.cached = None;
                self.units[at] = unit;
                at
            }
            (None, Some(psn)) if !whole => {
                self.stats.merge_page_reads += 1;
                (unit.state, unit.psn, unit.merged) = (State::Reading, psn, true);
                let at = self.units.add(unit);
                self.read_pages(at, 1);
                at
            }
            (None, mapped) => {
                let at = self.units.add(unit);
                if mapped.is_none() && !whole {
                    self.with_buffer(Action::Zero(Buf(at)));
                }
                at
            }
        };
        self.table.insert(lpn.0, at);
        self.accept(at, piece, epoch);
        if self.units[at].state == State::Ready {
            self.with_buffer(Action::Fill(Buf(at), piece));
            self.ready.push_back(at);
        }
    }

    /// A unit takes in a written piece; where the write buffer has room for it, it is acknowledged.
    #[inline]
    fn accept(&mut self, at: u32, piece: Piece, epoch: u32) {
        let unit = &mut self.units[at];
        if !unit.buffered && self.buffered < self.config.write_buffer {
            unit.buffered = true;
            self.buffered += 1;
        }
        let acked = unit.buffered;
        let waiting = Waiting { piece, kind: Kind::Write, epoch, acked, next: NONE };
        self.pieces.hold(&mut unit.taking, waiting);
        if acked {
            self.stats.buffered += 1;
            self.act(Action::Ack(piece.request, How::Buffer));
        }
    }

    fn trim(&mut self, request: RequestId, lpn: Lpn) {
        let len = self.config.sectors_per_page;
        let first = u64::from(lpn.0) * u64::from(len);
        self.expect_inside(Extent { request, first, sectors: u64::from(len) });
        let piece = Piece { request, lpn, start: 0, len };
        self.stats.trims += 1;
        if let Some(at) = self.table.get(lpn.0) {
            let unit = &self.units[at];
            if !unit.only_reads() {
                let waits = unit.state == State::Ready && unit.held.is_empty();
                if !(waits && unit.buffered && unit.copies.is_none()) {
                    let epoch = self.epochs.enter();
                    self.pieces.push(&mut self.units[at].held, piece, Kind::Trim, epoch);
                    return;
                }
                // Nobody can read what waits in the write buffer any more.
                self.ready.retain(|&ready| ready != at);
                self.acknowledge(at, How::Buffer);
                self.end(at);
            } else {
                self.unlist(at);
            }
        }
        if let Some(at) = self.cached_unit(lpn) {
            self.cached = None;
            self.units.remove(at);
        }
        self.unmap(lpn);
        self.act(Action::Ack(request, How::Buffer));
    }

    pub(crate) fn unmap(&mut self, lpn: Lpn) {
        if let Some(psn) = self.map.get(lpn.0) {
            let sequence = self.blocks.sequence(self.block_of(psn));
            if sequence > self.trim_floor {
                self.trim_floor = sequence;
                self.renumber_points();
            }
            self.map.clear(lpn.0);
            self.invalidate(psn);
        }
    }

    /// Lets every open block take pages that are not mapped: those below the trim floor get a new
    /// number for the pages they have yet to take. Each page is programmed with the number of its
    /// time, so what is there already keeps its age. Without this one trim of fresh data would
    /// leave all new data to the one write point that has opened a block since.
    fn renumber_points(&mut self) {
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

    /// Takes a pending read out of the table: it goes on, but later requests do not join it.
    pub(crate) fn unlist(&mut self, at: u32) {
        self.table.remove(self.units[at].lpn);
        self.units[at].listed = false;
    }

    /// Nothing is left to do for a unit.
    pub(crate) fn end(&mut self, at: u32) {
        let unit = &self.units[at];
        self.buffered -= u32::from(unit.buffered);
        self.table.remove(unit.lpn);
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
