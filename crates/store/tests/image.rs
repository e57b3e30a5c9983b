//! Images as files: defects and the resulting errors.

mod common;

use common::{SHAPES, Tagged, device, formatted, image};
use gordon_nand::{Buf, FlashOp};
use gordon_store::{
    Backend, Command, DeviceParams, Engine, Image, ImageError, IoError, LastShutdown, Media,
    Payload, Store, TransferredOp, check, wear,
};
use gordon_units::Ppn;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn small() -> DeviceParams {
    device(SHAPES[3], 20, 0.6, 1)
}

/// Units of 4 KiB, as direct I/O requires.
fn aligned() -> DeviceParams {
    device((4096, 2, 8), 20, 0.6, 1)
}

fn made() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("it works");
    let path = folder.path().join("flash.img");
    drop(Image::create(&path, small(), Backend::File).expect("it works"));
    (folder, path)
}

fn error(path: &Path) -> ImageError {
    match Image::open(path, Backend::File, true) {
        Err(error) => error,
        Ok(_) => panic!("it opens"),
    }
}

fn patch(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).expect("it works");
    file.seek(SeekFrom::Start(at)).expect("it works");
    file.write_all(bytes).expect("it works");
}

fn one<P: Payload>(store: &Store<P>, command: Command, payload: P) -> (Result<(), IoError>, P) {
    let mut answer = None;
    store.submit(&mut vec![(command, payload)], |ended| {
        answer = Some((ended.result, ended.payload));
    });
    answer.expect("it has ended")
}

#[test]
fn a_store_in_a_file_returns_what_was_written() {
    for backend in [Backend::File, Backend::Direct] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flash.img");
        let store: Store<Vec<u8>> = Store::create(&path, aligned(), backend).unwrap();
        let size = store.capacity() as usize;
        let data: Vec<u8> = (0..size).map(|at| (at / 512 * 31 + at % 251) as u8).collect();
        assert_eq!(one(&store, Command::Write { offset: 0, fua: true }, data.clone()).0, Ok(()));
        let (result, read) = one(&store, Command::Read { offset: 0 }, vec![0; size]);
        assert!(result.is_ok() && read == data);
        // As after a kill.
        drop(store);
        let store: Store<Vec<u8>> = Store::open(&path, backend).unwrap();
        let (result, read) = one(&store, Command::Read { offset: 0 }, vec![0; size]);
        assert!(result.is_ok() && read == data);
        store.close().unwrap();
        drop(store);
        let image = Image::open(&path, Backend::File, false).unwrap();
        assert_eq!(image.last_shutdown, LastShutdown::Closed);
        let report = check(&image).unwrap();
        assert!(report.clean && report.closed_in_order, "{:?}", report.errors);
        assert_eq!(report.logical_pages, (size / 4096) as u64);
        assert_eq!(wear(&image).blocks.len() as u64, report.blocks);
    }
}

#[test]
fn an_empty_image_takes_no_space() {
    let (_folder, path) = made();
    let file = fs::metadata(path).unwrap();
    assert!(file.blocks() * 512 <= 64 << 10, "{} of {} bytes", file.blocks() * 512, file.len());
}

#[test]
fn an_image_is_not_overwritten() {
    let (folder, path) = made();
    let again = Image::create(&path, small(), Backend::File);
    assert!(matches!(again, Err(ImageError::Exists(_))));
    // No other file is left of the attempt.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let bad = DeviceParams { capacity: gordon_units::Bytes(1 << 40), ..small() };
    let other = folder.path().join("other.img");
    assert!(matches!(Image::create(&other, bad, Backend::File), Err(ImageError::Device { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_image_in_use_is_locked() {
    let (_folder, path) = made();
    let writer = Image::open(&path, Backend::File, true).unwrap();
    assert!(matches!(error(&path), ImageError::InUse(_)));
    assert!(matches!(Image::open(&path, Backend::File, false), Err(ImageError::InUse(_))));
    drop(writer);
    let reader = Image::open(&path, Backend::File, false).unwrap();
    Image::open(&path, Backend::File, false).unwrap();
    assert!(matches!(error(&path), ImageError::InUse(_)));
    drop(reader);
}

#[test]
fn a_file_that_is_not_an_image_is_refused() {
    let (folder, path) = made();
    let foreign = folder.path().join("foreign");
    fs::write(&foreign, vec![7; 100_000]).unwrap();
    assert!(matches!(error(&foreign), ImageError::Foreign(_)));
    fs::write(&foreign, []).unwrap();
    assert!(matches!(error(&foreign), ImageError::Foreign(_)));
    assert!(matches!(error(&folder.path().join("none")), ImageError::Io { .. }));
    let len = fs::metadata(&path).unwrap().len();
    let cut = fs::OpenOptions::new().write(true).open(&path).unwrap();
    for len in [len - 1, len / 2, 9000, 5000] {
        cut.set_len(len).unwrap();
        assert!(matches!(error(&path), ImageError::Truncated { .. }), "{len}");
    }
}

#[test]
fn other_versions_and_damage_are_reported() {
    let (_folder, path) = made();
    // One copy suffices; a check reports the damaged one, and a mount repairs it.
    patch(&path, 200, b"x");
    let image = Image::open(&path, Backend::File, true).unwrap();
    assert_eq!((image.last_shutdown, image.redundant.len()), (LastShutdown::Closed, 1));
    assert!(!check(&image).unwrap().clean);
    let mut engine: Engine<Vec<u8>> = Engine::open(image).unwrap();
    assert_eq!(engine.mounted().warnings().len(), 1);
    engine.close().unwrap();
    drop(engine);
    assert!(check(&Image::open(&path, Backend::File, true).unwrap()).unwrap().clean);
    patch(&path, 200, b"x");
    patch(&path, 4096 + 200, b"x");
    assert!(matches!(error(&path), ImageError::Damaged(_)));
    for copy in [0, 4096] {
        patch(&path, copy + 8, &4u32.to_le_bytes());
    }
    let newer = error(&path);
    assert!(matches!(newer, ImageError::Version { version: 4, known: 3, .. }));
    assert!(newer.to_string().contains("use a newer version"), "{newer}");
}

#[test]
fn small_units_do_not_support_direct_io() {
    let (_folder, path) = made();
    let direct = Image::open(&path, Backend::Direct, true);
    assert!(matches!(direct, Err(ImageError::Unaligned(_, 1024))));
}

fn tagged(tag: usize, sectors: usize) -> Tagged {
    Tagged { tag, data: vec![tag as u8; sectors * 512] }
}

/// A full disk is an error for writes, and no acknowledged data are lost; when there is space
/// again, all requests continue.
#[test]
fn a_full_disk_loses_nothing() {
    let media = formatted(&small());
    let mut engine: Engine<Tagged> = Engine::open(image(&media)).unwrap();
    let pages = engine.sectors() / 2;
    media.limit(Some(media.blocks() + 24));
    let (mut good, mut full) = (vec![], 0);
    for page in 0..pages {
        engine.start(Command::Write { offset: page * 1024, fua: false }, tagged(page as usize, 2));
        engine.run();
        engine.start(Command::Flush, tagged(1 << 20, 0));
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        assert_eq!(ended.len(), 2, "nobody is left waiting");
        match (&ended[0].result, &ended[1].result) {
            (Ok(()), Ok(())) => good.push(page),
            (_, Err(IoError::NoSpace)) => full += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(good.len() > 4 && full > 4, "{} {full}", good.len());
    let read = |engine: &mut Engine<Tagged>, page: u64| {
        engine.start(Command::Read { offset: page * 1024 }, tagged(0, 2));
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        assert_eq!(ended[0].result, Ok(()));
        ended[0].payload.data.clone()
    };
    for &page in &good {
        assert_eq!(read(&mut engine, page), vec![page as u8; 1024]);
    }
    assert_eq!(engine.failure(), Some(IoError::NoSpace));
    media.limit(None);
    engine.start(Command::Write { offset: 0, fua: true }, tagged(99, 2));
    engine.run();
    let mut ended = vec![];
    engine.finished(&mut ended);
    assert_eq!((ended.len(), ended[0].result), (1, Ok(())));
    assert_eq!(engine.failure(), None);
    assert_eq!(read(&mut engine, 0), vec![99; 1024]);
    engine.ftl().check().unwrap();
}

/// After a failed sync no write is guaranteed, since the system may have dropped data.
#[test]
fn writes_fail_after_a_failed_sync() {
    let media = formatted(&small());
    let store: Store<Vec<u8>> = Store::new(Engine::open(image(&media)).unwrap());
    assert_eq!(one(&store, Command::Write { offset: 0, fua: false }, vec![1; 1024]).0, Ok(()));
    media.fail_syncs(true);
    assert_eq!(one(&store, Command::Flush, vec![]).0, Err(IoError::Medium));
    media.fail_syncs(false);
    assert_eq!(one(&store, Command::Flush, vec![]).0, Err(IoError::Medium));
    let again = one(&store, Command::Write { offset: 0, fua: false }, vec![1; 1024]).0;
    assert_eq!(again, Err(IoError::Medium));
    let (result, read) = one(&store, Command::Read { offset: 0 }, vec![0; 1024]);
    assert!(result.is_ok() && read == vec![1; 1024]);
    assert!(store.close().is_err());
}

#[test]
fn requests_outside_are_refused_and_holes_are_reported() {
    let media = formatted(&small());
    let store: Store<Vec<u8>> = Store::new(Engine::open(image(&media)).unwrap());
    let size = store.capacity();
    for (offset, length) in
        [(size, 512), (size - 512, 1024), (1, 512), (0, 0), (u64::MAX - 511, 512)]
    {
        let read = one(&store, Command::Read { offset }, vec![0; length]).0;
        assert_eq!(read, Err(IoError::Invalid), "{offset} {length}");
    }
    let trim = Command::Trim { offset: 0, length: u64::MAX - 511, fua: false };
    assert_eq!(one(&store, trim, vec![]).0, Err(IoError::Invalid));
    // Three of the first four pages, one of them only in the write buffer.
    for page in [0, 1, 3] {
        let write = Command::Write { offset: page * 1024, fua: page == 0 };
        assert_eq!(one(&store, write, vec![5; 1024]).0, Ok(()));
    }
    let extents = || {
        let mut extents = vec![];
        store.with(|engine| {
            engine.extents(512, 8192, |length, data| {
                extents.push((length, data));
                true
            });
        });
        extents
    };
    assert_eq!(extents(), [(1536, true), (1024, false), (1024, true), (4608, false)]);
    let zero =
        Command::WriteZeroes { offset: 512, length: 1024, fua: true, no_hole: false, fast: false };
    assert_eq!(one(&store, zero, vec![]).0, Ok(()));
    let (_, read) = one(&store, Command::Read { offset: 0 }, vec![1; 2048]);
    assert_eq!(read, [vec![5; 512], vec![0; 1024], vec![5; 512]].concat());
    let zero =
        Command::WriteZeroes { offset: 0, length: size, fua: true, no_hole: false, fast: false };
    assert_eq!(one(&store, zero, vec![]).0, Ok(()));
    assert_eq!(extents(), [(8192, false)]);
    assert!(media.len() > 0);
}

/// Fills a device until each of its blocks has been written and many have been erased.
fn worn(path: &Path) -> (Store<Vec<u8>>, Vec<u8>) {
    let store: Store<Vec<u8>> = Store::create(path, aligned(), Backend::File).expect("it works");
    let size = store.capacity() as usize;
    let mut held = vec![0; size];
    for round in 0..5 {
        for (at, byte) in held.iter_mut().enumerate() {
            *byte = (at / 512 * 31 + at % 251 + round) as u8;
        }
        assert_eq!(one(&store, Command::Write { offset: 0, fua: true }, held.clone()).0, Ok(()));
    }
    (store, held)
}

#[test]
fn the_space_of_erased_blocks_is_returned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flash.img");
    let (store, _) = worn(&path);
    let room = || fs::metadata(&path).unwrap().blocks() * 512;
    let before = room();
    store.close().unwrap();
    let (blocks, free, data) = store.with(|engine| {
        let (ftl, unit) = (engine.ftl(), engine.image().device().unit.0);
        let pages = ftl.layout().pages_per_block() * ftl.config().slots;
        (ftl.layout().blocks(), ftl.free_blocks(), u64::from(pages) * unit)
    });
    drop(store);
    assert!(free > 0);
    let rest = fs::metadata(&path).unwrap().len() - u64::from(blocks) * data;
    let most = u64::from(blocks - free) * data + rest;
    assert!(room() <= most && before > most, "{before}, then {} of {most}", room());
}

/// Requests of a batch that must be read from the disk are read together.
#[test]
fn batched_reads_return_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flash.img");
    let (store, held) = worn(&path);
    let file = fs::File::open(&path).unwrap();
    for step in 1..16 {
        rustix::fs::fsync(&file).unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let places: Vec<usize> =
            (0..32).map(|at| at * step * 4096 % (held.len() / 4096 * 4096)).collect();
        let read = |&at: &usize| (Command::Read { offset: at as u64 }, vec![0; 4096]);
        let mut batch = places.iter().map(read).collect();
        let mut ended = 0;
        store.submit(&mut batch, |completion| {
            let Command::Read { offset } = completion.command else { panic!("only reads") };
            let at = offset as usize;
            assert_eq!(completion.result, Ok(()));
            assert!(completion.payload == held[at..at + 4096], "{at}");
            ended += 1;
        });
        assert_eq!(ended, 32);
    }
}

/// A flush does not wait for holes to be punched in the background.
#[test]
fn a_flush_without_writes_does_not_sync() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flash.img");
    let (store, _) = worn(&path);
    // Garbage collection ends, but no hole has been punched yet.
    store.with(|engine| {
        while engine.idle() {
            engine.run();
        }
    });
    assert_eq!(one(&store, Command::Flush, vec![]).0, Ok(()));
    let syncs = store.telemetry().counters.syncs;
    let size = || fs::metadata(&path).unwrap().blocks();
    let before = size();
    while store.idle() {}
    assert!(size() < before, "holes were punched");
    assert_eq!(one(&store, Command::Flush, vec![]).0, Ok(()));
    assert_eq!(store.telemetry().counters.syncs, syncs);
}

/// A failed assertion fails the requests in flight, is reported, and leaves an image as after a
/// kill.
#[test]
fn a_failed_assertion_stops_the_store_and_is_reported() {
    let media = formatted(&small());
    let store: Store<Tagged> = Store::new(Engine::open(image(&media)).unwrap());
    assert_eq!(one(&store, Command::Write { offset: 0, fua: true }, tagged(7, 2)).0, Ok(()));
    let why = store.with(|engine| {
        engine.start(Command::Read { offset: 0 }, tagged(1, 2));
        // The completion of an operation that was never issued, which is a bug of the driver.
        let op = FlashOp::Read { ppn: Ppn(0), buf: Buf(u32::MAX - 1), slots: 1 };
        engine.done(TransferredOp { op, copies: false, failed: false });
        let mut ended = vec![];
        engine.finished(&mut ended);
        assert_eq!((ended.len(), ended[0].result), (1, Err(IoError::Stopped)));
        engine.stopped().expect("it has stopped").to_owned()
    });
    assert!(!why.is_empty());
    let read = one(&store, Command::Read { offset: 0 }, tagged(0, 2)).0;
    assert_eq!(read, Err(IoError::Stopped));
    assert!(!store.idle());
    assert_eq!(store.close(), Err(IoError::Stopped));
    drop(store);
    assert_eq!(image(&media).last_shutdown, LastShutdown::Killed);
    let store: Store<Tagged> = Store::new(Engine::open(image(&media)).unwrap());
    let (result, read) = one(&store, Command::Read { offset: 0 }, tagged(0, 2));
    assert_eq!((result, read.data), (Ok(()), vec![7; 1024]));
}
