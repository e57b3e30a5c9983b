//! The write buffer: when its pages are programmed, and when writes, durable writes and flushes are
//! acknowledged.

use gordon_ftl::Config;
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_testkit::{Request, Rig};
use gordon_units::Lpn;

const SECTORS: u32 = 2;
/// Logical pages of a super-page.
const SLOTS: u32 = 4;

/// A layer on two die groups; its logical pages are a quarter of a super-page.
fn rig(change: impl FnOnce(&mut Config)) -> Rig {
    let geometry = Geometry {
        buses: 1,
        packages_per_bus: 1,
        dies_per_package: 2,
        planes_per_die: 1,
        blocks_per_plane: 16,
        pages_per_block: 8,
        page_bytes: 512 * SECTORS * SLOTS,
        oob_bytes: 16,
    };
    let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
    let layout = Layout::new(geometry, shape).expect("a small array");
    let mut config = Config {
        slots: SLOTS,
        write_buffer: 4 * SLOTS,
        idle_drain: false,
        ..Config::new(&layout, 100, SECTORS)
    };
    change(&mut config);
    Rig::new(layout, config, 1)
}

fn write(lpn: u64) -> Request {
    Request::Write { first: lpn * u64::from(SECTORS), len: SECTORS.into() }
}

fn run(rig: &mut Rig) {
    while rig.step() {}
}

#[test]
fn lone_writes_wait_until_they_fill_a_super_page() {
    let mut rig = rig(|_| ());
    for lpn in 0..64 {
        rig.submit(write(lpn));
        assert_eq!(rig.pending(), 0, "write {lpn} is acknowledged from the buffer");
        run(&mut rig);
        rig.idle();
        run(&mut rig);
    }
    let stats = rig.ftl.stats();
    assert_eq!((stats.host_programs, stats.padded), (64, 0));
    rig.settle();
}

#[test]
fn in_idle_time_only_full_super_pages_are_programmed() {
    let mut rig = rig(|_| ());
    (0..6).for_each(|lpn| rig.submit(write(lpn)));
    assert_eq!(rig.ftl.stats().program_operations, 0, "the buffer is less than half full");
    rig.idle();
    run(&mut rig);
    assert_eq!((rig.ftl.stats().program_operations, rig.ftl.buffered()), (1, 2));
    rig.shut_down();
    run(&mut rig);
    assert_eq!((rig.ftl.stats().program_operations, rig.ftl.buffered()), (2, 0));
    assert_eq!(rig.ftl.stats().padded, 2);
}

#[test]
fn a_flush_writes_out_a_volatile_buffer() {
    let mut rig = rig(|_| ());
    rig.submit(write(0));
    rig.submit(Request::Flush);
    assert_eq!(rig.pending(), 1, "the flush waits for the program");
    run(&mut rig);
    assert_eq!((rig.pending(), rig.ftl.stats().padded), (0, u64::from(SLOTS) - 1));
}

#[test]
fn a_protected_buffer_makes_flushes_and_durable_writes_free() {
    let mut rig = rig(|config| config.protected = true);
    rig.submit(write(0));
    rig.submit(Request::Flush);
    rig.submit(Request::WriteDurably { first: 4, len: 2 });
    assert_eq!((rig.pending(), rig.ftl.stats().program_operations), (0, 0));
    // What does not fit into the buffer is durable when it does.
    (3..4 * u64::from(SLOTS) + 2).for_each(|lpn| rig.submit(write(lpn)));
    assert_eq!(rig.pending(), 1);
    rig.submit(Request::Flush);
    assert_eq!(rig.pending(), 2, "the flush waits until the write is in the buffer");
    while rig.pending() > 0 {
        assert!(rig.step());
    }
    rig.settle();
}

#[test]
fn a_durable_write_waits_for_its_program_alone() {
    let mut rig = rig(|config| config.drain = Some(1));
    (0..8).for_each(|lpn| rig.submit(write(lpn)));
    rig.submit(Request::WriteDurably { first: 40, len: 2 });
    assert_eq!(rig.pending(), 1);
    run(&mut rig);
    assert_eq!(rig.pending(), 0);
    rig.settle();
}

#[test]
fn a_full_buffer_takes_a_write_when_a_program_has_made_room() {
    let mut rig = rig(|config| config.write_points = 1);
    (0..4 * u64::from(SLOTS)).for_each(|lpn| rig.submit(write(lpn)));
    assert_eq!(rig.pending(), 0);
    rig.submit(write(50));
    assert_eq!(rig.pending(), 1, "there is no room");
    let programmed = rig.ftl.stats().host_programs;
    assert!(rig.step());
    assert_eq!(rig.pending(), 0, "one program made room");
    assert_eq!(rig.ftl.buffered(), 3 * SLOTS + 1, "the write itself is not programmed yet");
    assert!(programmed < 4 * u64::from(SLOTS));
    rig.settle();
}

#[test]
fn what_waits_behind_a_page_without_a_place_is_done() {
    let mut rig = rig(|_| ());
    let all = 4 * u64::from(SLOTS);
    (0..all).for_each(|lpn| rig.submit(write(lpn)));
    rig.submit(write(50));
    rig.submit(Request::Trim(Lpn(50)));
    rig.submit(write(51));
    rig.submit(Request::Trim(Lpn(51)));
    run(&mut rig);
    assert_eq!(rig.pending(), 0, "no other request is needed");
}

#[test]
fn a_full_buffer_waits_for_programs_in_flight_instead_of_padding() {
    let mut rig = rig(|config| config.write_buffer = 2 * SLOTS);
    for lpn in 0..60 {
        rig.submit(write(lpn));
        // Keeps programs in flight while writes wait for places.
        while rig.pending() > 3 {
            assert!(rig.step());
        }
    }
    run(&mut rig);
    assert_eq!(rig.ftl.stats().padded, 0);
    rig.settle();
}

#[test]
fn at_most_as_many_super_pages_are_written_out_at_a_time_as_drain_says() {
    for (drain, most) in [(None, 2), (Some(1), 1)] {
        let mut rig = rig(|config| (config.write_points, config.drain) = (2, drain));
        (0..4 * u64::from(SLOTS)).for_each(|lpn| rig.submit(write(lpn)));
        assert_eq!(rig.in_flight().len(), most, "{drain:?}");
        rig.settle();
    }
}

#[test]
fn settings_that_contradict_are_refused() {
    let error = |change: fn(&mut Config)| {
        let rig = rig(|_| ());
        let mut config = *rig.ftl.config();
        change(&mut config);
        config.validate(rig.ftl.layout()).expect_err("a contradiction").to_string()
    };
    let unbuffered = error(|config| (config.protected, config.write_buffer) = (true, 0));
    assert!(unbuffered.contains("give write_buffer a size"), "{unbuffered}");
    let twice = error(|config| (config.protected, config.durable) = (true, true));
    assert!(twice.contains("leave out durable"), "{twice}");
    let fast = error(|config| config.drain = Some(9));
    assert!(fast.contains("drain (9 super-pages at a time)"), "{fast}");
}
