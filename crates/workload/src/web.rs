//! Block logs of generated web servers: SURGE and SPECweb99.
//!
//! Each file starts on a page of [`PAGE`] bytes of one address space, in the order in which the
//! files are made, and each request reads its file whole, in sectors of 512 bytes. A POST adds its
//! record to a log behind the files, and writes the sectors that it touches. `pid` is the client,
//! `process` what was asked for. Times are those at which clients ask, as if replies took none
//! (SURGE), or as long as their line does (SPECweb99): a replay in closed loop has its own.
//!
//! One client's next request follows its last, so memory is that of the files' table and of one
//! group of rows. The same seed gives the same requests on every machine.

use crate::error::WorkloadError;
use crate::request::{ClientModel, FileRequest, RequestKind};
use crate::{specweb99, surge};
use gordon_trace::{BlockFileWriter, BlockFlags, BlockIo, BlockOp, ColumnKind, Columns};
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What files are aligned to.
pub const PAGE: u64 = 4096;
const SECTOR: u64 = 512;
/// Requests between two looks at whether to stop.
const LOOK: u64 = 1 << 16;

/// Whose requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Barford and Crovella's users, as the FlashCache paper has them.
    Surge,
    /// SPEC's benchmark of 1999.
    Specweb99,
}

/// What to generate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebConfig {
    /// Whose requests.
    pub workload: Workload,
    /// Bytes of all files together.
    pub files: Bytes,
    /// Requests of clients.
    pub requests: u64,
    /// Clients, each with one request at a time.
    pub clients: u32,
    /// Every random number follows from it.
    pub seed: u64,
    /// Where the file will lie.
    pub output: PathBuf,
}

/// What was generated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WebReport {
    /// The version of the program, which may change what a seed gives.
    pub version: &'static str,
    /// What was asked for.
    pub config: WebConfig,
    /// Files.
    pub files: u64,
    /// Of these directories; none where there are none.
    pub directories: Option<u64>,
    /// Their bytes.
    pub file_bytes: u64,
    /// What they and the log take of the address space.
    pub span_bytes: u64,
    /// Requests of clients.
    pub requests: u64,
    /// Rows of the file: requests, and the writes of POSTs.
    pub rows: u64,
    /// Bytes of the files asked for.
    pub bytes: u64,
    /// Each time.
    pub mean_bytes: f64,
    /// Requests of each kind.
    pub kinds: Vec<KindCount>,
    /// Files that were asked for.
    pub files_asked: u64,
    /// The part of requests that is for the fifth of all files that has most.
    pub top_fifth: f64,
    /// The part of requests that is for one file, the most popular.
    pub top_file: f64,
    /// From the first request to the last.
    pub duration_s: f64,
}

/// Requests of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// Which.
    pub kind: &'static str,
    /// How many.
    pub requests: u64,
}

fn client_model(config: &WebConfig) -> Result<Box<dyn ClientModel>, WorkloadError> {
    let &WebConfig { workload, files, clients, seed, requests, .. } = config;
    let not = |option, why: String| Err(WorkloadError::Option { option, why });
    if clients == 0 || requests == 0 {
        let why = format!("{requests} of {clients} clients are no load\n  try: at least 1 of each");
        return not("requests", why);
    }
    // Numbers of files have 32 bits, and files are hardly smaller than this on average.
    let most = Bytes(1 << 43);
    let least = match workload {
        Workload::Surge => surge::SMALLEST,
        Workload::Specweb99 => Bytes(specweb99::directory().into_iter().map(u64::from).sum()),
    };
    if files < least || files > most {
        let why = format!("a set of {files} is not between {least} and {most}\n  try: 1.5GB");
        return not("files", why);
    }
    Ok(match workload {
        Workload::Surge => Box::new(surge::Surge::new(files, clients, seed)),
        Workload::Specweb99 => Box::new(specweb99::Specweb99::new(files, clients, seed)),
    })
}

/// Where each file starts, and where the last one's page ends.
fn file_offsets(sizes: &[u32]) -> (Vec<u64>, u64) {
    let mut end = 0;
    let starts = sizes.iter().map(|&size| {
        let start = end;
        end += u64::from(size).next_multiple_of(PAGE);
        start
    });
    (starts.collect(), end)
}

/// Generates `config` into a block log of one file. `report_progress` hears how many requests there are so
/// far, and says whether to go on; nothing is left behind where not.
///
/// # Errors
/// A set that cannot be, a file that cannot be written, a stop ([`WorkloadError::Stopped`]).
pub fn generate(
    config: &WebConfig,
    mut report_progress: impl FnMut(u64) -> bool,
) -> Result<WebReport, WorkloadError> {
    let mut load = client_model(config)?;
    let mut writer = create(&config.output, config.workload)?;
    let processes = RequestKind::ALL.map(|kind| writer.block().process(kind.name()));
    let (starts, end) = file_offsets(load.sizes());
    let mut tally = Tally { asked: vec![0; starts.len()], log: end, ..Tally::default() };
    for number in 0..config.requests {
        if number % LOOK == 0 && !report_progress(number) {
            return Err(WorkloadError::Stopped);
        }
        let asked = load.next();
        let size = u64::from(load.sizes()[asked.file as usize]);
        tally.add(&asked, size);
        let row = |op, from: u64, to: u64| BlockIo {
            at: asked.at,
            device: 0,
            sector: from / SECTOR,
            sectors: u32::try_from(to.div_ceil(SECTOR) - from / SECTOR)
                .expect("sizes have 32 bits"),
            op,
            flags: BlockFlags::default(),
            pid: asked.client,
            process: processes[asked.kind as usize],
            latency: None,
        };
        let start = starts[asked.file as usize];
        writer.block().push(row(BlockOp::Read, start, start + size))?;
        if asked.kind == RequestKind::Post {
            let from = tally.log;
            tally.log += specweb99::RECORD;
            writer.block().push(row(BlockOp::Write, from, tally.log))?;
        }
    }
    let report = tally.report(config, load.sizes());
    let about =
        serde_json::json!({ "format": "gordon-block-log", "version": 1, "generated": report });
    writer.finish(&about)?;
    report_progress(config.requests);
    Ok(report)
}

fn create(output: &Path, workload: Workload) -> Result<BlockFileWriter, WorkloadError> {
    let how = match workload {
        Workload::Surge => "generated: SURGE",
        Workload::Specweb99 => "generated: SPECweb99",
    };
    Ok(BlockFileWriter::create(output, Columns::all(ColumnKind::Estimated, how).block)?)
}

#[derive(Default)]
struct Tally {
    /// Times that each file was asked for.
    asked: Vec<u32>,
    kinds: [u64; 5],
    bytes: u64,
    first: Option<Ns>,
    last: Ns,
    /// Where the log ends.
    log: u64,
}

impl Tally {
    fn add(&mut self, asked: &FileRequest, size: u64) {
        let of = &mut self.asked[asked.file as usize];
        *of = of.saturating_add(1);
        self.kinds[asked.kind as usize] += 1;
        self.bytes += size;
        self.first.get_or_insert(asked.at);
        self.last = asked.at;
    }

    #[allow(clippy::cast_precision_loss)] // ratios
    fn report(mut self, config: &WebConfig, sizes: &[u32]) -> WebReport {
        let requests: u64 = self.kinds.iter().sum();
        self.asked.sort_unstable_by(|a, b| b.cmp(a));
        let top = |files: usize| self.asked[..files].iter().map(|&n| u64::from(n)).sum::<u64>();
        let of_all = |part: u64| part as f64 / requests as f64;
        let kinds =
            RequestKind::ALL.into_iter().zip(self.kinds).filter(|(_, requests)| *requests > 0);
        WebReport {
            version: env!("CARGO_PKG_VERSION"),
            config: config.clone(),
            files: sizes.len() as u64,
            directories: (config.workload == Workload::Specweb99)
                .then(|| specweb99::directories(config.files)),
            file_bytes: sizes.iter().map(|&size| u64::from(size)).sum(),
            span_bytes: self.log,
            requests,
            rows: requests + self.kinds[RequestKind::Post as usize],
            bytes: self.bytes,
            mean_bytes: self.bytes as f64 / requests as f64,
            kinds: kinds
                .map(|(kind, requests)| KindCount { kind: kind.name(), requests })
                .collect(),
            files_asked: self.asked.iter().filter(|&&n| n > 0).count() as u64,
            top_fifth: of_all(top(sizes.len() / 5)),
            top_file: of_all(top(1)),
            duration_s: (self.last.0 - self.first.unwrap_or(self.last).0) as f64 / 1e9,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
