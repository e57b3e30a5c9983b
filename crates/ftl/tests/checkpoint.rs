//! Checkpoints: restoring, refusing inconsistent ones, progress and stopping.
#![allow(clippy::unwrap_used)]

use gordon_ftl::{Action, CheckpointError, Config, Ftl};
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_testkit::Random;
use gordon_units::{Lpn, Progress};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::Ordering::Relaxed;

type Layer = Ftl<VecDeque<Action>>;

fn restored(
    (layout, config): (Layout, Config),
    mut bytes: &[u8],
    progress: &Progress,
) -> Result<Layer, CheckpointError> {
    let mut input = |into: &mut [u8]| bytes.read_exact(into).is_ok();
    Ftl::restore(layout, config, VecDeque::new(), &mut input, progress)
}

/// A layer with most of its pages mapped, and its checkpoint.
fn kept() -> (Layer, Vec<u8>) {
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
    let layout =
        Layout::new(geometry, SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 }).unwrap();
    let mut config = Config::new(&layout, 1, 4);
    config.exported = u32::try_from(config.most_exported(&layout)).unwrap();
    config.contents = false;
    let mut ftl = Layer::with_bad(layout, config, &[], VecDeque::new()).unwrap();
    let last = [Lpn(config.exported - 1)];
    ftl.precondition(config.exported / 8 * 7, &last, 3, &Progress::default()).unwrap();
    let mut bytes = Vec::new();
    ftl.checkpoint(&mut |more| bytes.extend_from_slice(more));
    (ftl, bytes)
}

#[test]
fn a_checkpoint_restores_the_place_of_each_page() {
    let (ftl, bytes) = kept();
    let restored = restored((*ftl.layout(), *ftl.config()), &bytes, &Progress::default()).unwrap();
    let mut pages = (0..ftl.config().exported).map(Lpn);
    assert!(pages.all(|lpn| restored.lookup(lpn) == ftl.lookup(lpn)));
}

/// A restored layer is consistent; more than half of the flipped bits are detected.
#[test]
fn tables_that_disagree_are_refused() {
    let (ftl, bytes) = kept();
    let made = (*ftl.layout(), *ftl.config());
    let (mut refused, mut random) = (0, Random::new(5));
    for _ in 0..2_000 {
        let (at, bit) = (random.below(bytes.len()), random.below(8));
        let mut wrong = bytes.clone();
        wrong[at] ^= 1 << bit;
        match restored(made, &wrong, &Progress::default()) {
            Ok(ftl) => ftl.check().unwrap_or_else(|error| panic!("bit {bit} of {at}: {error}")),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 1_000, "{refused} of 2000");
}

#[test]
fn a_restore_reports_progress_and_can_be_stopped() {
    let (ftl, bytes) = kept();
    let made = (*ftl.layout(), *ftl.config());
    let progress = Progress::default();
    restored(made, &bytes, &progress).unwrap();
    let (done, total) = progress.progress();
    assert!(done == total && total > 0, "{done} of {total}");
    progress.stop.store(true, Relaxed);
    let stopped = restored(made, &bytes, &progress).err();
    assert_eq!(stopped, Some(CheckpointError::Stopped));
}
