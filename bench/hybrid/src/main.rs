//! foyer and gordon-objectcache under the same load, in the same run.
//!
//!     cargo run --release --manifest-path bench/hybrid/Cargo.toml -- [--flash MIB] [--rounds N]
//!         [--folder DIR]
//!
//! Both caches get a DRAM of a sixteenth of the flash, both admit all objects, and both read the
//! flash with O_DIRECT and io_uring (foyer also with its default, preads on threads). Each
//! measurement has two processes of its own:
//!
//! 1. Requests by Zipf's law (exponent 0.9) for twice as many objects as fit; a miss stores the
//!    object. Counted are hits, and the bytes that the process wrote to its disk
//!    (`/proc/self/io`) for each byte that left DRAM. Neither cache drops writes: the load waits
//!    for them. Then every object is stored in turn until the flash is full, and the cache is
//!    closed.
//! 2. The cache is opened again; the time counts until an object is read from flash. Then objects
//!    that are in flash are read once each, one at a time and 16 at a time. Each byte is compared.
//!
//! Rounds of the caches alternate, and the median is printed. Bodies are not compressible.

use bytes::Bytes;
use foyer::{
    BlockEngineConfig, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder,
    IoEngineConfig, PsyncIoEngineConfig, UringIoEngineConfig,
};
use futures::stream::{FuturesUnordered, StreamExt};
use gordon_objectcache::{Cache, Config, Flash, Tier};
use gordon_testkit::Random;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};

type Any<T> = Result<T, Box<dyn Error + Send + Sync>>;

const CACHES: [&str; 3] = ["gordon", "foyer io_uring", "foyer"];
/// Sizes of objects in bytes.
const SIZES: [usize; 2] = [16 << 10, 1 << 10];
/// Reads of a measurement, at most.
const READS: usize = 8000;
/// Stored bytes after which the load waits until foyer has written them.
const PAUSE: usize = 4 << 20;

/// A cache with the calls that both have.
enum Hybrid {
    /// With its reads completed by the runtime, as the server does it.
    Gordon(Cache),
    Foyer(HybridCache<u64, Bytes>),
}

impl Hybrid {
    async fn open(cache: &str, folder: &Path, flash: u64) -> Any<Self> {
        let dram = flash / 16;
        if cache == "gordon" {
            let flash = Flash::new(folder.into(), flash);
            let (cache, _) = Cache::open(Config { flash: Some(flash), ..Config::new(dram) })?;
            let completions = cache.completions().ok_or("no io_uring")?;
            // Deprecated because a type may close its descriptor while it is registered; this one
            // keeps it open.
            #[allow(deprecated)]
            let completions = AsyncFd::with_interest(completions, Interest::READABLE)?;
            tokio::spawn(async move {
                while let Ok(mut ready) = completions.readable().await {
                    ready.clear_ready();
                    completions.get_ref().run();
                }
            });
            return Ok(Self::Gordon(cache));
        }
        let device =
            FsDeviceBuilder::new(folder).with_capacity(flash as usize).with_direct(true).build()?;
        let storage = HybridCacheBuilder::new()
            .memory(dram as usize)
            .with_weighter(|_: &u64, body: &Bytes| 8 + body.len())
            .storage();
        let storage = if cache == "foyer" {
            storage.with_io_engine_config(PsyncIoEngineConfig::new())
        } else {
            storage.with_io_engine_config(
                Box::new(UringIoEngineConfig::new()) as Box<dyn IoEngineConfig>
            )
        };
        // A block of 1 MiB, as a segment here; its default of 16 MiB would leave few of them.
        let engine = BlockEngineConfig::new(device).with_block_size(1 << 20);
        Ok(Self::Foyer(storage.with_engine_config(engine).build().await?))
    }

    /// The body, and whether it came from flash.
    async fn get(&self, key: u64) -> Any<Option<(Bytes, bool)>> {
        match self {
            Self::Gordon(cache) => {
                let Some(object) = cache.get(&key.to_le_bytes()).await else { return Ok(None) };
                let is_flash = object.tier() == Tier::Flash;
                Ok(object.read(0..u64::MAX).await?.map(|body| (body, is_flash)))
            }
            Self::Foyer(cache) => {
                let found = cache.get(&key).await?;
                let is_flash = |entry: &foyer::HybridCacheEntry<u64, Bytes>| {
                    entry.source() == foyer::Source::Disk
                };
                Ok(found.map(|entry| (entry.value().clone(), is_flash(&entry))))
            }
        }
    }

    async fn put(&self, key: u64, body: Bytes) -> Any<()> {
        match self {
            Self::Gordon(cache) => {
                cache.put(&key.to_le_bytes(), &[], body).await?;
            }
            Self::Foyer(cache) => {
                cache.insert(key, body);
            }
        }
        Ok(())
    }

    /// Waits until what was evicted from DRAM is written.
    async fn settle(&self) {
        if let Self::Foyer(cache) = self {
            cache.storage().wait().await;
        }
    }

    async fn close(&self) -> Any<()> {
        match self {
            Self::Gordon(cache) => cache.close().await?,
            Self::Foyer(cache) => cache.close().await?,
        }
        Ok(())
    }
}

/// The body of an object.
fn body(key: u64, size: usize) -> Bytes {
    let mut random = Random::new(key);
    (0..size / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

/// Keys by Zipf's law: the sums of the weights of ranks.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(keys: usize) -> Self {
        let mut sum = 0.0;
        Self(
            (1..=keys)
                .map(|rank| {
                    sum += (rank as f64).powf(-0.9);
                    sum
                })
                .collect(),
        )
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let part = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let at = part * self.0.last().copied().unwrap_or_default();
        self.0.partition_point(|sum| *sum <= at) as u64
    }
}

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A number of a file of `/proc/self`, after this word.
fn number(file: &str, word: &str) -> Any<f64> {
    let text = read_to_string(format!("/proc/self/{file}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(word)).ok_or("not in /proc")?;
    Ok(line.split_whitespace().next().unwrap_or_default().parse()?)
}

/// Number of objects that fit into the flash.
fn objects(flash: u64, size: usize) -> usize {
    flash as usize / (size + 100)
}

/// The first process: load, fill, close.
async fn load(cache: &str, folder: &Path, flash: u64, size: usize) -> Any<BTreeMap<String, f64>> {
    let hybrid = Hybrid::open(cache, folder, flash).await?;
    let fits = objects(flash, size);
    let zipf = Zipf::new(2 * fits);
    let mut random = Random::new(7);
    let (mut hits, mut stored, mut waiting) = (0_usize, 0_usize, 0_usize);
    let requests = 3 * fits;
    let (cpu, before) = (cpu_s(), number("io", "write_bytes:")?);
    let start = Instant::now();
    for _ in 0..requests {
        let key = zipf.draw(&mut random);
        if let Some((found, _)) = hybrid.get(key).await? {
            hits += usize::from(found.len() == size);
            continue;
        }
        hybrid.put(key, body(key, size)).await?;
        stored += size;
        waiting += size;
        if waiting >= PAUSE {
            waiting = 0;
            hybrid.settle().await;
        }
    }
    hybrid.settle().await;
    let took = start.elapsed().as_secs_f64();
    let written = number("io", "write_bytes:")? - before;
    let cpu = cpu_s() - cpu;
    let left = stored as f64 - (flash / 16) as f64;
    for key in 0..fits as u64 {
        let key = (1 << 40) + key;
        hybrid.put(key, body(key, size)).await?;
        waiting += size;
        if waiting >= PAUSE {
            waiting = 0;
            hybrid.settle().await;
        }
    }
    hybrid.settle().await;
    let mut found = BTreeMap::from([
        ("hit ratio".into(), hits as f64 / requests as f64),
        ("written for each byte that left DRAM".into(), written / left),
        ("CPU us a request".into(), cpu * 1e6 / requests as f64),
        ("requests/s".into(), requests as f64 / took),
        ("resident MiB".into(), number("status", "VmRSS:")? / 1024.0),
    ]);
    if let Hybrid::Gordon(cache) = &hybrid {
        let stats = cache.stats();
        let budget = stats.dram_capacity.max(stats.dram_bytes + stats.index_bytes);
        found.insert("DRAM and index MiB".into(), budget as f64 / (1 << 20) as f64);
        let by_itself = stats.written_bytes as f64 / stats.admitted_bytes as f64;
        found.insert("written for each byte admitted".into(), by_itself);
        found.insert("buffers MiB".into(), stats.buffer_bytes as f64 / (1 << 20) as f64);
    }
    hybrid.close().await?;
    Ok(found)
}

/// Reads keys with this many at a time. Returns the reads from flash, their time and CPU time.
async fn read(hybrid: &Hybrid, keys: &[u64], size: usize, depth: usize) -> Any<(f64, f64, f64)> {
    let (start, cpu) = (Instant::now(), cpu_s());
    let mut reads = FuturesUnordered::new();
    let mut from_flash = 0;
    let mut check = |found: Any<Option<(Bytes, bool)>>| -> Any<()> {
        if let Some((found, is_flash)) = found? {
            if found.len() != size {
                return Err("a wrong body".into());
            }
            from_flash += usize::from(is_flash);
        }
        Ok(())
    };
    for key in keys {
        if reads.len() == depth
            && let Some(found) = reads.next().await
        {
            check(found)?;
        }
        reads.push(hybrid.get(*key));
    }
    while let Some(found) = reads.next().await {
        check(found)?;
    }
    Ok((from_flash as f64, start.elapsed().as_secs_f64(), cpu_s() - cpu))
}

/// The second process: open, read.
async fn again(cache: &str, folder: &Path, flash: u64, size: usize) -> Any<BTreeMap<String, f64>> {
    let fits = objects(flash, size) as u64;
    let (start, cpu) = (Instant::now(), cpu_s());
    let hybrid = Hybrid::open(cache, folder, flash).await?;
    let opened = start.elapsed().as_secs_f64();
    // The keys were stored in this order; those in the middle are in flash for sure.
    let mut middle = (0..).map(|at| (1 << 40) + fits / 2 + at);
    while hybrid.get(middle.next().ok_or("no key")?).await?.is_none() {}
    let mut found = BTreeMap::from([
        ("open s".into(), opened),
        ("open and first hit s".into(), start.elapsed().as_secs_f64()),
        ("open CPU s".into(), cpu_s() - cpu),
        ("resident after open MiB".into(), number("status", "VmRSS:")? / 1024.0),
    ]);
    let mut random = Random::new(9);
    let mut keys: Vec<u64> = (fits / 4..fits * 3 / 4).map(|at| (1 << 40) + at).collect();
    for at in (1..keys.len()).rev() {
        keys.swap(at, random.below(at + 1));
    }
    let reads = READS.min(keys.len() / 2);
    for (number, depth) in [1, 16].into_iter().enumerate() {
        let part = &keys[number * reads..(number + 1) * reads];
        let (hits, took, cpu) = read(&hybrid, part, size, depth).await?;
        found.insert(format!("found of reads, {depth} at a time"), hits / reads as f64);
        found.insert(format!("flash hits/s, {depth} at a time"), hits / took);
        found.insert(format!("CPU us a flash hit, {depth} at a time"), cpu * 1e6 / hits);
    }
    for key in &keys[..200] {
        if let Some((found, _)) = hybrid.get(*key).await?
            && found != body(*key, size)
        {
            return Err("a wrong body".into());
        }
    }
    Ok(found)
}

/// One thread, as a server with one worker has.
fn runtime() -> Any<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Any<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [phase, cache, folder, flash, size] = &given[..]
        && (phase == "load" || phase == "again")
    {
        let (folder, flash, size) = (PathBuf::from(folder), flash.parse()?, size.parse()?);
        let found = if phase == "load" {
            runtime()?.block_on(load(cache, &folder, flash, size))?
        } else {
            runtime()?.block_on(again(cache, &folder, flash, size))?
        };
        for (name, value) in found {
            println!("{name}\t{value}");
        }
        return Ok(());
    }
    let (mut flash, mut rounds, mut place) = (1024_u64, 3_usize, std::env::temp_dir());
    for pair in given.chunks(2) {
        match pair {
            [name, value] if name == "--flash" => flash = value.parse()?,
            [name, value] if name == "--rounds" => rounds = value.parse()?,
            [name, value] if name == "--folder" => place = PathBuf::from(value),
            _ => return Err("usage: [--flash MIB] [--rounds N] [--folder DIR]".into()),
        }
    }
    let flash = (flash << 20).to_string();
    let mut all: BTreeMap<(usize, String), BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for _ in 0..rounds {
        for size in SIZES {
            for cache in CACHES {
                let folder = tempfile::tempdir_in(&place)?;
                for phase in ["load", "again"] {
                    let ran = Command::new(std::env::current_exe()?)
                        .args([phase, cache])
                        .arg(folder.path())
                        .args([&flash, &size.to_string()])
                        .output()?;
                    if !ran.status.success() {
                        let why = String::from_utf8_lossy(&ran.stderr).into_owned();
                        return Err(format!("{cache}, {phase}: {why}").into());
                    }
                    for line in String::from_utf8(ran.stdout)?.lines() {
                        let (name, value) = line.split_once('\t').ok_or("not a result")?;
                        let row = all.entry((size, name.to_owned())).or_default();
                        row.entry(cache).or_default().push(value.parse()?);
                    }
                }
            }
        }
    }
    println!("| object | | {} |", CACHES.join(" | "));
    println!("|---|---|{}", "---|".repeat(CACHES.len()));
    for ((size, name), row) in &all {
        let cells: Vec<String> = CACHES
            .iter()
            .map(|cache| match row.get(cache) {
                Some(values) => format!("{:.3}", median(values.clone())),
                None => "-".to_owned(),
            })
            .collect();
        println!("| {} KiB | {name} | {} |", size >> 10, cells.join(" | "));
    }
    Ok(())
}
