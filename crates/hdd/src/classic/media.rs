//! The head over the medium, a track at a time: everything in closed form.

use crate::disk::mechanics::{Head, Mechanics};
use gordon_units::Divisor;
use gordon_units::Ns;

/// One pass over one track.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaPass {
    /// When the arm starts.
    pub lead: Ns,
    /// When it is there.
    pub there: Ns,
    /// When the first sector begins to pass.
    pub begins: Ns,
    /// Its sectors: from the first to the last of the track.
    pub first: u64,
    pub end: u64,
    /// Sectors that the track holds.
    pub held: u64,
    /// Of which track.
    pub track: Head,
    per_track: Divisor,
    revolution: Divisor,
}

impl MediaPass {
    /// So many sectors.
    pub fn time(&self, sectors: u64) -> Ns {
        Ns(self.per_track.floor(sectors * self.revolution.get()))
    }

    /// When a sector has passed.
    pub fn done(&self, lba: u64) -> Ns {
        self.begins + self.time(lba - self.first + 1)
    }

    /// The first sector that has not passed at a time.
    pub fn reached(&self, at: Ns) -> u64 {
        let passed = at.saturating_sub(self.begins).0 * self.per_track.get();
        (self.first + self.revolution.floor(passed)).min(self.end)
    }
}

/// Arm and heads.
#[derive(Clone, Debug)]
pub(super) struct Actuator {
    pub mechanics: Mechanics,
    pub head: Head,
    /// Time in moves, waits and transfers, and how many moves there were.
    pub seek: Ns,
    pub rotation: Ns,
    pub passes: u64,
    pub moves: u64,
}

impl Actuator {
    /// Sends the head to a sector, to pass over the rest of its track.
    pub fn pass(&mut self, at: Ns, lba: u64, write: bool, least_seek: Ns) -> MediaPass {
        let geometry = self.mechanics.geometry();
        let place = geometry.location(lba);
        let (mut first, mut end) = geometry.run(place);
        if !(first..end).contains(&lba) {
            // It was remapped: those beside it are others.
            (first, end) = (lba, lba + 1);
        }
        let target = self.mechanics.target(place);
        let seek = self.mechanics.arm_to(self.head, target.track, write).max(least_seek);
        let there = at + seek;
        let wait = self.mechanics.wait(there, target);
        self.moves += u64::from(self.head.cylinder != target.track.cylinder);
        self.head = target.track;
        self.seek += seek;
        self.rotation += wait;
        self.passes += 1;
        MediaPass {
            lead: at,
            there,
            begins: there + wait,
            first: lba,
            end,
            held: end - first,
            track: target.track,
            per_track: geometry.per_track(place),
            revolution: geometry.turn(),
        }
    }
}

/// Reading from a sector on, over as many tracks as it takes.
#[derive(Clone, Debug, Default)]
pub(super) struct MediaStream {
    pub passes: Vec<MediaPass>,
    /// The first sector of the next pass, and when the arm may start for it.
    next: u64,
    at: Ns,
    /// Before that all is asked for; from there on it is read ahead.
    wanted: u64,
    /// It goes no further.
    over: bool,
}

/// What a stream is at.
pub(super) struct StreamPosition {
    /// The first sector that is not there yet.
    pub reached: u64,
    /// If it continues: when what it is at now ends, and whether that is a move of the arm.
    pub step: Option<(Ns, bool)>,
}

impl MediaStream {
    /// Starts again.
    pub fn start(&mut self, at: Ns, lba: u64) {
        self.passes.clear();
        (self.next, self.at, self.wanted, self.over) = (lba, at, lba, false);
    }

    /// Passes over one more track.
    fn grow(&mut self, arm: &mut Actuator) {
        // Where it stood may have been asked meanwhile.
        arm.head = self.passes.last().map_or(arm.head, |last| last.track);
        let pass = arm.pass(self.at, self.next, false, Ns::ZERO);
        self.at = pass.done(pass.end - 1);
        self.next = pass.end;
        self.passes.push(pass);
    }

    /// Passes over everything before a sector.
    pub fn reach(&mut self, end: u64, arm: &mut Actuator) {
        self.wanted = self.wanted.max(end);
        while self.next < end {
            self.grow(arm);
        }
    }

    /// When a sector is there.
    pub fn done(&mut self, lba: u64, arm: &mut Actuator) -> Ns {
        self.reach(lba + 1, arm);
        let pass = self.passes.iter().find(|pass| (pass.first..pass.end).contains(&lba));
        pass.map_or(Ns::ZERO, |pass| pass.done(lba))
    }

    /// Where it is at a time, if it reads up to `limit`; the arm is then there. `goes_on` says
    /// whether it may go from one track to another to read ahead.
    pub fn position(
        &mut self,
        at: Ns,
        limit: u64,
        arm: &mut Actuator,
        goes_on: impl Fn(Head, Head) -> bool,
    ) -> StreamPosition {
        while !self.over && self.at <= at && self.next < limit {
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
        arm.head = now.track;
        let reached = now.reached(at).min(limit.max(now.first));
        if reached >= limit || (self.over && self.at <= at) {
            return StreamPosition { reached, step: None };
        }
        let step = match () {
            () if at < now.there => (now.there, true),
            () if at < now.begins => (now.begins, false),
            () => (now.done(reached), false),
        };
        StreamPosition { reached, step: Some(step) }
    }
}
