//! Each reader with real public files: number of requests, first and last request, total bytes.
//!
//! The files are not part of the repository for legal reasons. They are read from the folder in
//! `GORDON_TRACES`, by default one next to the repository. A test without its file is skipped by
//! name.
#![allow(clippy::unwrap_used, missing_docs)]

use gordon_blockio::IoOp;
use gordon_testkit::skipped;
use gordon_trace::formats::{Format, Order, ReadCounts, ReadOptions, TraceRequest, detect, open};
use gordon_units::{Bytes, Ns};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn file(test: &str, name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("GORDON_TRACES").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    let why = format!("no {}; set GORDON_TRACES to a folder that has it", path.display());
    skipped(&format!("{test}: {why}"));
    None
}

struct Read {
    all: Vec<TraceRequest>,
    counts: ReadCounts,
}

/// Reads a file and detects its format; nothing may be left out.
fn read(path: &Path, format: Format) -> Read {
    let read = read_with(path, format, &ReadOptions::default());
    let requests = read.counts.requests;
    assert_eq!(read.counts, ReadCounts { requests, ..ReadCounts::default() });
    read
}

fn read_with(path: &Path, format: Format, options: &ReadOptions) -> Read {
    assert_eq!(detect(path).unwrap(), format);
    let mut reader = open(path, None, options).unwrap();
    assert_eq!(reader.format(), format);
    let mut all = Vec::new();
    let mut batch = Vec::new();
    while reader.fill(&mut batch).unwrap() {
        all.extend_from_slice(&batch);
    }
    let counts = reader.counts();
    assert_eq!(counts.requests, all.len() as u64);
    assert!(all.is_sorted_by_key(|io| io.at));
    Read { all, counts }
}

fn bytes(all: &[TraceRequest], op: IoOp) -> u64 {
    all.iter().filter(|io| io.op == op).map(|io| io.len.0).sum()
}

fn io(at: u64, op: IoOp, offset: u64, len: u64) -> TraceRequest {
    let (at, offset, len) = (Ns(at), Bytes(offset), Bytes(len));
    TraceRequest {
        at,
        op,
        device: 0,
        offset,
        len,
        latency: None,
        gap: None,
        pid: None,
        durable: false,
    }
}

#[test]
fn mqsim_web_search() {
    let Some(path) = file("mqsim_web_search", "block/wsrch-small.mqsim.trace.gz") else { return };
    let Read { all, counts } = read(&path, Format::MQSIM);
    assert_eq!(counts.requests, 24_783);
    let device = |io: TraceRequest, device| TraceRequest { device, ..io };
    assert_eq!(all[0], io(0, IoOp::Read, 657_728 * 512, 16 * 512));
    let last = io(60_066_625_000 - 11_413_000, IoOp::Read, 34_371_424 * 512, 64 * 512);
    assert_eq!(*all.last().unwrap(), device(last, 1));
    assert_eq!(bytes(&all, IoOp::Read), 382_085_120);
    assert_eq!(bytes(&all, IoOp::Write), 32_768);
}

/// The same requests in their published form: MQSim's file is the beginning of `WebSearch1.spc` of
/// the UMass repository. Requests and MiB per ten seconds agree with those of another reader:
/// `umass-spc-websearch1-workload-shape.json` of DjangoAILab/pve-storage-guard (commit 0d29d5f).
#[test]
fn spc_web_search() {
    let Some(path) = file("spc_web_search", "block/wsrch-small.mqsim.trace.gz") else { return };
    let mqsim = read(&path, Format::MQSIM).all;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.spc");
    let mut text = String::new();
    for io in &mqsim {
        // The first request of the file is at 0.011413 s, and its times are whole microseconds.
        let us = io.at.0 / 1000 + 11_413;
        let letter = if io.op == IoOp::Read { 'R' } else { 'W' };
        let (sector, s, us) = (io.offset.0 / 512, us / 1_000_000, us % 1_000_000);
        writeln!(text, "{},{sector},{},{letter},{s}.{us:06}", io.device, io.len.0).unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let Read { all, .. } = read(&path, Format::SPC);
    assert_eq!(all, mqsim);

    const KNOWN: [(u64, u64); 6] = [
        (4218, 6_432_227),
        (4733, 7_004_688),
        (4109, 6_176_563),
        (3713, 5_203_125),
        (3773, 5_201_562),
        (4214, 6_391_406),
    ];
    for (i, (requests, mib)) in (0..).zip(KNOWN) {
        let ten = all.iter().filter(|io| io.at.0 / 10_000_000_000 == i);
        let bytes: u64 = ten.clone().map(|io| io.len.0).sum();
        assert_eq!(ten.count() as u64, requests);
        // Two figures with six decimals each, times ten seconds of MiB.
        let off = (bytes * 1_000_000).abs_diff(mib * 10 * (1 << 20));
        assert!(off <= 10 << 20, "{bytes} bytes in ten seconds {i}");
    }
}

#[test]
fn vscsi_cloud_physics() {
    let Some(path) = file("vscsi_cloud_physics", "block/cloudPhysicsIO.vscsi.gz") else { return };
    let Read { all, counts } = read(&path, Format::Vscsi);
    assert_eq!(counts.requests, 113_872);
    assert_eq!(all[0], io(0, IoOp::Write, 42_932_745 * 512, 512));
    let last = io(7_200_089_885_000, IoOp::Write, 21_983_308_800, 512);
    assert_eq!(*all.last().unwrap(), last);
    assert_eq!(bytes(&all, IoOp::Read), 1_797_412_352);
    assert_eq!(bytes(&all, IoOp::Write), 2_408_565_760);
    assert_eq!(all.iter().filter(|io| io.op == IoOp::Read).count(), 46_974);
}

fn validation(
    path: &Path,
    first: TraceRequest,
    last: TraceRequest,
    read_bytes: u64,
    write_bytes: u64,
) {
    let Read { all, counts } = read(path, Format::DisksimValidate);
    assert_eq!(counts.requests, 10_000);
    assert_eq!((all[0], *all.last().unwrap()), (first, last));
    assert_eq!(bytes(&all, IoOp::Read), read_bytes);
    assert_eq!(bytes(&all, IoOp::Write), write_bytes);
    // In closed loop, a request is issued one gap after the completion of the previous one.
    for pair in all.windows(2) {
        assert_eq!(pair[1].at, pair[0].at + pair[0].latency.unwrap() + pair[0].gap.unwrap());
    }
}

fn timed(io: TraceRequest, latency: u64, gap: u64) -> TraceRequest {
    TraceRequest { latency: Some(Ns(latency)), gap: Some(Ns(gap)), ..io }
}

#[test]
fn disksim_validate_cheetah() {
    let name = "disk/cheetah9LP/cheetah9LP.trace.gz";
    let Some(path) = file("disksim_validate_cheetah", name) else { return };
    let first = timed(io(0, IoOp::Read, 1_975_456 * 512, 2048), 15_362_000, 56_074_000);
    let last = io(497_607_519_000, IoOp::Write, 12_389_752 * 512, 6144);
    validation(&path, first, timed(last, 1_702_000, 30_743_000), 21_172_224, 11_184_128);
}

#[test]
fn disksim_validate_barracuda() {
    let name = "disk/barracuda/barracuda.trace.gz";
    let Some(path) = file("disksim_validate_barracuda", name) else { return };
    let first = timed(io(0, IoOp::Read, 2_992_396 * 512, 2048), 13_670_000, 35_942_000);
    let last = io(500_570_013_000, IoOp::Read, 952_246_272, 4096);
    validation(&path, first, timed(last, 10_793_000, 37_120_000), 21_032_960, 11_390_976);
}

/// 1,000 lines of hm_0, from the repository ben-manes/caffeine (commit b479ff7).
#[test]
fn msr_sample() {
    let Some(path) = file("msr_sample", "block/msr-cambridge1-sample.csv") else { return };
    let Read { all, counts } = read(&path, Format::MSR);
    assert_eq!(counts.requests, 1000);
    let latency =
        |io: TraceRequest, units: u64| TraceRequest { latency: Some(Ns(units * 100)), ..io };
    assert_eq!(all[0], latency(io(0, IoOp::Write, 9_056_014_336, 2048), 2833));
    let last = all.last().unwrap();
    assert_eq!((last.at, last.op), (Ns(127_233_494_100), IoOp::Read));
    assert_eq!((last.offset, last.len), (Bytes(11_946_549_248), Bytes(4096)));
    assert_eq!(bytes(&all, IoOp::Read), 6_108_672);
    assert_eq!(bytes(&all, IoOp::Write), 3_580_928);
}

/// 50,000 lines from the same repository, unpacked. Their times are not in order.
#[test]
fn tencent_sample() {
    let Some(path) = file("tencent_sample", "block/cloud_storage-sample.csv") else { return };
    let mut strict = open(&path, None, &ReadOptions::default()).unwrap();
    let error = strict.fill(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("line 2: time goes backwards by 1s"), "{error}");
    let sort = ReadOptions { order: Order::Sort, ..ReadOptions::default() };
    let Read { all, counts } = read_with(&path, Format::TENCENT, &sort);
    assert_eq!((counts.requests, counts.clamped), (50_000, 0));
    let first = TraceRequest { device: 1063, ..io(0, IoOp::Read, 7_115_202_560, 65_536) };
    let last =
        TraceRequest { device: 10_799, ..io(1_000_000_000, IoOp::Write, 4_365_783_040, 65_536) };
    assert_eq!((all[0], *all.last().unwrap()), (first, last));
    assert_eq!(bytes(&all, IoOp::Read), 646_755_328);
    assert_eq!(bytes(&all, IoOp::Write), 871_636_992);
}

/// `valid/ascii.trace` of DiskSim 4.0.
#[test]
fn disksim_ascii() {
    let Some(path) = file("disksim_ascii", "disk/ascii.trace") else { return };
    let Read { all, counts } = read(&path, Format::DISKSIM);
    assert_eq!(counts.requests, 100_000);
    let on = |device, io: TraceRequest| TraceRequest { device, ..io };
    assert_eq!(all[0], on(30, io(0, IoOp::Read, 0, 2560)));
    let last = io(1_532_935_854_228, IoOp::Read, 165_456_384, 512);
    assert_eq!(*all.last().unwrap(), on(11, last));
    assert_eq!(bytes(&all, IoOp::Read), 412_875_264);
    assert_eq!(bytes(&all, IoOp::Write), 107_663_872);
}

/// `PBPA/Data/blktrace.txt` of Apress/block-trace-analysis-and-storage-system-optimization.
#[test]
fn blkparse_of_a_disk() {
    let Some(path) = file("blkparse_of_a_disk", "block/apress-blktrace.txt") else { return };
    let Read { all, counts } = read_with(&path, Format::Blkparse, &ReadOptions::default());
    assert_eq!((counts.requests, counts.other_kinds, counts.empty), (170, 49_830, 0));
    let sdb = |io: TraceRequest| TraceRequest { device: 8 << 20 | 16, ..io };
    assert_eq!(all[0], sdb(io(0, IoOp::Read, 739_658_580_992, 131_072)));
    let last = sdb(io(9_352_872_706, IoOp::Write, 998_853_813_248, 466_944));
    assert_eq!(*all.last().unwrap(), last);
    assert_eq!(bytes(&all, IoOp::Read), 9_977_856);
    assert_eq!(bytes(&all, IoOp::Write), 31_252_480);
}
