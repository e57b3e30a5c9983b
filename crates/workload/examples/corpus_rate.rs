//! Speed of the generators of corpora from the installed packages, in a folder in memory.
//!
//! cargo run --release -p gordon-workload --example corpus_rate -- [text|web|numbers|records] [SIZE]
#![allow(clippy::print_stdout)] // a program

use gordon_units::{Bytes, Progress};
use gordon_workload::{CorpusConfig, CorpusKind, generate_corpus};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A size that takes hardly any time but that of learning the models.
const SMALL: Bytes = Bytes(4 << 20);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_else(|| "text".into());
    let size: Bytes = args.next().unwrap_or_else(|| "2GB".into()).parse()?;
    let kind: CorpusKind = serde_json::from_value(kind.into())?;
    let learning = timed(kind, SMALL)?;
    let all = timed(kind, size)?;
    #[allow(clippy::cast_precision_loss)] // a report
    let megabytes = (all.bytes - learning.bytes) as f64 / 1e6;
    println!(
        "{} bytes in {:.2} s, {:.2} s of them to learn (CPU: {:.2} s and {:.2} s)",
        all.bytes, all.wall, learning.wall, all.cpu, learning.cpu
    );
    println!(
        "then {:.0} MB/s, and {:.0} MB a CPU second",
        megabytes / (all.wall - learning.wall),
        megabytes / (all.cpu - learning.cpu)
    );
    Ok(())
}

/// Bytes of a corpus, and the seconds that it took.
struct Cost {
    bytes: u64,
    wall: f64,
    cpu: f64,
}

/// Generates a corpus, which is removed.
fn timed(kind: CorpusKind, size: Bytes) -> Result<Cost, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(Path::new("/dev/shm"))?;
    let config = CorpusConfig {
        kind,
        size,
        part_size: Bytes(64 << 20),
        seed: 1,
        from: Vec::new(),
        output: folder.path().join("corpus"),
        threads: None,
        root: PathBuf::from("/"),
    };
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let manifest = generate_corpus(&config, &Progress::default())?;
    let wall = start.elapsed().as_secs_f64();
    Ok(Cost { bytes: manifest.bytes, wall, cpu: cpu_seconds() - cpu })
}

/// CPU time of this process.
#[allow(clippy::cast_precision_loss)] // a report
fn cpu_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
