//! A policy that another program brings, such as a class of Python. It chooses the blocks; the
//! layer keeps them and counts.

use core::fmt::Debug;
use gordon_units::BlockId;

/// The choices of a policy that takes the place of the configured one. Its candidates are the
/// closed blocks.
///
/// Clones of a layer share their chooser, so its methods take `&self`.
pub trait VictimChooser: Debug + Send + Sync {
    /// Choosing begins for an array of `blocks` blocks, each with at most `pages` valid logical
    /// pages. There are no candidates yet.
    fn begin(&self, blocks: u32, pages: u32);

    /// The block is a candidate with this number of valid pages: it was filled just now, or one of
    /// its pages became stale.
    fn update(&self, block: BlockId, valid: u32);

    /// The block stops being a candidate: it is collected, or wear levelling empties it.
    fn collect(&self, block: BlockId);

    /// The candidate to collect next; there is at least one. The layer may ask several times before
    /// it collects a block. `None` if the chooser failed: the configured policy then chooses, and
    /// the chooser is not called again.
    fn choose(&self) -> Option<BlockId>;

    /// The block that it chose is not a candidate, which is a failure.
    fn refuse(&self, block: BlockId);
}
