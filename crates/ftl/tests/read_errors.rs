//! Unreadable data: requests for them are refused, and no other data are affected.
#![allow(clippy::unwrap_used)]

use gordon_ftl::{Action, Config, Extent, Ftl, HostRequest, Input, RequestId};
use gordon_nand::{FlashOp, Geometry, Layout, SuperPageShape};
use gordon_testkit::Random;
use gordon_units::{Lpn, Ppn, Progress};

const SECTORS: u32 = 2;

/// An array of 24 blocks, each with eight data pages and a summary. Units have two sectors, and a
/// page holds `slots` of them. Three quarters of the units are loaded.
fn loaded(slots: u32) -> Ftl {
    let geometry = Geometry {
        buses: 1,
        packages_per_bus: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 24,
        pages_per_block: 9,
        page_bytes: 1024 * slots,
        oob_bytes: 16,
    };
    let layout =
        Layout::new(geometry, SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 }).unwrap();
    let mut config = Config::new(&layout, 140 * slots, SECTORS);
    config.slots = slots;
    (config.write_points, config.reserve, config.low_water) = (1, 1, 1);
    let mut ftl = Ftl::new(layout, config).unwrap();
    ftl.preload((0..140 * slots).map(Lpn), &mut |_, _, _| (), &Progress::default()).unwrap();
    ftl
}

fn extent(request: u32, lpn: u32, sectors: u64) -> Extent {
    let first = u64::from(lpn) * u64::from(SECTORS);
    Extent { request: RequestId(request), first, sectors }
}

/// Carries out the layer's actions; the unit in `bad` is unreadable. Returns the requests
/// acknowledged and refused.
fn settle(ftl: &mut Ftl, bad: Option<(Ppn, u32)>) -> (Vec<u32>, Vec<u32>) {
    let (mut done, mut refused) = (vec![], vec![]);
    loop {
        match ftl.poll() {
            Action::Flash(op) | Action::Copy(op) => {
                if let FlashOp::Read { ppn, buf, .. } = op {
                    let lost = ftl.segments(buf).find(|part| Some((ppn, part.slot)) == bad);
                    if let Some(lost) = lost {
                        ftl.handle(Input::Lost(lost.buf));
                    }
                }
                ftl.handle(Input::Done(op));
            }
            Action::Ack(request, _) => done.push(request.0),
            Action::Refuse(request) => refused.push(request.0),
            Action::Wait => return (done, refused),
            _ => {}
        }
    }
}

#[test]
fn only_reads_of_an_unreadable_page_are_refused() {
    let mut ftl = loaded(1);
    let bad = ftl.lookup(Lpn(5)).unwrap();
    // The second read joins the first.
    for (request, lpn) in [(1, 5), (2, 5), (3, 6)] {
        ftl.handle(Input::Host(HostRequest::Read(extent(request, lpn, 2))));
    }
    assert_eq!(settle(&mut ftl, Some(bad)), (vec![3], vec![1, 2]));
    assert_eq!(ftl.lookup(Lpn(5)), Some(bad), "it is where it was");
    ftl.handle(Input::Host(HostRequest::Read(extent(4, 5, 2))));
    assert_eq!(settle(&mut ftl, None), (vec![4], vec![]), "the next try may be lucky");
    ftl.check().unwrap();
}

#[test]
fn a_partial_write_of_an_unreadable_page_is_refused() {
    let mut ftl = loaded(1);
    let bad = ftl.lookup(Lpn(5)).unwrap();
    ftl.handle(Input::Host(HostRequest::Write(extent(1, 5, 1))));
    assert_eq!(settle(&mut ftl, Some(bad)), (vec![], vec![1]), "there is nothing to merge with");
    assert_eq!(ftl.lookup(Lpn(5)), Some(bad));
    ftl.handle(Input::Host(HostRequest::Flush(RequestId(2))));
    assert_eq!(settle(&mut ftl, Some(bad)).0, [2], "a flush waits for no refused write");
    ftl.handle(Input::Host(HostRequest::Write(extent(3, 5, 2))));
    assert_eq!(settle(&mut ftl, Some(bad)), (vec![3], vec![]));
    assert_ne!(ftl.lookup(Lpn(5)), Some(bad));
    ftl.check().unwrap();
}

/// A page that garbage collection cannot copy stays in its block, which is never erased, even after
/// a checkpoint.
#[test]
fn a_page_that_cannot_be_copied_keeps_its_block() {
    let mut ftl = loaded(1);
    let bad = ftl.lookup(Lpn(5)).unwrap();
    let block = ftl.layout().block_of(bad.0);
    // Overwrites all units but unit 5, so that its block has the fewest valid ones.
    let mut random = Random::new(1);
    for write in 0..2000u32 {
        let lpn = random.below(139) as u32;
        let lpn = lpn + u32::from(lpn >= 5);
        ftl.handle(Input::Host(HostRequest::Write(extent(write, lpn, 2))));
        assert_eq!(settle(&mut ftl, Some(bad)), (vec![write], vec![]));
        ftl.check().unwrap();
    }
    assert!(ftl.stats().erases > 100 && ftl.stats().gc_programs > 100, "{:?}", ftl.stats());
    let kept = |ftl: &Ftl| {
        assert_eq!(ftl.lookup(Lpn(5)), Some(bad));
        assert_eq!(ftl.erases(block), 0);
    };
    kept(&ftl);
    let mut bytes = vec![];
    ftl.checkpoint(&mut |more| bytes.extend_from_slice(more));
    let restore = || {
        let mut rest = &bytes[..];
        let mut input = |into: &mut [u8]| {
            let (taken, left) = rest.split_at(into.len().min(rest.len()));
            into[..taken.len()].copy_from_slice(taken);
            rest = left;
            taken.len() == into.len()
        };
        let out = std::collections::VecDeque::new();
        Ftl::restore(*ftl.layout(), *ftl.config(), out, &mut input, &Progress::default())
    };
    let mut again = restore().unwrap();
    kept(&again);
    for write in 0..500u32 {
        let lpn = 6 + random.below(134) as u32;
        again.handle(Input::Host(HostRequest::Write(extent(write, lpn, 2))));
        assert_eq!(settle(&mut again, Some(bad)), (vec![write], vec![]));
    }
    kept(&again);
    again.check().unwrap();
}

/// The other units of the page are copied, and only requests for the unreadable one are refused.
#[test]
fn an_unreadable_unit_affects_no_other() {
    let mut ftl = loaded(4);
    let bad = ftl.lookup(Lpn(5)).unwrap();
    let beside = |ftl: &Ftl| [4, 6, 7].map(|lpn| ftl.lookup(Lpn(lpn)).unwrap().0);
    assert_eq!(beside(&ftl), [bad.0; 3]);
    let mut random = Random::new(1);
    for write in 0..4000u32 {
        let page = 2 + random.below(138) as u32;
        ftl.handle(Input::Host(HostRequest::Write(extent(write, page * 4, 8))));
        assert_eq!(settle(&mut ftl, Some(bad)), (vec![write; 4], vec![]));
    }
    assert_eq!(ftl.lookup(Lpn(5)), Some(bad));
    assert!(beside(&ftl).iter().all(|ppn| *ppn != bad.0));
    for (request, lpn) in (0..).zip([4, 5, 6, 7]) {
        ftl.handle(Input::Host(HostRequest::Read(extent(request, lpn, 2))));
    }
    let (mut done, refused) = settle(&mut ftl, Some(bad));
    done.sort_unstable();
    assert_eq!((done, refused), (vec![0, 2, 3], vec![1]));
    ftl.check().unwrap();
}
