//! The path of a read through cache, queue, medium and link; and read-ahead.

use super::mechanics::{Head, SeekTarget};
use super::schedule::Candidate;
use super::{Disk, LinkTransfer, MechanismTask};
use gordon_blockio::Cause;
use gordon_units::Ns;

/// A read that waits for the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingRead {
    pub(crate) id: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The candidate for the scheduler: the first sector that is not in the cache.
    pub(crate) candidate: Candidate,
}

impl AsRef<Candidate> for WaitingRead {
    fn as_ref(&self) -> &Candidate {
        &self.candidate
    }
}

/// A read of consecutive sectors into a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadStream {
    pub(crate) segment: usize,
    /// Course of the first sector, and when it begins to pass under the head.
    pub(crate) course: u64,
    pub(crate) begins: Ns,
    /// End of the sectors to be read, and when it is reached.
    pub(crate) to: u64,
    pub(crate) ends: Ns,
    /// Track of the last sector.
    pub(crate) last: Head,
    /// Time up to which the mechanism's activity has been counted.
    pub(crate) since: Ns,
}

impl Disk {
    pub(crate) fn begin_read(&mut self, id: u64, start: u64, end: u64) {
        self.fill();
        let (missing, ahead) = self.in_memory(start, end);
        if ahead {
            self.stats.read_ahead_hits += 1;
        }
        if missing == end {
            self.send_from_cache(id, start, end, Cause::Buffer);
            self.read_further(end);
            return;
        }
        let target = self.mechanics.aim(missing);
        let candidate = Candidate { lba: missing, target, since: self.clock };
        let read = WaitingRead { id, start, end, candidate };
        match self.task {
            // The head is about to read the missing sectors.
            MechanismTask::ReadAhead { mut stream }
                if missing >= self.segments.get(stream.segment).end() && missing <= stream.to =>
            {
                if !ahead {
                    self.stats.read_ahead_hits += 1;
                }
                self.extend(&mut stream, end);
                self.task = MechanismTask::Read { read, stream };
            }
            _ => self.reads.push(read),
        }
    }

    /// Adds the sectors read so far to the segment that is being read into.
    pub(crate) fn fill(&mut self) {
        let (MechanismTask::Read { stream, .. } | MechanismTask::ReadAhead { stream }) = &self.task
        else {
            return;
        };
        // A read from the middle of a track yields no sectors in order before it is complete.
        if self.clock > stream.begins && self.arrival.is_none() && self.filled != self.clock {
            self.filled = self.clock;
            let course = stream.course + (self.clock - stream.begins).0;
            let fetched = self.mechanics.geometry().sectors_before(course).min(stream.to);
            self.segments.fill(stream.segment, fetched);
        }
    }

    /// End of the part of a range that is in memory, and whether any of it was read ahead.
    pub(crate) fn in_memory(&mut self, start: u64, end: u64) -> (u64, bool) {
        let (mut at, mut ahead) = (start, false);
        while at < end {
            let mut next = at;
            if let Some(segment) = self.segments.find(at) {
                ahead |= self.segments.mark_read(segment, end);
                next = self.segments.get(segment).end();
            }
            if let Some(dirty) = self.dirty.reach(at) {
                next = next.max(dirty);
            }
            if let MechanismTask::Destage { start, end, .. } = self.task
                && (start..end).contains(&at)
            {
                next = next.max(end);
            }
            if next == at {
                break;
            }
            at = next;
        }
        (at.min(end), ahead)
    }

    /// Sends the data of a read that are completely in memory.
    pub(crate) fn send_from_cache(&mut self, id: u64, start: u64, end: u64, cause: Cause) {
        self.stats.cache_hits += 1;
        let done = self.link.reserve(self.clock, self.link_time(end - start));
        self.transfers.push_back((done, LinkTransfer::Out { id, cause }));
    }

    /// Extends or restarts read-ahead after the host has read up to `end` from memory, if less than
    /// half of the read-ahead is left beyond it and the mechanism has nothing else to do.
    pub(crate) fn read_further(&mut self, end: u64) {
        let limit = (end + self.limits.read_ahead).min(self.mechanics.geometry().sectors());
        let near = |to: u64| to < limit && limit - to > self.limits.read_ahead / 2;
        match self.task {
            // A read from another segment does not affect the current read-ahead.
            MechanismTask::ReadAhead { mut stream } if stream.to >= end && near(stream.to) => {
                self.extend(&mut stream, limit);
                self.task = MechanismTask::ReadAhead { stream };
            }
            MechanismTask::Idle if self.dirty.sectors() == 0 => {
                let Some(segment) = self.segments.find(end - 1) else { return };
                let from = self.segments.get(segment).end();
                if near(from) {
                    let stream = self.stream(from, self.mechanics.aim(from), limit);
                    self.task = MechanismTask::ReadAhead { stream };
                }
            }
            _ => {}
        }
    }

    /// Sets the end of a stream.
    pub(crate) fn extend(&self, stream: &mut ReadStream, to: u64) {
        let geometry = self.mechanics.geometry();
        let place = geometry.nominal_location(to - 1);
        stream.to = to;
        stream.ends = stream.begins + Ns(geometry.course_end(place) - stream.course);
        stream.last = Head { cylinder: place.cylinder, head: place.head };
    }

    /// Positions the head for a stream that reads `from..to`.
    pub(crate) fn stream(&mut self, from: u64, target: SeekTarget, to: u64) -> ReadStream {
        let begins = self.position(target, false);
        let segment = self.segments.open(from);
        let (ends, last) = (begins, self.head);
        let course = target.course;
        let mut stream = ReadStream { segment, course, begins, to, ends, last, since: self.clock };
        self.extend(&mut stream, to);
        stream
    }

    /// Handles the end of a read at the medium.
    pub(crate) fn finish_read(&mut self, read: WaitingRead, mut stream: ReadStream) {
        self.account(stream);
        self.head = stream.last;
        let begins = stream.begins;
        let arrival = self.finish_read_on_arrival(&mut stream);
        self.next = arrival.is_none().then_some(stream.to);
        self.segments.fill(stream.segment, stream.to);
        self.segments.mark_read(stream.segment, stream.to);

        // Data were sent as they were read; only the last sector is left to send.
        let transfer = self.link_time(read.end - read.start);
        let first = if read.candidate.lba > read.start {
            read.candidate.since
        } else {
            read.candidate.since.max(begins)
        };
        let last = match arrival {
            None => (self.clock + self.link_time(1)).saturating_sub(transfer),
            Some(arrival) => arrival.sends,
        };
        let done = self.link.reserve(first.max(last), transfer);
        self.transfers.push_back((done, LinkTransfer::Out { id: read.id, cause: Cause::Medium }));

        self.task = MechanismTask::Idle;
        self.serve_waiting(stream.segment);
        let limit = (stream.to + self.limits.read_ahead).min(self.mechanics.geometry().sectors());
        if self.reads.is_empty() && !self.destage_now() && limit > stream.to {
            stream.since = self.clock;
            self.extend(&mut stream, limit);
            self.task = MechanismTask::ReadAhead { stream };
        }
    }

    /// Serves reads that queued while their data were being fetched.
    pub(crate) fn serve_waiting(&mut self, segment: usize) {
        let mut i = 0;
        while let Some(&WaitingRead { id, start, end, candidate }) = self.reads.get(i) {
            let missing = candidate.lba;
            i += 1;
            if !self.segments.get(segment).holds(missing) {
                continue;
            }
            let (reach, _) = self.in_memory(missing, end);
            if reach == end {
                i -= 1;
                self.reads.remove(i);
                self.send_from_cache(id, start, end, Cause::Medium);
            } else {
                let target = self.mechanics.aim(reach);
                self.reads[i - 1].candidate = Candidate { lba: reach, target, ..candidate };
            }
        }
    }

    /// Stops read-ahead at the current position of the head.
    pub(crate) fn stop_read_ahead(&mut self, stream: ReadStream) {
        self.fill();
        self.account(stream);
        if self.clock >= stream.begins {
            let next = self.segments.get(stream.segment).end().min(stream.to - 1);
            let place = self.mechanics.geometry().location(next);
            self.head = Head { cylinder: place.cylinder, head: place.head };
        }
        self.task = MechanismTask::Idle;
    }

    /// Counts the activity of a stream since it was last counted.
    pub(crate) fn account(&mut self, stream: ReadStream) {
        self.usage.read += self.clock - stream.since;
        self.stats.transfer_time += self.clock.saturating_sub(stream.since.max(stream.begins));
    }
}
