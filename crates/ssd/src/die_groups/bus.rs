//! A group of buses, which die groups use in the order in which they request it.
//!
//! A read requests the bus when its data are sensed. That time is known when the read starts, so
//! the request needs no event: pending reads are kept in the order of their requests, and the end
//! of each follows from its predecessors. A program or erase that requests the bus in the meantime
//! may postpone that end. At one instant, reads come first.

use gordon_sim::Timeline;
use gordon_units::Ns;

/// Reads of one die group that are being sensed.
#[derive(Clone, Copy, Debug)]
struct PendingBusRead {
    die_group: u32,
    /// Time at which the data are sensed and the bus is requested.
    sensed: Ns,
    /// Time at which the bus is granted, as known so far.
    start: Ns,
    /// Transfer time of the first read, and of all reads together.
    first: Ns,
    all: Ns,
}

/// Die groups whose next event was postponed, with its new time.
pub(super) type PostponedEvents = Vec<(u32, Ns)>;

/// Number of settled reads that are removed from the list at once.
const FORGET: usize = 16;

/// One group of buses.
#[derive(Clone, Debug, Default)]
pub(super) struct BusGroup {
    /// Reservations that are final.
    line: Timeline,
    /// Pending reads in the order of their bus requests. The first `settled_reads` are included in
    /// `line`.
    reads: Vec<PendingBusRead>,
    settled_reads: usize,
    /// End of the last known reservation.
    end: Ns,
}

impl BusGroup {
    /// Reserves the bus from `now`, or as soon as it is free. Returns the end of the reservation.
    #[inline(always)]
    pub fn reserve(&mut self, now: Ns, span: Ns, moved: &mut PostponedEvents) -> Ns {
        if self.settled_reads < self.reads.len() {
            return self.reserve_before(now, span, moved);
        }
        self.end = self.line.reserve(now, span);
        self.end
    }

    /// [`reserve`](Self::reserve) with pending reads.
    #[inline(never)]
    fn reserve_before(&mut self, now: Ns, span: Ns, moved: &mut PostponedEvents) -> Ns {
        self.settle(now);
        let end = self.line.reserve(now, span);
        self.postpone(self.settled_reads, end, moved);
        end
    }

    /// Reads of a die group start; they will request the bus at `sensed`. Returns the end of the
    /// first transfer, which later requests may still postpone.
    #[inline]
    pub fn read(
        &mut self,
        now: Ns,
        die_group: u32,
        sensed: Ns,
        [first, all]: [Ns; 2],
        moved: &mut PostponedEvents,
    ) -> Ns {
        // On average as many reads are settled as start, so one at a time is enough.
        self.settle_one(now);
        if self.settled_reads >= FORGET {
            self.reads.drain(..self.settled_reads);
            self.settled_reads = 0;
        }
        if self.reads.last().is_some_and(|last| last.sensed > sensed) {
            return self
                .push_in(PendingBusRead { die_group, sensed, start: sensed, first, all }, moved);
        }
        let start = self.end.max(sensed);
        self.end = start + all;
        self.reads.push(PendingBusRead { die_group, sensed, start, first, all });
        start + first
    }

    /// Inserts reads that are sensed before others that started earlier.
    #[cold]
    fn push_in(&mut self, read: PendingBusRead, moved: &mut PostponedEvents) -> Ns {
        let at = self.reads.partition_point(|other| other.sensed <= read.sensed);
        // If all reads before it are settled, a program may have reserved the bus after them.
        let free = match &self.reads[self.settled_reads..at] {
            [.., last] => last.start + last.all,
            [] => self.line.free_at(),
        };
        let start = free.max(read.sensed);
        self.reads.insert(at, PendingBusRead { start, ..read });
        self.postpone(at + 1, start + read.all, moved);
        start + read.first
    }

    /// Makes the reservations of all reads sensed by `now` final.
    #[inline]
    fn settle(&mut self, now: Ns) {
        while self.settle_one(now) {}
    }

    #[inline(always)]
    fn settle_one(&mut self, now: Ns) -> bool {
        let Some(read) = self.reads.get(self.settled_reads).filter(|read| read.sensed <= now)
        else {
            return false;
        };
        self.line.reserve(read.sensed, read.all);
        self.settled_reads += 1;
        true
    }

    /// Recomputes the pending reads from index `from` on; the bus is busy until `end`.
    #[inline]
    fn postpone(&mut self, from: usize, mut end: Ns, moved: &mut PostponedEvents) {
        for read in &mut self.reads[from..] {
            let start = end.max(read.sensed);
            if start == read.start {
                // All later reads are unchanged, too.
                return;
            }
            read.start = start;
            moved.push((read.die_group, start + read.first));
            end = start + read.all;
        }
        self.end = end;
    }

    /// Total busy time, including reservations in the future.
    pub fn busy(&self, now: Ns) -> Ns {
        let asked = self.reads[self.settled_reads..].iter().take_while(|read| read.sensed <= now);
        self.line.busy() + asked.map(|read| read.all).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_sensed_before_others_waits_for_the_current_bus_transfer() {
        let (mut bus, mut moved) = (BusGroup::default(), vec![]);
        let ten = Ns(10);
        assert_eq!(bus.read(Ns(0), 0, ten, [ten; 2], &mut moved), Ns(20));
        assert_eq!(bus.reserve(Ns(15), Ns(55), &mut moved), Ns(75));
        assert_eq!(bus.read(Ns(16), 2, Ns(100), [ten; 2], &mut moved), Ns(110));
        assert_eq!(bus.read(Ns(17), 3, Ns(27), [ten; 2], &mut moved), Ns(85));
        // A later read is not postponed further.
        assert_eq!(bus.read(Ns(18), 4, Ns(28), [ten; 2], &mut moved), Ns(95));
        assert!(moved.is_empty(), "{moved:?}");
    }
}
