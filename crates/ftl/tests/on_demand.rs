//! A preconditioned or preloaded layer whose table entries are computed on demand behaves as one
//! whose tables were filled at once.
#![allow(clippy::unwrap_used)]

use gordon_ftl::{Action, Config, Extent, Ftl, HostRequest, Input, RequestId, Victim};
use gordon_nand::{FlashOp, Geometry, Layout, SuperPageShape};
use gordon_testkit::Random;
use gordon_units::{Lpn, Ppn, Progress};
use proptest::prelude::*;
use std::collections::VecDeque;

type Layer = Ftl<VecDeque<Action>>;

const SECTORS: u32 = 2;
const POLICIES: [Victim; 5] =
    [Victim::Greedy, Victim::Fifo, Victim::Random, Victim::DChoices(2), Victim::CostBenefit];

/// A small device and what is mapped on it before the first request.
#[derive(Clone, Debug)]
struct Case {
    layout: Layout,
    config: Config,
    /// Pages below this one are mapped.
    first: u32,
    /// One in this many of the other pages is mapped, too.
    more: u32,
    seed: u64,
}

impl Case {
    fn more(&self) -> Vec<Lpn> {
        let mut random = Random::new(self.seed);
        let rest = (self.first..self.config.exported).map(Lpn);
        rest.filter(|_| random.below(self.more as usize) == 0).collect()
    }

    fn layer(&self) -> Layer {
        Layer::new(self.layout, self.config).unwrap()
    }

    /// Preconditioned layers, one with computed entries and one with filled tables.
    fn preconditioned(&self) -> [Layer; 2] {
        let (mut layers, progress) = ([self.layer(), self.layer()], Progress::default());
        let [on_demand, filled] = &mut layers;
        let more = self.more();
        on_demand.precondition_on_demand(self.first, &more, self.seed, &progress).unwrap();
        filled.precondition(self.first, &more, self.seed, &progress).unwrap();
        layers
    }

    /// As [`preconditioned`](Self::preconditioned), but preloaded.
    fn preloaded(&self) -> [Layer; 2] {
        let (mut layers, progress) = ([self.layer(), self.layer()], Progress::default());
        let [on_demand, filled] = &mut layers;
        on_demand.preload_on_demand(self.first, &progress).unwrap();
        filled.preload((0..self.first).map(Lpn), &mut |_, _, _| (), &progress).unwrap();
        layers
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1u32..4, 1u32..3, 8u32..24, 2u32..20, 1u32..12);
    let points = (1u32..4, 0u32..3, 1u32..3, 0u32..3);
    let knobs = (any::<[bool; 3]>(), 0usize..5, 0u32..20);
    let mapped = (0u32..=256, 1u32..8, 128u64..=256, any::<u64>());
    (sizes, points, knobs, mapped).prop_filter_map(
        "no room for a page",
        |((dies, sets, blocks, pages, slots), points, knobs, (first, more, part, seed))| {
            let geometry = Geometry {
                buses: 1,
                packages_per_bus: 1,
                dies_per_package: dies,
                planes_per_die: sets,
                blocks_per_plane: blocks,
                pages_per_block: pages,
                page_bytes: 512 * SECTORS,
                oob_bytes: 16,
            };
            let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
            let layout = Layout::new(geometry, shape).unwrap();
            let (write_points, copy_points, reserve, low) = points;
            let ([bypass, combine, summary], policy, write_buffer) = knobs;
            let mut config = Config {
                slots,
                write_points,
                copy_points,
                bypass,
                combine,
                summary_pages: summary.into(),
                contents: false,
                write_buffer: write_buffer.saturating_sub(10),
                reserve,
                low_water: reserve + low,
                idle_water: reserve + low + 1,
                victim: POLICIES[policy],
                seed,
                ..Config::new(&layout, 1, SECTORS)
            };
            config.exported = u32::try_from(config.most_exported(&layout) * part / 256).unwrap();
            config.validate(&layout).ok()?;
            // Blocks with a single data page are never preloaded on demand.
            let data_pages = layout.pages_per_block() - config.summary_pages;
            let first = config.exported * first / 256;
            (data_pages > 1).then_some(Case { layout, config, first, more, seed })
        },
    )
}

/// A random request.
fn request(exported: u32, random: &mut Random) -> HostRequest {
    let id = RequestId(0);
    let lpn = random.below(exported as usize) as u64;
    let sectors = u64::from(exported) * u64::from(SECTORS);
    let first = lpn * u64::from(SECTORS) + random.below(SECTORS as usize) as u64;
    let extent =
        Extent { request: id, first, sectors: (1 + random.below(8) as u64).min(sectors - first) };
    match random.below(20) {
        0..6 => HostRequest::Read(extent),
        6 => HostRequest::Trim(id, Lpn(u32::try_from(lpn).unwrap())),
        7 => HostRequest::Flush(id),
        _ => HostRequest::Write(extent),
    }
}

/// Gives the layers an input; they must act alike. Returns the operations that they start.
fn handle(layers: &mut [Layer; 2], input: Input) -> Vec<FlashOp> {
    let mut started = vec![];
    layers.iter_mut().for_each(|ftl| ftl.handle(input));
    loop {
        let [action, other] = layers.each_mut().map(|ftl| ftl.poll());
        assert_eq!(action, other, "after {input:?}");
        match action {
            Action::Flash(op) | Action::Copy(op) => started.push(op),
            Action::Wait => return started,
            _ => {}
        }
    }
}

/// Ends a random operation, which may fail.
fn end_one(layers: &mut [Layer; 2], in_flight: &mut Vec<FlashOp>, random: &mut Random) {
    let op = in_flight.swap_remove(random.below(in_flight.len()));
    let fails = !matches!(op, FlashOp::Read { .. }) && random.below(200) == 0;
    let input = if fails { Input::Failed(op) } else { Input::Done(op) };
    in_flight.extend(handle(layers, input));
}

/// Sends random requests to the layers, which then are at rest.
fn run(layers: &mut [Layer; 2], requests: usize, random: &mut Random) {
    let (exported, mut in_flight) = (layers[0].config().exported, vec![]);
    for _ in 0..requests {
        let input = match random.below(20) {
            0 => Input::Idle,
            _ => Input::Host(request(exported, random)),
        };
        in_flight.extend(handle(layers, input));
        for _ in 0..random.below(6).min(in_flight.len()) {
            end_one(layers, &mut in_flight, random);
        }
    }
    while layers[0].is_busy() && !layers[0].is_worn_out() || !in_flight.is_empty() {
        if in_flight.is_empty() {
            in_flight.extend(handle(layers, Input::Idle));
        }
        if !in_flight.is_empty() {
            end_one(layers, &mut in_flight, random);
        }
    }
}

/// Compares every entry of the maps.
fn compare(one: &Layer, other: &Layer) {
    assert_eq!(one.stats(), other.stats());
    for lpn in (0..one.config().exported).map(Lpn) {
        assert_eq!(one.lookup(lpn), other.lookup(lpn), "page {lpn}");
        assert_eq!(one.is_mapped(lpn), other.is_mapped(lpn), "page {lpn}");
    }
    for ppn in (0..one.layout().pages()).map(Ppn) {
        for slot in 0..one.config().slots {
            let written = [one, other].map(|ftl| ftl.written(ppn, slot));
            assert_eq!(written[0], written[1], "slot {slot} of page {ppn}");
        }
    }
}

fn checkpoint(ftl: &mut Layer) -> Vec<u8> {
    let mut bytes = vec![];
    ftl.checkpoint(&mut |more| bytes.extend_from_slice(more));
    bytes
}

/// The layers act alike, and so does a copy whose tables are filled.
fn continue_alike(mut layers: [Layer; 2], requests: usize, seed: u64) {
    compare(&layers[0], &layers[1]);
    let mut random = Random::new(seed);
    run(&mut layers, requests, &mut random);
    compare(&layers[0], &layers[1]);
    layers[0].check().unwrap();
    let mut copies = [layers[0].clone(), layers[0].clone()];
    copies[1].fill_tables();
    compare(&copies[0], &copies[1]);
    run(&mut copies, requests, &mut random.clone());
    compare(&copies[0], &copies[1]);
    run(&mut layers, requests, &mut random);
    compare(&layers[0], &layers[1]);
    compare(&layers[0], &copies[1]);
    if !layers[0].is_busy() {
        let [one, other] = layers.each_mut().map(checkpoint);
        assert!(one == other, "the checkpoints differ");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn preconditioned_entries_equal_those_of_filled_tables(
        case in cases(), requests in 0usize..300
    ) {
        continue_alike(case.preconditioned(), requests, case.seed ^ 1);
    }

    #[test]
    fn preloaded_entries_equal_those_of_filled_tables(case in cases(), requests in 0usize..300) {
        continue_alike(case.preloaded(), requests, case.seed ^ 1);
    }
}
