//! The cache of a disk: segments of read data, and written data that are not on the medium yet.
//!
//! Both hold ranges of sectors, not bytes. [`Segments`] replaces the least recently used segment.
//! [`DirtySectors`] merges ranges that touch or overlap, so that adjacent writes go to the medium
//! in one operation. A sector may be in both; both copies are then current, since a drive updates a
//! segment when it is written to.

use super::mechanics::SeekTarget;
use super::schedule::Candidate;
use gordon_units::Ns;

/// A run of sectors that can be read from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    start: u64,
    end: u64,
    /// End of the sectors that the host has read; the rest was read ahead.
    read_to: u64,
    /// Sequence number of the last use; zero makes the segment the first to be replaced.
    used: u64,
}

impl Segment {
    /// End of the run (exclusive).
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the segment holds this sector.
    #[inline]
    pub fn holds(&self, at: u64) -> bool {
        self.start <= at && at < self.end
    }
}

/// All segments of read data.
#[derive(Clone, Debug)]
pub struct Segments {
    segments: Vec<Segment>,
    /// Capacity of a segment in sectors.
    capacity: u64,
    uses: u64,
}

impl Segments {
    /// Creates `count` empty segments of `capacity` sectors.
    pub fn new(count: u32, capacity: u64) -> Self {
        let empty = Segment { start: 0, end: 0, read_to: 0, used: 0 };
        Self { segments: (0..count).map(|_| empty).collect(), capacity, uses: 0 }
    }

    /// Capacity of a segment in sectors.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The segment with this index.
    #[inline]
    pub fn get(&self, index: usize) -> &Segment {
        &self.segments[index]
    }

    /// The segment that holds `at` and extends furthest beyond it.
    #[inline]
    pub fn find(&self, at: u64) -> Option<usize> {
        let (mut found, mut most) = (None, at + 1);
        for (i, segment) in self.segments.iter().enumerate() {
            // One branch, rarely taken; the two conditions by themselves are unpredictable.
            if (segment.start <= at) & (segment.end >= most) {
                (found, most) = (Some(i), segment.end);
            }
        }
        found
    }

    /// Marks the segment as used and read by the host up to `to`. Returns whether any of that was
    /// read ahead.
    pub fn mark_read(&mut self, index: usize, to: u64) -> bool {
        self.uses += 1;
        let segment = &mut self.segments[index];
        segment.used = self.uses;
        let to = to.min(segment.end);
        let ahead = to > segment.read_to;
        segment.read_to = segment.read_to.max(to);
        ahead
    }

    /// The segment to read into from `start` on: one that ends there, else the least recently used
    /// one.
    pub fn open(&mut self, start: u64) -> usize {
        self.uses += 1;
        let index = self.segments.iter().position(|s| s.end == start && s.start < s.end);
        let index = index.unwrap_or_else(|| self.replace(start));
        self.segments[index].used = self.uses;
        index
    }

    /// Extends the segment to `end`, and drops sectors at its start that no longer fit.
    #[inline]
    pub fn fill(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        if end > segment.end {
            segment.end = end;
            segment.start = segment.start.max(end.saturating_sub(self.capacity));
        }
    }

    /// Keeps data just written to the medium readable; their segment is the first to be replaced.
    pub fn keep(&mut self, start: u64, end: u64) {
        let index = self.segments.iter().position(|s| s.end == start && s.start < s.end);
        let index = index.unwrap_or_else(|| self.replace(start));
        self.fill(index, end);
        self.segments[index].read_to = end;
    }

    /// Empties the least recently used segment.
    fn replace(&mut self, start: u64) -> usize {
        let oldest = self.segments.iter().enumerate().min_by_key(|(_, s)| s.used);
        let index = oldest.map(|(i, _)| i).expect("there is at least one segment");
        self.segments[index] = Segment { start, end: start, read_to: start, used: 0 };
        index
    }
}

/// A run of written sectors that are not on the medium yet.
#[derive(Clone, Copy, Debug)]
pub struct DirtyExtent {
    end: u64,
    /// The candidate for the scheduler: the first sector.
    candidate: Candidate,
}

impl DirtyExtent {
    /// First sector of the run.
    #[inline]
    pub fn start(&self) -> u64 {
        self.candidate.lba
    }
}

impl AsRef<Candidate> for DirtyExtent {
    fn as_ref(&self) -> &Candidate {
        &self.candidate
    }
}

/// Written data that are not on the medium yet.
#[derive(Clone, Debug, Default)]
pub struct DirtySectors {
    /// In ascending order; extents neither overlap nor touch.
    extents: Vec<DirtyExtent>,
    sectors: u64,
}

impl DirtySectors {
    /// All extents, by address.
    pub fn extents(&self) -> &[DirtyExtent] {
        &self.extents
    }

    /// Total number of dirty sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// End of the extent that holds `at`; `None` if `at` is clean.
    #[inline]
    pub fn reach(&self, at: u64) -> Option<u64> {
        let i = self.extents.partition_point(|e| e.start() <= at);
        let extent = self.extents[..i].last()?;
        (at < extent.end).then_some(extent.end)
    }

    /// Whether any sector of a range is dirty.
    pub fn has(&self, start: u64, end: u64) -> bool {
        let i = self.extents.partition_point(|e| e.end <= start);
        self.extents.get(i).is_some_and(|e| e.start() < end)
    }

    /// Whether a range overlaps or touches an extent, so that adding it creates no new extent.
    pub fn touches(&self, start: u64, end: u64) -> bool {
        let i = self.extents.partition_point(|e| e.end < start);
        self.extents.get(i).is_some_and(|e| e.start() <= end)
    }

    /// Adds a range; `target` returns the place of a sector.
    pub fn add(&mut self, start: u64, end: u64, since: Ns, target: impl FnOnce(u64) -> SeekTarget) {
        let first = self.extents.partition_point(|e| e.end < start);
        let beyond = self.extents.partition_point(|e| e.start() <= end);
        let merged = &self.extents[first..beyond];
        let Some((head, tail)) = merged.first().zip(merged.last()) else {
            let candidate = Candidate { lba: start, target: target(start), since };
            self.extents.insert(first, DirtyExtent { end, candidate });
            self.sectors += end - start;
            return;
        };
        let before: u64 = merged.iter().map(|e| e.end - e.start()).sum();
        let since = merged.iter().map(|e| e.candidate.since).min().unwrap_or(since).min(since);
        let at = if start < head.start() { target(start) } else { head.candidate.target };
        let (start, end) = (start.min(head.start()), end.max(tail.end));
        let candidate = Candidate { lba: start, target: at, since };
        self.extents[first] = DirtyExtent { end, candidate };
        self.extents.drain(first + 1..beyond);
        self.sectors = self.sectors - before + (end - start);
    }

    /// Removes up to `most` sectors from the start of an extent.
    pub fn take(
        &mut self,
        index: usize,
        most: u64,
        target: impl FnOnce(u64) -> SeekTarget,
    ) -> (u64, u64) {
        let extent = &mut self.extents[index];
        let start = extent.start();
        let end = extent.end.min(start + most);
        self.sectors -= end - start;
        if end == extent.end {
            self.extents.remove(index);
        } else {
            extent.candidate.lba = end;
            extent.candidate.target = target(end);
        }
        (start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::mechanics::Head;
    use proptest::prelude::*;

    fn at(lba: u64) -> SeekTarget {
        SeekTarget { track: Head::default(), angle: lba, course: lba }
    }

    #[test]
    fn ranges_that_touch_or_overlap_become_one() {
        let mut dirty = DirtySectors::default();
        for (start, end, since) in [(10, 20, 5), (30, 40, 1), (20, 25, 9), (24, 31, 7)] {
            dirty.add(start, end, Ns(since), at);
        }
        let [extent] = dirty.extents() else { panic!("{dirty:?}") };
        assert_eq!((extent.start(), extent.end, extent.candidate.since), (10, 40, Ns(1)));
        assert_eq!((dirty.sectors(), extent.candidate.target.angle), (30, 10));
        assert!(dirty.touches(40, 50) && dirty.touches(0, 10) && !dirty.touches(41, 50));
        assert_eq!(dirty.take(0, 12, at), (10, 22));
        assert_eq!((dirty.reach(21), dirty.reach(22), dirty.reach(40)), (None, Some(40), None));
        assert_eq!(dirty.extents()[0].candidate.target.angle, 22);
        assert_eq!(dirty.take(0, 100, at), (22, 40));
        assert_eq!((dirty.sectors(), dirty.extents().len()), (0, 0));
    }

    #[test]
    fn the_least_recently_used_segment_makes_room_written_data_first() {
        let mut segments = Segments::new(3, 100);
        for start in [1000, 2000] {
            let i = segments.open(start);
            segments.fill(i, start + 50);
        }
        segments.keep(3000, 3010);
        assert!(segments.find(3005).is_some());
        assert!(!segments.mark_read(segments.find(3005).unwrap(), 3010), "written, not read ahead");
        segments.keep(4000, 4010); // replaces segment 1000, since 3000 was used later
        assert!(segments.find(1000).is_none() && segments.find(2000).is_some());
        segments.keep(5000, 5010); // replaces 4000, which was never used
        assert!(segments.find(4000).is_none() && segments.find(3000).is_some());
    }

    #[test]
    fn a_full_segment_drops_its_oldest_sectors() {
        let mut segments = Segments::new(1, 100);
        let i = segments.open(0);
        segments.fill(i, 150);
        assert_eq!((segments.find(49), segments.find(50)), (None, Some(i)));
        assert_eq!(segments.open(150), i, "a read that continues it grows it");
        assert!(
            segments.mark_read(i, 120) && !segments.mark_read(i, 110) && segments.mark_read(i, 130)
        );
    }

    proptest! {
        #[test]
        fn dirty_is_the_set_of_written_sectors(
            ops in prop::collection::vec((0u64..200, 1u64..30, prop::bool::weighted(0.3)), 1..60)
        ) {
            let mut dirty = DirtySectors::default();
            let mut model = [false; 256];
            for (start, len, take) in ops {
                if take && !dirty.extents().is_empty() {
                    let index = usize::try_from(start).unwrap() % dirty.extents().len();
                    let (from, to) = dirty.take(index, len, at);
                    (from..to).for_each(|s| model[usize::try_from(s).unwrap()] = false);
                } else {
                    dirty.add(start, start + len, Ns(0), at);
                    (start..start + len).for_each(|s| model[usize::try_from(s).unwrap()] = true);
                }
                for s in 0..256u64 {
                    let is = dirty.reach(s).is_some();
                    prop_assert_eq!(is, model[usize::try_from(s).unwrap()], "sector {}", s);
                }
                for (s, e) in [(0, 256), (start, start + len), (start + len, start + 2 * len)] {
                    let any = (s..e.min(256)).any(|s| model[usize::try_from(s).unwrap()]);
                    prop_assert_eq!(dirty.has(s, e), any);
                }
                let count = model.iter().filter(|&&m| m).count();
                prop_assert_eq!(dirty.sectors(), u64::try_from(count).unwrap());
                let apart = dirty.extents().windows(2).all(|w| w[0].end < w[1].start());
                prop_assert!(apart, "{:?}", dirty);
                prop_assert!(dirty.extents().iter().all(|e| e.candidate.target.angle == e.start()));
            }
        }
    }
}
