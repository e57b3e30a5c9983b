//! The path of a write: space in the cache, link, cache; then the medium, when no read waits.

use super::mechanics::Head;
use super::{Disk, LinkTransfer, MechanismTask};
use gordon_blockio::{Cause, Completion};
use gordon_units::Ns;

/// Writes cross the link in pieces of at most this many sectors (1 MiB), so that a write larger
/// than the cache can be admitted piece by piece.
const WRITE_CHUNK: u64 = 2048;

/// A write whose sectors from `at` on wait for space in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingWrite {
    pub(crate) id: u64,
    /// Whether it is acknowledged only when it is on the medium.
    pub(crate) through: bool,
    pub(crate) start: u64,
    pub(crate) at: u64,
    pub(crate) end: u64,
    /// Time when the write reached the cache.
    pub(crate) since: Ns,
}

/// A write that is acknowledged when it is on the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingFua {
    id: u64,
    start: u64,
    end: u64,
}

/// How a write is acknowledged after its last piece has crossed the link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WriteAck {
    /// At once.
    InCache { id: u64, cause: Cause },
    /// When all of it is on the medium.
    OnMedium(PendingFua),
}

impl Disk {
    /// Admits waiting writes as long as the cache has space.
    pub(crate) fn admit_writes(&mut self) {
        while let Some(write) = self.writes.front_mut() {
            let taken = match self.task {
                MechanismTask::Destage { start, end, .. } => end - start,
                _ => 0,
            } + self.dirty.sectors()
                + self.inbound.0;
            let room = self.limits.dirty.saturating_sub(taken);
            let len = (write.end - write.at).min(WRITE_CHUNK);
            if room < len.min(self.limits.dirty) {
                return;
            }
            let (start, end) = (write.at, write.at + len.min(room));
            let extents = self.dirty.extents().len() + self.inbound.1 as usize;
            if extents >= self.limits.extents && !self.dirty.touches(start, end) {
                return;
            }
            write.at = end;
            // A write that did not fit at once waited for a destage.
            let cause = if write.since == self.clock { Cause::Buffer } else { Cause::Medium };
            let WaitingWrite { id, through, start: first, .. } = *write;
            let ack = if through {
                WriteAck::OnMedium(PendingFua { id, start: first, end })
            } else {
                WriteAck::InCache { id, cause }
            };
            let acknowledges = (write.at == write.end).then_some(ack);
            if acknowledges.is_some() {
                self.writes.pop_front();
            }
            self.inbound.0 += end - start;
            self.inbound.1 += 1;
            let done = self.link.reserve(self.clock, self.link_time(end - start));
            self.transfers.push_back((done, LinkTransfer::In { start, end, acknowledges }));
        }
    }

    /// Whether the host waits for destages: the cache is full, a flush is pending, or writes are
    /// acknowledged only when they are on the medium.
    pub(crate) fn destage_now(&self) -> bool {
        self.flush.is_some() || !self.writes.is_empty() || !self.pending_fua.is_empty()
    }

    /// Acknowledges the writes that are completely on the medium.
    pub(crate) fn acknowledge_written(&mut self, completed: &mut Vec<Completion>) {
        let mut at = 0;
        while let Some(&PendingFua { id, start, end }) = self.pending_fua.get(at) {
            if self.dirty.has(start, end) {
                at += 1;
            } else {
                self.pending_fua.remove(at);
                self.complete(id, Cause::Medium, completed);
            }
        }
    }

    pub(crate) fn finish_transfer(
        &mut self,
        transfer: LinkTransfer,
        completed: &mut Vec<Completion>,
    ) {
        match transfer {
            LinkTransfer::Out { id, cause } => self.complete(id, cause, completed),
            LinkTransfer::In { start, end, acknowledges } => {
                self.inbound.0 -= end - start;
                self.inbound.1 -= 1;
                self.dirty.add(start, end, self.clock, |lba| self.mechanics.aim(lba));
                match acknowledges {
                    Some(WriteAck::OnMedium(write)) => self.pending_fua.push(write),
                    Some(WriteAck::InCache { id, cause }) => self.complete(id, cause, completed),
                    None => {}
                }
                self.admit_writes();
            }
        }
    }

    pub(crate) fn destage(&mut self, extent: usize) {
        let since = self.clock;
        let target = self.dirty.extents()[extent].as_ref().target;
        let aim = |lba| self.mechanics.aim(lba);
        let (start, end) = self.dirty.take(extent, self.limits.destage, aim);
        let begins = self.position(target, true);
        let place = self.mechanics.geometry().nominal_location(end - 1);
        let ends = begins + Ns(self.mechanics.geometry().course_end(place) - target.course);
        let last = Head { cylinder: place.cylinder, head: place.head };
        self.task = MechanismTask::Destage { start, end, since, begins, ends, last };
    }
}
