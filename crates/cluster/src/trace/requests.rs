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
use gordon_units::{Bytes, Ns};

/// Start of synthetic writes, in sectors; reads start at 0.
const WRITES: u64 = 128_000_000_000 / SECTOR.0;
/// Number of sectors after which both start over.
const WRAP: u64 = 100_000_000_000 / SECTOR.0;

/// Upper limit of the end of a request in a block log, in bytes, as in all other trace formats.
const END: u64 = 1 << 62;

/// Synthetic requests of a sample at most, which are in memory while they are replayed.
const MOST_OF_SAMPLE: u64 = 1 << 25;

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
            let of_disk = |disk: &DiskSample| Runs::of(disk).map(|run| run.number).sum::<u64>();
            let number: u64 = sample.disks.iter().filter(real).map(of_disk).sum();
            if number > MOST_OF_SAMPLE {
                return Err(ClusterError::Impossible {
                    what: format!("trace {}", trace.path().display()),
                    why: format!(
                        "a sample of {:.0} s has {number} requests, and at most {MOST_OF_SAMPLE} \
                         are replayed; record shorter samples",
                        sample.span.as_secs()
                    ),
                });
            }
            Ok(made_up(sample.start, sample.disks.iter().filter(real), &mut ends))
        })))
    }

    /// The sums of all synthetic requests, without making them: a record of a year has billions.
    /// `None` if the requests come from a log.
    pub fn made_up_sums(&self) -> Option<MadeUpSums> {
        if self.logged {
            return None;
        }
        let mut sums = MadeUpSums::default();
        let mut ends = [0, WRITES];
        for disk in self.samples.iter().flat_map(|sample| &sample.disks) {
            if !self.trace.is_virtual(disk.device) {
                sums.add(disk, &mut ends);
            }
        }
        Some(sums)
    }
}

/// Sums of synthetic requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadeUpSums {
    /// Number of requests, flushes included.
    pub requests: u64,
    /// Sectors of reads and of writes.
    pub sectors: [u64; 2],
    /// First sector of the reads and of the writes, and the end of those that reach furthest; equal
    /// without any. All sectors in between are accessed.
    pub ranges: [(u64, u64); 2],
}

impl MadeUpSums {
    fn add(&mut self, disk: &DiskSample, ends: &mut [u64; 2]) {
        self.requests += disk.flushes;
        for run in Runs::of(disk) {
            let which = run.which;
            let start = [0, WRITES][which];
            self.requests += run.number;
            self.sectors[which] += run.until(run.number);
            let (from, furthest) = &mut self.ranges[which];
            (*from, *furthest) = (start, start.max(*furthest));
            let mut done = 0;
            while done < run.number {
                // The requests that fit before the addresses start over; a larger one than all
                // addresses is made alone.
                let fits = |end: u64, to| end + run.until(to) - run.until(done) <= start + WRAP;
                let (mut least, mut most) = (done, run.number);
                while least < most {
                    let middle = least + (most - least).div_ceil(2);
                    match fits(ends[which], middle) {
                        true => least = middle,
                        false => most = middle - 1,
                    }
                }
                if least == done {
                    ends[which] = start;
                    if fits(start, done + 1) {
                        continue;
                    }
                    least = done + 1;
                }
                ends[which] += run.until(least) - run.until(done);
                *furthest = ends[which].max(*furthest);
                done = least;
            }
        }
    }
}

/// The synthetic requests of a disk in a sample: the reads or the writes.
struct Runs {
    /// 0 for reads, 1 for writes.
    which: usize,
    op: IoOp,
    /// Number of requests that the disk counted, and their sectors.
    count: u64,
    sectors: u64,
    /// Number of requests that are made.
    number: u64,
}

impl Runs {
    fn of(disk: &DiskSample) -> impl Iterator<Item = Self> + use<> {
        let of = |which, op, count: u64, bytes: Bytes| {
            let sectors = bytes.0 / SECTOR.0;
            Self { which, op, count, sectors, number: count.min(sectors) }
        };
        [
            of(0, IoOp::Read, disk.reads, disk.read_bytes),
            of(1, IoOp::Write, disk.writes, disk.write_bytes),
        ]
        .into_iter()
    }

    /// Sectors of the first `nth` requests: their sizes differ by at most a sector.
    #[allow(clippy::cast_possible_truncation)]
    fn until(&self, nth: u64) -> u64 {
        (u128::from(self.sectors) * u128::from(nth) / u128::from(self.count.max(1))) as u64
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
        for run in Runs::of(disk) {
            let which = run.which;
            for nth in 0..run.number {
                let size = run.until(nth + 1) - run.until(nth);
                let start = [0, WRITES][which];
                if ends[which] + size > start + WRAP {
                    ends[which] = start;
                }
                requests.push(request(run.op, ends[which], size));
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
    use gordon_units::SplitMix64;

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

    #[test]
    fn sums_of_synthetic_requests_are_those_of_the_requests() {
        let mut random = SplitMix64(3);
        // Whole sectors, as samples have; some runs start over several times.
        for most in [1 << 12, 1 << 30, WRAP * SECTOR.0 / 3, WRAP * SECTOR.0 * 3] {
            let mut sums = MadeUpSums::default();
            let mut ends = [[0, WRITES]; 2];
            let (mut number, mut sectors) = (0, [0; 2]);
            let mut furthest = [0, WRITES];
            for _ in 0..40 {
                let mut bytes = || Bytes(random.below(most) / SECTOR.0 * SECTOR.0);
                let [read_bytes, write_bytes] = [bytes(), bytes()];
                let disk = DiskSample {
                    reads: 1 + random.below(200),
                    read_bytes,
                    writes: random.below(200),
                    write_bytes,
                    flushes: random.below(3),
                    ..DiskSample::default()
                };
                sums.add(&disk, &mut ends[0]);
                let requests = made_up(Ns(0), [disk].iter(), &mut ends[1]);
                number += requests.len() as u64;
                for io in requests.iter().filter(|io| io.op != IoOp::Flush) {
                    let which = usize::from(io.op == IoOp::Write);
                    sectors[which] += u64::from(io.sectors);
                    furthest[which] = furthest[which].max(io.sector + u64::from(io.sectors));
                }
            }
            assert_eq!(ends[0], ends[1]);
            assert_eq!((sums.requests, sums.sectors), (number, sectors));
            assert_eq!(sums.ranges, [(0, furthest[0]), (WRITES, furthest[1])]);
        }
    }

    #[test]
    fn sums_of_a_year_of_a_busy_disk_take_no_time() {
        let disk = DiskSample {
            reads: 1 << 40,
            read_bytes: Bytes(1 << 52),
            writes: 1 << 40,
            write_bytes: Bytes(1 << 52),
            ..DiskSample::default()
        };
        let mut sums = MadeUpSums::default();
        sums.add(&disk, &mut [0, WRITES]);
        assert_eq!(sums.requests, 1 << 41);
        assert_eq!(sums.sectors, [(1 << 52) / SECTOR.0; 2]);
    }
}
