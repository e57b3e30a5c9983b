//! Images of the flash presets of the catalogue.
#![allow(clippy::unwrap_used)]

use gordon_blockdev::{Part, describe};
use gordon_ssd::SsdConfig;
use gordon_store::{Backend, Command, DeviceParams, Engine, Image, check, fill};
use gordon_units::Bytes;
use std::fs;
use std::path::Path;

fn presets() -> Vec<(String, SsdConfig)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|kind| kind == "toml"));
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let read = |path: &Path| toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    files.map(|path| (name(&path), read(&path))).collect()
}

fn image_of(name: &str, config: SsdConfig) -> DeviceParams {
    let part = Part { config, name: name.to_owned(), seed: 1, faults: None };
    describe(&part).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn each_preset_can_be_created_in_full_size() {
    let presets = presets();
    assert!(presets.len() >= 6, "{} presets", presets.len());
    let folder = tempfile::tempdir().unwrap();
    let mut long_summaries = 0;
    for (name, config) in presets {
        let device = image_of(&name, config);
        let resolved = device.resolve().unwrap();
        long_summaries += u32::from(resolved.config.summary_pages > 1);
        let path = folder.path().join(&name);
        let image = Image::create(&path, device, Backend::File)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(fs::metadata(&path).unwrap().len() >= image.device().capacity.0, "{name}");
        drop(image);
        fs::remove_file(path).unwrap();
    }
    assert!(long_summaries >= 2, "the TLC and the QLC drive need several pages");
}

/// Images with fewer blocks than the presets, but with blocks of full size: they are mounted from
/// their summaries, read, written, killed, and mounted again.
#[test]
fn presets_with_summaries_of_several_pages_hold_data() {
    for (name, config) in presets() {
        let pages = image_of(&name, config.clone()).resolve().unwrap().config.summary_pages;
        if pages == 1 {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flash.img");
        let device = image_of(&name, config.with_capacity(Bytes(8 << 30)).unwrap());
        assert_eq!(device.resolve().unwrap().config.summary_pages, pages);
        let closed = fill(Image::create(&path, device, Backend::File).unwrap()).unwrap();
        let image = Image::open(&path, Backend::File, true).unwrap();
        let mut engine = Engine::<Vec<u8>>::open(image).unwrap();
        let exported = u64::from(engine.ftl().config().exported);
        assert_eq!(engine.ftl().mapped(), exported, "{name}: all summaries are found");
        assert_eq!(engine.telemetry().ftl.program_operations, 0, "{name}: nothing to recover");
        let mut run = |command, data| {
            engine.start(command, data);
            engine.run();
            let mut ended = vec![];
            engine.finished(&mut ended);
            let ended = ended.pop().unwrap();
            assert_eq!(ended.result, Ok(()), "{name}");
            ended.payload
        };
        let last = (exported - 1) * 4096;
        run(Command::Write { offset: last, fua: true }, vec![7; 4096]);
        assert_eq!(run(Command::Read { offset: last }, vec![1; 4096]), [7; 4096]);
        assert_eq!(run(Command::Read { offset: 0 }, vec![1; 4096]), [0; 4096]);
        // Dropping the engine without closing it is like a kill of the process.
        drop(engine);
        let image = Image::open(&path, Backend::File, true).unwrap();
        let report = check(&image).unwrap();
        assert!(report.clean && report.closed_blocks == u64::from(closed), "{:?}", report.errors);
        let mut engine = Engine::<Vec<u8>>::open(image).unwrap();
        engine.start(Command::Read { offset: last }, vec![1; 4096]);
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        assert_eq!(ended.pop().unwrap().payload, [7; 4096], "{name}");
    }
}
