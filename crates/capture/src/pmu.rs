//! Counters of instructions and last-level cache misses, from the performance monitoring unit of
//! the processor.
//!
//! Counters are used only if they have counted a loop of known length correctly: under some
//! hypervisors they open without error and count nothing. The counters of the machine are opened on
//! each CPU. The counters of the command are opened, disabled, on the thread that starts the
//! command. Its processes inherit them, and its `exec` enables them.

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;

/// Iterations of the loop that checks a counter.
const TURNS: u64 = 200_000;
/// Upper bound of the instructions per iteration, for an unoptimized build. The lower bound is one.
const TURN: u64 = 500;

/// One event, counted on all CPUs or in the processes of the command.
#[derive(Default)]
pub(crate) struct Counters {
    counters: Vec<Counter>,
    scaled: bool,
}

/// The counters that are available.
#[derive(Default)]
pub(crate) struct Pmu {
    pub(crate) machine: CounterPair,
    pub(crate) command: CounterPair,
    /// Counters that are not available, and why.
    pub(crate) missing: Vec<(&'static str, String)>,
}

/// Counters of instructions and of cache misses; `None` if not available.
#[derive(Default)]
pub(crate) struct CounterPair {
    pub(crate) instructions: Option<Counters>,
    pub(crate) misses: Option<Counters>,
}

impl Pmu {
    /// Opens the available counters. Must be called on the thread that will start the command.
    pub(crate) fn open(root: &Path) -> Self {
        let mut pmu = Self::default();
        if let Err(why) = check() {
            pmu.missing.push(("instructions and LLC misses", why));
            return pmu;
        }
        let cpus = online(root);
        let mut open = |what, opened: io::Result<Counters>| match opened {
            Ok(counters) => Some(counters),
            Err(e) => {
                let why = format!("{e}; root, or kernel.perf_event_paranoid=0, would help");
                pmu.missing.push((what, why));
                None
            }
        };
        let machine = CounterPair {
            instructions: open("instructions", Counters::machine(Hardware::INSTRUCTIONS, &cpus)),
            misses: open("LLC misses", Counters::machine(Hardware::CACHE_MISSES, &cpus)),
        };
        let command = CounterPair {
            instructions: open("command instructions", Counters::command(Hardware::INSTRUCTIONS)),
            misses: open("command LLC misses", Counters::command(Hardware::CACHE_MISSES)),
        };
        (pmu.machine, pmu.command) = (machine, command);
        pmu
    }
}

impl Counters {
    fn machine(event: impl Event + Clone, cpus: &[usize]) -> io::Result<Self> {
        let open = |cpu: &usize| {
            let mut builder = Builder::new(event.clone());
            builder.any_pid().one_cpu(*cpu).include_kernel().include_hv();
            let mut counter = builder.build()?;
            counter.enable()?;
            Ok(counter)
        };
        let counters = cpus.iter().map(open).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { counters, scaled: false })
    }

    /// Opens a counter for the processes that this thread will start.
    fn command(event: impl Event + Clone) -> io::Result<Self> {
        let open = |kernel: bool| {
            let mut builder = Builder::new(event.clone());
            builder.inherit(true).enable_on_exec(true).exclude_kernel(!kernel);
            builder.build()
        };
        // Users may count in their own programs, but not in the kernel.
        let counter = open(true).or_else(|_| open(false))?;
        Ok(Self { counters: vec![counter], scaled: false })
    }

    /// The count since the counters were opened. Counters that shared the hardware are scaled up to
    /// the whole time.
    pub(crate) fn read(&mut self) -> u64 {
        let mut sum = 0;
        for counter in &mut self.counters {
            // The counter of a CPU that has gone offline cannot be read.
            let Ok(data) = counter.read_full() else { continue };
            let time = |t: Option<std::time::Duration>| t.unwrap_or_default().as_nanos();
            let (on, ran) = (time(data.time_enabled()), time(data.time_running()));
            self.scaled |= ran < on;
            sum += scale(data.count(), on, ran);
        }
        sum
    }

    /// Whether any counter ever shared the hardware.
    pub(crate) fn is_scaled(&self) -> bool {
        self.scaled
    }
}

fn scale(count: u64, on: u128, ran: u128) -> u64 {
    if ran == 0 || ran >= on {
        return count;
    }
    u64::try_from(u128::from(count) * on / ran).unwrap_or(u64::MAX)
}

/// Checks the instruction counter with a loop, and with a loop that is twice as long.
fn check() -> Result<(), String> {
    let failed = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound => "the machine has no hardware counters".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "perf is not permitted; root, or kernel.perf_event_paranoid=2, would help".to_owned()
        }
        _ => format!("the hardware counters cannot be opened: {e}"),
    };
    let mut counter = Builder::new(Hardware::INSTRUCTIONS).build().map_err(failed)?;
    let mut counted = |turns| {
        counter.reset()?;
        counter.enable()?;
        for turn in 0..turns {
            black_box(turn);
        }
        counter.disable()?;
        counter.read()
    };
    let (once, twice) = (counted(TURNS).map_err(failed)?, counted(2 * TURNS).map_err(failed)?);
    if is_plausible(once, twice) {
        return Ok(());
    }
    Err(format!(
        "the hardware counters do not count: {once} instructions in {TURNS} turns of a loop, \
         {twice} in twice as many"
    ))
}

fn is_plausible(once: u64, twice: u64) -> bool {
    (TURNS..TURNS * TURN).contains(&once) && (once * 3 / 2..once * 5 / 2).contains(&twice)
}

/// The online CPUs.
pub(crate) fn online(root: &Path) -> Vec<usize> {
    cpus(&fs::read_to_string(root.join("sys/devices/system/cpu/online")).unwrap_or_default())
}

/// Parses a list of ranges: `0-3,8` is 0, 1, 2, 3 and 8.
fn cpus(list: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_testkit::skipped;
    use perf_event::events::Software;

    #[test]
    fn wrong_counters_are_detected() {
        assert!(is_plausible(TURNS * 4, TURNS * 8 + 100));
        for (once, twice) in [(0, 0), (7, 14), (TURNS * 4, TURNS * 4), (u64::MAX / 8, u64::MAX / 4)]
        {
            assert!(!is_plausible(once, twice), "{once} {twice}");
        }
    }

    #[test]
    fn counts_taken_part_of_the_time_are_scaled() {
        assert_eq!(scale(10, 100, 100), 10);
        assert_eq!(scale(10, 100, 25), 40);
        assert_eq!(scale(0, 100, 0), 0);
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpus("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus("0\n"), [0]);
        assert!(cpus("").is_empty());
    }

    /// Uses software events, which every machine has. A counter that is inherited and that `exec`
    /// enables counts the children and grandchildren, but not this thread.
    #[test]
    fn the_command_and_its_children_are_counted() {
        let counted = |work: &str| {
            let mut counters = Counters::command(Software::TASK_CLOCK).ok()?;
            for turn in 0..20_000_000u64 {
                black_box(turn);
            }
            assert_eq!(counters.read(), 0);
            let script = format!("sh -c '{work}' & sh -c '{work}' & wait");
            let run = std::process::Command::new("sh").args(["-c", &script]).status().unwrap();
            assert!(run.success());
            Some(counters.read())
        };
        let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let (Some(idle), Some(busy)) = (counted("true"), counted(burn)) else {
            return skipped(
                "the_command_and_its_children_are_counted: perf events are not permitted here",
            );
        };
        // A loop in the grandchildren takes many times as long as their start.
        assert!(idle > 0 && busy > 3 * idle, "{idle} and {busy} ns");
    }

    #[test]
    fn all_cpus_are_counted() {
        let cpus = online(Path::new("/"));
        let Ok(mut counters) = Counters::machine(Software::CPU_CLOCK, &cpus) else {
            return skipped(
                "all_cpus_are_counted: perf events of whole CPUs are not permitted here",
            );
        };
        assert_eq!(counters.counters.len(), cpus.len());
        let first = counters.read();
        assert!(counters.read() > first);
    }
}
