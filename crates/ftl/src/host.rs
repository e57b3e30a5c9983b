//! What the host asks for.

use crate::io::{Action, Host, Piece, RequestId};
use crate::machine::Ftl;
use crate::units::{Kind, State, Unit};
use gordon_nand::Buf;
use gordon_units::Lpn;

impl Ftl {
    pub(crate) fn host(&mut self, host: Host) {
        match host {
            Host::Read(piece) => self.read(piece),
            Host::Write(piece) => self.write(piece),
            Host::Trim(request, lpn) => self.trim(request, lpn),
            Host::Flush(request) => {
                self.stats.flushes += 1;
                self.epochs.flush(request);
                self.ack_flushes();
            }
        }
    }

    fn expect_inside(&self, piece: Piece) {
        let end = piece.start.checked_add(piece.len);
        let inside = piece.len > 0 && end.is_some_and(|end| end <= self.config.sectors_per_page);
        assert!(inside && piece.lpn.0 < self.config.exported, "no such piece: {piece:?}");
    }

    fn read(&mut self, piece: Piece) {
        self.expect_inside(piece);
        self.stats.host_reads += 1;
        let lpn = piece.lpn;
        if let Some(at) = self.table.get(lpn.0) {
            let unit = &mut self.units[at];
            if unit.state == State::Reading {
                self.pieces.push(&mut unit.readers, piece, Kind::Read, 0);
                self.stats.bypassed += 1;
            } else {
                self.stats.forwarded += 1;
                self.give(at, piece);
            }
        } else if let Some(at) = self.cached_unit(lpn) {
            self.stats.bypassed += 1;
            self.give(at, piece);
        } else if let Some(ppn) = self.lookup(lpn) {
            let mut unit = Unit::new(lpn.0, State::Reading);
            unit.listed = self.config.bypass;
            self.pieces.push(&mut unit.readers, piece, Kind::Read, 0);
            self.stats.host_page_reads += 1;
            let at = self.read_page(ppn, unit);
            if self.config.bypass {
                self.table.insert(lpn.0, at);
            }
        } else {
            self.stats.unmapped_reads += 1;
            self.act(Action::GiveZeros(piece));
            self.act(Action::Ack(piece.request));
        }
    }

    fn write(&mut self, piece: Piece) {
        self.expect_inside(piece);
        self.stats.host_writes += 1;
        let epoch = self.epochs.enter();
        let (lpn, whole) = (piece.lpn, piece.len == self.config.sectors_per_page);
        if let Some(at) = self.table.get(lpn.0) {
            let unit = &mut self.units[at];
            if unit.only_reads() {
                if !whole {
                    // The read that is pending is the one this write needs.
                    self.stats.bypassed += 1;
                    self.pieces.push(&mut unit.taking, piece, Kind::Write, epoch);
                    return;
                }
                self.unlist(at);
            } else if unit.state == State::Programming
                || !unit.held.is_empty()
                || !self.config.combine
            {
                // A trim that is held must come first.
                self.pieces.push(&mut unit.held, piece, Kind::Write, epoch);
                return;
            } else {
                self.stats.combined += 1;
                self.pieces.push(&mut unit.taking, piece, Kind::Write, epoch);
                if unit.state == State::Ready {
                    self.act(Action::Fill(Buf(at), piece));
                }
                return;
            }
        }
        let mut unit = Unit::new(lpn.0, State::Ready);
        self.pieces.push(&mut unit.taking, piece, Kind::Write, epoch);
        let cached = self.cached_unit(lpn);
        let at = match (cached, self.lookup(lpn)) {
            (Some(at), _) => {
                self.stats.bypassed += u64::from(!whole);
                self.cached = None;
                self.units[at] = unit;
                at
            }
            (None, Some(ppn)) if !whole => {
                self.stats.merge_page_reads += 1;
                unit.state = State::Reading;
                self.read_page(ppn, unit)
            }
            (None, mapped) => {
                let at = self.units.add(unit);
                if mapped.is_none() && !whole {
                    self.act(Action::Zero(Buf(at)));
                }
                at
            }
        };
        self.table.insert(lpn.0, at);
        if self.units[at].state == State::Ready {
            self.act(Action::Fill(Buf(at), piece));
            self.ready.push_back(at);
        }
    }

    fn trim(&mut self, request: RequestId, lpn: Lpn) {
        let piece = Piece { request, lpn, start: 0, len: self.config.sectors_per_page };
        self.expect_inside(piece);
        self.stats.trims += 1;
        if let Some(at) = self.table.get(lpn.0) {
            if !self.units[at].only_reads() {
                let epoch = self.epochs.enter();
                self.pieces.push(&mut self.units[at].held, piece, Kind::Trim, epoch);
                return;
            }
            self.unlist(at);
        }
        if let Some(at) = self.cached_unit(lpn) {
            self.cached = None;
            self.units.remove(at);
        }
        self.unmap(lpn);
        self.act(Action::Ack(request));
    }

    pub(crate) fn unmap(&mut self, lpn: Lpn) {
        if let Some(ppn) = self.lookup(lpn) {
            let sequence = self.blocks.sequence(self.layout.block_of(ppn));
            if sequence > self.trim_floor {
                self.trim_floor = sequence;
                self.renumber_points();
            }
            self.map.set(lpn.0, 0);
            self.invalidate(ppn);
        }
    }

    /// Lets every open block take pages that are not mapped: those below the trim floor get a new
    /// number for the pages they have yet to take. Each page is programmed with the number of its
    /// time, so what is there already keeps its age. Without this one trim of fresh data would
    /// leave all new data to the one write point that has opened a block since.
    fn renumber_points(&mut self) {
        for point in &mut self.points {
            if let Some(block) = point.block
                && point.sequence < self.trim_floor
            {
                point.sequence = self.blocks.renumber(block);
            }
        }
    }

    pub(crate) fn cached_unit(&self, lpn: Lpn) -> Option<u32> {
        self.cached.filter(|&at| self.units[at].lpn == lpn.0)
    }

    /// Takes a pending read out of the table: it goes on, but later requests do not join it.
    pub(crate) fn unlist(&mut self, at: u32) {
        self.table.remove(self.units[at].lpn);
        self.units[at].listed = false;
    }

    pub(crate) fn give(&mut self, at: u32, piece: Piece) {
        self.act(Action::Give(Buf(at), piece));
        self.act(Action::Ack(piece.request));
    }

    pub(crate) fn ack_flushes(&mut self) {
        while let Some(request) = self.epochs.flushed() {
            self.act(Action::Ack(request));
        }
    }
}
