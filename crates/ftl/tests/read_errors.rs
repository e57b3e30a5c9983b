//! Data that cannot be read: whoever asked is told, and nothing else is harmed.
#![allow(clippy::unwrap_used)]

use gordon_ftl::{Action, Config, Extent, Ftl, Host, Input, RequestId};
use gordon_nand::{FlashOp, Geometry, Layout, Shape};
use gordon_units::{Lpn, Ppn};

const SECTORS: u32 = 2;

/// Pages of two sectors, eight of them and a summary in each of 24 blocks; three quarters loaded.
fn loaded() -> Ftl {
    let geometry = Geometry {
        buses: 1,
        packages_per_bus: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 24,
        pages_per_block: 9,
        page_bytes: 1024,
        oob_bytes: 16,
    };
    let layout = Layout::new(geometry, Shape { buses: 1, dies_per_bus: 1, planes: 1 }).unwrap();
    let mut config = Config::new(&layout, 140, SECTORS);
    (config.write_points, config.reserve, config.low_water) = (1, 1, 1);
    let mut ftl = Ftl::new(layout, config).unwrap();
    ftl.preload((0..140).map(Lpn), &mut |_, _, _| ()).unwrap();
    ftl
}

fn extent(request: u32, lpn: u32, sectors: u64) -> Extent {
    let first = u64::from(lpn) * u64::from(SECTORS);
    Extent { request: RequestId(request), first, sectors }
}

/// Carries out what the layer wants; reads of the page in `bad` fail. The requests done and refused.
fn settle(ftl: &mut Ftl, bad: Option<Ppn>) -> (Vec<u32>, Vec<u32>) {
    let (mut done, mut refused) = (vec![], vec![]);
    loop {
        match ftl.poll() {
            Action::Flash(op) | Action::Copy(op) => {
                let fails = matches!(op, FlashOp::Read { ppn, .. } if Some(ppn) == bad);
                ftl.handle(if fails { Input::Failed(op) } else { Input::Done(op) });
            }
            Action::Ack(request, _) => done.push(request.0),
            Action::Refuse(request) => refused.push(request.0),
            Action::Wait => return (done, refused),
            _ => {}
        }
    }
}

#[test]
fn a_read_is_refused_and_others_are_not() {
    let mut ftl = loaded();
    let (bad, _) = ftl.lookup(Lpn(5)).unwrap();
    // The second joins the first.
    for (request, lpn) in [(1, 5), (2, 5), (3, 6)] {
        ftl.handle(Input::Host(Host::Read(extent(request, lpn, 2))));
    }
    assert_eq!(settle(&mut ftl, Some(bad)), (vec![3], vec![1, 2]));
    assert_eq!(ftl.lookup(Lpn(5)).map(|(ppn, _)| ppn), Some(bad), "it is where it was");
    ftl.handle(Input::Host(Host::Read(extent(4, 5, 2))));
    assert_eq!(settle(&mut ftl, None), (vec![4], vec![]), "the next try may be lucky");
    ftl.check().unwrap();
}

#[test]
fn a_write_of_part_of_the_page_is_refused_and_one_of_all_is_not() {
    let mut ftl = loaded();
    let (bad, _) = ftl.lookup(Lpn(5)).unwrap();
    ftl.handle(Input::Host(Host::Write(extent(1, 5, 1))));
    assert_eq!(settle(&mut ftl, Some(bad)), (vec![], vec![1]), "there is nothing to merge with");
    assert_eq!(ftl.lookup(Lpn(5)).map(|(ppn, _)| ppn), Some(bad));
    ftl.handle(Input::Host(Host::Flush(RequestId(2))));
    assert_eq!(settle(&mut ftl, Some(bad)).0, [2], "a flush waits for no refused write");
    ftl.handle(Input::Host(Host::Write(extent(3, 5, 2))));
    assert_eq!(settle(&mut ftl, Some(bad)), (vec![3], vec![]));
    assert_ne!(ftl.lookup(Lpn(5)).map(|(ppn, _)| ppn), Some(bad));
    ftl.check().unwrap();
}

/// A page that garbage collection cannot copy stays where it is, in a block that is never erased,
/// through a checkpoint too.
#[test]
fn a_page_that_cannot_be_copied_keeps_its_block() {
    let mut ftl = loaded();
    let (bad, _) = ftl.lookup(Lpn(5)).unwrap();
    let block = ftl.layout().block_of(bad);
    // All but page 5, over and over: its block is the emptiest.
    for write in 0..2000u32 {
        let lpn = [write % 140, 0][usize::from(write % 140 == 5)];
        ftl.handle(Input::Host(Host::Write(extent(write, lpn, 2))));
        assert_eq!(settle(&mut ftl, Some(bad)), (vec![write], vec![]));
        ftl.check().unwrap();
    }
    assert!(ftl.stats().erases > 100, "{:?}", ftl.stats());
    let kept = |ftl: &Ftl| {
        assert_eq!(ftl.lookup(Lpn(5)).map(|(ppn, _)| ppn), Some(bad));
        assert_eq!(ftl.erases(block), 0);
    };
    kept(&ftl);
    let mut bytes = vec![];
    ftl.checkpoint(&mut |more| bytes.extend_from_slice(more));
    let mut rest = &bytes[..];
    let mut input = |into: &mut [u8]| {
        let (taken, left) = rest.split_at(into.len().min(rest.len()));
        into[..taken.len()].copy_from_slice(taken);
        rest = left;
        taken.len() == into.len()
    };
    let (layout, config) = (*ftl.layout(), *ftl.config());
    let out = std::collections::VecDeque::new();
    let mut again = Ftl::restore(layout, config, out, &mut input).unwrap();
    kept(&again);
    for write in 0..500u32 {
        let lpn = [write % 140, 0][usize::from(write % 140 == 5)];
        again.handle(Input::Host(Host::Write(extent(write, lpn, 2))));
        assert_eq!(settle(&mut again, Some(bad)), (vec![write], vec![]));
    }
    kept(&again);
    again.check().unwrap();
}
