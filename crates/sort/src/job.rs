//! A complete sort, from input files to an output file.

use crate::Progress;
use crate::SortError;
use crate::context::SortContext;
use crate::file::{CacheMode, SortFile};
use crate::format::{FormatVisitor, LinesConfig, RecordConfig, RecordFormat};
use crate::head::refuse_text;
use crate::incore::InCore;
use crate::mechanism::{Io, serve};
use crate::memory::Buffer;
use crate::output::{SortOutput, Writer, Written};
use crate::passes::Passes;
use crate::plan::{Method, Plan, Transfers};
use crate::queue::IoQueue;
use crate::report::{Clock, SortReport};
use crate::stop::moved;
use crate::stream::Extent;
use crate::target::OutputFile;
use crate::temporary::scratch;
use gordon_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Treatment of an incomplete record at the end of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Partial {
    /// The sort fails with an error.
    #[default]
    Refuse,
    /// The incomplete record is written unchanged at the end of the output.
    Keep,
    /// The incomplete record is discarded.
    Drop,
}

/// Settings of a sort. Only `partial_last` changes the result.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Maximum memory for records and buffers. Default: half of the available memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Folders of temporary files, used in turn. Default: the folder of the output.
    pub temp: Vec<PathBuf>,
    /// Sorting method. Default: `auto`.
    pub method: Method,
    /// Method to sort records in memory. Default: `radix`.
    pub in_core: InCore,
    /// Sizes of transfers.
    pub transfers: Transfers,
    /// Number of sorting threads; 0 for one per core. Default: 0.
    pub threads: usize,
    /// Whether transfers use the page cache. Default: `direct`.
    pub mode: CacheMode,
    /// Mechanism that carries out transfers. Default: `auto`.
    pub io: Io,
    /// Whether to write into an existing output file, to reuse its space on the device. While the
    /// sort runs, the file is neither the old output nor the new one. Default: false.
    pub overwrite: bool,
    /// Treatment of an incomplete record at the end of a file. Default: `refuse`.
    pub partial_last: Partial,
    /// Random seed of the positions at which keys are sampled. Default: 0.
    pub seed: u64,
}

/// A sort: its input, output, format and settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The input files: their concatenation is the input, unless it is striped.
    pub inputs: Vec<PathBuf>,
    /// Treat the inputs as one file striped in units of this size: unit n is in file n mod their
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<Bytes>,
    /// Drop each record whose keys are equal to those of an earlier one, as `sort -u` does. The
    /// last-resort comparison of lines is not a key, and is not used then.
    #[serde(default)]
    pub unique: bool,
    /// The output file.
    pub output: PathBuf,
    /// The record format and its keys.
    #[serde(default)]
    pub records: RecordConfig,
    /// Settings that do not affect the result, except `partial_last`.
    #[serde(default)]
    pub settings: Settings,
}

/// Runs a job once its record format is known.
struct RunVisitor<'a>(&'a Job, &'a Progress);

impl FormatVisitor for RunVisitor<'_> {
    type Output = Result<SortReport, SortError>;

    fn visit<S: RecordFormat>(self, format: &S) -> Self::Output {
        self.0.run_as(format, self.1)
    }
}

/// Maximum number of transfers in flight: a kernel queue holds up to 32,768, but threads have a
/// cost.
const MOST_DEPTH: u32 = 256;

/// Maximum number of sorting threads: more are of no use, and tens of thousands starve each other.
const MOST_THREADS: usize = 1024;

/// Ends the threads of a queue, even if a sort panics.
struct CloseGuard<'a>(&'a IoQueue);

impl Drop for CloseGuard<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The fraction of a sample that its most frequent prefix has.
fn heaviest(sample: &[u128]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable();
    let most = sorted.chunk_by(|a, b| a == b).map(<[u128]>::len).max();
    most.unwrap_or(0) as f64 / sample.len().max(1) as f64
}

/// Half of the memory that is available without swapping.
fn available() -> Result<u64, SortError> {
    let path = Path::new("/proc/meminfo");
    let text = fs::read_to_string(path).map_err(|e| SortError::system(path, "read it", e))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let none = || SortError::impossible("memory", "the system does not report it", "--memory SIZE");
    Ok(kib.ok_or_else(none)? * 1024 / 2)
}

impl Job {
    /// Runs the sort.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written, a device is full, a setting is
    /// invalid, or the user stops the sort. The inputs are then unchanged, and so is an existing
    /// output, unless it was to be overwritten.
    pub fn run(&self, progress: &Progress) -> Result<SortReport, SortError> {
        match &self.records {
            RecordConfig::Lines(lines) if self.unique && !lines.stable => {
                RecordConfig::Lines(LinesConfig { stable: true, ..lines.clone() })
                    .with(RunVisitor(self, progress))?
            }
            records => records.with(RunVisitor(self, progress))?,
        }
    }

    fn run_as<S: RecordFormat>(
        &self,
        format: &S,
        progress: &Progress,
    ) -> Result<SortReport, SortError> {
        if self.settings.threads > MOST_THREADS {
            let what = format!("threads: {}", self.settings.threads);
            let why = format!("more than {MOST_THREADS}");
            return Err(SortError::impossible(what, why, "--threads 0: one a core"));
        }
        let queue = IoQueue::default();
        thread::scope(|scope| {
            // Several for each device that may be read in parallel.
            let devices = self.settings.temp.len().max(self.devices());
            // Limited to the size of a ring.
            let depth =
                u32::try_from(4 + 4 * devices).map_or(MOST_DEPTH, |some| some.min(MOST_DEPTH));
            let _closes = CloseGuard(&queue);
            let io = serve(&queue, scope, self.settings.io, depth)?;
            self.sort(format, (&queue, io), progress)
        })
    }

    /// Number of devices that may be read in parallel.
    fn devices(&self) -> usize {
        if self.stripe.is_some() { self.inputs.len().max(1) } else { 1 }
    }

    /// The extents of the input, and the incomplete record at the end of each file.
    fn extents<S: RecordFormat>(
        &self,
        format: &S,
    ) -> Result<(Vec<Extent>, Vec<Extent>), SortError> {
        let (mut extents, mut partial) = (Vec::new(), Vec::new());
        let mode = self.settings.mode;
        let files = match self.stripe {
            None => self.inputs.iter().map(|path| SortFile::open(path, mode)).collect(),
            Some(unit) => SortFile::open_striped(&self.inputs, unit, mode).map(|file| vec![file]),
        };
        for (file, path) in files?.into_iter().zip(&self.inputs) {
            let file = Arc::new(file);
            let all = file.len()?;
            if self.records == RecordConfig::Benchmark {
                refuse_text(path, all, |head| file.read(0, head))?;
            }
            let record = format.length().map_or(1, |length| length as u64);
            let over = all % record;
            let len = all - over;
            if over > 0 {
                match self.settings.partial_last {
                    Partial::Refuse => {
                        let path = path.clone();
                        return Err(SortError::Partial { path, record, at: len, len: over });
                    }
                    Partial::Keep => {
                        partial.push(Extent { file: file.clone(), offset: len, len: over })
                    }
                    Partial::Drop => {}
                }
            }
            extents.push(Extent { file, offset: 0, len });
        }
        Ok((extents, partial))
    }

    /// The plan of the sort within the memory limit.
    fn plan<S: RecordFormat>(
        &self,
        context: &SortContext<'_, S>,
        extents: &[Extent],
        (sample, record): (&[u128], f64),
    ) -> Result<(u64, Plan), SortError> {
        let memory = self.settings.memory.map_or_else(available, |memory| Ok(memory.0))?;
        let bytes: u64 = extents.iter().map(|extent| extent.len).sum();
        let Settings { method, ref transfers, .. } = self.settings;
        let of = (bytes, extents.len(), self.devices());
        let plan = |method| {
            let found = Plan::new(method, of, record, memory, context.threads, transfers)?;
            Ok::<_, SortError>(Plan { in_core: context.in_core, ..found })
        };
        let mut found = plan(method)?;
        if method == Method::Auto && found.method == Method::Distribute {
            // Records with equal prefixes cannot be distributed by prefix.
            let alike = heaviest(sample) * bytes as f64;
            let is_alike = !context.format.prefix_is_full_key()
                && alike > (found.load.0 * found.workers as u64) as f64;
            // A sample of wide records is too small to give bounds for all buckets; and with
            // `unique`, buckets would have to be written one by one.
            if is_alike || sample.len() < found.buckets || self.unique {
                found = plan(Method::Merge)?;
            }
        }
        Ok((memory, found))
    }

    fn sort<S: RecordFormat>(
        &self,
        format: &S,
        (queue, io): (&IoQueue, Io),
        progress: &Progress,
    ) -> Result<SortReport, SortError> {
        let mut clock = Clock::start(queue);
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.settings.threads == 0 { cores() } else { self.settings.threads };
        let (extents, partial) = self.extents(format)?;
        let away = &AtomicU64::new(0);
        let (Settings { seed, in_core, .. }, unique) = (&self.settings, self.unique);
        let (seed, in_core) = (*seed, *in_core);
        let context = &SortContext {
            format,
            queue,
            progress,
            threads,
            seed,
            in_core,
            unique,
            spilled_hash: away,
        };
        let bytes: u64 = extents.iter().map(|extent| extent.len).sum();
        let (format, sample, record) = context.sample(&extents, true)?;
        let context = &SortContext { format: &format, ..*context };
        let (memory, plan) = self.plan(context, &extents, (&sample, record))?;
        let passes = if plan.method == Method::OnePass { 1 } else { 2 };
        progress.total.store(2 * passes * bytes, Ordering::Relaxed);
        let target = OutputFile::new(
            &self.output,
            self.settings.mode,
            self.settings.overwrite,
            &self.inputs,
        )?;
        // A separator may be missing at the end of each file.
        let added = if format.separator().is_some() { extents.len() as u64 } else { 0 };
        target.file().reserve(bytes + added)?;
        // The output has its place, and nothing was moved.
        moved(progress, 0);
        clock.end("plan");

        let temp = if passes == 1 { Vec::new() } else { self.temp_files()? };
        let files = extents.iter().map(|extent| &extent.file).chain(&temp).chain([target.file()]);
        let direct = files.into_iter().all(|file| file.is_direct());
        let writer =
            Writer::new(queue, progress, plan.output_transfer.0 as usize, plan.output_buffers);
        let output = SortOutput::new(&writer, target.file().clone(), 0);
        let passes = Passes { context, plan: &plan, writer: &writer, output: &output };
        let moved = passes.run(extents, (sample, record), temp, &mut clock)?;
        // Guards against silent loss of records by any other bug.
        let (len, kept) = (moved.bytes, moved.written);
        assert!((bytes..=bytes + added).contains(&len), "{len} bytes of {bytes} were sorted");
        let all = Written { records: moved.records, bytes: len };
        assert!(self.unique || kept == all, "{kept:?} of {all:?} were written");
        let mut end = kept.bytes;
        for rest in &partial {
            // Whole pages of it bypass the page cache.
            let mut buffer = Buffer::new(rest.len as usize);
            let bytes = &mut buffer.get_mut()[..rest.len as usize];
            rest.file.read(rest.offset, bytes)?;
            target.file().write(end, bytes)?;
            end += rest.len;
        }
        target.file().set_len(end)?;
        // An interrupt after the last write leaves the old output, too.
        progress.check()?;
        target.keep()?;
        clock.end("make durable");
        Ok(SortReport {
            memory_bytes: memory,
            plan,
            bytes: len,
            records: moved.records,
            output_records: kept.records,
            output_bytes: kept.bytes,
            longest_record_bytes: moved.longest as u64,
            passes: moved.passes,
            temp_bytes: moved.temp_bytes,
            large_buckets: moved.oversized_buckets,
            partial_bytes: partial.iter().map(|rest| rest.len).sum(),
            direct,
            io,
            phases: clock.phases,
        })
    }

    /// Creates the temporary files, which disappear however the sort ends.
    fn temp_files(&self) -> Result<Vec<Arc<SortFile>>, SortError> {
        let beside = [crate::target::folder(&self.output).to_path_buf()];
        let folders = if self.settings.temp.is_empty() { &beside[..] } else { &self.settings.temp };
        let files = folders.iter().enumerate();
        files.map(|(n, folder)| scratch(folder, n, self.settings.mode).map(Arc::new)).collect()
    }
}
