//! The effect of single pages on a mount.

use gordon_ftl::{Config, Ftl, Mount, ScanRequest, ScanResult};
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_units::{BlockId, Lpn, Ppn};
use std::collections::VecDeque;

/// Pages of a block; the last two are its summary.
const PAGES: u32 = 6;

/// Mounts an array with an old copy of page 0 in block 0. Block 1 has a newer copy with unreadable
/// data, followed by the pages in `after`.
fn mounted(after: &[ScanResult<'_>]) -> Ftl {
    let geometry = Geometry {
        buses: 1,
        packages_per_bus: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 32,
        pages_per_block: PAGES,
        page_bytes: 512,
        oob_bytes: 16,
    };
    let layout = Layout::new(geometry, SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 });
    let layout = layout.expect("a small array");
    let config = Config { durable: true, summary_pages: 2, ..Config::new(&layout, 4, 1) };
    let mut mount = Mount::new(layout, config, &[], &[0; 32]).expect("it has room");
    let (old, new) = ([Some(Lpn(0))], [Some(Lpn(0))]);
    loop {
        match mount.next_scan() {
            ScanRequest::Summary(block) => mount.summary(block, None),
            ScanRequest::Page(ppn) => {
                let (block, page) = layout.place_of(ppn);
                let found = match (block.0, page) {
                    (0, 0) => ScanResult::Data { sequence: 1, lpns: &old, sound: true },
                    (1, 0) => ScanResult::Data { sequence: 2, lpns: &new, sound: false },
                    (1, page) => {
                        after.get(page as usize - 1).cloned().unwrap_or(ScanResult::Erased)
                    }
                    _ => ScanResult::Erased,
                };
                mount.page(ppn, found);
            }
            ScanRequest::Done => break,
            ScanRequest::Wait => unreachable!("each look is answered at once"),
        }
    }
    mount.into_ftl(None, VecDeque::new()).expect("it mounts")
}

fn is_newer_copy_mapped(after: &[ScanResult<'_>]) -> bool {
    let (ppn, _) = mounted(after).lookup(Lpn(0)).expect("page 0 has a copy");
    let blocks = [BlockId(0), BlockId(1)].map(|block| Ppn(block.0 * PAGES));
    assert!(blocks.contains(&ppn));
    ppn == blocks[1]
}

#[test]
fn an_interrupted_page_does_not_count() {
    assert!(!is_newer_copy_mapped(&[]));
}

/// A damaged page counts: reads of it fail, and must not return the older copy.
#[test]
fn a_damaged_page_counts_if_a_later_page_is_programmed() {
    let next = || ScanResult::Data { sequence: 2, lpns: &[Some(Lpn(1))], sound: true };
    assert!(is_newer_copy_mapped(&[next()]));
    assert!(is_newer_copy_mapped(&[ScanResult::Unreadable, next()]));
    assert!(is_newer_copy_mapped(&[ScanResult::Summary]));
    assert!(is_newer_copy_mapped(&[ScanResult::Unreadable, ScanResult::Summary]));
}
