//! A layer that keeps less of what its slots were programmed with, or of where its pages are, does the
//! same, operation by operation.

use gordon_ftl::{Action, Config, Extent, Ftl, Host, Input, RequestId, Victim};
use gordon_nand::{FlashOp, Geometry, Layout, Shape};
use gordon_testkit::Random;
use gordon_units::{BlockId, Lpn, Ppn, Watch};
use std::collections::VecDeque;

const SECTORS: u32 = 2;

/// A layer of either kind.
trait Layer {
    fn handle(&mut self, input: Input);
    fn poll(&mut self) -> Action;
    fn lookups(&self) -> Vec<Option<(Ppn, u32)>>;
    fn check(&self);
    fn copies(&self) -> u64;
    fn memory(&self) -> u64;
    fn saved_and_restored(&mut self) -> Box<dyn Layer>;
}

impl<const G: bool> Layer for Ftl<VecDeque<Action>, G> {
    fn handle(&mut self, input: Input) {
        self.handle(input);
    }

    fn poll(&mut self) -> Action {
        self.poll()
    }

    fn lookups(&self) -> Vec<Option<(Ppn, u32)>> {
        (0..self.config().exported).map(|lpn| self.lookup(Lpn(lpn))).collect()
    }

    fn check(&self) {
        self.check().expect("consistent");
    }

    fn copies(&self) -> u64 {
        self.stats().gc_programs
    }

    fn memory(&self) -> u64 {
        self.memory()
    }

    fn saved_and_restored(&mut self) -> Box<dyn Layer> {
        let mut bytes = Vec::new();
        self.checkpoint(&mut |more| bytes.extend_from_slice(more));
        let mut rest = bytes.as_slice();
        let mut input = |into: &mut [u8]| std::io::Read::read_exact(&mut rest, into).is_ok();
        let (layout, config) = (*self.layout(), *self.config());
        let watch = Watch::default();
        let restored = Self::restore(layout, config, VecDeque::new(), &mut input, &watch);
        let restored = restored.expect("it was just made");
        assert!(rest.is_empty());
        Box::new(restored)
    }
}

/// What a layer wants done, up to where it waits; operations are added to those in flight.
fn poll(ftl: &mut dyn Layer, flying: &mut Vec<FlashOp>) -> Vec<Action> {
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

/// How the layers have their first pages.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    Preloaded,
    Preconditioned,
    Restored,
}

/// A layer on a new array that has bad blocks.
fn layer<const G: bool>(
    layout: Layout,
    config: Config,
    bad: &[BlockId],
    start: Start,
) -> Box<dyn Layer> {
    let mut ftl = Ftl::<_, G>::with_bad(layout, config, bad, VecDeque::new()).expect("possible");
    if start == Start::Preloaded {
        ftl.preload((0..config.exported).step_by(2).map(Lpn), &mut |_, _, _| (), &Watch::default())
            .expect("room");
    } else {
        let more = [Lpn(config.exported - 1)];
        ftl.precondition(config.exported / 8 * 7, &more, 3, &Watch::default())
            .expect("not stopped");
    }
    ftl.check().expect("consistent");
    if start == Start::Restored { ftl.saved_and_restored() } else { Box::new(ftl) }
}

#[test]
fn what_is_left_out_makes_no_difference() {
    let geometry = Geometry {
        buses: 2,
        packages_per_bus: 1,
        dies_per_package: 1,
        planes_per_die: 2,
        blocks_per_plane: 12,
        pages_per_block: 8,
        page_bytes: 2048,
        oob_bytes: 16,
    };
    let layout = Layout::new(geometry, Shape { buses: 1, dies_per_bus: 1, planes: 1 }).unwrap();
    let cases = [(1, Victim::Greedy), (2, Victim::Fifo), (2, Victim::CostBenefit)];
    let starts = [Start::Preloaded, Start::Preconditioned, Start::Restored];
    for ((slots, victim), start) in cases.into_iter().zip(starts) {
        let mut config = Config::new(&layout, 1, SECTORS);
        (config.slots, config.victim, config.contents) = (slots, victim, false);
        config.exported = u32::try_from(config.most_exported(&layout)).unwrap();
        // There are two sets of planes, and one lane has fewer blocks: they are not filled in order.
        let bad =
            if start == Start::Preconditioned { [4, 6, 8].map(BlockId).to_vec() } else { vec![] };
        config.exported -= u32::try_from(bad.len()).unwrap() * 8 * slots;
        // Summaries are not asked for where the driver keeps no contents; 5 divides no page count here.
        // So few groups of pages that many are odd, and more slots in a group than a block has. Bits of slots do
        // not count where the layer is not made for it: so it is with the last.
        let small = [(0, 0), (2, 0), (5, 0), (3, 4)].map(|bits| (bits, false));
        let large = [(0, 0), (3, 0), (2, 1), (2, 3), (5, 2), (4, 7)].map(|bits| (bits, true));
        let all: Vec<_> = small.into_iter().chain(large).collect();
        let all: [_; 10] = all.try_into().unwrap();
        let mut layers = all.map(|((coarse, grouped), large)| {
            let config = Config { coarse, grouped, ..config };
            let new = if large { layer::<true> } else { layer::<false> };
            (new(layout, config, &bad, start), Vec::new())
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
                poll(&mut **ftl, flying)
            });
            assert!(
                others.iter().all(|other| *other == first),
                "step {step}: {first:?}, {others:?}"
            );
        }
        for (ftl, _) in &layers {
            ftl.check();
        }
        let copies = layers[0].0.copies();
        assert!(copies > 1_000, "no collection to speak of: {copies} copies");
        let [all, _, less, ..] = layers.each_ref().map(|(ftl, _)| ftl.memory());
        assert!(less < all, "{less} of {all} bytes");
        for (ftl, flying) in &mut layers {
            while let Some(op) = flying.pop() {
                ftl.handle(Input::Done(op));
                poll(&mut **ftl, flying);
            }
            let restored = ftl.saved_and_restored();
            restored.check();
            assert_eq!(restored.lookups(), ftl.lookups());
        }
    }
}
