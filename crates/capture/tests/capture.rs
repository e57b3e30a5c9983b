//! Real captures. A test that needs something which the machine lacks is skipped by name.
#![allow(clippy::unwrap_used, missing_docs, clippy::print_stdout, clippy::print_stderr)]

use gordon_blockio::IoOp;
use gordon_capture::{
    CaptureError, CaptureObserver, CaptureOptions, CaptureOutcome, NoObserver, record,
};
use gordon_testkit::{is_on_a_disk, skipped};
use gordon_trace::{BlockIo, ColumnKind, Sample, Trace, TraceError};
use gordon_units::{Bytes, Ns};
use rustix::process::{Signal, getpid, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder for a test that runs alone, because the children of another test would be counted as
/// orphans of this one's command.
struct Alone {
    dir: tempfile::TempDir,
    _guard: MutexGuard<'static, ()>,
}

impl Alone {
    fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn alone(dir: tempfile::TempDir) -> Alone {
    static ALONE: Mutex<()> = Mutex::new(());
    Alone { dir, _guard: ALONE.lock().unwrap_or_else(PoisonError::into_inner) }
}

/// A folder on the disk of the build; the default temporary folder may be in memory.
fn folder() -> Alone {
    alone(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
}

/// Writes the number of samples to a file, for `AWAIT` in the command.
struct SampleCounter {
    file: PathBuf,
    samples: u64,
}

impl SampleCounter {
    fn new(dir: &Path) -> Self {
        let new = Self { file: dir.join("samples"), samples: 0 };
        new.write();
        new
    }

    /// Renames a complete file, so that the command never reads a partial one.
    fn write(&self) {
        let part = self.file.with_extension("part");
        fs::write(&part, self.samples.to_string()).unwrap();
        fs::rename(part, &self.file).unwrap();
    }
}

impl CaptureObserver for SampleCounter {
    fn sample(&mut self, _: &Sample) {
        self.samples += 1;
        self.write();
    }
}

/// A shell function that waits for a number of samples, on a machine of any speed.
const AWAIT: &str = "await() { n=$(cat samples); \
                     while [ $(cat samples) -lt $((n + $1)) ]; do sleep 0.02; done; };";

/// Whether any of the devices has a volatile cache that an fsync must flush.
fn flushes(devices: &[u32]) -> bool {
    devices.iter().any(|device| {
        let (major, minor) = (device >> 20, device & 0xf_ffff);
        let cache = format!("/sys/dev/block/{major}:{minor}/queue/write_cache");
        fs::read_to_string(cache).is_ok_and(|kind| kind.trim() == "write back")
    })
}

fn sh(dir: &Path, script: &str) -> CaptureOptions {
    let script = format!("cd {}; {script}", dir.display());
    CaptureOptions::new(dir.join("a.trace"), ["sh", "-c", &script])
}

fn run(options: &CaptureOptions) -> (CaptureOutcome, Trace) {
    run_with(options, &mut NoObserver)
}

fn run_with(
    options: &CaptureOptions,
    observer: &mut dyn CaptureObserver,
) -> (CaptureOutcome, Trace) {
    let outcome = record(options, observer).unwrap();
    let trace = Trace::open(&options.out).unwrap();
    assert_eq!(trace.manifest(), &outcome.manifest);
    let partial = options.out.parent().unwrap().read_dir().unwrap().flatten();
    assert!(!partial.into_iter().any(|e| e.file_name().to_string_lossy().contains("partial")));
    (outcome, trace)
}

fn requests(trace: &Trace) -> Option<(Vec<BlockIo>, Vec<String>)> {
    let mut reader = trace.block().ok()?;
    let rows = reader.by_ref().flat_map(|batch| batch.unwrap()).collect();
    Some((rows, reader.names().to_vec()))
}

fn sum<T: std::iter::Sum>(samples: &[Sample], of: impl Fn(&Sample) -> T) -> T {
    samples.iter().map(of).sum()
}

#[test]
fn a_written_file_shows_everywhere() {
    let dir = folder();
    let size = Bytes(32 << 20);
    let options = sh(dir.path(), "dd if=/dev/urandom of=f bs=1M count=32 conv=fsync 2>/dev/null");
    let (outcome, trace) = run(&options);
    let manifest = &outcome.manifest;
    assert_eq!(outcome.exit_status, 0);
    assert_eq!(manifest.command[0], "sh");
    assert!(manifest.machine.cores > 0 && manifest.machine.memory > Bytes::ZERO);

    let samples = trace.activity().unwrap();
    assert_eq!(samples.last().unwrap().end(), manifest.duration);
    assert!(sum(&samples, |s| s.command.write_bytes) >= size);
    assert!(sum(&samples, Sample::cpu) > Ns::ZERO);
    assert!(sum(&samples, |s| s.command.cpu) > Ns::ZERO);
    assert!(samples.iter().all(|s| s.memory > Bytes::ZERO));
    for name in ["instructions", "command_instructions"] {
        let column = manifest.column(name).unwrap();
        println!("{name}: {:?}, {}", column.kind, column.how);
        assert!(column.kind == ColumnKind::Missing || sum(&samples, |s| s.instructions) > 0);
    }

    let physical: Vec<u32> =
        manifest.machine.disks.iter().filter(|d| !d.is_virtual).map(|d| d.device).collect();
    let disks = samples.iter().flat_map(|s| &s.disks).filter(|d| physical.contains(&d.device));
    let written: Bytes = disks.map(|d| d.write_bytes).sum();
    let test = "a_written_file_shows_everywhere";
    if physical.is_empty() {
        return skipped(&format!("{test} (disks): no physical disk is seen here"));
    }
    if !is_on_a_disk(dir.path()) {
        return skipped(&format!("{test} (disks): the build is not on a disk"));
    }
    assert!(written >= size, "{written}");

    let Some((rows, names)) = requests(&trace) else {
        let why = trace.block().err().unwrap();
        return skipped(&format!("{test} (block log): {why}"));
    };
    if manifest.lost_events() > 0 {
        return skipped(&format!("{test} (block log): {} events lost", manifest.lost_events()));
    }
    let writes = rows.iter().filter(|io| io.op == IoOp::Write && physical.contains(&io.device));
    let logged: Bytes = writes.clone().map(BlockIo::bytes).sum();
    assert!(logged >= size, "{logged}");
    let flushed = rows.iter().any(|io| io.op == IoOp::Flush);
    assert!(flushed || !flushes(&physical), "fsync flushes");
    assert!(rows.iter().all(|io| io.at <= manifest.duration));
    let timed = writes.clone().filter(|io| io.latency.is_some_and(|l| l > Ns::ZERO)).count();
    assert!(timed * 10 >= writes.count() * 9, "{timed}");
    assert!(names.iter().all(|name| !name.is_empty()), "{names:?}");
}

#[test]
fn the_status_is_the_commands() {
    for (script, status) in [("exit 3", 3), ("kill -9 $$", 137)] {
        let dir = folder();
        let (outcome, _) = run(&sh(dir.path(), script));
        assert_eq!(outcome.exit_status, status);
    }
}

/// Sends a signal to this process when the command has started.
struct Interrupt(Signal);

impl CaptureObserver for Interrupt {
    fn started(&mut self, _: u32) {
        kill_process(getpid(), self.0).unwrap();
    }
}

#[test]
fn a_signal_ends_the_command_and_the_trace_is_complete() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        // The tests may run with the signal ignored (in the background, for example), and then the
        // command would ignore it too. A caught signal is neither ignored nor inherited.
        signal_hook::flag::register(signal.as_raw(), Arc::default()).unwrap();
        let dir = folder();
        let mut options = sh(dir.path(), "");
        options.command = ["sleep", "600"].map(Into::into).into();
        let outcome = record(&options, &mut Interrupt(signal)).unwrap();
        assert_eq!(outcome.exit_status, status);
        assert!(!Trace::open(&options.out).unwrap().activity().unwrap().is_empty());
    }
}

#[test]
fn samples_keep_to_their_deadlines() {
    let dir = folder();
    let mut options = sh(dir.path(), &format!("{AWAIT} await 10; sleep 0.05"));
    options.interval = Ns(100_000_000);
    let (_, trace) = run_with(&options, &mut SampleCounter::new(dir.path()));
    let samples = trace.activity().unwrap();
    // At most one sample per interval, and one at the end. A busy machine may skip some.
    let (last, regular) = samples.split_last().unwrap();
    let intervals: Vec<u64> = regular.iter().map(|s| s.end().0 / options.interval.0).collect();
    assert!(intervals.windows(2).all(|pair| pair[0] < pair[1]), "{intervals:?}");
    assert!(intervals.len() >= 10 && intervals[0] >= 1, "{intervals:?}");
    assert_eq!(last.end(), trace.manifest().duration);
}

#[test]
fn a_command_shorter_than_an_interval() {
    let dir = folder();
    let (outcome, trace) = run(&sh(dir.path(), "true"));
    assert_eq!(outcome.exit_status, 0);
    assert_eq!(trace.activity().unwrap().len(), 1);
}

#[test]
fn orphans_count() {
    let dir = folder();
    let script = "(sh -c 'dd if=/dev/zero of=f bs=1M count=8 conv=fsync 2>/dev/null; touch done; \
                  exec sleep 600' & echo $! >orphan); while [ ! -e done ]; do sleep 0.05; done; \
                  await 2; kill $(cat orphan)";
    let mut options = sh(dir.path(), &format!("{AWAIT} {script}"));
    options.interval = Ns(100_000_000);
    let (_, trace) = run_with(&options, &mut SampleCounter::new(dir.path()));
    let samples = trace.activity().unwrap();
    assert!(sum(&samples, |s| s.command.write_bytes) >= Bytes(8 << 20));
    assert!(samples.iter().any(|s| s.command.processes >= 2), "{samples:?}");
}

#[test]
fn processes_that_outlive_the_command_are_a_warning() {
    let dir = folder();
    for (script, expected) in [("sleep 30 & echo $! > pid", true), ("sleep 0.01", false)] {
        let options = sh(dir.path(), script);
        let (outcome, trace) = run(&options);
        let is_about = |text: &str| text.contains("outlive the command");
        assert_eq!(outcome.warnings.iter().any(|text| is_about(text)), expected, "{script}");
        let unavailable = &trace.manifest().unavailable;
        assert_eq!(unavailable.iter().any(|missing| is_about(&missing.what)), expected);
        fs::remove_dir_all(&options.out).unwrap();
    }
    let pid: i32 = fs::read_to_string(dir.path().join("pid")).unwrap().trim().parse().unwrap();
    kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn memory_that_a_command_fills_cannot_be_dropped() {
    let dir = folder();
    // `tail` keeps the bytes in memory until the end of its input.
    let script = format!(
        "{AWAIT} await 1; {{ head -c 67108864 /dev/zero; await 3; }} | tail -c 67108864 >/dev/null"
    );
    let mut options = sh(dir.path(), &script);
    options.interval = Ns(100_000_000);
    let (outcome, trace) = run_with(&options, &mut SampleCounter::new(dir.path()));
    let filled = Bytes(64 << 20);
    let samples = trace.activity().unwrap();
    let most = samples.iter().map(|s| s.command.anonymous).max().unwrap();
    assert!(most >= filled, "{most}: {:?}", outcome.manifest.column("command_anonymous_bytes"));
    let is_measured = |name| outcome.manifest.column(name).unwrap().kind == ColumnKind::Measured;
    if is_measured("anonymous_bytes") {
        assert!(samples.iter().any(|s| s.anonymous >= filled));
    }
    // Every column says where its values come from, or why there are none.
    let columns = outcome.manifest.parts.iter().flat_map(|part| &part.columns);
    let silent: Vec<_> = columns.filter(|c| c.how.is_empty()).map(|c| &c.name).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn pressure_is_recorded_or_its_absence_is_stated() {
    let dir = folder();
    let mut options = sh(dir.path(), &format!("{AWAIT} await 3"));
    options.interval = Ns(100_000_000);
    let (outcome, trace) = run_with(&options, &mut SampleCounter::new(dir.path()));
    let columns = ["psi_io_full_ns", "psi_cpu_some_ns"];
    let kinds = columns.map(|name| outcome.manifest.column(name).unwrap().kind);
    let stated = outcome.manifest.unavailable.iter().find(|u| u.what.starts_with("pressure"));
    let samples = trace.activity().unwrap();
    if let Some(stated) = stated {
        assert!(stated.why.starts_with("/proc/pressure/"), "{stated:?}");
        assert_eq!(kinds, [ColumnKind::Missing; 2]);
        assert!(samples.iter().all(|s| s.psi_io_full + s.psi_cpu_some == Ns::ZERO));
        return skipped("pressure_is_recorded_or_its_absence_is_stated (values): no PSI here");
    }
    assert_eq!(kinds, [ColumnKind::Measured; 2]);
    // The kernel's time is read some microseconds before or after ours.
    let slack = Ns(20_000_000);
    let duration = outcome.manifest.duration + slack;
    assert!(sum(&samples, |s| s.psi_io_full) <= duration);
    assert!(sum(&samples, |s| s.psi_cpu_some) <= duration);
}

#[test]
fn settings_of_devices_are_those_of_the_kernel() {
    let dir = folder();
    let (outcome, _) = run(&sh(dir.path(), "true"));
    for disk in &outcome.manifest.machine.disks {
        let folder = Path::new("/sys/block").join(disk.name.replace('/', "!"));
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let kib = |file: &str| {
            read(file).and_then(|text| text.trim().parse::<u64>().ok()).map(|kib| Bytes(kib << 10))
        };
        assert_eq!(disk.read_ahead, kib("queue/read_ahead_kb"), "{}", disk.name);
        assert_eq!(disk.max_request, kib("queue/max_sectors_kb"), "{}", disk.name);
        let schedulers = read("queue/scheduler").unwrap_or_default();
        let found = disk.scheduler.clone().unwrap_or_default();
        assert!(schedulers.contains(&found), "{found} of {schedulers}");
    }
}

#[test]
fn bytes_that_the_command_read_are_compared_with_what_was_fetched() {
    let dir = folder();
    let test = "bytes_that_the_command_read_are_compared_with_what_was_fetched";
    let size = Bytes(32 << 20);
    fs::write(dir.path().join("f"), vec![7; size.0 as usize]).unwrap();
    let script = "sync f; dd if=f of=/dev/null bs=1M iflag=direct && await 2";
    let mut options = sh(dir.path(), &format!("{AWAIT} {script}"));
    options.interval = Ns(100_000_000);
    let (outcome, trace) = run_with(&options, &mut SampleCounter::new(dir.path()));
    if outcome.exit_status != 0 || !is_on_a_disk(dir.path()) {
        return skipped(&format!("{test}: the build is not on a disk with direct I/O"));
    }
    let reads = outcome.manifest.reads.unwrap();
    assert!(reads.fetched >= size && reads.returned >= size, "{reads:?}");
    assert!(!reads.is_asynchronous && !reads.is_partial, "{reads:?}");
    // Programs that are loaded from a cold cache are mapped.
    let amplification = trace.read_amplification().unwrap();
    assert!((0.3..=1.0).contains(&amplification), "{reads:?}");
}

#[test]
fn memory_is_limited() {
    let dir = folder();
    let limit = Bytes(64 << 20);
    let mut options = sh(dir.path(), "dd if=/dev/zero of=/dev/null bs=256M count=1 2>/dev/null");
    options.memory = Some(limit);
    let (outcome, trace) = run(&options);
    if outcome.manifest.memory_limit.is_none() {
        let why = outcome.warnings.iter().find(|w| w.starts_with("no memory limit: "));
        skipped(&format!("memory_is_limited: {}", why.expect("it is said")));
        return;
    }
    assert_eq!(outcome.manifest.memory_limit, Some(limit));
    assert_ne!(outcome.exit_status, 0, "256 MiB do not fit");
    assert!(trace.activity().unwrap().iter().all(|s| s.command.memory <= limit));
}

#[test]
fn a_command_that_cannot_run_leaves_no_trace() {
    let dir = folder();
    let try_run = |command: &str| {
        let options = CaptureOptions::new(dir.path().join("a.trace"), [command]);
        let error = record(&options, &mut NoObserver).unwrap_err();
        assert!(error.to_string().contains(command) && error.to_string().contains("\n  try: "));
        assert_eq!(
            fs::read_dir(dir.path())
                .unwrap()
                .filter(|e| {
                    e.as_ref().unwrap().file_name().to_string_lossy().starts_with("a.trace")
                })
                .count(),
            0
        );
        error
    };
    assert!(matches!(try_run("no-such-command-here"), CaptureError::CommandNotFound(_)));
    let file = dir.path().join("notes.txt");
    fs::write(&file, "no program").unwrap();
    let error = try_run(file.to_str().unwrap());
    assert!(matches!(error, CaptureError::CannotRun { .. }), "{error}");
}

#[test]
fn an_existing_path_is_an_error_before_the_command_starts() {
    let dir = folder();
    let options = sh(dir.path(), "touch started");
    fs::create_dir(&options.out).unwrap();
    let error = record(&options, &mut NoObserver).unwrap_err();
    assert!(matches!(error, CaptureError::Trace(TraceError::Exists(_))));
    let mut short = sh(dir.path(), "touch started");
    (short.out, short.interval) = (dir.path().join("b"), Ns(1000));
    assert!(matches!(record(&short, &mut NoObserver), Err(CaptureError::Option { .. })));
    let nothing = CaptureOptions::new(dir.path().join("b"), Vec::<String>::new());
    assert!(matches!(record(&nothing, &mut NoObserver), Err(CaptureError::Option { .. })));
    assert!(!dir.path().join("started").exists() && !dir.path().join("b").exists());
}

/// This test binary as a separate program, which captures the command in `GORDON_TEST_SCRIPT`.
fn program(dir: &Path) -> PathBuf {
    // In a place that other users can reach.
    let copy = dir.join("capture");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    copy
}

const PROGRAM: [&str; 3] = ["--exact", "the_program", "--nocapture"];

/// Prints what a front end would print. Panics at the first sample if `GORDON_TEST_PANIC` is set.
struct PrintingObserver(SampleCounter);

impl CaptureObserver for PrintingObserver {
    fn warning(&mut self, text: &str) {
        eprintln!("warning: {text}");
    }

    fn sample(&mut self, sample: &Sample) {
        assert!(std::env::var_os("GORDON_TEST_PANIC").is_none(), "a panic that was asked for");
        self.0.sample(sample);
    }
}

#[test]
fn the_program() {
    let Ok(out) = std::env::var("GORDON_TEST_OUT") else { return };
    let script = std::env::var("GORDON_TEST_SCRIPT").unwrap();
    let counts = std::env::var("GORDON_TEST_COUNTS").unwrap();
    let mut options = CaptureOptions::new(out, ["sh", "-c", &script]);
    options.interval = Ns(100_000_000);
    std::process::exit(
        match record(&options, &mut PrintingObserver(SampleCounter::new(Path::new(&counts)))) {
            Ok(outcome) => outcome.exit_status,
            Err(error) => {
                eprintln!("error: {error}");
                125
            }
        },
    );
}

/// As `nohup` and shell scripts start background processes.
#[test]
fn a_signal_that_is_ignored_stays_so() {
    let dir = folder();
    let out = dir.path().join("a.trace");
    let program = program(dir.path());
    let ignoring = format!("trap '' INT; exec {} {}", program.display(), PROGRAM.join(" "));
    let script = "kill -INT $PPID; kill -INT $$; sleep 0.2; exit 7";
    let mut command = Command::new("sh");
    command
        .args(["-c", &ignoring])
        .env("GORDON_TEST_OUT", &out)
        .env("GORDON_TEST_COUNTS", dir.path())
        .env("GORDON_TEST_SCRIPT", script);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", text(&output));
    assert!(!Trace::open(&out).unwrap().activity().unwrap().is_empty());
}

#[test]
fn nothing_is_left_in_the_kernel() {
    for panics in [false, true] {
        let dir = folder();
        let out = dir.path().join("a.trace");
        let mut command = Command::new(program(dir.path()));
        command
            .args(PROGRAM)
            .env("GORDON_TEST_OUT", &out)
            .env("GORDON_TEST_COUNTS", dir.path())
            .env("GORDON_TEST_SCRIPT", "sleep 0.5");
        if panics {
            command.env("GORDON_TEST_PANIC", "1");
        }
        let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        assert_eq!((child.wait().unwrap().success(), out.exists()), (!panics, !panics));
        let left = format!("gordon-{}-", child.id());
        let instances =
            "[ -e /sys/kernel/tracing/trace ] || mount -t tracefs t /sys/kernel/tracing;
                         ls /sys/kernel/tracing/instances";
        match Command::new("unshare").args(["-m", "sh", "-c", instances]).output() {
            Ok(output) => {
                assert!(!String::from_utf8_lossy(&output.stdout).contains(&left), "{output:?}");
            }
            Err(e) => skipped(&format!("nothing_is_left_in_the_kernel (tracefs): unshare: {e}")),
        }
        let partial = fs::read_dir(dir.path()).unwrap().flatten();
        assert!(!partial.into_iter().any(|e| e.file_name().to_string_lossy().contains("partial")));
        // After a panic the command continues to run, and keeps its control group.
        if !panics {
            assert_eq!(groups(&left), Vec::<PathBuf>::new());
        }
    }
}

/// Control groups whose names start with `start`.
fn groups(start: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(start) {
                found.push(entry.path());
            }
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    found
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn without_root_capture_continues_with_the_available_counters() {
    let test = "without_root_capture_continues_with_the_available_counters";
    if !is_root() {
        return skipped(&format!("{test}: all captures here are without root"));
    }
    let dir = alone(tempfile::tempdir().unwrap());
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(dir.path(), open).unwrap();
    let nobody = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        command
    };
    // The parent folders may be accessible to root only.
    let test_program = Path::new("test");
    let reached = nobody(test_program).arg("-x").arg(dir.path()).status();
    if !reached.is_ok_and(|status| status.success()) {
        return skipped(&format!("{test}: there is no setpriv, or nobody cannot reach the folder"));
    }
    let mut command = nobody(&program(dir.path()));
    let out = dir.path().join("a.trace");
    let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; await 2";
    let burn = format!("cd {}; {AWAIT} {burn}", dir.path().display());
    command
        .args(PROGRAM)
        .env("GORDON_TEST_OUT", &out)
        .env("GORDON_TEST_COUNTS", dir.path())
        .env("GORDON_TEST_SCRIPT", burn);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("warning: no block log: "), "{}", text(&output));
    let trace = Trace::open(&out).unwrap();
    assert!(trace.manifest().unavailable.iter().any(|u| u.what == "block log"));
    assert!(matches!(trace.block(), Err(TraceError::NoBlockLog { .. })));
    let samples = trace.activity().unwrap();
    assert!(sum(&samples, |s| s.command.cpu) > Ns::ZERO);
    assert!(sum(&samples, |s| s.command.memory) > Bytes::ZERO);
}

/// If tracefs can be read but not written, the events come from perf.
#[test]
fn a_tracer_that_is_read_only() {
    let test = "a_tracer_that_is_read_only";
    let dir = folder();
    if !is_on_a_disk(dir.path()) {
        return skipped(&format!("{test}: the build is not on a disk"));
    }
    let script = format!(
        "[ -e /sys/kernel/tracing/trace ] || mount -t tracefs t /sys/kernel/tracing || exit 99
         mount -o remount,bind,ro /sys/kernel/tracing || exit 99
         exec {} {}",
        program(dir.path()).display(),
        PROGRAM.join(" "),
    );
    let out = dir.path().join("a.trace");
    let command =
        format!("cd {}; dd if=/dev/urandom of=f bs=1M count=8 conv=fsync", dir.path().display());
    let mut unshare = Command::new("unshare");
    unshare
        .args(["-m", "sh", "-c", &script])
        .env("GORDON_TEST_OUT", &out)
        .env("GORDON_TEST_COUNTS", dir.path());
    let output = match unshare.env("GORDON_TEST_SCRIPT", command).output() {
        Ok(output) if output.status.code() == Some(0) => output,
        Ok(output) if is_root() && ![1, 99].contains(&output.status.code().unwrap_or(0)) => {
            panic!("{}", text(&output))
        }
        other => return skipped(&format!("{test}: tracefs cannot be mounted: {other:?}")),
    };
    let trace = Trace::open(&out).unwrap();
    let Some((rows, _)) = requests(&trace) else {
        let why = trace.manifest().unavailable.iter().find(|u| u.what == "block log").unwrap();
        // The message has the reasons of both sources.
        assert!(why.why.contains("tracefs gives no instance: ") && why.why.contains("; perf "));
        return skipped(&format!("{test}: {}", why.why));
    };
    let part = trace.manifest().part("block.parquet").unwrap();
    assert!(part.columns.iter().all(|c| c.how.contains(" of perf")), "{:?}", part.columns);
    let writes = rows.iter().filter(|io| io.op == IoOp::Write);
    let written: Bytes = writes.map(BlockIo::bytes).sum();
    assert!(written >= Bytes(8 << 20) || trace.manifest().lost_events() > 0, "{written}");
    // Some kernels keep completions from perf (docs/TRACE.md); each must count as lost. Requests of
    // other processes may still be in flight at the end.
    let disks = trace.manifest().machine.disks.iter().filter(|d| !d.is_virtual);
    let flushed = rows.iter().rposition(|io| io.op == IoOp::Flush);
    assert!(flushed.is_some() || !flushes(&disks.map(|d| d.device).collect::<Vec<_>>()));
    let ended = flushed.unwrap_or(0);
    let untimed = rows[..ended].iter().filter(|io| io.latency.is_none()).count() as u64;
    let lost = trace.manifest().lost_events();
    assert!(untimed <= lost, "{untimed} without latency, {lost} lost: {}", text(&output));
}

/// Captures `command` into a small file system in memory, and lists what is left there.
fn on_a_small_disk(dir: &Path, size: &str, command: &str) -> Option<Output> {
    let script = format!(
        "mkdir -p {dir}/small && mount -t tmpfs -o size={size} small {dir}/small || exit 99
         {program} {args} >{dir}/harness; status=$?
         ls -A {dir}/small; exit $status",
        dir = dir.display(),
        program = program(dir).display(),
        args = PROGRAM.join(" "),
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", &script]).env("GORDON_TEST_SCRIPT", command);
    unshare.env("GORDON_TEST_COUNTS", dir);
    let output = unshare.env("GORDON_TEST_OUT", dir.join("small/a.trace")).output().ok()?;
    (output.status.code() != Some(99)).then_some(output)
}

#[test]
fn a_disk_that_is_full_at_the_end() {
    let test = "a_disk_that_is_full_at_the_end";
    if !is_root() {
        return skipped(&format!("{test}: only root may mount a small disk"));
    }
    let dir = folder();
    let command = format!("touch {}/ran", dir.path().display());
    let Some(output) = on_a_small_disk(dir.path(), "8k", &command) else {
        return skipped(&format!("{test}: no small disk can be mounted"));
    };
    assert_eq!(output.status.code(), Some(125), "{}", text(&output));
    assert_eq!(text(&output).matches("the disk is full").count(), 1, "{}", text(&output));
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(dir.path().join("ran").exists());
}

/// The block log fills a row group, which does not fit on the disk. The capture stops, and the
/// command continues.
#[test]
fn a_disk_that_is_full_while_tracing() {
    let test = "a_disk_that_is_full_while_tracing";
    if !is_root() {
        return skipped(&format!("{test}: only root may mount a small disk"));
    }
    let dir = folder();
    let (_, trace) = run(&sh(dir.path(), "true"));
    if let Err(why) = trace.block() {
        return skipped(&format!("{test}: {why}"));
    }
    let file = dir.path().join("f");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    let mut direct = Command::new("dd");
    direct.arg(format!("if={}", file.display())).args(["of=/dev/null", "bs=512", "iflag=direct"]);
    if !is_on_a_disk(dir.path()) || !direct.stderr(Stdio::null()).status().unwrap().success() {
        return skipped(&format!("{test}: the build is not on a disk with direct I/O of sectors"));
    }
    // The command waits until the capture has stopped before it ends.
    let command = format!(
        "cd {}; sync; i=0; while [ ! -e stopped ] && [ $i -lt 100 ]; do i=$((i+1)); dd if=f \
         of=/dev/null bs=512 iflag=direct status=none; ls small/* >/dev/null 2>&1 || touch \
         stopped; done; touch ran",
        dir.path().display()
    );
    let Some(output) = on_a_small_disk(dir.path(), "32k", &command) else {
        return skipped(&format!("{test}: no small disk can be mounted"));
    };
    assert_eq!(output.status.code(), Some(125), "{}", text(&output));
    let stopped = text(&output).contains("capture stops, the command continues: the disk is full");
    assert!(stopped, "{}", text(&output));
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(dir.path().join("stopped").exists() && dir.path().join("ran").exists());
}
