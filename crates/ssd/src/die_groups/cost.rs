//! Costs of operations in bus time and die time, from the timing table and the shape of a
//! super-page.

use gordon_nand::{Layout, Times, Timing};
use gordon_units::{Bytes, Ns};

/// Cost of the transfer of part of a super-page.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransferCost {
    /// Time on the busiest bus of the group.
    pub bus: Ns,
    /// Number of dies that hold any of the data.
    pub dies: u64,
    /// Transfer time, summed over dies.
    pub dies_on_bus: Ns,
}

/// Cell times by page type, like [`Times`] but looked up without a division.
#[derive(Clone, Debug)]
pub(super) struct CellTimes {
    types: Vec<Ns>,
    /// 2^64 / number of types, rounded up; 0 for one type.
    factor: u64,
}

impl CellTimes {
    fn new(times: &Times) -> Self {
        let types = times.types();
        let types = if types.iter().all(|time| *time == types[0]) { &types[..1] } else { types };
        let factor = (u64::MAX / types.len() as u64).wrapping_add(1);
        Self { types: types.to_vec(), factor }
    }

    /// The time of page `page` of a block, whose type is the remainder of `page / types`. The low
    /// word of `factor * page` is the fractional part of that quotient, and the fraction times
    /// `types` is the remainder (Lemire, Kaser and Kurz, 2019): no division for each page.
    #[inline]
    pub fn of(&self, page: u32) -> Ns {
        let part = u128::from(self.factor.wrapping_mul(u64::from(page)));
        // The result is less than the number of types.
        #[allow(clippy::cast_possible_truncation)]
        let kind = ((part * self.types.len() as u128) >> 64) as usize;
        self.types[kind]
    }
}

/// All costs of one array.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    pub read: CellTimes,
    pub program: CellTimes,
    pub erase: Ns,
    /// Cost of a transfer by number of slots, and of all slots.
    pub transfers: Vec<TransferCost>,
    pub full_transfer: TransferCost,
    /// Command cycles of one erase; they take bus time but no die time.
    pub commands: TransferCost,
}

impl Costs {
    pub fn new(layout: &Layout, timing: &Timing, slots: u32) -> Self {
        let shape = layout.shape();
        Self {
            read: CellTimes::new(&timing.read),
            program: CellTimes::new(&timing.program),
            erase: timing.erase,
            transfers: (0..=slots)
                .map(|share| TransferCost::of(share, slots, layout, timing))
                .collect(),
            full_transfer: TransferCost::of(slots, slots, layout, timing),
            commands: TransferCost {
                bus: timing.command * u64::from(shape.planes * shape.dies_per_bus),
                dies: u64::from(layout.dies_per_group()),
                dies_on_bus: Ns::ZERO,
            },
        }
    }
}

impl TransferCost {
    /// Die time if each die works for `cells` and then sends or receives its data.
    #[inline]
    pub fn die_time(&self, cells: Ns) -> u64 {
        // The time stays far below 2^64 ns.
        cells.0.wrapping_mul(self.dies).wrapping_add(self.dies_on_bus.0)
    }

    /// Slots are contiguous in the super-page. Its physical pages are distributed over the buses
    /// first, then over the planes of a die, then over the dies of a bus. Each page touched costs
    /// its command cycles. Of the last page only the requested part is transferred, with the
    /// corresponding share of the out-of-band bytes.
    fn of(share: u32, slots: u32, layout: &Layout, timing: &Timing) -> Self {
        let (geometry, shape) = (layout.geometry(), layout.shape());
        let page = u64::from(geometry.page_bytes);
        let with_oob = page + u64::from(geometry.oob_bytes);
        // Bytes of data, rounded up if the slots do not divide the super-page.
        let bytes = (layout.page_bytes().0 * u64::from(share)).div_ceil(u64::from(slots));
        let (pages, rest) = (bytes / page, bytes % page);
        let whole = timing.transfer(Bytes(with_oob));
        let part = match rest {
            0 => Ns::ZERO,
            _ => timing.transfer(Bytes((rest * with_oob).div_ceil(page))),
        };
        let buses = u64::from(shape.buses);
        // Whole pages are distributed round-robin over the buses; the partial page goes to the next
        // bus.
        let bus = match pages % buses {
            0 => whole * (pages / buses) + part,
            _ => whole * (pages / buses + 1),
        };
        let touched = pages + u64::from(rest > 0);
        let column = buses * u64::from(shape.planes);
        let dies = touched / column * buses + (touched % column).min(buses);
        Self { bus, dies, dies_on_bus: whole * pages + part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_types_take_turns() {
        for types in 1..20u64 {
            let times = Times::new((0..types).map(Ns).collect::<Vec<_>>()).expect("there is one");
            let cells = CellTimes::new(&times);
            for page in (0..1_000).chain([u32::MAX / 3, u32::MAX - 1, u32::MAX]) {
                assert_eq!(cells.of(page), times.of(page), "page {page} of {types} types");
            }
        }
        assert_eq!(
            CellTimes::new(&Times::new([Ns(7), Ns(7)]).expect("there are two")).types,
            [Ns(7)]
        );
    }
}
