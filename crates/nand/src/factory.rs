//! Blocks that are bad from the factory.

use crate::Layout;
use crate::endurance::unit;
use alloc::vec::Vec;
use gordon_units::BlockId;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The super-blocks of `layout` that contain a bad physical block, if each physical block is bad
/// with probability `part`. The result is a pure function of the arguments, the same on every
/// machine, so a simulated device and an image with equal parameters have the same bad blocks.
#[must_use]
pub fn factory_bad(layout: &Layout, part: f64, seed: u64) -> Vec<BlockId> {
    if part == 0.0 {
        return Vec::new();
    }
    let good = libm::pow(1.0 - part, f64::from(layout.shape().pages()));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..layout.blocks()).map(BlockId).filter(|_| unit(random.next_u64()) >= good).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Geometry, SuperPageShape};

    /// The bad blocks of a device of 1,000 super-blocks, each of 8 physical blocks.
    fn bad(part: f64, seed: u64) -> Vec<u32> {
        let geometry = Geometry {
            buses: 4,
            packages_per_bus: 1,
            dies_per_package: 1,
            planes_per_die: 2,
            blocks_per_plane: 1000,
            pages_per_block: 64,
            page_bytes: 2048,
            oob_bytes: 64,
        };
        let shape = SuperPageShape { buses: 4, dies_per_bus: 1, planes: 2 };
        let layout = Layout::new(geometry, shape).expect("a valid shape");
        factory_bad(&layout, part, seed).into_iter().map(|block| block.0).collect()
    }

    #[test]
    fn bad_blocks_depend_on_the_arguments_only() {
        assert!(bad(0.0, 7).is_empty());
        assert_eq!(bad(0.0005, 7), [368, 373, 662, 704, 731, 974]);
        assert_ne!(bad(0.0005, 8), bad(0.0005, 7));
    }

    #[test]
    fn the_rate_of_bad_super_blocks_matches_the_closed_form() {
        for part in [0.001, 0.01, 0.1] {
            let expected = 1000.0 * (1.0 - libm::pow(1.0 - part, 8.0));
            let seen = bad(part, 3).len() as f64;
            // Four standard deviations of the number of bad super-blocks.
            let noise = 4.0 * libm::sqrt(expected * (1.0 - expected / 1000.0));
            assert!((seen - expected).abs() <= noise, "{part}: {seen}, not {expected}");
        }
    }
}
