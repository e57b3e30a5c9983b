//! A digest of a log of operations: equal inputs give equal digests, and any change, also of the
//! order, gives another digest.

use gordon_nand::FlashOp;

/// The digest of a log with one more operation. Buffers are not included, since they depend on the
/// driver.
#[must_use]
pub fn add(log: u64, op: FlashOp) -> u64 {
    let (kind, place, slots) = match op {
        FlashOp::Read { ppn, slots, .. } => (1u64, ppn.0, slots),
        FlashOp::Program { ppn, .. } => (2, ppn.0, 0),
        FlashOp::Erase { block } => (3, block.0, 0),
    };
    // FNV-1a (Fowler, Noll, Vo) over whole numbers.
    [kind, u64::from(place), u64::from(slots)]
        .iter()
        .fold(log ^ 0xcbf2_9ce4_8422_2325, |log, &part| {
            (log ^ part).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
        })
}
