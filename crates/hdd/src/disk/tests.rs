//! Times of each step of a request, compared with arithmetic by hand. The disk is the small one of
//! `testing`: 10 ms per revolution, 10 us per sector on the outer cylinders, 1 us per sector on the
//! link, 0.1 ms of overhead per command.

use super::testing::small;
use super::{Disk, DiskConfig, Zones};
use crate::drive::{Drive, DriveConfig, StripeConfig};
use gordon_blockio::{Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_units::{Bytes, Ns};

fn us(x: u64) -> Ns {
    Ns(x * 1000)
}

fn request(op: IoOp, start: u64, sectors: u64) -> Request {
    Request::new(op, SECTOR * start, SECTOR * sectors)
}

const FLUSH: Request = Request::FLUSH;

/// Submits (microsecond, request) in order, stepping the disk in between, and runs the disk until
/// it is quiescent. Returns the completion times in nanoseconds.
fn run(config: &DiskConfig, requests: &[(u64, Request)]) -> (Vec<u64>, Disk) {
    let mut disk = Disk::new(config).unwrap();
    let mut done: Vec<Completion> = Vec::new();
    for (id, &(at, request)) in requests.iter().enumerate() {
        while disk.next_event().is_some_and(|next| next < us(at)) {
            disk.step(&mut done);
        }
        disk.submit(us(at), id as u64, request);
    }
    disk.run_until(Ns::MAX, &mut done);
    assert!(done.windows(2).all(|w| w[0].at <= w[1].at), "{done:?}");
    done.sort_by_key(|c| c.id);
    assert!(done.iter().map(|c| c.id).eq(0..requests.len() as u64), "{done:?}");
    (done.iter().map(|c| c.at.0).collect(), disk)
}

fn without_read_ahead() -> DiskConfig {
    let mut config = small();
    config.cache.read_ahead = Bytes::ZERO.into();
    config
}

#[test]
fn a_read_waits_for_its_sector_and_streams_to_the_host() {
    // Ready at 0.1 ms; sector 500 passes at 5 ms; 8 sectors take 80 us; the last transfer 1.
    let (done, disk) = run(&without_read_ahead(), &[(0, request(IoOp::Read, 500, 8))]);
    assert_eq!(done, [5_081_000]);
    let stats = disk.stats();
    assert_eq!((stats.requests, stats.seeks, stats.cache_hits), (1, 0, 0));
    assert_eq!((stats.seek_time, stats.rotation_time), (us(0), us(4900)));
    assert_eq!(stats.transfer_time, us(80));
    let at_work = Usage { read: us(4980), ..Usage::default() };
    assert_eq!(disk.usage(), at_work);
}

#[test]
fn a_read_elsewhere_seeks_first() {
    // LBA 2000 is sector 0 of cylinder 1, at course 2 x 10 + 2 + 3 = 25 ms, angle 5 ms. The command
    // is ready at 0.1 ms, the arm at 1.1; the transfer begins at 5, 10 sectors take until 5.1, and
    // the last link transfer 1 us.
    let (done, disk) = run(&without_read_ahead(), &[(0, request(IoOp::Read, 2000, 10))]);
    assert_eq!(done, [5_101_000]);
    let stats = disk.stats();
    assert_eq!((stats.seeks, stats.seek_time, stats.rotation_time), (1, us(1000), us(3900)));
}

#[test]
fn a_transfer_continues_over_tracks_and_cylinders() {
    // 10 sectors to the end of the track at 10 ms, the skew of 2 ms, 10 sectors.
    let (done, _) = run(&without_read_ahead(), &[(0, request(IoOp::Read, 990, 20))]);
    assert_eq!(done, [12_101_000]);
    // The last 10 sectors of head 1 are at 2 + 9.9 ms, angle 1.9. The head switch ends at 1.1 ms.
    // Then 1.9 + 0.1, the cylinder skew of 3 ms, 0.1.
    let (done, _) = run(&without_read_ahead(), &[(0, request(IoOp::Read, 1990, 20))]);
    assert_eq!(done, [5_101_000]);
    // Over the zone boundary: 199,990 is the first of the last 10 sectors of cylinder 99, head 1,
    // at course 99 x 25 + 12 + 9.9 ms, angle 6.9. For any seek time from cylinder 0: 6.9 + 0.1, 3,
    // and 10 sectors of 20 us, modulo a revolution 10.2 and the end of the link transfer.
    let (done, disk) = run(&without_read_ahead(), &[(0, request(IoOp::Read, 199_990, 20))]);
    assert_eq!(done[0] % 10_000_000, 201_000);
    assert_eq!(disk.stats().transfer_time, us(100 + 3000 + 200));
}

#[test]
fn read_ahead_serves_fetched_data_and_data_in_flight() {
    let reads = [
        (0, request(IoOp::Read, 500, 8)), // done at 5.081 ms; the head reads ahead from 5.08
        // Ready at 5.181: 10 more sectors are read, 508..518. 8 us on the link.
        (5081, request(IoOp::Read, 508, 8)),
        // Ready at 5.289: 508..528 are read. Sector 530 passes at 5.08 + 0.22, and 1 us more.
        (5189, request(IoOp::Read, 520, 10)),
    ];
    let (done, disk) = run(&small(), &reads);
    assert_eq!(done, [5_081_000, 5_189_000, 5_301_000]);
    let stats = disk.stats();
    assert_eq!((stats.cache_hits, stats.read_ahead_hits, stats.seeks), (1, 2, 0));
    // The head continued to 100 sectors beyond the last read: 500..630 in total.
    assert_eq!(stats.transfer_time, us(1300));
    assert_eq!(disk.usage().read, us(4900 + 1300));
}

#[test]
fn read_ahead_gives_way_to_a_read_elsewhere() {
    let reads = [
        (0, request(IoOp::Read, 500, 8)),
        // Ready at 5.2 ms: 12 sectors were read ahead. Sector 100 passes at 11 ms.
        (5100, request(IoOp::Read, 100, 8)),
        // Done at 11.081. The sectors read ahead before are still in the cache: 8 us.
        (20_000, request(IoOp::Read, 508, 12)),
    ];
    let (done, _) = run(&small(), &reads);
    assert_eq!(done, [5_081_000, 11_081_000, 20_112_000]);
}

#[test]
fn queued_reads_of_the_same_sectors_need_no_second_pass() {
    let same = request(IoOp::Read, 500, 8);
    let (done, disk) = run(&small(), &[(0, same), (0, same), (0, request(IoOp::Read, 504, 8))]);
    // The second waits for the link behind the first, from 5.080 ms on; the last sectors of the
    // third pass at 5.12 ms.
    assert_eq!(done, [5_081_000, 5_089_000, 5_121_000]);
    assert_eq!(disk.stats().rotation_time, us(4900));
}

#[test]
fn queued_sequential_reads_lose_no_revolution() {
    // Sector 500 passes at 5 ms, 80 us each; with read-ahead or without.
    let reads = [500, 508, 516, 524].map(|start| (0, request(IoOp::Read, start, 8)));
    for config in [without_read_ahead(), small()] {
        let (done, disk) = run(&config, &reads);
        assert_eq!(done, [5_081_000, 5_161_000, 5_241_000, 5_321_000]);
        assert_eq!(disk.stats().rotation_time, us(4900));
    }
    // Over the end of a track they wait for its skew of 2 ms, half of it during the head switch.
    let reads = [980, 990, 1000].map(|start| (0, request(IoOp::Read, start, 10)));
    let (done, disk) = run(&without_read_ahead(), &reads);
    assert_eq!(done, [9_901_000, 10_001_000, 12_101_000]);
    assert_eq!(disk.stats().rotation_time, us(9700 + 1000));
}

#[test]
fn a_write_is_acknowledged_from_memory_and_a_flush_waits_for_the_medium() {
    let requests = [
        (0, request(IoOp::Write, 100, 8)), // 0.1 ms and 8 us on the link
        (108, FLUSH),                      // ready at 0.208; sector 100 passes at 1 ms, 80 us
    ];
    let (done, disk) = run(&small(), &requests);
    assert_eq!(done, [108_000, 1_080_000]);
    assert_eq!(disk.usage(), Usage { write: us(1080 - 108), ..Usage::default() });
    assert_eq!(disk.stats().destages, 1);
}

#[test]
fn a_write_includes_the_settle_time() {
    // To head 1: 1 + 0.5 ms from 0.108, sector 0 is there at 2 ms. To cylinder 1: 1.5 ms, at 5 ms.
    for (lba, done_at) in [(1000, 2_080_000), (2000, 5_080_000)] {
        let (done, disk) = run(&small(), &[(0, request(IoOp::Write, lba, 8)), (108, FLUSH)]);
        assert_eq!(done[1], done_at);
        assert_eq!(disk.stats().seek_time, us(1500));
    }
}

#[test]
fn nothing_passes_a_flush() {
    let requests = [
        (0, request(IoOp::Write, 100, 8)),
        (1, FLUSH),
        (2, request(IoOp::Write, 5000, 8)), // 0.108 ms after the flush
        (3, request(IoOp::Discard, 0, 8)),  // 0.1 ms of overhead after that of the write
    ];
    let (done, _) = run(&small(), &requests);
    assert_eq!(done, [108_000, 1_080_000, 1_188_000, 1_280_000]);
    // Without dirty data, a flush costs only its overhead.
    assert_eq!(run(&small(), &[(0, FLUSH)]).0, [100_000]);
}

#[test]
fn written_data_are_read_from_the_cache_before_and_after_the_destage() {
    let requests = [
        (0, request(IoOp::Write, 100, 8)),
        (200, request(IoOp::Read, 102, 6)), // while it is being written
        (9000, request(IoOp::Read, 100, 8)), // long after
    ];
    let (done, disk) = run(&small(), &requests);
    assert_eq!(done[1..], [306_000, 9_108_000]);
    assert_eq!((disk.stats().cache_hits, disk.stats().read_ahead_hits), (2, 0));
}

#[test]
fn neighbouring_writes_go_to_the_medium_in_one_operation() {
    // All four are in memory before the first can be destaged, since a read keeps the head busy.
    let mut requests = vec![(0, request(IoOp::Read, 500, 8))];
    requests.extend([116, 100, 108, 124].map(|lba| (1, request(IoOp::Write, lba, 8))));
    let mut config = without_read_ahead();
    config.interface.queue_depth = 8.into();
    let (_, disk) = run(&config, &requests);
    assert_eq!((disk.stats().destages, disk.stats().sectors_destaged), (1, 32));
}

#[test]
fn a_full_cache_admits_writes_at_the_rate_of_the_medium() {
    // There is space for 1024 sectors, destaged 128 at a time. The second write of 1024 needs all
    // of it, so the first must be on the medium. That takes from 0 ms of the second revolution to
    // the end of sector 1023: a track, the skew and 24 sectors, 12.24 ms.
    let requests = [(0, request(IoOp::Write, 0, 1024)), (0, request(IoOp::Write, 9000, 1024))];
    let (done, _) = run(&small(), &requests);
    // 0.1 ms and 1024 us; destage from 10 ms to 22.24; 1024 us on the link.
    assert_eq!(done, [1_124_000, 23_264_000]);
    // A write of 4096, larger than the cache, is transferred in pieces, at the rate of the medium.
    let (done, disk) = run(&small(), &[(0, request(IoOp::Write, 0, 4096))]);
    // Its last piece of 1024 follows 3072 sectors: 3 tracks, 2 head and 1 cylinder switch, 72.
    let medium = 10_000 + 10_000 + 2000 + 10_000 + 3000 + 10_000 + 2000 + 720;
    assert!(done[0] >= us(medium + 1024).0, "{done:?}");
    assert_eq!(disk.stats().sectors_destaged, 4096);
}

#[test]
fn the_drive_holds_at_most_queue_depth_commands() {
    // Queue depth 1: in the order of arrival, 9 ms, then nearly a revolution to 1 ms. Queue depth
    // 3: the nearer one first.
    let requests = [
        (0, request(IoOp::Read, 900, 8)),
        (0, request(IoOp::Read, 500, 8)),
        (0, request(IoOp::Read, 200, 8)),
    ];
    let mut config = without_read_ahead();
    config.interface.queue_depth = 1.into();
    assert_eq!(run(&config, &requests).0, [9_081_000, 15_081_000, 22_081_000]);
    config.interface.queue_depth = 3.into();
    // The first is in progress when the others are ready.
    assert_eq!(run(&config, &requests).0, [9_081_000, 15_081_000, 12_081_000]);
}

#[test]
#[should_panic(expected = "ends beyond")]
fn a_request_beyond_the_capacity_panics() {
    Disk::new(&small()).unwrap().submit(Ns::ZERO, 7, request(IoOp::Read, 299_999, 2));
}

#[test]
fn with_write_through_a_write_is_done_when_it_is_on_the_medium() {
    let mut config = without_read_ahead();
    config.cache.write_through = true;
    // In memory at 0.102 ms; sector 300 passes at 3 ms, two sectors take 20 us.
    let (done, _) = run(&config, &[(0, request(IoOp::Write, 300, 2))]);
    assert_eq!(done, [3_020_000]);
    // Both are on one track and take one revolution: the second is nearer when both are in memory.
    // The flush finds no dirty data and costs only its overhead.
    let two = [(0, request(IoOp::Write, 300, 2)), (0, request(IoOp::Write, 200, 2)), (0, FLUSH)];
    let (done, disk) = run(&config, &two);
    assert_eq!((done[0], done[1]), (3_020_000, 2_020_000 + 10_000_000));
    assert_eq!((done[2], disk.stats().destages), (12_120_000, 2));
    // An adjacent write continues without waiting for a revolution.
    let two = [(0, request(IoOp::Write, 300, 2)), (1000, request(IoOp::Write, 302, 3))];
    let (done, disk) = run(&config, &two);
    assert_eq!((done, disk.stats().destages), (vec![3_020_000, 3_050_000], 2));
    // A read does not starve the write, but waits for it.
    let mixed = [(0, request(IoOp::Write, 300, 2)), (0, request(IoOp::Read, 600, 1))];
    let (done, _) = run(&config, &mixed);
    assert_eq!(done, [3_020_000, 6_011_000]);
}

#[test]
fn a_durable_write_is_done_when_it_is_on_the_medium_and_others_in_the_cache() {
    let durable = |start| Request { durable: true, ..request(IoOp::Write, start, 2) };
    let config = without_read_ahead();
    let both = [(0, durable(300)), (0, request(IoOp::Write, 200, 2))];
    let (done, _) = run(&config, &both);
    // In memory at 0.102 and 0.202 ms. Sector 300 passes at 3 ms, two sectors take 20 us.
    assert_eq!(done, [3_020_000, 202_000]);
    // The same as one disk of a stripe and behind a queue that merges.
    let drive = Drive::new(&DriveConfig::Config(Box::new(config)), None).unwrap();
    let stripe =
        StripeConfig { disks: 2, coalesce: Some(Bytes(1 << 20)), ..StripeConfig::default() };
    let mut drive = drive.striped(stripe).unwrap();
    let mut done = vec![];
    drive.submit(Ns::ZERO, 0, durable(0));
    drive.submit(Ns::ZERO, 1, request(IoOp::Write, 2, 2));
    drive.run_until(Ns::MAX, &mut done);
    let at = |id| done.iter().find(|one| one.id == id).unwrap().at;
    assert!(at(1) < Ns(1_000_000) && at(0) > Ns(9_000_000), "{done:?}");
}

#[test]
fn transfers_that_start_at_a_remapped_sector_end() {
    let mut config = without_read_ahead();
    let Zones::Table(zones) = &mut config.geometry.zones else { panic!("a table") };
    (zones[0].spares, zones[0].remapped) = (10, vec![(300, 199_999), (199_000, 5)]);
    config.geometry.sectors = 299_990.into();
    let all = [(0, 300), (100_000, 298), (200_000, 199_000), (300_000, 198_990)];
    let reads = all.map(|(at, start)| (at, request(IoOp::Read, start, 20)));
    let written = all.map(|(at, start)| (500_000 + at, request(IoOp::Write, start, 20)));
    let (done, disk) = run(&config, &[reads, written].concat());
    // From sector 300 on: the head first goes to the inner end of the zone.
    assert!(done[0] > 3_200_000 && done.iter().all(|at| *at < 1_000_000_000), "{done:?}");
    assert_eq!(disk.stats().sectors_destaged, 80);
}
