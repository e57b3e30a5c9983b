//! The buffer of a classic drive: segments with LRU replacement, and what a command finds in them.

use super::config::BufferConfig;

/// What a command finds in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hit {
    /// Nothing.
    #[default]
    Miss,
    /// Data to be written that overlap with it: the command waits for them.
    Collision,
    /// All sectors of a read.
    Whole,
    /// The first sectors of a read, or read-ahead that reads its first sector.
    Partial,
    /// The data to be written that a write continues.
    Append,
}

/// What a segment is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SegmentUse {
    #[default]
    Empty,
    /// Holds data that the medium has, too.
    Clean,
    /// Holds data to be written.
    Dirty,
    /// The head reads into it.
    Reading,
    /// The head writes from it.
    Writing,
}

/// A segment, which holds one run of sectors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BufferSegment {
    pub start: u64,
    pub end: u64,
    pub state: SegmentUse,
    /// Whether a write, or a read, used the segment last; both are false in a new segment.
    pub written: bool,
    pub read: bool,
    /// End of the sectors to be read ahead, and of those to be read even if other commands wait.
    pub limit: u64,
    pub least: u64,
    /// Number of commands that use the segment.
    pub commands: u32,
    /// The first sector that is not on the medium, and the end of the last write.
    pub unwritten: u64,
    pub writes_end: u64,
    /// Whether data of the segment are crossing the bus.
    pub transfers: bool,
    /// Whether the segment is reserved for writes.
    reserved: bool,
    /// Position in the LRU order.
    used: u64,
}

impl BufferSegment {
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }

    fn dirty(&self) -> bool {
        matches!(self.state, SegmentUse::Dirty | SegmentUse::Writing)
    }
}

#[derive(Clone, Debug)]
pub(super) struct BufferSegments {
    all: Vec<BufferSegment>,
    config: BufferConfig,
    uses: u64,
}

impl BufferSegments {
    pub fn new(config: &BufferConfig) -> Self {
        let one = |at| BufferSegment {
            used: u64::from(at),
            reserved: at == 0 && config.write_segment,
            ..BufferSegment::default()
        };
        Self {
            all: (0..config.segments).map(one).collect(),
            config: *config,
            uses: u64::from(config.segments),
        }
    }

    pub fn get(&mut self, at: usize) -> &mut BufferSegment {
        &mut self.all[at]
    }

    /// Number of segments with data to be written.
    pub fn dirty(&self) -> usize {
        self.all.iter().filter(|segment| segment.dirty()).count()
    }

    /// Makes a segment the most recently used one.
    pub fn mark_used(&mut self, at: usize) {
        self.all[at].used = self.uses;
        self.uses += 1;
    }

    pub fn is_latest(&self, at: usize) -> bool {
        self.all[at].used + 1 == self.uses
    }

    /// The best segment by rank, the least recently used of equals; none of rank 0.
    fn best(&self, rank: impl Fn(usize, &BufferSegment) -> u32) -> Option<(u32, usize)> {
        let mut best: Option<(u32, u64, usize)> = None;
        for (at, segment) in self.all.iter().enumerate() {
            let rank = rank(at, segment);
            let better = |(most, used, _)| rank > most || rank == most && segment.used < used;
            if rank > 0 && best.is_none_or(better) {
                best = Some((rank, segment.used, at));
            }
        }
        best.map(|(rank, _, at)| (rank, at))
    }

    /// The segment for a read: the one that holds most of it, or one to read into. The segment
    /// `ahead`, which is being read ahead for no command, is the last resort for the latter; the
    /// third value says that it was chosen for this.
    pub fn find_for_read(
        &self,
        start: u64,
        end: u64,
        ahead: Option<usize>,
    ) -> (Hit, Option<usize>, bool) {
        let config = &self.config;
        let collides = |segment: &BufferSegment| {
            let hit = config.keeps_data && config.read_hits_written && !segment.reserved;
            segment.dirty()
                && segment.overlaps(start, end)
                && !(hit && (segment.start..segment.end).contains(&start))
        };
        if self.all.iter().any(collides) {
            return (Hit::Collision, None, false);
        }
        let rank = |at, segment: &BufferSegment| {
            if segment.reserved {
                return 0;
            }
            if segment.state == SegmentUse::Empty {
                return 3;
            }
            if !(segment.start..segment.end).contains(&start) {
                return match segment.state {
                    SegmentUse::Clean if segment.commands == 0 => 2,
                    SegmentUse::Reading if config.hits_next_sector && segment.end == start => 5,
                    SegmentUse::Reading if ahead == Some(at) => 1,
                    _ => 0,
                };
            }
            let whole = match segment.state {
                SegmentUse::Dirty => 11,
                SegmentUse::Writing => 10,
                SegmentUse::Reading if config.keeps_data => 9,
                SegmentUse::Clean if config.read_hits_written || segment.read => 8,
                _ => return 0,
            };
            if segment.end >= end { whole } else { whole - 4 }
        };
        match self.best(rank) {
            None => (Hit::Miss, None, false),
            Some((rank @ 1..=3, at)) => (Hit::Miss, Some(at), rank == 1),
            Some((4..=7, at)) => (Hit::Partial, Some(at), false),
            Some((_, at)) => (Hit::Whole, Some(at), false),
        }
    }

    /// The segment for a write; the values are as for a read.
    pub fn find_for_write(
        &self,
        start: u64,
        end: u64,
        ahead: Option<usize>,
    ) -> (Hit, Option<usize>, bool) {
        let config = &self.config;
        let appends = |segment: &BufferSegment| {
            segment.dirty()
                && config.join_writes
                && !segment.transfers
                && start == segment.writes_end
                && start == segment.end
                && config.segment_sectors > start - segment.unwritten
        };
        let collides = |(at, segment): (usize, &BufferSegment)| {
            let busy = match segment.state {
                SegmentUse::Empty => false,
                SegmentUse::Clean => segment.commands > 0,
                SegmentUse::Reading => ahead != Some(at),
                SegmentUse::Dirty | SegmentUse::Writing => true,
            };
            busy && segment.overlaps(start, end)
        };
        if self.all.iter().enumerate().any(collides) {
            return (Hit::Collision, None, false);
        }
        let most = config.write_segments.unwrap_or(config.segments) as usize;
        let room = self.dirty() < most;
        let rank = |at, segment: &BufferSegment| {
            if config.write_segment && !segment.reserved {
                return 0;
            }
            match segment.state {
                SegmentUse::Writing if appends(segment) => 7,
                SegmentUse::Dirty if appends(segment) => 6,
                SegmentUse::Clean if room && segment.commands == 0 => {
                    if segment.overlaps(start, end) { 4 } else { 2 }
                }
                SegmentUse::Empty if room => 3,
                SegmentUse::Reading if room && ahead == Some(at) => 1,
                _ => 0,
            }
        };
        match self.best(rank) {
            None => (Hit::Miss, None, false),
            Some((6.., at)) => (Hit::Append, Some(at), false),
            Some((rank, at)) => (Hit::Miss, Some(at), rank == 1),
        }
    }

    /// Empties all other segments without commands that overlap a written range.
    pub fn forget(&mut self, start: u64, end: u64, but: usize) {
        for (at, segment) in self.all.iter_mut().enumerate() {
            if at != but
                && segment.state == SegmentUse::Clean
                && segment.commands == 0
                && segment.overlaps(start, end)
            {
                segment.state = SegmentUse::Empty;
            }
        }
    }

    /// Drops sectors at the start of a segment that do not fit with sectors up to `end`.
    pub fn drop_before(&mut self, at: usize, end: u64) {
        let capacity = self.config.segment_sectors;
        let segment = &mut self.all[at];
        segment.start = segment.start.max(end.saturating_sub(capacity));
    }

    /// Extends a segment to `end`, and drops sectors at its start that no longer fit.
    pub fn fill(&mut self, at: usize, end: u64) {
        let capacity = self.config.segment_sectors;
        let segment = &mut self.all[at];
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(capacity));
    }
}
