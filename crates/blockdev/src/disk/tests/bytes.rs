use super::*;
use gordon_blockio::Command;
use gordon_nbd::{AllocationExtent, Op};
use gordon_store::Media;
use gordon_testkit::MemoryMedia;
use std::path::Path;

const MIB: u64 = 1 << 20;

fn served(pace: Pace) -> (Arc<MemoryMedia>, Serving, Client) {
    let memory = Arc::new(MemoryMedia::new(64 * MIB));
    let media = Box::new(Arc::clone(&memory));
    let file = DiskFile::on(Path::new("memory"), media, part()).unwrap();
    let serving = file.start(pace).unwrap();
    let client = Client::of(serving.export());
    (memory, serving, client)
}

fn read(memory: &MemoryMedia, at: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    memory.read(at, &mut bytes).unwrap();
    bytes
}

const FLUSH: Op = Op::Command(Command::Flush);

fn read_at(offset: u64) -> Op {
    Op::Command(Command::Read { offset })
}

fn write(offset: u64, fua: bool) -> Op {
    Op::Command(Command::Write { offset, fua })
}

fn zeroes(offset: u64, length: u64, no_hole: bool, fast: bool) -> Op {
    Op::Command(Command::WriteZeroes { offset, length, fua: false, no_hole, fast })
}

#[test]
fn an_acknowledged_write_is_in_the_file_and_a_flushed_one_survives_a_crash() {
    for pace in [Pace::Full, Pace::Real] {
        let (memory, serving, client) = served(pace);
        // Two batches of many writes. Each write is in the file when it is answered.
        let data = |id: u64| vec![u8::try_from(id).unwrap(); 4096];
        client.send((1..=20).map(|id| (id, write(id * MIB, false), data(id))));
        client.send((21..=40).map(|id| (id, write(id * MIB, false), data(id))));
        for _ in 1..=40 {
            let (id, _, outcome) = client.2.recv().unwrap();
            assert!(matches!(outcome, RequestOutcome::Done), "{outcome:?}");
            assert_eq!(read(&memory, id * MIB, 4096), data(id));
        }
        assert_eq!(read(&memory.crashed(|| false), MIB, 4096), [0; 4096]);
        client.ask(FLUSH, vec![]).unwrap();
        assert_eq!(read(&memory.crashed(|| false), 40 * MIB, 4096), data(40));
        client.ask(write(50 * MIB, true), data(50)).unwrap();
        assert_eq!(read(&memory.crashed(|| false), 50 * MIB, 4096), data(50));
        assert_eq!(client.ask(read_at(50 * MIB), vec![9; 512]), Ok(vec![50; 512]));
        let status = serving.status();
        let hosts = &status.hosts;
        assert_eq!((hosts.reads, hosts.writes, hosts.flushes), (1, 41, 1));
        assert_eq!((hosts.host_bytes_read, hosts.host_bytes_written), (512, 41 * 4096));
        assert_eq!((hosts.in_flight, hosts.failed, hosts.queue_depth.count()), (0, 0, 43));
        assert_eq!(hosts.arrivals_ns.count(), 43);
        let DeviceStatus::Disk(DiskStatus { disks: 1, disk, .. }) = &status.of else { panic!() };
        assert_eq!(
            (disk.is_some(), status.emulation.is_some()),
            (pace == Pace::Real, pace == Pace::Real)
        );
        if let (Some(disk), Some(late)) = (disk, status.emulation) {
            assert_eq!(late.requests, 43);
            assert!(late.got_mean_us >= late.asked_mean_us && late.asked_mean_us > 0.0);
            assert_eq!(disk.sectors_destaged, 41 * 8);
            assert!(disk.writing > 0.0 && disk.writing <= 1.0, "{disk:?}");
        }
        serving.close().unwrap();
    }
}

#[test]
fn the_first_flush_syncs_data_that_were_written_before_serving() {
    let memory = Arc::new(MemoryMedia::new(MIB));
    memory.write(0, &[7; 512]).unwrap();
    let file = DiskFile::on(Path::new("memory"), Box::new(Arc::clone(&memory)), part()).unwrap();
    let serving = file.start(Pace::Full).unwrap();
    Client::of(serving.export()).ask(FLUSH, vec![]).unwrap();
    assert_eq!(read(&memory.crashed(|| false), 0, 512), [7; 512]);
}

#[test]
fn zeroes_and_trims_make_holes_that_block_status_reports() {
    let (memory, _serving, client) = served(Pace::Full);
    client.ask(write(0, false), vec![1; 65536]).unwrap();
    client.ask(zeroes(512, 16384, false, true), vec![]).unwrap();
    assert_eq!(read(&memory, 0, 512), [1; 512]);
    assert_eq!(read(&memory, 512, 16384), [0; 16384]);
    assert_eq!(read(&memory, 16896, 512), [1; 512]);
    assert_eq!(memory.blocks(), 16 - 3);
    // A trim writes zeroes to blocks that it covers only in part.
    let trim = Command::Trim { offset: 32768 + 512, length: 8192, fua: false };
    client.ask(Op::Command(trim), vec![]).unwrap();
    assert_eq!(read(&memory, 32768, 512), [1; 512]);
    assert_eq!(read(&memory, 32768 + 512, 8192), [0; 8192]);
    assert_eq!(read(&memory, 40960 + 512, 512), [1; 512]);
    assert_eq!(memory.blocks(), 16 - 4);
    // `no_hole` keeps the blocks allocated.
    client.ask(zeroes(49152, 8192, true, false), vec![]).unwrap();
    assert_eq!((read(&memory, 49152, 8192), memory.blocks()), (vec![0; 8192], 12));
    assert_eq!(client.ask(zeroes(0, 512, true, true), vec![]), Err(Errno::NotSup));
    let status = Op::Status { offset: 0, length: MIB, one: false };
    client.send([(1, status, vec![])]);
    let (_, _, RequestOutcome::Extents(extents)) = client.2.recv().unwrap() else { panic!() };
    let found =
        extents.iter().map(|&AllocationExtent { length, hole, zero }| (length, hole && zero));
    let found: Vec<_> = found.collect();
    let expected = [(4096, false), (12288, true), (20480, false), (4096, true), (24576, false)];
    assert_eq!(found[..5], expected);
    assert_eq!(found[5..], [(MIB - 65536, true)]);
}

#[test]
fn a_disk_writes_zeroes_like_other_data() {
    let (_memory, serving, client) = served(Pace::Real);
    assert_eq!(client.ask(zeroes(0, 4096, false, true), vec![]), Err(Errno::NotSup));
    client.ask(zeroes(0, 65536, false, false), vec![]).unwrap();
    client.ask(FLUSH, vec![]).unwrap();
    let DeviceStatus::Disk(DiskStatus { disk: Some(disk), .. }) = serving.status().of else {
        panic!()
    };
    assert_eq!(disk.sectors_destaged, 128);
}

#[test]
fn errors_of_the_file_reach_the_client_and_a_failed_sync_ends_writing() {
    for pace in [Pace::Full, Pace::Real] {
        let (memory, serving, client) = served(pace);
        client.ask(write(0, false), vec![1; 4096]).unwrap();
        memory.limit(Some(1));
        assert_eq!(client.ask(write(MIB, false), vec![1; 4096]), Err(Errno::NoSpc));
        memory.limit(None);
        memory.fail_reads(Some(100));
        assert_eq!(client.ask(read_at(0), vec![0; 512]), Err(Errno::Io));
        memory.fail_reads(None);
        memory.fail_syncs(true);
        assert_eq!(client.ask(FLUSH, vec![]), Err(Errno::Io));
        memory.fail_syncs(false);
        // The kernel may have dropped pages that it could not write, and reports that only once.
        assert_eq!(client.ask(FLUSH, vec![]), Err(Errno::Io));
        assert_eq!(client.ask(write(0, false), vec![1; 512]), Err(Errno::Io));
        assert_eq!(client.ask(read_at(0), vec![0; 512]), Ok(vec![1; 512]));
        let status = serving.status();
        assert!(status.read_only.unwrap().contains("sync"));
        assert_eq!((status.hosts.failed, status.medium_errors), (5, 5));
        assert!(serving.close().unwrap_err().to_string().contains("could not be synced"));
    }
}

#[test]
fn files_that_cannot_be_disks_are_refused() {
    let error = |len| {
        let media = Box::new(MemoryMedia::new(len));
        DiskFile::on(Path::new("f"), media, part()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(error(0).contains("empty"));
    assert!(error(1000).contains("1000 bytes"));
    let text = error(5 << 40);
    assert!(text.contains("bytes do not fit on disk") && text.contains("--stripe 6"), "{text}");
}
