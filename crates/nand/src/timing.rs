//! How long operations take, and which of them the chips can overlap.
//!
//! A chip whose cells hold several bits keeps one bit of each cell of a word line in a page of its
//! own: lower, middle, upper page (LSB, CSB, MSB), with four bits one more. The pages of a block go
//! round these types, and each type has its own times: [`Times`].
//!
//! Not covered: programming all pages of a word line in one go ("one-shot"). Each page is
//! programmed alone, in the time of its type; where a chip programs n pages at once in t, give each
//! t/n, and bandwidth is right while the latency of a single page is too low. Nor pages in an order
//! other than round the types (the shifted orders that chips use against disturbance), nor
//! suspending a program or an erase for a read.

use crate::GeometryError;
use alloc::vec::Vec;
use gordon_units::{Bytes, Hertz, Ns};

/// The time of an operation by type of page: page i of a block has type i mod the number of types.
/// There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times(Vec<Ns>);

impl Times {
    /// A time for each type of page; `None` where there is no type.
    pub fn new(times: impl Into<Vec<Ns>>) -> Option<Self> {
        let times = times.into();
        (!times.is_empty()).then_some(Self(times))
    }

    /// The time for page `page` of a block.
    #[inline]
    pub fn of(&self, page: u32) -> Ns {
        match self.0.as_slice() {
            [one] => *one,
            // Fewer types than pages have numbers.
            #[allow(clippy::cast_possible_truncation)]
            all => all[(page % all.len() as u32) as usize],
        }
    }

    /// The times, by type.
    pub fn types(&self) -> &[Ns] {
        &self.0
    }
}

impl From<Ns> for Times {
    fn from(time: Ns) -> Self {
        Self(alloc::vec![time])
    }
}

/// What the chips can overlap, and what the controller puts first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modes {
    /// Operations of one kind on different planes of the same dies, at the same page of their
    /// blocks, are carried out together (ONFI 4.x, section 5: multi-plane operations).
    pub multi_plane: bool,
    /// Reads need not be of the same page for that (independent plane reads of newer dies).
    pub independent_reads: bool,
    /// The dies sense the next page while the last one's data cross the bus.
    pub cache_read: bool,
    /// The next page's data cross the bus while the dies program the last one.
    pub cache_program: bool,
    /// Reads overtake programs and erases that wait.
    pub read_first: bool,
}

/// The timing table of the chips and their bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// From the cells to the page register, t_R.
    pub read: Times,
    /// From the page register to the cells, t_PROG.
    pub program: Times,
    /// Erasing a block, t_BERS.
    pub erase: Ns,
    /// Data lines of the bus.
    pub bus_bits: u32,
    /// Transfers a second on each line: a "133 MHz bus" of the Gordon paper is 66 MHz DDR.
    pub bus_rate: Hertz,
    /// Bus time of the command, address and status cycles of one physical page's operation (of
    /// one physical block's for an erase).
    pub command: Ns,
    /// What can overlap.
    pub modes: Modes,
}

impl Timing {
    /// Checks that the bus can carry something: a slower one would take hours for a page.
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
        Bytes(self.bus_rate.0 as u64 * u64::from(self.bus_bits / 8))
    }

    /// Bus time of one physical page of which `bytes`, data and out-of-band data together, cross.
    pub fn transfer(&self, bytes: Bytes) -> Ns {
        bytes.time_at(self.bus_bandwidth()) + self.command
    }
}
