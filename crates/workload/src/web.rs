//! Generates the block log of a web server under SURGE or SPECweb99.
//!
//! The files start on pages of [`PAGE`] bytes in one address space, in the order in which they are
//! created. A request reads a whole file, in sectors of 512 bytes. A POST also appends a record to
//! a log after the files, and writes the sectors that the record touches. In the rows, `pid` is the
//! client and `process` the kind of the request. Times are those at which the clients send
//! requests. Under SURGE replies take no time, under SPECweb99 the time of the connection's
//! bandwidth; a replay in closed loop has its own times.
//!
//! A client has one request at a time, so memory holds only the table of files and one row group.
//! The same seed gives the same requests on every machine.

use crate::error::WorkloadError;
use crate::request::{ClientModel, FileRequest, RequestKind};
use crate::{specweb99, surge};
use gordon_blockio::IoOp;
use gordon_trace::{BlockFileWriter, BlockFlags, BlockIo, ColumnKind, Columns};
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Alignment of files in bytes.
pub const PAGE: u64 = 4096;
const SECTOR: u64 = 512;
/// Number of requests between two calls of the progress callback.
const PROGRESS_INTERVAL: u64 = 1 << 16;

/// The model that generates the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// The users of Barford and Crovella, as the FlashCache paper changed them.
    Surge,
    /// The benchmark SPECweb99.
    Specweb99,
}

/// Description of a load to generate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebConfig {
    /// The model of the clients.
    pub workload: Workload,
    /// Total size of all files.
    pub files: Bytes,
    /// Number of requests.
    pub requests: u64,
    /// Number of clients, each with one request at a time.
    pub clients: u32,
    /// Random seed.
    pub seed: u64,
    /// Path of the block log.
    pub output: PathBuf,
}

/// Description of a generated load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WebReport {
    /// Version of the program. Another version may generate other requests from the same seed.
    pub version: &'static str,
    /// The configuration of the load.
    pub config: WebConfig,
    /// Number of files.
    pub files: u64,
    /// Number of directories; `None` for SURGE.
    pub directories: Option<u64>,
    /// Total size of the files.
    pub file_bytes: u64,
    /// Size of the address space: the files, aligned, and the log.
    pub span_bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Rows of the block log: the requests, and the writes of POSTs.
    pub rows: u64,
    /// Total size of the requested files.
    pub bytes: u64,
    /// Mean size of a request.
    pub mean_bytes: f64,
    /// Number of requests of each kind.
    pub kinds: Vec<KindCount>,
    /// Number of different files requested.
    pub files_asked: u64,
    /// Share of the requests for the most popular fifth of all files.
    pub top_fifth: f64,
    /// Share of the requests for the most popular file.
    pub top_file: f64,
    /// Time from the first request to the last.
    pub duration_s: f64,
}

/// Number of requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KindCount {
    /// Name of the kind.
    pub kind: &'static str,
    /// Number of requests.
    pub requests: u64,
}

fn client_model(config: &WebConfig) -> Result<Box<dyn ClientModel>, WorkloadError> {
    let &WebConfig { workload, files, clients, seed, requests, .. } = config;
    let not = |option, why: String| Err(WorkloadError::Option { option, why });
    if clients == 0 || requests == 0 {
        let why = format!(
            "{requests} requests of {clients} clients are not a load\n  try: at least 1 of each"
        );
        return not("requests", why);
    }
    // File numbers have 32 bits. They suffice, because the mean file is larger than 2 KiB.
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

/// The offset of each file, and the end of the last one, aligned.
fn file_offsets(sizes: &[u32]) -> (Vec<u64>, u64) {
    let mut end = 0;
    let starts = sizes.iter().map(|&size| {
        let start = end;
        end += u64::from(size).next_multiple_of(PAGE);
        start
    });
    (starts.collect(), end)
}

/// Generates the block log that `config` describes. `report_progress` is called with the number of
/// requests so far; if it returns false, generation stops and the file is removed.
///
/// # Errors
/// When the configuration is not valid, the file cannot be written, or the generation was stopped
/// ([`WorkloadError::Stopped`]).
pub fn generate(
    config: &WebConfig,
    mut report_progress: impl FnMut(u64) -> bool,
) -> Result<WebReport, WorkloadError> {
    let mut load = client_model(config)?;
    let mut writer = create(&config.output, config.workload)?;
    let processes = RequestKind::ALL.map(|kind| writer.block().process(kind.name()));
    let (starts, end) = file_offsets(load.sizes());
    let mut tally = Tally { per_file: vec![0; starts.len()], log: end, ..Tally::default() };
    for number in 0..config.requests {
        if number % PROGRESS_INTERVAL == 0 && !report_progress(number) {
            return Err(WorkloadError::Stopped);
        }
        let request = load.next();
        let size = u64::from(load.sizes()[request.file as usize]);
        tally.add(&request, size);
        let row = |op, from: u64, to: u64| BlockIo {
            at: request.at,
            device: 0,
            sector: from / SECTOR,
            sectors: u32::try_from(to.div_ceil(SECTOR) - from / SECTOR)
                .expect("sizes have 32 bits"),
            op,
            flags: BlockFlags::default(),
            pid: request.client,
            process: processes[request.kind as usize],
            latency: None,
        };
        let start = starts[request.file as usize];
        writer.block().push(row(IoOp::Read, start, start + size))?;
        if request.kind == RequestKind::Post {
            let from = tally.log;
            tally.log += specweb99::RECORD;
            writer.block().push(row(IoOp::Write, from, tally.log))?;
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
    /// Number of requests for each file.
    per_file: Vec<u32>,
    kinds: [u64; 5],
    bytes: u64,
    first: Option<Ns>,
    last: Ns,
    /// End of the log.
    log: u64,
}

impl Tally {
    fn add(&mut self, request: &FileRequest, size: u64) {
        let of = &mut self.per_file[request.file as usize];
        *of = of.saturating_add(1);
        self.kinds[request.kind as usize] += 1;
        self.bytes += size;
        self.first.get_or_insert(request.at);
        self.last = request.at;
    }

    #[allow(clippy::cast_precision_loss)] // ratios
    fn report(mut self, config: &WebConfig, sizes: &[u32]) -> WebReport {
        let requests: u64 = self.kinds.iter().sum();
        self.per_file.sort_unstable_by(|a, b| b.cmp(a));
        let top = |files: usize| self.per_file[..files].iter().map(|&n| u64::from(n)).sum::<u64>();
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
            files_asked: self.per_file.iter().filter(|&&n| n > 0).count() as u64,
            top_fifth: of_all(top(sizes.len() / 5)),
            top_file: of_all(top(1)),
            duration_s: (self.last.0 - self.first.unwrap_or(self.last).0) as f64 / 1e9,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
