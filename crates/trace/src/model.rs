//! The content of a trace: one [`Sample`] per interval, one [`BlockIo`] per request.

use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns};

/// The activity in one interval.
///
/// Counters hold the difference over the interval. `mhz_per_core`, `memory`, `anonymous`, `cache`,
/// and the command's `memory`, `anonymous` and `processes` are gauges, read at its end. A value
/// that was not measured is zero here and [`Missing`](crate::ColumnKind::Missing) in the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Start of the interval, since the start of the trace.
    pub start: Ns,
    /// Length of the interval.
    pub span: Ns,
    /// Busy time of each core: user, nice, system and interrupts, without stolen time and I/O wait.
    pub cpu_per_core: Vec<Ns>,
    /// Time of all cores without work while a thread of that core waited for storage.
    pub iowait: Ns,
    /// Time in which tasks were stalled on I/O and none of them ran: `full` of PSI `io`.
    pub psi_io_full: Ns,
    /// Time in which a runnable task waited for a core: `some` of PSI `cpu`.
    pub psi_cpu_some: Ns,
    /// Time in which a core was runnable and the hypervisor ran others, summed over the cores.
    pub steal: Ns,
    /// Time in which the node or command was throttled because a CPU quota was used up, summed over
    /// the cores on which it had work.
    pub throttled: Ns,
    /// Clock frequency of each core.
    pub mhz_per_core: Vec<u32>,
    /// Instructions of all cores.
    pub instructions: u64,
    /// Last-level cache misses of all cores.
    pub llc_misses: u64,
    /// Memory in use: total memory minus what the kernel reports as available.
    pub memory: Bytes,
    /// Memory that the kernel cannot drop: anonymous pages and shared memory.
    pub anonymous: Bytes,
    /// Page cache of files, without shared memory.
    pub cache: Bytes,
    /// Network bytes received.
    pub rx_bytes: Bytes,
    /// Network packets received.
    pub rx_packets: u64,
    /// Network bytes sent.
    pub tx_bytes: Bytes,
    /// Network packets sent.
    pub tx_packets: u64,
    /// The block devices that have had any activity since the start of the trace, sorted by number.
    pub disks: Vec<DiskSample>,
    /// The traced command and its descendants.
    pub command: CommandSample,
}

/// The activity of one block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskSample {
    /// Device number, `major << 20 | minor`.
    pub device: u32,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Discards completed.
    pub discards: u64,
    /// Bytes discarded.
    pub discard_bytes: Bytes,
    /// Flushes completed.
    pub flushes: u64,
    /// Time during which at least one request was in flight.
    pub busy: Ns,
}

/// The activity of the traced command and its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandSample {
    /// CPU time.
    pub cpu: Ns,
    /// Instructions executed.
    pub instructions: u64,
    /// Last-level cache misses.
    pub llc_misses: u64,
    /// Memory charged to the command (gauge).
    pub memory: Bytes,
    /// Memory of the command that the kernel cannot drop (gauge).
    pub anonymous: Bytes,
    /// Time in which tasks of the command were stalled on I/O and none of them ran: `full` of PSI
    /// `io`.
    pub psi_io_full: Ns,
    /// Time in which a runnable task of the command waited for a core: `some` of PSI `cpu`.
    pub psi_cpu_some: Ns,
    /// Bytes read from storage.
    pub read_bytes: Bytes,
    /// Bytes that the command dirtied and that will be written to storage.
    pub write_bytes: Bytes,
    /// Processes alive (gauge).
    pub processes: u32,
}

impl Sample {
    /// CPU time of all cores together.
    pub fn cpu(&self) -> Ns {
        self.cpu_per_core.iter().copied().sum()
    }

    /// End of the interval, since the start of the trace.
    pub fn end(&self) -> Ns {
        self.start + self.span
    }

    /// The interval between the totals `earlier` and the totals `self`.
    pub fn since(&self, earlier: &Self) -> Self {
        let at = |list: &[Ns], core: usize| list.get(core).copied().unwrap_or(Ns::ZERO);
        let mut before = earlier.disks.iter().peekable();
        Self {
            start: earlier.end(),
            span: self.end().saturating_sub(earlier.end()),
            cpu_per_core: (0..self.cpu_per_core.len())
                .map(|c| self.cpu_per_core[c].saturating_sub(at(&earlier.cpu_per_core, c)))
                .collect(),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            psi_io_full: self.psi_io_full.saturating_sub(earlier.psi_io_full),
            psi_cpu_some: self.psi_cpu_some.saturating_sub(earlier.psi_cpu_some),
            steal: self.steal.saturating_sub(earlier.steal),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            mhz_per_core: self.mhz_per_core.clone(),
            instructions: self.instructions.saturating_sub(earlier.instructions),
            llc_misses: self.llc_misses.saturating_sub(earlier.llc_misses),
            memory: self.memory,
            anonymous: self.anonymous,
            cache: self.cache,
            rx_bytes: self.rx_bytes.saturating_sub(earlier.rx_bytes),
            rx_packets: self.rx_packets.saturating_sub(earlier.rx_packets),
            tx_bytes: self.tx_bytes.saturating_sub(earlier.tx_bytes),
            tx_packets: self.tx_packets.saturating_sub(earlier.tx_packets),
            // Both lists are sorted by device.
            disks: self
                .disks
                .iter()
                .map(|now| {
                    while before.next_if(|d| d.device < now.device).is_some() {}
                    match before.next_if(|d| d.device == now.device) {
                        Some(then) => now.since(then),
                        None => *now,
                    }
                })
                .collect(),
            command: CommandSample {
                cpu: self.command.cpu.saturating_sub(earlier.command.cpu),
                instructions: self
                    .command
                    .instructions
                    .saturating_sub(earlier.command.instructions),
                llc_misses: self.command.llc_misses.saturating_sub(earlier.command.llc_misses),
                memory: self.command.memory,
                anonymous: self.command.anonymous,
                psi_io_full: self.command.psi_io_full.saturating_sub(earlier.command.psi_io_full),
                psi_cpu_some: self
                    .command
                    .psi_cpu_some
                    .saturating_sub(earlier.command.psi_cpu_some),
                read_bytes: self.command.read_bytes.saturating_sub(earlier.command.read_bytes),
                write_bytes: self.command.write_bytes.saturating_sub(earlier.command.write_bytes),
                processes: self.command.processes,
            },
        }
    }

    /// Adds an interval to the totals; gauges are replaced.
    pub(crate) fn add(&mut self, interval: &Self) {
        self.span = interval.end();
        let cores = self.cpu_per_core.len().max(interval.cpu_per_core.len());
        self.cpu_per_core.resize(cores, Ns::ZERO);
        for (total, busy) in self.cpu_per_core.iter_mut().zip(&interval.cpu_per_core) {
            *total += *busy;
        }
        self.iowait += interval.iowait;
        self.psi_io_full += interval.psi_io_full;
        self.psi_cpu_some += interval.psi_cpu_some;
        self.steal += interval.steal;
        self.throttled += interval.throttled;
        self.mhz_per_core.clone_from(&interval.mhz_per_core);
        self.instructions += interval.instructions;
        self.llc_misses += interval.llc_misses;
        self.memory = interval.memory;
        self.anonymous = interval.anonymous;
        self.cache = interval.cache;
        self.rx_bytes += interval.rx_bytes;
        self.rx_packets += interval.rx_packets;
        self.tx_bytes += interval.tx_bytes;
        self.tx_packets += interval.tx_packets;
        for disk in &interval.disks {
            match self.disks.binary_search_by_key(&disk.device, |d| d.device) {
                Ok(at) => self.disks[at].add(disk),
                Err(at) => self.disks.insert(at, *disk),
            }
        }
        let (total, more) = (&mut self.command, &interval.command);
        total.cpu += more.cpu;
        total.instructions += more.instructions;
        total.llc_misses += more.llc_misses;
        total.memory = more.memory;
        total.anonymous = more.anonymous;
        total.psi_io_full += more.psi_io_full;
        total.psi_cpu_some += more.psi_cpu_some;
        total.read_bytes += more.read_bytes;
        total.write_bytes += more.write_bytes;
        total.processes = more.processes;
    }
}

impl DiskSample {
    /// Whether all counters are zero.
    pub fn is_idle(&self) -> bool {
        *self == Self { device: self.device, ..Self::default() }
    }

    /// The activity between the totals `then` and the totals `self`.
    #[must_use]
    pub fn since(&self, then: &Self) -> Self {
        Self {
            device: self.device,
            reads: self.reads.saturating_sub(then.reads),
            read_bytes: self.read_bytes.saturating_sub(then.read_bytes),
            writes: self.writes.saturating_sub(then.writes),
            write_bytes: self.write_bytes.saturating_sub(then.write_bytes),
            discards: self.discards.saturating_sub(then.discards),
            discard_bytes: self.discard_bytes.saturating_sub(then.discard_bytes),
            flushes: self.flushes.saturating_sub(then.flushes),
            busy: self.busy.saturating_sub(then.busy),
        }
    }

    fn add(&mut self, more: &Self) {
        self.reads += more.reads;
        self.read_bytes += more.read_bytes;
        self.writes += more.writes;
        self.write_bytes += more.write_bytes;
        self.discards += more.discards;
        self.discard_bytes += more.discard_bytes;
        self.flushes += more.flushes;
        self.busy += more.busy;
    }
}

/// One request to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockIo {
    /// Time of issue to the device, since the start of the trace.
    pub at: Ns,
    /// Device number, `major << 20 | minor`.
    pub device: u32,
    /// First sector; sectors have 512 bytes.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// Read, write, discard or flush.
    pub op: IoOp,
    /// Flags that the kernel gave the request; none in a converted trace.
    pub flags: BlockFlags,
    /// Process that issued the request. For buffered writes this is a kernel worker.
    pub pid: u32,
    /// Name of the process, as an index into the names of the reader or writer.
    pub process: u32,
    /// Time from issue to completion; `None` if no completion was seen.
    pub latency: Option<Ns>,
}

impl BlockIo {
    /// Number of bytes read, written or discarded.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.sectors) * 512)
    }
}

/// Flags of a block request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockFlags(pub u8);

impl BlockFlags {
    /// A process waits for the request.
    pub const SYNC: Self = Self(1);
    /// Forced unit access: durable before it completes.
    pub const FUA: Self = Self(2);
    /// Metadata of a file system.
    pub const META: Self = Self(4);
    /// Read-ahead.
    pub const READAHEAD: Self = Self(8);
    /// The device flushes its cache before the request.
    pub const PREFLUSH: Self = Self(16);

    /// Whether all flags of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union with the flags of `other`.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
