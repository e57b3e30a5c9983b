//! The catalogue of parts, and small traces.
#![allow(dead_code, clippy::unwrap_used)]

pub mod machines;

use gordon_blockio::IoOp;
use gordon_cluster::model::paper::PaperSurvey;
use gordon_cluster::space::config::{
    Baseline, Design, MemoryPer, NodeCommon, Overhead, Parts, SpaceProcessors, SpaceStorage,
};
use gordon_cluster::trace::charge::Charge;
use gordon_trace::{
    BlockFlags, BlockIo, ColumnKind, Columns, CommandReads, MachineInfo, Manifest, Sample, Scope,
    TraceWriter,
};
use gordon_units::{Bytes, Ns, Sourced, Watts};
use serde::de::DeserializeOwned;
use std::path::Path;

/// A part of the package.
pub fn part<T: DeserializeOwned>(kind: &str, name: &str) -> T {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/gordon/parts");
    let file = root.join(kind).join(name).with_added_extension("toml");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The parts of the paper's design space, with an overhead ratio of `ratio`.
pub fn parts(ratio: f64) -> Parts {
    let mut parts = Parts::default();
    for name in ["atom", "core2"] {
        parts.cpu.insert(name.into(), part("cpu", name));
    }
    parts.memory.insert("ddr2-2gib".into(), part("memory", "ddr2-2gib"));
    parts.network.insert("ethernet-1gbps".into(), part("network", "ethernet-1gbps"));
    parts.flash.insert("gordon-slc-256g".into(), part("flash", "gordon-slc-256g"));
    parts.disk.insert("sata-7200-1tb".into(), part("disk", "sata-7200-1tb"));
    let overhead = Overhead {
        summary: String::new(),
        ratio: Some(Sourced::from(ratio)),
        anchors: vec![],
        supply: None,
    };
    parts.overhead.insert("test".into(), overhead);
    parts
}

pub fn design(cpu: &str, clock: &str, cpus: u32, storage: &str, count: u32) -> Design {
    Design {
        id: format!("{cpu}-{clock}-x{cpus}-{storage}{count}"),
        cpu: cpu.into(),
        clock: clock.parse().unwrap(),
        cpus,
        storage: storage.into(),
        count,
    }
}

pub fn node() -> NodeCommon {
    NodeCommon {
        memory: "ddr2-2gib".into(),
        memory_per: MemoryPer::Processor.into(),
        network: "ethernet-1gbps".into(),
        overhead: "test".into(),
    }
}

/// A survey of the grid of these processors (part, clock, number) and storages (part, number). The
/// baseline is its first design.
pub fn survey(
    traces: Vec<String>,
    nodes: u32,
    processors: &[(&str, &str, u32)],
    storages: &[(&str, u32)],
) -> PaperSurvey {
    let (cpu, clock, cpus) = processors[0];
    let (storage, count) = storages[0];
    let clock_of = |clock: &str| clock.parse().unwrap();
    PaperSurvey {
        traces,
        nodes,
        shift: 1.0.into(),
        charge: Charge::Machine,
        references: Vec::new(),
        processors: processors
            .iter()
            .map(|(part, clock, cpus)| SpaceProcessors {
                part: (*part).into(),
                clocks: vec![clock_of(clock)],
                counts: vec![*cpus],
            })
            .collect(),
        storage: storages
            .iter()
            .map(|(part, count)| SpaceStorage {
                part: (*part).into(),
                label: format!("{part}{count}"),
                counts: vec![*count],
            })
            .collect(),
        budget: Watts(1e6),
        baseline: Baseline {
            cpu: cpu.into(),
            clock: clock_of(clock),
            cpus,
            storage: storage.into(),
            count,
        },
        other_ratios: Vec::new(),
        node: node(),
        parts: parts(1.25),
        rows: 1000,
        keep: Vec::new(),
        stages: None,
        report_stages: Vec::new(),
        lags: Vec::new(),
        table: None,
    }
}

/// A request of `sectors` sectors.
pub fn io(at: Ns, op: IoOp, sector: u64, sectors: u32, latency: Option<Ns>) -> BlockIo {
    let flags = BlockFlags::default();
    BlockIo { at, device: 8 << 20, sector, sectors, op, flags, pid: 1, process: 0, latency }
}

/// A sample of one second.
pub fn sample(second: u64, instructions: u64, received: u64) -> Sample {
    Sample {
        start: Ns::SECOND * second,
        span: Ns::SECOND,
        cpu_per_core: vec![Ns::SECOND / 2],
        mhz_per_core: vec![2400],
        instructions,
        llc_misses: instructions / 200,
        rx_bytes: Bytes(received),
        ..Sample::default()
    }
}

/// A trace to write. By default, all columns are measured, the machine is unknown, and there is
/// no block log.
pub struct MadeTrace<'a> {
    pub columns: Columns,
    pub machine: MachineInfo,
    pub samples: &'a [Sample],
    pub requests: Option<&'a [BlockIo]>,
    pub reads: Option<CommandReads>,
    pub scope: Scope,
}

impl Default for MadeTrace<'_> {
    fn default() -> Self {
        Self {
            columns: Columns::all(ColumnKind::Measured, "made up"),
            machine: MachineInfo::default(),
            samples: &[],
            requests: None,
            reads: None,
            scope: Scope::default(),
        }
    }
}

impl MadeTrace<'_> {
    /// Writes the trace and returns its path.
    pub fn write(self, path: &Path) -> String {
        let create = match self.requests {
            Some(_) => TraceWriter::create,
            None => TraceWriter::without_block_log,
        };
        let mut writer = create(path, &self.columns).unwrap();
        for sample in self.samples {
            writer.sample(sample).unwrap();
        }
        if let Some(requests) = self.requests {
            writer.block().process("test");
            for request in requests {
                writer.block().push(*request).unwrap();
            }
        }
        let mut manifest = Manifest::new(vec!["test".into()], Ns::SECOND, self.machine);
        manifest.reads = self.reads;
        manifest.scope = self.scope;
        writer.finish(manifest).unwrap();
        path.display().to_string()
    }
}

/// Writes a trace with a block log.
pub fn write(path: &Path, samples: &[Sample], requests: &[BlockIo]) -> String {
    MadeTrace { samples, requests: Some(requests), ..MadeTrace::default() }.write(path)
}
