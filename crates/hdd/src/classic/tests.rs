//! Times computed by hand. The drive: 6000 rpm, 10 ms per revolution; 100 sectors per track, 100 us
//! each; 2 surfaces; track skew 20 sectors, cylinder skew 30; head switch 1 ms; a seek takes 2 ms
//! and 0.1 ms per cylinder; a write settles for 0.5 ms. The bus takes 10 us per sector. Overheads:
//! hit 50 us, miss 100 us, write 200 us.

use super::*;
use crate::disk::config::{
    DiskGeometryConfig, Region, SchedulerConfig, SchedulingPolicy, SeekConfig, SeekPieces,
    SeekTimes, Serpentine, ZoneConfig, Zones,
};

fn us(x: u64) -> Ns {
    Ns(x * 1000)
}

fn twice(time: Ns) -> ReadWriteTimes {
    ReadWriteTimes { read: time, write: time }
}

fn config() -> ClassicConfig {
    let zone = ZoneConfig {
        cylinders: 100,
        sectors_per_track: 100,
        track_skew: Some(20),
        cylinder_skew: Some(30),
        ..ZoneConfig::default()
    };
    let pieces = SeekPieces { split: 0, values_ms: [0.0, 0.0, 2.0, 0.1], first: vec![] };
    ClassicConfig {
        summary: "by hand".into(),
        source: "nowhere".into(),
        geometry: DiskGeometryConfig {
            sectors: 20_000.into(),
            heads: 2.into(),
            rpm: 6000.into(),
            track_skew: None,
            cylinder_skew: None,
            serpentine: Serpentine::Never,
            spare_region: Region::Zone,
            spare_cylinders: 1,
            zones: Zones::Table(vec![zone]),
        },
        seek: SeekConfig {
            head_switch: us(1000).into(),
            read: SeekTimes { pieces: Some(pieces), ..SeekTimes::default() },
            write: None,
            write_settle_ms: Some(0.5.into()),
        },
        overheads: Overheads {
            read_hit: twice(us(50)),
            read_miss: twice(us(100)),
            write: twice(us(200)),
            ..Overheads::default()
        },
        bus: HostBus { read_sector: us(10), write_sector: us(10), ..HostBus::default() },
        buffer: BufferConfig {
            segments: 2,
            segment_sectors: 64,
            write_segment: false,
            write_segments: None,
            keeps_data: true,
            read_hits_written: true,
            immediate_report: true,
            join_writes: true,
            join: WriteJoin::Always,
            read_mark: 0.0,
            write_mark: 0.0,
            marks_of_segment: false,
            hits_next_sector: false,
            partial_hits_at_once: true,
            read_ahead: ReadAhead::Sectors(32),
            read_ahead_on_hit: false,
            least_read_ahead: 0,
            read_ahead_keeps_read: false,
            drops_read: false,
            writes_end_read_ahead: true,
            sector_buffer: false,
            reads_on_arrival: false,
            writes_on_arrival: false,
            stops_at_once: false,
        },
        queue: QueueConfig::default(),
        scheduler: SchedulerConfig::default(),
        power: None,
    }
}

fn drive(config: &ClassicConfig) -> ClassicDisk {
    ClassicDisk::new(config).unwrap()
}

/// A time in microseconds, to the nearest ten: the angle is counted in whole steps, so sectors and
/// waits are up to 10 ns shorter than computed here.
fn tens_of_us(time: Ns) -> u64 {
    (time.0 + 5000) / 10_000 * 10
}

/// Response time in microseconds of a request submitted at `at`.
fn response_time(drive: &mut ClassicDisk, at: u64, op: IoOp, start: u64, sectors: u64) -> u64 {
    let request = Request::new(op, SECTOR * start, SECTOR * sectors);
    drive.submit(us(at), 1, request);
    let mut done = vec![];
    drive.step(&mut done);
    tens_of_us(done[0].at - us(at))
}

#[test]
fn a_read_waits_for_seek_and_rotation_and_the_next_one_hits() {
    let mut drive = drive(&config());
    // Sector 40 begins at 4 ms; the arm is on its track at 0.1 ms. Four sectors, and 10 us for the
    // last one on the bus.
    assert_eq!(response_time(&mut drive, 0, IoOp::Read, 40, 4), 4000 + 400 + 10);
    // Read-ahead to sector 76 ends at 7.6 ms; afterwards a read is a hit of four times 10 us.
    assert_eq!(response_time(&mut drive, 10_000, IoOp::Read, 44, 4), 50 + 40);
    // A partial hit: 74 and 75 are in the buffer; for 76 the arm starts 0.1 ms after the command,
    // at 20.1 ms; sector 76 passes at 27.6.
    assert_eq!(response_time(&mut drive, 20_000, IoOp::Read, 74, 4), 7600 + 200 + 10);
    // Cylinder 10, sector 0: a seek of 3 ms from 30.1 ms on. The sector is (20 + 30) x 10 sectors
    // further, at a whole revolution.
    assert_eq!(response_time(&mut drive, 30_000, IoOp::Read, 2000, 1), 10_000 + 100 + 10);
    let stats = drive.stats();
    assert_eq!((stats.requests, stats.cache_hits, stats.read_ahead_hits), (4, 1, 1));
    // One more positioning for read-ahead on the next track.
    assert_eq!((stats.positionings, stats.seeks, stats.seek_time), (4, 1, us(4000)));
}

#[test]
fn a_read_continues_over_a_track_at_the_cost_of_its_skew() {
    let mut drive = drive(&config());
    // 98 and 99, then 2 ms of skew, which hide the head switch of 1 ms, then two more.
    assert_eq!(response_time(&mut drive, 0, IoOp::Read, 98, 4), 9800 + 200 + 2000 + 200 + 10);
}

#[test]
fn a_write_over_a_skew_too_short_for_it_loses_a_revolution() {
    let mut short = config();
    let Zones::Table(zones) = &mut short.geometry.zones else { panic!("a table") };
    (zones[0].track_skew, zones[0].cylinder_skew) = (Some(9), Some(40));
    short.seek.head_switch = us(800).into();
    short.seek.write_settle_ms = Some(1.0.into());
    short.buffer.immediate_report = false;
    // A skew of 0.9 ms is enough for the head switch of a read, but not for the 1.8 ms of a write.
    let read = response_time(&mut ClassicDisk::new(&short).unwrap(), 0, IoOp::Read, 98, 4);
    assert_eq!(read, 9800 + 200 + 900 + 200 + 10);
    let mut drive = ClassicDisk::new(&short).unwrap();
    assert_eq!(response_time(&mut drive, 0, IoOp::Write, 98, 4), 9800 + 200 + 10_000 + 900 + 200);
    assert_eq!(drive.warnings().len(), 1);
}

#[test]
fn a_command_waits_for_the_sector_under_the_head() {
    let mut drive = drive(&config());
    response_time(&mut drive, 0, IoOp::Read, 40, 4);
    // At 5.05 ms the head is in sector 50, which ends 50 us later. The arm is at cylinder 1 at 5.05
    // + 0.1 + 0.05 + 2.1 = 7.3 ms. Sector 0 there starts 50 sectors further, at 5 ms and next at
    // 15.
    assert_eq!(response_time(&mut drive, 5050, IoOp::Read, 200, 1), 15_000 - 5050 + 100 + 10);
    // The sectors read ahead until then are in the buffer.
    assert_eq!(response_time(&mut drive, 30_000, IoOp::Read, 48, 2), 50 + 20);
}

#[test]
fn writes_are_acknowledged_before_they_are_on_the_medium() {
    let mut drive = drive(&config());
    assert_eq!(response_time(&mut drive, 0, IoOp::Write, 40, 4), 200 + 40);
    // The data are on the medium at 4.4 ms, so a read of sector 60 of the track is ready before the
    // arm is free; sector 60 passes at 6 ms.
    assert_eq!(response_time(&mut drive, 1000, IoOp::Read, 60, 1), 5000 + 100 + 10);
    // A read of the written sectors is a hit.
    assert_eq!(response_time(&mut drive, 20_000, IoOp::Read, 40, 4), 50 + 40);
    let mut slow = config();
    slow.buffer.immediate_report = false;
    let mut drive = ClassicDisk::new(&slow).unwrap();
    assert_eq!(response_time(&mut drive, 0, IoOp::Write, 40, 4), 4000 + 400);
    // Cylinder 1, from 10.2 ms on: 2.1 ms and 0.5 to settle. Sector 0 passes at 15 ms.
    assert_eq!(response_time(&mut drive, 10_000, IoOp::Write, 200, 1), 5000 + 100);
    assert_eq!(tens_of_us(drive.usage().write), 4200 + 4900);
}

#[test]
fn a_durable_write_is_reported_when_it_is_on_the_medium() {
    let mut drive = drive(&config());
    let durable = Request { durable: true, ..Request::new(IoOp::Write, SECTOR * 40, SECTOR * 4) };
    let mut done = vec![];
    drive.submit(us(0), 1, durable);
    drive.step(&mut done);
    assert_eq!((tens_of_us(done[0].at), done[0].cause), (4000 + 400, Cause::Medium));
    assert_eq!(response_time(&mut drive, 10_000, IoOp::Write, 40, 4), 200 + 40);
}

#[test]
fn a_sector_that_comes_too_late_costs_a_revolution() {
    let mut slow = config();
    slow.buffer.immediate_report = false;
    slow.bus.write_sector = us(150);
    let mut drive = drive(&slow);
    // At 0.2 ms the first sector is on the bus. Sector 4 passes at 0.4 ms. Sector 5 passes at 0.5,
    // exactly when two sectors have arrived. Sector 6 passes at 0.6, but its data arrive at 0.65.
    assert_eq!(response_time(&mut drive, 0, IoOp::Write, 4, 3), 10_000 + 700);
}

#[test]
fn read_ahead_stops_at_its_configured_limit() {
    let ends_with = |ahead, on_hit| {
        let mut config = config();
        config.buffer.read_ahead = ahead;
        config.buffer.read_ahead_on_hit = on_hit;
        config.buffer.segment_sectors = 512;
        let mut drive = drive(&config);
        response_time(&mut drive, 0, IoOp::Read, 50, 4);
        // The next reads come long after the read-ahead has ended.
        let mut end = 54;
        while end < 250 && response_time(&mut drive, 1_000_000 * end, IoOp::Read, end, 1) == 60 {
            end += 1;
        }
        end
    };
    let ends = |ahead| ends_with(ahead, false);
    assert_eq!(ends(ReadAhead::Sectors(100)), 154);
    assert_eq!(ends(ReadAhead::Track(100)), 100);
    assert_eq!(ends(ReadAhead::Cylinder(170)), 200);
    // Even with read-ahead after a hit.
    assert_eq!(ends_with(ReadAhead::Track(100), true), 100);
    assert!(ends_with(ReadAhead::Sectors(100), true) > 200);
    // The rest of the track of the next sector, which is on the same track.
    assert_eq!(ends(ReadAhead::Tracks), 100);
}

#[test]
fn commands_wait_for_each_other_and_a_flush_for_the_medium() {
    let mut drive = drive(&config());
    let at = |op, start, count| Request::new(op, SECTOR * start, SECTOR * count);
    drive.submit(us(0), 1, at(IoOp::Write, 40, 4));
    drive.submit(us(0), 2, at(IoOp::Flush, 0, 0));
    drive.submit(us(0), 3, at(IoOp::Read, 40, 4));
    let mut done = vec![];
    drive.run_until(Ns::MAX, &mut done);
    let ends: Vec<_> = done.iter().map(|done| (done.id, tens_of_us(done.at))).collect();
    assert_eq!(ends, [(1, 240), (2, 4400), (3, 4490)]);
}

#[test]
fn inconsistent_parameters_are_refused() {
    let mut none = config();
    none.buffer.segments = 0;
    let text = ClassicDisk::new(&none).unwrap_err().to_string();
    assert!(text.contains("buffer.segments is 0"), "{text}");
    let mut far = config();
    far.buffer.read_mark = 1.5;
    assert!(ClassicDisk::new(&far).unwrap_err().to_string().contains("buffer.read_mark"));
    let mut held = config();
    held.bus.held = true;
    let key = |config: &ClassicConfig| match ClassicDisk::new(config) {
        Err(DiskConfigError::Value { key, .. }) => key,
        _ => "none",
    };
    assert_eq!(key(&held), "bus.held");
    held.buffer.immediate_report = false;
    assert_eq!(key(&held), "none");
    for (policy, refused) in [
        (QueuePolicy::Positioning, "buffer.join_writes"),
        (QueuePolicy::CachedAgedPositioning, "buffer.join_writes"),
        (QueuePolicy::Sstf, "none"),
        (QueuePolicy::ArmDistance, "none"),
    ] {
        let mut joins = config();
        joins.queue.policy = policy;
        assert_eq!(key(&joins), refused, "{policy:?}");
        joins.buffer.join = WriteJoin::Alone;
        assert_eq!(key(&joins), "none", "{policy:?}");
    }
}

#[test]
fn the_host_selects_the_next_command_but_none_passes_a_flush() {
    let order = |policy| {
        let mut config = config();
        config.scheduler.policy = policy;
        let mut drive = drive(&config);
        let at = |op, start| Request::new(op, SECTOR * start, SECTOR);
        let flush = Request::FLUSH;
        let wanted = [at(IoOp::Read, 8000), at(IoOp::Read, 16_000), at(IoOp::Read, 9000), flush];
        for (id, request) in (0..).zip(wanted.into_iter().chain([at(IoOp::Read, 8200)])) {
            drive.submit(us(0), id, request);
        }
        let mut done = vec![];
        drive.run_until(Ns::MAX, &mut done);
        done.iter().map(|done| done.id).collect::<Vec<_>>()
    };
    assert_eq!(order(SchedulingPolicy::Fcfs), [0, 1, 2, 3, 4]);
    assert_eq!(order(SchedulingPolicy::Sstf), [0, 2, 1, 3, 4]);
}

#[test]
fn a_remapped_sector_is_read_at_its_new_location() {
    let mut moved = config();
    let Zones::Table(zones) = &mut moved.geometry.zones else { panic!("a table") };
    // Sector 42 of the first track is on cylinder 99, head 1, sector 99; ten sectors of the zone
    // are spare.
    (zones[0].spares, zones[0].remapped) = (10, vec![(42, 19_999)]);
    moved.geometry.sectors = 19_990.into();
    moved.buffer.read_ahead = ReadAhead::None;
    let mut drive = drive(&moved);
    let there = drive.arm.mechanics.geometry().location(42);
    assert_eq!((there.cylinder, there.head, there.sector), (99, 1, 99));
    // There and back: two seeks of 11.9 ms, and the rotational waits.
    let took = response_time(&mut drive, 0, IoOp::Read, 42, 4);
    assert!((2 * 11_900..2 * 21_900).contains(&took), "{took}");
    assert_eq!(drive.stats().seeks, 2);
    // A transfer over the sector takes no longer. It can be written, and the whole drive can be
    // read.
    assert_eq!(response_time(&mut drive, 500_000, IoOp::Read, 40, 6) % 10_000, 4600 + 10);
    assert!(response_time(&mut drive, 1_000_000, IoOp::Write, 42, 1) < 1000);
    for (at, lba) in (2..).zip((0..19_990).step_by(97)) {
        let count = (19_990 - lba).min(97);
        response_time(&mut drive, at * 1_000_000, IoOp::Read, lba, count);
    }
}

/// A drive with a queue, and requests of one sector at given times, all in microseconds; returns
/// the order of completions with their times.
fn completions(config: &ClassicConfig, requests: &[(u64, IoOp, u64, u64)]) -> Vec<(u64, u64)> {
    let mut drive = drive(config);
    let mut done = vec![];
    for (id, &(at, op, start, sectors)) in (0..).zip(requests) {
        while drive.next_event().is_some_and(|next| next <= us(at)) {
            drive.step(&mut done);
        }
        drive.submit(us(at), id, Request::new(op, SECTOR * start, SECTOR * sectors));
    }
    drive.run_until(Ns::MAX, &mut done);
    while drive.next_event().is_some() {
        drive.step(&mut done);
    }
    done.iter().map(|done| (done.id, tens_of_us(done.at))).collect()
}

#[test]
fn an_almost_read_hit_lets_the_head_go_on() {
    let mut almost = config();
    almost.buffer.hits_next_sector = true;
    let mut drive = drive(&almost);
    response_time(&mut drive, 0, IoOp::Read, 40, 4);
    // At 5.05 ms the head is in sector 50. It reads on: sectors 50 and 51 have passed at 5.2 ms.
    assert_eq!(response_time(&mut drive, 5050, IoOp::Read, 50, 2), 150 + 10);
    // Without such hits it reads the sector a revolution later.
    let mut drive = ClassicDisk::new(&config()).unwrap();
    response_time(&mut drive, 0, IoOp::Read, 40, 4);
    assert_eq!(response_time(&mut drive, 5050, IoOp::Read, 50, 2), 10_150 + 10);
}

#[test]
fn the_least_read_ahead_is_done_before_another_command() {
    let mut least = config();
    least.buffer.least_read_ahead = 20;
    let mut drive = drive(&least);
    response_time(&mut drive, 0, IoOp::Read, 40, 4);
    // At 5.05 ms the head has 14 sectors to read, up to sector 64 at 6.4 ms. The arm is at cylinder
    // 1 after 2.1 ms, at 8.5 ms; sector 0 passes there at 15 ms.
    assert_eq!(response_time(&mut drive, 5050, IoOp::Read, 200, 1), 15_000 - 5050 + 100 + 10);
    // Sectors up to 64 are in the buffer, and sector 64 is not.
    assert_eq!(response_time(&mut drive, 30_000, IoOp::Read, 62, 2), 50 + 20);
    assert!(response_time(&mut drive, 50_000, IoOp::Read, 64, 1) > 1000);
}

#[test]
fn read_ahead_within_a_segment_leaves_room_for_the_read() {
    let mut keeps = config();
    keeps.buffer.segment_sectors = 20;
    keeps.buffer.read_ahead = ReadAhead::Sectors(20);
    keeps.buffer.read_ahead_keeps_read = true;
    let mut drive = drive(&keeps);
    response_time(&mut drive, 0, IoOp::Read, 40, 4);
    // The segment has sectors 40 to 59.
    assert_eq!(response_time(&mut drive, 30_000, IoOp::Read, 40, 20), 50 + 200);
    assert!(response_time(&mut drive, 50_000, IoOp::Read, 60, 1) > 1000);
}

#[test]
fn a_read_that_drops_its_data_misses_the_next_time() {
    let mut drops = config();
    drops.buffer.drops_read = true;
    let mut drive = drive(&drops);
    response_time(&mut drive, 0, IoOp::Read, 40, 4);
    assert_eq!(response_time(&mut drive, 30_000, IoOp::Read, 44, 2), 50 + 20);
    assert!(response_time(&mut drive, 50_000, IoOp::Read, 44, 2) > 1000);
}

#[test]
fn a_segment_keeps_no_data_without_caching() {
    let mut none = config();
    (none.buffer.keeps_data, none.buffer.read_ahead) = (false, ReadAhead::None);
    let mut drive = drive(&none);
    assert_eq!(response_time(&mut drive, 0, IoOp::Read, 40, 4), 4400 + 10);
    assert_eq!(response_time(&mut drive, 20_000, IoOp::Read, 40, 4), 4400 + 10);
}

#[test]
fn a_command_is_processed_after_its_overhead() {
    let mut late = config();
    late.overheads.command = us(300);
    let mut drive = drive(&late);
    assert_eq!(response_time(&mut drive, 0, IoOp::Read, 40, 4), 4400 + 10);
    assert_eq!(response_time(&mut drive, 10_000, IoOp::Read, 44, 4), 300 + 50 + 40);
}

#[test]
fn a_read_disconnects_while_it_waits_for_the_medium() {
    let mut leaves = config();
    leaves.overheads.read_disconnect = twice(us(200));
    leaves.overheads.reselect = us(70);
    // Sector 40 has passed at 4.1 ms; the drive is back at 4.17 ms and transfers one sector until
    // 4.18 ms. It leaves until 4.38 ms, when sectors 41 and 42 have passed, is back at 4.45 ms with
    // all four, and transfers three.
    assert_eq!(response_time(&mut drive(&leaves), 0, IoOp::Read, 40, 4), 4450 + 30);
    // If it holds the bus, the last sector crosses it when it has passed.
    leaves.bus.held_in_reads = true;
    assert_eq!(response_time(&mut drive(&leaves), 0, IoOp::Read, 40, 4), 4400 + 10);
}

#[test]
fn one_write_joins_the_write_in_progress() {
    let mut joins = config();
    joins.overheads.write = twice(us(100));
    let write = |at, start| (at, IoOp::Write, start, 2);
    // The first is on the medium from 4 to 4.2 ms. The second joins it, and its data are written
    // with the first; then it is written again, a revolution later. The third waits for this.
    let ends = completions(&joins, &[write(0, 40), write(1000, 42), write(2000, 44)]);
    assert_eq!(ends, [(0, 120), (1, 1120), (2, 14_420)]);
    // Without joining, the second waits for the first.
    joins.buffer.join_writes = false;
    let ends = completions(&joins, &[write(0, 40), write(1000, 42)]);
    assert_eq!(ends, [(0, 120), (1, 4220)]);
}

#[test]
fn a_write_uses_the_revolution_in_which_it_waits_for_a_late_sector() {
    let ends = |on_arrival| {
        let mut late = config();
        late.buffer.writes_on_arrival = on_arrival;
        late.buffer.join_writes = false;
        let write = |at, start| (at, IoOp::Write, start, 4);
        // The second begins where the first ends, at 4.4 ms, but its data come later: sector 44
        // is lost. It is written at 14.4 ms, and so are the others unless they were written in
        // passing. The third starts then.
        completions(&late, &[write(0, 40), write(1000, 44), write(2000, 60)])[2].1
    };
    assert_eq!(ends(false), 14_800 + 40);
    assert_eq!(ends(true), 14_500 + 40);
}

#[test]
fn the_head_passes_by_sectors_for_which_there_is_no_room() {
    let ends = |on_arrival, at| {
        let mut full = config();
        full.buffer.read_ahead = ReadAhead::Sectors(40);
        full.buffer.segment_sectors = 32;
        full.buffer.reads_on_arrival = on_arrival;
        full.overheads.read_hit = twice(us(400));
        let mut drive = drive(&full);
        response_time(&mut drive, 0, IoOp::Read, 2, 4);
        // At 3.35 ms the segment has sectors 2 to 32. A hit of sector 2 has the bus at 3.75 ms, so
        // there is no room for sectors 34 to 37, which pass until then. They are read from 13.4 ms
        // on.
        response_time(&mut drive, at, IoOp::Read, 2, 4);
        response_time(&mut drive, at + 10_500, IoOp::Read, 45, 1)
    };
    // Sector 45 passes at 14.5 ms, or it was read when it passed at 4.5 ms.
    assert_eq!(ends(false, 3350), 14_600 + 10 - 13_850);
    assert_eq!(ends(true, 3350), 400 + 10);
    // At 3.45 ms the head is in sector 34, which is read; the segment cannot hold those behind it.
    assert_eq!(ends(false, 3450), 14_600 + 10 - 13_950);
    assert_eq!(ends(true, 3450), 400 + 10);
}

#[test]
fn room_for_a_sector_counts_when_the_sector_begins() {
    let mut full = config();
    full.buffer.read_ahead = ReadAhead::Sectors(40);
    full.buffer.segment_sectors = 32;
    full.buffer.sector_buffer = true;
    full.overheads.read_hit = twice(us(110));
    let mut drive = drive(&full);
    response_time(&mut drive, 0, IoOp::Read, 2, 4);
    // A hit of sector 2 has the bus at 3.46 ms. Sector 34 passes from 3.4 to 3.5 ms. Sector 2, in
    // whose place it goes, has left at 3.47 ms, too late.
    response_time(&mut drive, 3350, IoOp::Read, 2, 8);
    assert_eq!(response_time(&mut drive, 13_850, IoOp::Read, 45, 1), 14_600 + 10 - 13_850);
}

#[test]
fn the_spindle_falls_behind_as_its_angle_is_rounded_down() {
    let late = |per_track, sectors| {
        let mut config = config();
        (config.buffer.keeps_data, config.buffer.read_ahead) = (false, ReadAhead::None);
        let Zones::Table(zones) = &mut config.geometry.zones else { panic!("a table") };
        zones[0].sectors_per_track = per_track;
        config.geometry.sectors = u64::from(200 * per_track).into();
        let mut drive = drive(&config);
        let mut done = vec![];
        for id in 0..=1000 {
            let len = SECTOR * sectors;
            drive.submit(us(20_000 * id), id, Request::new(IoOp::Read, SECTOR * 32, len));
            drive.step(&mut done);
        }
        (done[1000].at - done[0].at - us(20_000 * 1000)).0
    };
    // A step is 0.596 ns. The angle is rounded down twice in a positioning. Sectors of a power of
    // two are whole steps; of a hundred, each is almost a step more than it counts.
    assert!((500..1200).contains(&late(128, 1)), "{}", late(128, 1));
    assert!((500..1200).contains(&late(128, 16)), "{}", late(128, 16));
    assert!((9500..11_000).contains(&late(100, 16)), "{}", late(100, 16));
}

#[test]
fn a_track_that_is_read_later_than_planned_is_counted_once() {
    let mut slow = config();
    slow.buffer.read_ahead = ReadAhead::None;
    slow.bus.read_sector = us(300);
    let mut drive = drive(&slow);
    // The bus takes three times as long as the head, and the segment has 64 sectors: the head
    // waits for room on each of the three tracks, and reads the tracks behind later. It goes to
    // the other surface, and to the next cylinder.
    let took = response_time(&mut drive, 0, IoOp::Read, 0, 250);
    assert!(took > 250 * 300, "{took}");
    let stats = drive.stats();
    assert_eq!((stats.positionings, stats.seeks), (3, 1));
    let (seek, transfer) = (stats.seek_time, stats.transfer_time);
    assert_eq!((tens_of_us(seek), tens_of_us(transfer)), (1000 + 2100, 250 * 100));
}

#[test]
fn a_queue_is_served_in_the_order_of_its_policy() {
    let order = |policy, length| {
        let mut queued = config();
        queued.queue = QueueConfig { length, policy, ..QueueConfig::default() };
        let read = |start| (0, IoOp::Read, start, 1);
        // Sector 8000 is on the arm first; the sectors of a cylinder are 200.
        let reads = [8000, 16_000, 9000, 4000, 8600].map(read);
        completions(&queued, &reads).iter().map(|(id, _)| *id).collect::<Vec<_>>()
    };
    assert_eq!(order(QueuePolicy::Fcfs, 5), [0, 1, 2, 3, 4]);
    assert_eq!(order(QueuePolicy::Sstf, 5), [0, 4, 2, 3, 1]);
    assert_eq!(order(QueuePolicy::CylinderSstf, 5), [0, 4, 2, 3, 1]);
    // What lies ahead comes first; then what lies behind.
    assert_eq!(order(QueuePolicy::Look, 5), [0, 4, 2, 1, 3]);
    assert_eq!(order(QueuePolicy::CLook, 5), [0, 4, 2, 1, 3]);
    assert_eq!(order(QueuePolicy::ArmDistance, 5), [0, 4, 2, 3, 1]);
    // The host is first come, first served without a queue of its own; a queue of 2 sees the next.
    assert_eq!(order(QueuePolicy::Sstf, 1).len(), 5);
}

#[test]
fn a_drive_that_holds_its_bus_has_one_command_at_a_time() {
    let mut held = config();
    (held.bus.held, held.buffer.immediate_report) = (true, false);
    let requests = [(0, IoOp::Read, 5000, 8), (1, IoOp::Write, 200, 8), (2, IoOp::Read, 9000, 8)];
    let one = completions(&held, &requests);
    held.queue.length = 8;
    assert_eq!(completions(&held, &requests), one);
    // Each is completed before the next one begins.
    let ids: Vec<_> = one.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [0, 1, 2]);
}
