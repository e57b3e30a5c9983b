//! Raw access to the array of an image: the rules of NAND, bad blocks, and what a restart finds.

use gordon_store::{
    Backend, Faults, Image, ImageError, Media as _, RawContents, RawLabel, RawNand, WentBad, wear,
};
use gordon_testkit::{MemoryMedia, image};
use gordon_units::BlockId;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

const PAGE: usize = 8192;

fn on(media: &Arc<MemoryMedia>) -> Image {
    Image::on(Path::new("image"), Box::new(media.clone())).expect("it opens")
}

fn array(faults: Faults) -> Arc<MemoryMedia> {
    image::image(&image::device(8192, 4, 20, faults, 5))
}

fn open(media: &Arc<MemoryMedia>) -> (RawNand, Vec<(BlockId, RawContents)>) {
    let (raw, found) = RawNand::open(on(media)).expect("it opens");
    (raw, found.iter().map(|it| (it.block, it.contents)).collect())
}

fn page(number: u8) -> Vec<u8> {
    (0..PAGE).map(|at| number ^ (at % 251) as u8).collect()
}

const LABEL: RawLabel = RawLabel { tag: 3, sequence: 9 };

#[test]
fn pages_are_programmed_once_and_in_order() {
    let media = array(Faults::default());
    let (raw, found) = open(&media);
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|(_, contents)| *contents == RawContents::Erased));
    let block = BlockId(2);
    let refused = |number: u32| {
        let error = raw.program(block, number, LABEL, &page(0)).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    };
    refused(1);
    for number in 0..3_u8 {
        raw.program(block, number.into(), LABEL, &page(number)).expect("it works");
    }
    refused(2);
    refused(0);
    let mut read = vec![1; 4 * PAGE];
    raw.read(block, 0, &mut read, LABEL).expect("it works");
    assert!(read == [page(0), page(1), page(2), vec![0; PAGE]].concat());
    let mut slot = vec![1; 4096];
    raw.read(block, 3 * 4096, &mut slot, LABEL).expect("it works");
    assert!(slot == page(1)[4096..]);
    for other in [RawLabel { tag: 4, ..LABEL }, RawLabel { sequence: 8, ..LABEL }] {
        let error = raw.read(block, 0, &mut slot, other).expect_err("it is another's");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
    raw.erase(block).expect("it works");
    raw.read(block, 0, &mut slot, LABEL).expect("it is erased");
    assert!(slot == vec![0; 4096]);
    raw.program(block, 0, LABEL, &page(9)).expect("it works");
    assert_eq!(raw.erases(block), 1);
    let found = raw.wear();
    assert_eq!((found.erases, found.least, found.most, found.programs), (1, 0, 1, 4));
}

#[test]
fn a_restart_finds_labels_and_does_not_continue_blocks() {
    let media = array(Faults::default());
    let (raw, _) = open(&media);
    for (block, sequence) in [(4, 1), (7, 2), (8, 3)] {
        let label = RawLabel { tag: 100 + block, sequence };
        raw.program(BlockId(block), 0, label, &page(1)).expect("it works");
    }
    raw.erase(BlockId(8)).expect("it works");
    raw.sync().expect("it works");
    // After a kill, blocks that seem erased must be erased again; after an orderly shutdown not.
    for closed in [false, true] {
        let survivor = Arc::new(media.survivor());
        if closed {
            let (raw, _) = open(&survivor);
            raw.close([BlockId(19)]).expect("it works");
        }
        let (again, found) = open(&survivor);
        let erased = if closed { RawContents::Erased } else { RawContents::SeemsErased };
        for (block, contents) in found {
            let expected = match block.0 {
                4 => RawContents::Labelled(RawLabel { tag: 104, sequence: 1 }),
                7 => RawContents::Labelled(RawLabel { tag: 107, sequence: 2 }),
                19 => RawContents::SeemsErased,
                _ => erased,
            };
            assert_eq!(contents, expected, "block {block}, closed {closed}");
        }
        let label = RawLabel { tag: 104, sequence: 1 };
        let error = again.program(BlockId(4), 1, label, &page(2)).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(again.erases(BlockId(8)), 1);
    }
}

#[test]
fn damage_and_older_contents_are_never_returned() {
    let media = array(Faults::default());
    let (raw, _) = open(&media);
    let block = BlockId(2);
    raw.program(block, 0, LABEL, &page(1)).expect("it works");
    raw.sync().expect("it works");
    let offsets = *on(&Arc::new(media.survivor())).offsets();
    let (start, len) = (offsets.block(block), offsets.block_bytes() as usize);
    let mut before = vec![0; len];
    media.read(start, &mut before).expect("it works");
    for at in [40, len as u64 - 4 * PAGE as u64 + 5] {
        media.damage(start + at, |byte| *byte ^= 4);
        let error = raw.read(block, 0, &mut vec![0; 4096], LABEL).expect_err("it is damaged");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        media.damage(start + at, |byte| *byte ^= 4);
    }
    raw.erase(block).expect("it works");
    raw.sync().expect("it works");
    media.write(start, &before).expect("it works");
    let error = raw.read(block, 0, &mut vec![0; 4096], LABEL).expect_err("it was erased");
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let (_, found) = open(&Arc::new(media.survivor()));
    assert_eq!(found[2], (block, RawContents::Unreadable));
}

#[test]
fn blocks_that_go_bad_stay_out_of_service() {
    let faults = Faults { program_failures: 0.2, erase_budget: 3, ..Faults::default() };
    let media = array(faults);
    let (raw, found) = open(&media);
    let mut bad = 0;
    for (block, _) in found {
        let fill = |erases: u64| {
            let label = RawLabel { tag: block.0, sequence: erases };
            (0..4).try_for_each(|number| raw.program(block, number, label, &page(7)))?;
            raw.erase(block)
        };
        let error = (0..9).find_map(|erases| fill(erases).err()).expect("3 erases are rated");
        assert!(WentBad::is_cause_of(&error), "{error}");
        assert!(WentBad::is_cause_of(&raw.erase(block).expect_err("it is bad")));
        bad += 1;
    }
    raw.sync().expect("it works");
    assert_eq!((raw.wear().bad, raw.wear().good, raw.wear().failures), (bad, 0, bad.into()));
    let survivor = Arc::new(media.survivor());
    assert_eq!(open(&survivor).1, []);
    assert_eq!(wear(&on(&Arc::new(media.survivor()))).grown_bad, bad);
}

#[test]
fn an_array_in_use_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let device = image::device(8192, 4, 20, Faults::default(), 5);
    let (raw, _) =
        RawNand::open(Image::create(&path, device, Backend::File).expect("it works")).expect("ok");
    let error = Image::open(&path, Backend::File, true).err().expect("it is refused");
    assert!(matches!(error, ImageError::InUse(_)), "{error}");
    drop(raw);
    assert!(Image::open(&path, Backend::File, true).expect("it is free").is_raw());
}
