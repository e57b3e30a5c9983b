//! Replay of a trace on a cache with one replacement policy, and its hits and misses.
//!
//! A trace is streamed once; its times matter only for the length of a warm-up. Objects of an
//! oracleGeneral trace or of a web server's log are cached as a whole. Block traces are cached in
//! pages of [`PAGE`] bytes, with one access for each page of a request, or each request is one
//! object, identified by its start. Reads and writes both insert what they access; flushes and
//! discards are counted and skipped.
//!
//! [`sweep`](fn@sweep) replays a trace on many caches in one pass. [`curve`](fn@curve) computes the
//! misses of LRU caches of many sizes, exactly or from a sample.

mod curve;
pub mod flashcache;
mod load;
mod sweep;
pub mod tiered;
mod warmup;

pub use curve::{CurveConfig, CurvePoint, CurveReport, curve};
pub use sweep::sweep;
pub use warmup::{WarmUp, WarmUpReport};

pub use gordon_cache::Chooser;
use gordon_cache::{CacheCounts, HitCounts, OwnPolicy, Policy, PolicyKind, Request};
use gordon_config::nearest;
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_replay::results::report::LeftOut;
use gordon_replay::results::share;
use gordon_trace::formats::InputNote;
use gordon_units::{Bytes, Progress};
use load::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warmup::WarmUpProgress;

/// Size of a page in bytes.
pub const PAGE: u64 = 4096;

/// Configuration of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheRunConfig {
    /// The trace to replay.
    pub trace: TraceLoad,
    /// Name of the replacement policy.
    pub policy: String,
    /// Capacity in bytes of objects or pages; metadata are not charged.
    pub dram: Bytes,
    /// Size of a second level in flash. Must be zero here; [`flashcache`] has one.
    #[serde(default)]
    pub flash: Bytes,
    /// Whether each request of a block trace is one object, of the size of the request.
    #[serde(default)]
    pub objects: bool,
    /// Warm-up, which is not counted; `None` to count everything.
    #[serde(default)]
    pub warmup: Option<WarmUp>,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CacheReport {
    /// Kind of the values: modelled.
    pub kind: &'static str,
    /// Name of the policy.
    pub policy: String,
    /// Capacity of the cache in bytes.
    pub dram_bytes: u64,
    /// Size of the second level in bytes.
    pub flash_bytes: u64,
    /// Cached unit: `object`, `page` or `request`.
    pub unit: &'static str,
    /// The warm-up. No counter includes it, except those of the content at the end.
    pub warmup: Option<WarmUpReport>,
    /// Hits and misses.
    #[serde(flatten)]
    pub hit_report: HitReport,
    /// Number of objects inserted.
    pub insertions: u64,
    /// Bytes of the objects inserted.
    pub inserted_bytes: u64,
    /// Number of objects evicted.
    pub evictions: u64,
    /// Bytes of the objects evicted.
    pub evicted_bytes: u64,
    /// Misses that were not admitted: larger than the cache, or than the part that they enter
    /// first.
    pub refused: u64,
    /// Objects in the cache at the end.
    pub resident_objects: u64,
    /// Bytes in the cache at the end.
    pub resident_bytes: u64,
    /// Objects that the policy remembers at the end without caching them.
    pub ghosts: u64,
    /// Memory of the policy in bytes, without the content of objects.
    pub index_bytes: u64,
    /// Part of `index_bytes` that does not belong to single objects: a frequency sketch.
    pub sketch_bytes: u64,
    /// Memory for next-access times, if the trace does not contain them.
    pub ahead_bytes: u64,
    /// How the trace was read.
    pub input: InputNote,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// Inputs from which the result was computed.
    pub provenance: CacheProvenance,
}

/// Hits and misses of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HitReport {
    /// Number of accesses.
    pub requests: u64,
    /// Accesses that the cache served.
    pub hits: u64,
    /// Accesses that the cache did not serve: `requests - hits`.
    pub misses: u64,
    /// Misses per access, 0 to 1; `None` without accesses.
    pub miss_ratio: Option<f64>,
    /// Bytes missed per byte requested, 0 to 1; `None` without accesses.
    pub byte_miss_ratio: Option<f64>,
    /// Bytes requested.
    pub bytes: u64,
    /// Bytes missed.
    pub miss_bytes: u64,
}

impl HitReport {
    fn new(tally: &HitCounts) -> Self {
        let HitCounts { requests, hits, bytes, hit_bytes } = *tally;
        let (misses, miss_bytes) = (requests - hits, bytes - hit_bytes);
        let (miss_ratio, byte_miss_ratio) = (share(misses, requests), share(miss_bytes, bytes));
        Self { requests, hits, misses, miss_ratio, byte_miss_ratio, bytes, miss_bytes }
    }
}

/// Inputs of a result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CacheProvenance {
    /// Version of the program.
    pub version: &'static str,
    /// Configuration of the run.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub config: CacheRunConfig,
    /// Publication of the policy.
    pub follows: &'static str,
    /// The replayed trace: its format, counters and checksum.
    pub trace: CacheTrace,
}

/// A trace that was replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CacheTrace {
    /// Name of the format.
    pub format: &'static str,
    /// Number of requests in the trace.
    pub requests: u64,
    /// Flushes and discards, skipped.
    pub without_data: u64,
    /// Records that were skipped or changed.
    #[serde(flatten)]
    pub left_out: LeftOut,
    /// Requests of a web server's log whose line names the virtual host, which is part of the
    /// object's key.
    pub virtual_hosts: u64,
    /// Requests of web clients other than GET, skipped.
    pub other_methods: u64,
    /// Requests that were not answered with the whole object (status 200), skipped.
    pub other_statuses: u64,
    /// CRC-32 of keys and sizes of the accesses, in hexadecimal digits.
    pub crc32: String,
}

/// Name, description and publication of each policy.
pub fn policies() -> Vec<(&'static str, &'static str, &'static str)> {
    PolicyKind::ALL.map(|kind| (kind.name(), kind.about(), kind.source())).to_vec()
}

fn policy(name: &str) -> Result<PolicyKind, ReplayError> {
    PolicyKind::parse(name).ok_or_else(|| {
        let names = PolicyKind::ALL.map(PolicyKind::name);
        let near = nearest(&name.to_lowercase(), names);
        let near = near.map_or(String::new(), |near| format!("{near}; "));
        let hint = format!("{near}known: {}", names.join(", "));
        ReplayError::impossible("policy", format!("there is none called `{name}`"), &hint)
    })
}

/// A run of one cache: its configuration, state and counters.
struct CacheRun<'a> {
    config: &'a CacheRunConfig,
    /// `None` for a policy that the caller brings.
    kind: Option<PolicyKind>,
    cache: Box<dyn Policy>,
    tally: HitCounts,
    /// Counters of the cache at the end of the warm-up.
    before: CacheCounts,
    warm_up_report: Option<WarmUpReport>,
}

/// Runs `config`; `progress` reports progress and can stop the run.
///
/// # Errors
/// Returns an error if the policy or a size is invalid, the trace cannot be read, or the run is
/// stopped.
pub fn run(config: &CacheRunConfig, progress: &Progress) -> Result<CacheReport, ReplayError> {
    let kind = policy(&config.policy)?;
    complete(CacheRun::new(config, Some(kind), kind.make(config.dram))?, progress)
}

/// As [`run`], with a policy that the caller brings. `config` has its name.
///
/// # Errors
/// As [`run`].
pub fn run_own(
    config: &CacheRunConfig,
    chooser: impl Chooser + 'static,
    progress: &Progress,
) -> Result<CacheReport, ReplayError> {
    let cache = Box::new(OwnPolicy::new(config.dram.0, chooser));
    complete(CacheRun::new(config, None, cache)?, progress)
}

fn complete(mut run: CacheRun<'_>, progress: &Progress) -> Result<CacheReport, ReplayError> {
    let config = run.config;
    let mut load = Load::open_for(&config.trace, config.objects, run.needs_oracle(), progress)?;
    run.fits(&load)?;
    let mut warm_up = SharedWarmUp::new(config, &mut load, progress)?;
    let mut batch = Vec::new();
    while load.next_batch(&mut batch)? {
        progress.check()?;
        let end = warm_up.end(&load, &batch);
        run.serve_from(&batch, end);
        progress.step(batch.len() as u64);
    }
    warm_up.check_over()?;
    Ok(run.report(&load))
}

/// The warm-up of caches of one level that replay the same trace.
struct SharedWarmUp {
    warm_up: Option<WarmUpProgress>,
    report: WarmUpReport,
    has_times: bool,
}

impl SharedWarmUp {
    /// # Errors
    /// Returns an error if the warm-up is invalid, or needs times and the trace has none.
    fn new(
        config: &CacheRunConfig,
        load: &mut Load,
        progress: &Progress,
    ) -> Result<Self, ReplayError> {
        let (trace, objects) = (&config.trace, config.objects);
        let warm_up =
            config.warmup.map(|warmup| WarmUpProgress::new(warmup, trace, objects, progress));
        let warm_up = warm_up.transpose()?;
        let has_times = load.note().time_unit_ns.is_some();
        if let Some(warm_up) = &warm_up {
            if warm_up.needs_times() && !has_times {
                let why = "the trace has no times";
                return Err(ReplayError::impossible("warmup", why, "100k or 20%"));
            }
            load.stamps = Some(Vec::new());
        }
        Ok(Self { warm_up, report: WarmUpReport::default(), has_times })
    }

    /// Index in a batch at which the warm-up ends, and its report; `None` if it does not end there.
    fn end(&mut self, load: &Load, batch: &[Request]) -> Option<(usize, WarmUpReport)> {
        let warm_up = self.warm_up.as_mut()?;
        let stamps = load.stamps.iter().flatten().zip(batch).enumerate();
        for (number, (stamp, request)) in stamps {
            if stamp.first && warm_up.ends(stamp.at) {
                self.report.requests = warm_up.seen() - 1;
                self.report.time_s = self.has_times.then(|| warm_up.span(stamp.at).as_secs());
                self.warm_up = None;
                return Some((number, self.report));
            }
            self.report.accesses += 1;
            self.report.bytes += request.asked;
        }
        None
    }

    /// # Errors
    /// Returns an error if the trace ended before the warm-up.
    fn check_over(&self) -> Result<(), ReplayError> {
        self.warm_up.as_ref().map_or(Ok(()), |warm_up| Err(warm_up.not_over_error()))
    }
}

impl<'a> CacheRun<'a> {
    fn new(
        config: &'a CacheRunConfig,
        kind: Option<PolicyKind>,
        cache: Box<dyn Policy>,
    ) -> Result<Self, ReplayError> {
        let name = kind.map_or(config.policy.as_str(), |kind| kind.name());
        if config.dram.0 == 0 {
            let why = "a cache of 0 bytes holds nothing";
            return Err(ReplayError::impossible("dram", why, "16MiB"));
        }
        if config.flash.0 > 0 {
            let why = format!("{}: {name} is a policy of DRAM alone", config.flash);
            let hint = format!("--policy flashcache --dram-policy {name}, or --flash 0");
            return Err(ReplayError::impossible("flash", why, &hint));
        }
        Ok(Self {
            config,
            kind,
            cache,
            tally: HitCounts::default(),
            before: CacheCounts::default(),
            warm_up_report: None,
        })
    }

    fn needs_oracle(&self) -> bool {
        self.kind.is_some_and(PolicyKind::needs_oracle)
    }

    fn fits(&self, load: &Load) -> Result<(), ReplayError> {
        if load.unit() == "page" && self.config.dram.0 < PAGE {
            let why = format!("{} holds no page of {PAGE} bytes", self.config.dram);
            return Err(ReplayError::impossible("dram", why, "16MiB"));
        }
        Ok(())
    }

    fn serve(&mut self, requests: &[Request]) {
        self.cache.serve(requests, &mut self.tally);
    }

    /// Serves requests during which the warm-up may end; requests before its end are not counted.
    fn serve_from(&mut self, requests: &[Request], end: Option<(usize, WarmUpReport)>) {
        let Some((at, warm_up_report)) = end else { return self.serve(requests) };
        self.serve(&requests[..at]);
        (self.tally, self.before, self.warm_up_report) =
            (HitCounts::default(), self.cache.counts(), Some(warm_up_report));
        self.serve(&requests[at..]);
    }

    fn report(&self, load: &Load) -> CacheReport {
        let Self { config, kind, cache, tally, before, warm_up_report } = self;
        let counts = cache.counts();
        let refused = counts.refused - before.refused;
        CacheReport {
            kind: "modelled: counted while the trace was replayed",
            policy: kind.map_or_else(|| config.policy.clone(), |kind| kind.name().into()),
            dram_bytes: config.dram.0,
            flash_bytes: config.flash.0,
            unit: load.unit(),
            warmup: *warm_up_report,
            hit_report: HitReport::new(tally),
            insertions: counts.inserted - before.inserted,
            inserted_bytes: counts.inserted_bytes - before.inserted_bytes,
            evictions: counts.evicted - before.evicted,
            evicted_bytes: counts.evicted_bytes - before.evicted_bytes,
            refused,
            resident_objects: counts.objects,
            resident_bytes: counts.bytes,
            ghosts: cache.ghosts(),
            index_bytes: cache.memory() as u64,
            sketch_bytes: cache.sketch_memory() as u64,
            ahead_bytes: if self.needs_oracle() { load.ahead_bytes() } else { 0 },
            input: load.note().clone(),
            warnings: warnings(Some((*kind, config.dram, refused)), load),
            provenance: CacheProvenance {
                version: env!("CARGO_PKG_VERSION"),
                config: (*config).clone(),
                follows: kind.map_or("the program that called", PolicyKind::source),
                trace: load.provenance(),
            },
        }
    }
}

/// Warnings about a trace, and about a cache with the number of misses that it did not admit.
fn warnings(cache: Option<(Option<PolicyKind>, Bytes, u64)>, load: &Load) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some((kind, dram, refused @ 1..)) = cache {
        let limit = match kind {
            Some(PolicyKind::S3Fifo) => format!("as large as a tenth of the cache of {dram}"),
            Some(PolicyKind::WTinyLfu) => format!("larger than a hundredth of the cache of {dram}"),
            _ => format!("larger than the cache of {dram}"),
        };
        warnings.push(format!("{refused} misses were not admitted: {limit}"));
    }
    if load.devices() > 1 {
        let devices = load.devices();
        warnings.push(format!("the trace has {devices} devices; all share the cache"));
    }
    warnings.extend(load.note().doubts.iter().map(|doubt| format!("implausible: {doubt}")));
    warnings.extend(load.notes());
    warnings
}
