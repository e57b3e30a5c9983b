//! The damage that power cuts leave on an array.
//!
//! Each entry holds the erase count of the block when its page was damaged; a later erase repairs
//! the page. Pages that nothing can be read from any more are not here: the array itself has lost
//! their contents.

use gordon_units::Ppn;
use std::collections::BTreeMap;

/// Damaged pages by kind of damage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scars {
    /// Pages whose data are unreadable.
    pub torn: BTreeMap<Ppn, u32>,
    /// Pages that become unreadable at the next power cut.
    pub unstable: BTreeMap<Ppn, u32>,
    /// Pages that seem erased but are not.
    pub deceptive: BTreeMap<Ppn, u32>,
    /// Pages that are unreadable until the next power cut.
    pub hidden: BTreeMap<Ppn, u32>,
}

impl Scars {
    /// Whether the data of a page are unreadable after `erases` erases of its block.
    pub fn is_lost(&self, ppn: Ppn, erases: u32) -> bool {
        [&self.torn, &self.hidden].iter().any(|pages| pages.get(&ppn) == Some(&erases))
    }
}
