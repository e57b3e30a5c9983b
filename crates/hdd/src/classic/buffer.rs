//! The buffer of a classic drive: segments with LRU replacement.

use super::config::BufferConfig;

/// A segment, which holds one run of sectors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BufferSegment {
    pub start: u64,
    pub end: u64,
    /// Whether the segment holds data.
    pub valid: bool,
    /// Whether a write, or a read, used the segment last; both are false in a new segment.
    pub written: bool,
    pub read: bool,
    /// End of the sectors to be read ahead.
    pub limit: u64,
    /// Whether the segment is reserved for writes.
    pub reserved: bool,
    /// Identity of the segment, independent of its position in the LRU order.
    pub id: u32,
}

impl BufferSegment {
    pub fn holds(&self, lba: u64) -> bool {
        self.valid && self.start <= lba && lba < self.end
    }

    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.valid && self.start < end && start < self.end
    }
}

#[derive(Clone, Debug)]
pub(super) struct BufferSegments {
    /// In LRU order, the least recently used first.
    order: Vec<BufferSegment>,
    capacity: u64,
    hits_written: bool,
}

impl BufferSegments {
    pub fn new(config: &BufferConfig) -> Self {
        let one = |id| BufferSegment {
            id,
            reserved: id == 0 && config.write_segment,
            ..BufferSegment::default()
        };
        Self {
            order: (0..config.segments).map(one).collect(),
            capacity: config.segment_sectors,
            hits_written: config.read_hits_written,
        }
    }

    pub fn get(&mut self, id: u32) -> &mut BufferSegment {
        self.order.iter_mut().find(|segment| segment.id == id).expect("segments stay")
    }

    /// Makes a segment the most recently used one.
    pub fn mark_used(&mut self, id: u32) {
        let at = self.order.iter().position(|segment| segment.id == id);
        self.order[at.expect("segments stay")..].rotate_left(1);
    }

    pub fn is_latest(&self, id: u32) -> bool {
        self.order.last().is_some_and(|segment| segment.id == id)
    }

    /// The segment that holds the first sector of a read. Segments that hold the whole range are
    /// preferred, then the `running` one.
    pub fn find(&self, start: u64, end: u64, running: Option<u32>) -> Option<BufferSegment> {
        let hits = self.order.iter().filter(|segment| {
            !segment.reserved && segment.holds(start) && (self.hits_written || segment.read)
        });
        let rank = |s: &BufferSegment| (s.end >= end, Some(s.id) == running);
        // The first of equals.
        hits.rev().max_by_key(|segment| rank(segment)).copied()
    }

    /// The segment to read into.
    pub fn to_read(&self, running: Option<u32>) -> u32 {
        let free = || self.order.iter().filter(|segment| !segment.reserved);
        let empty = free().find(|segment| !segment.valid);
        let idle = || free().find(|segment| Some(segment.id) != running);
        empty.or_else(idle).or_else(|| free().next()).expect("there is one for reads").id
    }

    /// The segment to write into.
    pub fn to_write(&self, start: u64, end: u64, running: Option<u32>) -> u32 {
        if let Some(reserved) = self.order.iter().find(|segment| segment.reserved) {
            return reserved.id;
        }
        let rank = |s: &BufferSegment| match () {
            () if Some(s.id) == running => 1,
            () if !s.valid => 3,
            () if s.overlaps(start, end) => 4,
            () => 2,
        };
        self.order.iter().rev().max_by_key(|s| rank(s)).expect("there is at least one").id
    }

    /// Invalidates all other segments that overlap a written range.
    pub fn forget(&mut self, start: u64, end: u64, but: u32, running: Option<u32>) {
        for segment in &mut self.order {
            let stays = segment.id == but || Some(segment.id) == running;
            if !stays && segment.overlaps(start, end) {
                segment.valid = false;
            }
        }
    }

    /// Extends a segment to `end`, and drops sectors at its start that no longer fit.
    pub fn fill(&mut self, id: u32, end: u64) {
        let capacity = self.capacity;
        let segment = self.get(id);
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(capacity));
    }
}
