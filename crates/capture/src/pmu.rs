//! Counters of instructions and last-level cache misses, from the performance monitoring unit of
//! the processor.
//!
//! Counters are used only if they have counted a loop of known length correctly: under some
//! hypervisors they open without error and count nothing. The counters of the machine are opened on
//! each CPU, and so are those of a node, for its control group. The counters of the command are
//! opened, disabled, on the thread that starts the command. Its processes inherit them, and its
//! `exec` enables them.

use crate::recording::CountedWork;
use gordon_trace::{ColumnKind, Columns};
use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use std::fs::{self, File};
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
    /// Whether the hardware has counters that count.
    pub(crate) is_verified: bool,
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
        pmu.is_verified = true;
        let cpus = online(root);
        let mut open = |what, opened| counters_or_why(what, opened, &mut pmu.missing);
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

/// The counters, or, in `missing`, why there are none.
fn counters_or_why(
    what: &'static str,
    opened: io::Result<Counters>,
    missing: &mut Vec<(&'static str, String)>,
) -> Option<Counters> {
    match opened {
        Ok(counters) => Some(counters),
        Err(e) => {
            let why = format!("{e}; root, or kernel.perf_event_paranoid=0, would help");
            missing.push((what, why));
            None
        }
    }
}

impl CounterPair {
    /// Opens the counters of the processes in a control group and in the groups below it, which is
    /// given by its folder in the hierarchy of the perf events. Returns those that are not
    /// available, and why.
    pub(crate) fn of_group(root: &Path, folder: &Path) -> (Self, Vec<(&'static str, String)>) {
        let events = [Hardware::INSTRUCTIONS, Hardware::CACHE_MISSES];
        Self::of_group_events(events, &online(root), folder)
    }

    fn of_group_events(
        [instructions, misses]: [impl Event + Clone; 2],
        cpus: &[usize],
        folder: &Path,
    ) -> (Self, Vec<(&'static str, String)>) {
        let mut missing = Vec::new();
        let instructions = Counters::group(instructions, cpus, folder);
        let misses = Counters::group(misses, cpus, folder);
        let pair = Self {
            instructions: counters_or_why("instructions", instructions, &mut missing),
            misses: counters_or_why("LLC misses", misses, &mut missing),
        };
        (pair, missing)
    }

    /// Counted work since the counters were opened.
    pub(crate) fn read(&mut self) -> CountedWork {
        let count = |counters: &mut Option<Counters>| counters.as_mut().map(Counters::read);
        CountedWork {
            instructions: count(&mut self.instructions),
            llc_misses: count(&mut self.misses),
        }
    }

    /// The counters that are available: of instructions, and of cache misses.
    pub(crate) fn is_counted(&self) -> [bool; 2] {
        [self.instructions.is_some(), self.misses.is_some()]
    }

    /// Marks the columns whose counters shared the hardware, which is known only at the end. The
    /// names of the columns start with `prefix`.
    pub(crate) fn describe_scaled(&self, columns: &mut Columns, prefix: &str) {
        for (name, counters) in [("instructions", &self.instructions), ("llc_misses", &self.misses)]
        {
            if counters.as_ref().is_some_and(Counters::is_scaled) {
                let how = "perf, with counters that took turns";
                columns.set(&[&format!("{prefix}{name}")], ColumnKind::Scaled, how);
            }
        }
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

    /// Opens counters for the control group in `folder`, of a hierarchy that has the perf events.
    fn group(event: impl Event + Clone, cpus: &[usize], folder: &Path) -> io::Result<Self> {
        let folder = File::open(folder)?;
        let open = |cpu: &usize| {
            let mut builder = Builder::new(event.clone());
            builder.observe_cgroup(&folder).one_cpu(*cpu).include_kernel().include_hv();
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
    use crate::cgroup::Hierarchies;
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

    /// Uses software events, which every machine has. Two groups: a loop runs in one of them, and
    /// this thread is in neither.
    #[test]
    fn a_control_group_is_counted_and_nothing_else() {
        const NAME: &str = "a_control_group_is_counted_and_nothing_else";
        let Some(parent) = Hierarchies::find(Path::new("/")).perf_event_mount() else {
            return skipped(&format!("{NAME}: no control groups are mounted here"));
        };
        let tag = std::process::id();
        let folders = ["busy", "idle"].map(|name| parent.join(format!("gordon-pmu-{tag}-{name}")));
        for folder in &folders {
            if fs::create_dir(folder).is_err() {
                return skipped(&format!("{NAME}: control groups cannot be created here"));
            }
        }
        let cpus = online(Path::new("/"));
        let open = |folder: &Path| {
            CounterPair::of_group_events([Software::TASK_CLOCK, Software::CPU_CLOCK], &cpus, folder)
        };
        let (mut busy, missing) = open(&folders[0]);
        let (mut idle, _) = open(&folders[1]);
        if missing.is_empty() {
            let procs = folders[0].join("cgroup.procs").display().to_string();
            let script = "echo $$ > \"$0\" && while :; do :; done";
            let mut child =
                std::process::Command::new("sh").args(["-c", script, &procs]).spawn().unwrap();
            let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
            while busy.read().instructions < Some(50_000_000) && std::time::Instant::now() < until {
                for turn in 0..1_000_000u64 {
                    black_box(turn);
                }
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let counted = busy.read();
        for turn in 0..50_000_000u64 {
            black_box(turn);
        }
        let (later, of_idle) = (busy.read(), idle.read());
        for folder in &folders {
            // A group is busy for a moment after the end of its last process.
            while fs::remove_dir(folder).is_err_and(|e| e.kind() == io::ErrorKind::ResourceBusy) {
                std::thread::yield_now();
            }
        }
        if !missing.is_empty() {
            return skipped(&format!("{NAME}: perf events of groups are not permitted here"));
        }
        assert!(counted.instructions >= Some(50_000_000), "{counted:?} ns");
        assert!(counted.llc_misses >= Some(25_000_000), "{counted:?} ns");
        let clocks = |work: CountedWork| [work.instructions, work.llc_misses];
        assert_eq!(clocks(later), clocks(counted), "this thread is not in the group");
        assert_eq!(clocks(of_idle), [Some(0); 2]);
    }

    #[test]
    fn a_folder_that_is_not_a_control_group_is_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let events = [Software::TASK_CLOCK, Software::CPU_CLOCK];
        let (mut pair, missing) = CounterPair::of_group_events(events, &[0], folder.path());
        assert_eq!(pair.is_counted(), [false; 2]);
        assert_eq!(pair.read().instructions, None);
        assert_eq!(
            missing.iter().map(|(what, _)| *what).collect::<Vec<_>>(),
            ["instructions", "LLC misses"]
        );
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
