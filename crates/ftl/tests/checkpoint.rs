//! What a checkpoint that contradicts itself comes to, and who watches while it is looked through.
#![allow(clippy::unwrap_used)]

use gordon_ftl::{Action, CheckpointError, Config, Ftl};
use gordon_nand::{Geometry, Layout, Shape};
use gordon_testkit::Random;
use gordon_units::{Lpn, Watch};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::Ordering::Relaxed;

type Layer<const G: bool> = Ftl<VecDeque<Action>, G>;

fn restored<const G: bool>(
    (layout, config): (Layout, Config),
    mut bytes: &[u8],
    watch: &Watch,
) -> Result<Layer<G>, CheckpointError> {
    let mut input = |into: &mut [u8]| bytes.read_exact(into).is_ok();
    Ftl::restore(layout, config, VecDeque::new(), &mut input, watch)
}

/// A layer with most of its pages mapped, as bytes. Of pages and slots so many bits are left out.
fn kept<const G: bool>(coarse: u32, grouped: u32) -> ((Layout, Config), Vec<u8>) {
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
    let mut config = Config::new(&layout, 1, 4);
    config.exported = u32::try_from(config.most_exported(&layout)).unwrap();
    (config.contents, config.coarse, config.grouped) = (false, coarse, grouped);
    let mut ftl = Layer::<G>::with_bad(layout, config, &[], VecDeque::new()).unwrap();
    let last = [Lpn(config.exported - 1)];
    ftl.precondition(config.exported / 8 * 7, &last, 3, &Watch::default()).unwrap();
    let mut bytes = Vec::new();
    ftl.checkpoint(&mut |more| bytes.extend_from_slice(more));
    ((layout, config), bytes)
}

/// What is taken back fits together, page by page; more than half of the bits that may be wrong are told.
fn one_bit_is_wrong<const G: bool>(coarse: u32, grouped: u32) {
    let (made, bytes) = kept::<G>(coarse, grouped);
    let (mut refused, mut random) = (0, Random::new(5));
    for _ in 0..2_000 {
        let (at, bit) = (random.below(bytes.len()), random.below(8));
        let mut wrong = bytes.clone();
        wrong[at] ^= 1 << bit;
        match restored::<G>(made, &wrong, &Watch::default()) {
            Ok(ftl) => ftl.check().unwrap_or_else(|error| panic!("bit {bit} of {at}: {error}")),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 1_000, "{refused} of 2000, coarse {coarse}, grouped {grouped}");
}

#[test]
fn tables_that_disagree_are_refused() {
    one_bit_is_wrong::<false>(0, 0);
    one_bit_is_wrong::<false>(2, 0);
    one_bit_is_wrong::<true>(2, 0);
    one_bit_is_wrong::<true>(2, 3);
    one_bit_is_wrong::<true>(4, 7);
}

#[test]
fn who_watches_sees_how_far_it_is_and_may_end_it() {
    let (made, bytes) = kept::<true>(2, 3);
    let watch = Watch::default();
    restored::<true>(made, &bytes, &watch).unwrap();
    let (done, total) = watch.progress();
    assert!(done == total && total > 0, "{done} of {total}");
    watch.stop.store(true, Relaxed);
    let stopped = restored::<true>(made, &bytes, &watch).err();
    assert_eq!(stopped, Some(CheckpointError::Stopped));
}
