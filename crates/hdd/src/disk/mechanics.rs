//! Arm and spindle: the time until a sector is under the head.
//!
//! The spindle turns continuously; at time t its angle is t modulo a revolution. Positioning is a
//! seek (or a head switch within a cylinder) followed by the wait until the sector's angle comes
//! round. Before a write, both use the longer write times.

use super::config::{DiskConfig, SeekConfig};
use super::error::{DiskConfigError, at_least, wrong};
use super::geometry::{DiskGeometry, SectorLocation};
use super::seek::{SeekCurve, SeekDistances};
use gordon_units::Divisor;
use gordon_units::Ns;

/// A track: the cylinder of the arm, and the head in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Head {
    /// Cylinder, counted from the outermost.
    pub cylinder: u32,
    /// Surface.
    pub head: u32,
}

/// A sector to be positioned on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekTarget {
    /// The track of the sector.
    pub track: Head,
    /// Angle at which the sector begins, in nanoseconds of a revolution.
    pub angle: u64,
    /// Course from which a transfer continues at this sector: that of its [nominal
    /// location](DiskGeometry::nominal_location).
    pub course: u64,
}

/// Time to position on a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positioning {
    /// Arm movement, head switch and settling.
    pub seek: Ns,
    /// Rotational wait for the sector.
    pub rotation: Ns,
}

impl Positioning {
    /// Seek and rotational wait together.
    #[inline]
    pub fn total(self) -> Ns {
        self.seek + self.rotation
    }
}

/// A skew too short for a write to continue on the next track without losing a revolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortSkew {
    /// The key of the skew, with dots.
    pub key: &'static str,
    /// The shortest such skew of the disk.
    pub skew: Ns,
    /// Skew that a read needs.
    pub read: Ns,
    /// Skew that a write needs.
    pub write: Ns,
}

/// Geometry and seek curves.
#[derive(Clone, Debug)]
pub struct Mechanics {
    geometry: DiskGeometry,
    read: SeekCurve,
    write: SeekCurve,
    head_switch: u64,
    /// Additional time of a head switch before a write.
    write_settle: i64,
    /// Additional time of a seek before a write, on top of the curve.
    settle_all: i64,
    revolution: Divisor,
}

impl Mechanics {
    /// Computes zones and seek curves.
    ///
    /// # Errors
    /// Returns an error if the config is inconsistent, for instance if a skew is shorter than a
    /// write needs.
    pub fn new(config: &DiskConfig) -> Result<Self, DiskConfigError> {
        let mechanics = Self::of(DiskGeometry::new(config)?, &config.seek)?;
        // A transfer must continue over tracks without losing a revolution, for reads and writes
        // alike.
        match mechanics.short_skews().first() {
            None => Ok(mechanics),
            Some(short) => {
                let must = format!(
                    "at least {}, what a write needs to get to the next track",
                    short.write
                );
                Err(wrong(short.key, short.skew, must))
            }
        }
    }

    /// Combines a geometry and seek parameters; skews may be short.
    ///
    /// # Errors
    /// Returns an error if the seek parameters are inconsistent.
    pub fn of(geometry: DiskGeometry, seek: &SeekConfig) -> Result<Self, DiskConfigError> {
        let distances = SeekDistances::new(geometry.cylinders())?;
        let read = SeekCurve::new("seek.read", &seek.read, &distances)?;
        let (write, write_settle) = match (&seek.write, &seek.write_settle_ms) {
            (Some(write), None) => {
                let write = SeekCurve::new("seek.write", write, &distances)?;
                let (first, least) = (write.time(1), read.time(1));
                at_least("seek.write over one cylinder", Ns(first), Ns(least))?;
                (write, i64::try_from(first - least).unwrap_or(i64::MAX))
            }
            (None, Some(settle)) => {
                if settle.abs() > 1000.0 {
                    let must = "below a second".to_owned();
                    return Err(wrong("seek.write_settle_ms", settle.value, must));
                }
                #[allow(clippy::cast_possible_truncation)]
                (read.clone(), (**settle * 1e6).round() as i64)
            }
            _ => {
                let must = "one of the two".to_owned();
                return Err(wrong("seek.write or seek.write_settle_ms", "both or none", must));
            }
        };
        let head_switch = *seek.head_switch;
        let own_curve = seek.write.is_some();
        Ok(Self {
            read,
            write,
            head_switch: head_switch.0,
            write_settle,
            settle_all: if own_curve { 0 } else { write_settle },
            revolution: Divisor::new(geometry.revolution().0),
            geometry,
        })
    }

    /// Skews that are shorter than a seek or a head switch before a write. A write that continues
    /// on the next track then loses a revolution; if the skew is also shorter than `read`, so does
    /// a read.
    pub fn short_skews(&self) -> Vec<ShortSkew> {
        let step = |key, skew, distance, switches| {
            let [read, write] = [false, true].map(|write| Ns(self.arm(distance, switches, write)));
            ShortSkew { key, skew, read, write: write.max(read) }
        };
        let geometry = &self.geometry;
        let both = [
            step("geometry.track_skew", geometry.least_track_skew(), 0, true),
            step("geometry.cylinder_skew", geometry.least_cylinder_skew(), 1, false),
        ];
        both.into_iter().filter(|short| short.skew < short.write).collect()
    }

    /// The geometry of the disk.
    #[inline]
    pub fn geometry(&self) -> &DiskGeometry {
        &self.geometry
    }

    /// Seek time over `distance` cylinders.
    pub fn seek(&self, distance: u32, write: bool) -> Ns {
        Ns(self.arm(distance, false, write))
    }

    /// Time of the arm movement and the head switch, which overlap.
    #[inline(always)]
    fn arm(&self, distance: u32, switches: bool, write: bool) -> u64 {
        let (curve, switch) = if write {
            (&self.write, self.head_switch.saturating_add_signed(self.write_settle))
        } else {
            (&self.read, self.head_switch)
        };
        let mut seek = curve.time(distance);
        if write && distance > 0 {
            seek = seek.saturating_add_signed(self.settle_all);
        }
        seek.max(if switches { switch } else { 0 })
    }

    /// The target for a transfer that begins at a sector.
    #[inline]
    pub fn aim(&self, lba: u64) -> SeekTarget {
        let (place, home) = self.geometry.location_and_nominal(lba);
        let target = self.target(place);
        if place == home {
            return target;
        }
        SeekTarget { course: self.geometry.course(home), ..target }
    }

    /// The target at `place`, if the sector is not remapped.
    #[inline]
    pub(crate) fn target(&self, place: SectorLocation) -> SeekTarget {
        let track = Head { cylinder: place.cylinder, head: place.head };
        let course = self.geometry.course(place);
        SeekTarget { track, angle: self.revolution.rest(course), course }
    }

    /// Time of the arm movement and head switch between two tracks.
    pub fn arm_to(&self, from: Head, to: Head, write: bool) -> Ns {
        let distance = from.cylinder.abs_diff(to.cylinder);
        Ns(self.arm(distance, from.head != to.head, write))
    }

    /// Rotational wait from time `at` until `to` passes; the head must be on its track.
    pub fn wait(&self, at: Ns, to: SeekTarget) -> Ns {
        let early = to.angle.wrapping_sub(self.angle(at));
        Ns(early.min(early.wrapping_add(self.revolution.get())))
    }

    /// Positioning from `from` at time `at` until `to` passes under its head.
    #[inline]
    pub fn position(&self, at: Ns, from: Head, to: SeekTarget, write: bool) -> Positioning {
        self.position_at(self.angle(at), from, to, write)
    }

    /// Angle of the spindle at a time.
    #[inline]
    pub fn angle(&self, at: Ns) -> u64 {
        self.revolution.rest(at.0)
    }

    /// Positioning from `from`, with the spindle at `angle`, until `to` passes under its head.
    #[inline(always)] // the scheduler's inner loop
    pub fn position_at(&self, angle: u64, from: Head, to: SeekTarget, write: bool) -> Positioning {
        let distance = from.cylinder.abs_diff(to.track.cylinder);
        let switches = from.head != to.track.head;
        let seek = self.arm(distance, switches, write);
        // For x below two revolutions, the smaller of x and the wrapping x - revolution is x modulo
        // a revolution. This is branchless, as the branch would be unpredictable. A seek takes at
        // most a few revolutions.
        let turn = self.revolution.get();
        let wrap = |x: u64| x.min(x.wrapping_sub(turn));
        let mut arrival = wrap(wrap(angle + seek));
        if arrival >= turn {
            arrival = self.revolution.rest(arrival);
        }
        let early = to.angle.wrapping_sub(arrival);
        let rotation = early.min(early.wrapping_add(turn));
        Positioning { seek: Ns(seek), rotation: Ns(rotation) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{preset, small};
    use super::*;

    #[test]
    fn positioning_by_hand() {
        // 10 ms per revolution, 1000 sectors per track: 10 us per sector. Track-to-track seeks take
        // 1 ms for reads and 1.5 for writes; head switch 1 ms; track skew 2 ms, cylinder skew 3 ms.
        let m = Mechanics::new(&small()).unwrap();
        let target = |lba| m.aim(lba);
        let at = |cylinder, head| Head { cylinder, head };
        let us = |x: u64| Ns(x * 1000);
        let is = |p: Positioning, seek, rotation| {
            assert_eq!((p.seek, p.rotation), (us(seek), us(rotation)));
        };
        // Same track: sector 300 is at 3 ms, 2 ms after 1 ms and 9 ms after 4 ms.
        is(m.position(us(1000), at(0, 0), target(300), false), 0, 2000);
        is(m.position(us(4000), at(0, 0), target(300), true), 0, 9000);
        // At the very instant when the sector begins there is no wait.
        is(m.position(us(3000), at(0, 0), target(300), false), 0, 0);
        // Other head: sector 1000 is sector 0 of head 1, at the skew of 2 ms. From 500 us on, the
        // switch ends at 1.5 ms, for a write (settle 0.5 ms) exactly at 2 ms.
        is(m.position(us(500), at(0, 0), target(1000), false), 1000, 500);
        is(m.position(us(500), at(0, 0), target(1000), true), 1500, 0);
        // A write one microsecond later loses a revolution.
        is(m.position(us(501), at(0, 0), target(1000), true), 1500, 9999);
        // Next cylinder: sector 2000 begins at course 2 x 10 + 2 + 3 ms, angle 5 ms. From 7 ms on
        // the seek ends at 8 ms, and the wait lasts 7 ms until 15 ms.
        is(m.position(us(7000), at(0, 0), target(2000), false), 1000, 7000);
    }

    #[test]
    fn rotation_takes_half_a_revolution_on_average() {
        let m = Mechanics::new(&preset()).unwrap();
        let to = m.aim(1_000_000_000);
        let samples = 10_007;
        let waits = (0..samples).map(|i| {
            let at = Ns(i * m.geometry().revolution().0 / samples);
            m.position(at, to.track, to, false).rotation.0
        });
        let mean = waits.sum::<u64>() / samples;
        // 60 s / 7200 / 2 = 4.1667 ms; the data sheet prints 4.16.
        assert!(mean.abs_diff(4_166_667) < 1_000, "{mean}");
    }

    #[test]
    fn skews_leave_time_for_a_write() {
        let mut config = small();
        config.geometry.track_skew = Some(Ns(1_499_999).into());
        let text = Mechanics::new(&config).unwrap_err().to_string();
        assert!(
            text.contains("geometry.track_skew is 1.499999ms") || text.contains("1499999ns"),
            "{text}"
        );
        let mut config = small();
        config.geometry.cylinder_skew = Some(Ns(1_400_000).into());
        let text = Mechanics::new(&config).unwrap_err().to_string();
        assert!(text.contains("geometry.cylinder_skew"), "{text}");
    }
}
