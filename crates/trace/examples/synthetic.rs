//! Writes traces of invented machines, for benchmarks of programs that read traces. Usage:
//!
//!     synthetic FOLDER NODES SECONDS REQUESTS [random-write|random-read]
//!
//! REQUESTS is the total number, spread over the machines and their seconds. Each second has a
//! burst of sequential reads or writes of 128 KiB with random ones of 4 KiB in between, four
//! outstanding, like data-intensive jobs on a file system (Gordon, ASPLOS'09, section 4.2.2: half
//! of the transfers are small, most bytes are in large ones). With a pattern, all requests are
//! random ones of 4 KiB in 128 GiB instead, 32 outstanding. The same arguments give the same
//! traces.

use gordon_blockio::IoOp;
use gordon_trace::{
    BlockFlags, BlockIo, ColumnKind, Columns, CommandSample, MachineInfo, Manifest, Sample,
    TraceError, TraceWriter,
};
use gordon_units::{Bytes, Ns, SplitMix64};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (sizes, random) = arguments.split_at(arguments.len().min(4));
    let [folder, nodes, seconds, requests] = sizes else {
        return Err("usage: synthetic FOLDER NODES SECONDS REQUESTS [PATTERN]".into());
    };
    let random = match random.first().map(String::as_str) {
        None => None,
        Some("random-write") => Some(IoOp::Write),
        Some("random-read") => Some(IoOp::Read),
        Some(other) => return Err(format!("unknown pattern {other}").into()),
    };
    let (nodes, seconds, requests) =
        (nodes.parse::<u64>()?, seconds.parse::<u64>()?, requests.parse::<u64>()?);
    for node in 0..nodes {
        let path = Path::new(folder).join(format!("node-{node:02}.trace"));
        // The shares of the machines add up to the total.
        let share = requests * (node + 1) / nodes - requests * node / nodes;
        machine(&path, node, seconds, share, random)?;
    }
    Ok(())
}

fn machine(
    path: &Path,
    seed: u64,
    seconds: u64,
    requests: u64,
    random_op: Option<IoOp>,
) -> Result<(), TraceError> {
    let columns = Columns::all(ColumnKind::Measured, "made up");
    let mut writer = TraceWriter::create(path, &columns)?;
    let mut random = SplitMix64(seed);
    let worker = writer.block().process("worker");
    let mut stream = random.below(1 << 20) * 256;
    for second in 0..seconds {
        let start = Ns::SECOND * second;
        let busy = 300 + random.below(700);
        writer.sample(&Sample {
            start,
            span: Ns::SECOND,
            cpu_per_core: vec![Ns(busy * 1_000_000)],
            mhz_per_core: vec![2400],
            instructions: busy * 3_000_000,
            llc_misses: busy * 10_000,
            memory: Bytes(1 << 30),
            rx_bytes: Bytes(random.below(20_000_000)),
            tx_bytes: Bytes(random.below(20_000_000)),
            command: CommandSample { cpu: Ns(busy * 1_000_000), ..CommandSample::default() },
            ..Sample::default()
        })?;
        let mixed_op = if random.below(3) < 2 { IoOp::Write } else { IoOp::Read };
        let op = random_op.unwrap_or(mixed_op);
        let outstanding = if random_op.is_some() { 32 } else { 4 };
        let count = requests * (second + 1) / seconds - requests * second / seconds;
        for nth in 0..count {
            let small = random_op.is_some() || nth % 2 == 1;
            let sector = if small { random.below(1 << 25) * 8 } else { stream };
            let sectors = if small { 8 } else { 256 };
            if !small {
                stream = (stream + 256) % (1 << 28);
            }
            let gap = 1_000_000_000 / count;
            writer.block().push(BlockIo {
                at: start + Ns(nth * gap),
                device: 8 << 20,
                sector,
                sectors,
                op,
                flags: BlockFlags::default(),
                pid: 1,
                process: worker,
                latency: Some(Ns(gap * outstanding)),
            })?;
        }
    }
    let command = vec!["made-up".to_owned(), seed.to_string()];
    writer.finish(Manifest::new(command, Ns::SECOND, MachineInfo::default()))?;
    Ok(())
}
