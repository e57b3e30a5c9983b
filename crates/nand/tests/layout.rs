//! Sizes, numbering and bus times of arrays, most of them with the paper's parameters.

use gordon_nand::{
    DieGroupId, Geometry, GeometryError, Layout, Modes, SuperPageShape, Times, Timing,
};
use gordon_units::{BlockId, Bytes, Hertz, Ns, Ppn};

/// Section 4.2.1 and Table 1 of the Gordon paper, SLC.
const SLC: Geometry = Geometry {
    buses: 4,
    packages_per_bus: 4,
    dies_per_package: 4,
    planes_per_die: 2,
    blocks_per_plane: 16_384,
    pages_per_block: 64,
    page_bytes: 2048,
    oob_bytes: 32,
};

#[test]
fn the_array_of_the_paper_has_four_die_groups() {
    assert_eq!(SLC.die_bytes().to_string(), "4GiB");
    assert_eq!(SLC.capacity().to_string(), "256GiB");
    let shape = SuperPageShape::of_size("64KiB".parse().unwrap(), &SLC).unwrap();
    assert_eq!(shape, SuperPageShape { buses: 4, dies_per_bus: 4, planes: 2 });
    let layout = Layout::new(SLC, shape).unwrap();
    // "Using 64KB pages ... allows four operations to proceed in parallel" (4.2.2).
    assert_eq!((layout.die_groups(), layout.bus_groups(), layout.dies_per_group()), (4, 1, 16));
    assert_eq!(layout.blocks(), 4 * 16_384);
    assert_eq!(layout.page_bytes() * u64::from(layout.pages()), SLC.capacity());
    // "For 256KB pages, the super-page spans the entire array."
    let all = SuperPageShape::of_size("256KiB".parse().unwrap(), &SLC).unwrap();
    assert_eq!(Layout::new(SLC, all).unwrap().die_groups(), 1);
}

#[test]
fn die_groups_tile_the_array() {
    // A super-page of 2 KiB is one plane of one die. 64 dies are 64 die groups, 16 on each bus,
    // with two plane sets each.
    let layout = Layout::new(SLC, SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 }).unwrap();
    assert_eq!((layout.die_groups(), layout.bus_groups()), (64, 4));
    assert_eq!(layout.blocks(), 64 * 2 * 16_384);
    let mut per_die_group = vec![0u32; 64];
    for block in 0..layout.blocks() {
        per_die_group[layout.die_group_of(BlockId(block)).index()] += 1;
    }
    assert!(per_die_group.iter().all(|&n| n == 2 * 16_384));
    assert_eq!(layout.bus_group(DieGroupId(15)), 0);
    assert_eq!(layout.bus_group(DieGroupId(16)), 1);
    let ppn = layout.ppn(BlockId(70), 5);
    assert_eq!(
        (ppn, layout.block_of(ppn), layout.page_of(ppn)),
        (Ppn(70 * 64 + 5), BlockId(70), 5)
    );
}

#[test]
fn impossible_arrays_are_refused() {
    let error = |g: Geometry| g.validate().unwrap_err().to_string();
    assert!(error(Geometry { buses: 0, ..SLC }).contains("no buses"));
    assert!(error(Geometry { page_bytes: 2000, ..SLC }).contains("multiple of 512"));
    assert!(error(Geometry { pages_per_block: 1, ..SLC }).contains("2 pages"));
    assert!(error(Geometry { packages_per_bus: 1 << 31, ..SLC }).contains("too large"));
    let refused = Layout::new(SLC, SuperPageShape { buses: 3, dies_per_bus: 1, planes: 1 });
    assert!(refused.unwrap_err().to_string().contains("does not divide the array's 4"));
    for size in ["0B", "3KiB", "6KiB", "512KiB"] {
        let refused = SuperPageShape::of_size(size.parse().unwrap(), &SLC);
        assert!(matches!(refused, Err(GeometryError::NoShape { .. })), "{size}");
    }
    let huge = Geometry { blocks_per_plane: 1 << 26, ..SLC };
    let tiny = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
    assert!(matches!(Layout::new(huge, tiny), Err(GeometryError::TooMany(_))));
}

#[test]
fn a_transfer_takes_bus_time_and_command_time() {
    let mut timing = Timing {
        read: Ns(25_000).into(),
        program: Ns(200_000).into(),
        erase: Ns(2_000_000),
        bus_bits: 16,
        bus_rate: Hertz(133e6),
        command: Ns(100),
        modes: Modes::default(),
    };
    // 2080 bytes at 2 bytes x 133 MHz = 266 MB/s take 7819.55 ns, rounded up, plus the command
    // time.
    assert_eq!(timing.transfer(Bytes(2080)), Ns(7_820 + 100));
    timing.bus_bits = 12;
    assert_eq!(timing.validate(), Err(GeometryError::Bus));
}

#[test]
fn the_pages_of_a_block_cycle_through_the_types() {
    let times = Times::new([50, 70, 90].map(Ns)).unwrap();
    assert_eq!([0, 1, 2, 3, 383].map(|page| times.of(page).0), [50, 70, 90, 50, 90]);
    assert_eq!(Times::from(Ns(25)).of(77), Ns(25));
    assert_eq!(Times::new([]), None);
}

#[test]
fn bus_rates_match_old_and_new_standards() {
    // The expected time is bytes / (rate x lines / 8), rounded up to a nanosecond.
    let cases = [
        // Asynchronous, 8 and 16 bits: 2112 bytes at 40, 80, 266 and 800 MB/s.
        (8, 40e6, 2112, 52_800),
        (16, 40e6, 2112, 26_400),
        (16, 133e6, 2112, 7_940),
        (16, 400e6, 2112, 2_640),
        // Toggle DDR 2.0, ONFI 4.0, 4.2, 5.0 and 5.1: 18,336 bytes.
        (8, 533e6, 18_336, 34_402),
        (8, 800e6, 18_336, 22_920),
        (8, 1600e6, 18_336, 11_460),
        (8, 2400e6, 18_336, 7_640),
        (8, 3600e6, 18_336, 5_094),
    ];
    for (bus_bits, rate, bytes, expected) in cases {
        let timing = Timing {
            read: Ns(1).into(),
            program: Ns(1).into(),
            erase: Ns(1),
            bus_bits,
            bus_rate: Hertz(rate),
            command: Ns(0),
            modes: Modes::default(),
        };
        assert_eq!(timing.validate(), Ok(()));
        assert_eq!(timing.transfer(Bytes(bytes)), Ns(expected), "{bus_bits} bits at {rate}");
    }
}
