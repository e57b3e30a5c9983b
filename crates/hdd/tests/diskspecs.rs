//! Reading of drives in DiskSim's files, and errors for invalid ones.
#![allow(clippy::unwrap_used)]

use gordon_blockio::{Device, SECTOR};
use gordon_hdd::classic::{ClassicDisk, QueuePolicy, ReadAhead, WriteJoin};
use gordon_hdd::diskspecs::read;
use gordon_hdd::{DiskGeometry, Region, SectorLocation, Serpentine, Zones};
use gordon_units::Ns;
use std::fs;
use std::path::{Path, PathBuf};
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

/// The files of a drive, with one text replaced.
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
        Ok(config) => match ClassicDisk::new(&config) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{to} passes"),
        },
    }
}

#[test]
fn a_drive_is_read_from_its_three_files() {
    let (_folder, path) = files("", "", "");
    let config = read(&path).unwrap();
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
    assert_eq!((buffer.join, buffer.write_segments), (WriteJoin::Alone, Some(1)));
    assert_eq!((config.queue.length, config.queue.policy), (1, QueuePolicy::Fcfs));
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
    // 10 cylinders of 100 sectors, 4 spares in each two, 10 empty; 18 of 80, 4 spares in each two.
    let drive = ClassicDisk::new(&config).unwrap();
    assert_eq!(drive.capacity(), SECTOR * (1000 - 20 - 10 + 1440 - 36));
}

#[test]
fn the_bus_is_read_from_the_parv_file() {
    let (folder, path) = files("", "", "");
    let parv = "disksim_bus BUS0 { Read block transfer time = 9.0 }\n\
        disksim_bus BUS1 { type = 1, Read block transfer time = 0.15,\n\
        Write block transfer time = 0.05 }\nsource some.diskspecs\n\
        topology disksim_iodriver driver0 [ disksim_bus bus0 [] ]\n";
    fs::write(folder.path().join("some.parv"), parv).unwrap();
    let bus = read(&path).unwrap().bus;
    assert_eq!((bus.read_sector, bus.write_sector), (Ns(150_000), Ns(100_000)));
}

#[test]
fn options_that_are_not_simulated_are_refused() {
    for key in [
        "Allow sneaky full read hits",
        "Allow sneaky partial read hits",
        "Allow sneaky intermediate read hits",
        "Allow write prebuffering",
        "Preseeking level",
        "Disconnect write if seek",
    ] {
        let specs = |value| {
            let with = format!("{key} = {value}, Time scale");
            files("some.diskspecs", "Time scale", &with)
        };
        let (_folder, path) = specs(0);
        read(&path).unwrap();
        let (_folder, path) = specs(1);
        let text = read(&path).unwrap_err().to_string();
        assert!(text.contains("line 5") && text.contains(&format!("`{key} = 1`")), "{text}");
    }
    let queue = |options: &str| {
        let with = format!("Scheduler = disksim_ioqueue {{\n {options} }}, Time scale");
        let (_folder, path) = files("some.diskspecs", "Time scale", &with);
        read(&path).map_err(|error| error.to_string())
    };
    let config = queue("Scheduling policy = 8, Read initiation delay = 0.5").unwrap().queue;
    assert_eq!((config.policy, config.read_delay), (QueuePolicy::Positioning, Ns(500_000)));
    for (options, what) in [
        ("Scheduling policy = 10", "`Scheduling policy = 10` is not simulated"),
        (
            "Scheduling policy = 29",
            "`Scheduling policy` is 29, must be a whole number from 1 to 28",
        ),
        ("Sequential stream scheme = 4", "`Sequential stream scheme = 4`"),
        ("Overlapping request scheme = 1", "`Overlapping request scheme = 1`"),
        ("Scheduling priority scheme = 1", "`Scheduling priority scheme = 1`"),
        ("Scheduling policy = 5, Cylinder mapping strategy = 6", "`Cylinder mapping strategy = 6`"),
        ("Scheduling policy = 11, Timeout time/weight = 0", "`Timeout time/weight` is 0"),
    ] {
        let text = queue(options).unwrap_err();
        assert!(text.contains("line 6") && text.contains(what), "{text}");
    }
}

#[test]
fn options_that_are_not_simulated_together_are_refused() {
    let of = |level: u32, combine: u32, options: &str| {
        let specs = SPECS
            .replace("Fast write level = 1", &format!("Fast write level = {level}"))
            .replace("Combine seq writes = 1", &format!("Combine seq writes = {combine}"));
        let specs = specs.replace("Time scale", &format!("{options}, Time scale"));
        let (_folder, path) = files("some.diskspecs", SPECS, &specs);
        read(&path).map(|_| ()).map_err(|error| error.to_string())
    };
    for level in [1, 2] {
        let text = of(level, 1, "Never disconnect = 1").unwrap_err();
        assert!(text.contains("line 5") && text.contains("`Never disconnect = 1`"), "{text}");
        of(level, 1, "Never disconnect = 0").unwrap();
    }
    of(0, 1, "Never disconnect = 1").unwrap();
    for policy in 1..=23 {
        if matches!(policy, 10 | 13 | 16..=21) {
            continue;
        }
        let options = format!(
            "Scheduler = disksim_ioqueue {{ Scheduling policy = {policy}, \
             Timeout time/weight = 50 }}"
        );
        let positions = matches!(policy, 8..=15);
        match of(2, 1, &options) {
            Ok(()) => assert!(!positions, "{policy}"),
            Err(text) => {
                let what = format!("`Scheduling policy = {policy}`");
                assert!(positions && text.contains("line 12") && text.contains(&what), "{text}");
            }
        }
        for (level, combine) in [(0, 1), (1, 1), (2, 0)] {
            of(level, combine, &options).unwrap();
        }
    }
}

#[test]
fn options_out_of_range_or_in_contradiction_are_refused() {
    let with =
        |option: &str| error("some.diskspecs", "Time scale", &format!("{option}, Time scale"));
    for (option, what) in [
        ("Max queue length = 0", "`Max queue length` is 0, must be a whole number, at least 1"),
        ("Max queue length = 1.5", "`Max queue length` is 1.5"),
        ("Low (write) water mark = 1.5", "`Low (write) water mark` is 1.5, must be from 0 to 1"),
        (
            "Per-request overhead time = -1",
            "`Per-request overhead time` is -1, must be not negative",
        ),
        ("Read-ahead over requested = 2", "must be a whole number from -1 to 1"),
        ("Minimum read-ahead (blks) = 101", "more than `Segment size (in blks)`, 100"),
        ("Allow almost hits = 1", "`Allow almost hits` is not an option of disksim_disk"),
    ] {
        let text = with(option);
        assert!(text.contains("line 5") && text.contains(what), "{text}");
    }
    let specs = |from, to| error("some.diskspecs", from, to);
    let text = specs("Time scale", "Buffer continuous read = 3, Time scale");
    assert!(text.contains("line 10") && text.contains("given a second time"), "{text}");
    let text = specs("caching in buffer = 1", "caching in buffer = 0");
    assert!(text.contains("line 10") && text.contains("`Enable caching in buffer` is 0"), "{text}");
    let text = specs("write segments = 1", "write segments = 4");
    assert!(
        text.contains("line 8") && text.contains("more than `Number of buffer segments`"),
        "{text}"
    );
    let text = specs(
        "segments = 3, Segment size (in blks) = 100,\n   \
         Maximum number of write segments = 1,\n   Use separate write segment = 0",
        "segments = 1, Segment size (in blks) = 100,\n   Use separate write segment = 1",
    );
    assert!(text.contains("line 8") && text.contains("needs two"), "{text}");
}

#[test]
fn errors_name_the_file_and_line() {
    let specs = |from, to| error("some.diskspecs", from, to);
    assert!(specs("source some.model", "source none.model").contains("none.model: No such file"));
    assert!(specs("disksim_disk", "disksim_desk").contains("no `disksim_disk NAME"));
    let text = specs("Number of buffer segments = 3", "Number of buffer segments = three");
    assert!(text.contains("line 7") && text.contains("`Number of buffer segments`"), "{text}");
    assert!(specs("Segment size (in blks) = 100,", "").contains("`Segment size (in blks)`"));
    assert!(
        specs("continuous read = 3", "continuous read = 7")
            .contains("is 7, must be a whole number")
    );
    assert!(specs("segments = 3", "segments = 0").contains("`Number of buffer segments` is 0"));
    let text = specs("Fast write level = 1", "Fast write = level = 1");
    assert!(text.contains("line 12") && text.contains("`=`"), "{text}");
    assert!(
        specs("over. after write = 9\n}", "over. after write = 9\n").contains("ends in a block")
    );
    let text = specs("Time scale", "Preseeking level = high, Time scale");
    assert!(text.contains("`Preseeking level` that is a number"), "{text}");
    let model = |from, to| error("some.model", from, to);
    assert!(model("dm_layout_g1 {", "dm_layout_g3 {").contains("no layout `dm_layout_g3`"));
    let text = model("LBN-to-PBN", "Skew units = revolutions, LBN-to-PBN");
    assert!(text.contains("`Skew units` other than sectors"), "{text}");
    assert!(model("scheme used = 8", "scheme used = 5").contains("sparing scheme 5"));
    assert!(model("= extracted", "= linear").contains("seek type `linear`"));
    assert!(model("number = 12", "number = 8").contains("cylinders 8 to 29 after 10"));
    assert!(model("[ 17, 40 ]", "[ 17, x ]").contains("a list of numbers"));
    let text = error("some.seek", "20,  2.5", "20;  2.5");
    assert!(text.contains("some.seek, line 3") && text.contains("`20;  2.5`"), "{text}");
    assert!(error("some.seek", "20,", "1,").contains("out of order"));
    let text = error("some.model", "dm_disk", "source some.model dm_disk");
    assert!(text.contains("name each other without an end"), "{text}");
}

#[test]
fn a_third_column_of_a_seek_curve_changes_nothing() {
    let (_two, path) = files("", "", "");
    let (_three, other) =
        files("some.seek", "1,\t1.00000\n20,  2.5", "1, 1.0, 0.02\n20, 2.5, 0.03");
    assert_eq!(read(&path).unwrap().seek, read(&other).unwrap().seek);
    for line in ["20, 2.5, 0.03, 2.9", "20, 2.5, x", "20"] {
        let text = error("some.seek", "20,  2.5", line);
        assert!(text.contains("some.seek, line 3") && text.contains(line), "{text}");
    }
}

#[test]
fn a_skew_too_short_for_a_write_is_a_warning() {
    let of = |path: PathBuf| ClassicDisk::new(&read(&path).unwrap()).unwrap().warnings();
    // 50 sectors in 10 ms: a skew of 7 is 1.4 ms; a head switch takes 0.5 ms.
    let (_folder, path) = files("", "", "");
    assert!(of(path).is_empty());
    let (_folder, path) = files("some.model", "settling delay = -0.25", "settling delay = 1.0");
    let warnings = of(path);
    assert!(
        warnings.len() == 1
            && warnings[0]
                .contains("geometry.track_skew is 1.4ms at the shortest, and a write needs 1.5ms")
            && warnings[0].contains("sequential writes"),
        "{warnings:?}"
    );
    let (_folder, path) = files("some.model", "switch = 7.0", "switch = 1.0");
    let warnings = of(path);
    assert!(warnings.len() == 1 && warnings[0].contains("reads and writes"), "{warnings:?}");
}

/// [`MODEL`] with another layout of `sectors` sectors, and a map file.
fn laid_out(layout: &str, sectors: u32, map: &str) -> (TempDir, PathBuf) {
    let (folder, path) = files("", "", "");
    let (head, rest) = MODEL.split_once("Layout Model").unwrap();
    let mechanics = &rest[rest.find("Mechanical").unwrap()..];
    let head = head.replace("count = 1000", &format!("count = {sectors}"));
    let text = format!("{head}Layout Model = {layout},\n{mechanics}");
    fs::write(folder.path().join("some.model"), text).unwrap();
    fs::write(folder.path().join("some.map"), map).unwrap();
    (folder, path)
}

/// Cylinder, head, sector and sectors per track, and the angle at which the sector begins, in ns.
type Lies = ((u32, u32, u32, u32), u64);

/// The location of each sector.
fn places(path: &Path) -> Vec<Lies> {
    let geometry = DiskGeometry::of(&read(path).unwrap().geometry).unwrap();
    let turn = geometry.revolution().0;
    let one = |p: SectorLocation| (p.cylinder, p.head, p.sector, p.sectors_per_track);
    let all = (0..geometry.sectors()).map(|lba| geometry.location(lba));
    all.map(|place| (one(place), geometry.course(place) % turn)).collect()
}

/// 10 cylinders of 2 tracks of 50 sectors, then 18 of 40, with skews.
const ZONES: [(u32, u32, u32, u32, u32); 2] = [(0, 9, 50, 7, 13), (10, 27, 40, 6, 11)];

fn g1() -> String {
    let zones = ZONES.map(|(first, last, per_track, track, cylinder)| {
        format!(
            "dm_layout_g1_zone {{ First cylinder number = {first}, Last cylinder number = {last},
             Blocks per track = {per_track}, Offset of first block = 0, Empty space at zone front = 0,
             Skew for track switch = {track}, Skew for cylinder switch = {cylinder},
             Number of spares = 0, slips = [], defects = [] }}"
        )
    });
    format!(
        "dm_layout_g1 {{ LBN-to-PBN mapping scheme = 0, Sparing scheme used = 0,
         Zones = [ {} ] }}",
        zones.join(", ")
    )
}

const SECTORS: u32 = 1000 + 18 * 80;

fn assert_same(these: &[Lies], those: &[Lies]) {
    assert_eq!(these.len(), those.len());
    for (lba, (this, that)) in these.iter().zip(those).enumerate() {
        assert_eq!(this.0, that.0, "sector {lba}");
        // Angles of listed layouts have a resolution of 2^-32 revolutions.
        let apart = this.1.abs_diff(that.1);
        assert!(apart <= 2 || 10_000_000 - apart <= 2, "sector {lba}: {} and {}", this.1, that.1);
    }
}

#[test]
fn a_g2_layout_is_the_same_drive_as_its_g1() {
    let (_folder, path) = laid_out(&g1(), SECTORS, "");
    let mut map = String::from("vendor, model\ntoday\n28 cylinders, 6000 rot, 2 heads\n");
    let (mut lba, mut zones) = (0, Vec::new());
    for (first, last, per_track, track, cylinder) in ZONES {
        let begin = lba;
        for at in first..=last {
            for head in 0..2 {
                // Some tracks are in two pieces, the second with `cnt` in place of `seqcnt`.
                let split = if at == 3 { 20 } else { per_track };
                map +=
                    &format!("lbn {lba} --> cyl {at}, head {head}, sect 0, seqcnt {}\n", split - 1);
                if split < per_track {
                    let (next, rest) = (lba + split, per_track - split);
                    map += &format!(
                        "lbn {next} --> cyl {at}, head {head}, sect {split}, cnt {rest}\n"
                    );
                }
                lba += per_track;
            }
        }
        zones.push(format!(
            "dm_layout_g2_zone {{ First cylinder number = {first}, Last cylinder number = {last},
             First LBN = {begin}, Last LBN = {}, Blocks per track = {per_track}, Zone Skew = 0,
             Skew for track switch = {track}, Skew for cylinder switch = {cylinder} }}",
            lba - 1
        ));
    }
    map += "Defect at cyl 4, head 1, sect 9\n";
    let zones = zones.join(", ");
    let layout = format!("dm_layout_g2 {{ Layout Map File = some.map, Zones = [ {zones} ] }}");
    let (_other, listed) = laid_out(&layout, SECTORS, &map);
    // In g1 the second zone begins where the first ends, in g2 at its own skew.
    let (mut these, those) = (places(&listed), places(&path));
    let turn = 10_000_000;
    let shift = those[1000].1;
    these[1000..].iter_mut().for_each(|one| one.1 = (one.1 + shift) % turn);
    assert_same(&these, &those);
    // Skews in revolutions.
    let turns = layout
        .replacen("Zone Skew = 0", "Skew units = revolutions, Zone Skew = 0.5", 1)
        .replacen("switch = 7", "switch = 0.14", 1)
        .replacen("switch = 13", "switch = 0.26", 1);
    let (_folder, path) = laid_out(&turns, SECTORS, &map);
    let begins: Vec<_> = [0, 50, 100, 900].map(|lba| places(&path)[lba].1).into();
    // Half a revolution; 0.14 more; 0.4 per cylinder.
    for (found, right) in begins.into_iter().zip([5_000_000, 6_400_000, 9_000_000, 1_000_000]) {
        assert!(u64::abs_diff(found, right) <= 4, "{found} for {right}");
    }
}

#[test]
fn a_g4_layout_is_the_same_drive_as_its_g1() {
    let (_folder, path) = laid_out(&g1(), SECTORS, "");
    // A cylinder of each zone, then the zones. A track is 1 revolution and 7 of 50 sectors, a
    // cylinder 20 of 50. The second zone begins at 10 x 20 of 50 sectors: at angle 0.
    let layout = "dm_layout_g4 {
        TP = [ 0, 49, 50, 0, 39, 40 ],
        IDX = [
          [ 0, 0, 0.0, 50, 1, 0.0, 50, 1, TRACK, 0, 0,  50, 0, 0.14, 50, 1, 0.0, 50, 1, TRACK, 0, 1 ],
          [ 0, 0, 0.0, 40, 1, 0.0, 40, 1, TRACK, 1, 0,  40, 0, 0.15, 40, 1, 0.0, 40, 1, TRACK, 1, 1 ],
          [ 0, 0, 0.0, 100, 1, 0.4, 1000, 10, IDX, 0,  1000, 10, 0.0, 80, 1, 0.425, 1440, 18, IDX, 1 ]
        ], Slips = [], Remaps = [] }";
    let (_other, listed) = laid_out(layout, SECTORS, "");
    assert_same(&places(&listed), &places(&path));
    assert!(read(&listed).is_ok_and(|config| ClassicDisk::new(&config).is_ok()));
}

#[test]
fn a_g4_layout_by_hand() {
    // By surface: cylinders 2, 1, 0 on surface 0, then cylinders 0, 1, 2 on surface 1.
    let layout = "dm_layout_g4 { TP = [ 0, 9, 10 ], IDX = [ [
          0, 2, 0.0, 10, 1, 0.25, 30, -3, TRACK, 0, 0,
          30, 0, 0.5, 10, 1, 0.25, 30, 3, TRACK, 0, 1 ] ],
        Slips = [ 4, 1, 17, 2 ], Remaps = [ 20, 2, 1, 1, 3, 10 ] }";
    let (_folder, path) = laid_out(layout, 57, "");
    let places = places(&path);
    let at = |lba: usize| (places[lba].0.0, places[lba].0.1, places[lba].0.2);
    assert_eq!([0, 3, 4].map(at), [(2, 0, 0), (2, 0, 3), (2, 0, 5)]);
    // The second slip is at what would be sector 17, and is sector 16 after the first slip.
    assert_eq!([15, 16].map(at), [(1, 0, 6), (1, 0, 9)]);
    assert_eq!([19, 20, 21, 22].map(at), [(0, 0, 2), (1, 1, 3), (1, 1, 4), (0, 0, 5)]);
    assert_eq!([27, 37, 56].map(at), [(0, 1, 0), (1, 1, 0), (2, 1, 9)]);
    let begins = |lba: usize, right: u64| {
        assert!(places[lba].1.abs_diff(right) <= 4, "sector {lba}: {}", places[lba].1);
    };
    // 1 ms per sector; a quarter of a revolution from a track to the next, half to the other
    // surface.
    begins(0, 0);
    begins(17, 5_000_000);
    begins(27, 5_000_000);
    begins(37, 7_500_000);
    begins(20, 7_500_000 + 3_000_000 - 10_000_000);
}

#[test]
fn errors_in_a_listed_layout_are_reported() {
    let g4 = |tp: &str, idx: &str, more: &str, sectors: u32| {
        let layout = format!("dm_layout_g4 {{ TP = [ {tp} ], IDX = [ {idx} ] {more} }}");
        let (_folder, path) = laid_out(&layout, sectors, "");
        read(&path).map(|_| ()).unwrap_err().to_string()
    };
    let track = "[ 0, 0, 0.0, 10, 1, 0.0, 30, 3, TRACK, 0, 0 ]";
    assert!(g4("0, 10, 10", track, "", 30).contains("`TP`"));
    assert!(g4("0, 9, 10", "[ 0, 0, 0.0 ]", "", 30).contains("`IDX`"));
    assert!(g4("0, 9, 10", &track.replace("TRACK, 0", "TRACK, 1"), "", 30).contains("`IDX`"));
    assert!(
        g4("0, 9, 10", "[ 0, 0, 0.0, 30, 3, 0.0, 30, 3, IDX, 0 ]", "", 30).contains("each other")
    );
    assert!(g4("0, 9, 10", track, "", 31).contains("30 sectors, fewer than"));
    assert!(g4("0, 9, 10", track, ", Slips = [ 5 ]", 30).contains("`Slips`"));
    assert!(g4("0, 9, 10", track, ", Remaps = [ 5, 1 ]", 30).contains("`Remaps`"));
    assert!(g4("0, 8, 10", track, "", 30).contains("9 sectors, fewer than"));
    let layout = "dm_layout_g2 { Layout Map File = some.map, Zones = [ dm_layout_g2_zone {
        First cylinder number = 0, Last cylinder number = 0, Blocks per track = 10 } ] }";
    let map = |text: &str| {
        let (_folder, path) =
            laid_out(layout, 10, &format!("a\nb\n2 cylinders, 0 rot, 2 heads\n{text}\n"));
        read(&path).map(|_| ()).unwrap_err().to_string()
    };
    assert!(map("lbn 0 --> cyl 0, head 0").contains("some.map, line 4"));
    assert!(
        map("lbn 0 --> cyl 1, head 0, sect 0, seqcnt 9")
            .contains("cylinder 1 of some.map is in no zone")
    );
    assert!(map("lbn 0 --> cyl 0, head 0, sect 4, seqcnt 9").contains("sectors of a track"));
}
