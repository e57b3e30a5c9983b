//! One cache of a replacement policy, one trace, what was found in it.
//!
//! A trace is streamed once; times in it are only held against each other. Objects of an
//! oracleGeneral trace or of a web server's log are cached whole. Block traces are cached in pages
//! of [`PAGE`] bytes, each page that a request touches being asked for in turn, or each request is
//! taken as one object, known by where it starts. Reads and writes alike bring in what they ask
//! for; flushes and discards are counted and left out.
//!
//! [`sweep`] asks many caches at once, in one reading; [`curve`](fn@curve) has what LRU caches
//! of many sizes miss, exactly or from a sample.

mod curve;
pub mod flashcache;
mod load;
mod sweep;
pub mod tiered;
mod warmup;

pub use curve::{CurveConfig, CurvePoint, CurveReport, curve};
pub use sweep::sweep;
pub use warmup::{WarmUp, WarmUpReport};

use gordon_cache::{CacheCounts, HitCounts, Policy, PolicyKind, Request};
use gordon_config::nearest;
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_replay::results::report::LeftOut;
use gordon_replay::results::share;
use gordon_trace::formats::InputNote;
use gordon_units::{Bytes, Progress};
use load::Load;
use serde::{Deserialize, Serialize};
use warmup::Warming;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheRunConfig {
    /// What it is asked for.
    pub trace: TraceLoad,
    /// What goes when there is no room, by name.
    pub policy: String,
    /// What it holds: bytes of objects or pages, nothing charged for knowing where they are.
    pub dram: Bytes,
    /// A second level in flash: none here, [`flashcache`] has one.
    #[serde(default)]
    pub flash: Bytes,
    /// Requests of a block trace are objects, each as long as it is.
    #[serde(default)]
    pub objects: bool,
    /// What comes before anything is counted; none: all is counted.
    #[serde(default)]
    pub warmup: Option<WarmUp>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheReport {
    /// What kind of values these are.
    pub kind: &'static str,
    /// The policy.
    pub policy: &'static str,
    /// The capacity.
    pub dram_bytes: u64,
    /// Of the second level.
    pub flash_bytes: u64,
    /// What is cached: `object`, `page` or `request`.
    pub unit: &'static str,
    /// The warm-up, which no count has, but for what is there at the end.
    pub warmup: Option<WarmUpReport>,
    /// What was there.
    #[serde(flatten)]
    pub answers: Answers,
    /// Objects that came in.
    pub insertions: u64,
    /// Their bytes.
    pub inserted_bytes: u64,
    /// Objects that went for others.
    pub evictions: u64,
    /// Their bytes.
    pub evicted_bytes: u64,
    /// Misses that were not let in: larger than the cache, or than the part they have to pass.
    pub refused: u64,
    /// Objects in the cache at the end.
    pub resident_objects: u64,
    /// Their bytes.
    pub resident_bytes: u64,
    /// Objects remembered at the end that are not in the cache.
    pub ghosts: u64,
    /// Memory that the policy takes, objects' own bytes not counted.
    pub index_bytes: u64,
    /// Of these, bytes that are not of single objects: a sketch of what was asked for.
    pub sketch_bytes: u64,
    /// Memory to see ahead, where the trace does not say what comes.
    pub ahead_bytes: u64,
    /// What the trace was read as.
    pub input: InputNote,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Where it comes from.
    pub provenance: CacheProvenance,
}

/// What was asked for, and what of it was there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Answers {
    /// Times that one of these was asked for.
    pub requests: u64,
    /// Of these, it was there.
    pub hits: u64,
    /// It was not.
    pub misses: u64,
    /// Misses for each request; none without requests.
    pub miss_ratio: Option<f64>,
    /// Bytes missed for each byte asked for.
    pub byte_miss_ratio: Option<f64>,
    /// Bytes asked for.
    pub bytes: u64,
    /// Of these, bytes that were not there.
    pub miss_bytes: u64,
}

impl Answers {
    fn new(tally: &HitCounts) -> Self {
        let HitCounts { requests, hits, bytes, hit_bytes } = *tally;
        let (misses, miss_bytes) = (requests - hits, bytes - hit_bytes);
        let (miss_ratio, byte_miss_ratio) = (share(misses, requests), share(miss_bytes, bytes));
        Self { requests, hits, misses, miss_ratio, byte_miss_ratio, bytes, miss_bytes }
    }
}

/// Where a result comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheProvenance {
    /// Of the program.
    pub version: &'static str,
    /// What was asked for.
    pub config: CacheRunConfig,
    /// What the policy follows.
    pub follows: &'static str,
    /// The trace.
    pub trace: CacheTrace,
}

/// A trace that was replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CacheTrace {
    /// What it was read as.
    pub format: &'static str,
    /// Requests in it.
    pub requests: u64,
    /// Flushes and discards, left out.
    pub without_data: u64,
    /// What was left out of it.
    #[serde(flatten)]
    pub left_out: LeftOut,
    /// Requests of a web server's log whose line names the site, which is part of the object's
    /// name.
    pub virtual_hosts: u64,
    /// Requests of web clients that are no GET, left out.
    pub other_methods: u64,
    /// Those not answered with the whole object (status 200), left out.
    pub other_statuses: u64,
    /// CRC-32 of what was asked for and how much of it, in hexadecimal digits.
    pub crc32: String,
}

/// Name, what goes, and what it follows, of each policy.
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

/// A cache that is asked, and what it was asked.
struct Asked<'a> {
    config: &'a CacheRunConfig,
    kind: PolicyKind,
    cache: Box<dyn Policy>,
    tally: HitCounts,
    /// What the cache had counted when the warm-up ended.
    before: CacheCounts,
    warmed: Option<WarmUpReport>,
}

/// Runs `config`, watched through `progress`.
///
/// # Errors
/// A policy or size that cannot be, a trace that cannot be read, a stop.
pub fn run(config: &CacheRunConfig, progress: &Progress) -> Result<CacheReport, ReplayError> {
    let mut asked = Asked::new(config)?;
    let mut load =
        Load::for_some(&config.trace, config.objects, asked.kind.needs_oracle(), progress)?;
    asked.fits(&load)?;
    let mut warm = WarmStart::new(config, &mut load, progress)?;
    let mut batch = Vec::new();
    while load.next_batch(&mut batch)? {
        progress.check()?;
        let end = warm.end(&load, &batch);
        asked.serve_from(&batch, end);
        progress.step(batch.len() as u64);
    }
    warm.is_over()?;
    Ok(asked.report(&load))
}

/// The warm-up of caches of one level, which are asked for one trace.
struct WarmStart {
    warming: Option<Warming>,
    report: WarmUpReport,
    has_times: bool,
}

impl WarmStart {
    /// # Errors
    /// A warm-up that cannot be, or that needs times of a trace without them.
    fn new(
        config: &CacheRunConfig,
        load: &mut Load,
        progress: &Progress,
    ) -> Result<Self, ReplayError> {
        let (trace, objects) = (&config.trace, config.objects);
        let warming = config.warmup.map(|warmup| Warming::new(warmup, trace, objects, progress));
        let warming = warming.transpose()?;
        let has_times = load.note().time_unit_ns.is_some();
        if let Some(warming) = &warming {
            if warming.needs_times() && !has_times {
                let why = "the trace has no times";
                return Err(ReplayError::impossible("warmup", why, "100k or 20%"));
            }
            load.stamps = Some(Vec::new());
        }
        Ok(Self { warming, report: WarmUpReport::default(), has_times })
    }

    /// Where in a batch the warm-up ends, and what it came to; none if it does not end there.
    fn end(&mut self, load: &Load, batch: &[Request]) -> Option<(usize, WarmUpReport)> {
        let warming = self.warming.as_mut()?;
        let stamps = load.stamps.iter().flatten().zip(batch).enumerate();
        for (number, (stamp, request)) in stamps {
            if stamp.first && warming.ends(stamp.at) {
                self.report.requests = warming.seen() - 1;
                self.report.time_s = self.has_times.then(|| warming.span(stamp.at).as_secs());
                self.warming = None;
                return Some((number, self.report));
            }
            self.report.accesses += 1;
            self.report.bytes += request.asked;
        }
        None
    }

    /// # Errors
    /// If the trace ended before it.
    fn is_over(&self) -> Result<(), ReplayError> {
        self.warming.as_ref().map_or(Ok(()), |warming| Err(warming.not_over()))
    }
}

impl<'a> Asked<'a> {
    fn new(config: &'a CacheRunConfig) -> Result<Self, ReplayError> {
        let kind = policy(&config.policy)?;
        if config.dram.0 == 0 {
            let why = "a cache of 0 bytes holds nothing";
            return Err(ReplayError::impossible("dram", why, "16MiB"));
        }
        if config.flash.0 > 0 {
            let why = format!("{}: {} is a policy of DRAM alone", config.flash, kind.name());
            let hint = format!("--policy flashcache --dram-policy {}, or --flash 0", kind.name());
            return Err(ReplayError::impossible("flash", why, &hint));
        }
        Ok(Self {
            config,
            kind,
            cache: kind.make(config.dram),
            tally: HitCounts::default(),
            before: CacheCounts::default(),
            warmed: None,
        })
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

    /// Serves requests in which the warm-up may end: all before its end are not counted.
    fn serve_from(&mut self, requests: &[Request], end: Option<(usize, WarmUpReport)>) {
        let Some((at, warmed)) = end else { return self.serve(requests) };
        self.serve(&requests[..at]);
        (self.tally, self.before, self.warmed) =
            (HitCounts::default(), self.cache.counts(), Some(warmed));
        self.serve(&requests[at..]);
    }

    fn report(&self, load: &Load) -> CacheReport {
        let Self { config, kind, cache, tally, before, warmed } = self;
        let counts = cache.counts();
        let refused = counts.refused - before.refused;
        CacheReport {
            kind: "modelled: counted while the trace was replayed",
            policy: kind.name(),
            dram_bytes: config.dram.0,
            flash_bytes: config.flash.0,
            unit: load.unit(),
            warmup: *warmed,
            answers: Answers::new(tally),
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
            ahead_bytes: if kind.needs_oracle() { load.ahead_bytes() } else { 0 },
            input: load.note().clone(),
            warnings: warnings(Some((*kind, config.dram, refused)), load),
            provenance: CacheProvenance {
                version: env!("CARGO_PKG_VERSION"),
                config: (*config).clone(),
                follows: kind.source(),
                trace: load.told(),
            },
        }
    }
}

/// What the reader should know of a trace, and of a cache and what it did not let in.
fn warnings(cache: Option<(PolicyKind, Bytes, u64)>, load: &Load) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some((kind, dram, refused @ 1..)) = cache {
        let limit = match kind {
            PolicyKind::S3Fifo => format!("as large as a tenth of the cache of {dram}"),
            PolicyKind::WTinyLfu => format!("larger than a hundredth of the cache of {dram}"),
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
