//! Generated traces.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

use gordon_blockio::IoOp;
use gordon_trace::{
    BlockFlags, BlockIo, ColumnKind, Columns, CommandSample, DiskSample, MachineInfo, Manifest,
    Sample, TraceWriter,
};
use gordon_units::{Bytes, Ns};
use std::path::Path;

pub fn sample(i: u64) -> Sample {
    let disk = |device| DiskSample {
        device,
        reads: i,
        read_bytes: Bytes(i * 4096),
        writes: 2,
        write_bytes: Bytes(8192),
        discards: 1,
        discard_bytes: Bytes(512),
        flushes: i % 2,
        busy: Ns(i * 1000),
    };
    Sample {
        start: Ns::SECOND * i,
        span: Ns::SECOND,
        cpu_per_core: vec![Ns(i * 7), Ns(1_000_000_000 - i)],
        iowait: Ns(i * 3),
        psi_io_full: Ns(i * 2),
        psi_cpu_some: Ns(i * 11),
        steal: Ns(i * 13),
        throttled: Ns(i * 17),
        mhz_per_core: vec![1900, 800],
        instructions: 1_000_000 + i,
        llc_misses: 3000,
        memory: Bytes(1 << 30),
        anonymous: Bytes(1 << 29),
        cache: Bytes(1 << 28),
        rx_bytes: Bytes(i),
        rx_packets: 1,
        tx_bytes: Bytes(2 * i),
        tx_packets: 2,
        // The second device appears later, like a disk that is plugged in.
        disks: if i < 2 { vec![disk(8 << 20)] } else { vec![disk(8 << 20), disk(254 << 20)] },
        command: CommandSample {
            cpu: Ns(i * 5),
            instructions: 10 * i,
            llc_misses: i,
            memory: Bytes(1 << 20),
            anonymous: Bytes(1 << 19),
            psi_io_full: Ns(i * 19),
            psi_cpu_some: Ns(i * 23),
            read_bytes: Bytes(i * 4096),
            write_bytes: Bytes(8192),
            processes: 3,
        },
    }
}

pub fn io(i: u64, process: u32) -> BlockIo {
    let op = [IoOp::Read, IoOp::Write, IoOp::Discard, IoOp::Flush][i as usize % 4];
    BlockIo {
        at: Ns(i * 1000),
        device: 254 << 20,
        sector: i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30,
        sectors: if op == IoOp::Flush { 0 } else { 8 },
        op,
        // Without PREFLUSH, which readers return as a request of its own.
        flags: BlockFlags((i % 16) as u8),
        pid: i as u32,
        process,
        latency: (!i.is_multiple_of(5)).then_some(Ns(i)),
    }
}

/// Writes a trace of `seconds` samples and `requests` requests.
pub fn write(out: &Path, seconds: u64, requests: u64) -> Manifest {
    let columns = Columns::all(ColumnKind::Measured, "made up");
    let mut writer = TraceWriter::create(out, &columns).unwrap();
    for i in 0..seconds {
        writer.sample(&sample(i)).unwrap();
    }
    let names = ["sort", "kworker/0:1H", "grep"];
    for i in 0..requests {
        let process = writer.block().process(names[i as usize % 3]);
        writer.block().push(io(i, process)).unwrap();
    }
    let command = vec!["sort".to_owned(), "in".to_owned()];
    writer.finish(Manifest::new(command, Ns::SECOND, MachineInfo::default())).unwrap()
}
