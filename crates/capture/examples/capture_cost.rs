//! Measures the cost of capture with a job that burns CPU and does many small direct reads and
//! writes, with and without capture.
//!
//! Usage: `cargo run --release -p gordon-capture --example capture_cost [SECONDS]`, as root for the
//! block log. It works in the current folder, which should be on a real disk.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

use gordon_capture::{CaptureError, CaptureOptions, NoObserver, record};
use gordon_trace::{BlockIo, Trace};
use gordon_units::{Bytes, Ns};
use std::fs;
use std::path::Path;
use std::process::Command;
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
        "{name:<5}  {:>8}  {wall:>6.2}  {requests:>8}  {:>8.0}  {:>4}  {cost:>13.3}  {core:>8.2}%  {:>5.2}%",
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
