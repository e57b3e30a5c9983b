//! Drives in DiskSim's files: what is read, and what is told where it cannot be.
#![allow(clippy::unwrap_used)]

use gordon_device::disk::classic::{Classic, ReadAhead};
use gordon_device::disk::{Region, Serpentine, Zones};
use gordon_device::{Device, SECTOR};
use gordon_replay::diskspecs::{UNCOVERED, read};
use gordon_units::Ns;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const SPECS: &str = "
# A drive of no make.
disksim_disk SOME_DRIVE {
   Model = source some.model, # beside this file
   Time scale for overheads = 2.0,
   Bulk sector transfer time = 0.1,
   Number of buffer segments = 3, Segment size (in blks) = 100,
   Maximum number of write segments = 1,
   Use separate write segment = 0, High (read) water mark = 0.25,
   Enable caching in buffer = 1, Buffer continuous read = 3,
   Maximum read-ahead (blks) = 64, Read-ahead on idle hit = 0,
   Fast write level = 1, Combine seq writes = 1, Stop prefetch in sector = 1,
   Allow read hits on write data = 1,
   Read hit over. after read = 0.05, Read hit over. after write = 0.06,
   Read miss over. after read = 0.1, Read miss over. after write = 0.2,
   Write hit over. after read = 0.3, Write hit over. after write = 0.4,
   Write miss over. after read = 9, Write miss over. after write = 9
}
";

const MODEL: &str = "
dm_disk SOME_MODEL {
   Number of data surfaces = 2,
   Number of cylinders = 30,
   Block count = 1000,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 1,
      Sparing scheme used = 8,
      Rangesize for sparing = 2,
      Zones = [
         dm_layout_g1_zone {
            First cylinder number = 0, Last cylinder number = 9,
            Blocks per track = 50,
            Offset of first block = 3.000, Empty space at zone front = 10,
            Skew for track switch = 7.0, Skew for cylinder switch = 13.0,
            Number of spares = 4, slips = [ 17, 40 ], defects = [ 5, 77 ]
         },
         dm_layout_g1_zone {
            First cylinder number = 12, Last cylinder number = 29,
            Blocks per track = 40,
            Offset of first block = 0, Empty space at zone front = 0,
            Skew for track switch = 6, Skew for cylinder switch = 11,
            Number of spares = 4, slips = [], defects = []
         }
      ]
   },
   Mechanical Model = dm_mech_g1 {
      Access time type = trackSwitchPlusRotation,
      Seek type = extracted,
      Full seek curve = some.seek,
      Add. write settling delay = -0.25,
      Head switch time = 0.5,
      Rotation speed (in rpms) = 6000,
      Percent error in rpms = 0.0
   }
}
";

const SEEK: &str = "Seek distances measured: 2\n1,\t1.00000\n20,  2.5\n";

/// The files of a drive, one of them changed.
fn files(name: &str, from: &str, to: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [("some.diskspecs", SPECS), ("some.model", MODEL), ("some.seek", SEEK)] {
        let text = if file == name {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        } else {
            text.to_owned()
        };
        fs::write(folder.path().join(file), text).unwrap();
    }
    let path = folder.path().join("some.diskspecs");
    (folder, path)
}

fn error(name: &str, from: &str, to: &str) -> String {
    let (_folder, path) = files(name, from, to);
    match read(&path) {
        Err(error) => error.to_string(),
        Ok((config, _)) => match Classic::new(&config) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{to} passes"),
        },
    }
}

#[test]
fn a_drive_is_read_from_its_three_files() {
    let (_folder, path) = files("", "", "");
    let (config, warnings) = read(&path).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let us = |x: u64| Ns(x * 1000);
    let o = &config.overheads;
    assert_eq!((o.read_hit.read, o.read_hit.write), (us(100), us(120)));
    // Fast writes have the overheads of hits.
    assert_eq!((o.read_miss.write, o.write.read, o.write.write), (us(400), us(600), us(800)));
    assert!(o.extra.is_none());
    let buffer = &config.buffer;
    assert_eq!((buffer.segments, buffer.segment_sectors, buffer.read_mark), (3, 100, 0.25));
    assert_eq!(buffer.read_ahead, ReadAhead::Sectors(64));
    assert!(buffer.immediate_report && buffer.stops_at_once && !buffer.write_segment);
    assert_eq!(config.bus.read_sector, us(100));
    let geometry = &config.geometry;
    assert_eq!((geometry.spare_region, geometry.spare_cylinders), (Region::Cylinders, 2));
    assert_eq!(geometry.serpentine, Serpentine::Zone);
    let Zones::Table(zones) = &geometry.zones else { panic!("a table") };
    assert_eq!(
        (zones[0].slips.as_slice(), zones[0].remapped.as_slice()),
        (&[17, 40][..], &[(5, 77)][..])
    );
    assert_eq!((zones[0].first_angle, zones[0].empty, zones[1].gap), (Some(3), 10, 2));
    // 10 cylinders of 100 sectors, 4 of each two spare, 10 empty; 18 of 80, 4 of each two spare.
    let drive = Classic::new(&config).unwrap();
    assert_eq!(drive.capacity(), SECTOR * (1000 - 20 - 10 + 1440 - 36));
}

#[test]
fn the_bus_is_taken_from_the_file_that_puts_the_drive_to_use() {
    let (folder, path) = files("", "", "");
    let parv = "disksim_bus BUS0 { Read block transfer time = 9.0 }\n\
        disksim_bus BUS1 { type = 1, Read block transfer time = 0.15,\n\
        Write block transfer time = 0.05 }\nsource some.diskspecs\n\
        topology disksim_iodriver driver0 [ disksim_bus bus0 [] ]\n";
    fs::write(folder.path().join("some.parv"), parv).unwrap();
    let bus = read(&path).unwrap().0.bus;
    assert_eq!((bus.read_sector, bus.write_sector), (Ns(150_000), Ns(100_000)));
}

#[test]
fn what_has_no_effect_is_told() {
    for key in UNCOVERED {
        let with = format!("{key} = 1, Time scale");
        let (_folder, path) = files("some.diskspecs", "Time scale", &with);
        let warnings = read(&path).unwrap().1;
        assert!(warnings.len() == 1 && warnings[0].contains(key), "{warnings:?}");
    }
    let (_folder, path) = files("some.diskspecs", "caching in buffer = 1", "caching in buffer = 0");
    assert!(read(&path).unwrap().1[0].contains("as a cache all the same"));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let specs = |from, to| error("some.diskspecs", from, to);
    assert!(specs("source some.model", "source none.model").contains("none.model: No such file"));
    assert!(specs("disksim_disk", "disksim_desk").contains("no `disksim_disk NAME"));
    let text = specs("Number of buffer segments = 3", "Number of buffer segments = three");
    assert!(text.contains("line 3") && text.contains("`Number of buffer segments`"), "{text}");
    assert!(specs("Segment size (in blks) = 100,", "").contains("`Segment size (in blks)`"));
    assert!(specs("continuous read = 3", "continuous read = 7").contains("is 7, not 0 to 4"));
    assert!(specs("segments = 3", "segments = 0").contains("buffer.segments is 0"));
    let text = specs("Fast write level = 1", "Fast write = level = 1");
    assert!(text.contains("line 12") && text.contains("`=`"), "{text}");
    assert!(
        specs("over. after write = 9\n}", "over. after write = 9\n").contains("ends in a block")
    );
    let text = specs("Time scale", "Preseeking level = high, Time scale");
    assert!(text.contains("`Preseeking level` that is a number"), "{text}");
    let model = |from, to| error("some.model", from, to);
    assert!(model("dm_layout_g1 {", "dm_layout_g4 {").contains("dm_layout_g4, not dm_layout_g1"));
    let text = model("LBN-to-PBN", "Skew units = revolutions, LBN-to-PBN");
    assert!(text.contains("`Skew units` other than sectors"), "{text}");
    assert!(model("scheme used = 8", "scheme used = 5").contains("sparing scheme 5"));
    assert!(model("= extracted", "= linear").contains("seek type `linear`"));
    assert!(model("number = 12", "number = 8").contains("cylinders 8 to 29 after 10"));
    assert!(model("[ 17, 40 ]", "[ 17, x ]").contains("a list of numbers"));
    assert!(model("switch = 7.0", "switch = 1.0").contains("geometry.track_skew"));
    let text = error("some.seek", "20,  2.5", "20;  2.5");
    assert!(text.contains("some.seek, line 3") && text.contains("`20;  2.5`"), "{text}");
    assert!(error("some.seek", "20,", "1,").contains("out of order"));
    let text = error("some.model", "dm_disk", "source some.model dm_disk");
    assert!(text.contains("name each other without an end"), "{text}");
}
