//! A small stream of random numbers (splitmix64), the same for a seed on any machine: the layer
//! has no operating system to ask.

#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `limit`.
    #[inline]
    pub fn below(&mut self, limit: u32) -> u32 {
        // The high half of the product is below `limit`.
        #[allow(clippy::cast_possible_truncation)]
        {
            (((self.next() >> 32) * u64::from(limit)) >> 32) as u32
        }
    }
}

/// Spreads the bits of a number (Stafford's variant 13).
#[inline]
pub(crate) fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
