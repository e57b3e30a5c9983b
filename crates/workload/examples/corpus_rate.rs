//! Speed of the generators of corpora from the installed packages, in a folder in memory.
//!
//! cargo run --release -p gordon-workload --example corpus_rate -- [text|web|numbers|records]
//! [SIZE]
#![allow(clippy::print_stdout)] // a program

use gordon_units::{Bytes, Progress};
use gordon_workload::{CorpusConfig, CorpusKind, generate_corpus};
use rustix::time::ClockId;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_else(|| "text".into());
    let size: Bytes = args.next().unwrap_or_else(|| "2GB".into()).parse()?;
    let kind: CorpusKind = serde_json::from_value(kind.into())?;
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
    let progress = Progress::default();
    let start = now();
    let (learned, manifest) = thread::scope(|scope| {
        let made = scope.spawn(|| generate_corpus(&config, &progress));
        while progress.progress().0 == 0 && !made.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        (now(), made.join())
    });
    let end = now();
    let manifest = manifest.map_err(|_| "the generator has panicked")??;
    #[allow(clippy::cast_precision_loss)] // a report
    let megabytes = manifest.bytes as f64 / 1e6;
    println!(
        "learned in {:.2} s ({:.2} s CPU); then {megabytes:.0} MB in {:.2} s ({:.2} s CPU): \
         {:.0} MB/s, {:.0} MB per CPU second",
        learned.0 - start.0,
        learned.1 - start.1,
        end.0 - learned.0,
        end.1 - learned.1,
        megabytes / (end.0 - learned.0),
        megabytes / (end.1 - learned.1)
    );
    Ok(())
}

/// Seconds of the clock, and of CPU time of this process.
#[allow(clippy::cast_precision_loss)] // a report
fn now() -> (f64, f64) {
    let seconds = |clock| {
        let now = rustix::time::clock_gettime(clock);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    };
    (seconds(ClockId::Monotonic), seconds(ClockId::ProcessCPUTime))
}
