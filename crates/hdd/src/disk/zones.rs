//! Computation of a disk's zones from its config.

use super::config::{DiskConfig, DiskGeometryConfig, LinearZones, ZoneConfig, Zones};
use super::error::{DiskConfigError, at_least, at_most, wrong};
use super::geometry::{DiskGeometry, Zone};
use super::spares::Spares;
use gordon_blockio::SECTOR;
use gordon_units::Divisor;
use gordon_units::Ns;

/// Maximum number of sectors per track; it keeps a sector longer than 1 ns at any allowed speed.
const MOST_PER_TRACK: u32 = 1 << 18;

impl DiskGeometry {
    /// Computes the zones of a disk.
    ///
    /// # Errors
    /// Returns an error if a count is zero, a skew reaches a revolution, or the zones contradict
    /// the capacity.
    pub fn new(config: &DiskConfig) -> Result<Self, DiskConfigError> {
        Self::of(&config.geometry)
    }

    /// Computes the zones from the geometry part of a config.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Self::new).
    pub fn of(g: &DiskGeometryConfig) -> Result<Self, DiskConfigError> {
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
            Zones::Listed(tracks) => {
                at_most("geometry.sectors", *g.sectors, tracks.sectors())?;
                at_most("a head of the layout", tracks.heads(), *g.heads)?;
                geometry.tracks = Some(tracks.clone());
                return Ok(geometry);
            }
        }
        geometry.close()?;
        Ok(geometry)
    }

    /// Number of sectors in a table of zones.
    ///
    /// # Errors
    /// Returns an error if a count is zero or a skew reaches a revolution.
    pub fn held_by(g: &DiskGeometryConfig, zones: &[ZoneConfig]) -> Result<u64, DiskConfigError> {
        let mut geometry = Self::empty(g)?;
        zones.iter().try_for_each(|zone| geometry.push(g, zone))?;
        Ok(geometry.held())
    }

    /// A geometry without zones.
    fn empty(g: &DiskGeometryConfig) -> Result<Self, DiskConfigError> {
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
            heads: Divisor::new(u64::from(*g.heads)),
            zones: Vec::new(),
            starts: Vec::new(),
            courses: Vec::new(),
            tracks: None,
            revolution: Divisor::new(revolution),
            serpentine: g.serpentine,
        })
    }

    /// Appends a zone.
    fn push(&mut self, g: &DiskGeometryConfig, zone: &ZoneConfig) -> Result<(), DiskConfigError> {
        at_least("cylinders of a zone", zone.cylinders, 1)?;
        at_least("sectors_per_track of a zone", zone.sectors_per_track, 1)?;
        at_most("sectors_per_track of a zone", zone.sectors_per_track, MOST_PER_TRACK)?;
        let (per_track, turn) = (u64::from(zone.sectors_per_track), self.revolution.get());
        let skew = |key, own: Option<u32>, time: &Option<gordon_units::Sourced<Ns>>| match own {
            Some(sectors) => {
                at_most("a skew of a zone", u64::from(sectors), per_track - 1)?;
                Ok(u64::from(sectors) * turn)
            }
            None => match time {
                Some(time) => Ok(time.0 * per_track),
                None => Err(wrong(key, "missing", "a time, or a skew in each zone".into())),
            },
        };
        let track_skew = skew("geometry.track_skew", zone.track_skew, &g.track_skew)?;
        let cylinder_skew = skew("geometry.cylinder_skew", zone.cylinder_skew, &g.cylinder_skew)?;
        let tracks = self.heads.get();
        let track_pitch = turn * per_track + track_skew;
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
                let end = z.course + z.per_track.floor(cylinders * z.cylinder_pitch.get());
                (z.first_lba + z.sectors, z.first_cylinder + z.cylinders, end)
            }
        };
        // The angle of the first track is given, or follows from the skew of the previous zone.
        let course = zone.first_angle.map_or(follows, |angle| {
            let angle = u64::from(angle) * turn / per_track % turn;
            follows + (angle + turn - follows % turn) % turn
        });
        self.starts.push(first_lba);
        self.courses.push(course);
        self.zones.push(Zone {
            first_lba,
            sectors,
            first_cylinder: first_cylinder + zone.gap,
            cylinders: zone.cylinders,
            sectors_per_track: zone.sectors_per_track,
            per_track: Divisor::new(per_track),
            course,
            track_pitch: Divisor::new(track_pitch),
            cylinder_pitch: Divisor::new(cylinder_pitch),
            empty: zone.empty,
            spares,
        });
        Ok(())
    }

    /// Appends zones with linearly decreasing sectors per track and equal numbers of cylinders; the
    /// innermost zone has the cylinders that the rest of the capacity needs.
    fn linear(
        &mut self,
        g: &DiskGeometryConfig,
        linear: &LinearZones,
    ) -> Result<(), DiskConfigError> {
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
        let tracks = self.heads.get();
        let cylinder_pitch =
            tracks * self.revolution.get() + (tracks - 1) * track_skew + cylinder_skew;
        // The rate is that of a whole cylinder: sectors per track x heads x 512 in its pitch.
        let per_cylinder =
            u128::from(linear.outer_rate_per_s.0) * u128::from(cylinder_pitch) / 1_000_000_000;
        let outer = per_cylinder / u128::from(SECTOR.0) / u128::from(tracks);
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

        let heads = tracks;
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

    /// Number of sectors in the zones so far.
    fn held(&self) -> u64 {
        self.zones.last().map_or(0, |z| z.first_lba + z.sectors)
    }

    /// Cuts the last zone to the capacity.
    fn close(&mut self) -> Result<(), DiskConfigError> {
        let error = DiskConfigError::Capacity { held: self.held(), stated: self.sectors };
        let Some(spare) = self.held().checked_sub(self.sectors) else { return Err(error) };
        let last = self.zones.last_mut().expect("it holds at least one sector");
        if spare >= self.heads.get() * last.per_track.get() {
            return Err(error);
        }
        last.sectors -= spare;
        Ok(())
    }
}
