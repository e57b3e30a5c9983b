//! A number made of a log of operations: two drivers of the layer that were handed the same have
//! the same. Any change, also of order, gives another.

use gordon_nand::FlashOp;

/// The number of the log with one more operation. Buffers do not count: they are the driver's.
#[must_use]
pub fn add(log: u64, op: FlashOp) -> u64 {
    let (kind, place, slots) = match op {
        FlashOp::Read { ppn, slots, .. } => (1u64, ppn.0, slots),
        FlashOp::Program { ppn, .. } => (2, ppn.0, 0),
        FlashOp::Erase { block } => (3, block.0, 0),
    };
    // FNV-1a (Fowler, Noll, Vo), over whole numbers.
    [kind, u64::from(place), u64::from(slots)]
        .iter()
        .fold(log ^ 0xcbf2_9ce4_8422_2325, |log, &part| {
            (log ^ part).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
        })
}
