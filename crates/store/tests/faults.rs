//! Flash faults, and how the store handles them.

mod common;

use common::{Bench, SHAPES, Tagged, contents, device, formatted, image, seeds};
use gordon_store::{
    BlockHealth, Command, DeviceParams, Engine, Faults, Image, IoError, Media, Store, check, wear,
};
use gordon_testkit::MemoryMedia;
use std::cell::Cell;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn faulty(seed: u64, blocks: u32, fill: f64, faults: Faults) -> DeviceParams {
    let mut device = device(SHAPES[(seed % 4) as usize], blocks, fill, seed);
    device.faults = Faults { codeword: 512, ..faults };
    device
}

fn go_on(bench: &mut Bench, requests: usize) {
    for _ in 0..requests {
        bench.ask();
        for _ in 0..bench.random.below(4) {
            bench.step();
        }
    }
    bench.settle();
}

#[test]
fn factory_bad_blocks_are_never_programmed() {
    let mut device = faulty(1, 40, 0.5, Faults { factory_bad: 0.1, ..Faults::default() });
    device.seed = 5;
    let mut bench = Bench::new(&device, 1);
    go_on(&mut bench, 600);
    let image = image(&bench.media);
    assert!(!image.bad().is_empty());
    for block in image.bad() {
        assert_eq!(image.record(block).health, BlockHealth::Factory);
    }
    let report = check(&image).unwrap();
    assert!(report.clean, "{:?}", report.errors);
    let wear = wear(&image);
    assert_eq!((wear.factory_bad as usize, wear.grown_bad), (image.bad().len(), 0));
}

#[test]
fn failed_programs_and_erases_cost_a_block_and_no_data() {
    let grown = Cell::new(0);
    seeds(8, |seed| {
        let faults = Faults { program_failures: 0.01, erase_failures: 0.02, ..Faults::default() };
        let mut bench = Bench::new(&faulty(seed, 64, 0.4, faults), seed);
        for round in 0..5 {
            go_on(&mut bench, 200);
            if bench.engine.failure().is_some() {
                break;
            }
            bench = if round % 2 == 0 { bench.kill() } else { bench };
        }
        grown.set(grown.get() + wear(&image(&bench.media)).grown_bad);
    });
    assert!(grown.get() > 0);
}

/// An image has the same errors regardless of earlier reads.
#[test]
fn bit_errors_are_corrected_up_to_the_limit() {
    let faults = Faults { bit_errors: 2e-4, correctable: 8, ..Faults::default() };
    let mut bench = Bench::new(&faulty(2, 24, 0.6, faults), 2);
    go_on(&mut bench, 400);
    let corrected = bench.engine.telemetry().counters.bits_corrected;
    assert!(corrected > 100, "{corrected}");
    assert_eq!(bench.engine.telemetry().counters.codewords_lost, 0);
    // The file itself has no errors.
    assert!(check(&image(&bench.media)).unwrap().clean);
}

#[test]
fn an_uncorrectable_page_is_an_error_of_that_page_alone() {
    let faults = Faults { bit_errors: 4e-5, correctable: 1, ..Faults::default() };
    let device = faulty(1, 32, 0.6, faults);
    let media = formatted(&device);
    let mut engine: Engine<Tagged> = Engine::open(image(&media)).unwrap();
    let unit = device.unit.0;
    let pages = device.capacity.0 / unit;
    let data = |page: u64| vec![page as u8; unit as usize];
    for page in 0..pages {
        let command = Command::Write { offset: page * unit, fua: false };
        engine.start(command, Tagged { tag: 0, data: data(page) });
        engine.run();
    }
    engine.start(Command::Flush, Tagged::default());
    engine.run();
    let read = |engine: &mut Engine<Tagged>| {
        let mut ended = vec![];
        engine.finished(&mut ended);
        (0..pages)
            .map(|page| {
                let command = Command::Read { offset: page * unit };
                engine.start(command, Tagged { tag: 0, data: vec![0; unit as usize] });
                engine.run();
                let mut ended = vec![];
                engine.finished(&mut ended);
                let read = ended.pop().unwrap();
                match read.result {
                    Ok(()) => assert_eq!(read.payload.data, data(page), "silent"),
                    Err(fault) => assert_eq!(fault, IoError::Unreadable),
                }
                read.result.is_ok()
            })
            .collect::<Vec<bool>>()
    };
    let first = read(&mut engine);
    let lost = first.iter().filter(|&&good| !good).count();
    assert!(lost > 0 && lost < first.len() / 4, "{lost} of {}", first.len());
    assert_eq!(read(&mut engine), first, "the same page fails each time");
    assert!(engine.telemetry().counters.codewords_lost > 0);
    // A rewritten unit is readable again; a write of a part of a lost unit fails.
    let at = first.iter().position(|&good| !good).unwrap() as u64;
    if unit > 512 {
        let part = Command::Write { offset: at * unit, fua: false };
        engine.start(part, Tagged { tag: 0, data: vec![1; 512] });
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        assert_eq!(ended[0].result, Err(IoError::Unreadable));
    }
}

/// The disk below cannot read one unit of a super-page: only reads of that unit fail, whether units
/// are read one by one, in one call, or in a batch.
#[test]
fn a_bad_sector_below_is_an_error_of_its_unit_alone() {
    for parallel in [false, true] {
        let device = device(SHAPES[0], 32, 0.6, 1);
        let media = formatted(&device);
        media.read_in_parallel(parallel);
        let mut engine: Engine<Tagged> = Engine::open(image(&media)).unwrap();
        let data = |tag: usize, len: usize| Tagged { tag, data: vec![tag as u8; len] };
        // Four units of 512 bytes make a super-page.
        engine.start(Command::Write { offset: 0, fua: true }, data(7, 2048));
        engine.run();
        let (ppn, slot) = engine.ftl().lookup(gordon_units::Lpn(2)).unwrap();
        assert_eq!(engine.ftl().lookup(gordon_units::Lpn(1)).unwrap().0, ppn, "one super-page");
        media.fail_reads(Some(engine.image().offsets().slot(ppn, slot) + 5));
        engine.finished(&mut vec![]);
        for tag in 0..4 {
            engine.start(Command::Read { offset: tag as u64 * 512 }, data(tag, 512));
        }
        engine.start(Command::Read { offset: 0 }, data(4, 2048));
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        let mut failed: Vec<_> =
            ended.iter().filter(|c| c.result.is_err()).map(|c| c.payload.tag).collect();
        failed.sort_unstable();
        assert_eq!((ended.len(), failed), (5, vec![2, 4]), "{parallel}");
        let good = ended.iter().filter(|c| c.result.is_ok());
        assert!(good.map(|c| &c.payload.data).all(|data| data.iter().all(|byte| *byte == 7)));
        assert!(engine.telemetry().counters.medium_errors > 0);
        media.fail_reads(None);
        engine.start(Command::Read { offset: 0 }, data(9, 2048));
        engine.run();
        engine.finished(&mut ended);
        assert_eq!(ended.last().unwrap().result, Ok(()));
    }
}

#[test]
fn a_close_records_blocks_gone_bad_since_the_last_sync() {
    seeds(4, |seed| {
        // All blocks fail their fourth erase, the last ones shortly after one another.
        let faults = Faults { erase_budget: 3, spread: 0.01, ..Faults::default() };
        let mut bench = Bench::new(&faulty(seed, 20, 0.5, faults), seed);
        bench.strict = false;
        let all = bench.engine.telemetry().good_blocks;
        let per_page = bench.per_page();
        let pages = bench.engine.sectors() / per_page;
        for at in (0..pages).cycle() {
            bench.write(at * per_page, per_page, false);
            bench.settle();
            if bench.engine.failure().is_some() {
                break;
            }
        }
        bench.engine.close().unwrap();
        let good = bench.engine.telemetry().good_blocks;
        assert!(good < all);
        assert_eq!(wear(&image(&bench.media)).good, good);
    });
}

#[test]
fn a_worn_out_array_is_read_only() {
    seeds(4, |seed| {
        let faults = Faults { erase_budget: 6, spread: 0.3, ..Faults::default() };
        let mut bench = Bench::new(&faulty(seed, 20, 0.5, faults), seed);
        bench.strict = false;
        let mut requests = 0;
        while bench.engine.failure().is_none() {
            go_on(&mut bench, 50);
            requests += 50;
            assert!(requests < 100_000, "it never wears out");
        }
        assert_eq!(bench.engine.failure(), Some(IoError::WornOut));
        bench.failed.clear();
        bench.write(0, 1, false);
        bench.settle();
        assert!(matches!(bench.failed[..], [(Command::Write { .. }, IoError::WornOut)]));
        // All data are readable.
        bench.strict = true;
        let before = contents(&mut bench.engine);
        assert_eq!(before.len() as u64, bench.engine.sectors());
        let worn = wear(&image(&bench.media));
        assert!(worn.grown_bad > 0 && worn.budget_left.is_some_and(|left| left < 0.9));
    });
}

/// A medium on which no copy of the block table can be written while `refuses`.
struct WithoutTables {
    media: Arc<MemoryMedia>,
    tables: [u64; 2],
    refuses: AtomicBool,
}

impl Media for WithoutTables {
    fn len(&self) -> u64 {
        self.media.len()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.media.read(at, into)
    }

    fn read_data(&self, at: u64, into: &mut [IoSliceMut<'_>]) -> Result<()> {
        self.media.read_data(at, into)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        if self.refuses.load(Ordering::Relaxed) && self.tables.contains(&at) {
            return Err(ErrorKind::StorageFull.into());
        }
        self.media.write(at, bytes)
    }

    fn write_data(&self, at: u64, parts: &mut [IoSlice<'_>]) -> Result<()> {
        self.media.write_data(at, parts)
    }

    fn erase(&self, at: u64, len: u64) -> Result<()> {
        self.media.erase(at, len)
    }

    fn next_data(&self, at: u64) -> Result<u64> {
        self.media.next_data(at)
    }

    fn next_hole(&self, at: u64) -> Result<u64> {
        self.media.next_hole(at)
    }

    fn grow(&self, len: u64) -> Result<()> {
        self.media.grow(len)
    }

    fn sync(&self) -> Result<()> {
        self.media.sync()
    }
}

#[test]
fn a_copy_of_the_block_table_that_cannot_be_written_is_written_later() {
    let device = device(SHAPES[3], 20, 0.6, 1);
    let media = formatted(&device);
    let offsets = *image(&media).offsets();
    let tables = [offsets.table(0), offsets.table(1)];
    let refusing = Arc::new(WithoutTables { media, tables, refuses: AtomicBool::new(false) });
    let open = || Image::on(Path::new("image"), Box::new(refusing.clone()));
    let part = |store: &Store<Vec<u8>>| store.capacity() as usize / 2048 * 512;
    let write = |store: &Store<Vec<u8>>, number: usize| {
        let len = part(store);
        let data = vec![number as u8; len];
        let command = Command::Write { offset: (number % 4 * len) as u64, fua: true };
        let mut result = None;
        store.submit(&mut vec![(command, data)], |ended| result = Some(ended.result));
        result.expect("it has ended")
    };
    let store: Store<Vec<u8>> = Store::open_image(open().expect("an image")).expect("it opens");
    refusing.refuses.store(true, Ordering::Relaxed);
    // Until the journal is full.
    let failed = (0..10_000).find(|number| write(&store, *number).is_err());
    let failed = failed.expect("a sync fails");
    assert!(failed > 4);
    refusing.refuses.store(false, Ordering::Relaxed);
    for number in failed..failed + 4 {
        assert_eq!(write(&store, number), Ok(()));
    }
    // As after a kill; then the file system is full again.
    drop(store);
    refusing.refuses.store(true, Ordering::Relaxed);
    drop(open().map(Store::<Vec<u8>>::open_image));
    refusing.refuses.store(false, Ordering::Relaxed);
    let store: Store<Vec<u8>> = Store::open_image(open().expect("an image")).expect("it opens");
    for number in failed..failed + 4 {
        let len = part(&store);
        let mut read = None;
        let command = Command::Read { offset: (number % 4 * len) as u64 };
        store.submit(&mut vec![(command, vec![0; len])], |ended| read = Some(ended.payload));
        assert!(read.expect("it has ended") == vec![number as u8; len], "{number}");
    }
}
