//! The Gordon paper's figures of chips and arrays, with the arithmetic next to each assertion. The
//! table that `examples/paper_flash` prints comes from the same simulations.

#[allow(dead_code)] // the rest is for the table
#[path = "../examples/paper_flash/figures.rs"]
mod figures;

use figures::{Die, array, array_rate, one_chip, preset, table_1};
use gordon_blockio::IoOp;
use gordon_ssd::CommandKind;
use gordon_units::{Hertz, Ns};

#[test]
fn table_1_is_two_planes_with_cache_registers_in_mib() {
    // 2 x 2112 bytes over 16 bits are 2112 clocks, with 13 of commands 2125. A clock of 25, 15 or 5
    // ns: 53.125, 31.875 and 10.6 us; the last is hidden behind 25 us of sensing.
    // 4224 / 53.125 us = 75.8 MiB/s; / 31.875 us = 126.4; / 25 us = 161.1.
    // 4224 / 200 us = 20.1 MiB/s; / 800 us = 5.0.
    let all = table_1();
    assert_eq!(all.len(), 9);
    for figure in all {
        let difference = (figure.ours - figure.paper).abs();
        assert!(difference < 0.06, "{}: {} for {}", figure.what, figure.ours, figure.paper);
    }
}

#[test]
fn one_chip_has_pages_of_4_kib() {
    // 4096 bytes at 40 MB/s take 102.4 us. Read: / (25 + 102.4) us = 30.66 MiB/s; written:
    // / (102.4 + 200) us = 12.92; erased: 64 x 4096 / 1.5 ms = 166.7.
    let ours: Vec<f64> = one_chip().iter().map(|figure| figure.ours).collect();
    for (ours, expected) in ours.iter().zip([30.66, 12.92, 166.67]) {
        assert!((ours - expected).abs() < 0.01, "{ours} for {expected}");
    }
    // With 2 KiB pages: 2048 / (25 + 51.2) us = 25.63 MiB/s, 2048 / 251.2 us = 7.78, and 64 x 2048
    // / 2 ms = 62.5. These differ from the printed ones.
    for (ours, expected) in ours[3..].iter().zip([25.63, 7.775, 62.5]) {
        assert!((ours - expected).abs() < 0.01, "{ours} for {expected}");
    }
}

#[test]
fn without_cache_registers_a_die_waits_for_its_bus() {
    let die = Die {
        planes: 2,
        page: 2112,
        pages: 64,
        bits: 16,
        clock: 40e6,
        command: 0.0,
        program: Ns(200_000),
        erase: Ns(2_000_000),
        cache: false,
    };
    // 4224 bytes in 25 + 52.8 us, and in 52.8 + 200 us.
    assert!((die.rate(CommandKind::Read) / (4224.0 / 77.8e-6) - 1.0).abs() < 1e-9);
    assert!((die.rate(CommandKind::Program) / (4224.0 / 252.8e-6) - 1.0).abs() < 1e-9);
    // With them: 52.8 us of bus time hide sensing, 200 us of programming hide the bus time.
    let die = Die { cache: true, ..die };
    assert!((die.rate(CommandKind::Read) / (4224.0 / 52.8e-6) - 1.0).abs() < 1e-9);
    assert!((die.rate(CommandKind::Program) / (4224.0 / 200e-6) - 1.0).abs() < 1e-9);
}

#[test]
fn the_array_has_the_bandwidth_of_the_paper() {
    let ours: Vec<f64> = array(4_000).iter().map(|figure| figure.ours).collect();
    let within = |at: usize, low: f64, high: f64| {
        assert!(ours[at] > low && ours[at] < high, "{at}: {} not in {low}..{high}", ours[at]);
    };
    // Reads are limited by the bus: 8 pages of 2080 bytes at 266 MB/s and 1.1 us make 71.4 us for
    // 64 KiB, 918 MB/s. Four die groups that write in 71.4 + 200 us would reach 966, so the bus
    // limits writes too; the summary page in each block of 64 carries no host data, and 63 / 64 of
    // 918 are 904.
    within(0, 850.0, 1_064.0);
    within(1, 850.0, 1_064.0);
    // 8 x (2.6 + 1.1) us = 29.6 us: 2,214 MB/s. Writing, 4 x 64 KiB in 229.6 us: 1,142 MB/s.
    within(2, 2_150.0, 2_250.0);
    within(3, 1_050.0, 1_150.0);
    // 8 x (26 + 1.1) us = 216.8 us: 302 MB/s, -67 %. Without commands it would be 315, -66 %.
    within(4, -68.0, -65.0);
    within(5, -68.0, -65.0);
    // 8 x (7.94 + 1.1) us compared with 8 x (7.82 + 1.1): -1.3 %. 4 x 64 KiB in 800 + 72.3 us: 301
    // MB/s.
    within(6, -2.0, -1.0);
    within(7, -70.0, -65.0);
}

#[test]
fn modern_buses_and_types_of_pages_run_in_the_array() {
    // An array of four die groups with three types of pages on a bus of 2,400 MT/s. A block is read
    // in page order, so the mean of sensing is 70 us and of programming 600 us.
    let mut config = preset("gordon-slc-256g");
    let text = toml::to_string(&config).unwrap();
    let text = text
        .replace(
            "[timing.read]\nvalue = \"25us\"",
            "[timing.read]\nvalue = [\"50us\", \"70us\", \"90us\"]",
        )
        .replace(
            "[timing.program]\nvalue = \"200us\"",
            "[timing.program]\nvalue = [\"300us\", \"600us\", \"900us\"]",
        );
    config = toml::from_str(&text).unwrap();
    assert_eq!(config.timing.read.0.types().len(), 3, "{text}");
    config.timing.bus_rate = Hertz(2.4e9).into();
    // A page: 2080 bytes at 4.8 GB/s take 434 ns, with its command 1.534 us; 8 of them 12.27 us. A
    // die group takes 70 + 12.27 us for 64 KiB on average: four deliver 3,186 MB/s, while the bus
    // could carry 5,340. Die groups that wait for the bus lose a little.
    let rate = array_rate(&config, IoOp::Read, 12_000) / 1e6;
    assert!(rate > 3_000.0 && rate < 3_187.0, "{rate}");
    // Writes: 600 + 12.27 us on average, 428 MB/s.
    let rate = array_rate(&config, IoOp::Write, 12_000) / 1e6;
    assert!(rate > 415.0 && rate < 436.0, "{rate}");
}
