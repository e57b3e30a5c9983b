//! The durations of operations, and which operations the chips can overlap.
//!
//! A chip whose cells hold several bits stores each bit of the cells of a word line in a separate
//! page: lower, middle and upper page (LSB, CSB, MSB), and a fourth with four bits. The pages of a
//! block cycle through these types, and each type has its own times: [`Times`].
//!
//! Not covered:
//! - Programming all pages of a word line at once ("one-shot"). Each page is programmed alone, in
//!   the time of its type. If a chip programs n pages at once in time t, give each type t/n:
//!   bandwidth is then right, but the latency of a single page is too low.
//! - Page orders other than cycling through the types, such as the shifted orders that chips use
//!   against program disturb.
//! - Suspending a program or an erase for a read.

use crate::GeometryError;
use alloc::vec::Vec;
use gordon_units::{Bytes, Hertz, Ns};

/// The time of an operation by page type: page i of a block has type i mod the number of types.
/// There is at least one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times(Vec<Ns>);

impl Times {
    /// One time for each page type; `None` if there are none.
    pub fn new(times: impl Into<Vec<Ns>>) -> Option<Self> {
        let times = times.into();
        (!times.is_empty()).then_some(Self(times))
    }

    /// The time for page `page` of a block.
    #[inline]
    pub fn of(&self, page: u32) -> Ns {
        match self.0.as_slice() {
            [one] => *one,
            // There are fewer types than `u32` values, so the cast cannot truncate.
            #[allow(clippy::cast_possible_truncation)]
            all => all[(page % all.len() as u32) as usize],
        }
    }

    /// The times by page type.
    pub fn types(&self) -> &[Ns] {
        &self.0
    }
}

impl From<Ns> for Times {
    fn from(time: Ns) -> Self {
        Self(alloc::vec![time])
    }
}

/// Which operations the chips can overlap, and which the controller prioritises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modes {
    /// Operations of one kind on different planes of the same dies, at the same page of their
    /// blocks, execute together (ONFI 4.x, section 5: multi-plane operations).
    pub multi_plane: bool,
    /// Multi-plane reads may be of different pages (independent plane reads of newer dies).
    pub independent_reads: bool,
    /// The dies sense the next page while the previous page's data cross the bus.
    pub cache_read: bool,
    /// The next page's data cross the bus while the dies program the previous page.
    pub cache_program: bool,
    /// Reads overtake waiting programs and erases.
    pub read_first: bool,
    /// Reads suspend programs and erases that the dies work on: the time until the dies have
    /// stopped. The time makes a difference only with `read_first`.
    pub suspend: Option<Ns>,
}

/// The timing table of the chips and their bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Time to read from the cells to the page register, t_R.
    pub read: Times,
    /// Time to program from the page register to the cells, t_PROG.
    pub program: Times,
    /// Time to erase a block, t_BERS.
    pub erase: Ns,
    /// Number of data lines of the bus.
    pub bus_bits: u32,
    /// Transfers a second on each line. The "133 MHz bus" of the Gordon paper is 66 MHz DDR.
    pub bus_rate: Hertz,
    /// Bus time of the command, address and status cycles of an operation on one physical page (for
    /// an erase, on one physical block).
    pub command: Ns,
    /// Which operations can overlap.
    pub modes: Modes,
}

impl Timing {
    /// Checks that the bus has a usable bandwidth; a slower bus would take hours for a page.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let ok = matches!(self.bus_bits, 8 | 16 | 32 | 64)
            && self.bus_rate.0.is_finite()
            && self.bus_rate.0 >= 1000.0;
        if ok { Ok(()) } else { Err(GeometryError::Bus) }
    }

    /// Bytes a second that one bus carries.
    pub fn bus_bandwidth(&self) -> Bytes {
        // Rates are whole numbers of Hz far below 2^53.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Bytes((self.bus_rate.0 as u64).saturating_mul(u64::from(self.bus_bits / 8)))
    }

    /// Bus time of one physical page when `bytes`, data and out-of-band data together, are
    /// transferred.
    pub fn transfer(&self, bytes: Bytes) -> Ns {
        bytes.time_at(self.bus_bandwidth()) + self.command
    }
}
