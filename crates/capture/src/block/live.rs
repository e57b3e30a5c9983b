//! Tests both event sources at the same time, with requests of this machine.

use super::{BlockLogger, BlockRoute, EventSource, PerfEvents, TracefsInstance};
use crate::clock::monotonic;
use gordon_blockio::IoOp;
use gordon_testkit::{is_on_a_disk, skipped};
use gordon_trace::{
    ActivityWriter, BlockIo, BlockLog, BlockWriter, ColumnKind, Columns, MachineInfo, Manifest,
    Sample, Trace, TraceFolder,
};
use gordon_units::{Bytes, Ns};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use std::path::Path;
use std::process::{Command, Stdio};

/// A running block log, and the trace that it is written to.
struct Running {
    folder: TraceFolder,
    activity: ActivityWriter,
    logger: BlockLogger,
}

impl Running {
    fn start(out: &Path, source: Box<dyn EventSource>, start: Ns) -> Self {
        let columns = Columns::all(ColumnKind::Measured, source.how());
        let folder = TraceFolder::create(out).unwrap();
        let mut activity = ActivityWriter::create(&folder, &columns).unwrap();
        activity.push(Sample::default()).unwrap();
        let writer = BlockWriter::create(&folder, columns.block).unwrap();
        let routes = vec![BlockRoute::new(None, writer)];
        Self { folder, activity, logger: BlockLogger::start(source, routes, start).unwrap() }
    }

    /// The logged requests with the names of their processes.
    fn finish(self, out: &Path) -> (BlockLog, Vec<(BlockIo, String)>) {
        let (part, log) = self.logger.finish().pop().unwrap().unwrap();
        let mut manifest = Manifest::new(Vec::new(), Ns::SECOND, MachineInfo::default());
        manifest.parts = self.activity.finish(None).unwrap().into();
        manifest.parts.push(part);
        manifest.block = Some(log);
        self.folder.commit(&manifest).unwrap();
        let trace = Trace::open(out).unwrap();
        let mut reader = trace.block().unwrap();
        let rows: Vec<BlockIo> = reader.by_ref().flat_map(|batch| batch.unwrap()).collect();
        let named = |io: &BlockIo| (*io, reader.names()[io.process as usize].clone());
        (log, rows.iter().map(named).collect())
    }
}

/// Reports that a test is skipped if a source is not available.
fn available<T>(test: &str, source: Result<T, String>) -> Option<T> {
    source.inspect_err(|why| skipped(&format!("{test}: {why}"))).ok()
}

/// A folder on the disk of the build; the default temporary folder may be in memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap()
}

/// Writes `count` blocks of 4 KiB with direct I/O, each as a request of its own, and syncs. Returns
/// the process number of the writer.
fn job(test: &str, dir: &Path, count: u32) -> Option<u32> {
    if !is_on_a_disk(dir) {
        return available(test, Err("the build is not on a disk".to_owned()));
    }
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "of=f", "bs=4k", "oflag=direct", "conv=fsync"]);
    dd.arg(format!("count={count}")).current_dir(dir).stderr(Stdio::null());
    let mut child = dd.spawn().unwrap();
    let done = child.wait().unwrap().success().then_some(child.id());
    available(test, done.ok_or_else(|| "the disk takes no direct writes".to_owned()))
}

#[test]
fn both_sources_see_the_same_requests() {
    const TEST: &str = "both_sources_see_the_same_requests";
    const COUNT: u32 = 500;
    let Some(instance) = available(TEST, TracefsInstance::open(None)) else { return };
    let Some(perf) = available(TEST, PerfEvents::open()) else { return };
    let dir = folder();
    let outs = ["tracefs", "perf"].map(|name| dir.path().join(name));
    let start = monotonic();
    let tracefs = Running::start(&outs[0], Box::new(instance), start);
    let perf = Running::start(&outs[1], Box::new(perf), start);
    let Some(pid) = job(TEST, dir.path(), COUNT) else { return };
    let (logs, rows): (Vec<_>, Vec<_>) =
        [tracefs.finish(&outs[0]), perf.finish(&outs[1])].into_iter().unzip();
    if logs[0].lost_events > 0 {
        return skipped(&format!("{TEST}: this machine is so busy that the kernel lost events"));
    }
    // Requests of other processes may be in only one of the logs, at its start or end. The times of
    // the two sources differ slightly.
    let of_the_job = |rows: &Vec<(BlockIo, String)>| -> Vec<(BlockIo, String)> {
        let rows = rows.iter().filter(|(io, _)| io.pid == pid).cloned();
        rows.map(|(io, name)| (BlockIo { at: Ns::ZERO, process: 0, latency: None, ..io }, name))
            .collect()
    };
    let (ours, theirs) = (of_the_job(&rows[0]), of_the_job(&rows[1]));
    assert_eq!(ours, theirs);
    for (log, rows) in logs.iter().zip(rows) {
        let writes = rows.iter().filter(|(io, _)| io.op == IoOp::Write);
        let bytes: Bytes = writes.clone().map(|(io, _)| io.bytes()).sum();
        assert!(bytes >= Bytes(4096 * u64::from(COUNT)), "{bytes}");
        // The job has waited for all its requests, so a missing latency is a lost completion. Some
        // kernels keep completions from perf (docs/TRACE.md).
        let own = writes.filter(|(io, _)| io.pid == pid);
        let (timed, untimed): (Vec<_>, Vec<_>) = own.partition(|(io, _)| io.latency.is_some());
        assert!(untimed.len() as u64 <= log.lost_events, "{} untimed, {log:?}", untimed.len());
        assert!(timed.iter().all(|(io, name)| io.latency > Some(Ns::ZERO) && name == "dd"));
    }
    // Under a device mapper, kernel workers issue the requests.
    let own = (!ours.is_empty()).then_some(());
    available(TEST, own.ok_or_else(|| "others issued the job's requests".to_owned()));
}

#[test]
fn events_lost_by_a_small_ring_are_counted() {
    const TEST: &str = "events_lost_by_a_small_ring_are_counted";
    const COUNT: u32 = 500;
    // One page per event has space for about 40 records.
    let Some(mut perf) = available(TEST, PerfEvents::with_room(|_| 8192)) else { return };
    let dir = folder();
    // Run on one processor, so that only its ring is used.
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    sched_setaffinity(None, &one).unwrap();
    if job(TEST, dir.path(), COUNT).is_none() {
        return;
    }
    let (mut seen, mut events) = (0, Vec::new());
    for queue in 0..perf.queues() {
        assert!(perf.read(queue, &mut events));
        seen += std::mem::take(&mut events).len() as u64;
    }
    let lost = perf.finish();
    assert!(seen > 0 && lost > 0, "{seen} seen, {lost} lost");
    assert!(seen + lost >= 2 * u64::from(COUNT), "{seen} seen, {lost} lost");
}
