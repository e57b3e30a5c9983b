//! The time that a device takes to rebuild its map after power on.

use gordon_ftl::Config;
use gordon_nand::{Layout, Timing};
use gordon_units::{Bytes, Ns};

/// The time to read the sources of the map: the summary page of each block (section 4.2.2 of the
/// Gordon paper) or, without summary pages, the out-of-band data of each page. All buses and dies
/// read in parallel; the slower of the two determines the time. The controller's processing takes
/// no time.
pub(super) fn startup(layout: &Layout, ftl: &Config, timing: &Timing) -> Ns {
    let (geometry, shape) = (layout.geometry(), layout.shape());
    let oob = Bytes(geometry.oob_bytes.into());
    let (reads, bytes) = match ftl.summary_pages {
        0 => (u64::from(layout.pages_per_block()), oob),
        pages => (u64::from(pages), Bytes(geometry.page_bytes.into()) + oob),
    };
    // A bus carries the pages of its part of a super-page sequentially.
    let crossing =
        timing.transfer(bytes).0 * u64::from(shape.dies_per_bus) * u64::from(shape.planes);
    let types = timing.read.types();
    let sensing = types.iter().map(|time| time.0).sum::<u64>() / (types.len() as u64).max(1);
    let of_a_die_group = reads * u64::from(layout.blocks() / layout.die_groups());
    let die_groups_per_bus = u64::from(layout.die_groups() / layout.bus_groups());
    Ns(of_a_die_group.saturating_mul((crossing * die_groups_per_bus).max(sensing + crossing)))
}
