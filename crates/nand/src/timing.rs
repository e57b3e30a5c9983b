//! How long operations take.

use crate::GeometryError;
use gordon_units::{Bytes, Hertz, Ns};

/// The timing table of the chips and their bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// From the cells to the page register, t_R.
    pub read: Ns,
    /// From the page register to the cells, t_PROG.
    pub program: Ns,
    /// Erasing a block, t_BERS.
    pub erase: Ns,
    /// Data lines of the bus.
    pub bus_bits: u32,
    /// Transfers a second on each line: a "133 MHz bus" of the Gordon paper is 66 MHz DDR.
    pub bus_rate: Hertz,
    /// Bus time of the command, address and status cycles of one physical page's operation (of
    /// one physical block's for an erase).
    pub command: Ns,
}

impl Timing {
    /// Checks that the bus can carry something.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let ok = matches!(self.bus_bits, 8 | 16 | 32 | 64)
            && self.bus_rate.0.is_finite()
            && self.bus_rate.0 >= 1.0;
        if ok { Ok(()) } else { Err(GeometryError::Bus) }
    }

    /// Bytes a second that one bus carries.
    pub fn bus_bandwidth(&self) -> Bytes {
        // Rates are whole numbers of Hz far below 2^53.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Bytes(self.bus_rate.0 as u64 * u64::from(self.bus_bits / 8))
    }

    /// Bus time of one physical page with `bytes` of data and out-of-band data together.
    pub fn transfer(&self, bytes: Bytes) -> Ns {
        bytes.time_at(self.bus_bandwidth()) + self.command
    }
}
