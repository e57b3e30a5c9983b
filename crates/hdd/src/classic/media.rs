//! Movement of the head over the medium, track by track, in closed form.

use super::spindle::{SectorPace, Spindle};
use crate::disk::mechanics::{Head, Mechanics, SeekTarget};
use gordon_units::{Divisor, Ns};

/// A pass over one track.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaPass {
    /// Time when the arm starts.
    pub lead: Ns,
    /// Time when the arm has arrived.
    pub there: Ns,
    /// Time when the first sector begins to pass.
    pub begins: Ns,
    /// Sectors of the pass: from the first one to the end of the track.
    pub first: u64,
    pub end: u64,
    /// The track.
    pub track: Head,
    /// Whether the head has passed by the sectors before.
    again: bool,
    /// Whether the sectors were read before, from the time `seen` on, and are held until `begins`.
    held: bool,
    seen: Ns,
    /// The spindle before the positioning, and when the first sector begins to pass.
    before: Spindle,
    spindle: Spindle,
}

impl MediaPass {
    /// Time in which this number of sectors passes.
    pub fn time(&self, sectors: u64) -> Ns {
        Ns(sectors * self.spindle.pace.time.get() / 1000)
    }

    /// Time when a sector has passed.
    pub fn done(&self, lba: u64) -> Ns {
        if self.held { self.begins } else { self.begins + self.time(lba - self.first + 1) }
    }

    /// Time of a revolution, in which all sectors of the track pass.
    fn turn(&self) -> Ns {
        self.time(self.spindle.pace.per_track)
    }

    /// The spindle after sectors up to `lba` have passed.
    fn spindle_at(&self, lba: u64) -> Spindle {
        let mut spindle = self.spindle;
        spindle.pass(if self.held { 0 } else { lba - self.first });
        spindle
    }

    /// Number of sectors that pass in a time: the most whose [time](Self::time) is not longer.
    fn count(&self, time: Ns) -> u64 {
        self.spindle.pace.time.floor((time.0 + 1) * 1000 - 1)
    }

    /// The first sector of the pass that begins at or after a time, or the sector behind the pass.
    fn first_after(&self, at: Ns) -> u64 {
        let passed = at.saturating_sub(self.begins);
        let begun = self.count(passed);
        (self.first + begun + u64::from(self.time(begun) < passed)).min(self.end)
    }

    /// The first boundary of a sector after a time, which lies before the pass.
    fn boundary_before(&self, at: Ns) -> Ns {
        let rest = self.begins - at;
        self.begins - self.time(self.count(rest))
    }

    /// The first sector that has not passed at a time.
    pub fn reached(&self, at: Ns) -> u64 {
        if at < self.begins {
            return self.first;
        }
        if self.held {
            return self.end;
        }
        (self.first + self.count(at - self.begins)).min(self.end)
    }
}

/// The arm with its heads.
#[derive(Clone, Debug)]
pub(super) struct Actuator {
    pub mechanics: Mechanics,
    pub head: Head,
    pub spindle: Spindle,
    /// Time of a revolution in picoseconds.
    pub period: Divisor,
    /// Total seek time, rotational wait and transfer time; number of passes, and of arm movements.
    pub seek: Ns,
    pub rotation: Ns,
    pub transfer: Ns,
    pub passes: u64,
    pub moves: u64,
}

impl Actuator {
    pub fn new(mechanics: Mechanics, rpm: u32) -> Self {
        let period = Divisor::new(60_000 * Ns::SECOND.0 / u64::from(rpm));
        let pace = SectorPace::new(mechanics.geometry().track_of(0).get(), period);
        Self {
            mechanics,
            head: Head::default(),
            spindle: Spindle::new(pace),
            period,
            seek: Ns::ZERO,
            rotation: Ns::ZERO,
            transfer: Ns::ZERO,
            passes: 0,
            moves: 0,
        }
    }

    /// Time to position on a sector, if the decision counts from the angle at a time.
    pub fn positioning(&self, at: Ns, to: SeekTarget, write: bool) -> Ns {
        let seek = self.mechanics.arm_to(self.head, to.track, write);
        let mut spindle = self.spindle;
        spindle.turn(spindle.precise(at), self.period);
        spindle.turn(spindle.at.after(seek.0 * 1000), self.period);
        let per_turn = self.mechanics.geometry().turn().get();
        seek + Ns(spindle.wait(to.angle, per_turn, self.period) / 1000)
    }

    /// Positions the head on a sector for a pass over the rest of its track.
    pub fn pass(&mut self, at: Ns, lba: u64, write: bool, least_seek: Ns) -> MediaPass {
        let geometry = self.mechanics.geometry();
        let place = geometry.location(lba);
        let (first, mut end) = geometry.run(place);
        if !(first..end).contains(&lba) {
            // The sector was remapped, so its neighbours on the track have other addresses.
            end = lba + 1;
        }
        let target = self.mechanics.target(place);
        let seek = self.mechanics.arm_to(self.head, target.track, write).max(least_seek);
        let there = at + seek;
        let before = self.spindle;
        let mut spindle = before;
        let arrives = before.precise(at).after(seek.0 * 1000);
        spindle.turn(arrives, self.period);
        let wait = spindle.wait(target.angle, geometry.turn().get(), self.period);
        spindle.turn(arrives.after(wait), self.period);
        let per_track = geometry.per_track(place).get();
        if per_track != spindle.pace.per_track {
            spindle.pace = SectorPace::new(per_track, self.period);
        }
        let wait = spindle.at.whole - there;
        self.moves += u64::from(self.head.cylinder != target.track.cylinder);
        (self.head, self.spindle) = (target.track, spindle);
        self.seek += seek;
        self.rotation += wait;
        self.passes += 1;
        MediaPass {
            lead: at,
            there,
            begins: there + wait,
            first: lba,
            end,
            track: target.track,
            again: false,
            held: false,
            seen: Ns::ZERO,
            before,
            spindle,
        }
    }

    /// Takes a planned pass that the head does not make out of the counters. `from` is the track
    /// of the pass before it.
    fn uncount(&mut self, pass: &MediaPass, from: Head) {
        // A pass that the head makes again was counted the first time.
        if pass.again {
            return;
        }
        self.moves -= u64::from(from.cylinder != pass.track.cylinder);
        self.seek -= pass.there - pass.lead;
        self.rotation -= pass.begins - pass.there;
        self.passes -= 1;
    }
}

/// The first sector before `end` for which `is` holds, if it holds for all sectors behind it and
/// for the last one.
fn first_where(mut begin: u64, end: u64, is: impl Fn(u64) -> bool) -> u64 {
    let mut last = end - 1;
    while begin < last {
        let middle = begin.midpoint(last);
        if is(middle) { last = middle } else { begin = middle + 1 }
    }
    last
}

/// The room that a segment gets while data of a command leave it over the bus.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The first sector for which there is no room yet.
    pub first: u64,
    /// Time when the first sector begins to leave, the bus time of a sector, and when the last one
    /// has left.
    pub crosses: Ns,
    pub sector: Ns,
    pub ends: Ns,
    /// Whether these are all data of the command, so that there is room for anything then.
    pub all: bool,
    /// Time since which the command needs its data in the segment.
    pub needed: Ns,
    /// Whether a sector needs room only when the head has read it.
    pub sector_buffer: bool,
}

impl Room {
    /// Number of sectors that the head may read before the segment can hold the first of them.
    fn ahead(&self) -> u64 {
        u64::from(self.sector_buffer)
    }

    /// Whether there is room for a sector of a pass when it passes. `later` is the answer if this
    /// is after the transfer, and not all data of the command have left the segment by then.
    fn fits(&self, lba: u64, pass: &MediaPass, later: bool) -> bool {
        let begins = pass.begins + pass.time(lba - pass.first);
        let at = pass.begins + pass.time(lba + self.ahead() - pass.first);
        if at < self.needed || at >= self.ends && (self.all || later) {
            return true;
        }
        let leaves = self.crosses + Ns(self.sector.0 * (lba + 1).saturating_sub(self.first));
        // The drive counts the sectors that have left when a sector begins.
        leaves <= if at < self.ends { begins } else { self.ends }
    }
}

/// A read of consecutive sectors, over as many tracks as necessary.
#[derive(Clone, Debug, Default)]
pub(super) struct MediaStream {
    pub passes: Vec<MediaPass>,
    /// First sector of the next pass, and when the arm may start for it.
    next: u64,
    at: Ns,
    /// End of the requested sectors; the sectors beyond are read ahead.
    wanted: u64,
    /// Whether the stream has ended.
    over: bool,
}

/// Position of a stream at some time.
pub(super) struct StreamPosition {
    /// The first sector that has not been read.
    pub reached: u64,
    /// If the stream continues: the end of its current step, and whether that step is a seek.
    pub step: Option<(Ns, bool)>,
}

impl MediaStream {
    /// Restarts the stream at a sector.
    pub fn start(&mut self, at: Ns, lba: u64) {
        self.passes.clear();
        (self.next, self.at, self.wanted, self.over) = (lba, at, lba, false);
    }

    /// Adds a pass over the next track.
    fn grow(&mut self, arm: &mut Actuator) {
        // A query for an earlier time may have moved `arm.head` and `arm.spindle` since.
        if let Some(last) = self.passes.last() {
            (arm.head, arm.spindle) = (last.track, last.spindle_at(last.end));
        }
        let pass = arm.pass(self.at, self.next, false, Ns::ZERO);
        arm.transfer += self.wanted_time(&pass);
        self.at = pass.done(pass.end - 1);
        self.next = pass.end;
        self.passes.push(pass);
    }

    /// Lets the head pass by the sectors for which the segment has no room. They are read a
    /// revolution later. With `on_arrival`, the sectors of the track behind them, up to `limit`,
    /// are read when they pass, if there is room for them, and are held until then.
    pub fn pass_by(&mut self, room: &Room, limit: u64, on_arrival: bool, arm: &mut Actuator) {
        let (mut at, mut late) = (0, false);
        loop {
            // When the head reaches the tracks behind a late sector is not known yet.
            if at == self.passes.len() && !late && self.next < self.wanted {
                self.grow(arm);
            }
            let Some(&pass) = self.passes.get(at) else { return };
            // What passes after the transfer is left open, unless it is read early.
            let fits = |lba: u64| room.fits(lba, &pass, true);
            let fits_early = |lba: u64| room.fits(lba, &pass, false);
            // Sectors that pass before the command needs its data need no space in the segment.
            let needed = pass.first_after(room.needed).saturating_sub(room.ahead());
            let (begin, end) = (pass.first.max(room.first).max(needed), pass.end.min(limit));
            // Room grows as fast as the head moves, or grows more slowly: the first and the last
            // sector suffice.
            if pass.held || begin >= end || fits(begin) && fits(end - 1) {
                at += 1;
                continue;
            }
            let missed =
                if fits(begin) { first_where(begin, end, |lba| !fits(lba)) } else { begin };
            let turned = pass.begins + pass.time(missed - pass.first) + pass.turn();
            let mut last = pass.track;
            for never in &self.passes[at + 1..] {
                arm.uncount(never, last);
                arm.transfer -= if never.again { Ns::ZERO } else { self.wanted_time(never) };
                last = never.track;
            }
            self.passes.truncate(at);
            arm.head = pass.track;
            self.over = false;
            late = true;
            if missed > pass.first {
                self.passes.push(MediaPass { end: missed, ..pass });
                at += 1;
            }
            let lead = pass.there.max(turned - pass.turn());
            let before = pass.spindle_at(missed);
            let mut spindle = before;
            spindle.pass(spindle.pace.per_track);
            let again = MediaPass {
                lead,
                begins: turned,
                first: missed,
                again: true,
                before,
                spindle,
                ..pass
            };
            let early = match room.all {
                true if fits_early(end - 1) => Some(first_where(missed, end, fits_early)),
                true => None,
                false => (missed..end).find(|&lba| fits_early(lba)),
            };
            if let Some(early) = early.filter(|_| on_arrival) {
                self.passes.push(MediaPass { end: early, ..again });
                let begins = turned + pass.time(early - missed);
                let seen = pass.begins + pass.time(early - pass.first);
                let last = match room.all {
                    true => end,
                    false => (early..end).find(|&lba| !fits_early(lba)).unwrap_or(end),
                };
                self.passes.push(MediaPass {
                    lead: begins,
                    there: begins,
                    begins,
                    first: early,
                    end: last,
                    held: true,
                    seen,
                    spindle: again.spindle_at(early),
                    ..again
                });
                (self.at, self.next) = (begins, last);
            } else {
                self.passes.push(again);
                (self.at, self.next) = (again.done(again.end - 1), again.end);
            }
        }
    }

    /// Whether the head has begun to read at a time.
    pub fn begun(&self, at: Ns) -> bool {
        self.passes.first().is_some_and(|pass| pass.begins < at)
    }

    /// End of the sectors that are in the buffer at a time, including those that are held until
    /// sectors before them are read.
    pub fn seen(&self, at: Ns) -> u64 {
        let held = self.passes.iter().filter(|pass| pass.held && pass.seen <= at);
        let end = |pass: &MediaPass| (pass.first + pass.count(at - pass.seen)).min(pass.end);
        held.map(end).max().unwrap_or(0)
    }

    /// Time of the last boundary of a sector at or before a time.
    pub fn last_boundary(&self, at: Ns) -> Option<Ns> {
        let pass = self.passes.iter().rfind(|pass| pass.begins <= at)?;
        let reached = pass.reached(at);
        Some(if reached > pass.first { pass.done(reached - 1) } else { pass.begins })
    }

    /// Time in which the requested sectors of a pass are read.
    fn wanted_time(&self, pass: &MediaPass) -> Ns {
        pass.time(pass.end.min(self.wanted).saturating_sub(pass.first))
    }

    /// Adds the sectors from `missing` to `end` to those that are requested. Only the first pass
    /// over them is planned, since later ones may have to wait for room in the segment.
    pub fn want(&mut self, missing: u64, end: u64, arm: &mut Actuator) {
        self.wanted = self.wanted.max(end);
        arm.transfer += self.transfer_time(missing, end);
        if self.next <= missing {
            self.grow(arm);
        }
    }

    /// Adds passes until all sectors before `end` are covered.
    pub fn reach(&mut self, end: u64, arm: &mut Actuator) {
        self.wanted = self.wanted.max(end);
        while self.next < end {
            self.grow(arm);
        }
    }

    /// Time when the sectors from `sent` to `end` have crossed the bus, if it is free from `from`
    /// on and transfers a sector in `sector`. Sectors from `missing` on cross no earlier than the
    /// head has read them; checking the first and last sector of each pass suffices.
    pub fn delivered(
        &mut self,
        from: Ns,
        (sent, missing, end): (u64, u64, u64),
        sector: Ns,
        arm: &mut Actuator,
    ) -> Ns {
        let mut done = from + Ns(sector.0 * (end - sent));
        if missing < end {
            self.reach(end, arm);
            for pass in &self.passes {
                let (first, last) = (pass.first.max(missing.max(sent)), pass.end.min(end));
                if first < last {
                    for lba in [first, last - 1] {
                        done = done.max(pass.done(lba) + Ns(sector.0 * (end - lba)));
                    }
                }
            }
        }
        done
    }

    /// Time in which the head passes the sectors from `missing` to `end`.
    fn transfer_time(&self, missing: u64, end: u64) -> Ns {
        let pass =
            |pass: &MediaPass| pass.time(pass.end.min(end).saturating_sub(pass.first.max(missing)));
        self.passes.iter().map(pass).sum()
    }

    /// Time when a sector has been read.
    pub fn done(&mut self, lba: u64, arm: &mut Actuator) -> Ns {
        self.reach(lba + 1, arm);
        let pass = self.passes.iter().find(|pass| (pass.first..pass.end).contains(&lba));
        pass.map_or(Ns::ZERO, |pass| pass.done(lba))
    }

    /// Position of the stream at a time if it reads up to `limit`; also moves the arm there.
    /// `goes_on` decides whether read-ahead may cross from one track to another.
    pub fn position(
        &mut self,
        at: Ns,
        limit: u64,
        arm: &mut Actuator,
        goes_on: impl Fn(Head, Head) -> bool,
    ) -> StreamPosition {
        while !self.over && (self.at <= at || self.passes.is_empty()) && self.next < limit {
            let place = arm.mechanics.geometry().location(self.next);
            let next = Head { cylinder: place.cylinder, head: place.head };
            let last = self.passes.last().map_or(arm.head, |last| last.track);
            if self.next >= self.wanted && !goes_on(last, next) {
                self.over = true;
                break;
            }
            self.grow(arm);
        }
        let Some(now) = self.passes.iter().rfind(|pass| pass.lead <= at).or(self.passes.first())
        else {
            return StreamPosition { reached: self.next, step: None };
        };
        let reached = now.reached(at).min(limit.max(now.first));
        // If the head leaves before it has got to the first sector, its wait was not counted.
        arm.spindle = if at < now.begins { now.before } else { now.spindle_at(reached) };
        arm.head = now.track;
        if reached >= limit || (self.over && self.at <= at) {
            return StreamPosition { reached, step: None };
        }
        let step = match () {
            () if at < now.there => (now.there, true),
            () if at < now.begins && now.again => (now.boundary_before(at), false),
            () if at < now.begins => (now.begins, false),
            () => (now.done(reached), false),
        };
        StreamPosition { reached, step: Some(step) }
    }
}

/// Arrival of the data of a write in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataArrival {
    /// Sectors before this one are in the buffer.
    pub held: u64,
    /// Sectors up to this one cross the bus, from `begins` on.
    pub end: u64,
    pub begins: Ns,
    /// Bus time of a sector.
    pub sector: Ns,
    /// Number of sectors that must have arrived before the first one is written.
    pub wanted: u64,
}

impl DataArrival {
    /// Time when a sector can be written.
    fn came(&self, lba: u64) -> Ns {
        if lba < self.held {
            return Ns::ZERO;
        }
        self.begins + Ns(self.sector.0 * (lba + 1 - self.held).max(self.wanted))
    }
}

/// A write of consecutive sectors.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteStream {
    /// The next sector to be written, and the time when the arm or head is free for it.
    pub next: u64,
    pub at: Ns,
    /// The first sector, and the time when the arm could start for it.
    pub first: u64,
    pub begins: Ns,
    /// Time when the head gets to the first sector.
    pub located: Ns,
    /// Minimum time of the first seek.
    least_seek: Ns,
    /// The pass over the track, from the next sector on.
    pass: Option<MediaPass>,
    /// Sectors that were written without pause.
    runs: Vec<WriteRun>,
    /// The pass in which the last sectors were written ahead of others that came too late, and the
    /// first sector of all these, with the time when it passed.
    ahead: Option<(MediaPass, u64, Ns)>,
}

/// Sectors that are written without pause.
#[derive(Clone, Copy, Debug)]
struct WriteRun {
    first: u64,
    /// Time when the first sector begins to pass, or when all of them count as written.
    begins: Ns,
    /// Whether they were written before, ahead of sectors that came too late.
    early: bool,
    pass: MediaPass,
}

impl WriteStream {
    /// Restarts the stream at a sector.
    pub fn start(&mut self, at: Ns, lba: u64, least_seek: Ns) {
        (self.next, self.at, self.first, self.begins) = (lba, at, lba, at);
        self.located = Ns::MAX;
        (self.least_seek, self.pass, self.ahead) = (least_seek, None, None);
        self.runs.clear();
    }

    /// Time when a sector that has been planned is written.
    pub fn done(&self, lba: u64) -> Ns {
        let run = self.runs.iter().rfind(|run| run.first <= lba);
        run.map_or(self.begins, |run| {
            let count = if run.early { 0 } else { lba - run.first + 1 };
            run.begins + run.pass.time(count)
        })
    }

    /// The first sector that has not been written at a time.
    pub fn reached(&self, at: Ns) -> u64 {
        let Some(now) = self.runs.iter().rposition(|run| run.begins <= at) else {
            return self.first;
        };
        let run = self.runs[now];
        let end = self.runs.get(now + 1).map_or(self.next, |next| next.first);
        if run.early { end } else { end.min(run.first + run.pass.count(at - run.begins)) }
    }

    /// Writes the sectors before `end`. A sector whose data arrive too late costs a revolution; if
    /// `ends` is true, the write ends before it instead. With `on_arrival`, the sectors of the
    /// track behind it are written when they pass.
    pub fn run(
        &mut self,
        end: u64,
        arrival: &DataArrival,
        (ends, on_arrival): (bool, bool),
        arm: &mut Actuator,
    ) {
        while self.next < end {
            if let Some((pass, first, passed)) = self.ahead.take() {
                let on_time = |lba: u64| passed + pass.time(lba - first) >= arrival.came(lba);
                let last = pass.end.min(end);
                let late = (self.next..last).find(|&lba| !on_time(lba)).unwrap_or(last);
                if late > self.next {
                    (self.next, self.ahead) = (late, Some((pass, first, passed)));
                    continue;
                }
            }
            let pass = match self.pass {
                Some(pass) if self.next < pass.end => pass,
                _ => {
                    let pass = arm.pass(self.at, self.next, true, self.least_seek);
                    (self.at, self.least_seek, self.pass) = (pass.begins, Ns::ZERO, Some(pass));
                    self.located = self.located.min(pass.begins);
                    pass
                }
            };
            let last = pass.end.min(end);
            while self.next < last {
                let came = arrival.came(self.next);
                if self.at < came {
                    if ends {
                        return;
                    }
                    if on_arrival && let Some(early) = self.early(last, &pass, arrival) {
                        // The head comes back to the sectors that it has passed.
                        let missed = early - self.next;
                        self.ahead = Some((pass, self.next, self.at));
                        arm.spindle.pass(arm.spindle.pace.per_track);
                        self.at = arm.spindle.at.whole;
                        let run =
                            WriteRun { first: self.next, begins: self.at, early: false, pass };
                        arm.spindle.pass(missed);
                        self.at = arm.spindle.at.whole;
                        let rest = WriteRun { first: early, begins: self.at, early: true, pass };
                        self.runs.extend([run, rest]);
                        arm.transfer += pass.time(last - self.next);
                        (self.next, self.pass) = (last, None);
                        continue;
                    }
                    let turns = (came - self.at).0.div_ceil(pass.turn().0);
                    arm.spindle.pass(turns * arm.spindle.pace.per_track);
                    self.at = arm.spindle.at.whole;
                }
                // Number of sectors whose data arrive before the head does.
                let mut count = last - self.next;
                let each = pass.time(1);
                if arrival.sector > each && self.next + count > arrival.held {
                    let slack = self.at - came;
                    count = count.min(slack.0 / (arrival.sector - each).0 + 1);
                }
                let run = WriteRun { first: self.next, begins: self.at, early: false, pass };
                self.runs.push(run);
                arm.spindle.pass(count);
                self.at = arm.spindle.at.whole;
                arm.transfer += pass.time(count);
                self.next += count;
            }
        }
    }
    /// The first sector of the track whose data arrive in time although those of the next one do
    /// not, if this holds for all sectors behind it.
    fn early(&self, last: u64, pass: &MediaPass, arrival: &DataArrival) -> Option<u64> {
        let on_time = |lba: &u64| self.at + pass.time(lba - self.next) >= arrival.came(*lba);
        let first = (self.next..last).find(on_time)?;
        on_time(&(last - 1)).then_some(first)
    }
}
