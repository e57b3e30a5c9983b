//! Captures of nodes. A test that needs something which the machine lacks is skipped by name.
#![allow(clippy::unwrap_used, missing_docs, clippy::print_stdout, clippy::print_stderr)]

use gordon_blockio::IoOp;
use gordon_capture::CaptureError;
use gordon_capture::nodes::{
    MachineOptions, NodeOptions, NodesOptions, NodesOutcome, ScopeOptions, start,
};
use gordon_testkit::{is_on_a_disk, skipped};
use gordon_trace::{BlockIo, ColumnKind, Manifest, Profile, Sample, Trace, TraceError};
use gordon_units::{Bytes, Ns};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const MIB: u64 = 1 << 20;
const INTERVAL: u64 = 200_000_000;

/// A folder on the disk of the build; the default temporary folder may be in memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn node(name: &str, dir: &Path) -> NodeOptions {
    NodeOptions { name: name.to_owned(), out: dir.join(name), ..NodeOptions::default() }
}

fn options(scopes: impl IntoIterator<Item = ScopeOptions>) -> NodesOptions {
    NodesOptions {
        scopes: scopes.into_iter().collect(),
        interval_ns: INTERVAL,
        phase_unix_ns: 50_000_000,
        command: vec!["job".to_owned()],
        profile: Profile::default(),
    }
}

fn opened(outcome: &NodesOutcome, at: usize) -> (Trace, Vec<Sample>) {
    let traced = &outcome.traces[at];
    let trace = Trace::open(&traced.folder).unwrap();
    assert_eq!(trace.manifest(), traced.result.as_ref().unwrap());
    let samples = trace.activity().unwrap();
    assert_eq!(samples.last().unwrap().end(), trace.manifest().duration);
    (trace, samples)
}

fn sum<T: std::iter::Sum>(samples: &[Sample], of: impl Fn(&Sample) -> T) -> T {
    samples.iter().map(of).sum()
}

fn written(samples: &[Sample]) -> Bytes {
    samples.iter().flat_map(|s| &s.disks).map(|disk| disk.write_bytes).sum()
}

fn logged(trace: &Trace) -> Option<Vec<BlockIo>> {
    Some(trace.block().ok()?.flat_map(|batch| batch.unwrap()).collect())
}

fn written_in(rows: &[BlockIo]) -> Bytes {
    rows.iter().filter(|io| io.op == IoOp::Write).map(BlockIo::bytes).sum()
}

/// Whether two times or sizes differ by at most 5 % and `slack`.
fn is_close(found: u64, expected: u64, slack: u64) -> bool {
    found.abs_diff(expected) <= expected / 20 + slack
}

fn await_file(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

/// The job of a node, when this program is run again with `GORDON_TEST_NODE`: it waits for a file
/// `go`, sends or receives bytes, writes a file with `fsync`, computes, and leaves its CPU time.
#[test]
fn the_job() {
    let Ok(job) = std::env::var("GORDON_TEST_NODE") else { return };
    let words: Vec<&str> = job.split(' ').collect();
    let [dir, disk, peer, send, write, cpu_ms] = words[..] else { panic!("{job}") };
    let (dir, number) = (Path::new(dir), |text: &str| text.parse::<u64>().unwrap());
    fs::write(dir.join("ready"), "").unwrap();
    await_file(&dir.join("../go"));
    let mut buffer = vec![7; 1 << 16];
    if let Some(address) = peer.strip_prefix("listen:") {
        let listener = TcpListener::bind(address).unwrap();
        fs::write(dir.join("../listening"), "").unwrap();
        let mut stream = listener.accept().unwrap().0;
        while stream.read(&mut buffer).unwrap() > 0 {}
    } else if let Some(address) = peer.strip_prefix("to:") {
        await_file(&dir.join("../listening"));
        let mut stream = TcpStream::connect(address).unwrap();
        for _ in 0..number(send) * MIB / buffer.len() as u64 {
            stream.write_all(&buffer).unwrap();
        }
    }
    let mut file = fs::File::create(Path::new(disk).join("data")).unwrap();
    for _ in 0..number(write) {
        file.write_all(&vec![9; 1 << 20]).unwrap();
    }
    file.sync_all().unwrap();
    while own_cpu_ns() < number(cpu_ms) * 1_000_000 {}
    fs::write(dir.join("cpu"), own_cpu_ns().to_string()).unwrap();
    fs::write(dir.join("done"), "").unwrap();
    await_file(&dir.join("../end"));
}

/// Starts the job of a node, after the shell commands `enter`.
fn job(dir: &Path, disk: &Path, enter: &str, within: &str, what: &str) -> Child {
    fs::create_dir_all(dir).unwrap();
    let program = std::env::current_exe().unwrap();
    let script = format!("{enter} exec {within} {} the_job --exact --nocapture", program.display());
    Command::new("sh")
        .args(["-c", &script])
        .env("GORDON_TEST_NODE", format!("{} {} {what}", dir.display(), disk.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn sh(script: &str) -> Output {
    Command::new("sh").args(["-ec", script]).output().unwrap()
}

/// Two nodes with control groups, network namespaces and loop disks, removed when dropped.
struct TwoNodes {
    dir: tempfile::TempDir,
    tag: String,
    devices: Vec<String>,
}

impl TwoNodes {
    /// The reason is of a machine that cannot have them.
    fn create() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root creates nodes".to_owned());
        }
        let dir = folder();
        if !is_on_a_disk(dir.path()) {
            return Err("the build is not on a disk".to_owned());
        }
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let tag = format!("gt{}-{serial}", std::process::id());
        let mut nodes = Self { dir, tag, devices: Vec::new() };
        let tag = &nodes.tag;
        let mut script = format!(
            "ip link add {tag}a type veth peer name {tag}b
             for n in a b; do
               ip netns add {tag}$n; ip link set {tag}$n netns {tag}$n
               ip -n {tag}$n link set lo up; ip -n {tag}$n link set {tag}$n up
             done
             ip -n {tag}a addr add 10.231.77.1/24 dev {tag}a
             ip -n {tag}b addr add 10.231.77.2/24 dev {tag}b\n"
        );
        for folder in nodes.groups() {
            script += &format!("mkdir -p {}\n", folder.display());
        }
        let ran = sh(&script);
        if !ran.status.success() {
            return Err(String::from_utf8_lossy(&ran.stderr).into_owned());
        }
        for name in ["a", "b"] {
            let path = nodes.dir.path().join(name);
            fs::create_dir_all(path.join("disk")).unwrap();
            let ran = sh(&format!(
                "cd {}; truncate -s 96M image; loop=$(losetup --find --show --direct-io=on image)
                 echo $loop; mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 $loop >&2
                 mount $loop disk",
                path.display()
            ));
            let device = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
            nodes.devices.push(device.trim_start_matches("/dev/").to_owned());
            if !ran.status.success() {
                return Err(String::from_utf8_lossy(&ran.stderr).into_owned());
            }
        }
        Ok(nodes)
    }

    /// The folders of the groups of both nodes in all hierarchies.
    fn groups(&self) -> Vec<PathBuf> {
        let version_1 = ["cpuacct", "cpu,cpuacct", "memory", "perf_event"]
            .map(|name| format!("/sys/fs/cgroup/{name}"));
        let mut roots: Vec<PathBuf> = version_1.into_iter().map(PathBuf::from).collect();
        roots.retain(|root| root.is_dir() && !root.is_symlink());
        if roots.is_empty() {
            roots.push("/sys/fs/cgroup".into());
        }
        let both =
            roots.iter().flat_map(|root| ["a", "b"].map(|name| root.join(&self.tag).join(name)));
        both.collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn scope(&self, name: &str) -> NodeOptions {
        NodeOptions {
            cgroup: Some(format!("/{}/{name}", self.tag)),
            netns: Some(format!("{}{name}", self.tag)),
            devices: vec![self.devices[usize::from(name == "b")].clone()],
            cores: Some(0.5),
            ..node(&format!("node-{name}"), self.dir.path())
        }
    }

    fn job(&self, name: &str, what: &str) -> Child {
        let dir = self.path(name);
        let groups = self.groups().into_iter().filter(|group| group.ends_with(name));
        let enter: String =
            groups.map(|group| format!("echo 0 >{}/cgroup.procs; ", group.display())).collect();
        let within = format!("ip netns exec {}{name}", self.tag);
        let child = job(&dir, &dir.join("disk"), &enter, &within, what);
        await_file(&dir.join("ready"));
        child
    }

    /// Removes all but the folder.
    fn remove(&self) {
        let tag = &self.tag;
        let mut script = String::from("set +e\n");
        for (name, device) in ["a", "b"].iter().zip(&self.devices) {
            let disk = self.path(name).join("disk");
            script += &format!("umount {}; losetup -d /dev/{device}\n", disk.display());
        }
        script += &format!("ip netns del {tag}a; ip netns del {tag}b; ip link del {tag}a\n");
        for group in self.groups() {
            script += &format!("rmdir {}\n", group.display());
        }
        for group in self.groups().iter().filter_map(|group| group.parent()) {
            script += &format!("rmdir {}\n", group.display());
        }
        sh(&script);
    }
}

impl Drop for TwoNodes {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Bytes that a device has written, as the kernel counts them.
fn device_written(name: &str) -> u64 {
    let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    text.split_whitespace().nth(6).unwrap().parse::<u64>().unwrap() * 512
}

fn device_number(name: &str) -> u32 {
    let text = fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap();
    let (major, minor) = text.trim().split_once(':').unwrap();
    major.parse::<u32>().unwrap() << 20 | minor.parse::<u32>().unwrap()
}

fn stolen() -> Ns {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let ticks: u64 = text.split_whitespace().nth(8).unwrap().parse().unwrap();
    Ns(ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second())
}

#[test]
fn each_node_has_its_own_processor_memory_network_and_disk() {
    let test = "each_node_has_its_own_processor_memory_network_and_disk";
    let nodes = match TwoNodes::create() {
        Ok(nodes) => nodes,
        Err(why) => return skipped(&format!("{test}: {why}")),
    };
    let limit = nodes
        .groups()
        .into_iter()
        .find(|group| group.ends_with("a") && group.starts_with("/sys/fs/cgroup/memory"));
    if let Some(group) = &limit {
        fs::write(group.join("memory.limit_in_bytes"), (128 * MIB).to_string()).unwrap();
    }
    let mut jobs = [
        nodes.job("a", "to:10.231.77.2:7777 24 12 1000"),
        nodes.job("b", "listen:10.231.77.2:7777 0 20 400"),
    ];
    let machine = MachineOptions { name: "host".to_owned(), out: nodes.path("host") };
    let before: Vec<u64> = nodes.devices.iter().map(|name| device_written(name)).collect();
    let stolen_before = stolen();
    let running = start(&options([
        ScopeOptions::Node(nodes.scope("a")),
        ScopeOptions::Node(nodes.scope("b")),
        ScopeOptions::Machine(machine),
    ]))
    .unwrap();
    assert!(
        running.warnings().iter().all(|text| !text.starts_with("node")),
        "{:?}",
        running.warnings()
    );
    fs::write(nodes.path("go"), "").unwrap();
    await_file(&nodes.path("a/done"));
    await_file(&nodes.path("b/done"));
    let outcome = running.stop();
    let after: Vec<u64> = nodes.devices.iter().map(|name| device_written(name)).collect();
    let stolen = stolen() - stolen_before;
    fs::write(nodes.path("end"), "").unwrap();
    for child in &mut jobs {
        assert!(child.wait().unwrap().success());
    }

    let traces = [0, 1].map(|at| opened(&outcome, at));
    let (host, _) = opened(&outcome, 2);
    let times = |samples: &[Sample]| samples.iter().map(Sample::end).collect::<Vec<_>>();
    assert_eq!(times(&traces[0].1), times(&traces[1].1));
    let mut cpu = Ns::ZERO;
    for (at, (name, size)) in [("a", 12 * MIB), ("b", 20 * MIB)].into_iter().enumerate() {
        let (trace, samples) = &traces[at];
        let manifest = trace.manifest();
        let scope = manifest.scope.node().unwrap();
        assert_eq!(
            (scope.name.as_str(), scope.cores),
            (format!("node-{name}").as_str(), Some(0.5))
        );
        assert_eq!(manifest.scope.host, host.manifest().scope.host);
        assert!(scope.network_namespace.is_some() && scope.processes.is_empty());
        assert_eq!(scope.shared.iter().filter(|shared| shared.what != "mhz").count(), 0);

        // The shell and `ip` that started the job did so before the capture.
        let own: u64 = fs::read_to_string(nodes.path(name).join("cpu")).unwrap().parse().unwrap();
        let used = sum(samples, Sample::cpu);
        assert!(is_close(used.0, own, 20_000_000), "{name}: {used} of {}", Ns(own));
        assert_eq!(sum(samples, |s| s.command.cpu), used);
        cpu += used;

        // What the kernel counted at the device, what it logged, and what was written.
        let counted = after[at] - before[at];
        let device = device_number(&nodes.devices[at]);
        let disk = &manifest.machine.disks[..];
        assert!(matches!(disk, [disk] if disk.device == device && !disk.is_virtual), "{disk:?}");
        assert!(written(samples).0.abs_diff(counted) <= 16 << 10, "{name}: {}", written(samples));
        assert!(is_close(counted, size, MIB / 2), "{name}: {counted} of {size}");
        if let (Some(rows), 0) = (logged(trace), manifest.lost_events()) {
            assert!(rows.iter().all(|io| io.device == device));
            assert!(
                written_in(&rows).0.abs_diff(counted) <= 16 << 10,
                "{name}: {}",
                written_in(&rows)
            );
            let mut of_host = logged(&host).unwrap();
            of_host.retain(|io| io.device == device);
            let same = |a: &BlockIo, b: &BlockIo| (a.at, a.sector, a.op) == (b.at, b.sector, b.op);
            assert_eq!(of_host.len(), rows.len());
            assert!(rows.iter().zip(&of_host).all(|(a, b)| same(a, b)));
        } else {
            skipped(&format!("{test} (block log): {:?}", trace.manifest().block));
        }
        let io = sum(samples, |s| s.command.write_bytes).0;
        assert!(io.abs_diff(size) <= 256 << 10, "{name}: {io} of {size}");
        assert!(samples.iter().all(|s| s.memory > Bytes::ZERO && s.command.processes > 0));
    }
    if limit.is_some() {
        let manifest = traces[0].0.manifest();
        assert_eq!(
            (manifest.machine.memory, manifest.memory_limit),
            (Bytes(128 * MIB), Some(Bytes(128 * MIB)))
        );
        assert_eq!(traces[1].0.manifest().memory_limit, None);
    }
    // What one node sends, the other receives, with headers of 66 bytes for up to 64 KiB.
    let network = |of: fn(&Sample) -> Bytes| [0, 1].map(|at| sum(&traces[at].1, of).0);
    let (received, sent) = (network(|s| s.rx_bytes), network(|s| s.tx_bytes));
    assert!(sent[0] >= 24 * MIB && is_close(sent[0], 24 * MIB, 4096), "{sent:?}");
    assert!(received[1].abs_diff(sent[0]) <= 4096 && received[0].abs_diff(sent[1]) <= 4096);
    let machine = outcome.machine.cpu + stolen;
    assert!(cpu.0 <= machine.0 + machine.0 / 20 + 100_000_000, "{cpu} of {machine}");
    assert!(outcome.capture_cpu < outcome.machine.cpu);
    println!(
        "CPU {cpu} of {machine} of the machine; sent {sent:?}, received {received:?}; \
         written {:?} of {:?}; capture {}",
        [0, 1].map(|at| written(&traces[at].1).0),
        [0, 1].map(|at| after[at] - before[at]),
        outcome.capture_cpu,
    );
}

#[test]
fn a_node_that_vanishes_keeps_its_trace() {
    let test = "a_node_that_vanishes_keeps_its_trace";
    let nodes = match TwoNodes::create() {
        Ok(nodes) => nodes,
        Err(why) => return skipped(&format!("{test}: {why}")),
    };
    let mut job = nodes.job("a", "- 0 4 300");
    let running = start(&options([ScopeOptions::Node(nodes.scope("a"))])).unwrap();
    fs::write(nodes.path("go"), "").unwrap();
    await_file(&nodes.path("a/done"));
    std::thread::sleep(Duration::from_nanos(2 * INTERVAL));
    fs::write(nodes.path("end"), "").unwrap();
    job.wait().unwrap();
    nodes.remove();
    std::thread::sleep(Duration::from_nanos(2 * INTERVAL));
    let outcome = running.stop();
    let (_, samples) = opened(&outcome, 0);
    let own: u64 = fs::read_to_string(nodes.path("a/cpu")).unwrap().parse().unwrap();
    assert!(is_close(sum(&samples, Sample::cpu).0, own, 20_000_000));
    assert!(sum(&samples, |s| s.command.write_bytes) >= Bytes(4 * MIB));
    assert!(written(&samples) >= Bytes(4 * MIB));
    assert_eq!(samples.last().unwrap().command.processes, 0);
}

/// A control group with a quota of a tenth of a core, in all hierarchies.
struct QuotaGroup {
    name: String,
    folders: Vec<PathBuf>,
}

impl QuotaGroup {
    /// The reason is of a machine on which it cannot be made.
    fn create() -> Result<Self, String> {
        let name = format!("gt{}-quota", std::process::id());
        let mounts = ["cpu", "cpuacct", "cpu,cpuacct", "memory", ""]
            .map(|hierarchy| PathBuf::from("/sys/fs/cgroup").join(hierarchy));
        let is_mount = |mount: &PathBuf| !mount.is_symlink() && mount.join("cgroup.procs").exists();
        let folders = mounts.into_iter().filter(is_mount).map(|mount| mount.join(&name)).collect();
        let group = Self { name, folders };
        for folder in &group.folders {
            fs::create_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let quota = |file: &str, text: &str| {
            group.folders.iter().any(|folder| {
                let file = folder.join(file);
                file.exists() && fs::write(file, text).is_ok()
            })
        };
        match quota("cpu.max", "10000 100000") || quota("cpu.cfs_quota_us", "10000") {
            true => Ok(group),
            false => Err("no CPU quota can be set".to_owned()),
        }
    }

    /// The time that the kernel counted, in nanoseconds.
    fn throttled(&self) -> u64 {
        let stats = self.folders.iter().map(|folder| folder.join("cpu.stat"));
        let text: String = stats.filter_map(|file| fs::read_to_string(file).ok()).collect();
        let of = |key| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|number| number.trim().parse::<u64>().ok())
        };
        of("throttled_usec ").map(|us| us * 1000).or_else(|| of("throttled_time ")).unwrap()
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[test]
fn a_node_records_the_time_in_which_its_quota_holds_it_back() {
    let test = "a_node_records_the_time_in_which_its_quota_holds_it_back";
    let group = match QuotaGroup::create() {
        Ok(group) => group,
        Err(why) => return skipped(&format!("{test}: {why}")),
    };
    let dir = folder();
    let scope =
        NodeOptions { cgroup: Some(format!("/{}", group.name)), ..node("quota", dir.path()) };
    let running = start(&options([ScopeOptions::Node(scope)])).unwrap();
    let enter: String =
        group.folders.iter().map(|at| format!("echo 0 >{}/cgroup.procs; ", at.display())).collect();
    let mut job =
        Command::new("sh").args(["-c", &format!("{enter} while :; do :; done")]).spawn().unwrap();
    while group.throttled() < 100_000_000 {
        std::thread::sleep(Duration::from_millis(20));
    }
    job.kill().unwrap();
    job.wait().unwrap();
    // The kernel adds what remains when the group runs again, which it does not any more.
    std::thread::sleep(Duration::from_nanos(2 * INTERVAL));
    let expected = group.throttled();
    let outcome = running.stop();
    let (trace, samples) = opened(&outcome, 0);
    let kind = |name: &str| trace.manifest().column(name).unwrap().kind;
    assert_eq!(sum(&samples, |s| s.throttled), Ns(expected));
    assert_eq!(
        (kind("throttled_ns"), kind("steal_ns")),
        (ColumnKind::Measured, ColumnKind::Missing)
    );
}

#[test]
fn nodes_without_groups_share_the_disks_by_their_own_bytes() {
    let test = "nodes_without_groups_share_the_disks_by_their_own_bytes";
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    let what = [("a", 8u64, 600), ("b", 32, 200)];
    let mut jobs = what.map(|(name, write, cpu)| {
        fs::create_dir_all(at(name)).unwrap();
        // The job is a child of the root of the tree.
        let child = job(&at(name), &at(name), "true;", "env", &format!("- 0 {write} {cpu}"));
        await_file(&at(name).join("ready"));
        child
    });
    let scopes = what.map(|(name, ..)| {
        let number = usize::from(name == "b");
        let processes = vec![jobs[number].id()];
        ScopeOptions::Node(NodeOptions { processes, ..node(&format!("node-{name}"), dir.path()) })
    });
    let running = start(&options(scopes)).unwrap();
    let warnings = running.warnings().to_vec();
    for what in ["no network: ", "no control group: ", "no block devices of its own: "] {
        let found =
            warnings.iter().filter(|text| text.starts_with(&format!("node-a, node-b: {what}")));
        assert_eq!(found.count(), 1, "{warnings:?}");
    }
    fs::write(at("go"), "").unwrap();
    what.iter().for_each(|(name, ..)| await_file(&at(name).join("done")));
    let outcome = running.stop();
    fs::write(at("end"), "").unwrap();
    for child in &mut jobs {
        assert!(child.wait().unwrap().success());
    }
    let mut shared = Bytes::ZERO;
    for (number, (name, write, _)) in what.into_iter().enumerate() {
        let (trace, samples) = opened(&outcome, number);
        let manifest = trace.manifest();
        let own: u64 = fs::read_to_string(at(name).join("cpu")).unwrap().parse().unwrap();
        assert!(is_close(sum(&samples, Sample::cpu).0, own, 30_000_000), "{name}");
        assert_eq!(manifest.column("rx_bytes").unwrap().kind, ColumnKind::Missing);
        assert_eq!(manifest.scope.node().unwrap().processes, [jobs[number].id()]);
        let disks = manifest.part("disks.parquet").unwrap();
        let scaled = disks.columns.iter().filter(|c| c.kind == ColumnKind::Scaled).count();
        assert_eq!(scaled, disks.columns.len() - 2, "all but time and device");
        let is_shared = |manifest: &Manifest, what: &str| {
            manifest.scope.node().unwrap().shared.iter().any(|shared| shared.what == what)
        };
        assert!(is_shared(manifest, "disks") && is_shared(manifest, "block log"));
        if manifest.machine.disks.is_empty() || !is_on_a_disk(dir.path()) {
            skipped(&format!("{test} (disks): the build is not on a disk that is seen here"));
            continue;
        }
        // Others may have written in between; no node has their bytes.
        let io = sum(&samples, |s| s.command.write_bytes).0;
        assert!(is_close(io, write * MIB, 256 << 10), "{name}: {io}");
        assert!(
            is_close(written(&samples).0, io, 256 << 10),
            "{name}: {} of {io}",
            written(&samples)
        );
        shared += written(&samples);
        if let (Some(rows), 0) = (logged(&trace), manifest.lost_events()) {
            // A request of up to some MB is of one node as a whole.
            assert!(is_close(written_in(&rows).0, io, 4 * MIB), "{name}: {}", written_in(&rows));
            assert_eq!(manifest.part("block.parquet").unwrap().columns[0].kind, ColumnKind::Scaled);
        } else {
            skipped(&format!("{test} (block log): {:?}", manifest.block));
        }
    }
    println!("{shared} of {} are the nodes'", outcome.machine.write_bytes);
    assert!(shared <= outcome.machine.write_bytes, "{shared} of {}", outcome.machine.write_bytes);
}

#[test]
fn samples_are_at_multiples_of_the_interval_of_the_wall_clock() {
    let dir = folder();
    let own = NodeOptions { processes: vec![std::process::id()], ..node("self", dir.path()) };
    let running = start(&options([ScopeOptions::Node(own)])).unwrap();
    std::thread::sleep(Duration::from_nanos(6 * INTERVAL + INTERVAL / 2));
    let outcome = running.stop();
    let (trace, samples) = opened(&outcome, 0);
    let start = trace.manifest().start_unix_ns;
    let (last, regular) = samples.split_last().unwrap();
    assert!(regular.len() >= 3 && last.span < Ns(2 * INTERVAL), "{}", regular.len());
    let since = |sample: &Sample| start + sample.end().0 - 50_000_000;
    let numbers: Vec<u64> = regular.iter().map(|sample| since(sample) / INTERVAL).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    // A busy machine may be late, but not mostly.
    let late = regular.iter().filter(|sample| since(sample) % INTERVAL > INTERVAL / 4).count();
    assert!(late * 2 <= regular.len(), "{late} of {}", regular.len());
}

#[test]
fn a_capture_that_is_dropped_leaves_nothing() {
    let dir = folder();
    let own = NodeOptions { processes: vec![std::process::id()], ..node("self", dir.path()) };
    let running = start(&options([ScopeOptions::Node(own)])).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    drop(running);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn scopes_that_do_not_exist_or_overlap_are_errors_before_the_capture() {
    let dir = folder();
    let own = || NodeOptions { processes: vec![std::process::id()], ..node("self", dir.path()) };
    let error = |nodes: Vec<NodeOptions>| {
        let error = start(&options(nodes.into_iter().map(ScopeOptions::Node))).unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{error}");
        error
    };
    let group = NodeOptions { cgroup: Some("/no/such/group".into()), ..node("n", dir.path()) };
    assert!(matches!(error(vec![group]), CaptureError::UnknownControlGroup { .. }));
    let process = NodeOptions { processes: vec![u32::MAX >> 1], ..node("n", dir.path()) };
    assert!(matches!(error(vec![process]), CaptureError::UnknownProcess { .. }));
    let device = NodeOptions { devices: vec!["no-such-disk".into()], ..own() };
    assert!(matches!(error(vec![device]), CaptureError::UnknownDevice { .. }));
    let netns = NodeOptions { netns: Some("no-such-namespace".into()), ..own() };
    assert!(matches!(error(vec![netns]), CaptureError::UnknownNamespace { .. }));
    let other = NodeOptions { name: "other".into(), out: dir.path().join("other"), ..own() };
    assert!(matches!(error(vec![own(), other]), CaptureError::OverlappingScopes { .. }));
    for bad in [
        vec![],
        vec![node("neither", dir.path())],
        vec![NodeOptions { cgroup: Some("/".into()), ..own() }],
        vec![NodeOptions { cores: Some(0.0), ..own() }],
        vec![NodeOptions { cores: Some(f64::NAN), ..own() }],
        vec![NodeOptions { name: String::new(), ..own() }],
        vec![own(), own()],
    ] {
        assert!(matches!(error(bad), CaptureError::Option { .. }));
    }
    let mut short = options([ScopeOptions::Node(own())]);
    short.interval_ns = 99_999_999;
    assert!(matches!(start(&short), Err(CaptureError::Option { option: "interval", .. })));
    fs::create_dir(dir.path().join("self")).unwrap();
    let exists = start(&options([ScopeOptions::Node(own())])).unwrap_err();
    assert!(matches!(exists, CaptureError::Trace(TraceError::Exists(_))));
}
