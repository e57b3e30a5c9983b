//! The block requests of a traced machine's physical devices: those of its log or, if there is no
//! log, synthetic requests made from the counts of each sample.
//!
//! Synthetic requests preserve the number and the bytes of the reads and writes of each device in
//! each sample, but not their addresses. They are assumed to be of equal size and sequential: reads
//! from the start of a synthetic device, writes from 128 GB on. The result is a lower bound of a
//! disk's time, which the report states.

use crate::error::ClusterError;
use gordon_blockio::IoOp;
use gordon_blockio::SECTOR;
use gordon_trace::{BlockFlags, BlockIo, DiskSample, Sample, Trace, TraceError};
use gordon_units::Ns;

/// Start of synthetic writes, in sectors; reads start at 0.
const WRITES: u64 = 128_000_000_000 / SECTOR.0;
/// Number of sectors after which both start over.
const WRAP: u64 = 100_000_000_000 / SECTOR.0;

/// Upper limit of the end of a request in a block log, in bytes, as in all other trace formats.
const END: u64 = 1 << 62;

/// The requests of a trace, which can be read any number of times.
#[derive(Debug)]
pub struct Requests<'a> {
    trace: &'a Trace,
    samples: &'a [Sample],
    logged: bool,
}

/// Several requests, in order of issue.
pub type Batch = Result<Vec<BlockIo>, ClusterError>;

impl<'a> Requests<'a> {
    /// The requests of `trace`, whose samples are `samples`.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be read.
    pub fn of(trace: &'a Trace, samples: &'a [Sample]) -> Result<Self, ClusterError> {
        let logged = match trace.block() {
            Ok(_) => true,
            Err(TraceError::NoBlockLog { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { trace, samples, logged })
    }

    /// Whether the requests come from a log.
    pub fn logged(&self) -> bool {
        self.logged
    }

    /// All requests, in batches. Each request ends below 2^62 bytes and completes before 2^64 ns,
    /// so that sums do not overflow.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read, or if a row of it is outside these limits.
    pub fn batches(&self) -> Result<Box<dyn Iterator<Item = Batch> + 'a>, ClusterError> {
        let trace = self.trace;
        if self.logged {
            let mut row = 0u64;
            return Ok(Box::new(trace.block()?.map(move |batch| {
                let mut batch = batch?;
                let mut damage = None;
                batch.retain(|io| {
                    row += 1;
                    let real = !trace.is_virtual(io.device);
                    if real && damage.is_none() {
                        damage = out_of_range(io).map(|why| format!("row {row}: {why}"));
                    }
                    real
                });
                match damage {
                    None => Ok(batch),
                    Some(why) => Err(TraceError::Damaged { path: trace.block_path(), why }.into()),
                }
            })));
        }
        let mut ends = [0, WRITES];
        let real = |disk: &&DiskSample| !trace.is_virtual(disk.device);
        Ok(Box::new(self.samples.iter().map(move |sample| {
            Ok(made_up(sample.start, sample.disks.iter().filter(real), &mut ends))
        })))
    }
}

/// Why a row of the log cannot be a request to a real device, if it cannot. A flush has no range.
fn out_of_range(io: &BlockIo) -> Option<String> {
    let end = io.sector.checked_add(io.sectors.into()).and_then(|end| end.checked_mul(SECTOR.0));
    if io.op != IoOp::Flush && end.is_none_or(|end| end > END) {
        let BlockIo { sector, sectors, .. } = io;
        return Some(format!("{sectors} sectors from sector {sector} on end past 2^62 bytes"));
    }
    if io.latency.is_some_and(|latency| io.at.0.checked_add(latency.0).is_none()) {
        return Some(format!("its issue time and latency add up to more than {}", Ns::MAX));
    }
    None
}

/// Makes synthetic requests from the counts in `disks`; `ends` holds the positions at which reads
/// and writes continue.
fn made_up<'a>(
    at: Ns,
    disks: impl Iterator<Item = &'a DiskSample>,
    ends: &mut [u64; 2],
) -> Vec<BlockIo> {
    let request = |op, sector, sectors: u64| BlockIo {
        at,
        device: 0,
        sector,
        sectors: u32::try_from(sectors).unwrap_or(u32::MAX),
        op,
        flags: BlockFlags::default(),
        pid: 0,
        process: 0,
        latency: None,
    };
    let mut requests = Vec::new();
    for disk in disks {
        for (which, op, count, bytes) in [
            (0, IoOp::Read, disk.reads, disk.read_bytes),
            (1, IoOp::Write, disk.writes, disk.write_bytes),
        ] {
            let sectors = bytes.0 / SECTOR.0;
            for nth in 0..count.min(sectors) {
                // Sizes differ by at most a sector, and their sum is exact.
                let until = |nth: u64| u128::from(sectors) * u128::from(nth) / u128::from(count);
                let size = (until(nth + 1) - until(nth)) as u64;
                let start = [0, WRITES][which];
                if ends[which] + size > start + WRAP {
                    ends[which] = start;
                }
                requests.push(request(op, ends[which], size));
                ends[which] += size;
            }
        }
        requests.extend((0..disk.flushes).map(|_| request(IoOp::Flush, 0, 0)));
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_units::Bytes;

    #[test]
    fn synthetic_requests_preserve_counts_and_bytes() {
        let disk = DiskSample {
            reads: 3,
            read_bytes: Bytes(512 * 100),
            writes: 2,
            write_bytes: Bytes(512 * 7),
            flushes: 1,
            ..DiskSample::default()
        };
        let mut ends = [0, WRITES];
        let requests = made_up(Ns(7), [disk, disk].iter(), &mut ends);
        let of = |op| requests.iter().filter(move |io| io.op == op);
        assert_eq!(
            of(IoOp::Read).map(|io| io.sectors).collect::<Vec<_>>(),
            [33, 33, 34, 33, 33, 34]
        );
        assert_eq!(of(IoOp::Write).map(|io| u64::from(io.sectors)).sum::<u64>(), 14);
        assert_eq!(of(IoOp::Flush).count(), 2);
        assert_eq!(ends, [200, WRITES + 14]);
        assert!(requests.iter().all(|io| io.at == Ns(7)));
    }

    #[test]
    fn synthetic_requests_of_huge_counts_do_not_overflow() {
        let disk = DiskSample { reads: 1000, read_bytes: Bytes(u64::MAX), ..DiskSample::default() };
        assert_eq!(made_up(Ns(7), [disk].iter(), &mut [0, WRITES]).len(), 1000);
    }
}
