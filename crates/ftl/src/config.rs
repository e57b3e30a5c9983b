//! The knobs of the layer.

use core::fmt;
use gordon_nand::Layout;

/// Which block garbage collection takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victim {
    /// The one with the fewest valid pages.
    #[default]
    Greedy,
}

/// The knobs of the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Logical pages exported.
    pub exported: u32,
    /// Sectors of one page.
    pub sectors_per_page: u32,
    /// Write points: blocks that are written at the same time. The paper has "one write point for
    /// each" lane.
    pub write_points: u32,
    /// Merge reads with pending reads of the page, and keep the last page read (the paper's
    /// bypassing).
    pub bypass: bool,
    /// Merge writes to a page that waits to be programmed (the paper's write combining).
    pub combine: bool,
    /// Free blocks that only garbage collection may use; the most blocks it collects at once.
    pub reserve: u32,
    /// Free blocks at which garbage collection starts.
    pub low_water: u32,
    /// Free blocks up to which it goes on in idle time, where that is cheap.
    pub idle_water: u32,
    /// Which block it takes.
    pub victim: Victim,
}

/// Why a layer cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
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
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "{what} is 0; give at least 1"),
            Self::LowWater { low_water, reserve } => write!(
                f,
                "low_water ({low_water} free blocks) is below the reserve of {reserve}: garbage \
                 collection would start too late; give at least {reserve}"
            ),
            Self::NoRoom { exported, raw, most } => write!(
                f,
                "exporting {exported} of {raw} data pages leaves garbage collection no room; \
                 export at most {most}, or use fewer write points or a smaller reserve"
            ),
        }
    }
}

impl core::error::Error for ConfigError {}

impl Config {
    /// The paper's layer on `layout`: one write point a lane, bypassing and combining on.
    pub fn new(layout: &Layout, exported: u32, sectors_per_page: u32) -> Self {
        let lanes = layout.lanes();
        Self {
            exported,
            sectors_per_page,
            write_points: lanes,
            bypass: true,
            combine: true,
            // One victim a lane, and one block for each write point to open while it is collected.
            reserve: lanes,
            low_water: 2 * lanes,
            idle_water: 4 * lanes,
            victim: Victim::Greedy,
        }
    }

    /// The most logical pages that leave garbage collection room on `layout`.
    ///
    /// When `low_water + 1` blocks are free and every write point holds one, the others must hold
    /// at least one stale page, so that there is always a block worth collecting until the mark is
    /// passed.
    pub fn most_exported(&self, layout: &Layout) -> u64 {
        let kept = u64::from(self.write_points) + u64::from(self.low_water) + 1;
        let data_pages = u64::from(layout.pages_per_block() - 1);
        (u64::from(layout.blocks()).saturating_sub(kept) * data_pages).saturating_sub(1)
    }

    /// Checks that a layer with these knobs can always go on.
    pub fn validate(&self, layout: &Layout) -> Result<(), ConfigError> {
        for (count, what) in [
            (self.exported, "exported"),
            (self.sectors_per_page, "sectors_per_page"),
            (self.write_points, "write_points"),
            (self.reserve, "reserve"),
        ] {
            if count == 0 {
                return Err(ConfigError::Zero(what));
            }
        }
        let Self { low_water, reserve, exported, .. } = *self;
        if low_water < reserve {
            return Err(ConfigError::LowWater { low_water, reserve });
        }
        let most = self.most_exported(layout);
        if u64::from(exported) > most {
            let raw = u64::from(layout.blocks()) * u64::from(layout.pages_per_block() - 1);
            return Err(ConfigError::NoRoom { exported, raw, most });
        }
        Ok(())
    }
}
