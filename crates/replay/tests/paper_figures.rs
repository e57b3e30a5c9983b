//! The statements of `docs/design/paper-flash.md` about section 4.2.2 of the Gordon paper, with
//! fewer requests. The arithmetic is next to each assertion.
#![allow(missing_docs, clippy::cast_precision_loss)]

#[allow(dead_code)] // the rest is for the page
#[path = "../examples/paper_figures/bench.rs"]
mod bench;
#[allow(dead_code)]
#[path = "../examples/paper_figures/figure4.rs"]
mod figure4;
#[allow(dead_code)]
#[path = "../examples/paper_figures/points.rs"]
mod points;
#[allow(dead_code)]
#[path = "../examples/paper_figures/table.rs"]
mod table;

use figure4::{Case, RANDOM_WRITE};

const BYTES: u64 = 256 << 20;

/// Bus time of a physical page in us: 2080 bytes at 266 MB/s, and 1.1 of commands.
const PAGE: f64 = 8.92;

/// Asserts that the rate in MB/s is near the expected one.
fn near(case: Case, expected: f64) {
    let ours = case.run(BYTES, |_| ()).mb_s();
    assert!((ours / expected - 1.0).abs() < 0.02, "{case:?}: {ours} MB/s, expected {expected}");
}

#[test]
fn large_super_pages_cost_small_transfers() {
    // The buses are saturated, and one page of 64 is a summary: 4 x 2048 B / 8.92 us x 63 / 64 =
    // 904 MB/s. A write smaller than a super-page reads and writes it as a whole: 32 KiB on 64 KiB
    // have a quarter of the rate, without a further loss to summaries, whose share of the
    // operations is halved.
    let full = 4.0 * 2048.0 / PAGE * 63.0 / 64.0;
    let case = |transfer, super_page| Case { transfer, super_page, ..RANDOM_WRITE };
    near(case(32, 32), full);
    near(case(128, 32), full);
    near(case(128, 64), full);
    near(case(32, 64), full / 4.0);
    // One program at a time: 256 KiB in 32 pages on each bus, and 200 us.
    near(case(256, 256), 262_144.0 / (32.0 * PAGE + 200.0) * 63.0 / 64.0);
}

#[test]
fn bypassing_helps_sequential_reads_and_not_random_ones() {
    let full = 4.0 * 2048.0 / PAGE;
    let read = Case { write: false, transfer: 8, super_page: 64, ..RANDOM_WRITE };
    let sequential = Case { sequential: true, ..read };
    near(sequential, full / 8.0);
    near(Case { bypass: true, ..sequential }, full);
    near(read, full / 8.0);
    near(Case { bypass: true, ..read }, full / 8.0);
}

#[test]
fn combining_makes_small_sequential_writes_large() {
    let full = 4.0 * 2048.0 / PAGE * 63.0 / 64.0;
    let write =
        Case { sequential: true, transfer: 8, super_page: 64, bypass: true, ..RANDOM_WRITE };
    near(Case { mapped: false, ..write }, full);
    // Pages with data are read first, so they cross the buses twice.
    near(write, full / 2.0);
}

#[test]
fn write_points_of_one_bus_work_in_parallel() {
    // 1 + p / x times the rate of one write point, limited by the number of write points.
    for (dies, expected) in [(2, 4.0), (4, 1.0 + 200.0 / (8.0 * PAGE))] {
        let case = points::Case { dies, planes: 2, overwrites: true };
        let rate = |points| case.run(BYTES / 4, points).mb_s();
        let gain = rate(4) / rate(1);
        assert!((gain / expected - 1.0).abs() < 0.02, "{dies} dies: {gain}, expected {expected}");
    }
}
