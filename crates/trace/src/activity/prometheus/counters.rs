//! Makes samples of counters over time.

use super::names::{
    ANONYMOUS, BUFFERS, BUSY, CACHED, CLOCK, CPU, DISCARD_SECTORS, DISCARDS, FLUSHES, LINK_BELOW,
    LINK_ID, MEMORY_AVAILABLE, MEMORY_TOTAL, READ_BYTES, READS, RX_BYTES, RX_PACKETS, SHARED,
    SPEED, TX_BYTES, TX_PACKETS, WRITE_BYTES, WRITES,
};
use crate::activity::host::{
    CpuShares, DiskUse, HostActivity, HostSample, MemoryUse, NetworkUse, SeriesKey,
};
use gordon_units::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// The largest share of the time that a counter can advance by, with the error of its scrape.
const MOST: f64 = 1.05;
/// Ratios of the time that all modes have counted to that between two points. A step that is not
/// a multiple of the scrape interval has points whose counters are older or newer than their times.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// The samples of all hosts.
pub fn hosts(
    series: BTreeMap<String, BTreeMap<SeriesKey, BTreeMap<Ns, f64>>>,
) -> BTreeMap<String, HostActivity> {
    series.into_iter().map(|(name, of_host)| (name, Counters(of_host).activity())).collect()
}

/// The series of a host.
struct Counters(BTreeMap<SeriesKey, BTreeMap<Ns, f64>>);

/// What the modes of a core counted between two points, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct CoreTime {
    busy: f64,
    iowait: f64,
    steal: f64,
    /// All modes together.
    all: f64,
    /// Whether the counters started again from zero.
    was_reset: bool,
}

impl Counters {
    fn activity(&self) -> HostActivity {
        let mut activity = HostActivity::default();
        let cores: BTreeSet<&str> = self.labels(CPU).collect();
        if cores.is_empty() {
            return activity;
        }
        let of_cpu = self.0.iter().filter(|((metric, ..), _)| *metric == CPU);
        let times: BTreeSet<Ns> = of_cpu.flat_map(|(_, points)| points.keys().copied()).collect();
        let mut times = times.into_iter();
        let Some(mut start) = times.next() else { return activity };
        let mut corrected: BTreeMap<&str, u64> = BTreeMap::new();
        let mut spans: Vec<(Ns, Ns, Vec<CoreTime>)> = Vec::new();
        for end in times {
            let mut fallen: BTreeMap<&str, u64> = BTreeMap::new();
            let spent: Vec<CoreTime> =
                cores.iter().map(|core| self.cpu(core, start, end, &mut fallen)).collect();
            let was_reset = spent.iter().any(|core| core.was_reset);
            if !was_reset && spent.iter().all(|core| core.all <= 0.0) {
                continue;
            }
            if was_reset {
                activity.restarts.push(end);
            } else {
                for (mode, count) in fallen {
                    *corrected.entry(mode).or_default() += count;
                }
                spans.push((start, end, spent));
            }
            start = end;
        }
        activity.cores = self.cores_over(spans.iter().map(|(start, end, _)| (*start, *end)));
        activity.without = self.without();
        if !self.has_mode("system") {
            activity.notes.push(
                "counters: the series lack the mode system, so the time of the kernel counts as 0"
                    .into(),
            );
        }
        let follows_clock = follows_clock(&spans);
        for (start, end, spent) in spans {
            let shares = shares(&spent, (end - start).as_secs(), follows_clock);
            activity.samples.push(self.sample(start, end, shares));
        }
        for (mode, count) in corrected {
            activity.notes.push(format!(
                "counters: {mode} of a core fell, or rose by more than the time that passed, \
                 {count} times; it counts as 0 then"
            ));
        }
        for device in self.labels(SPEED) {
            let speed = self.last(SPEED, device).filter(|bytes| *bytes > 0.0);
            activity.megabits.extend(speed.map(|bytes| (device.to_owned(), bytes * 8.0 / 1e6)));
        }
        for device in self.labels(LINK_BELOW) {
            let (own, below) = (self.last(LINK_ID, device), self.last(LINK_BELOW, device));
            if own.zip(below).is_some_and(|(own, below)| below > 0.0 && own != below) {
                activity.stacked.insert(device.to_owned());
            }
        }
        activity
    }

    /// The number of cores that have counters, from the start of each of these spans in which it
    /// changes.
    fn cores_over(&self, spans: impl Iterator<Item = (Ns, Ns)>) -> BTreeMap<Ns, u32> {
        let of_idle =
            self.0.iter().filter(|((metric, _, mode), _)| *metric == CPU && mode == "idle");
        let lives = of_idle.filter_map(|(_, points)| {
            Some((*points.first_key_value()?.0, *points.last_key_value()?.0))
        });
        let lives: Vec<(Ns, Ns)> = lives.collect();
        let mut found = BTreeMap::new();
        let mut last = 0;
        for (start, end) in spans {
            let is_there = |(first, last): &&(Ns, Ns)| *first <= start && end <= *last;
            let count = u32::try_from(lives.iter().filter(is_there).count()).unwrap_or(u32::MAX);
            if count > 0 && count != last {
                found.insert(start, count);
                last = count;
            }
        }
        found
    }

    fn has_mode(&self, wanted: &str) -> bool {
        self.0.keys().any(|(metric, _, mode)| *metric == CPU && mode == wanted)
    }

    /// The columns whose counters no series of the host has.
    fn without(&self) -> BTreeSet<&'static str> {
        let modes = [("iowait", "iowait_ns"), ("steal", "steal_ns")];
        let modes = modes.into_iter().filter(|(mode, _)| !self.has_mode(mode));
        let modes = modes.map(|(_, name)| name);
        let metrics = [
            (DISCARDS, "discards"),
            (DISCARD_SECTORS, "discard_bytes"),
            (FLUSHES, "flushes"),
            (BUSY, "busy_ns"),
        ];
        let is_absent = |metric| self.labels(metric).next().is_none();
        let metrics = metrics.into_iter().filter(|(metric, _)| is_absent(metric));
        modes.chain(metrics.map(|(_, name)| name)).collect()
    }

    fn sample(&self, start: Ns, end: Ns, shares: Vec<CpuShares>) -> HostSample {
        let amounts = |metric, part: &str| self.increase(metric, part, start, end);
        let disks: BTreeSet<&str> =
            [READS, READ_BYTES, WRITES, WRITE_BYTES].iter().flat_map(|m| self.labels(m)).collect();
        let disk = |name: &str| DiskUse {
            reads: amounts(READS, name),
            read_bytes: amounts(READ_BYTES, name),
            writes: amounts(WRITES, name),
            write_bytes: amounts(WRITE_BYTES, name),
            discards: amounts(DISCARDS, name),
            discard_bytes: amounts(DISCARD_SECTORS, name) * 512.0,
            flushes: amounts(FLUSHES, name),
            busy_s: amounts(BUSY, name),
        };
        let links: BTreeSet<&str> =
            [RX_BYTES, TX_BYTES].iter().flat_map(|m| self.labels(m)).collect();
        let link = |name: &str| NetworkUse {
            rx_bytes: amounts(RX_BYTES, name),
            rx_packets: amounts(RX_PACKETS, name),
            tx_bytes: amounts(TX_BYTES, name),
            tx_packets: amounts(TX_PACKETS, name),
            utilisation: 0.0,
        };
        let clocks: Vec<f64> =
            self.labels(CLOCK).filter_map(|core| self.at(CLOCK, core, "", end)).collect();
        HostSample {
            end,
            span: end - start,
            all: None,
            cores: (0..).zip(shares).collect(),
            mhz: (!clocks.is_empty())
                .then(|| clocks.iter().sum::<f64>() / clocks.len() as f64 / 1e6),
            io_full: None,
            cpu_some: None,
            memory: self.memory(end),
            disks: (!disks.is_empty())
                .then(|| disks.iter().map(|name| ((*name).to_owned(), disk(name))).collect()),
            network: (!links.is_empty())
                .then(|| links.iter().map(|name| ((*name).to_owned(), link(name))).collect()),
        }
    }

    fn memory(&self, end: Ns) -> Option<MemoryUse> {
        let of = |metric| self.at(metric, "", "", end);
        let (total, available) = (of(MEMORY_TOTAL)?, of(MEMORY_AVAILABLE)?);
        let shared = of(SHARED);
        let cached = of(CACHED).zip(of(BUFFERS)).map(|(cached, buffers)| cached + buffers);
        Some(MemoryUse {
            used: total - available,
            total,
            anonymous: of(ANONYMOUS).zip(shared).map(|(anonymous, shared)| anonymous + shared),
            cache: cached.zip(shared).map(|(cached, shared)| f64::max(cached - shared, 0.0)),
        })
    }

    /// What each mode of a core counted between two points. A mode that fell counts as 0; so does
    /// an I/O wait or idle time that rises by more than the time that passed, as after a fall. The
    /// kernel may correct both downwards. `fallen` counts them by mode.
    fn cpu<'a>(
        &'a self,
        core: &str,
        start: Ns,
        end: Ns,
        fallen: &mut BTreeMap<&'a str, u64>,
    ) -> CoreTime {
        let (mut before, mut now) = (0.0, 0.0);
        let mut time = CoreTime::default();
        let passed = (end - start).as_secs();
        let from = (CPU, core.to_owned(), String::new());
        for ((metric, part, mode), points) in self.0.range(from..) {
            if *metric != CPU || part != core {
                break;
            }
            let (Some(then), Some(value)) = (until(points, start), until(points, end)) else {
                continue;
            };
            let is_corrected = matches!(mode.as_str(), "idle" | "iowait");
            if !is_corrected {
                before += then;
                now += value;
            }
            let mut spent = value - then;
            // A scrape that is late has up to a second interval in one.
            if spent < 0.0 || (is_corrected && spent > PLAUSIBLE.end() * passed) {
                spent = 0.0;
                *fallen.entry(mode).or_default() += 1;
            }
            time.all += spent;
            match mode.as_str() {
                "user" | "nice" | "system" | "irq" | "softirq" => time.busy += spent,
                "iowait" => time.iowait += spent,
                "steal" => time.steal += spent,
                _ => {}
            }
        }
        time.was_reset = now < before / 2.0;
        time
    }

    /// The increase of a counter. A counter that was reset has counted from zero since.
    fn increase(&self, metric: &'static str, part: &str, start: Ns, end: Ns) -> f64 {
        let (before, now) = (self.at(metric, part, "", start), self.at(metric, part, "", end));
        match (before, now) {
            (Some(before), Some(now)) if now >= before => now - before,
            (Some(_), Some(now)) => now,
            // A disk or an interface that came later: its earlier count is unknown.
            _ => 0.0,
        }
    }

    fn at(&self, metric: &'static str, part: &str, mode: &str, time: Ns) -> Option<f64> {
        until(self.0.get(&(metric, part.to_owned(), mode.to_owned()))?, time)
    }

    /// The last value of a series.
    fn last(&self, metric: &'static str, part: &str) -> Option<f64> {
        self.at(metric, part, "", Ns(u64::MAX))
    }

    /// The cores or devices of a metric.
    fn labels<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.keys().filter(move |(of, ..)| *of == metric).map(|(_, part, _)| part.as_str())
    }
}

/// The time that the cores counted: the middle one of all cores that counted any.
fn counted_time(spent: &[CoreTime]) -> Option<f64> {
    let mut counted: Vec<f64> =
        spent.iter().map(|core| core.all).filter(|all| *all > 0.0).collect();
    counted.sort_by(f64::total_cmp);
    counted.get(counted.len().saturating_sub(1) / 2).copied()
}

/// Whether the counters follow the clock: most points have as much time as passed before them.
fn follows_clock(spans: &[(Ns, Ns, Vec<CoreTime>)]) -> bool {
    let is_equal = |(start, end, spent): &&(Ns, Ns, Vec<CoreTime>)| {
        let passed = (*end - *start).as_secs();
        counted_time(spent).is_some_and(|time| (time - passed).abs() <= passed * (MOST - 1.0))
    };
    2 * spans.iter().filter(is_equal).count() >= spans.len()
}

/// The shares of the cores. Busy time is what the counters of a core counted, by the time that
/// passed: a gap or a jump of another mode does not change it. Where the counters do not follow the
/// clock, or exceed the time that passed, they were read earlier or later than the point says, and
/// the time is that of the counters.
fn shares(spent: &[CoreTime], passed: f64, follows_clock: bool) -> Vec<CpuShares> {
    let is_beyond = spent.iter().any(|core| core.busy + core.steal > passed * MOST);
    let counted = counted_time(spent).filter(|time| PLAUSIBLE.contains(&(time / passed)));
    let time = counted.filter(|_| is_beyond || !follows_clock).unwrap_or(passed);
    let share = |core: &CoreTime| {
        let (busy, steal) = (core.busy / time, core.steal / time);
        let idle = match core.all > time * MOST {
            // One of idle time and I/O wait returned from a fall: the idle time is believed.
            true => (core.all - core.busy - core.steal - core.iowait) / time,
            false => 0.0,
        };
        let iowait = (core.iowait / time).min(f64::max(1.0 - busy - steal - idle, 0.0));
        CpuShares { busy, iowait, steal }
    };
    spent.iter().map(share).collect()
}

/// The last value until a time.
fn until(points: &BTreeMap<Ns, f64>, time: Ns) -> Option<f64> {
    points.range(..=time).next_back().map(|(_, value)| *value)
}
