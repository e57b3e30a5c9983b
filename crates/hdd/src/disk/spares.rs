//! Spare, slipped and remapped sectors: which sectors of a zone hold data.

use super::config::{DiskGeometryConfig, Region, ZoneConfig};
use super::error::{DiskConfigError, wrong};
use gordon_units::Divisor;

/// The sectors of a zone that hold no data, and the remapped ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spares {
    /// Whether there are no spare and no slipped sectors.
    none: bool,
    /// Sectors in a unit of slipping and remapping: one, or a track.
    unit: Divisor,
    /// Units in a region, and how many of them hold data.
    span: Divisor,
    good: Divisor,
    /// Slipped units of the zone, ascending.
    slips: Box<[u64]>,
    /// For each slip that moves data: the data unit from which on one more unit is skipped.
    steps: Box<[u64]>,
    /// Remapped units: original, and where the data are.
    remapped: Box<[(u64, u64)]>,
}

impl Spares {
    /// Computes the spares of a zone.
    pub fn new(g: &DiskGeometryConfig, zone: &ZoneConfig) -> Result<Self, DiskConfigError> {
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
            // Slips given earlier were numbered before this one existed.
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
            // A slip among the spare units moves no data.
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
        Ok(Self {
            none: slips.is_empty() && good == span,
            unit: Divisor::new(unit),
            span: Divisor::new(span),
            good: Divisor::new(good),
            slips: slips.into(),
            steps: steps.into(),
            remapped,
        })
    }

    /// Sector of the zone that holds data sector `n`, ignoring remapping.
    #[inline]
    pub fn nominal_sector(&self, n: u64) -> u64 {
        if self.none {
            return n;
        }
        let (at, rest) = self.unit.divide(n);
        let (region, within) = self.good.divide(at);
        let passed = below(&self.steps, at + 1) - below(&self.steps, at - within);
        (region * self.span.get() + within + passed as u64) * self.unit.get() + rest
    }

    /// Where the data of a sector of the zone are if it is remapped.
    #[inline]
    pub fn remapped_to(&self, nominal_sector: u64) -> Option<u64> {
        if self.remapped.is_empty() {
            return None;
        }
        let (at, rest) = self.unit.divide(nominal_sector);
        let moved = self.remapped.iter().find(|(from, _)| *from == at);
        moved.map(|(_, to)| to * self.unit.get() + rest)
    }

    /// Number of sectors with data before a sector of the zone.
    #[inline]
    pub fn before(&self, sector: u64) -> u64 {
        if self.none {
            return sector;
        }
        let (at, rest) = self.unit.divide(sector);
        let (region, within) = self.span.divide(at);
        let slipped = below(&self.slips, at);
        let held = within - (slipped - below(&self.slips, at - within)) as u64;
        let lost = self.slips.get(slipped) == Some(&at);
        let good = self.good.get();
        let rest = if lost || held >= good { 0 } else { rest };
        (region * good + held.min(good)) * self.unit.get() + rest
    }
}

/// Number of entries of an ascending list below `at`.
#[inline]
fn below(list: &[u64], at: u64) -> usize {
    if at == 0 { 0 } else { list.partition_point(|&one| one < at) }
}
