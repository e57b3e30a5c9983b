//! Where each sector lies and when it comes by.
//!
//! Sectors are numbered (LBA) from the outermost cylinder in: along a track, then the next track of
//! the cylinder, then the next cylinder. Each track starts a skew later than its predecessor ends,
//! so that a transfer goes on over tracks and cylinders without losing a revolution.
//!
//! The *course* of a sector is the time at which a head that reads the whole disk from LBA 0
//! without a pause begins to read it:
//!
//! ```text
//! course = that of the zone's first track
//!        + cylinder x (tracks x revolution + (tracks - 1) x track skew + cylinder skew)
//!        + track x (revolution + track skew) + sector x revolution / sectors a track
//! ```
//!
//! It answers everything in closed form: modulo a revolution it is the sector's angle; a
//! difference of two courses is the time of a transfer; its inverse says how far a transfer has
//! come. All times are floors of exact ones, so the end of a sector is the start of the next.
//!
//! Spare sectors lie at the end of regions (tracks, cylinders, a few cylinders, zones). A sector
//! that is slipped is passed over, and what follows in its region moves up by one. A sector that is
//! remapped lies elsewhere in its zone; a transfer over it takes no longer.

use super::config::{
    Config, ConfigError, GeometryConfig, LinearZones, Serpentine, ZoneConfig, Zones, at_least,
    at_most, wrong,
};
use super::spares::Spares;
use crate::SECTOR;
use gordon_units::Ns;

/// Sectors a track; keeps a sector longer than a nanosecond at any speed allowed.
const MOST_PER_TRACK: u32 = 1 << 18;

/// A band of cylinders with the same number of sectors a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its first sector.
    pub first_lba: u64,
    /// Sectors that it exports.
    pub sectors: u64,
    /// Its outermost cylinder.
    pub first_cylinder: u32,
    /// How many cylinders it has.
    pub cylinders: u32,
    /// Sectors on each of its tracks.
    pub sectors_per_track: u32,
    /// The course of its first track.
    course: u64,
    /// From the start of a track to that of the next of its cylinder, times sectors a track: then
    /// skews of whole sectors are exact.
    track_pitch: u64,
    /// The same from a cylinder to the next.
    cylinder_pitch: u64,
    /// Sectors at its front that hold nothing.
    empty: u64,
    spares: Spares,
}

/// A sector's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From the outside in.
    pub cylinder: u32,
    /// The surface.
    pub head: u32,
    /// Along the track.
    pub sector: u32,
    /// Sectors on that track.
    pub sectors_per_track: u32,
    /// Which zone.
    zone: u32,
    /// Which track of the cylinder.
    track: u32,
}

/// Zones, tracks, skews.
#[derive(Clone, Debug)]
pub struct Geometry {
    sectors: u64,
    heads: u32,
    zones: Vec<Zone>,
    revolution: u64,
    serpentine: Serpentine,
}

impl Geometry {
    /// Works out the zones.
    ///
    /// # Errors
    /// Where a count is zero, a skew reaches a revolution, or the zones contradict the capacity.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Self::of(&config.geometry)
    }

    /// The same, from the part of a config that it is made of.
    ///
    /// # Errors
    /// As above.
    pub fn of(g: &GeometryConfig) -> Result<Self, ConfigError> {
        at_least("geometry.sectors", *g.sectors, 1)?;
        at_most("geometry.sectors", *g.sectors, 1 << 48)?;
        let mut geometry = Self::empty(g)?;
        match &g.zones {
            Zones::Table(zones) => {
                for zone in zones {
                    geometry.push(g, zone)?;
                }
            }
            Zones::Linear(linear) => geometry.linear(g, linear)?,
        }
        geometry.close()?;
        Ok(geometry)
    }

    /// Sectors that a table of zones holds.
    ///
    /// # Errors
    /// Where a count is zero or a skew reaches a revolution.
    pub fn held_by(g: &GeometryConfig, zones: &[ZoneConfig]) -> Result<u64, ConfigError> {
        let mut geometry = Self::empty(g)?;
        zones.iter().try_for_each(|zone| geometry.push(g, zone))?;
        Ok(geometry.held())
    }

    /// One without zones.
    fn empty(g: &GeometryConfig) -> Result<Self, ConfigError> {
        at_least("geometry.heads", *g.heads, 1)?;
        at_most("geometry.heads", *g.heads, 1 << 10)?;
        at_least("geometry.rpm", *g.rpm, 100)?;
        at_most("geometry.rpm", *g.rpm, 100_000)?;
        let revolution = 60 * Ns::SECOND.0 / u64::from(*g.rpm);
        for (key, skew) in
            [("geometry.track_skew", &g.track_skew), ("geometry.cylinder_skew", &g.cylinder_skew)]
        {
            if let Some(skew) = skew {
                at_most(key, **skew, Ns(revolution - 1))?;
            }
        }
        Ok(Self {
            sectors: *g.sectors,
            heads: *g.heads,
            zones: Vec::new(),
            revolution,
            serpentine: g.serpentine,
        })
    }

    /// The zone that follows the last.
    fn push(&mut self, g: &GeometryConfig, zone: &ZoneConfig) -> Result<(), ConfigError> {
        at_least("cylinders of a zone", zone.cylinders, 1)?;
        at_least("sectors_per_track of a zone", zone.sectors_per_track, 1)?;
        at_most("sectors_per_track of a zone", zone.sectors_per_track, MOST_PER_TRACK)?;
        let per_track = u64::from(zone.sectors_per_track);
        let skew = |key, own: Option<u32>, time: &Option<gordon_units::Sourced<Ns>>| match own {
            Some(sectors) => {
                at_most("a skew of a zone", u64::from(sectors), per_track - 1)?;
                Ok(u64::from(sectors) * self.revolution)
            }
            None => match time {
                Some(time) => Ok(time.0 * per_track),
                None => Err(wrong(key, "missing", "a time, or a skew in each zone".into())),
            },
        };
        let track_skew = skew("geometry.track_skew", zone.track_skew, &g.track_skew)?;
        let cylinder_skew = skew("geometry.cylinder_skew", zone.cylinder_skew, &g.cylinder_skew)?;
        let tracks = u64::from(self.heads);
        let track_pitch = self.revolution * per_track + track_skew;
        let cylinder_pitch = tracks * track_pitch - track_skew + cylinder_skew;
        let spares = Spares::new(g, zone)?;
        let physical = u64::from(zone.cylinders) * tracks * per_track;
        let sectors = spares.before(physical).saturating_sub(zone.empty);
        if sectors == 0 {
            return Err(wrong("empty of a zone", zone.empty, "below what the zone holds".into()));
        }
        let (first_lba, first_cylinder, follows) = match self.zones.last() {
            None => (0, 0, 0),
            Some(z) => {
                let cylinders = u64::from(z.cylinders);
                let end = z.course + cylinders * z.cylinder_pitch / u64::from(z.sectors_per_track);
                (z.first_lba + z.sectors, z.first_cylinder + z.cylinders, end)
            }
        };
        // Where its first track begins is given, or follows from the skew of the one before it.
        let turn = self.revolution;
        let course = zone.first_angle.map_or(follows, |angle| {
            let angle = u64::from(angle) * turn / per_track % turn;
            follows + (angle + turn - follows % turn) % turn
        });
        self.zones.push(Zone {
            first_lba,
            sectors,
            first_cylinder: first_cylinder + zone.gap,
            cylinders: zone.cylinders,
            sectors_per_track: zone.sectors_per_track,
            course,
            track_pitch,
            cylinder_pitch,
            empty: zone.empty,
            spares,
        });
        Ok(())
    }

    /// Zones whose sectors a track fall linearly, of equally many cylinders; the innermost has as
    /// many as the rest of the capacity needs.
    fn linear(&mut self, g: &GeometryConfig, linear: &LinearZones) -> Result<(), ConfigError> {
        at_least("geometry.zones.linear.count", *linear.count, 1)?;
        at_most("geometry.zones.linear.count", *linear.count, 1 << 10)?;
        let ratio = *linear.inner_to_outer;
        if !(ratio > 0.0 && ratio <= 1.0) {
            let key = "geometry.zones.linear.inner_to_outer";
            return Err(wrong(key, ratio, "above 0 and at most 1".into()));
        }
        let skew = |key, time: &Option<gordon_units::Sourced<Ns>>| match time {
            Some(time) => Ok(time.0),
            None => Err(wrong(key, "missing", "a time".into())),
        };
        let track_skew = skew("geometry.track_skew", &g.track_skew)?;
        let cylinder_skew = skew("geometry.cylinder_skew", &g.cylinder_skew)?;
        let tracks = u64::from(self.heads);
        let cylinder_pitch = tracks * self.revolution + (tracks - 1) * track_skew + cylinder_skew;
        // The rate is that of a whole cylinder: sectors a track x heads x 512 in its pitch.
        let per_cylinder =
            u128::from(linear.outer_rate_per_s.0) * u128::from(cylinder_pitch) / 1_000_000_000;
        let outer = per_cylinder / u128::from(SECTOR.0) / u128::from(self.heads);
        let outer = u32::try_from(outer).unwrap_or(u32::MAX);
        let rate = "sectors a track by geometry.zones.linear.outer_rate_per_s";
        at_least(rate, outer, 1)?;
        at_most(rate, outer, MOST_PER_TRACK)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below `outer`
        let inner = ((f64::from(outer) * ratio + 0.5) as u32).clamp(1, outer);
        let steps = (*linear.count - 1).max(1);
        let per_track = |zone: u32| {
            let lost = u64::from(outer - inner) * u64::from(zone) / u64::from(steps);
            outer - u32::try_from(lost).expect("at most outer - inner")
        };

        let heads = u64::from(self.heads);
        let a_cylinder_each: u64 =
            (0..*linear.count).map(|z| u64::from(per_track(z)) * heads).sum();
        let each = u32::try_from(self.sectors.div_ceil(a_cylinder_each)).unwrap_or(u32::MAX);
        for zone in 0..*linear.count {
            let left = self.sectors.saturating_sub(self.held());
            let fits = left.div_ceil(u64::from(per_track(zone)) * heads);
            let cylinders = fits.min(u64::from(each));
            if cylinders == 0 {
                let must = format!("at most {zone} for {} sectors", self.sectors);
                return Err(wrong("geometry.zones.linear.count", *linear.count, must));
            }
            let zone = ZoneConfig {
                cylinders: u32::try_from(cylinders).expect("at most `each`"),
                sectors_per_track: per_track(zone),
                ..ZoneConfig::default()
            };
            self.push(g, &zone)?;
        }
        Ok(())
    }

    /// Sectors in the zones so far.
    fn held(&self) -> u64 {
        self.zones.last().map_or(0, |z| z.first_lba + z.sectors)
    }

    /// Cuts the last zone down to the capacity.
    fn close(&mut self) -> Result<(), ConfigError> {
        let error = ConfigError::Capacity { held: self.held(), stated: self.sectors };
        let Some(spare) = self.held().checked_sub(self.sectors) else { return Err(error) };
        let last = self.zones.last_mut().expect("it holds at least one sector");
        if spare >= u64::from(self.heads) * u64::from(last.sectors_per_track) {
            return Err(error);
        }
        last.sectors -= spare;
        Ok(())
    }

    /// Sectors it exports.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Its zones, outermost first.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Cylinders in all.
    pub fn cylinders(&self) -> u32 {
        self.zones.last().map_or(0, |z| z.first_cylinder + z.cylinders)
    }

    /// The time of one.
    pub fn revolution(&self) -> Ns {
        Ns(self.revolution)
    }

    /// The shortest track skew of all zones.
    pub fn least_track_skew(&self) -> Ns {
        let skew = |z: &Zone| z.track_pitch / u64::from(z.sectors_per_track) - self.revolution;
        Ns(self.zones.iter().map(skew).min().unwrap_or(0))
    }

    /// The shortest cylinder skew of all zones.
    pub fn least_cylinder_skew(&self) -> Ns {
        let tracks = u64::from(self.heads);
        let skew = |z: &Zone| {
            let last = z.cylinder_pitch - (tracks - 1) * z.track_pitch;
            last / u64::from(z.sectors_per_track) - self.revolution
        };
        Ns(self.zones.iter().map(skew).min().unwrap_or(0))
    }

    /// Where a sector lies.
    #[inline]
    pub fn place(&self, lba: u64) -> Place {
        let (index, zone) = self.zone(lba);
        self.at(index, zone.spares.place(lba - zone.first_lba + zone.empty))
    }

    /// Where a sector would lie, were it not remapped. Courses are of these: a transfer over a remapped
    /// sector takes no longer.
    #[inline]
    pub fn home(&self, lba: u64) -> Place {
        let (index, zone) = self.zone(lba);
        self.at(index, zone.spares.home(lba - zone.first_lba + zone.empty))
    }

    #[inline]
    fn zone(&self, lba: u64) -> (usize, &Zone) {
        debug_assert!(lba < self.sectors, "sector {lba} of {}", self.sectors);
        let index = self.zones.partition_point(|z| z.first_lba <= lba) - 1;
        (index, &self.zones[index])
    }

    /// The place of a sector of a zone.
    #[inline]
    fn at(&self, index: usize, at: u64) -> Place {
        let zone = &self.zones[index];
        let per_track = u64::from(zone.sectors_per_track);
        let (track, sector) = (at / per_track, at % per_track);
        let (cylinder, track) = (track / u64::from(self.heads), track % u64::from(self.heads));
        #[allow(clippy::cast_possible_truncation)] // each below a u32 of the config
        let (within, track) = (cylinder as u32, track as u32);
        let cylinder = zone.first_cylinder + within;
        let turns = match self.serpentine {
            Serpentine::Never => 0,
            Serpentine::Zone => within % 2,
            Serpentine::Disk => cylinder % 2,
        };
        #[allow(clippy::cast_possible_truncation)] // as above
        Place {
            cylinder,
            head: if turns == 1 { self.heads - 1 - track } else { track },
            sector: sector as u32,
            sectors_per_track: zone.sectors_per_track,
            zone: index as u32,
            track,
        }
    }

    /// The first sector of the track of a place, and the first beyond it.
    pub fn track(&self, place: Place) -> (u64, u64) {
        let zone = &self.zones[place.zone as usize];
        let per_track = u64::from(zone.sectors_per_track);
        let cylinder = u64::from(place.cylinder - zone.first_cylinder);
        let start = (cylinder * u64::from(self.heads) + u64::from(place.track)) * per_track;
        let lba = |sector: u64| {
            let held = zone.spares.before(sector).saturating_sub(zone.empty);
            (zone.first_lba + held.min(zone.sectors)).min(self.sectors)
        };
        (lba(start), lba(start + per_track))
    }

    /// The course at which a sector begins.
    #[inline]
    pub fn course(&self, place: Place) -> u64 {
        self.course_of(place, place.sector)
    }

    /// The course at which a sector ends.
    #[inline]
    pub fn course_end(&self, place: Place) -> u64 {
        self.course_of(place, place.sector + 1)
    }

    /// The course at which sector `sector` of the track of a place begins.
    #[inline]
    pub(super) fn course_of(&self, place: Place, sector: u32) -> u64 {
        let zone = &self.zones[place.zone as usize];
        let along = u64::from(place.cylinder - zone.first_cylinder) * zone.cylinder_pitch
            + u64::from(place.track) * zone.track_pitch
            + u64::from(sector) * self.revolution;
        zone.course + along / u64::from(zone.sectors_per_track)
    }

    /// How many sectors from LBA 0 on lie wholly before a course.
    #[inline]
    pub fn sectors_before(&self, course: u64) -> u64 {
        let Some(at) = self.zones.partition_point(|z| z.course <= course).checked_sub(1) else {
            return 0;
        };
        let zone = &self.zones[at];
        let per_track = u64::from(zone.sectors_per_track);
        // The most sectors whose end, rounded down, is not above the course.
        let along = (course - zone.course + 1) * per_track - 1;
        let cylinder = along / zone.cylinder_pitch;
        let within = along % zone.cylinder_pitch;
        let track = (within / zone.track_pitch).min(u64::from(self.heads) - 1);
        let sector = ((within - track * zone.track_pitch) / self.revolution).min(per_track);
        let track = cylinder * u64::from(self.heads) + track;
        let held = zone.spares.before(track * per_track + sector).saturating_sub(zone.empty);
        (zone.first_lba + held.min(zone.sectors)).min(self.sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{preset, small};
    use super::*;
    use crate::disk::config::{Region, ZoneConfig};
    use proptest::prelude::*;

    #[test]
    fn zones_add_up_to_the_capacity() {
        let geometry = Geometry::new(&preset()).unwrap();
        assert_eq!(geometry.zones().len(), 16);
        assert_eq!(geometry.zones().iter().map(|z| z.sectors).sum::<u64>(), 1_953_525_168);
        let mut next = (0, 0);
        for zone in geometry.zones() {
            assert_eq!((zone.first_lba, zone.first_cylinder), next);
            next = (zone.first_lba + zone.sectors, zone.first_cylinder + zone.cylinders);
        }
        // 105 MB/s x (8 x 8.333333 + 7 x 1.2 + 1.4) ms / 512 / 8 = 1960.2 sectors a track.
        assert_eq!(geometry.zones()[0].sectors_per_track, 1960);
        assert_eq!(geometry.zones()[15].sectors_per_track, 1078); // x 0.55
        // 1,953,525,168 / 8 heads / 1519 sectors a track on the mean = 160,757.
        assert!((160_600..160_900).contains(&geometry.cylinders()), "{}", geometry.cylinders());
    }

    #[test]
    fn places_by_hand() {
        // 2 heads, 100 cylinders of 1000 sectors a track, 100 of 500: 200,000 + 100,000 sectors.
        let geometry = Geometry::new(&small()).unwrap();
        let at = |lba| {
            let p = geometry.place(lba);
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
        // 6000 rpm: 10 ms a revolution; track skew 2 ms, cylinder skew 3 ms.
        let geometry = Geometry::new(&small()).unwrap();
        let course = |lba| geometry.course(geometry.place(lba));
        let ms = |x: u64| x * 1_000_000;
        assert_eq!(course(500), ms(5)); // half a track of 1000
        assert_eq!(course(1000), ms(10) + ms(2)); // a track and its skew
        assert_eq!(course(2000), ms(2 * 10 + 2 + 3)); // a cylinder
        assert_eq!(course(200_250), 100 * ms(25) + ms(5)); // 100 cylinders, half a track of 500
    }

    #[test]
    fn a_zone_table_must_match_the_capacity() {
        let mut config = small();
        config.geometry.sectors = 299_001.into(); // 999 to spare, a cylinder has 1000
        assert!(Geometry::new(&config).is_ok());
        for sectors in [299_000, 300_001] {
            config.geometry.sectors = sectors.into();
            let error = Geometry::new(&config).unwrap_err();
            assert_eq!(error, ConfigError::Capacity { held: 300_000, stated: sectors });
        }
        config.geometry.zones = Zones::Table(Vec::new());
        assert!(Geometry::new(&config).unwrap_err().to_string().contains("hold 0 sectors"));
    }

    /// One zone of 4 cylinders of 2 tracks of 10 sectors, with spares.
    fn spared(region: Region, cylinders: u32, zone: ZoneConfig) -> Geometry {
        let mut config = small();
        let zone = ZoneConfig { cylinders: 4, sectors_per_track: 10, ..zone };
        (config.geometry.spare_region, config.geometry.spare_cylinders) = (region, cylinders);
        let held = Geometry::held_by(&config.geometry, std::slice::from_ref(&zone)).unwrap();
        config.geometry.sectors = held.into();
        config.geometry.zones = Zones::Table(vec![zone]);
        Geometry::new(&config).unwrap()
    }

    #[test]
    fn spares_and_slips_by_hand() {
        let spares = |spares, slips| ZoneConfig { spares, slips, ..ZoneConfig::default() };
        let at = |geometry: &Geometry, lba| {
            let place = geometry.place(lba);
            (place.cylinder, place.head, place.sector)
        };
        // 3 of each 10: sector 7 lies on the next track. Sector 2 of the second track is slipped.
        let track = spared(Region::Track, 1, spares(3, vec![12]));
        assert_eq!(track.sectors(), 8 * 7);
        assert_eq!(
            [6, 7, 9, 13, 14].map(|lba| at(&track, lba)),
            [(0, 0, 6), (0, 1, 0), (0, 1, 3), (0, 1, 7), (1, 0, 0),]
        );
        // 4 of each two cylinders.
        let cylinders = spared(Region::Cylinders, 2, spares(4, vec![38]));
        assert_eq!(cylinders.sectors(), 2 * 36);
        assert_eq!([35, 36].map(|lba| at(&cylinders, lba)), [(1, 1, 5), (2, 0, 0)]);
        // 5 of the zone; two are slipped, one after the other the same.
        let zone = spared(Region::Zone, 1, spares(5, vec![30, 30]));
        assert_eq!(zone.sectors(), 75);
        assert_eq!([29, 30, 74].map(|lba| at(&zone, lba)), [(1, 0, 9), (1, 1, 2), (3, 1, 6)]);
        // Two tracks; the second is slipped.
        let tracks = spared(Region::Tracks, 1, spares(2, vec![1]));
        assert_eq!(tracks.sectors(), 60);
        assert_eq!([9, 10, 59].map(|lba| at(&tracks, lba)), [(0, 0, 9), (1, 0, 0), (3, 0, 9)]);
        // A remapped sector, and ten at the front that hold nothing.
        let config = ZoneConfig { empty: 10, remapped: vec![(15, 70)], ..spares(10, vec![]) };
        let moved = spared(Region::Zone, 1, config);
        assert_eq!(moved.sectors(), 60);
        assert_eq!([0, 5, 6].map(|lba| at(&moved, lba)), [(0, 1, 0), (3, 1, 0), (0, 1, 6)]);
    }

    #[test]
    fn zones_may_start_anywhere_and_turn_round() {
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
        let geometry = Geometry::new(&config).unwrap();
        // 10 ms a revolution, 100 us a sector.
        let angle = |lba| geometry.course(geometry.place(lba)) % 10_000_000 / 100_000;
        assert_eq!([0, 100, 200, 300].map(angle), [7, 27, 58, 78]);
        assert_eq!(angle(600), 50);
        let heads = [0, 100, 200, 300, 400].map(|lba| geometry.place(lba).head);
        assert_eq!(heads, [0, 1, 1, 0, 0]);
        assert_eq!(geometry.place(600).cylinder, 5);
        assert_eq!(geometry.track(geometry.place(333)), (300, 400));
        assert_eq!(
            (geometry.least_track_skew(), geometry.least_cylinder_skew()),
            (Ns(2_000_000), Ns(3_100_000))
        );
    }

    proptest! {
        #[test]
        fn lba_and_place_are_a_bijection(lba in 0u64..1_953_525_168) {
            let geometry = Geometry::new(&preset()).unwrap();
            let p = geometry.place(lba);
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
            config.geometry.zones = Zones::Table(zones.iter()
                .map(|&(cylinders, sectors_per_track)| ZoneConfig { cylinders, sectors_per_track, ..ZoneConfig::default() })
                .collect());
            let geometry = Geometry::new(&config).unwrap();
            prop_assert_eq!(geometry.zones().iter().map(|z| z.sectors).sum::<u64>(), held);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let lba = ((held as f64 * pick) as u64).min(held - 1);
            let place = geometry.place(lba);
            // A head that follows the course has read all before a sector when it begins, and it
            // too when it ends, but not in between.
            let (start, end) = (geometry.course(place), geometry.course_end(place));
            prop_assert_eq!(geometry.sectors_before(start), lba);
            prop_assert_eq!(geometry.sectors_before(end), lba + 1);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let inside = start + ((end - start) as f64 * into * 0.999) as u64;
            prop_assert_eq!(geometry.sectors_before(inside), lba);
        }

        #[test]
        fn no_two_sectors_share_a_place_and_courses_invert(
            region in 0usize..4, cylinders in 1u32..4, spares in 0u32..6,
            slips in prop::collection::vec(0u64..80, 0..5), empty in 0u64..15,
        ) {
            let region = [Region::Tracks, Region::Track, Region::Cylinders, Region::Zone][region];
            // No more slips than spares, anywhere.
            let slips = slips.into_iter().take(spares as usize).collect();
            let zone = ZoneConfig { spares, slips, empty, ..ZoneConfig::default() };
            let geometry = spared(region, cylinders, zone);
            let mut last = None;
            for lba in 0..geometry.sectors() {
                let place = geometry.place(lba);
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
