//! The knobs of the layer.

use crate::map::MOST_SLOTS;
use core::fmt;
use gordon_nand::Layout;

/// Which block garbage collection takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victim {
    /// The one with the fewest valid pages.
    #[default]
    Greedy,
    /// The one closed first.
    Fifo,
    /// Any.
    Random,
    /// Of so many taken at random, the one with the fewest valid pages.
    DChoices(u32),
    /// The one with the most to gain for what it costs, old ones first.
    CostBenefit,
}

/// The knobs of the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Logical pages exported.
    pub exported: u32,
    /// Sectors of one logical page.
    pub sectors_per_page: u32,
    /// Logical pages in one super-page.
    pub slots: u32,
    /// Write points: blocks that are written at the same time. The paper has "one write point for
    /// each" die group.
    pub write_points: u32,
    /// More write points, for the copies of garbage collection alone: what is copied has not
    /// changed for long, and is kept apart from what the host writes (hot/cold separation). 0:
    /// copies go to the host's write points.
    pub copy_points: u32,
    /// Merge reads with pending reads of the page, and keep the last page read (the paper's
    /// bypassing).
    pub bypass: bool,
    /// Merge writes to a page that waits to be programmed (the paper's write combining).
    pub combine: bool,
    /// Number of pages at the end of each block that record the logical pages of the data pages
    /// before them (the paper's summary page). With 0, the out-of-band areas have to be read
    /// instead.
    pub summary_pages: u32,
    /// What was flushed outlives a power cut, trims too: they are logged on the array, and room is
    /// kept for [`Mount`](crate::Mount) to make good what a cut left. Needs `summary_pages`.
    pub durable: bool,
    /// Logical pages that may be acknowledged before they are programmed: a write buffer. Then a
    /// super-page is programmed when it is full, at a flush, and in idle time.
    pub write_buffer: u32,
    /// Free blocks that only garbage collection may use; the most blocks it collects at once.
    pub reserve: u32,
    /// Free blocks at which garbage collection starts, with what is left of open ones.
    pub low_water: u32,
    /// Free blocks up to which it continues in idle time, where that is cheap.
    pub idle_water: u32,
    /// Which block it takes.
    pub victim: Victim,
    /// Static wear levelling: how much more often the most erased block may have been erased than
    /// the least erased one that holds data, before that one is emptied. 0: never.
    pub wear_spread: u32,
    /// Of the policies' random choices.
    pub seed: u64,
    /// The driver keeps contents: it is told what to do with buffers. A simulation has none.
    pub contents: bool,
}

/// The most blocks that [`Victim::DChoices`] looks at: the best of so many is nearly the best of
/// all.
pub const MOST_CHOICES: u32 = 4096;

/// Why a layer cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlConfigError {
    /// A count is zero.
    Zero(&'static str),
    /// `low_water` is below `reserve`.
    LowWater {
        /// The mark.
        low_water: u32,
        /// The reserve.
        reserve: u32,
    },
    /// The exported pages leave garbage collection no room.
    NoRoom {
        /// Pages to be exported.
        exported: u32,
        /// Data pages of the array.
        raw: u64,
        /// The most that can be exported.
        most: u64,
    },
    /// `durable` without summary pages.
    NoSummary,
    /// The summary pages take the whole block.
    NoData {
        /// Pages of a block.
        pages: u32,
        /// Pages of its summary.
        summary_pages: u32,
    },
    /// Looks at more blocks for each collection than there is use for.
    Choices(u32),
    /// More logical pages in the array than 32-bit numbers can name.
    TooMany(u64),
}

impl fmt::Display for FtlConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "{what} is 0; give at least 1"),
            Self::LowWater { low_water, reserve } => write!(
                f,
                "low_water ({low_water} free blocks) is below the reserve of {reserve}: garbage \
                 collection would start too late; give at least {reserve}"
            ),
            Self::NoRoom { exported, raw, most: 0 } => write!(
                f,
                "exporting {exported} of {raw} data pages leaves garbage collection no room; use \
                 more blocks, fewer write points or a smaller reserve"
            ),
            Self::NoRoom { exported, raw, most } => write!(
                f,
                "exporting {exported} of {raw} data pages leaves garbage collection no room; \
                 export at most {most}, or use fewer write points or a smaller reserve"
            ),
            Self::NoSummary => f.write_str(
                "durable needs summary pages, to find what was written; set summary = true",
            ),
            Self::NoData { pages, summary_pages } => write!(
                f,
                "a block of {pages} pages has no data page next to a summary of {summary_pages} \
                 pages; give more pages a block"
            ),
            Self::Choices(choices) => write!(
                f,
                "choices: {choices} blocks looked at, more than {MOST_CHOICES}; take greedy, which \
                 sees all"
            ),
            Self::TooMany(pages) => write!(
                f,
                "{pages} mapping units are more than the 4278190079 that can be numbered; give a \
                 larger super_page.unit"
            ),
        }
    }
}

impl core::error::Error for FtlConfigError {}

impl Config {
    /// The paper's layer on `layout`, with logical pages as large as super-pages: one write point
    /// a die group, bypassing, combining and summaries on.
    pub fn new(layout: &Layout, exported: u32, sectors_per_page: u32) -> Self {
        let die_groups = layout.die_groups();
        // One victim a die group, and one block for each write point to open while it is collected;
        // but of a small array no more than a part.
        let reserve = die_groups.min((layout.blocks() / 64).max(2));
        Self {
            exported,
            sectors_per_page,
            slots: 1,
            write_points: die_groups,
            copy_points: 0,
            bypass: true,
            combine: true,
            summary_pages: 1,
            durable: false,
            write_buffer: 0,
            reserve,
            low_water: 2 * reserve + 2,
            idle_water: 4 * reserve,
            victim: Victim::Greedy,
            wear_spread: 0,
            seed: 0,
            contents: true,
        }
    }

    /// Super-pages of a block that hold data.
    pub fn data_pages(&self, layout: &Layout) -> u32 {
        layout.pages_per_block().saturating_sub(self.summary_pages)
    }

    /// Write points of either kind.
    pub fn points(&self) -> u32 {
        self.write_points.saturating_add(self.copy_points)
    }

    /// Free blocks kept for recovery, beside the reserve. After a power cut nothing is programmed
    /// in blocks that were open, and nothing is erased before their last pages and a snapshot of
    /// the trims are written. One more is for the journal, one to start emptying blocks with, and
    /// two for cuts in the recovery itself.
    pub fn spare(&self, layout: &Layout) -> u32 {
        let rewritten = self.points().div_ceil(self.data_pages(layout).max(1));
        let snapshot = self.snapshot_pages().div_ceil(layout.pages_per_block());
        if self.durable { 4 + rewritten + snapshot } else { 0 }
    }

    /// Bytes of a super-page that holds trims, without its header.
    fn journal_bytes(&self) -> u32 {
        let page = u64::from(self.slots) * u64::from(self.sectors_per_page) * 512;
        // Far below 2^32 where pages are of any real size.
        u32::try_from(page - 64).unwrap_or(u32::MAX)
    }

    /// Ranges of trimmed pages that fit into a page of the journal: 8 bytes each.
    pub fn journal_ranges(&self) -> u32 {
        self.journal_bytes() / 8
    }

    /// Logical pages told by one page of a snapshot of the journal: a bit each.
    pub fn journal_span(&self) -> u32 {
        self.journal_bytes().saturating_mul(8)
    }

    /// Pages of a whole snapshot.
    pub fn snapshot_pages(&self) -> u32 {
        self.exported.div_ceil(self.journal_span())
    }

    /// Free blocks that neither the host nor garbage collection may use, beside the reserve, while
    /// the journal has so many.
    pub(crate) fn recovery_reserve(&self, layout: &Layout, journal: u32) -> u32 {
        self.spare(layout) + self.journal_blocks(layout.pages_per_block()).saturating_sub(journal)
    }

    /// The most blocks that the journal takes: snapshot and as many records twice over, and a
    /// snapshot under way.
    fn journal_blocks(&self, pages: u32) -> u32 {
        let snapshot = self.snapshot_pages();
        if self.durable { (3 * snapshot).div_ceil(pages) + snapshot.div_ceil(pages) + 2 } else { 0 }
    }

    /// The most logical pages that leave garbage collection room on `layout`.
    pub fn most_exported(&self, layout: &Layout) -> u64 {
        self.most_on(layout.blocks(), layout)
    }

    /// The most logical pages that leave garbage collection room on so many good blocks.
    ///
    /// When `low_water + 1` blocks are free and every write point holds one, one of the others must
    /// have enough stale pages that its copies take fewer super-pages than it has, so that there is
    /// always a block worth collecting until the mark is passed.
    pub(crate) fn most_on(&self, blocks: u32, layout: &Layout) -> u64 {
        let data_pages = self.data_pages(layout);
        if data_pages == 0 {
            return 0;
        }
        let apart = self.recovery_reserve(layout, 0);
        let kept = u64::from(self.points()) + u64::from(self.low_water) + u64::from(apart) + 1;
        let worth = u64::from(data_pages - 1) * u64::from(self.slots) + 1;
        (u64::from(blocks).saturating_sub(kept) * worth).saturating_sub(1)
    }

    /// Checks that a layer with these knobs can always go on.
    pub fn validate(&self, layout: &Layout) -> Result<(), FtlConfigError> {
        for (count, what) in [
            (self.exported, "exported"),
            (self.sectors_per_page, "sectors_per_page"),
            (self.slots, "slots"),
            (self.write_points, "write_points"),
            (self.reserve, "reserve"),
        ] {
            if count == 0 {
                return Err(FtlConfigError::Zero(what));
            }
        }
        if self.durable && self.summary_pages == 0 {
            return Err(FtlConfigError::NoSummary);
        }
        if self.data_pages(layout) == 0 {
            let (pages, summary_pages) = (layout.pages_per_block(), self.summary_pages);
            return Err(FtlConfigError::NoData { pages, summary_pages });
        }
        if self.victim == Victim::DChoices(0) {
            return Err(FtlConfigError::Zero("choices"));
        }
        if let Victim::DChoices(choices) = self.victim
            && choices > MOST_CHOICES
        {
            return Err(FtlConfigError::Choices(choices));
        }
        let pages = u64::from(layout.pages()) * u64::from(self.slots);
        if pages > u64::from(MOST_SLOTS) {
            return Err(FtlConfigError::TooMany(pages));
        }
        let Self { low_water, reserve, exported, .. } = *self;
        if low_water < reserve {
            return Err(FtlConfigError::LowWater { low_water, reserve });
        }
        let most = self.most_exported(layout);
        if u64::from(exported) > most {
            let raw = u64::from(layout.blocks()) * u64::from(self.data_pages(layout));
            return Err(FtlConfigError::NoRoom {
                exported,
                raw: raw * u64::from(self.slots),
                most,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_array_that_can_export_nothing_is_not_advised_to_export_nothing() {
        let text = |most| FtlConfigError::NoRoom { exported: 9, raw: 9, most }.to_string();
        assert!(text(4).contains("export at most 4"), "{}", text(4));
        assert!(!text(0).contains("at most"), "{}", text(0));
    }
}
