//! The configuration of the layer.

use core::fmt;
use gordon_nand::Layout;

/// The victim selection policy of garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victim {
    /// The block with the fewest valid pages.
    #[default]
    Greedy,
    /// The block that was closed first.
    Fifo,
    /// A random block.
    Random,
    /// Of this many random blocks, the one with the fewest valid pages.
    DChoices(u32),
    /// The block with the highest ratio of benefit to cost, which favours old blocks.
    CostBenefit,
}

/// Policy by which garbage collection selects its victim block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case"),
    schemars(rename = "Policy")
)]
pub enum VictimPolicy {
    /// The block with the fewest valid pages.
    #[default]
    Greedy,
    /// The block that was closed first.
    Fifo,
    /// A random block.
    Random,
    /// The block with the fewest valid pages among a few random blocks (`choices`).
    DChoices,
    /// The block with the best ratio of benefit to cost, which favours older blocks.
    CostBenefit,
}

impl VictimPolicy {
    /// The policy as the translation layer has it; `choices` is the parameter of
    /// [`Self::DChoices`].
    pub fn victim(self, choices: u32) -> Victim {
        match self {
            Self::Greedy => Victim::Greedy,
            Self::Fifo => Victim::Fifo,
            Self::Random => Victim::Random,
            Self::DChoices => Victim::DChoices(choices),
            Self::CostBenefit => Victim::CostBenefit,
        }
    }

    /// The policy of a translation layer, and its parameter `choices` (2 for other policies).
    pub fn of(victim: Victim) -> (Self, u32) {
        match victim {
            Victim::Greedy => (Self::Greedy, 2),
            Victim::Fifo => (Self::Fifo, 2),
            Victim::Random => (Self::Random, 2),
            Victim::DChoices(choices) => (Self::DChoices, choices),
            Victim::CostBenefit => (Self::CostBenefit, 2),
        }
    }
}

/// The configuration of the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of exported logical pages.
    pub exported: u32,
    /// Sectors in a logical page.
    pub sectors_per_page: u32,
    /// Logical pages in a super-page.
    pub slots: u32,
    /// Write points of the host: the number of blocks written concurrently. The paper has "one
    /// write point for each" die group.
    pub write_points: u32,
    /// Additional write points for copies of garbage collection. Copied data have not changed for
    /// some time, and are kept separate from data that the host writes (hot/cold separation). With
    /// 0, copies go to the host's write points.
    pub copy_points: u32,
    /// Merge reads with pending reads of the same page, and cache the page read last (the paper's
    /// bypassing).
    pub bypass: bool,
    /// Merge writes to a page that waits to be programmed (the paper's write combining).
    pub combine: bool,
    /// Number of pages at the end of each block that record the logical pages of its data pages
    /// (the paper's summary page). With 0, a mount has to read the out-of-band areas instead.
    pub summary_pages: u32,
    /// Flushed writes and trims survive a power cut. Trims are recorded on the array, and blocks
    /// are reserved for recovery at [`Mount`](crate::Mount). Requires `summary_pages`.
    pub durable: bool,
    /// Size of the write buffer: logical pages that may be acknowledged before they are programmed.
    /// With a write buffer, a super-page is programmed when it is full, or at a flush.
    pub write_buffer: u32,
    /// The write buffer keeps its content when the power is cut: flushes and durable writes are
    /// done when the data are in the buffer.
    pub protected: bool,
    /// In idle time the write buffer is written out completely, even if a super-page is not full.
    pub idle_drain: bool,
    /// Number of super-pages of host data that are programmed at a time, at most; `None` for as
    /// many as there are write points.
    pub drain: Option<u32>,
    /// Free blocks reserved for garbage collection, which is also a bound on the blocks under
    /// collection.
    pub reserve: u32,
    /// Garbage collection starts at this number of free blocks; space left in open blocks counts
    /// too.
    pub low_water: u32,
    /// In idle time garbage collection continues up to this number of free blocks while it is
    /// cheap.
    pub idle_water: u32,
    /// The victim selection policy of garbage collection.
    pub victim: Victim,
    /// Static wear levelling: the tolerated difference in erases between the most erased block and
    /// the least erased block with data. Above it, the latter is emptied. 0 disables it.
    pub wear_spread: u32,
    /// Seed of the random choices of policies.
    pub seed: u64,
    /// The driver stores page contents, so the layer emits actions on buffers. A simulation does
    /// not need them.
    pub contents: bool,
}

/// Upper limit of [`Victim::DChoices`]; with that many choices the result is nearly that
/// of [`Victim::Greedy`].
pub const MOST_CHOICES: u32 = 4096;

/// Why a configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlConfigError {
    /// A count is zero.
    Zero(&'static str),
    /// `low_water` is below `reserve`.
    LowWater {
        /// The value of `low_water`.
        low_water: u32,
        /// The value of `reserve`.
        reserve: u32,
    },
    /// The number of exported pages leaves garbage collection no space.
    NoRoom {
        /// Logical pages to export.
        exported: u32,
        /// Logical pages that fit into the data pages of the array.
        raw: u64,
        /// The largest number of logical pages that can be exported.
        most: u64,
    },
    /// `durable` requires summary pages.
    NoSummary,
    /// `protected` requires a write buffer.
    NothingProtected,
    /// `protected` and `durable` exclude each other.
    ProtectedAndDurable,
    /// More programs at a time than there are write points.
    Drain {
        /// The value of `drain`.
        drain: u32,
        /// The number of write points.
        write_points: u32,
    },
    /// The summary pages occupy the whole block.
    NoData {
        /// Pages in a block.
        pages: u32,
        /// Pages of its summary.
        summary_pages: u32,
    },
    /// [`Victim::DChoices`] exceeds [`MOST_CHOICES`].
    Choices(u32),
    /// The array has more mapping units than 32-bit numbers can address.
    TooMany(u64),
}

/// Maximum number of slots; the values above it refer to buffers.
pub(crate) const MOST_SLOTS: u32 = u32::MAX - (1 << 24);

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
            Self::NothingProtected => f.write_str(
                "protected needs a write buffer, and there is none; give write_buffer a size, or \
                 set protected = false",
            ),
            Self::ProtectedAndDurable => f.write_str(
                "a protected write buffer makes every write durable by itself; leave out durable, \
                 or protected",
            ),
            Self::Drain { drain, write_points } => write!(
                f,
                "drain ({drain} super-pages at a time) is more than the array takes, which has \
                 {write_points} write points; give at most {write_points}, or more write_points"
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
    /// The configuration of the paper on `layout`, with logical pages as large as super-pages: one
    /// write point for each die group; bypassing, write combining and summaries enabled.
    pub fn new(layout: &Layout, exported: u32, sectors_per_page: u32) -> Self {
        let die_groups = layout.die_groups();
        // One block for each victim in collection, one on each die group; less on a small array.
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
            protected: false,
            idle_drain: true,
            drain: None,
            reserve,
            low_water: 2 * reserve + 2,
            idle_water: 4 * reserve,
            victim: Victim::Greedy,
            wear_spread: 0,
            seed: 0,
            contents: true,
        }
    }

    /// Limits the write points and the free blocks to what an array of `blocks` blocks can spare:
    /// open blocks are at most a quarter of the spare blocks, free blocks an eighth. On a small
    /// array of many die groups they would otherwise take all of the over-provisioning, and the
    /// write amplification would depend on the number of die groups.
    pub fn fit_spare(&mut self, blocks: u32, layout: &Layout) {
        let data =
            self.exported.div_ceil(self.data_pages(layout).saturating_mul(self.slots).max(1));
        let spare = blocks.saturating_sub(data);
        self.write_points = self.write_points.min((spare / 4).max(1));
        self.reserve = self.reserve.min((spare / 16).max(2));
        self.low_water = 2 * self.reserve + 2;
        self.idle_water = 4 * self.reserve;
    }

    /// Data super-pages of a block.
    pub fn data_pages(&self, layout: &Layout) -> u32 {
        layout.pages_per_block().saturating_sub(self.summary_pages)
    }

    /// Number of write points of both kinds.
    pub fn points(&self) -> u32 {
        self.write_points.saturating_add(self.copy_points)
    }

    /// Free blocks reserved for recovery, in addition to `reserve`. After a power cut, blocks that
    /// were open are not programmed further, and nothing is erased before their last pages and a
    /// snapshot of the trims are rewritten. One more block is for the journal, one to start
    /// emptying blocks, and two for power cuts during the recovery.
    pub fn spare(&self, layout: &Layout) -> u32 {
        let rewritten = self.points().div_ceil(self.data_pages(layout).max(1));
        let snapshot = self.snapshot_pages().div_ceil(layout.pages_per_block());
        if self.durable { 4 + rewritten + snapshot } else { 0 }
    }

    /// Bytes of a journal super-page without its header.
    fn journal_bytes(&self) -> u32 {
        let page = u64::from(self.slots) * u64::from(self.sectors_per_page) * 512;
        // Far below 2^32 for pages of any practical size.
        u32::try_from(page - 64).unwrap_or(u32::MAX)
    }

    /// Number of ranges of trimmed pages that fit into a journal page: 8 bytes each.
    pub fn journal_ranges(&self) -> u32 {
        self.journal_bytes() / 8
    }

    /// Number of logical pages that one page of a journal snapshot describes, one bit each.
    pub fn journal_span(&self) -> u32 {
        self.journal_bytes().saturating_mul(8)
    }

    /// Number of journal pages in a complete snapshot.
    pub fn snapshot_pages(&self) -> u32 {
        self.exported.div_ceil(self.journal_span())
    }

    /// Free blocks that neither the host nor garbage collection may use, in addition to `reserve`,
    /// while the journal occupies `journal` blocks.
    pub(crate) fn recovery_reserve(&self, layout: &Layout, journal: u32) -> u32 {
        self.spare(layout) + self.journal_blocks(layout.pages_per_block()).saturating_sub(journal)
    }

    /// The largest number of blocks that the journal occupies: a snapshot and twice as many
    /// records, and another snapshot being written.
    fn journal_blocks(&self, pages: u32) -> u32 {
        let snapshot = self.snapshot_pages();
        if self.durable { (3 * snapshot).div_ceil(pages) + snapshot.div_ceil(pages) + 2 } else { 0 }
    }

    /// The largest number of logical pages that leaves garbage collection enough space on `layout`.
    pub fn most_exported(&self, layout: &Layout) -> u64 {
        self.most_on(layout.blocks(), layout)
    }

    /// The largest number of logical pages that leaves garbage collection enough space on `blocks`
    /// good blocks.
    ///
    /// If `low_water + 1` blocks are free and every write point has one, then one of the remaining
    /// blocks must have enough stale pages that its copies take fewer super-pages than it has.
    /// There is then always a victim that gains space until the number of free blocks exceeds
    /// `low_water`.
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

    /// Checks that a layer with this configuration never runs out of free blocks.
    pub fn validate(&self, layout: &Layout) -> Result<(), FtlConfigError> {
        for (count, what) in [
            (self.exported, "exported"),
            (self.sectors_per_page, "sectors_per_page"),
            (self.slots, "slots"),
            (self.write_points, "write_points"),
            (self.reserve, "reserve"),
            (self.drain.unwrap_or(1), "drain"),
        ] {
            if count == 0 {
                return Err(FtlConfigError::Zero(what));
            }
        }
        if self.durable && self.summary_pages == 0 {
            return Err(FtlConfigError::NoSummary);
        }
        if self.protected && self.write_buffer == 0 {
            return Err(FtlConfigError::NothingProtected);
        }
        if self.protected && self.durable {
            return Err(FtlConfigError::ProtectedAndDurable);
        }
        let write_points = self.write_points;
        if let Some(drain) = self.drain.filter(|drain| *drain > write_points) {
            return Err(FtlConfigError::Drain { drain, write_points });
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
        let Self { low_water, reserve, .. } = *self;
        if low_water < reserve {
            return Err(FtlConfigError::LowWater { low_water, reserve });
        }
        self.check_room(layout.blocks(), layout)
    }

    /// Checks that `blocks` good blocks of `layout` leave garbage collection enough space.
    pub fn check_room(&self, blocks: u32, layout: &Layout) -> Result<(), FtlConfigError> {
        let (exported, most) = (self.exported, self.most_on(blocks, layout));
        if u64::from(exported) <= most {
            return Ok(());
        }
        let raw = u64::from(blocks) * u64::from(self.data_pages(layout)) * u64::from(self.slots);
        Err(FtlConfigError::NoRoom { exported, raw, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn no_impossible_number_of_exported_pages_is_suggested() {
        let text = |most| FtlConfigError::NoRoom { exported: 9, raw: 9, most }.to_string();
        assert!(text(4).contains("export at most 4"), "{}", text(4));
        assert!(!text(0).contains("at most"), "{}", text(0));
    }
}
