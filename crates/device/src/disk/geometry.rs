//! Where each sector lies and when it comes by.
//!
//! Sectors are numbered (LBA) from the outermost cylinder in: along a track, then the next head of
//! the cylinder, then the next cylinder. Each track starts a skew later than its predecessor ends,
//! so that a transfer goes on over tracks and cylinders without losing a revolution.
//!
//! The *course* of a sector is the time at which a head that reads the whole disk from LBA 0
//! without a pause begins to read it:
//!
//! ```text
//! course = cylinder x (heads x revolution + (heads - 1) x track skew + cylinder skew)
//!        + head x (revolution + track skew) + floor(sector x revolution / sectors a track)
//! ```
//!
//! It answers everything in closed form: modulo a revolution it is the sector's angle; a
//! difference of two courses is the time of a transfer; its inverse says how far a transfer has
//! come. All times are floors of exact ones, so the end of a sector is the start of the next.
//!
//! Not covered: spare sectors and slips, serpentine numbering, a skew of its own for each zone.

use super::config::{Config, ConfigError, LinearZones, Zones, at_least, at_most, wrong};
use crate::SECTOR;
use gordon_units::Ns;

/// Sectors a track; keeps a sector longer than a nanosecond at any speed allowed.
const MOST_PER_TRACK: u32 = 1 << 18;

/// A band of cylinders with the same number of sectors a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Zones, tracks, skews.
#[derive(Clone, Debug)]
pub struct Geometry {
    sectors: u64,
    heads: u32,
    zones: Vec<Zone>,
    revolution: u64,
    /// From the start of a track to that of the next of its cylinder.
    track_pitch: u64,
    /// From the start of a cylinder to that of the next.
    cylinder_pitch: u64,
}

impl Geometry {
    /// Works out the zones.
    ///
    /// # Errors
    /// Where a count is zero, a skew reaches a revolution, or the zones contradict the capacity.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let g = &config.geometry;
        at_least("geometry.sectors", *g.sectors, 1)?;
        at_most("geometry.sectors", *g.sectors, 1 << 48)?;
        at_least("geometry.heads", *g.heads, 1)?;
        at_most("geometry.heads", *g.heads, 1 << 10)?;
        at_least("geometry.rpm", *g.rpm, 100)?;
        at_most("geometry.rpm", *g.rpm, 100_000)?;
        let revolution = 60 * Ns::SECOND.0 / u64::from(*g.rpm);
        at_most("geometry.track_skew", *g.track_skew, Ns(revolution - 1))?;
        at_most("geometry.cylinder_skew", *g.cylinder_skew, Ns(revolution - 1))?;
        let heads = u64::from(*g.heads);
        let mut geometry = Self {
            sectors: *g.sectors,
            heads: *g.heads,
            zones: Vec::new(),
            revolution,
            track_pitch: revolution + g.track_skew.0,
            cylinder_pitch: heads * revolution + (heads - 1) * g.track_skew.0 + g.cylinder_skew.0,
        };
        match &g.zones {
            Zones::Table(zones) => {
                for zone in zones {
                    at_least("cylinders of a zone", zone.cylinders, 1)?;
                    at_least("sectors_per_track of a zone", zone.sectors_per_track, 1)?;
                    at_most("sectors_per_track of a zone", zone.sectors_per_track, MOST_PER_TRACK)?;
                    geometry.push(zone.cylinders, zone.sectors_per_track);
                }
            }
            Zones::Linear(linear) => geometry.linear(linear)?,
        }
        geometry.close()?;
        Ok(geometry)
    }

    /// The zone that follows the last.
    fn push(&mut self, cylinders: u32, sectors_per_track: u32) {
        let (first_lba, first_cylinder) = self
            .zones
            .last()
            .map_or((0, 0), |z| (z.first_lba + z.sectors, z.first_cylinder + z.cylinders));
        let sectors = u64::from(cylinders) * u64::from(self.heads) * u64::from(sectors_per_track);
        self.zones.push(Zone { first_lba, sectors, first_cylinder, cylinders, sectors_per_track });
    }

    /// Zones whose sectors a track fall linearly, of equally many cylinders; the innermost has as
    /// many as the rest of the capacity needs.
    fn linear(&mut self, linear: &LinearZones) -> Result<(), ConfigError> {
        at_least("geometry.zones.linear.count", *linear.count, 1)?;
        at_most("geometry.zones.linear.count", *linear.count, 1 << 10)?;
        let ratio = *linear.inner_to_outer;
        if !(ratio > 0.0 && ratio <= 1.0) {
            let key = "geometry.zones.linear.inner_to_outer";
            return Err(wrong(key, ratio, "above 0 and at most 1".into()));
        }
        // The rate is that of a whole cylinder: sectors a track x heads x 512 in its pitch.
        let per_cylinder =
            u128::from(linear.outer_rate_per_s.0) * u128::from(self.cylinder_pitch) / 1_000_000_000;
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
            self.push(u32::try_from(cylinders).expect("at most `each`"), per_track(zone));
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

    /// Where a sector lies.
    #[inline]
    pub fn place(&self, lba: u64) -> Place {
        debug_assert!(lba < self.sectors, "sector {lba} of {}", self.sectors);
        let zone = &self.zones[self.zones.partition_point(|z| z.first_lba <= lba) - 1];
        let per_track = u64::from(zone.sectors_per_track);
        let (track, sector) =
            ((lba - zone.first_lba) / per_track, (lba - zone.first_lba) % per_track);
        let (cylinder, head) = (track / u64::from(self.heads), track % u64::from(self.heads));
        #[allow(clippy::cast_possible_truncation)] // each below a u32 of the config
        Place {
            cylinder: zone.first_cylinder + cylinder as u32,
            head: head as u32,
            sector: sector as u32,
            sectors_per_track: zone.sectors_per_track,
        }
    }

    /// The sector at a place; `None` where there is none.
    pub fn lba(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let zone = self.zones.iter().rfind(|z| z.first_cylinder <= cylinder)?;
        if head >= self.heads || sector >= zone.sectors_per_track {
            return None;
        }
        let track =
            u64::from(cylinder - zone.first_cylinder) * u64::from(self.heads) + u64::from(head);
        let within = track * u64::from(zone.sectors_per_track) + u64::from(sector);
        (within < zone.sectors).then_some(zone.first_lba + within)
    }

    /// The course at which a sector begins.
    #[inline]
    pub fn course(&self, place: Place) -> u64 {
        self.track_course(place) + self.along(place, place.sector)
    }

    /// The course at which a sector ends.
    #[inline]
    pub fn course_end(&self, place: Place) -> u64 {
        self.track_course(place) + self.along(place, place.sector + 1)
    }

    #[inline]
    fn track_course(&self, place: Place) -> u64 {
        u64::from(place.cylinder) * self.cylinder_pitch + u64::from(place.head) * self.track_pitch
    }

    #[inline]
    fn along(&self, place: Place, sector: u32) -> u64 {
        u64::from(sector) * self.revolution / u64::from(place.sectors_per_track)
    }

    /// How many sectors from LBA 0 on lie wholly before a course.
    #[inline]
    pub fn sectors_before(&self, course: u64) -> u64 {
        let cylinder = course / self.cylinder_pitch;
        let within = course % self.cylinder_pitch;
        let at = self.zones.partition_point(|z| u64::from(z.first_cylinder) <= cylinder) - 1;
        let zone = &self.zones[at];
        let per_track = u64::from(zone.sectors_per_track);
        let head = (within / self.track_pitch).min(u64::from(self.heads) - 1);
        let along = (within - head * self.track_pitch).min(self.revolution);
        // The most sectors s with floor(s x revolution / per_track) <= along.
        let sector = (((along + 1) * per_track).div_ceil(self.revolution) - 1).min(per_track);
        let track = (cylinder - u64::from(zone.first_cylinder)) * u64::from(self.heads) + head;
        (zone.first_lba + track * per_track + sector).min(self.sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{preset, small};
    use super::*;
    use crate::disk::config::ZoneConfig;
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
        assert_eq!(geometry.lba(100, 1, 0), Some(200_500));
        assert_eq!(geometry.lba(100, 1, 500), None);
        assert_eq!(geometry.lba(200, 0, 0), None);
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

    proptest! {
        #[test]
        fn lba_and_place_are_a_bijection(lba in 0u64..1_953_525_168) {
            let geometry = Geometry::new(&preset()).unwrap();
            let p = geometry.place(lba);
            prop_assert_eq!(geometry.lba(p.cylinder, p.head, p.sector), Some(lba));
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
                .map(|&(cylinders, sectors_per_track)| ZoneConfig { cylinders, sectors_per_track })
                .collect());
            let geometry = Geometry::new(&config).unwrap();
            prop_assert_eq!(geometry.zones().iter().map(|z| z.sectors).sum::<u64>(), held);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let lba = ((held as f64 * pick) as u64).min(held - 1);
            let place = geometry.place(lba);
            prop_assert_eq!(geometry.lba(place.cylinder, place.head, place.sector), Some(lba));
            // A head that follows the course has read all before a sector when it begins, and it
            // too when it ends, but not in between.
            let (start, end) = (geometry.course(place), geometry.course_end(place));
            prop_assert_eq!(geometry.sectors_before(start), lba);
            prop_assert_eq!(geometry.sectors_before(end), lba + 1);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let inside = start + ((end - start) as f64 * into * 0.999) as u64;
            prop_assert_eq!(geometry.sectors_before(inside), lba);
        }
    }
}
