//! The spindle of a classic drive, whose angle is counted in DiskSim's steps.

use gordon_units::{Divisor, Ns};

/// Precision of DiskSim's angles: steps of the spindle in a revolution, as a power of 2.
const ANGLE_BITS: u32 = 24;
/// The same of the times of waits and sectors.
const WAIT_BITS: u32 = 20;

/// Passing of the sectors of a track.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectorPace {
    /// Sectors per track.
    pub(super) per_track: u64,
    /// Time of a sector in picoseconds.
    pub(super) time: Divisor,
    /// Angle of a sector in steps.
    steps: u64,
}

impl SectorPace {
    pub(super) fn new(per_track: u64, period: Divisor) -> Self {
        let time = ((1 << WAIT_BITS) / per_track * period.get()) >> WAIT_BITS;
        let steps = period.floor(time << ANGLE_BITS);
        Self { per_track, time: Divisor::new(time.max(1)), steps }
    }
}

/// A time with its picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PreciseTime {
    pub(super) whole: Ns,
    /// Below a nanosecond.
    picoseconds: u64,
}

impl PreciseTime {
    fn new(whole: Ns) -> Self {
        Self { whole, picoseconds: 0 }
    }

    /// The time `picoseconds` later.
    pub(super) fn after(self, picoseconds: u64) -> Self {
        let picoseconds = self.picoseconds + picoseconds;
        let whole = self.whole + Ns(picoseconds / 1000);
        Self { whole, picoseconds: picoseconds % 1000 }
    }

    /// Picoseconds since an earlier time, whole periods left out if they are too many.
    fn since(self, earlier: Self, period: Divisor) -> u64 {
        let whole = (self.whole - earlier.whole).0;
        if let Some(passed) = whole.checked_mul(1000).and_then(|at| at.checked_add(1000)) {
            return passed + self.picoseconds - earlier.picoseconds - 1000;
        }
        let passed = u128::from(whole) * 1000 + u128::from(self.picoseconds)
            - u128::from(earlier.picoseconds);
        #[allow(clippy::cast_possible_truncation)] // less than a period
        let rest = (passed % u128::from(period.get())) as u64;
        rest
    }
}

/// The spindle, with its angle as DiskSim counts it: from one sector or positioning to the next, in
/// whole steps, and rounded down.
///
/// So the spindle falls behind by about a nanosecond in each positioning, and by as much as a step
/// in each sector. In a long run this decides which sector an interrupted read-ahead ends with, and
/// whether the head comes in time for a sector, that is, whole revolutions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spindle {
    /// Time at which the angle was counted last.
    pub(super) at: PreciseTime,
    angle: u64,
    pub(super) pace: SectorPace,
}

impl Spindle {
    /// A spindle at time and angle zero.
    pub(super) fn new(pace: SectorPace) -> Self {
        Self { at: PreciseTime::new(Ns::ZERO), angle: 0, pace }
    }

    /// Counts the angle after sectors have passed.
    pub(super) fn pass(&mut self, sectors: u64) {
        self.at = self.at.after(sectors * self.pace.time.get());
        self.angle = (self.angle + sectors * self.pace.steps) % (1 << ANGLE_BITS);
    }

    /// Counts the angle at a time, which may be a little earlier than the last one.
    pub(super) fn turn(&mut self, at: PreciseTime, period: Divisor) {
        let steps = |passed: u64| period.divide(period.rest(passed) << ANGLE_BITS);
        let angle = if at >= self.at {
            self.angle + steps(at.since(self.at, period)).0
        } else {
            let (back, rest) = steps(self.at.since(at, period));
            self.angle + (1 << ANGLE_BITS) - back - u64::from(rest > 0)
        };
        (self.at, self.angle) = (at, angle % (1 << ANGLE_BITS));
    }

    /// A time with its picoseconds, if it is that of the last count or of a sector later. Sums of
    /// times that were rounded down are up to 3 ns less.
    pub(super) fn precise(&self, at: Ns) -> PreciseTime {
        let ends = [self.at, self.at.after(self.pace.time.get())];
        let found = ends.into_iter().find(|end| (at..at + Ns(3)).contains(&end.whole));
        found.unwrap_or(PreciseTime::new(at))
    }

    /// Time in picoseconds until an angle passes. A revolution has `per_turn` units of the angle.
    pub(super) fn wait(&self, angle: u64, per_turn: u64, period: Divisor) -> u64 {
        let angle = ((angle << WAIT_BITS) + per_turn / 2) / per_turn;
        let steps = (angle << (ANGLE_BITS - WAIT_BITS)) + (1 << ANGLE_BITS) - self.angle;
        let waits = (steps % (1 << ANGLE_BITS)) >> (ANGLE_BITS - WAIT_BITS);
        (waits * period.get()) >> WAIT_BITS
    }
}
