//! Counters of the whole machine, from /proc and /sys. Files that are read for every sample stay
//! open.

use crate::cgroup::MemoryKinds;
use gordon_trace::{DiskSample, LinkFacts, Sample, counted_links};
use gordon_units::{Bytes, Ns};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// A file of /proc or /sys that is read repeatedly.
pub(crate) struct ProcFile {
    file: File,
    buffer: Vec<u8>,
}

impl ProcFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, buffer: vec![0; 4096] })
    }

    pub(crate) fn read(&mut self) -> io::Result<&str> {
        let mut len = 0;
        loop {
            if len == self.buffer.len() {
                self.buffer.resize(2 * len, 0);
            }
            match self.file.read_at(&mut self.buffer[len..], len as u64) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        std::str::from_utf8(&self.buffer[..len]).map_err(io::Error::other)
    }
}

/// Source of the core frequencies.
enum FrequencySource {
    /// One file per core, in kHz.
    Cpufreq(Vec<ProcFile>),
    Cpuinfo(ProcFile),
    Unknown,
}

/// The files of pressure stall information (Linux 4.20 and later, unless it is disabled), of the
/// machine or of a control group.
pub(crate) struct PressureFiles {
    io: ProcFile,
    cpu: ProcFile,
}

impl PressureFiles {
    /// The files of the machine. The reason is of a kernel without PSI: the files are missing, or
    /// reading them fails.
    fn open(root: &Path) -> Result<Self, String> {
        let path = |name| (root.join("proc/pressure").join(name), format!("/proc/pressure/{name}"));
        Self::at([path("io"), path("cpu")])
    }

    /// The files of `io` and `cpu`, each with its path for the reason.
    pub(crate) fn at([io, cpu]: [(PathBuf, String); 2]) -> Result<Self, String> {
        let open = |(path, shown): (PathBuf, String)| {
            ProcFile::open(&path)
                .and_then(|mut file| file.read().map(drop).map(|()| file))
                .map_err(|e| format!("{shown}: {e}"))
        };
        Ok(Self { io: open(io)?, cpu: open(cpu)? })
    }

    /// `full` of `io` and `some` of `cpu`.
    pub(crate) fn read(&mut self) -> io::Result<(Ns, Ns)> {
        Ok((pressure(self.io.read()?, "full"), pressure(self.cpu.read()?, "some")))
    }
}

/// Reads the counters of the machine.
pub(crate) struct MachineCounters {
    root: PathBuf,
    stat: ProcFile,
    meminfo: ProcFile,
    diskstats: ProcFile,
    net: Option<ProcFile>,
    pressure: Result<PressureFiles, String>,
    clock: FrequencySource,
    /// Time of the last read of the frequencies. They are the most expensive counters, so they are
    /// read at most once a second.
    clock_at: Option<Ns>,
    mhz: Vec<u32>,
    /// Whether a block device is a whole disk and not a partition, by device number.
    whole: BTreeMap<u32, bool>,
    counted: CountedInterfaces,
    tick: u64,
    /// Totals at the start of the trace.
    base: Sample,
    /// The last count of each core; `None` while it has not been online.
    busy: Vec<Option<Ns>>,
}

impl MachineCounters {
    /// Opens the files under `root`, which is `/` except in tests. Only the files of network,
    /// pressure and frequencies may be missing.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let open = |file: &str| ProcFile::open(&root.join(file));
        Ok(Self {
            stat: open("proc/stat")?,
            meminfo: open("proc/meminfo")?,
            diskstats: open("proc/diskstats")?,
            net: open("proc/self/net/dev").ok(),
            pressure: PressureFiles::open(root),
            clock: FrequencySource::open(root),
            clock_at: None,
            mhz: Vec::new(),
            whole: BTreeMap::new(),
            counted: CountedInterfaces::new(root),
            tick: 1_000_000_000 / rustix::param::clock_ticks_per_second(),
            base: Sample::default(),
            busy: Vec::new(),
            root: root.to_owned(),
        })
    }

    /// Whether the kernel counts memory that it cannot drop.
    pub(crate) fn has_memory_kinds(&mut self) -> bool {
        self.meminfo.read().is_ok_and(|text| memory_kinds(text).is_some())
    }

    pub(crate) fn has_network(&self) -> bool {
        self.net.is_some()
    }

    /// The reason for which there is no pressure stall information; `None` if there is.
    pub(crate) fn without_pressure(&self) -> Option<&str> {
        self.pressure.as_ref().err().map(String::as_str)
    }

    /// Source of the frequencies, for the manifest; `None` if they are unknown.
    pub(crate) fn clock(&self) -> Option<&'static str> {
        match self.clock {
            FrequencySource::Cpufreq(_) => Some("cpufreq scaling_cur_freq, at most once a second"),
            FrequencySource::Cpuinfo(_) => Some("/proc/cpuinfo, at most once a second"),
            FrequencySource::Unknown => None,
        }
    }

    /// Starts the trace: later totals count from now on. Returns the first totals, in which only
    /// the gauges are not zero.
    pub(crate) fn start(&mut self, now: Ns) -> io::Result<Sample> {
        self.base = Sample::default();
        self.busy.clear();
        self.base = self.totals(now)?;
        Ok(Sample {
            cpu_per_core: vec![Ns::ZERO; self.base.cpu_per_core.len()],
            mhz_per_core: self.base.mhz_per_core.clone(),
            memory: self.base.memory,
            anonymous: self.base.anonymous,
            cache: self.base.cache,
            ..Sample::default()
        })
    }

    /// Totals since the start, read at `now`, a time on the same clock as that of the start.
    /// Instructions, cache misses and the fields of the command stay zero.
    pub(crate) fn totals(&mut self, now: Ns) -> io::Result<Sample> {
        let mut s = Sample { span: now, ..Sample::default() };
        let stat = self.stat.read()?;
        let cores = cpu(stat, self.tick);
        s.iowait = of_all_cores(stat, IOWAIT, self.tick);
        s.steal = of_all_cores(stat, STEAL, self.tick);
        s.cpu_per_core = self.of_cores(cores);
        if let Ok(pressure) = &mut self.pressure {
            (s.psi_io_full, s.psi_cpu_some) = pressure.read()?;
        }
        let meminfo = self.meminfo.read()?;
        s.memory = memory(meminfo);
        let kinds = memory_kinds(meminfo).unwrap_or_default();
        (s.anonymous, s.cache) = (kinds.anonymous, kinds.cache);
        let (whole, root) = (&mut self.whole, &self.root);
        s.disks = disks(self.diskstats.read()?, |device, name| {
            *whole.entry(device).or_insert_with(|| {
                // /sys has `!` for `/` in names.
                root.join("sys/block").join(name.replace('/', "!")).exists()
            })
        });
        if let Some(net) = &mut self.net {
            let counted = &mut self.counted;
            [s.rx_bytes.0, s.rx_packets, s.tx_bytes.0, s.tx_packets] =
                network(net.read()?, |name| counted.is_counted(name));
        }
        if self.clock_at.is_none_or(|at| now.saturating_sub(at) >= Ns::SECOND) {
            self.clock_at = Some(now);
            self.clock.read(&mut self.mhz);
        }
        s.mhz_per_core.clone_from(&self.mhz);
        let mut since = s.since(&self.base);
        (since.start, since.span) = (Ns::ZERO, now.saturating_sub(self.base.span));
        since.disks.retain(|d| !d.is_idle());
        Ok(since)
    }
}

impl MachineCounters {
    /// The time of each core. One that is offline, which has no line, keeps its time; one that
    /// comes online later counts from then on.
    fn of_cores(&mut self, mut cores: Vec<Option<Ns>>) -> Vec<Ns> {
        let is_first = self.busy.is_empty();
        let count = cores.len().max(self.busy.len());
        cores.resize(count, None);
        self.busy.resize(count, None);
        if self.base.cpu_per_core.len() < count {
            self.base.cpu_per_core.resize(count, Ns::ZERO);
        }
        for (core, (now, before)) in cores.iter().zip(&mut self.busy).enumerate() {
            let Some(now) = *now else { continue };
            if !is_first && before.is_none() {
                self.base.cpu_per_core[core] = now;
            }
            *before = (*before).max(Some(now));
        }
        self.busy.iter().map(|busy| busy.unwrap_or_default()).collect()
    }
}

impl FrequencySource {
    fn open(root: &Path) -> Self {
        let cores = (0..).map_while(|core| {
            let file = format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
            ProcFile::open(&root.join(file)).ok()
        });
        let cores: Vec<ProcFile> = cores.collect();
        if !cores.is_empty() {
            return Self::Cpufreq(cores);
        }
        match ProcFile::open(&root.join("proc/cpuinfo")) {
            Ok(mut file) => match file.read().map(cpuinfo_mhz) {
                Ok(mhz) if !mhz.is_empty() => Self::Cpuinfo(file),
                _ => Self::Unknown,
            },
            Err(_) => Self::Unknown,
        }
    }

    fn read(&mut self, mhz: &mut Vec<u32>) {
        match self {
            Self::Cpufreq(cores) => {
                mhz.clear();
                mhz.extend(cores.iter_mut().map(|core| {
                    let khz = core.read().ok().and_then(|text| text.trim().parse::<u32>().ok());
                    khz.unwrap_or(0) / 1000
                }));
            }
            Self::Cpuinfo(file) => {
                if let Ok(text) = file.read() {
                    *mhz = cpuinfo_mhz(text);
                }
            }
            Self::Unknown => {}
        }
    }
}

/// Reads lines `cpu MHz : 2300.000`, one per core.
fn cpuinfo_mhz(text: &str) -> Vec<u32> {
    let values = text.lines().filter_map(|l| l.strip_prefix("cpu MHz")?.split_once(':'));
    let whole = values.filter_map(|(_, mhz)| mhz.trim().split('.').next());
    whole.filter_map(|mhz| mhz.parse().ok()).collect()
}

/// Selects the network interfaces to count by [`counted_links`]: a bridge would count the bytes of
/// its members a second time. `/sys` says which have a device, and which belong to another one. An
/// interface that appears later is decided on with all that exist then.
pub(crate) struct CountedInterfaces {
    net: PathBuf,
    devices: PathBuf,
    known: BTreeMap<String, bool>,
}

impl CountedInterfaces {
    pub(crate) fn new(root: &Path) -> Self {
        let mut counted = Self {
            net: root.join("sys/class/net"),
            devices: root.join("proc/self/net/dev"),
            known: BTreeMap::new(),
        };
        counted.look();
        counted
    }

    pub(crate) fn is_counted(&mut self, name: &str) -> bool {
        if !self.known.contains_key(name) {
            self.look();
        }
        *self.known.entry(name.to_owned()).or_default()
    }

    /// Decides on the interfaces that are new. The others stay: a counter that came and went would
    /// make the sum jump.
    fn look(&mut self) {
        let entries = fs::read_dir(&self.net).into_iter().flatten().flatten();
        let mut names: BTreeSet<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // A container may have no /sys.
        let devices = fs::read_to_string(&self.devices).unwrap_or_default();
        names.extend(interface_names(&devices).map(str::to_owned));
        let links: Vec<LinkFacts<'_>> = names
            .iter()
            .map(|name| {
                let folder = self.net.join(name);
                let master = fs::read_link(folder.join("master")).ok();
                let master = master.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
                let has_device = folder.exists().then(|| folder.join("device").exists());
                LinkFacts { name, has_device, master, ..LinkFacts::default() }
            })
            .collect();
        let counted = counted_links(&links);
        for name in &names {
            self.known.entry(name.clone()).or_insert_with(|| counted.contains(name.as_str()));
        }
    }
}

/// Busy time of each core. Format: `cpu0 user nice system idle iowait irq softirq steal ...`, in
/// ticks.
fn cpu(text: &str, tick: u64) -> Vec<Option<Ns>> {
    let mut cores = Vec::new();
    for line in text.lines().take_while(|l| l.starts_with("cpu")) {
        let mut fields = line.split_ascii_whitespace();
        let core = fields.next().and_then(|name| name.strip_prefix("cpu"));
        // The first line is the sum of all cores.
        let Some(core) = core.and_then(|n| n.parse::<usize>().ok()) else { continue };
        let ticks = |i: usize, f: &str| match i {
            0..=2 | 5 | 6 => f.parse::<u64>().unwrap_or(0),
            _ => 0,
        };
        let busy: u64 = fields.enumerate().map(|(i, f)| ticks(i, f)).sum();
        // Offline cores have no line.
        cores.resize(cores.len().max(core + 1), None);
        cores[core] = Some(Ns(busy * tick));
    }
    cores
}

/// Fields of a line of `/proc/stat`: time without work while a thread waited for storage, and time
/// in which the hypervisor ran others.
const IOWAIT: usize = 4;
const STEAL: usize = 7;

/// A field of the sum of all cores.
fn of_all_cores(text: &str, field: usize, tick: u64) -> Ns {
    let ticks = text.strip_prefix("cpu ").and_then(|sum| sum.split_ascii_whitespace().nth(field));
    Ns(ticks.and_then(|f| f.parse::<u64>().ok()).unwrap_or(0) * tick)
}

/// The total of a line of pressure stall information: `full avg10=0.00 ... total=4711`, in
/// microseconds.
pub(crate) fn pressure(text: &str, line: &str) -> Ns {
    let line = text.lines().find_map(|found| found.strip_prefix(line));
    let total = line.and_then(|line| line.rsplit_once("total=")?.1.trim().parse::<u64>().ok());
    Ns(total.unwrap_or(0) * 1000)
}

/// A value of `/proc/meminfo`.
fn meminfo(text: &str, key: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib << 10))
}

/// Memory in use: total minus available.
fn memory(text: &str) -> Bytes {
    let of = |key| meminfo(text, key).unwrap_or_default();
    Bytes(of("MemTotal").0.saturating_sub(of("MemAvailable").0))
}

/// Memory that the kernel cannot drop, and page cache, which `Cached` counts with shared memory.
fn memory_kinds(text: &str) -> Option<MemoryKinds> {
    let of = |key| meminfo(text, key);
    let shared = of("Shmem")?;
    Some(MemoryKinds {
        anonymous: of("AnonPages")? + shared,
        cache: Bytes((of("Cached")? + of("Buffers")?).0.saturating_sub(shared.0)),
    })
}

/// Counters of the whole disks, sorted by device number. The kernel documents the fields in
/// `Documentation/admin-guide/iostats.rst`. Sectors have 512 bytes.
fn disks(text: &str, mut is_whole: impl FnMut(u32, &str) -> bool) -> Vec<DiskSample> {
    let mut disks = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let mut number = || fields.next()?.parse::<u64>().ok();
        let (Some(major), Some(minor)) = (number(), number()) else { continue };
        let Ok(device) = u32::try_from(major << 20 | minor) else { continue };
        let Some(name) = fields.next() else { continue };
        if !is_whole(device, name) {
            continue;
        }
        // Older kernels lack the fields for discards and flushes.
        let mut n = [0; 17];
        for (value, field) in n.iter_mut().zip(fields) {
            *value = field.parse::<u64>().unwrap_or(0);
        }
        disks.push(DiskSample {
            device,
            reads: n[0],
            read_bytes: Bytes(n[2] * 512),
            writes: n[4],
            write_bytes: Bytes(n[6] * 512),
            busy: Ns(n[9] * 1_000_000),
            discards: n[11],
            discard_bytes: Bytes(n[13] * 512),
            flushes: n[15],
        });
    }
    disks.sort_by_key(|d| d.device);
    disks
}

/// The names in the text of `/proc/net/dev`.
pub(crate) fn interface_names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim()))
}

/// Received bytes, received packets, sent bytes and sent packets of the counted interfaces.
pub(crate) fn network(text: &str, mut is_counted: impl FnMut(&str) -> bool) -> [u64; 4] {
    let mut sum = [0; 4];
    for line in text.lines().skip(2) {
        let Some((name, counts)) = line.split_once(':') else { continue };
        if !is_counted(name.trim()) {
            continue;
        }
        for (i, field) in counts.split_ascii_whitespace().enumerate() {
            let at = match i {
                0 | 1 => i,
                8 | 9 => i - 6,
                _ => continue,
            };
            sum[at] += field.parse::<u64>().unwrap_or(0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 0 0 0 70 0 0 30 0 0\n\
        cpu0 10 20 30 1000 2000 1 2 4000 0 0\n\
        cpu2 5 0 5 1 1 0 0 0 3 0\n\
        intr 352604 0 0\nctxt 1\n";
    const DISKSTATS: &str = "\
        \x20  7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
        \x20254       0 vda 33359 6944 4364626 49524 7683 10147 1292832 5819 0 18620 56275 4983 68 369064 916 258 14\n\
        \x20254       1 vda1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n\
        \x20  8      16 sdb 1 2 3 4 5 6 7 8 9 10 11\n\
        cut\n";
    const NET: &str = "\
        Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
        lo:    3193      29    0    0    0     0          0         0     3193      29    0    0\n  \
        eth0: 502696566   18401    0    0    0     0          0         0  1168325   11120    0    0\n  \
        br0:5 6 0 0 0 0 0 0 7 8 0 0\n";

    #[test]
    fn busy_time_leaves_out_waiting_and_stolen_time() {
        let cores = cpu(STAT, 10_000_000);
        assert_eq!(cores, [Some(Ns(630_000_000)), None, Some(Ns(100_000_000))]);
    }

    #[test]
    fn iowait_and_steal_are_those_of_all_cores() {
        assert_eq!(of_all_cores(STAT, IOWAIT, 10_000_000), Ns(700_000_000));
        assert_eq!(of_all_cores(STAT, STEAL, 10_000_000), Ns(300_000_000));
        assert_eq!(of_all_cores("intr 1", IOWAIT, 10_000_000), Ns::ZERO);
    }

    #[test]
    fn pressure_is_the_total_of_a_line() {
        let text = "some avg10=1.39 avg60=1.25 avg300=1.25 total=8080\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=71\n";
        assert_eq!((pressure(text, "some"), pressure(text, "full")), (Ns(8_080_000), Ns(71_000)));
        // Kernels before 5.13 have no `full` of `cpu`.
        assert_eq!(pressure("some avg10=0.00 total=5\n", "full"), Ns::ZERO);
    }

    #[test]
    fn a_kernel_without_pressure_says_which_file_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let without = PressureFiles::open(dir.path()).err().unwrap();
        assert!(without.starts_with("/proc/pressure/io: "), "{without}");
        let folder = dir.path().join("proc/pressure");
        fs::create_dir_all(&folder).unwrap();
        for (name, total) in [("io", 3), ("cpu", 4)] {
            let text = format!("some total={total}\nfull total={}\n", 2 * total);
            fs::write(folder.join(name), text).unwrap();
        }
        let mut files = PressureFiles::open(dir.path()).unwrap();
        assert_eq!(files.read().unwrap(), (Ns(6000), Ns(4000)));
        // A kernel in which PSI is disabled refuses to read the files; so does a folder.
        fs::remove_file(folder.join("cpu")).unwrap();
        fs::create_dir(folder.join("cpu")).unwrap();
        let refused = PressureFiles::open(dir.path()).err().unwrap();
        assert!(refused.starts_with("/proc/pressure/cpu: "), "{refused}");
    }

    #[test]
    fn memory_in_use() {
        let text = "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n";
        assert_eq!(memory(text), Bytes(600 << 10));
        assert_eq!(memory_kinds(text), None);
    }

    #[test]
    fn shared_memory_is_not_page_cache() {
        let text = "MemTotal: 1000 kB\nBuffers: 7 kB\nCached: 300 kB\nSwapCached: 9 kB\n\
                    AnonPages: 200 kB\nShmem: 50 kB\nShmemHugePages: 1 kB\n";
        let kinds = MemoryKinds { anonymous: Bytes(250 << 10), cache: Bytes(257 << 10) };
        assert_eq!(memory_kinds(text), Some(kinds));
    }

    #[test]
    fn disks_old_and_new_without_partitions() {
        let found = disks(DISKSTATS, |_, name| name != "vda1");
        let devices: Vec<u32> = found.iter().map(|d| d.device).collect();
        assert_eq!(devices, [7 << 20, 8 << 20 | 16, 254 << 20]);
        let expected = DiskSample {
            device: 254 << 20,
            reads: 33359,
            read_bytes: Bytes(4_364_626 * 512),
            writes: 7683,
            write_bytes: Bytes(1_292_832 * 512),
            discards: 4983,
            discard_bytes: Bytes(369_064 * 512),
            flushes: 258,
            busy: Ns(18_620_000_000),
        };
        assert_eq!(found[2], expected);
        assert_eq!((found[1].writes, found[1].flushes), (5, 0));
    }

    #[test]
    fn interfaces_that_carry_the_packets_of_others_are_not_counted() {
        let dir = tempfile::tempdir().unwrap();
        let net = dir.path().join("sys/class/net");
        fs::create_dir_all(net.join("br0")).unwrap();
        fs::create_dir_all(net.join("eth0")).unwrap();
        let sum = |dir: &Path| {
            let mut counted = CountedInterfaces::new(dir);
            network(NET, |name| counted.is_counted(name))
        };
        // Without /sys, the names decide.
        fs::create_dir_all(dir.path().join("proc/self/net")).unwrap();
        fs::write(dir.path().join("proc/self/net/dev"), NET).unwrap();
        fs::rename(dir.path().join("sys"), dir.path().join("away")).unwrap();
        let eth0 = [502_696_566, 18_401, 1_168_325, 11_120];
        assert_eq!(sum(dir.path()), eth0);
        fs::rename(dir.path().join("away"), dir.path().join("sys")).unwrap();
        fs::remove_file(dir.path().join("proc/self/net/dev")).unwrap();
        // In a container nothing has a device: the bridge passes on the packets of eth0.
        assert_eq!(sum(dir.path()), eth0);
        fs::remove_dir(net.join("eth0")).unwrap();
        assert_eq!(sum(dir.path()), [5, 6, 7, 8]);
        fs::create_dir_all(net.join("eth0/device")).unwrap();
        assert_eq!(sum(dir.path()), eth0);
        // A virtual function that serves eth0, as on Azure.
        fs::create_dir_all(net.join("br0/device")).unwrap();
        std::os::unix::fs::symlink("../eth0", net.join("br0/master")).unwrap();
        assert_eq!(sum(dir.path()), eth0);
    }

    #[test]
    fn frequencies_by_cpufreq_first() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("proc")).unwrap();
        let cpuinfo = "processor : 0\ncpu MHz\t\t: 2300.512\nprocessor : 1\ncpu MHz\t\t: 800.000\n";
        fs::write(dir.path().join("proc/cpuinfo"), cpuinfo).unwrap();
        let mut mhz = Vec::new();
        FrequencySource::open(dir.path()).read(&mut mhz);
        assert_eq!(mhz, [2300, 800]);
        let cpufreq = dir.path().join("sys/devices/system/cpu/cpu0/cpufreq");
        fs::create_dir_all(&cpufreq).unwrap();
        fs::write(cpufreq.join("scaling_cur_freq"), "1900000\n").unwrap();
        FrequencySource::open(dir.path()).read(&mut mhz);
        assert_eq!(mhz, [1900]);
        assert!(matches!(
            FrequencySource::open(Path::new("/nonexistent")),
            FrequencySource::Unknown
        ));
    }

    #[test]
    fn a_built_machine_from_its_start() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc")).unwrap();
        fs::create_dir_all(dir.path().join("sys/block/vda")).unwrap();
        let write = |file, text: &str| fs::write(dir.path().join("proc").join(file), text).unwrap();
        write("stat", STAT);
        write("meminfo", "MemTotal: 10 kB\nMemAvailable: 4 kB\n");
        write("diskstats", DISKSTATS);
        let mut system = MachineCounters::open(dir.path()).unwrap();
        assert!(!system.has_network() && system.clock().is_none());
        system.start(Ns(5)).unwrap();
        write("stat", &STAT.replace("cpu2 5", "cpu2 6"));
        write("diskstats", &DISKSTATS.replace("vda 33359", "vda 33360"));
        let totals = system.totals(Ns(9)).unwrap();
        assert_eq!((totals.start, totals.span), (Ns::ZERO, Ns(4)));
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(totals.cpu_per_core, [Ns::ZERO, Ns::ZERO, Ns(tick)]);
        assert_eq!(totals.disks.len(), 1);
        assert_eq!((totals.disks[0].device, totals.disks[0].reads), (254 << 20, 1));
        assert_eq!(totals.memory, Bytes(6 << 10));

        // An offline core keeps its counters and resumes them when it is online again. A core that
        // comes online for the first time counts from that moment.
        let busy = STAT.replace("cpu2 5", "cpu2 6");
        let is_of = |line: &&str, core: &str| line.split_whitespace().next() == Some(core);
        let without: Vec<&str> = busy.lines().filter(|line| !is_of(line, "cpu2")).collect();
        write("stat", &without.join("\n"));
        assert_eq!(system.totals(Ns(10)).unwrap().cpu_per_core[2], Ns(tick));
        let late = |ticks| busy.replace("intr", &format!("cpu5 {ticks} 0 0 0 0 0 0 0 0 0\nintr"));
        write("stat", &late(900_000).replace("cpu2 6", "cpu2 7"));
        let totals = system.totals(Ns(11)).unwrap();
        assert_eq!(totals.cpu_per_core[2], Ns(2 * tick));
        assert_eq!(totals.cpu_per_core[5], Ns::ZERO);
        write("stat", &late(900_001).replace("cpu2 6", "cpu2 7"));
        assert_eq!(system.totals(Ns(12)).unwrap().cpu_per_core[5], Ns(tick));
    }
}
