//! Random histories compared with a model: operations complete in any order, and the store is shut
//! down, killed, or its host crashes. A failure prints the seed; `STORE_SEED=N` runs that one
//! alone.

mod common;

use common::{Bench, SHAPES, device, device_with_long_summaries, image, seeds};
use gordon_store::{Engine, LastShutdown, check};
use gordon_testkit::Random;
use std::cell::Cell;

fn bench(seed: u64) -> Bench {
    let mut random = Random::new(seed);
    let shape = SHAPES[random.below(SHAPES.len())];
    let blocks = 16 + u32::try_from(random.below(16)).expect("it works");
    let fill = if random.below(2) == 0 { 1.0 } else { 0.6 };
    let mut device = device(shape, blocks, fill, seed);
    match random.below(4) {
        0 => device.ftl.write_buffer = 0,
        1 => device.ftl.copy_points = 1,
        2 => device.ftl.wear_spread = 4,
        _ => {}
    }
    Bench::new(&device, seed)
}

/// A store whose summaries take two or three pages.
fn bench_with_long_summaries(seed: u64) -> Bench {
    let mut random = Random::new(seed);
    let blocks = 6 + u32::try_from(random.below(4)).expect("it works");
    Bench::new(&device_with_long_summaries(blocks, 1.0, seed), seed)
}

/// Random requests, operations and idle time.
fn go_on(bench: &mut Bench, requests: usize) {
    for _ in 0..requests {
        bench.ask();
        let steps = bench.random.below(4);
        for _ in 0..steps {
            bench.step();
        }
    }
}

/// Completes everything and checks the contents.
fn settle(bench: &mut Bench) {
    bench.settle();
    bench.flush();
    bench.settle();
    assert_eq!(bench.pending(), 0, "some requests never end");
    bench.ftl().check().unwrap_or_else(|e| panic!("{e}"));
    let contents = bench.contents();
    for (sector, value) in (0..).zip(contents) {
        assert_eq!(value, bench.model.last(sector), "sector {sector}");
    }
}

/// Checks that the image has no errors.
fn check_image(bench: &Bench) {
    let report = check(&image(&bench.media)).expect("it works");
    assert!(report.clean, "{:#?}", report.errors);
}

#[test]
fn written_data_are_read_back() {
    seeds(16, |seed| {
        let mut bench = bench(seed);
        for _ in 0..3 {
            go_on(&mut bench, 300);
            settle(&mut bench);
            check_image(&bench);
        }
    });
}

#[test]
fn written_data_are_read_back_with_long_summaries() {
    seeds(8, |seed| {
        let mut bench = bench_with_long_summaries(seed);
        for _ in 0..3 {
            go_on(&mut bench, 1000);
            settle(&mut bench);
            check_image(&bench);
        }
        let stats = *bench.ftl().stats();
        assert!(stats.summary_programs > 0 && stats.erases > 0, "{stats:?}");
    });
}

#[test]
fn a_kill_loses_nothing_that_was_flushed() {
    seeds(24, |seed| {
        let mut bench = bench(seed);
        for _ in 0..6 {
            let requests = 10 + bench.random.below(120);
            go_on(&mut bench, requests);
            bench = bench.kill();
            check_image(&bench);
        }
        settle(&mut bench);
    });
}

#[test]
fn a_kill_loses_nothing_flushed_with_long_summaries() {
    let closed = Cell::new(0);
    seeds(16, |seed| {
        let mut bench = bench_with_long_summaries(seed);
        for _ in 0..6 {
            let requests = 50 + bench.random.below(400);
            go_on(&mut bench, requests);
            bench = bench.kill();
            check_image(&bench);
        }
        settle(&mut bench);
        let report = check(&image(&bench.media)).expect("it works");
        closed.set(closed.get() + report.closed_blocks);
    });
    assert!(closed.get() > 0);
}

/// Kills of a store whose array is then damaged: out-of-band areas, lost blocks, and blocks
/// reverted to an older state.
#[test]
fn a_kill_with_a_damaged_array_is_refused_or_loses_nothing_flushed() {
    seeds(12, |seed| {
        let mut bench = bench(seed);
        let mut older = bench.media.survivor();
        for _ in 0..6 {
            let requests = 10 + bench.random.below(120);
            go_on(&mut bench, requests);
            (0..4).for_each(|_| bench.damage(&older));
            older = bench.media.survivor();
            bench = bench.kill();
        }
        settle(&mut bench);
    });
}

#[test]
fn a_crash_of_the_host_loses_nothing_that_was_flushed() {
    seeds(48, |seed| {
        let mut bench = bench(seed);
        for _ in 0..6 {
            let requests = 10 + bench.random.below(if bench.calm { 1000 } else { 120 });
            go_on(&mut bench, requests);
            bench = bench.crash();
        }
        settle(&mut bench);
    });
}

#[test]
fn a_crash_loses_nothing_flushed_with_long_summaries() {
    seeds(32, |seed| {
        let mut bench = bench_with_long_summaries(seed);
        for _ in 0..6 {
            let requests = 50 + bench.random.below(if bench.calm { 2000 } else { 400 });
            go_on(&mut bench, requests);
            bench = bench.crash();
        }
        settle(&mut bench);
    });
}

#[test]
fn a_store_continues_after_an_orderly_shutdown() {
    seeds(16, |seed| {
        // Some stores have summaries of several pages.
        let long = seed % 4 == 3;
        let mut bench = if long { bench_with_long_summaries(seed) } else { bench(seed) };
        for _ in 0..4 {
            go_on(&mut bench, if long { 600 } else { 150 });
            settle(&mut bench);
            let store = gordon_store::Store::new(bench.engine);
            store.close().unwrap();
            assert_eq!(image(&bench.media).last_shutdown, LastShutdown::Closed);
            check(&image(&bench.media)).map(|report| assert!(report.clean, "{report:#?}")).unwrap();
            bench.engine = Engine::open(image(&bench.media)).unwrap();
            let programs = bench.engine.telemetry().ftl.program_operations;
            assert_eq!(programs, 0, "nothing is to be made good");
            settle(&mut bench);
        }
    });
}
