//! Geometry of a disk: the location of each sector, and the time at which it passes the head.
//!
//! Sectors are numbered (LBA) from the outermost cylinder inwards: along a track, then along the
//! next track of the cylinder, then on the next cylinder. Each track starts a skew later than the
//! previous track ends, so a transfer continues over tracks and cylinders without losing a
//! revolution.
//!
//! The *course* of a sector is the time at which a head that reads the whole disk from LBA 0
//! without a pause begins to read it:
//!
//! ```text
//! course = that of the zone's first track
//!        + cylinder x (tracks x revolution + (tracks - 1) x track skew + cylinder skew)
//!        + track x (revolution + track skew) + sector x revolution / sectors per track
//! ```
//!
//! Modulo a revolution, the course is the angle of the sector; the difference of two courses is the
//! time of a transfer; and the inverse of the course shows how far a transfer has come. All of
//! these are closed forms. All times are floors of exact ones, so the end of a sector is the start
//! of the next.
//!
//! Spare sectors are at the end of regions (tracks, cylinders, groups of cylinders, zones). A
//! slipped sector is skipped, and the following sectors of its region move up by one. A remapped
//! sector is elsewhere in its zone; a transfer over it takes no longer.

use super::config::Serpentine;
use super::spares::Spares;
use super::tracks::Tracks;
use gordon_units::Divisor;
use gordon_units::Ns;

/// A group of cylinders with the same number of sectors per track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its first sector.
    pub first_lba: u64,
    /// Number of exported sectors.
    pub sectors: u64,
    /// Its outermost cylinder.
    pub first_cylinder: u32,
    /// Number of cylinders.
    pub cylinders: u32,
    /// Sectors on each of its tracks.
    pub sectors_per_track: u32,
    /// Sectors per track, as a divisor.
    pub(crate) per_track: Divisor,
    /// Course of its first track.
    pub(crate) course: u64,
    /// Time from the start of a track to the start of the next track of the cylinder, times sectors
    /// per track. The factor makes skews of whole sectors exact.
    pub(crate) track_pitch: Divisor,
    /// Time from a cylinder to the next, in the same unit.
    pub(crate) cylinder_pitch: Divisor,
    /// Number of unused sectors at its start.
    pub(crate) empty: u64,
    pub(crate) spares: Spares,
}

/// Location of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorLocation {
    /// Cylinder, counted from the outermost.
    pub cylinder: u32,
    /// Surface.
    pub head: u32,
    /// Index of the sector on its track.
    pub sector: u32,
    /// Sectors on the track.
    pub sectors_per_track: u32,
    /// Index of the zone, or of the extent in a listed layout.
    zone: u32,
    /// Index of the track in its cylinder.
    track: u32,
}

/// Zones, tracks and skews of a disk.
#[derive(Clone, Debug)]
pub struct DiskGeometry {
    pub(crate) sectors: u64,
    pub(crate) heads: Divisor,
    pub(crate) zones: Vec<Zone>,
    /// First sector of each zone, and course of its first track, for binary searches.
    pub(crate) starts: Vec<u64>,
    pub(crate) courses: Vec<u64>,
    pub(crate) revolution: Divisor,
    pub(crate) serpentine: Serpentine,
    /// The layout as a list, instead of zones.
    pub(crate) tracks: Option<Tracks>,
}

impl DiskGeometry {
    /// Number of exported sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Zones, outermost first.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Total number of cylinders.
    pub fn cylinders(&self) -> u32 {
        match &self.tracks {
            Some(tracks) => tracks.cylinders(),
            None => self.zones.last().map_or(0, |z| z.first_cylinder + z.cylinders),
        }
    }

    /// Time of one revolution.
    pub fn revolution(&self) -> Ns {
        Ns(self.revolution.get())
    }

    /// The shortest track skew of the disk.
    pub fn least_track_skew(&self) -> Ns {
        if let Some(tracks) = &self.tracks {
            return Ns(tracks.least_skew(false, self.revolution).unwrap_or(u64::MAX));
        }
        let skew = |z: &Zone| z.per_track.floor(z.track_pitch.get()) - self.revolution.get();
        Ns(self.zones.iter().map(skew).min().unwrap_or(0))
    }

    /// The shortest cylinder skew of the disk.
    pub fn least_cylinder_skew(&self) -> Ns {
        if let Some(tracks) = &self.tracks {
            return Ns(tracks.least_skew(true, self.revolution).unwrap_or(u64::MAX));
        }
        let skew = |z: &Zone| {
            let last = z.cylinder_pitch.get() - (self.heads.get() - 1) * z.track_pitch.get();
            z.per_track.floor(last) - self.revolution.get()
        };
        Ns(self.zones.iter().map(skew).min().unwrap_or(0))
    }

    /// Location of a sector.
    #[inline]
    pub fn location(&self, lba: u64) -> SectorLocation {
        self.location_and_nominal(lba).0
    }

    /// Location of a sector, and its [`nominal_location`](Self::nominal_location).
    #[inline]
    pub(crate) fn location_and_nominal(&self, lba: u64) -> (SectorLocation, SectorLocation) {
        if self.tracks.is_some() {
            let place = self.nominal_location(lba);
            return (place, place);
        }
        let (index, zone) = self.zone(lba);
        let at = zone.spares.nominal_sector(lba - zone.first_lba + zone.empty);
        let nominal = self.at(index, at);
        (zone.spares.remapped_to(at).map_or(nominal, |to| self.at(index, to)), nominal)
    }

    /// Location that a sector would have without remapping. Courses refer to it: a transfer over a
    /// remapped sector takes no longer.
    #[inline]
    pub fn nominal_location(&self, lba: u64) -> SectorLocation {
        if let Some(tracks) = &self.tracks {
            let (zone, extent) = tracks.find(lba);
            #[allow(clippy::cast_possible_truncation)] // less than the sectors of the extent
            return SectorLocation {
                cylinder: extent.cylinder,
                head: extent.head,
                sector: extent.sector + (lba - extent.lba) as u32,
                sectors_per_track: extent.sectors_per_track,
                zone,
                track: 0,
            };
        }
        let (index, zone) = self.zone(lba);
        self.at(index, zone.spares.nominal_sector(lba - zone.first_lba + zone.empty))
    }

    #[inline]
    fn zone(&self, lba: u64) -> (usize, &Zone) {
        debug_assert!(lba < self.sectors, "sector {lba} of {}", self.sectors);
        let index = self.starts.partition_point(|first| *first <= lba) - 1;
        (index, &self.zones[index])
    }

    /// Location of a sector by its index in a zone.
    #[inline]
    fn at(&self, index: usize, at: u64) -> SectorLocation {
        let zone = &self.zones[index];
        let (track, sector) = zone.per_track.divide(at);
        let (cylinder, track) = self.heads.divide(track);
        #[allow(clippy::cast_possible_truncation)] // each is less than a u32 of the config
        let (within, track, heads) = (cylinder as u32, track as u32, self.heads.get() as u32);
        let cylinder = zone.first_cylinder + within;
        let turns = match self.serpentine {
            Serpentine::Never => 0,
            Serpentine::Zone => within % 2,
            Serpentine::Disk => cylinder % 2,
        };
        #[allow(clippy::cast_possible_truncation)] // as above
        SectorLocation {
            cylinder,
            head: if turns == 1 { heads - 1 - track } else { track },
            sector: sector as u32,
            sectors_per_track: zone.sectors_per_track,
            zone: index as u32,
            track,
        }
    }

    /// First sector of the track of a location, and end of the track.
    pub fn track(&self, place: SectorLocation) -> (u64, u64) {
        if let Some(tracks) = &self.tracks {
            let (first, end) = tracks.track(place.zone);
            return (first, end.min(self.sectors));
        }
        let zone = &self.zones[place.zone as usize];
        let per_track = zone.per_track.get();
        let cylinder = u64::from(place.cylinder - zone.first_cylinder);
        let start = (cylinder * self.heads.get() + u64::from(place.track)) * per_track;
        let lba = |sector: u64| {
            let held = zone.spares.before(sector).saturating_sub(zone.empty);
            (zone.first_lba + held.min(zone.sectors)).min(self.sectors)
        };
        (lba(start), lba(start + per_track))
    }

    /// First sector and end of the run of consecutive sectors around a location: the
    /// [track](Self::track), or the extent of a listed layout.
    pub(crate) fn run(&self, place: SectorLocation) -> (u64, u64) {
        let Some(tracks) = &self.tracks else { return self.track(place) };
        let extent = tracks.get(place.zone);
        (extent.lba, (extent.lba + u64::from(extent.sectors)).min(self.sectors))
    }

    /// Course at which a sector begins. In a listed layout only the angle is defined.
    #[inline]
    pub fn course(&self, place: SectorLocation) -> u64 {
        self.course_of(place, place.sector)
    }

    /// Course at which a sector ends.
    #[inline]
    pub fn course_end(&self, place: SectorLocation) -> u64 {
        self.course_of(place, place.sector + 1)
    }

    /// Time of a revolution, as a divisor.
    pub(crate) fn turn(&self) -> Divisor {
        self.revolution
    }

    /// Sectors per track at a sector, as a divisor.
    pub(crate) fn track_of(&self, lba: u64) -> Divisor {
        match &self.tracks {
            Some(tracks) => Divisor::new(tracks.find(lba).1.sectors_per_track.into()),
            None => self.zone(lba).1.per_track,
        }
    }

    /// Sectors per track at a location, as a divisor.
    pub(crate) fn per_track(&self, place: SectorLocation) -> Divisor {
        match self.tracks {
            Some(_) => Divisor::new(place.sectors_per_track.into()),
            None => self.zones[place.zone as usize].per_track,
        }
    }

    /// Course at which sector `sector` on the track of a location begins.
    #[inline]
    pub(crate) fn course_of(&self, place: SectorLocation, sector: u32) -> u64 {
        if let Some(tracks) = &self.tracks {
            return tracks.course(place.zone, sector.into(), self.revolution);
        }
        let zone = &self.zones[place.zone as usize];
        let along = u64::from(place.cylinder - zone.first_cylinder) * zone.cylinder_pitch.get()
            + u64::from(place.track) * zone.track_pitch.get()
            + u64::from(sector) * self.revolution.get();
        zone.course + zone.per_track.floor(along)
    }

    /// Number of sectors from LBA 0 on that end at or before a course.
    #[inline]
    pub fn sectors_before(&self, course: u64) -> u64 {
        let Some(at) = self.courses.partition_point(|first| *first <= course).checked_sub(1) else {
            return 0;
        };
        let zone = &self.zones[at];
        let per_track = zone.per_track.get();
        // The largest number of sectors whose end, rounded down, does not exceed the course.
        let along = (course - zone.course + 1) * per_track - 1;
        let (cylinder, within) = zone.cylinder_pitch.divide(along);
        let track = zone.track_pitch.floor(within).min(self.heads.get() - 1);
        let sector = self.revolution.floor(within - track * zone.track_pitch.get()).min(per_track);
        let track = cylinder * self.heads.get() + track;
        let held = zone.spares.before(track * per_track + sector).saturating_sub(zone.empty);
        (zone.first_lba + held.min(zone.sectors)).min(self.sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{preset, small};
    use super::*;
    use crate::disk::config::{Region, ZoneConfig, Zones};
    use crate::disk::error::DiskConfigError;
    use proptest::prelude::*;

    #[test]
    fn zones_add_up_to_the_capacity() {
        let geometry = DiskGeometry::new(&preset()).unwrap();
        assert_eq!(geometry.zones().len(), 16);
        assert_eq!(geometry.zones().iter().map(|z| z.sectors).sum::<u64>(), 1_953_525_168);
        let mut next = (0, 0);
        for zone in geometry.zones() {
            assert_eq!((zone.first_lba, zone.first_cylinder), next);
            next = (zone.first_lba + zone.sectors, zone.first_cylinder + zone.cylinders);
        }
        // 105 MB/s x (8 x 8.333333 + 7 x 1.2 + 1.4) ms / 512 / 8 = 1960.2 sectors per track.
        assert_eq!(geometry.zones()[0].sectors_per_track, 1960);
        assert_eq!(geometry.zones()[15].sectors_per_track, 1078); // x 0.55
        // 1,953,525,168 / 8 heads / 1519 sectors per track on average = 160,757.
        assert!((160_600..160_900).contains(&geometry.cylinders()), "{}", geometry.cylinders());
    }

    #[test]
    fn places_by_hand() {
        // 2 heads, 100 cylinders of 1000 sectors per track, 100 of 500: 200,000 + 100,000 sectors.
        let geometry = DiskGeometry::new(&small()).unwrap();
        let at = |lba| {
            let p = geometry.location(lba);
            (p.cylinder, p.head, p.sector)
        };
        assert_eq!(at(0), (0, 0, 0));
        assert_eq!(at(999), (0, 0, 999));
        assert_eq!(at(1000), (0, 1, 0));
        assert_eq!(at(2000), (1, 0, 0));
        assert_eq!(at(199_999), (99, 1, 999));
        assert_eq!(at(200_000), (100, 0, 0));
        assert_eq!(at(200_500), (100, 1, 0));
        assert_eq!(at(299_999), (199, 1, 499));
    }

    #[test]
    fn courses_by_hand() {
        // 6000 rpm: 10 ms per revolution; track skew 2 ms, cylinder skew 3 ms.
        let geometry = DiskGeometry::new(&small()).unwrap();
        let course = |lba| geometry.course(geometry.location(lba));
        let ms = |x: u64| x * 1_000_000;
        assert_eq!(course(500), ms(5)); // half a track of 1000
        assert_eq!(course(1000), ms(10) + ms(2)); // a track and its skew
        assert_eq!(course(2000), ms(2 * 10 + 2 + 3)); // a cylinder
        assert_eq!(course(200_250), 100 * ms(25) + ms(5)); // 100 cylinders, half a track of 500
    }

    #[test]
    fn a_zone_table_must_match_the_capacity() {
        let mut config = small();
        config.geometry.sectors = 299_001.into(); // 999 sectors are left over; a cylinder has 1000
        assert!(DiskGeometry::new(&config).is_ok());
        for sectors in [299_000, 300_001] {
            config.geometry.sectors = sectors.into();
            let error = DiskGeometry::new(&config).unwrap_err();
            assert_eq!(error, DiskConfigError::Capacity { held: 300_000, stated: sectors });
        }
        config.geometry.zones = Zones::Table(Vec::new());
        assert!(DiskGeometry::new(&config).unwrap_err().to_string().contains("hold 0 sectors"));
    }

    /// One zone of 4 cylinders with 2 tracks of 10 sectors, with spares.
    fn spared(region: Region, cylinders: u32, zone: ZoneConfig) -> DiskGeometry {
        let mut config = small();
        let zone = ZoneConfig { cylinders: 4, sectors_per_track: 10, ..zone };
        (config.geometry.spare_region, config.geometry.spare_cylinders) = (region, cylinders);
        let held = DiskGeometry::held_by(&config.geometry, std::slice::from_ref(&zone)).unwrap();
        config.geometry.sectors = held.into();
        config.geometry.zones = Zones::Table(vec![zone]);
        DiskGeometry::new(&config).unwrap()
    }

    #[test]
    fn spares_and_slips_by_hand() {
        let spares = |spares, slips| ZoneConfig { spares, slips, ..ZoneConfig::default() };
        let at = |geometry: &DiskGeometry, lba| {
            let place = geometry.location(lba);
            (place.cylinder, place.head, place.sector)
        };
        // 3 spares in each 10: sector 7 is on the next track. Sector 2 of the second track is
        // slipped.
        let track = spared(Region::Track, 1, spares(3, vec![12]));
        assert_eq!(track.sectors(), 8 * 7);
        assert_eq!(
            [6, 7, 9, 13, 14].map(|lba| at(&track, lba)),
            [(0, 0, 6), (0, 1, 0), (0, 1, 3), (0, 1, 7), (1, 0, 0),]
        );
        // 4 spares in each two cylinders.
        let cylinders = spared(Region::Cylinders, 2, spares(4, vec![38]));
        assert_eq!(cylinders.sectors(), 2 * 36);
        assert_eq!([35, 36].map(|lba| at(&cylinders, lba)), [(1, 1, 5), (2, 0, 0)]);
        // 5 spares in the zone; two sectors are slipped, both given with the same number.
        let zone = spared(Region::Zone, 1, spares(5, vec![30, 30]));
        assert_eq!(zone.sectors(), 75);
        assert_eq!([29, 30, 74].map(|lba| at(&zone, lba)), [(1, 0, 9), (1, 1, 2), (3, 1, 6)]);
        // Two spare tracks; the second track is slipped.
        let tracks = spared(Region::Tracks, 1, spares(2, vec![1]));
        assert_eq!(tracks.sectors(), 60);
        assert_eq!([9, 10, 59].map(|lba| at(&tracks, lba)), [(0, 0, 9), (1, 0, 0), (3, 0, 9)]);
        // A remapped sector, and ten unused sectors at the start.
        let config = ZoneConfig { empty: 10, remapped: vec![(15, 70)], ..spares(10, vec![]) };
        let moved = spared(Region::Zone, 1, config);
        assert_eq!(moved.sectors(), 60);
        assert_eq!([0, 5, 6].map(|lba| at(&moved, lba)), [(0, 1, 0), (3, 1, 0), (0, 1, 6)]);
    }

    #[test]
    fn zones_may_have_gaps_first_angles_and_serpentine_tracks() {
        let mut config = small();
        let zone = |gap, first_angle| ZoneConfig {
            cylinders: 3,
            sectors_per_track: 100,
            gap,
            track_skew: Some(20),
            cylinder_skew: Some(31),
            first_angle: Some(first_angle),
            ..ZoneConfig::default()
        };
        config.geometry.sectors = 1200.into();
        config.geometry.serpentine = Serpentine::Zone;
        config.geometry.zones = Zones::Table(vec![zone(0, 7), zone(2, 50)]);
        let geometry = DiskGeometry::new(&config).unwrap();
        // 10 ms per revolution, 100 us per sector.
        let angle = |lba| geometry.course(geometry.location(lba)) % 10_000_000 / 100_000;
        assert_eq!([0, 100, 200, 300].map(angle), [7, 27, 58, 78]);
        assert_eq!(angle(600), 50);
        let heads = [0, 100, 200, 300, 400].map(|lba| geometry.location(lba).head);
        assert_eq!(heads, [0, 1, 1, 0, 0]);
        assert_eq!(geometry.location(600).cylinder, 5);
        assert_eq!(geometry.track(geometry.location(333)), (300, 400));
        assert_eq!(
            (geometry.least_track_skew(), geometry.least_cylinder_skew()),
            (Ns(2_000_000), Ns(3_100_000))
        );
    }

    proptest! {
        #[test]
        fn lba_and_place_are_a_bijection(lba in 0u64..1_953_525_168) {
            let geometry = DiskGeometry::new(&preset()).unwrap();
            let p = geometry.location(lba);
            prop_assert_eq!(geometry.sectors_before(geometry.course(p)), lba);
        }

        #[test]
        fn any_table_is_a_bijection_and_courses_invert(
            zones in prop::collection::vec((1u32..50, 1u32..3000), 1..6),
            heads in 1u32..9, rpm in 3600u32..15_001, pick in 0.0f64..1.0, into in 0.0f64..1.0,
        ) {
            let mut config = small();
            config.geometry.heads = heads.into();
            config.geometry.rpm = rpm.into();
            let held: u64 = zones.iter()
                .map(|&(c, s)| u64::from(c) * u64::from(s) * u64::from(heads)).sum();
            config.geometry.sectors = held.into();
            let zone = |&(cylinders, sectors_per_track)| {
                ZoneConfig { cylinders, sectors_per_track, ..ZoneConfig::default() }
            };
            config.geometry.zones = Zones::Table(zones.iter().map(zone).collect());
            let geometry = DiskGeometry::new(&config).unwrap();
            prop_assert_eq!(geometry.zones().iter().map(|z| z.sectors).sum::<u64>(), held);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            #[allow(clippy::cast_precision_loss)]
            let lba = ((held as f64 * pick) as u64).min(held - 1);
            let place = geometry.location(lba);
            // A head that follows the course has read all sectors before this one when it begins,
            // and this one too when it ends, but not in between.
            let (start, end) = (geometry.course(place), geometry.course_end(place));
            prop_assert_eq!(geometry.sectors_before(start), lba);
            prop_assert_eq!(geometry.sectors_before(end), lba + 1);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            #[allow(clippy::cast_precision_loss)]
            let inside = start + ((end - start) as f64 * into * 0.999) as u64;
            prop_assert_eq!(geometry.sectors_before(inside), lba);
        }

        #[test]
        fn no_two_sectors_share_a_place_and_courses_invert(
            region in 0usize..4, cylinders in 1u32..4, spares in 0u32..6,
            slips in prop::collection::vec(0u64..80, 0..5), empty in 0u64..15,
        ) {
            let region = [Region::Tracks, Region::Track, Region::Cylinders, Region::Zone][region];
            // At most as many slips as spares in any region.
            let slips = slips.into_iter().take(spares as usize).collect();
            let zone = ZoneConfig { spares, slips, empty, ..ZoneConfig::default() };
            let geometry = spared(region, cylinders, zone);
            let mut last = None;
            for lba in 0..geometry.sectors() {
                let place = geometry.location(lba);
                let course = geometry.course(place);
                prop_assert!(last.is_none_or(|last| last < course), "{} at {}", lba, course);
                prop_assert_eq!(geometry.sectors_before(course), lba);
                prop_assert_eq!(geometry.sectors_before(geometry.course_end(place)), lba + 1);
                let (first, end) = geometry.track(place);
                prop_assert!((first..end).contains(&lba));
                last = Some(course);
            }
        }
    }
}
