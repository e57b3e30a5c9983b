//! Measures the cost of capture with a job that burns CPU and does many small direct reads and
//! writes, with and without capture; then that of a capture of eight nodes.
//!
//! Usage: `cargo run --release -p gordon-capture --example capture_cost [SECONDS]`, as root for the
//! block log. It works in the current folder, which should be on a real disk.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

use gordon_capture::nodes::{NodeOptions, NodesOptions, ScopeOptions, start};
use gordon_capture::{CaptureError, CaptureOptions, NoObserver, record};
use gordon_trace::{BlockIo, Profile, Trace};
use gordon_units::{Bytes, Ns};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Instant;

/// The shell script of the job: two readers of 512 bytes at a time, which read the file `turns`
/// times each, and a writer of blocks of 4 KiB.
fn job(dir: &Path, turns: u32) -> String {
    format!(
        "cd {}; one() {{ i=0; while [ $i -lt {turns} ]; do \
         dd if=f of=/dev/null bs=512 iflag=direct status=none; i=$((i+1)); done; }}; \
         one & one & dd if=/dev/zero of=g bs=4k count={} oflag=direct status=none & wait",
        dir.display(),
        turns * 2000,
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turns: u32 = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let dir = std::env::current_dir()?.join(format!("capture-cost-{}", std::process::id()));
    fs::create_dir(&dir)?;
    fs::write(dir.join("f"), vec![1; 4 << 20])?;
    let result = measure(&dir, turns);
    fs::remove_dir_all(&dir)?;
    Ok(result?)
}

fn measure(dir: &Path, turns: u32) -> Result<(), CaptureError> {
    println!("job    interval  wall s  requests  a second  lost  capture CPU s  of a core  of all");
    let busy = job(dir, turns);
    let started = Instant::now();
    let status = Command::new("sh").args(["-c", &busy]).status();
    assert!(status.is_ok_and(|s| s.success()), "the job runs");
    println!("busy       none  {:>6.2}", started.elapsed().as_secs_f64());
    for (name, script) in [("busy", busy.as_str()), ("sleep", "sleep 5")] {
        for interval in [Ns::SECOND, Ns(100_000_000)] {
            one(dir, name, script, interval)?;
        }
    }
    println!("nodes        job    wall s  capture CPU s  of a core  of all");
    for (name, script) in [("busy", busy.as_str()), ("sleep", "sleep 5")] {
        nodes(dir, name, script)?;
    }
    Ok(())
}

/// Number of nodes that are captured at the same time.
const NODES: usize = 8;

/// Runs the job next to a capture of eight nodes with three processes each; one node is the job.
fn nodes(dir: &Path, name: &str, script: &str) -> Result<(), CaptureError> {
    let idle = "sleep 600 & sleep 600 & wait";
    let mut children: Vec<Child> = Vec::new();
    for _ in 1..NODES {
        children.extend(Command::new("sh").args(["-c", idle]).process_group(0).spawn());
    }
    let mut job = Command::new("sh").args(["-c", &format!("sleep 0.1; {script}")]).spawn();
    let roots = children.iter().chain(&job).map(Child::id);
    let scopes = roots.enumerate().map(|(number, pid)| {
        let (name, out) = (format!("node-{number}"), dir.join(format!("{name}-node-{number}")));
        ScopeOptions::Node(NodeOptions { name, out, processes: vec![pid], ..Default::default() })
    });
    let options = NodesOptions {
        scopes: scopes.collect(),
        interval_ns: Ns::SECOND.0,
        phase_unix_ns: 0,
        command: Vec::new(),
        profile: Profile::default(),
    };
    let started = Instant::now();
    let running = start(&options)?;
    let status = job.as_mut().map(Child::wait);
    assert!(matches!(status, Ok(Ok(status)) if status.success()), "the job runs");
    let outcome = running.stop();
    let wall = started.elapsed().as_secs_f64();
    for child in &mut children {
        let group = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait();
    }
    let cost = outcome.capture_cpu.as_secs();
    let manifest = outcome.traces.into_iter().next().map(|trace| trace.result).transpose()?;
    let cores = manifest.map_or(1, |manifest| manifest.machine.cores.max(1));
    let core = cost / wall * 100.0;
    println!(
        "{NODES:<11}  {name:<5}  {wall:>6.2}  {cost:>13.3}  {core:>8.2}%  {:>5.2}%",
        core / f64::from(cores)
    );
    Ok(())
}

fn one(dir: &Path, name: &str, script: &str, interval: Ns) -> Result<(), CaptureError> {
    let out = dir.join(format!("{name}-{interval}.trace"));
    let mut options = CaptureOptions::new(out, ["sh", "-c", script]);
    options.interval = interval;
    let manifest = record(&options, &mut NoObserver)?.manifest;
    let block = manifest.part("block.parquet");
    let (requests, bytes) = block.map_or((0, 0), |part| (part.rows, part.bytes));
    let (wall, cost) = (manifest.duration.as_secs(), manifest.capture_cpu.as_secs());
    let core = cost / wall * 100.0;
    println!(
        "{name:<5}  {:>8}  {wall:>6.2}  {requests:>8}  {:>8.0}  {:>4}  {cost:>13.3}  {core:>8.2}%  \
         {:>5.2}%",
        interval.to_string(),
        requests as f64 / wall,
        manifest.lost_events(),
        core / f64::from(manifest.machine.cores.max(1)),
    );
    let started = Instant::now();
    let trace = Trace::open(&options.out)?;
    let (mut moved, mut batch) = (Bytes::ZERO, Vec::new());
    if let Ok(mut reader) = trace.block() {
        while reader.next_batch(&mut batch)? {
            moved += batch.iter().map(BlockIo::bytes).sum::<Bytes>();
        }
    }
    let read = started.elapsed().as_secs_f64();
    println!(
        "       {:.1} bytes a request; read back in {read:.3} s, {moved} moved",
        bytes as f64 / requests.max(1) as f64
    );
    Ok(())
}
