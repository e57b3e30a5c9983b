//! Power cuts before, during and after every program and erase of many short histories, and during
//! recovery. No flushed data may be lost, no page may mix several states, and the state found after
//! a cut must persist.
//!
//! A failure prints the command that replays its history alone. `GORDON_POWER_HISTORIES` sets the
//! number of short histories, `GORDON_POWER_REQUESTS` the total number of requests of the long
//! ones.

mod common;

use common::layout;
use gordon_ftl::{Config, Victim};
use gordon_nand::{FlashOp, Layout};
use gordon_testkit::{Cut, Random, Request, Rig};
use gordon_units::Lpn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const SECTORS: u32 = 2;
/// Number of combinations of effects on the operations in flight to try at one point; if there are
/// more, this many are drawn at random.
const MOST: usize = 24;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|n| n.parse().expect("a number"))
}

/// Runs each seed, or only the one in `GORDON_POWER_SEED`.
fn seeds(count: u64, mut run: impl FnMut(u64)) {
    let only = number("GORDON_POWER_SEED");
    for seed in only.map_or(0..count, |seed| seed..seed + 1) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            let requests = number("GORDON_POWER_REQUESTS");
            let requests = requests.map(|n| format!("GORDON_POWER_REQUESTS={n} "));
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            // The message is for the reader of the test's output.
            #[allow(clippy::print_stderr)]
            {
                eprintln!(
                    "replay: GORDON_POWER_SEED={seed} {}cargo test -p gordon-ftl --test power \
                     {name}",
                    requests.unwrap_or_default()
                );
            }
            resume_unwind(panic);
        }
    }
}

fn between(random: &mut Random, least: u32, most: u32) -> u32 {
    least + u32::try_from(random.below((most - least + 1) as usize)).expect("small")
}

/// A random device whose blocks have 2 to 5 data pages and a summary of `summary_pages`.
fn device(random: &mut Random, summary_pages: u32) -> (Layout, Config) {
    let policies = [Victim::Greedy, Victim::Fifo, Victim::DChoices(2), Victim::CostBenefit];
    loop {
        let (die_groups, slots) = (between(random, 1, 3), between(random, 1, 3));
        let (blocks, data_pages) = (between(random, 12, 20), between(random, 2, 5));
        let pages = data_pages + summary_pages;
        let layout = layout(die_groups, 1, blocks, pages, 512 * SECTORS * slots);
        let reserve = between(random, 1, 2);
        let mut config = Config {
            slots,
            write_points: between(random, 1, 3),
            copy_points: between(random, 0, 1),
            summary_pages,
            durable: true,
            write_buffer: if random.below(2) == 0 { 0 } else { between(random, 1, 8) },
            idle_drain: random.below(2) == 0,
            reserve,
            low_water: reserve + between(random, 0, 1),
            idle_water: reserve + 2,
            victim: policies[random.below(policies.len())],
            wear_spread: between(random, 0, 2),
            seed: random.next_u64(),
            ..Config::new(&layout, 1, SECTORS)
        };
        let most = u32::try_from(config.most_exported(&layout)).expect("small");
        if most > 2 {
            // Most devices are full, since garbage collection is where errors are likely.
            config.exported = if random.below(3) == 0 { between(random, 1, most) } else { most };
            config.validate(&layout).expect("as many as fit");
            return (layout, config);
        }
    }
}

fn request(random: &mut Random, config: &Config) -> Request {
    let pages = config.exported as usize;
    let per_page = u64::from(SECTORS);
    // Half of the requests go to a few pages, so that these are overwritten.
    let hot = if random.below(2) == 0 { pages.min(3) } else { pages };
    let lpn = random.below(hot) as u64;
    match random.below(16) {
        0..10 => {
            let whole = random.below(3) > 0;
            let first = lpn * per_page + if whole { 0 } else { random.below(2) as u64 };
            let len = if whole { per_page } else { 1 + random.below(3) as u64 };
            let len = len.min(pages as u64 * per_page - first);
            match random.below(8) {
                0 => Request::WriteDurably { first, len },
                _ => Request::Write { first, len },
            }
        }
        10..12 => Request::Trim(Lpn(u32::try_from(lpn).expect("small"))),
        12..13 => Request::Read { first: lpn * per_page, len: per_page },
        _ => Request::Flush,
    }
}

/// All combinations of effects on the operations in flight, or a random selection.
fn combinations(rig: &Rig, random: &mut Random) -> Vec<Vec<Cut>> {
    let flights = rig.in_flight();
    let count: usize = flights.iter().map(|(_, cuts)| cuts.len()).product();
    if count <= MOST {
        let mut all = vec![vec![]];
        for (_, cuts) in flights {
            all = all
                .iter()
                .flat_map(|prefix| cuts.iter().map(move |&cut| [&prefix[..], &[cut]].concat()))
                .collect();
        }
        return all;
    }
    let draw = |random: &mut Random| {
        flights.iter().map(|(_, cuts)| cuts[random.below(cuts.len())]).collect()
    };
    (0..MOST).map(|_| draw(random)).collect()
}

/// Counts of a history: points at which the power was cut, and cuts.
struct Story {
    points: u64,
    cuts: u64,
}

impl Story {
    /// Cuts the power at this point with each combination of effects. Each time the device is
    /// mounted, cut again during recovery, and again after more requests.
    fn cut_here(&mut self, rig: &Rig, random: &mut Random, depth: u32) {
        self.points += 1;
        for cuts in combinations(rig, random) {
            self.cuts += 1;
            let mut cut = rig.clone();
            cut.cut(&cuts);
            cut.mount(None);
            if depth > 0 && random.below(8) == 0 {
                let mut recovering = cut.clone();
                while recovering.ftl.is_recovering() {
                    if random.below(4) == 0 {
                        self.cut_here_once(&recovering, random, depth - 1);
                    }
                    if !recovering.step() {
                        recovering.idle();
                    }
                }
            }
            self.go_on(cut, random, depth, &cuts);
        }
    }

    fn cut_here_once(&mut self, rig: &Rig, random: &mut Random, depth: u32) {
        self.cuts += 1;
        let cuts: Vec<_> =
            rig.in_flight().iter().map(|(_, cuts)| cuts[random.below(cuts.len())]).collect();
        let mut cut = rig.clone();
        cut.cut(&cuts);
        cut.mount(None);
        self.go_on(cut, random, depth, &cuts);
    }

    fn go_on(&mut self, mut rig: Rig, random: &mut Random, depth: u32, cuts: &[Cut]) {
        rig.recover();
        if let Err(lost) = rig.settle_cut() {
            panic!("cut {} as {cuts:?}: {lost}", self.cuts);
        }
        let worn_out = rig.ftl.is_worn_out();
        assert!(!worn_out || rig.faults > 0, "no room left");
        if depth == 0 || worn_out {
            return;
        }
        for _ in 0..random.below(12) {
            let request = request(random, &rig.ftl.config().clone());
            rig.submit(request);
            (0..random.below(3)).for_each(|_| {
                rig.step();
            });
        }
        self.cut_here_once(&rig, random, depth - 1);
    }
}

fn history(seed: u64, summary_pages: u32) -> Story {
    let random = &mut Random::new(seed);
    let (layout, config) = device(random, summary_pages);
    let mut rig = Rig::new(layout, config, random.next_u64());
    if random.below(4) > 0 {
        let per_page = u64::from(SECTORS);
        for lpn in 0..u64::from(config.exported) {
            rig.submit(Request::Write { first: lpn * per_page, len: per_page });
            while rig.pending() > 8 && rig.step() {}
        }
        // Brings the device to a steady state.
        for _ in 0..random.below(4 * config.exported as usize) {
            rig.submit(request(random, &config));
            rig.step();
        }
        rig.submit(Request::Flush);
    }
    // In some histories programs and erases fail.
    rig.faults = if random.below(4) == 0 { 30 } else { 0 };
    let mut story = Story { points: 0, cuts: 0 };
    for _ in 0..1 + random.below(8) {
        rig.submit(request(random, &config));
        story.cut_here(&rig, random, 2);
        for _ in 0..random.below(4) {
            if !rig.step() {
                rig.idle();
            }
            story.cut_here(&rig, random, 1);
        }
    }
    rig.submit(Request::Flush);
    rig.settle();
    stop(&mut rig);
    story
}

/// Shuts down cleanly, and mounts again.
fn stop(rig: &mut Rig) {
    if rig.ftl.is_worn_out() {
        return;
    }
    let config = *rig.ftl.config();
    let places = |rig: &Rig| (0..config.exported).map(|lpn| rig.ftl.lookup(Lpn(lpn))).collect();
    let before: Vec<_> = places(rig);
    let standing = rig.ftl.clean_shutdown_state();
    rig.cut(&[]);
    rig.mount(Some(&standing));
    let after: Vec<_> = places(rig);
    assert_eq!(before, after, "where pages are, after a clean stop");
    assert!(!rig.ftl.is_recovering(), "a clean stop leaves nothing to do");
    rig.settle_cut().unwrap_or_else(|lost| panic!("{lost}"));
}

/// A long history of a larger device, whose trims fill several pages, with a power cut or a clean
/// shutdown every few hundred requests.
fn life(seed: u64, requests: u64) {
    let random = &mut Random::new(seed);
    let layout = layout(4, 1, 48, 16, 4 * 512 * SECTORS);
    let mut config = Config {
        slots: 4,
        write_points: 4,
        copy_points: between(random, 0, 2),
        durable: true,
        write_buffer: between(random, 0, 40),
        reserve: 3,
        low_water: 4,
        idle_water: 6,
        ..Config::new(&layout, 1, 1)
    };
    config.exported = u32::try_from(config.most_exported(&layout)).expect("small");
    let mut rig = Rig::new(layout, config, random.next_u64());
    let (mut since, mut until) = (0, 400);
    for _ in 0..requests {
        let lpn = random.below(config.exported as usize) as u64;
        let left = u64::from(config.exported) - lpn;
        rig.submit(match random.below(64) {
            0..54 => Request::Write { first: lpn, len: (1 + random.below(8) as u64).min(left) },
            54..63 => Request::Trim(Lpn(u32::try_from(lpn).expect("small"))),
            _ => Request::Flush,
        });
        while rig.pending() > 24 {
            rig.step();
        }
        since += 1;
        if since < until {
            continue;
        }
        (since, until) = (0, 1 + random.below(800));
        if random.below(4) == 0 {
            rig.submit(Request::Flush);
            rig.settle();
            stop(&mut rig);
            continue;
        }
        for depth in 0..1 + random.below(3) {
            let flights = rig.in_flight();
            let cuts: Vec<_> =
                flights.iter().map(|(_, cuts)| cuts[random.below(cuts.len())]).collect();
            rig.cut(&cuts);
            rig.mount(None);
            // Cuts again during recovery.
            for _ in 0..random.below(60) * usize::from(depth < 2) {
                if !rig.step() {
                    rig.idle();
                }
            }
        }
        rig.recover();
        rig.settle_cut().unwrap_or_else(|lost| panic!("{lost}"));
    }
}

#[test]
fn a_long_history_with_cuts_loses_nothing() {
    let requests = number("GORDON_POWER_REQUESTS").unwrap_or(20_000);
    seeds(4, |seed| life(seed, requests / 4));
}

#[test]
fn no_flushed_data_are_lost_at_any_power_cut() {
    let (mut points, mut cuts) = (0, 0);
    seeds(number("GORDON_POWER_HISTORIES").unwrap_or(60), |seed| {
        let story = history(seed, 1);
        (points, cuts) = (points + story.points, cuts + story.cuts);
    });
    // Reports the size of a long run.
    #[allow(clippy::print_stdout)]
    {
        println!("{points} points, {cuts} cuts");
    }
}

/// A cut may fall between two pages of a summary, and either of them may be lost.
#[test]
fn no_flushed_data_are_lost_with_summaries_of_two_pages() {
    seeds(number("GORDON_POWER_HISTORIES").unwrap_or(60) / 4, |seed| {
        history(seed, 2);
    });
}

/// The first of several blocks to be emptied are bad and empty, so no completion of an operation
/// continues the recovery.
#[test]
fn recovery_continues_after_blocks_are_retired() {
    history(4324, 1);
}

/// A page whose program failed may be readable, and is older than its replacement.
#[test]
fn a_failed_program_does_not_reappear() {
    let mut failed = 0;
    seeds(300, |seed| {
        let random = &mut Random::new(seed);
        let layout = layout(3, 1, 16, 6, 512 * SECTORS);
        let config = Config { write_points: 3, durable: true, ..Config::new(&layout, 4, 1) };
        let mut rig = Rig::new(layout, config, random.next_u64());
        rig.faults = 150;
        for _ in 0..12 {
            rig.submit(Request::Write { first: random.below(4) as u64, len: 1 });
            (0..random.below(3)).for_each(|_| {
                rig.step();
            });
        }
        rig.faults = 0;
        rig.submit(Request::Flush);
        while rig.step() {}
        failed += rig.ftl.stats().grown_bad;
        rig.cut(&[]);
        rig.mount(None);
        rig.recover();
        rig.settle_cut().unwrap_or_else(|lost| panic!("{lost}"));
    });
    let one = number("GORDON_POWER_SEED").is_some();
    assert!(one || failed > 100, "{failed} programs failed");
}

/// The old journal is erased only when all pages of the new snapshot are written.
#[test]
fn a_cut_between_two_snapshot_pages_loses_no_trims() {
    // One history takes seconds, because it cuts at every erase of a recovery.
    let histories = if number("GORDON_POWER_HISTORIES").is_some() { 4 } else { 1 };
    seeds(histories, |seed| {
        let random = &mut Random::new(seed);
        let layout = layout(2, 1, 64, 48, 512 * SECTORS);
        let mut config = Config { write_points: 2, durable: true, ..Config::new(&layout, 1, 1) };
        config.exported = u32::try_from(config.most_exported(&layout)).expect("small");
        assert!(config.snapshot_pages() > 1, "{}", config.exported);
        let mut rig = Rig::new(layout, config, random.next_u64());
        for first in 0..u64::from(config.exported) {
            rig.submit(Request::Write { first, len: 1 });
            while rig.pending() > 8 && rig.step() {}
        }
        for lpn in config.exported - 100..config.exported {
            rig.submit(Request::Trim(Lpn(lpn)));
        }
        rig.submit(Request::Flush);
        rig.settle();
        rig.cut(&[]);
        rig.mount(None);
        while rig.ftl.is_recovering() {
            let flights = rig.in_flight();
            if flights.iter().any(|(op, _)| matches!(op, FlashOp::Erase { .. })) {
                let mut cut = rig.clone();
                let cuts: Vec<_> =
                    flights.iter().map(|(_, cuts)| cuts[random.below(cuts.len())]).collect();
                cut.cut(&cuts);
                cut.mount(None);
                cut.recover();
                cut.settle_cut().unwrap_or_else(|lost| panic!("{lost}"));
            }
            if !rig.step() {
                rig.idle();
            }
        }
    });
}
