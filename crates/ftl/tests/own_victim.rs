//! Victim policies that another program brings: they are the built-in ones if they choose the same,
//! and a bad one does no harm.

mod common;

use common::layout;
use gordon_ftl::{Config, Stats, Victim, VictimChooser};
use gordon_nand::Layout;
use gordon_testkit::{Random, Request, Rig};
use gordon_units::BlockId;
use std::sync::{Arc, Mutex, MutexGuard};

const SECTORS: u32 = 4;

/// Candidates with their valid pages, in the order of their last change or in that of their first.
#[derive(Debug)]
struct Candidates {
    moves_on_change: bool,
    choose: fn(&[(BlockId, u32)]) -> Option<BlockId>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    limits: (u32, u32),
    blocks: Vec<(BlockId, u32)>,
    choices: u32,
    refused: Vec<BlockId>,
}

impl Candidates {
    fn new(moves_on_change: bool, choose: fn(&[(BlockId, u32)]) -> Option<BlockId>) -> Arc<Self> {
        Arc::new(Self { moves_on_change, choose, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics with it")
    }
}

impl VictimChooser for Candidates {
    fn begin(&self, blocks: u32, pages: u32) {
        let mut state = self.state();
        assert_eq!(state.limits, (0, 0), "it begins once");
        state.limits = (blocks, pages);
    }

    fn update(&self, block: BlockId, valid: u32) {
        let mut state = self.state();
        let (blocks, pages) = state.limits;
        assert!(block.0 < blocks && valid <= pages);
        match state.blocks.iter().position(|&(known, _)| known == block) {
            None => state.blocks.push((block, valid)),
            Some(at) => {
                assert_eq!(valid + 1, state.blocks[at].1, "one page becomes stale at a time");
                state.blocks[at].1 = valid;
                if self.moves_on_change {
                    let moved = state.blocks.remove(at);
                    state.blocks.push(moved);
                }
            }
        }
    }

    fn collect(&self, block: BlockId) {
        let mut state = self.state();
        let at = state.blocks.iter().position(|&(known, _)| known == block);
        state.blocks.remove(at.expect("a candidate"));
    }

    fn choose(&self) -> Option<BlockId> {
        let mut state = self.state();
        assert!(!state.blocks.is_empty());
        state.choices += 1;
        (self.choose)(&state.blocks)
    }

    fn refuse(&self, block: BlockId) {
        self.state().refused.push(block);
    }
}

fn least(blocks: &[(BlockId, u32)]) -> Option<BlockId> {
    blocks.iter().min_by_key(|(_, valid)| *valid).map(|(block, _)| *block)
}

fn most(blocks: &[(BlockId, u32)]) -> Option<BlockId> {
    blocks.iter().max_by_key(|(_, valid)| *valid).map(|(block, _)| *block)
}

fn first(blocks: &[(BlockId, u32)]) -> Option<BlockId> {
    blocks.first().map(|(block, _)| *block)
}

/// Small arrays that export as many pages as they can.
fn shapes() -> Vec<(Layout, Config)> {
    let mut found = Vec::new();
    for (number, (die_groups, blocks, pages)) in
        [(1, 12, 9), (2, 8, 5), (3, 12, 6), (1, 40, 4), (2, 16, 16)].into_iter().enumerate()
    {
        for slots in 1..3 {
            let layout = layout(die_groups, 1, blocks, pages, 512 * SECTORS);
            let mut config = Config::new(&layout, 1, SECTORS);
            (config.reserve, config.low_water) = (1, 2);
            config.slots = slots;
            config.copy_points = u32::try_from(number % 2).expect("0 or 1");
            config.wear_spread = [0, 3][number % 2];
            config.exported = u32::try_from(config.most_exported(&layout)).expect("small");
            if config.validate(&layout).is_ok() {
                found.push((layout, config));
            }
        }
    }
    assert!(found.len() > 5, "only {} shapes are possible", found.len());
    found
}

/// Overwrites pages at random, and idles now and then; the rig checks what is read.
fn written(layout: Layout, config: Config, chooser: Option<Arc<Candidates>>) -> Stats {
    let mut rig = Rig::new(layout, config, 5);
    if let Some(chooser) = chooser {
        rig.ftl.choose_victims_by(chooser);
    }
    let mut random = Random::new(7);
    for round in 0..12 {
        let depth = [1, 4, 30, usize::MAX][round % 4];
        for _ in 0..config.exported {
            let page = random.below(config.exported as usize) as u64;
            let (first, len) = (page * u64::from(SECTORS), u64::from(SECTORS));
            rig.submit(Request::Write { first, len });
            while rig.pending() > depth && rig.step() {}
        }
        rig.settle();
        rig.idle();
    }
    rig.settle();
    *rig.ftl.stats()
}

#[test]
fn greedy_and_fifo_from_outside_are_the_built_in_ones() {
    let mut erases = 0;
    for (layout, config) in shapes() {
        for (victim, own) in [
            (Victim::Greedy, Candidates::new(true, least)),
            (Victim::Fifo, Candidates::new(false, first)),
        ] {
            let built_in = written(layout, Config { victim, ..config }, None);
            // The configured policy has no influence.
            let other = Config { victim: Victim::Random, ..config };
            assert_eq!(written(layout, other, Some(Arc::clone(&own))), built_in, "{victim:?}");
            assert!(own.state().refused.is_empty());
            erases += built_in.erases;
        }
    }
    assert!(erases > 1000, "only {erases} erases");
}

#[test]
fn the_worst_choices_leave_space_for_writes() {
    for (layout, config) in shapes() {
        let own = Candidates::new(false, most);
        let stats = written(layout, config, Some(Arc::clone(&own)));
        assert_eq!(stats.refused, 0);
        assert!(own.state().choices > 0);
    }
}

#[test]
fn after_a_failure_the_configured_policy_chooses() {
    let (layout, config) = shapes()[0];
    let built_in = written(layout, config, None);
    let silent = Candidates::new(false, |_| None);
    assert_eq!(written(layout, config, Some(Arc::clone(&silent))), built_in);
    assert_eq!(silent.state().choices, 1);
    assert!(silent.state().refused.is_empty());
    let wrong = Candidates::new(false, |_| Some(BlockId(u32::MAX)));
    assert_eq!(written(layout, config, Some(Arc::clone(&wrong))), built_in);
    assert_eq!(wrong.state().choices, 1);
    assert_eq!(wrong.state().refused, [BlockId(u32::MAX)]);
}

#[test]
fn closed_blocks_are_candidates_from_the_start() {
    let (layout, config) = shapes()[0];
    let mut rig = Rig::new(layout, config, 5);
    rig.preload((0..config.exported).map(gordon_units::Lpn));
    let own = Candidates::new(false, first);
    rig.ftl.choose_victims_by(Arc::<Candidates>::clone(&own));
    let state = own.state();
    let full: u32 = state.blocks.iter().map(|(_, valid)| valid).sum();
    assert!(full > config.exported / 2 && full <= config.exported);
    assert!(state.blocks.is_sorted());
}
