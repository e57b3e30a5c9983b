//! The copier: writes the data of a load to a disk in batches, so that the disk sleeps in between.
//!
//! Writes go to the working replica on flash, and the copier keeps the set of ranges that the disk
//! does not have yet. It writes them to the disk, in the order of their addresses, when they are as
//! large as the buffer, or when the oldest of them is too old, and at the end of the load. A batch
//! ends with a flush; its data then are on the disk. Writes that arrive meanwhile belong to the
//! next batch. The ranges stay on flash, so that no write waits for the disk: if the disk is too
//! slow, the set grows.
//!
//! Not covered: a disk that waits for the data from flash or from the network.

use super::extents::Extents;
use crate::ReplayError;
use crate::host::scaled;
use crate::source::{Feed, RequestSource, TimedRequest};
use gordon_blockio::{Device, IoOp, Request};
use gordon_hdd::drive::Drive;
use gordon_units::{Bytes, Ns, Progress};

/// Largest write to the disk, and the number of outstanding ones: those of a sequential copy.
pub(super) const CHUNK: u64 = 1 << 20;
pub(super) const DEPTH: u32 = 32;

/// When writes of the load arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arrivals {
    /// At their times, divided by a speed.
    Timed(f64),
    /// As soon as the disk is free: the disk is never idle.
    Saturated,
}

/// When the disk is woken.
#[derive(Clone, Copy, Debug)]
pub(super) struct WakeRule {
    /// Bytes that the disk does not have.
    pub buffer: Bytes,
    /// Age of the oldest of them.
    pub max_age: Ns,
}

/// Why a batch was written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reason {
    Full,
    Aged,
    End,
}

/// Totals of the batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BatchTotals {
    /// Batches that were written because the buffer was full.
    pub full: u64,
    /// Batches that were written because their oldest data were too old.
    pub aged: u64,
    /// Batches that were due before the previous one was on the disk.
    pub late: u64,
    /// Batches, including the one at the end of the load.
    pub count: u64,
    /// Bytes written to the disk.
    pub bytes: u64,
    /// Most bytes that were on flash only, and the longest time for which a byte was.
    pub exposed_bytes: u64,
    pub exposed_time: Ns,
    /// Bytes of the load in the batches that filled the buffer, and the time to write these.
    pub full_written: u64,
    pub full_time: Ns,
}

/// Result of copying a load.
pub(super) struct Copied {
    pub drive: Drive,
    pub batches: BatchTotals,
    /// Reads of the batches from flash, in the order of their times.
    pub reads: Vec<TimedRequest>,
    /// End of the last batch.
    pub end: Ns,
}

/// A batch that is being written.
struct Batch {
    reason: Reason,
    started: Ns,
    /// Time of the oldest of its writes.
    oldest: Ns,
    /// Bytes of the load, more than those of the batch if the load overwrites data.
    written: u64,
    bytes: u64,
    left: Extents,
    outstanding: u32,
    is_flushed: bool,
}

struct Copier {
    drive: Drive,
    rule: WakeRule,
    now: Ns,
    /// Ranges of the next batch, the bytes of the load in it, and the time of its oldest write.
    waiting: Extents,
    written: u64,
    oldest: Ns,
    batch: Option<Batch>,
    batches: BatchTotals,
    reads: Vec<TimedRequest>,
}

/// Copies the writes of `source` to `drive`.
pub(super) fn copy(
    drive: Drive,
    source: impl RequestSource,
    arrivals: Arrivals,
    rule: WakeRule,
    progress: &Progress,
) -> Result<Copied, ReplayError> {
    let mut copier = Copier {
        drive,
        rule,
        now: Ns::ZERO,
        waiting: Extents::default(),
        written: 0,
        oldest: Ns::ZERO,
        batch: None,
        batches: BatchTotals::default(),
        reads: Vec::new(),
    };
    let mut feed = Feed::new(source);
    let mut completed = Vec::new();
    loop {
        if feed.at_border() {
            progress.check()?;
        }
        let next = feed.peek()?.copied();
        let arrival = match arrivals {
            Arrivals::Timed(speed) => next.map(|request| scaled(request.at, speed)),
            Arrivals::Saturated => next.and(copier.batch.is_none().then_some(copier.now)),
        };
        let due = copier.due();
        let event = copier.drive.next_event();
        // The disk's clock must not pass a request, so that its events come last.
        let earliest = |at: Ns, others: [Option<Ns>; 2]| others.iter().flatten().all(|o| at <= *o);
        match (next, arrival) {
            (Some(request), Some(at)) if earliest(at, [due, event]) => {
                feed.advance();
                copier.now = at;
                copier.take(&request);
            }
            (None, _) if copier.batch.is_none() => {
                if copier.waiting.is_empty() {
                    break;
                }
                copier.start(Reason::End);
            }
            _ => match (due, event) {
                (Some(at), event) if earliest(at, [event, None]) => {
                    copier.now = copier.now.max(at);
                    copier.start(Reason::Aged);
                }
                (_, Some(at)) => {
                    copier.now = at;
                    copier.drive.step(&mut completed);
                    for _ in completed.drain(..) {
                        copier.completed();
                    }
                }
                (..) => unreachable!("a batch in progress has an event"),
            },
        }
    }
    let Copier { drive, batches, reads, now, .. } = copier;
    Ok(Copied { drive, batches, reads, end: now })
}

impl Copier {
    /// When the oldest of the waiting data are too old; `None` while a batch is being written.
    fn due(&self) -> Option<Ns> {
        let waits = self.batch.is_none() && !self.waiting.is_empty();
        waits.then(|| Ns(self.oldest.0.saturating_add(self.rule.max_age.0)))
    }

    fn is_full(&self) -> bool {
        self.waiting.bytes() >= self.rule.buffer.0
    }

    /// Takes a request of the load, which arrives now.
    fn take(&mut self, request: &TimedRequest) {
        if request.op != IoOp::Write {
            return;
        }
        if self.waiting.is_empty() {
            self.oldest = self.now;
        }
        self.waiting.add(request.offset, request.len);
        self.written += request.len;
        let in_batch = self.batch.as_ref().map_or(0, |batch| batch.bytes);
        let exposed = self.waiting.bytes() + in_batch;
        self.batches.exposed_bytes = self.batches.exposed_bytes.max(exposed);
        if self.batch.is_none() && self.is_full() {
            self.start(Reason::Full);
        }
    }

    /// Starts to write the waiting ranges.
    fn start(&mut self, reason: Reason) {
        let left = std::mem::take(&mut self.waiting);
        self.batch = Some(Batch {
            reason,
            started: self.now,
            oldest: self.oldest,
            written: std::mem::take(&mut self.written),
            bytes: left.bytes(),
            left,
            outstanding: 0,
            is_flushed: false,
        });
        self.submit();
    }

    /// Submits writes of the batch while the queue takes them, and a flush after the last one.
    fn submit(&mut self) {
        let Some(batch) = &mut self.batch else { return };
        while batch.outstanding < DEPTH && !batch.is_flushed {
            let request = match batch.left.take(CHUNK) {
                Some((start, len)) => {
                    let at = self.now;
                    let read = TimedRequest { at, offset: start, len, ..TimedRequest::NOTHING };
                    self.reads.push(read);
                    Request::new(IoOp::Write, Bytes(start), Bytes(len))
                }
                None => {
                    batch.is_flushed = true;
                    Request::FLUSH
                }
            };
            batch.outstanding += 1;
            self.drive.submit(self.now, 0, request);
        }
    }

    /// Handles a completion, which is now.
    fn completed(&mut self) {
        let Some(batch) = &mut self.batch else { return };
        batch.outstanding -= 1;
        if batch.outstanding > 0 || !batch.is_flushed {
            self.submit();
            return;
        }
        let batches = &mut self.batches;
        let time = self.now - batch.started;
        batches.count += 1;
        batches.bytes += batch.bytes;
        batches.exposed_time = batches.exposed_time.max(self.now - batch.oldest);
        match batch.reason {
            Reason::Full => {
                batches.full += 1;
                batches.full_written += batch.written;
                batches.full_time += time;
            }
            Reason::Aged => batches.aged += 1,
            Reason::End => {}
        }
        self.batch = None;
        let reason = match self.due() {
            _ if self.is_full() => Reason::Full,
            Some(due) if due <= self.now => Reason::Aged,
            _ => return,
        };
        self.batches.late += 1;
        self.start(reason);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use gordon_blockio::SECTOR;
    use gordon_config::from_toml;
    use gordon_hdd::drive::DriveConfig;
    use gordon_hdd::{DiskConfig, PowerConfig};
    use proptest::prelude::*;

    const SATA: &str = include_str!("../../../../python/gordon/parts/disk/sata-7200-1tb.toml");
    const MIB: u64 = 1 << 20;
    const HOUR: Ns = Ns(3_600_000_000_000);

    struct Given(Vec<TimedRequest>);

    impl RequestSource for Given {
        fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
            *batch = std::mem::take(&mut self.0);
            Ok(())
        }
    }

    /// A write at a number of seconds, in MiB.
    fn write(at: u64, start: u64, len: u64) -> TimedRequest {
        let at = Ns(at * 1_000_000_000);
        let op = IoOp::Write;
        TimedRequest { at, offset: start * MIB, len: len * MIB, op, ..TimedRequest::NOTHING }
    }

    /// The disk of the paper, put in standby after this time, and its power.
    fn sleeper(after: Ns) -> (Drive, PowerConfig) {
        let disk: DiskConfig = serde_json::from_value(from_toml(SATA, "preset").unwrap()).unwrap();
        let power = disk.power.in_standby_after(after).unwrap();
        let config = DriveConfig::Config(Box::new(disk)).with_power(power.clone());
        let mut drive = Drive::new(&config, None).unwrap();
        drive.rest();
        (drive, power)
    }

    fn copied(requests: Vec<TimedRequest>, buffer: u64, max_age: Ns) -> Copied {
        let rule = WakeRule { buffer: Bytes(buffer * MIB), max_age };
        let (drive, _) = sleeper(Ns(10_000_000_000));
        let timed = Arrivals::Timed(1.0);
        copy(drive, Given(requests), timed, rule, &Progress::default()).unwrap()
    }

    #[test]
    fn a_batch_starts_with_the_write_that_fills_the_buffer_and_the_rest_is_written_at_the_end() {
        let requests = (0..10).map(|n| write(100 * n, 10 * n, 1)).collect();
        let Copied { drive, batches, end, .. } = copied(requests, 4, HOUR);
        assert_eq!((batches.count, batches.full, batches.aged, batches.late), (3, 2, 0, 0));
        assert_eq!(batches.bytes, 10 * MIB);
        assert_eq!(drive.stats().sectors_destaged, 10 * MIB / SECTOR.0);
        assert_eq!((batches.exposed_bytes, batches.full_written), (4 * MIB, 8 * MIB));
        // From the first write of a batch to the fourth, the wake-up, and the writing.
        let longest = batches.exposed_time.as_secs();
        assert!(longest > 313.5 && longest < 314.0, "{longest}");
        assert!(end > Ns(913_500_000_000) && end < Ns(914_000_000_000), "{end}");
    }

    #[test]
    fn overwritten_data_are_copied_once_and_adjacent_data_in_one_write() {
        let requests = vec![write(0, 7, 1), write(1, 6, 1), write(2, 7, 1), write(3, 0, 1)];
        let Copied { batches, reads, .. } = copied(requests, 1000, HOUR);
        assert_eq!((batches.count, batches.bytes), (1, 3 * MIB));
        let ranges: Vec<_> = reads.iter().map(|read| (read.offset / MIB, read.len / MIB)).collect();
        assert_eq!(ranges, [(0, 1), (6, 1), (7, 1)]);
    }

    #[test]
    fn the_age_of_the_oldest_data_starts_a_batch() {
        let requests = vec![write(0, 0, 1), write(3000, 1, 1), write(9000, 2, 1)];
        let Copied { batches, reads, .. } = copied(requests, 1000, HOUR);
        assert_eq!((batches.count, batches.aged), (2, 1));
        let times: Vec<_> = reads.iter().map(|read| read.at.as_secs()).collect();
        assert_eq!(times, [3600.0, 3600.0, 9000.0]);
    }

    #[test]
    fn writes_that_fill_the_buffer_while_a_batch_is_written_make_the_next_one_late() {
        let requests = (0..40).map(|n| write(100 + n, 10 * n, 1)).collect();
        let Copied { batches, .. } = copied(requests, 4, HOUR);
        // The first batch waits 13.5 s for the disk; what arrives meanwhile is the next one, and
        // the disk then keeps up.
        assert_eq!((batches.late, batches.bytes), (1, 40 * MIB));
        assert_eq!(batches.exposed_bytes, 17 * MIB);
    }

    #[test]
    fn the_energy_of_a_sleeping_disk_follows_from_the_time_in_each_state() {
        let (_, power) = sleeper(Ns(10_000_000_000));
        let Copied { drive, end, .. } = copied(vec![write(1000, 0, 1)], 1, HOUR);
        // The disk is asleep from 10 s on, wakes up at 1,000 s, and falls asleep again.
        let run = Ns(2_000_000_000_000);
        let used = drive.energy_use(&power, run, run).unwrap();
        let joules = |state: &str| used.joules.iter().find(|(name, _)| name == state).unwrap().1;
        let busy = drive.usage().write.as_secs();
        assert_eq!(used.sleep_stats.wakes, [1]);
        let asleep = 990.0 + 2000.0 - end.as_secs() - 10.0;
        assert!((joules("standby") - asleep).abs() < 1e-6, "{used:?}");
        assert_eq!(joules("waking"), 227.0);
        assert!((joules("writing") - 17.0 * busy).abs() < 1e-6, "{used:?}");
        let idle = 2000.0 - asleep - 13.5 - busy;
        assert!((joules("idle") - 9.0 * idle).abs() < 1e-6, "{used:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_byte_is_copied_after_it_was_written(
            writes in proptest::collection::vec((0..60u64, 0..64u64, 1..8u64), 1..60),
            buffer in 1..32u64,
            max_age in 1..200u64,
        ) {
            let mut at = 0;
            let requests: Vec<_> = writes
                .into_iter()
                .map(|(gap, start, len)| {
                    at += gap;
                    write(at, start, len)
                })
                .collect();
            let max_age = Ns(max_age * 1_000_000_000);
            let Copied { batches, reads, end, .. } = copied(requests.clone(), buffer, max_age);
            prop_assert_eq!(reads.iter().map(|read| read.len).sum::<u64>(), batches.bytes);
            for request in requests {
                for block in request.offset / MIB..(request.offset + request.len) / MIB {
                    let block = block * MIB;
                    let copied = reads.iter().any(|read| {
                        let range = read.offset..read.offset + read.len;
                        read.at >= request.at && range.contains(&block)
                    });
                    prop_assert!(copied, "{} of {:?}", block, request);
                }
                prop_assert!(end > request.at);
            }
        }
    }
}
