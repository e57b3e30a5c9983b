//! Random sequences of requests on small arrays, with operations completing in random order,
//! checked by `gordon_testkit::Rig`.

mod common;

use common::layout;
use gordon_ftl::{Config, Victim};
use gordon_nand::Layout;
use gordon_testkit::{Random, Request, Rig};
use gordon_units::Lpn;
use proptest::prelude::*;

const SECTORS: u32 = 4;

/// A request before it is scaled to a capacity: kind, place and length as fractions of 65536.
#[derive(Clone, Debug)]
struct Draft {
    kind: u8,
    place: u16,
    len: u16,
    steps: u8,
}

impl Draft {
    fn fit(&self, pages: u32) -> Request {
        let sectors = u64::from(pages) * u64::from(SECTORS);
        let scale = |x: u16, limit: u64| (u64::from(x) * limit) >> 16;
        let lpn = scale(self.place, u64::from(pages));
        // Most requests are about a page long; some are aligned to pages.
        let (first, most) = match self.kind % 3 {
            0 => (lpn * u64::from(SECTORS), u64::from(SECTORS)),
            _ => (scale(self.place, sectors), 3 * u64::from(SECTORS)),
        };
        let len = match self.kind % 3 {
            0 => most,
            _ => 1 + scale(self.len, most),
        };
        let len = len.min(sectors - first);
        match self.kind {
            0..60 => Request::Read { first, len },
            60..220 => Request::Write { first, len },
            220..230 => Request::WriteDurably { first, len },
            230..245 => Request::Trim(Lpn(u32::try_from(lpn).expect("small"))),
            _ => Request::Flush,
        }
    }
}

fn drafts(most: usize) -> impl Strategy<Value = Vec<Draft>> {
    let draft = (any::<u8>(), any::<u16>(), any::<u16>(), 0u8..6)
        .prop_map(|(kind, place, len, steps)| Draft { kind, place, len, steps });
    proptest::collection::vec(draft, 1..most)
}

const POLICIES: [Victim; 5] =
    [Victim::Greedy, Victim::Fifo, Victim::Random, Victim::DChoices(2), Victim::CostBenefit];

#[derive(Clone, Debug)]
struct Case {
    layout: Layout,
    config: Config,
    fill: bool,
    faults: usize,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1u32..5, 1u32..3, 4u32..10, 2u32..7, 1u32..5);
    let points = (1u32..5, 0u32..3, 1u32..4, 0u32..3, 0u32..4);
    let knobs = (any::<[bool; 6]>(), 0usize..5, 0u32..20, 0u32..4);
    let rest = (any::<bool>(), 1u64..257, any::<u64>(), 0usize..3);
    (sizes, points, knobs, rest).prop_filter_map(
        "no room for a page",
        |((die_groups, sets, blocks, pages, slots), points, knobs, (fill, part, seed, faulty))| {
            let (write_points, copy_points, reserve, low, idle) = points;
            let (flags, policy, write_buffer, wear_spread) = knobs;
            let [bypass, combine, summary, durable, protected, idle_drain] = flags;
            // Half of the cases have no write buffer.
            let write_buffer = write_buffer.saturating_sub(10);
            let layout = layout(die_groups, sets, blocks, pages, 512 * SECTORS);
            let mut config = Config {
                slots,
                write_points,
                copy_points,
                bypass,
                combine,
                // Some of the summaries take two pages.
                summary_pages: u32::from(summary) * (1 + (seed >> 32) as u32 % 2),
                durable: durable && summary,
                write_buffer,
                protected: protected && write_buffer > 0 && !(durable && summary),
                idle_drain,
                drain: (seed % 5 == 0).then_some(1 + (seed >> 40) as u32 % write_points),
                reserve,
                low_water: reserve + low,
                idle_water: reserve + low + idle,
                victim: POLICIES[policy],
                wear_spread,
                seed,
                ..Config::new(&layout, 1, SECTORS)
            };
            // A third of the cases export as many pages as possible.
            let most = config.most_exported(&layout);
            let exported = if seed % 3 == 0 { most } else { most * part / 256 };
            config.exported = u32::try_from(exported).expect("small");
            config.validate(&layout).ok()?;
            let faults = if faulty == 0 { 20 } else { 0 };
            Some(Case { layout, config, fill, faults, seed })
        },
    )
}

fn run(case: &Case, drafts: &[Draft]) -> Rig {
    let mut rig = Rig::new(case.layout, case.config, case.seed);
    rig.faults = case.faults;
    if case.fill {
        rig.preload((0..case.config.exported).map(Lpn));
    }
    for draft in drafts {
        rig.submit(draft.fit(case.config.exported));
        for _ in 0..draft.steps {
            if !rig.step() {
                rig.idle();
            }
        }
    }
    rig.settle();
    rig
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn reads_are_right_and_requests_complete(case in cases(), drafts in drafts(300)) {
        run(&case, &drafts);
    }

    #[test]
    fn equal_inputs_give_equal_runs(case in cases(), drafts in drafts(60)) {
        let (one, two) = (run(&case, &drafts), run(&case, &drafts));
        prop_assert_eq!(one.ftl.stats(), two.ftl.stats());
    }
}

#[test]
fn idle_collection_works_in_every_state() {
    let layout = layout(1, 1, 24, 4, 512 * SECTORS);
    let config = Config { durable: true, idle_water: u32::MAX, ..Config::new(&layout, 8, SECTORS) };
    let mut rig = Rig::new(layout, config, 1);
    for _ in 0..8 {
        (0..8 * u64::from(SECTORS)).for_each(|first| rig.submit(Request::Write { first, len: 1 }));
        rig.settle();
        rig.idle();
    }
    rig.settle();
}

/// Writes all pages that can be exported, then overwrites them many times: garbage collection must
/// always free enough space. Covers every shape of the smallest arrays.
#[test]
fn full_devices_accept_writes_indefinitely() {
    let (mut shapes, mut erased) = (0usize, 0);
    for die_groups in 1..4 {
        for (blocks, pages) in [(5, 2), (6, 3), (8, 5), (12, 9)] {
            for write_points in 1..4 {
                for reserve in 1..3 {
                    let layout = layout(die_groups, 1, blocks, pages, 512 * SECTORS);
                    let mut config = Config::new(&layout, 1, SECTORS);
                    config.write_points = write_points;
                    (config.reserve, config.low_water) = (reserve, reserve);
                    // Policies, kinds of write points and sizes of logical pages take turns.
                    config.victim = POLICIES[shapes % 5];
                    config.copy_points = u32::try_from(shapes % 2).expect("0 or 1");
                    config.slots = 1 + u32::try_from(shapes % 3).expect("small");
                    config.summary_pages = [1, 2, 0, 0][shapes % 4];
                    config.exported = u32::try_from(config.most_exported(&layout)).expect("small");
                    if config.validate(&layout).is_err() {
                        continue;
                    }
                    shapes += 1;
                    let mut rig = Rig::new(layout, config, u64::from(die_groups * 100 + blocks));
                    let mut random = Random::new(7);
                    for round in 0..24 {
                        // Sequential, then random; with short queues, and with all requests at
                        // once.
                        let most = [1, 4, 30, usize::MAX][round % 4];
                        for page in 0..config.exported as usize {
                            let any = random.below(config.exported as usize);
                            let page = if round < 4 { page } else { any } as u64;
                            let (first, len) = (page * u64::from(SECTORS), u64::from(SECTORS));
                            rig.submit(Request::Write { first, len });
                            while rig.pending() > most && rig.step() {}
                        }
                    }
                    rig.settle();
                    erased += u32::from(rig.ftl.stats().erases > 0);
                }
            }
        }
    }
    assert!(shapes > 30, "only {shapes} shapes were possible");
    // The smallest devices export a page or two, which fill their array slowly.
    assert!(erased > 25, "only {erased} of {shapes} were filled");
}
