//! Speed of the generators of corpora from the installed packages, in a folder in memory.
//!
//! cargo run --release -p gordon-workload --example corpus_rate -- [text|web|numbers|records] [SIZE]
#![allow(clippy::print_stdout)] // a program

use gordon_units::{Bytes, Progress};
use gordon_workload::{CorpusConfig, CorpusKind, CorpusManifest, generate_corpus};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A size that takes no time but that of learning the models.
const SMALL: Bytes = Bytes(4 << 20);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_else(|| "text".into());
    let size: Bytes = args.next().unwrap_or_else(|| "2GB".into()).parse()?;
    let kind: CorpusKind = serde_json::from_value(kind.into())?;
    let (learning, _) = timed(kind, SMALL)?;
    let (all, manifest) = timed(kind, size)?;
    #[allow(clippy::cast_precision_loss)] // a report
    let rate = (manifest.bytes - SMALL.0) as f64 / (all - learning) / 1e6;
    println!(
        "{} bytes in {all:.2} s: {learning:.2} s to learn, then {rate:.0} MB/s",
        manifest.bytes
    );
    Ok(())
}

/// Seconds of a corpus, which is removed.
fn timed(kind: CorpusKind, size: Bytes) -> Result<(f64, CorpusManifest), Box<dyn Error>> {
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
    let start = Instant::now();
    let manifest = generate_corpus(&config, &Progress::default())?;
    Ok((start.elapsed().as_secs_f64(), manifest))
}
