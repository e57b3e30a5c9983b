//! Buses, each given to die groups in the order of the times at which they ask for it.
//!
//! A read asks when it is sensed. That time is known when it starts, so it needs no event: the read
//! stands among those that will ask, and its end follows from those before it. What asks meanwhile,
//! a program or an erase, may put that end off. At one instant reads ask first.

use gordon_sim::Timeline;
use gordon_units::Ns;

/// Reads that are being sensed, of one die group.
#[derive(Clone, Copy, Debug)]
struct PendingBusRead {
    die_group: u32,
    /// When they are sensed, and ask.
    sensed: Ns,
    /// When the bus is theirs, as far as is known.
    start: Ns,
    /// How long the data of the first take, and those of all.
    first: Ns,
    all: Ns,
}

/// A die group's next event is at another time than was said.
pub(super) type PostponedEvents = Vec<(u32, Ns)>;

/// Reads that have asked are forgotten so many at a time.
const FORGET: usize = 16;

/// One group of buses.
#[derive(Clone, Debug, Default)]
pub(super) struct BusGroup {
    /// What is certain.
    line: Timeline,
    /// By the time at which they ask. Of so many that is counted in what is certain, of others
    /// maybe not yet.
    reads: Vec<PendingBusRead>,
    settled_reads: usize,
    /// When all that is known of is over.
    end: Ns,
}

impl BusGroup {
    /// Takes the bus from now, or as soon as it is free; when it is free again.
    #[inline(always)]
    pub fn reserve(&mut self, now: Ns, span: Ns, moved: &mut PostponedEvents) -> Ns {
        if self.settled_reads < self.reads.len() {
            return self.reserve_before(now, span, moved);
        }
        self.end = self.line.reserve(now, span);
        self.end
    }

    /// As [`reserve`](Self::reserve), where there are reads.
    #[inline(never)]
    fn reserve_before(&mut self, now: Ns, span: Ns, moved: &mut PostponedEvents) -> Ns {
        self.settle(now);
        let end = self.line.reserve(now, span);
        self.postpone(self.settled_reads, end, moved);
        end
    }

    /// Reads of a die group start, and will ask when they are `sensed`; when the first are over, if
    /// nothing else comes between.
    #[inline]
    pub fn read(
        &mut self,
        now: Ns,
        die_group: u32,
        sensed: Ns,
        [first, all]: [Ns; 2],
        moved: &mut PostponedEvents,
    ) -> Ns {
        // Mostly as many ask as start.
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

    /// Reads start that are sensed before others that started earlier.
    #[cold]
    fn push_in(&mut self, read: PendingBusRead, moved: &mut PostponedEvents) -> Ns {
        let at = self.reads.partition_point(|other| other.sensed <= read.sensed);
        // Where all before it have asked, a program may have, too.
        let free = match &self.reads[self.settled_reads..at] {
            [.., last] => last.start + last.all,
            [] => self.line.free_at(),
        };
        let start = free.max(read.sensed);
        self.reads.insert(at, PendingBusRead { start, ..read });
        self.postpone(at + 1, start + read.all, moved);
        start + read.first
    }

    /// Those that have asked by now have the bus for certain.
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

    /// The bus is not free before `end` for the reads from one on.
    #[inline]
    fn postpone(&mut self, from: usize, mut end: Ns, moved: &mut PostponedEvents) {
        for read in &mut self.reads[from..] {
            let start = end.max(read.sensed);
            if start == read.start {
                // So it is with those after it.
                return;
            }
            read.start = start;
            moved.push((read.die_group, start + read.first));
            end = start + read.all;
        }
        self.end = end;
    }

    /// How long it carried something, reservations to come included.
    pub fn busy(&self, now: Ns) -> Ns {
        let asked = self.reads[self.settled_reads..].iter().take_while(|read| read.sensed <= now);
        self.line.busy() + asked.map(|read| read.all).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_is_sensed_before_others_waits_for_what_has_the_bus() {
        let (mut bus, mut moved) = (BusGroup::default(), vec![]);
        let ten = Ns(10);
        assert_eq!(bus.read(Ns(0), 0, ten, [ten; 2], &mut moved), Ns(20));
        assert_eq!(bus.reserve(Ns(15), Ns(55), &mut moved), Ns(75));
        assert_eq!(bus.read(Ns(16), 2, Ns(100), [ten; 2], &mut moved), Ns(110));
        assert_eq!(bus.read(Ns(17), 3, Ns(27), [ten; 2], &mut moved), Ns(85));
        // And what comes then is deferred by nobody.
        assert_eq!(bus.read(Ns(18), 4, Ns(28), [ten; 2], &mut moved), Ns(95));
        assert!(moved.is_empty(), "{moved:?}");
    }
}
