//! Movement of the head over the medium, track by track, in closed form.

use crate::disk::mechanics::{Head, Mechanics};
use gordon_units::Divisor;
use gordon_units::Ns;

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
    /// Number of sectors that the track holds.
    pub held: u64,
    /// The track.
    pub track: Head,
    per_track: Divisor,
    revolution: Divisor,
}

impl MediaPass {
    /// Time in which this number of sectors passes.
    pub fn time(&self, sectors: u64) -> Ns {
        Ns(self.per_track.floor(sectors * self.revolution.get()))
    }

    /// Time when a sector has passed.
    pub fn done(&self, lba: u64) -> Ns {
        self.begins + self.time(lba - self.first + 1)
    }

    /// The first sector that has not passed at a time.
    pub fn reached(&self, at: Ns) -> u64 {
        let passed = at.saturating_sub(self.begins).0 * self.per_track.get();
        (self.first + self.revolution.floor(passed)).min(self.end)
    }
}

/// The arm with its heads.
#[derive(Clone, Debug)]
pub(super) struct Actuator {
    pub mechanics: Mechanics,
    pub head: Head,
    /// Total seek time and rotational wait; number of passes, and of arm movements.
    pub seek: Ns,
    pub rotation: Ns,
    pub passes: u64,
    pub moves: u64,
}

impl Actuator {
    /// Positions the head on a sector for a pass over the rest of its track.
    pub fn pass(&mut self, at: Ns, lba: u64, write: bool, least_seek: Ns) -> MediaPass {
        let geometry = self.mechanics.geometry();
        let place = geometry.location(lba);
        let (mut first, mut end) = geometry.run(place);
        if !(first..end).contains(&lba) {
            // The sector was remapped, so its neighbours on the track have other addresses.
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
        // A query for an earlier time may have moved `arm.head` since.
        arm.head = self.passes.last().map_or(arm.head, |last| last.track);
        let pass = arm.pass(self.at, self.next, false, Ns::ZERO);
        self.at = pass.done(pass.end - 1);
        self.next = pass.end;
        self.passes.push(pass);
    }

    /// Adds passes until all sectors before `end` are covered.
    pub fn reach(&mut self, end: u64, arm: &mut Actuator) {
        self.wanted = self.wanted.max(end);
        while self.next < end {
            self.grow(arm);
        }
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
