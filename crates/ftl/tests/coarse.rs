//! A layer that keeps less of what its slots were programmed with does the same, operation by operation.

use gordon_ftl::{Action, Config, Extent, Ftl, Host, Input, RequestId, Victim};
use gordon_nand::{FlashOp, Geometry, Layout, Shape};
use gordon_testkit::Random;
use gordon_units::Lpn;

const SECTORS: u32 = 2;

/// What a layer wants done, up to where it waits; operations are added to those in flight.
fn poll(ftl: &mut Ftl, flying: &mut Vec<FlashOp>) -> Vec<Action> {
    let mut actions = Vec::new();
    loop {
        match ftl.poll() {
            Action::Wait => return actions,
            action => {
                if let Action::Flash(op) | Action::Copy(op) = action {
                    flying.push(op);
                }
                actions.push(action);
            }
        }
    }
}

#[test]
fn what_is_left_out_makes_no_difference() {
    let geometry = Geometry {
        buses: 2,
        packages_per_bus: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 24,
        pages_per_block: 8,
        page_bytes: 2048,
        oob_bytes: 16,
    };
    let layout = Layout::new(geometry, Shape { buses: 1, dies_per_bus: 1, planes: 1 }).unwrap();
    for (slots, victim) in [(1, Victim::Greedy), (2, Victim::Fifo), (2, Victim::CostBenefit)] {
        let mut config = Config::new(&layout, 1, SECTORS);
        (config.slots, config.victim, config.contents) = (slots, victim, false);
        config.exported = u32::try_from(config.most_exported(&layout)).unwrap();
        // Summaries are not asked for where the driver keeps no contents; 5 divides no page count here.
        let mut layers = [0, 2, 5].map(|coarse| {
            let mut ftl = Ftl::new(layout, Config { coarse, ..config }).unwrap();
            ftl.preload((0..config.exported).step_by(2).map(Lpn), &mut |_, _, _| ()).unwrap();
            (ftl, Vec::new())
        });
        let mut random = Random::new(9);
        let pages = config.exported as usize;
        for step in 0..20_000 {
            let flying = layers[0].1.len();
            // Half of the pages are written often: copies find pages that are being written.
            let among = if random.below(2) == 0 { pages / 4 } else { pages };
            let lpn = random.below(among) as u64;
            let start = random.below(SECTORS as usize) as u64;
            let extent = Extent {
                request: RequestId(step),
                first: lpn * u64::from(SECTORS) + start,
                sectors: (u64::from(SECTORS) - start).min(1 + random.below(2) as u64),
            };
            let done = random.below(flying.max(1));
            let what = random.below(10);
            let input = |flying: &mut Vec<FlashOp>| match what {
                0 if flying.len() < 40 => Input::Host(Host::Read(extent)),
                1 if flying.len() < 40 => Input::Host(Host::Trim(RequestId(step), Lpn(lpn as u32))),
                2..5 if flying.len() < 40 => Input::Host(Host::Write(extent)),
                _ if flying.is_empty() => Input::Host(Host::Write(extent)),
                _ => Input::Done(flying.swap_remove(done)),
            };
            let [first, others @ ..] = layers.each_mut().map(|(ftl, flying)| {
                let input = input(flying);
                ftl.handle(input);
                poll(ftl, flying)
            });
            assert!(
                others.iter().all(|other| *other == first),
                "step {step}: {first:?}, {others:?}"
            );
        }
        for (ftl, _) in &layers {
            ftl.check().unwrap();
        }
        let stats = layers[0].0.stats();
        assert!(stats.gc_programs > 1_000, "no collection to speak of: {stats:?}");
        let [all, .., least] = layers.each_ref().map(|(ftl, _)| ftl.memory());
        assert!(least < all, "{least} of {all} bytes");
    }
}
