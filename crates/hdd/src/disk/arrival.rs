//! Zero-latency access: if the head lands in the middle of the requested part of a track, the read
//! begins there and fetches the sectors before that point when they come round. A whole track thus
//! takes one revolution from any point, instead of up to two (Worthington, Ganger, Patt, SIGMETRICS
//! 1994; Schindler, Griffin, Lumb, Ganger, "Track-aligned Extents", FAST 2002).
//!
//! The time of each track has a closed form. Let the requested part span the angle T, and let the
//! head arrive at angle x in it, 0 < x < T. The head begins at the next sector boundary y >= x and
//! is done y - x plus one revolution after its arrival. Waiting for the first sector would take one
//! revolution - x + T. For y <= T the former is never later.
//!
//! Data go to the host in order: sectors read first from the middle wait in memory for those before
//! them. A read larger than a segment waits for its first sector, and so does a read whose first
//! sector is remapped. The scheduler still ranks reads by the time until their first sector.

use super::Disk;
use super::mechanics::{Head, Mechanics};
use super::reads::{ReadStream, WaitingRead};
use gordon_units::Ns;

/// Timing of a read that begins in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOnArrival {
    /// Time when all sectors are off the medium.
    pub ends: Ns,
    /// Total rotational wait.
    pub rotation: Ns,
    /// The wait that would have been for the first sector; `rotation` replaces it in the
    /// statistics.
    pub awaited: Ns,
    /// Earliest start of the transfer to the host, such that no sector is sent before it is read.
    pub sends: Ns,
}

impl Mechanics {
    /// Computes a read of `from..to` that begins on each track where the head lands. The head is at
    /// `head` and free at `at`. `send` returns the link time of a number of sectors; `behind`
    /// sectors precede `from` in the transfer to the host.
    pub fn read_on_arrival(
        &self,
        (at, head): (Ns, Head),
        (from, to): (u64, u64),
        (behind, send): (u64, impl Fn(u64) -> Ns),
    ) -> ReadOnArrival {
        let geometry = self.geometry();
        let turn = geometry.revolution();
        let (mut clock, mut head, mut first) = (at, head, from);
        let (mut rotation, mut sends, mut awaited) = (Ns::ZERO, Ns::ZERO, None);
        while first < to {
            let place = geometry.nominal_location(first);
            let end = geometry.track(place).1.min(to);
            let track = Head { cylinder: place.cylinder, head: place.head };
            clock += self.arm_to(head, track, false);
            head = track;
            let target = self.target(place);
            let wait = self.wait(clock, target);
            awaited.get_or_insert(wait);
            let start = geometry.course(place);
            let span = Ns(geometry.course_end(geometry.nominal_location(end - 1)) - start);
            // From the first sector of the part to the boundary of the next sector under the head.
            let into = turn - wait;
            let passed = (into.0 * u64::from(place.sectors_per_track)).div_ceil(turn.0);
            let boundary = |sector| Ns(geometry.course_of(place, sector) - start);
            #[allow(clippy::cast_possible_truncation)] // sectors of a track
            let mut sector = place.sector + passed as u32;
            if wait > Ns::ZERO && into < span && boundary(sector) < into {
                // Courses are rounded down.
                sector += 1;
            }
            let mut last = end;
            if wait > Ns::ZERO && into < span && boundary(sector) < span {
                let late = boundary(sector) - into;
                rotation += late + (turn - span);
                clock += late + turn;
                last = end.min(first + u64::from(sector - place.sector));
            } else {
                rotation += wait;
                clock += wait + span;
            }
            let before = send(behind + last - from);
            sends = sends.max((clock + send(1)).saturating_sub(before));
            first = end;
        }
        ReadOnArrival { ends: clock, rotation, awaited: awaited.unwrap_or(Ns::ZERO), sends }
    }
}

impl Disk {
    /// Lets `stream`, which serves `read`, begin where the head lands if it then ends earlier.
    /// `free` is the time and place at which the head was free.
    pub(crate) fn try_read_on_arrival(
        &mut self,
        read: &WaitingRead,
        stream: &mut ReadStream,
        free: (Ns, Head),
    ) {
        let (from, geometry) = (read.candidate.lba, self.mechanics.geometry());
        if read.end - from > self.segments.capacity()
            || geometry.location(from) != geometry.nominal_location(from)
        {
            return;
        }
        let link = (from - read.start, |sectors| self.link_time(sectors));
        let arrival = self.mechanics.read_on_arrival(free, (from, read.end), link);
        if arrival.ends < stream.ends {
            // The head passes the end of the read again a whole number of revolutions before the
            // time at which an ordered read would have ended.
            let early = stream.ends - arrival.ends;
            let resumes = stream.ends - Ns(early.0 - early.0 % geometry.revolution().0);
            // The link waits at most as long as for an ordered read.
            let all = self.link_time(read.end - read.start);
            let in_order = (stream.ends + self.link_time(1)).saturating_sub(all);
            let sends = arrival.sends.min(in_order);
            stream.ends = arrival.ends;
            self.arrival = Some((ReadOnArrival { sends, ..arrival }, resumes));
        }
    }

    /// Finishes a read from the middle; `stream` continues at its end.
    pub(crate) fn finish_read_on_arrival(
        &mut self,
        stream: &mut ReadStream,
    ) -> Option<ReadOnArrival> {
        let (arrival, resumes) = self.arrival.take()?;
        let stats = &mut self.stats;
        stats.rotation_time = stats.rotation_time + arrival.rotation - arrival.awaited;
        stats.transfer_time = stats.transfer_time + arrival.awaited - arrival.rotation;
        let geometry = self.mechanics.geometry();
        stream.course = geometry.course_end(geometry.nominal_location(stream.to - 1));
        stream.begins = resumes;
        Some(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{preset, small};
    use super::super::{Disk, DiskConfig, DiskStats};
    use gordon_blockio::{Device, IoOp, Request, SECTOR};
    use gordon_units::{Bytes, Ns};
    use proptest::prelude::*;

    fn us(x: u64) -> Ns {
        Ns(x * 1000)
    }

    /// The small disk (10 ms per revolution, 10 us per sector, 1 us per sector on the link, 0.1 ms
    /// of overhead) with one segment of 3072 sectors.
    fn config(read_ahead: u64) -> DiskConfig {
        let mut config = small();
        config.cache.size = (SECTOR * 4096).into();
        config.cache.segments = 1.into();
        config.cache.read_ahead = (SECTOR * read_ahead).into();
        config.cache.zero_latency = true;
        config
    }

    /// Submits reads (time, first sector, end). Returns the completion times and the statistics.
    fn run(config: &DiskConfig, reads: &[(Ns, u64, u64)]) -> (Vec<Ns>, DiskStats) {
        let mut disk = Disk::new(config).unwrap();
        let mut done = Vec::new();
        for (id, &(at, start, end)) in reads.iter().enumerate() {
            while disk.next_event().is_some_and(|next| next < at) {
                disk.step(&mut done);
            }
            let (offset, len) = (SECTOR * start, SECTOR * (end - start));
            disk.submit(at, id as u64, Request::new(IoOp::Read, offset, len));
        }
        disk.run_until(Ns::MAX, &mut done);
        (done.iter().map(|one| one.at).collect(), disk.stats())
    }

    fn one(at: u64, start: u64, end: u64) -> (u64, DiskStats) {
        let (done, stats) = run(&config(0), &[(us(at), start, end)]);
        assert!(done[0].0.is_multiple_of(1000));
        (done[0].0 / 1000, stats)
    }

    #[test]
    fn a_track_takes_a_revolution() {
        // The head is free at 0.1 ms, at sector 10, and has read all at 10.1 ms. Sectors 0 to 9
        // come last, so the sectors behind them are still to be sent: 990 us more, and 1 us for the
        // last of the ten.
        let (done, stats) = one(0, 0, 1000);
        assert_eq!(done, 10_100 + 991);
        assert_eq!((stats.rotation_time, stats.transfer_time), (us(0), us(10_000)));
        // 5 us into a sector, the read begins with the next one.
        let (done, stats) = one(5, 0, 1000);
        assert_eq!((done, stats.rotation_time), (10_110 + 990, us(5)));
        // The same after a full-stroke seek, from 300.1 ms on: 9 ms for the stroke to cylinder 199.
        let track = 200_000 + 99 * 1000;
        let (done, stats) = one(300_000, track, track + 500);
        assert_eq!((stats.seek_time, stats.transfer_time), (us(9000), us(10_000)));
        let off_medium = 300_100 + 9000 + 10_000 + stats.rotation_time.0 / 1000;
        assert!(done > off_medium && done <= off_medium + 500, "{done} {off_medium}");
        assert!(stats.rotation_time < us(20));
    }

    #[test]
    fn part_of_a_track_takes_a_revolution_from_within_it() {
        // From sector 10: 490 sectors, the rest of the track, 10 sectors; 490 are still to be sent.
        let (done, stats) = one(0, 0, 500);
        assert_eq!(done, 10_100 + 491);
        assert_eq!((stats.rotation_time, stats.transfer_time), (us(5000), us(5000)));
        // From outside the part, or at its very end, the read waits for its first sector: until 5
        // ms, until 10.
        assert_eq!(one(0, 500, 800).0, 5000 + 3000 + 1);
        assert_eq!(one(0, 0, 10).0, 10_000 + 100 + 1);
        // If one sector is left, the read begins with it and need not wait a second time.
        assert_eq!(one(0, 0, 11).0, 10_100 + 2);
        assert_eq!(one(9, 0, 11).0, 10_111);
    }

    #[test]
    fn each_track_begins_where_the_head_lands() {
        // Track 0 takes until 10.1 ms, and the head switch 1 ms. Track 1 begins at 2 ms, so the
        // head is 9.1 ms into it, and again at 21.1 ms. Sectors 1910 to 1999 are left to send.
        let (done, stats) = one(0, 0, 2000);
        assert_eq!(done, 21_100 + 91);
        assert_eq!((stats.rotation_time, stats.transfer_time), (us(0), us(21_000)));
        // A read that exceeds the segment is read in order.
        let plain = one(0, 0, 3073).0;
        assert!(plain > 10_000 + 30_730, "{plain}");
    }

    #[test]
    fn read_ahead_continues_at_the_end_of_the_read() {
        // All sectors are read at 10.1 ms, and sector 500 passes at 15 ms. 300 us later 30 more are
        // read; 8 us on the link.
        let (done, stats) = run(&config(100), &[(us(0), 0, 500), (us(15_200), 500, 508)]);
        assert_eq!(done, [us(10_591), us(15_308)]);
        assert_eq!((stats.cache_hits, stats.read_ahead_hits), (1, 1));
        // 500 sectors, then 100.
        assert_eq!(stats.transfer_time, us(6000));
        // An earlier read waits for its sectors.
        let (done, _) = run(&config(100), &[(us(0), 0, 500), (us(11_000), 500, 508)]);
        assert_eq!(done, [us(10_591), us(15_081)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn zero_latency_is_never_slower_and_never_faster_than_the_medium(
            at in 0u64..40_000_000, track in 0u64..1_900_000, from in 0u64..2000, len in 1u64..3000,
            kind in 0..3,
        ) {
            let mut with = if kind == 0 { preset() } else { config(0) };
            if kind == 2 {
                // A link at half the rate of the medium.
                with.interface.rate_per_s = Bytes(25_600_000).into();
            }
            with.cache.zero_latency = true;
            let mut without = with.clone();
            without.cache.zero_latency = false;
            let start = (track * 1000 + from) % (*with.geometry.sectors - len);
            let reads = [(Ns(at), start, start + len)];
            let ((early, more), (late, less)) = (run(&with, &reads), run(&without, &reads));
            prop_assert!(early[0] <= late[0], "{} {}", early[0], late[0]);
            let disk = Disk::new(&with).unwrap();
            let least = disk.mechanics().geometry().location(start).sectors_per_track;
            let medium = disk.mechanics().geometry().revolution() * (len - 1) / u64::from(least);
            let must = Ns(at) + *with.interface.overhead + more.seek_time + medium;
            prop_assert!(early[0] >= must, "{} {}", early[0], must);
            prop_assert_eq!((more.seek_time, more.requests), (less.seek_time, less.requests));
        }
    }
}
