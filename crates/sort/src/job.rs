//! A whole sort: files in, a file out.

use crate::SortError;
use crate::Watch;
use crate::distribute::{self, Bucket, Space};
use crate::file::{File, Mode};
use crate::merge::{self, Limits};
use crate::one_pass::Loaded;
use crate::output::{Emitter, Output, Writer};
use crate::partition::Partition;
use crate::plan::{Method, Plan, Transfers};
use crate::queue::Queue;
use crate::shape::{Config, Shape, Visitor};
use crate::stream::{Extent, Stream};
use crate::target::Target;
use crate::work::Work;
use gordon_units::Bytes;
use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// What becomes of a part of a record at the end of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Partial {
    /// It is an error.
    #[default]
    Refuse,
    /// It is put at the end of the output, as it is.
    Keep,
    /// It is left out.
    Drop,
}

/// How a sort is carried out; but for `partial_last` nothing here changes its result.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The most memory for records and buffers; without it, half of what is available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Folders of temporary files, which take turns; without any, the output's.
    pub temp: Vec<PathBuf>,
    /// How records come to their places.
    pub method: Method,
    /// Sizes of transfers.
    pub transfers: Transfers,
    /// Threads that sort; 0 for one a core.
    pub threads: usize,
    /// Whether the page cache is gone past.
    pub mode: Mode,
    /// Writes into the file that is there, so that its place on the device is used again: while the sort
    /// runs, it is neither the old nor the new one.
    pub overwrite: bool,
    /// What becomes of a part of a record at the end of a file.
    pub partial_last: Partial,
    /// Of the places where keys are sampled.
    pub seed: u64,
}

/// What is to be sorted, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// One after the other they are the input.
    pub inputs: Vec<PathBuf>,
    /// Where the records go.
    pub output: PathBuf,
    /// What a record is, and its key.
    #[serde(default)]
    pub records: Config,
    /// How.
    #[serde(default)]
    pub settings: Settings,
}

/// A part of a sort: what it moved, and what that cost.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// What was done.
    pub name: &'static str,
    /// Time by the clock.
    pub seconds: f64,
    /// Time of all processors, of the program and the system.
    pub cpu_s: f64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// What a sort did. Times are measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The most memory that it was to take.
    pub memory_bytes: u64,
    /// What was planned.
    pub plan: Plan,
    /// Bytes of records sorted.
    pub bytes: u64,
    /// How many records that is.
    pub records: u64,
    /// How often each byte was written, temporary files and output.
    pub passes: u32,
    /// Bytes that temporary files took.
    pub temp_bytes: u64,
    /// Buckets that did not fit in memory and were merged.
    pub large_buckets: usize,
    /// Bytes of parts of records, kept or left out.
    pub partial_bytes: u64,
    /// Whether input, temporary files and output went past the page cache.
    pub direct: bool,
    /// In order.
    pub phases: Vec<Phase>,
}

/// A job, once it is known what a record is.
struct Run<'a>(&'a Job, &'a Watch);

impl Visitor for Run<'_> {
    type Output = Result<Report, SortError>;

    fn visit<S: Shape>(self, shape: &S) -> Self::Output {
        self.0.run_as(shape, self.1)
    }
}

/// Ends the threads of a queue, also where a sort panics.
struct Close<'a>(&'a Queue);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Times phases.
struct Clock<'a> {
    queue: &'a Queue,
    at: Instant,
    cpu: f64,
    read: u64,
    written: u64,
    phases: Vec<Phase>,
}

/// Seconds that all processors spent on this process.
fn cpu() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

impl<'a> Clock<'a> {
    fn start(queue: &'a Queue) -> Self {
        Self { queue, at: Instant::now(), cpu: cpu(), read: 0, written: 0, phases: Vec::new() }
    }

    /// A phase ends, the next begins.
    fn end(&mut self, name: &'static str) {
        let (at, cpu) = (Instant::now(), cpu());
        let [read, written] =
            [&self.queue.read, &self.queue.written].map(|n| n.load(Ordering::Relaxed));
        self.phases.push(Phase {
            name,
            seconds: (at - self.at).as_secs_f64(),
            cpu_s: cpu - self.cpu,
            bytes_read: read - self.read,
            bytes_written: written - self.written,
        });
        (self.at, self.cpu, self.read, self.written) = (at, cpu, read, written);
    }
}

/// The part of a sample that its most frequent prefix has.
fn heaviest(sample: &[u128]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable();
    let most = sorted.chunk_by(|a, b| a == b).map(<[u128]>::len).max();
    most.unwrap_or(0) as f64 / sample.len().max(1) as f64
}

/// Half of the memory that can be had without swapping.
fn available() -> Result<u64, SortError> {
    let path = Path::new("/proc/meminfo");
    let text = fs::read_to_string(path).map_err(|e| SortError::system(path, "read it", e))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let none = || SortError::impossible("memory", "the system does not tell it", "--memory SIZE");
    Ok(kib.ok_or_else(none)? * 1024 / 2)
}

impl Job {
    /// Sorts.
    ///
    /// # Errors
    /// Where a file cannot be read or written, a device is full, a value leads nowhere, or the user stops
    /// it. The input is as it was; unless the output was to be overwritten, so is what was there.
    pub fn run(&self, watch: &Watch) -> Result<Report, SortError> {
        self.records.with(Run(self, watch))?
    }

    fn run_as<S: Shape>(&self, shape: &S, watch: &Watch) -> Result<Report, SortError> {
        let queue = Queue::default();
        thread::scope(|scope| {
            // A few for each device that may be asked.
            queue.start(scope, 4 + 4 * self.settings.temp.len().max(1));
            let _closes = Close(&queue);
            self.sort(shape, &queue, watch)
        })
    }

    /// The input, and what is left over of each file.
    fn extents<S: Shape>(&self, shape: &S) -> Result<(Vec<Extent>, Vec<Extent>), SortError> {
        let (mut extents, mut partial) = (Vec::new(), Vec::new());
        for path in &self.inputs {
            let file = Arc::new(File::open(path, self.settings.mode)?);
            let all = file.len()?;
            let over = shape.length().map_or(0, |length| all % length as u64);
            let len = all - over;
            if over > 0 {
                match self.settings.partial_last {
                    Partial::Refuse => {
                        return Err(SortError::Partial { path: path.clone(), at: len, len: over });
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

    fn sort<S: Shape>(&self, shape: &S, queue: &Queue, watch: &Watch) -> Result<Report, SortError> {
        let mut clock = Clock::start(queue);
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.settings.threads == 0 { cores() } else { self.settings.threads };
        let (extents, partial) = self.extents(shape)?;
        let away = &AtomicU64::new(0);
        let work = &Work { shape, queue, watch, threads, seed: self.settings.seed, away };
        let bytes: u64 = extents.iter().map(|extent| extent.len).sum();
        let (shape, sample, record) = work.sample(&extents)?;
        let (shape, work) = (&shape, &Work { shape: &shape, ..*work });
        let memory = self.settings.memory.map_or_else(available, |memory| Ok(memory.0))?;
        let Settings { method, ref transfers, .. } = self.settings;
        let plan =
            |method| Plan::new(method, (bytes, extents.len()), record, memory, threads, transfers);
        let mut found = plan(method)?;
        if method == Method::Auto && found.method == Method::Distribute && !shape.is_whole() {
            // Records that start alike cannot be put apart by how they start.
            let alike = heaviest(&sample) * bytes as f64;
            if alike > (found.load.0 * found.workers as u64) as f64 {
                found = plan(Method::Merge)?;
            }
        }
        let plan = found;
        let passes = if plan.method == Method::OnePass { 1 } else { 2 };
        watch.total.store(2 * passes * bytes, Ordering::Relaxed);
        let target =
            Target::new(&self.output, self.settings.mode, self.settings.overwrite, &self.inputs)?;
        // Each file may lack a separator.
        let added = if shape.separator().is_some() { extents.len() as u64 } else { 0 };
        target.file().reserve(bytes + added)?;
        clock.end("plan");

        let mut direct = target.file().is_direct() && extents.iter().all(|e| e.file.is_direct());
        let whole = |size: Bytes| size.0 as usize;
        let input = whole(plan.input_transfer);
        let mut stream =
            Stream::new(shape, queue, watch, extents.iter().cloned(), input, plan.depth);
        let writer = &Writer::new(queue, watch, whole(plan.output_transfer), plan.output_buffers);
        let output = Output::new(writer, target.file().clone(), 0);
        let limits = Limits {
            run: plan.load.0,
            fan_in: plan.fan_in,
            transfer: whole(plan.temp_transfer),
            group: plan.output_transfer.0,
        };
        let mut all_passes = u32::try_from(passes).unwrap_or(2);
        let (mut temp_bytes, mut large_buckets) = (0, 0);
        let (len, records) = if plan.method == Method::OnePass {
            let partition =
                Partition::new(sample, crate::incore::ranges((bytes as f64 / record) as u64));
            let loaded = Loaded::read(work, &mut stream, &partition, u64::MAX)?;
            clock.end("read");
            loaded.emit(work, &partition, (&output, 0), limits.group)?;
            (loaded.bytes(), loaded.records())
        } else {
            let files = self.temp_files()?;
            direct &= files.iter().all(|file| file.is_direct());
            let mut space = Space::new(files);
            let (len, records);
            if plan.method == Method::Distribute {
                let partition = Partition::new(sample, plan.buckets);
                let buckets = {
                    let most = partition.len() + 8;
                    let temp = Writer::new(queue, watch, limits.transfer, most);
                    distribute::scatter(work, &mut stream, &partition, &temp, &mut space)?
                };
                drop(stream);
                clock.end("distribute");
                len = buckets.iter().map(|bucket| bucket.bytes).sum();
                records = buckets.iter().map(|bucket| bucket.records).sum();
                let how = (plan.load.0 * plan.workers as u64, limits.transfer, plan.workers);
                let large = distribute::gather(work, &buckets, &output, how)?;
                large_buckets = large.len();
                for (bucket, at) in large {
                    all_passes = all_passes.max(
                        2 + self.sort_large(
                            work,
                            &bucket,
                            &limits,
                            writer,
                            &mut space,
                            (&output, at),
                        )?,
                    );
                }
            } else {
                let (mut runs, found) =
                    merge::runs(work, &mut stream, sample, &limits, (writer, &mut space))?;
                records = found;
                drop(stream);
                clock.end("runs");
                all_passes += merge::narrow(work, &mut runs, &limits, (writer, &mut space))?;
                let mut emitter = Emitter::new(&output, 0)?;
                merge::merge(work, &runs, limits.transfer, &mut emitter)?;
                emitter.finish()?;
                len = runs.iter().map(|run| run.len).sum();
            }
            temp_bytes = space.bytes();
            (len, records)
        };
        output.finish()?;
        if away.load(Ordering::Relaxed) != 0 {
            return Err(SortError::Changed);
        }
        // Whatever else goes wrong: nothing is lost without a word.
        assert!((bytes..=bytes + added).contains(&len), "{len} bytes of {bytes} were sorted");
        clock.end(match plan.method {
            Method::OnePass => "write",
            Method::Merge => "merge",
            _ => "gather",
        });
        let mut end = len;
        for rest in &partial {
            let mut bytes = vec![0; rest.len as usize];
            rest.file.read(rest.offset, &mut bytes)?;
            target.file().write(end, &bytes)?;
            end += rest.len;
        }
        target.file().set_len(end)?;
        target.keep()?;
        clock.end("make durable");
        Ok(Report {
            memory_bytes: memory,
            plan,
            bytes: len,
            records,
            passes: all_passes,
            temp_bytes,
            large_buckets,
            partial_bytes: partial.iter().map(|rest| rest.len).sum(),
            direct,
            phases: clock.phases,
        })
    }

    /// A bucket that does not fit is sorted by merging.
    fn sort_large<S: Shape>(
        &self,
        work: &Work<'_, S>,
        bucket: &Bucket,
        limits: &Limits,
        writer: &Writer<'_>,
        space: &mut Space,
        (output, at): (&Output<'_>, u64),
    ) -> Result<u32, SortError> {
        let extents: Vec<Extent> = bucket
            .blocks
            .iter()
            .map(|block| Extent { file: block.file.clone(), offset: block.offset, len: block.len })
            .collect();
        let (shape, sample, _) = work.sample(&extents)?;
        let (shape, work) = (&shape, &Work { shape: &shape, ..*work });
        let Work { queue, watch, .. } = *work;
        let mut stream = Stream::new(shape, queue, watch, extents, limits.transfer, 2);
        watch.total.fetch_add(2 * bucket.bytes, Ordering::Relaxed);
        let (mut runs, _) =
            work.over(|| merge::runs(work, &mut stream, sample, limits, (writer, &mut *space)))?;
        drop(stream);
        let passes = merge::narrow(work, &mut runs, limits, (writer, space))?;
        let mut emitter = Emitter::new(output, at)?;
        merge::merge(work, &runs, limits.transfer, &mut emitter)?;
        emitter.finish()?;
        Ok(1 + passes)
    }

    /// Temporary files, which are gone however this ends.
    fn temp_files(&self) -> Result<Vec<Arc<File>>, SortError> {
        let beside = [crate::target::folder(&self.output).to_path_buf()];
        let folders = if self.settings.temp.is_empty() { &beside[..] } else { &self.settings.temp };
        let files = folders.iter().enumerate();
        files
            .map(|(n, folder)| File::scratch(folder, n, self.settings.mode).map(Arc::new))
            .collect()
    }
}
