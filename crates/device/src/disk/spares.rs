//! Which sectors of a zone hold data, where some are spare, slipped or remapped.

use super::config::{ConfigError, GeometryConfig, Region, ZoneConfig, wrong};

/// Which sectors of a zone hold nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spares {
    /// Sectors that are slipped together: one, or a track.
    unit: u64,
    /// Units in a region, and how many of them hold data.
    span: u64,
    good: u64,
    /// Units of the zone that are passed over, in order.
    slips: Box<[u64]>,
    /// The unit in order of data from which on one more was passed over, for each.
    steps: Box<[u64]>,
    /// Units, and where their data are instead.
    remapped: Box<[(u64, u64)]>,
}

impl Spares {
    /// Those of a zone of a disk.
    pub fn new(g: &GeometryConfig, zone: &ZoneConfig) -> Result<Self, ConfigError> {
        let track = u64::from(zone.sectors_per_track);
        let cylinder = u64::from(*g.heads) * track;
        let all = u64::from(zone.cylinders) * cylinder;
        let (unit, span) = match g.spare_region {
            Region::Tracks => (track, all / track),
            Region::Track => (1, track),
            Region::Cylinders => (1, u64::from(g.spare_cylinders.max(1)) * cylinder),
            Region::Zone => (1, all),
        };
        let spares = u64::from(zone.spares);
        if spares >= span {
            let must = format!("below the {span} that share them");
            return Err(wrong("spares of a zone", spares, must));
        }
        let good = span - spares;
        let mut slips: Vec<u64> = Vec::with_capacity(zone.slips.len());
        for &slip in &zone.slips {
            // Those noted before were numbered as if it were not there.
            let at = slips.partition_point(|&other| other < slip);
            slips[at..].iter_mut().for_each(|other| *other += 1);
            slips.insert(at, slip);
        }
        let mut first = 0;
        let mut steps = Vec::with_capacity(slips.len());
        for (at, &slip) in slips.iter().enumerate() {
            if at > 0 && slips[at - 1] / span != slip / span {
                first = at;
            }
            let step = (slip % span).saturating_sub((at - first) as u64);
            // Among the spares it moves nothing.
            if step < good {
                steps.push(slip / span * good + step);
            }
        }
        let units = all / unit;
        if let Some((from, to)) = zone.remapped.iter().find(|(a, b)| *a.max(b) >= units) {
            let must = format!("below the {units} of the zone");
            return Err(wrong("remapped of a zone", format!("[{from}, {to}]"), must));
        }
        let remapped = zone.remapped.iter().copied().collect();
        Ok(Self { unit, span, good, slips: slips.into(), steps: steps.into(), remapped })
    }

    /// The sector of the zone that holds its `n`th of data, if it was not remapped.
    #[inline]
    pub fn home(&self, n: u64) -> u64 {
        if self.slips.is_empty() && self.good == self.span {
            return n;
        }
        let (at, rest) = (n / self.unit, n % self.unit);
        let (region, within) = (at / self.good, at % self.good);
        let before = |at| self.steps.partition_point(|&step| step < at) as u64;
        let passed =
            if self.steps.is_empty() { 0 } else { before(at + 1) - before(region * self.good) };
        (region * self.span + within + passed) * self.unit + rest
    }

    /// The sector of the zone that holds its `n`th of data.
    #[inline]
    pub fn place(&self, n: u64) -> u64 {
        let home = self.home(n);
        if self.remapped.is_empty() {
            return home;
        }
        let moved = self.remapped.iter().find(|(from, _)| *from == home / self.unit);
        moved.map_or(home, |(_, to)| to * self.unit + home % self.unit)
    }

    /// How many sectors before a sector of the zone hold data.
    #[inline]
    pub fn before(&self, sector: u64) -> u64 {
        if self.slips.is_empty() && self.good == self.span {
            return sector;
        }
        let (at, rest) = (sector / self.unit, sector % self.unit);
        let (region, within) = (at / self.span, at % self.span);
        let before = |at| self.slips.partition_point(|&slip| slip < at) as u64;
        let passed = before(at) - before(region * self.span);
        let lost = self.slips.binary_search(&at).is_ok();
        let held = within - passed;
        let rest = if lost || held >= self.good { 0 } else { rest };
        (region * self.good + held.min(self.good)) * self.unit + rest
    }
}
