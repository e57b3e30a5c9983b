//! Replicas of the data of a load on flash and on sleeping disks (section 6.1 of the Gordon paper).
//!
//! Three arrangements serve the same load: all replicas on flash, all on disks that are awake, and
//! the working replica on flash with the others on disks that sleep. The working replica serves all
//! requests, a copy all but the reads. Each device is simulated on its own, and copies of the same
//! kind are simulated once. The copier (`copier.rs`) writes to sleeping disks in batches; the
//! data of a batch are read from flash when they are written to the disks. A disk is put in standby
//! after an idle time, by default its break-even time.
//!
//! Not covered: servers around the devices, links other than for recovery, a write that waits for
//! all of its replicas, and flash that held data before the run, except what the load reads.

mod config;
mod copier;
mod extents;
mod load;
mod report;

use crate::ReplayError;
use crate::host::{HostPolicy, LATEST, Pacing, drive};
use crate::results::flash::FlashReport;
use crate::results::ratio;
use crate::results::{Recorded, Recorder};
use crate::run::provenance;
use crate::source::RequestSource;
use crate::threads::on_all_cores;
use config::DiskPower;
use copier::{Arrivals, BatchTotals, CHUNK, Copied, DEPTH, WakeRule, copy};
use gordon_blockio::{Device, IoOp, LatencySummary, Request};
use gordon_hdd::drive::Drive;
use gordon_hdd::{EnergyUse, PowerConfig};
use gordon_ssd::Ssd;
use gordon_units::{Bytes, Ns, Progress};
use load::{Merged, ReplicatedLoad, Requests};
use rayon::prelude::*;
use report::{Role, asleep, rated_years, wakes};
use std::sync::atomic::Ordering;

pub use config::ReplicasConfig;
pub use report::{
    ArrangementReport, BatchReport, FlashWear, RateReport, RecoveryReport, ReplicaReport,
    ReplicasReport, WriteLimits,
};

/// Relative width to which the rate is narrowed down below which sleeping pays.
const PRECISION: f64 = 0.02;

/// Simulates the arrangements that `config` describes.
///
/// # Errors
/// Returns an error if a value is invalid, a device cannot be built or is too small, or the load
/// cannot be read, has no writes or no times.
pub fn run(config: &ReplicasConfig, progress: &Progress) -> Result<ReplicasReport, ReplayError> {
    config.check()?;
    let power = config.power()?;
    let flash_capacity = Ssd::with_seed(&config.flash, config.seed)?.capacity();
    let disk_capacity = Drive::new(&config.disk, None)?.capacity();
    if disk_capacity < flash_capacity {
        let why = format!(
            "holds {}, and a replica of the flash device {}",
            disk_capacity.human(),
            flash_capacity.human()
        );
        return Err(ReplayError::option("disk", why, "a larger disk, or smaller flash"));
    }
    if config.buffer > flash_capacity {
        let why = format!(
            "{} is more than the {} of the flash device that holds them",
            config.buffer.human(),
            flash_capacity.human()
        );
        return Err(ReplayError::option("buffer", why, "1GiB"));
    }
    let load =
        ReplicatedLoad::new(&config.load, config.fit, flash_capacity, config.seed, progress)?;
    let capacities = [flash_capacity, disk_capacity];
    Replicas { config, power, capacities, load, progress }.run()
}

struct Replicas<'a> {
    config: &'a ReplicasConfig,
    power: DiskPower,
    /// Capacities of the flash device and of the disk.
    capacities: [Bytes; 2],
    load: ReplicatedLoad,
    progress: &'a Progress,
}

/// A flash device after its run.
struct FlashRun {
    ssd: Ssd,
    erased: Vec<u32>,
    recorded: Recorded,
    end: Ns,
}

/// A disk that was awake, after its run.
struct DiskRun {
    drive: Drive,
    recorded: Recorded,
    end: Ns,
}

/// What a copy is sent: all that changes data.
fn is_copied(op: IoOp) -> bool {
    op != IoOp::Read
}

fn is_write(op: IoOp) -> bool {
    op == IoOp::Write
}

fn any(_: IoOp) -> bool {
    true
}

impl Replicas<'_> {
    fn run(self) -> Result<ReplicasReport, ReplayError> {
        // The load was counted once. Four more runs of the arrangements and one for each rate
        // follow; those that narrow down the limit count themselves.
        self.announce(4 + self.config.rates.len() as u64);
        let sleeping = || -> Result<_, ReplayError> {
            let mut copied = self.copied(Arrivals::Timed(1.0))?;
            let others = std::mem::take(&mut copied.reads).into_iter().peekable();
            let merged = Merged { load: self.load.requests(any), others };
            Ok((self.flash(merged)?, copied))
        };
        let flash = || {
            rayon::join(
                || self.flash(self.load.requests(any)),
                || self.flash(self.load.requests(is_copied)),
            )
        };
        let disks = || {
            rayon::join(
                || self.disk(self.load.requests(any), 1.0),
                || self.disk(self.load.requests(is_copied), 1.0),
            )
        };
        let limited = || {
            let limits = self.limits()?;
            Ok::<_, ReplayError>((limits, self.rates(limits)?))
        };
        let others = || rayon::join(limited, || self.recovery());
        let ((of_flash, of_disks), (of_sleeping, (limited, recovery))) = on_all_cores(|| {
            rayon::join(|| rayon::join(flash, disks), || rayon::join(sleeping, others))
        });
        let (flash, flash_copy) = (of_flash.0?, of_flash.1?);
        let (disk, disk_copy) = (of_disks.0?, of_disks.1?);
        let (working, copied) = of_sleeping?;
        let (limits, (rates, pays_below_bytes_per_s)) = limited?;
        let ends = [flash.end, flash_copy.end, disk.end, disk_copy.end, working.end, copied.end];
        let run = ends.into_iter().fold(self.load.totals.span, Ns::max);
        let [one, copies] = self.roles();
        let arrangements = vec![
            ArrangementReport::new(
                "flash",
                vec![self.of_flash(one, &flash, run), self.of_flash(copies, &flash_copy, run)],
                writes(&flash.recorded),
                run,
            ),
            ArrangementReport::new(
                "disks",
                vec![
                    self.of_disks(one, &disk.drive, &self.power.awake, run),
                    self.of_disks(copies, &disk_copy.drive, &self.power.awake, run),
                ],
                writes(&disk.recorded),
                run,
            ),
            ArrangementReport::new(
                "sleeping",
                vec![
                    self.of_flash(one, &working, run),
                    self.of_disks(copies, &copied.drive, &self.power.sleeping, run),
                ],
                writes(&working.recorded),
                run,
            ),
        ];
        let (totals, batches) = (self.load.totals, copied.batches);
        let mut warnings = self.load.warnings.clone();
        if !has_batch(&batches) {
            warnings.push(
                "the load ends before a batch is due, so that the disks are woken once, \
                 at its end; a longer load or a smaller buffer shows a steady state"
                    .into(),
            );
        }
        Ok(ReplicasReport {
            replicas: self.config.replicas,
            flash_capacity_bytes: self.capacities[0].0,
            disk_capacity_bytes: self.capacities[1].0,
            requests: totals.requests,
            written_bytes: totals.written,
            read_bytes: totals.read,
            span_s: totals.span.as_secs(),
            write_bytes_per_s: self.rate(1.0),
            run_s: run.as_secs(),
            arrangements,
            break_even_s: self.power.break_even.as_secs(),
            spin_down_s: self.power.spin_down.as_secs(),
            batches: BatchReport {
                count: batches.count,
                full: batches.full,
                aged: batches.aged,
                late: batches.late,
                bytes: batches.bytes,
                exposed_bytes: batches.exposed_bytes,
                exposed_s: batches.exposed_time.as_secs(),
            },
            limits,
            by_rate: rates,
            pays_below_bytes_per_s,
            recovery: recovery?,
            provenance: provenance(self.config.seed, self.config, self.load.trace),
            warnings,
        })
    }

    /// Adds runs of the load to the work that is reported as progress.
    fn announce(&self, runs: u64) {
        self.progress.total.fetch_add(runs * self.load.totals.requests, Ordering::Relaxed);
    }

    fn roles(&self) -> [Role; 2] {
        let copies = Role { name: "copies", count: self.config.replicas - 1 };
        [Role { name: "working", count: 1 }, copies]
    }

    /// Mean rate of the load's writes at a speed.
    fn rate(&self, speed: f64) -> f64 {
        let totals = self.load.totals;
        ratio(totals.written, 1) / totals.span.as_secs() * speed
    }

    fn flash(&self, source: impl RequestSource) -> Result<FlashRun, ReplayError> {
        let mut ssd = Ssd::with_seed(&self.config.flash, self.config.seed)?;
        for &(start, end) in &self.load.reads {
            let end = end.min(ssd.capacity().0);
            ssd.preload(Bytes(start), Bytes(end - start));
        }
        ssd.load(self.progress)?;
        let erased = ssd.erases().collect();
        let mut recorder = Recorder::new(&ssd, 1, None);
        let end = drive(&mut ssd, source, &at_speed(1.0), &mut recorder, self.progress)?.simulated;
        let (_, recorded) = recorder.finish(&ssd)?;
        Ok(FlashRun { ssd, erased, recorded, end })
    }

    /// Runs a load on a disk that is awake.
    fn disk(&self, source: Requests<'_>, speed: f64) -> Result<DiskRun, ReplayError> {
        let mut drive_of = self.drive(&self.power.awake)?;
        let mut recorder = Recorder::new(&drive_of, 1, None);
        let outcome = drive(&mut drive_of, source, &at_speed(speed), &mut recorder, self.progress)?;
        let (_, recorded) = recorder.finish(&drive_of)?;
        // What is in the disk's cache at the end is written, as after a flush.
        let (mut end, mut completed) = (outcome.simulated, Vec::new());
        while let Some(at) = drive_of.next_event() {
            drive_of.step(&mut completed);
            end = end.max(at);
        }
        Ok(DiskRun { drive: drive_of, recorded, end })
    }

    /// Copies the load to a sleeping disk, or, if it is saturated, to one that is awake.
    fn copied(&self, arrivals: Arrivals) -> Result<Copied, ReplayError> {
        let power = match arrivals {
            Arrivals::Timed(_) => &self.power.sleeping,
            Arrivals::Saturated => &self.power.awake,
        };
        let max_age = match arrivals {
            Arrivals::Timed(_) => self.config.max_age,
            Arrivals::Saturated => Ns::MAX,
        };
        let rule = WakeRule { buffer: self.config.buffer, max_age };
        copy(self.drive(power)?, self.load.requests(is_write), arrivals, rule, self.progress)
    }

    /// A disk at rest.
    fn drive(&self, power: &PowerConfig) -> Result<Drive, ReplayError> {
        let mut drive = Drive::new(&self.config.disk.with_power(power.clone()), None)?;
        drive.rest();
        Ok(drive)
    }

    /// The limits follow from batches that the disk writes without a pause.
    fn limits(&self) -> Result<WriteLimits, ReplayError> {
        let batches = self.copied(Arrivals::Saturated)?.batches;
        let rate = |pause: Ns| {
            let time = batches.full_time.as_secs() + pause.as_secs() * ratio(batches.full, 1);
            (batches.full > 0).then(|| ratio(batches.full_written, 1) / time)
        };
        Ok(WriteLimits {
            asleep_bytes_per_s: rate(self.power.spin_down),
            keeps_up_bytes_per_s: rate(Ns::ZERO),
        })
    }

    /// Reads a replica of the flash device from a disk that is asleep.
    fn recovery(&self) -> Result<RecoveryReport, ReplayError> {
        let bytes = self.capacities[0].0;
        let mut drive = self.drive(&self.power.sleeping)?;
        let start = self.power.spin_down.min(LATEST);
        let (mut next, mut end, mut outstanding) = (0, start, 0);
        let mut completed = Vec::new();
        loop {
            while outstanding < DEPTH && next < bytes {
                let len = CHUNK.min(bytes - next);
                drive.submit(end, 0, Request::new(IoOp::Read, Bytes(next), Bytes(len)));
                (next, outstanding) = (next + len, outstanding + 1);
            }
            if outstanding == 0 {
                break;
            }
            self.progress.check()?;
            drive.advance(Ns::MAX, &mut completed);
            for done in completed.drain(..) {
                (end, outstanding) = (done.at, outstanding - 1);
            }
        }
        let wake = drive.energy_use(&self.power.sleeping, Ns::ZERO, end);
        let wake_s = wake.map_or(0.0, |used| used.sleep_stats.waking.as_secs());
        let read_s = (end - start).as_secs() - wake_s;
        let link_s = ratio(bytes, 1) / self.config.link_bytes_per_s;
        Ok(RecoveryReport {
            bytes,
            wake_s,
            read_s,
            link_s,
            time_s: wake_s + read_s.max(link_s),
            limited_by: if link_s > read_s { "link" } else { "disk" },
        })
    }

    /// Compares a sleeping disk with one that is awake at all speeds, and finds the rate below
    /// which sleeping pays: between two neighbours if only the slower one does.
    fn rates(&self, limits: WriteLimits) -> Result<(Vec<RateReport>, Option<f64>), ReplayError> {
        let mut speeds = self.config.rates.clone();
        speeds.sort_by(f64::total_cmp);
        speeds.dedup();
        let compared = speeds.par_iter().map(|speed| self.compare(*speed, limits));
        let rates = compared.collect::<Result<Vec<_>, _>>()?;
        let ends =
            rates.windows(2).find(|pair| pair[0].pays == Some(true) && pair[1].pays == Some(false));
        let Some([mut low, mut high]) = ends.map(|pair| [pair[0].speed, pair[1].speed]) else {
            return Ok((rates, None));
        };
        while high / low > 1.0 + PRECISION {
            let middle = (low * high).sqrt();
            self.announce(1);
            if self.compare(middle, limits)?.pays == Some(true) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok((rates, Some(self.rate(low))))
    }

    fn compare(&self, speed: f64, limits: WriteLimits) -> Result<RateReport, ReplayError> {
        let awake = self.disk(self.load.requests(is_copied), speed)?;
        let copied = self.copied(Arrivals::Timed(speed))?;
        let run = awake.end.max(copied.end);
        let mean = |used: &EnergyUse| {
            used.joules.iter().map(|(_, joules)| joules).sum::<f64>() / run.as_secs()
        };
        let awake_use = used(&awake.drive, &self.power.awake, run);
        let sleeping = used(&copied.drive, &self.power.sleeping, run);
        let (awake_w, sleeping_w) = (mean(&awake_use), mean(&sleeping));
        let rate = self.rate(speed);
        let keeps_up = limits.keeps_up_bytes_per_s.is_none_or(|limit| rate <= limit);
        Ok(RateReport {
            speed,
            write_bytes_per_s: rate,
            sleeping_w,
            awake_w,
            asleep: asleep(&sleeping, run),
            wakes: wakes(&sleeping),
            late: copied.batches.late,
            exposed_bytes: copied.batches.exposed_bytes,
            rated_years: rated_years(wakes(&sleeping), &self.power, run),
            pays: has_batch(&copied.batches).then_some(keeps_up && sleeping_w < awake_w),
        })
    }

    fn of_flash(&self, role: Role, flash: &FlashRun, run: Ns) -> ReplicaReport {
        let FlashRun { ssd, erased, recorded, .. } = flash;
        let report = FlashReport::of(ssd, &self.config.flash, (run, run), erased, recorded);
        ReplicaReport::flash(role, &self.config.flash.summary, &report, run)
    }

    fn of_disks(&self, role: Role, drive: &Drive, power: &PowerConfig, run: Ns) -> ReplicaReport {
        let part = self.config.disk.summary();
        ReplicaReport::disks(role, part, used(drive, power, run), &self.power, run)
    }
}

/// Whether a batch was due before the end of the load.
fn has_batch(batches: &BatchTotals) -> bool {
    batches.full + batches.aged > 0
}

/// Energy of a single disk in a run of this length.
fn used(drive: &Drive, power: &PowerConfig, run: Ns) -> EnergyUse {
    drive.energy_use(power, run, run).expect("a single disk")
}

fn writes(recorded: &Recorded) -> LatencySummary {
    recorded.latencies.of(IoOp::Write).summary().ms()
}

fn at_speed(speed: f64) -> HostPolicy {
    let pacing = Pacing::Arrival { speed };
    HostPolicy { pacing, depth: u32::MAX, split: None, wrap: false, weights: vec![1] }
}
