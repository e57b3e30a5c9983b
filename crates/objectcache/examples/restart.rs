//! Fills a cache of 1 GiB with objects of 16 KiB, and times warm restarts and hits.
//!
//!     cargo run --release -p gordon-objectcache --example restart -- FOLDER

use bytes::Bytes;
use gordon_objectcache::{Cache, Config, Error, Flash, block_on};
use rustix::time::{ClockId, clock_gettime};
use std::io::Write as _;
use std::time::{Duration, Instant};

const SIZE: u64 = 1 << 30;
const BODY: usize = 16 << 10;

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Resident memory in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let config =
        || Config { flash: Some(Flash::new(folder.clone().into(), SIZE)), ..Config::new(64 << 20) };
    let mut out = std::io::stdout();
    let mut say = |text: String| {
        // A closed standard output ends nothing.
        let _ = writeln!(out, "{text}");
    };
    let (cache, recovery) = Cache::open(config())?;
    say(format!("created: {}", recovery.created));
    let key = |number: u64| format!("http://example.org/objects/{number}");
    let count = SIZE * 5 / 4 / BODY as u64;
    let (started, before) = (Instant::now(), cpu());
    for number in 0..count {
        let body = Bytes::from(vec![number as u8; BODY]);
        block_on(cache.put(key(number).as_bytes(), b"HTTP/1.1 200", body))?;
    }
    let stats = cache.stats();
    say(format!(
        "{count} objects put in {:.1} s, {:.1} us of CPU each; {:.3} bytes written for each \
         admitted, {:.1} % refused",
        started.elapsed().as_secs_f64(),
        (cpu() - before).as_secs_f64() * 1e6 / count as f64,
        stats.written_bytes as f64 / stats.admitted_bytes as f64,
        stats.refused_bytes as f64 * 100.0 / (stats.admitted_bytes + stats.refused_bytes) as f64,
    ));
    say(format!(
        "DRAM {} of {}, index {} for {} objects ({:.1} bytes each), resident {}",
        stats.dram_bytes,
        stats.dram_capacity,
        stats.index_bytes,
        stats.flash_objects,
        stats.index_bytes as f64 / stats.flash_objects as f64,
        resident()
    ));
    let started = Instant::now();
    block_on(cache.close())?;
    say(format!("closed in {:.3} s; {}", started.elapsed().as_secs_f64(), stats.access));
    drop(cache);
    for _ in 0..3 {
        let started = Instant::now();
        let (cache, recovery) = Cache::open(config())?;
        say(format!(
            "opened in {:.3} s: {} objects in {} segments, clean {}",
            started.elapsed().as_secs_f64(),
            recovery.objects,
            recovery.segments,
            recovery.clean
        ));
        let (started, before) = (Instant::now(), cpu());
        let (mut hits, mut asked) = (0_u64, 0_u64);
        for number in (0..count).step_by(7) {
            asked += 1;
            hits += u64::from(block_on(cache.get(key(number).as_bytes())).is_some());
        }
        say(format!(
            "{hits} of {asked} found, {:.1} us of CPU and {:.1} us each",
            (cpu() - before).as_secs_f64() * 1e6 / asked as f64,
            started.elapsed().as_secs_f64() * 1e6 / asked as f64
        ));
    }
    Ok(())
}
