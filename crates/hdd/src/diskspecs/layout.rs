//! DiskSim's layouts of measured drives, as lists of runs of sectors: `dm_layout_g2` names a file
//! with the runs, `dm_layout_g4` contains a tree of repeated patterns.
//!
//! The interpretation follows libdiskmodel 1.1 (Bucy, Ganger: the manual of the disk model that
//! comes with DiskSim 4.0, and its `layout_g2.c` and `layout_g4.c`), except that the skew of a g2
//! zone applies to all of its cylinders, not only to its first.

use super::text::{Block, Value};
use super::{SpecError, read_file};
use crate::{TrackExtent, Tracks};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Maximum nesting of indices: that of libdiskmodel.
const DEEPEST: u32 = 16;
/// Maximum number of runs of sectors: more than the tracks of any drive.
const MOST_EXTENTS: usize = 1 << 26;

/// Converts revolutions to 2^-32 revolutions, the unit of DiskSim.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most 2^32, which is 0
fn angle(revolutions: f64) -> u32 {
    (revolutions.rem_euclid(1.0) * 4_294_967_296.0).round() as u64 as u32
}

/// The layout of `model`, which must be of a kind that is a list.
pub(super) fn listed(model: &Block, layout: &Block) -> Result<Tracks, SpecError> {
    let sectors = u64::from(model.count("Block count")?);
    let extents = match layout.kind.as_str() {
        "dm_layout_g2" => g2(layout)?,
        "dm_layout_g4" => G4Layout::new(layout)?.extents(sectors)?,
        other => {
            let why = format!(
                "there is no layout `{other}`; Gordon reads dm_layout_g1, dm_layout_g2 and \
                 dm_layout_g4"
            );
            return Err(layout.location.wrong(why));
        }
    };
    let tracks = Tracks::new(extents).map_err(|error| layout.location.wrong(error))?;
    let held = tracks.sectors();
    if held < sectors {
        return Err(layout.location.wrong(format!(
            "the layout has {held} sectors, fewer than the `Block count` of {sectors}"
        )));
    }
    Ok(tracks)
}

/// A zone of a g2 layout; skews are in revolutions.
struct G2Zone {
    first: u32,
    last: u32,
    sectors_per_track: u32,
    skew: f64,
    track_skew: f64,
    cylinder_skew: f64,
}

impl G2Zone {
    /// Parses a zone and converts its skews to revolutions.
    fn new(layout: &Block, zone: &Block) -> Result<Self, SpecError> {
        let sectors_per_track = zone.count("Blocks per track")?;
        if sectors_per_track == 0 {
            return Err(zone.location.wrong("`Blocks per track` is 0; give at least 1"));
        }
        let unit = zone.optional_word("Skew units")?.or(layout.optional_word("Skew units")?);
        let per = match unit {
            None | Some("sectors") => f64::from(sectors_per_track),
            Some("revolutions") => 1.0,
            Some(other) => {
                let why = format!("`Skew units` are {other}; give sectors or revolutions");
                return Err(zone.location.wrong(why));
            }
        };
        let skew = |key: &str| -> Result<f64, SpecError> {
            let skew = zone.optional(key)?.unwrap_or(0.0);
            // DiskSim truncates skews to whole sectors.
            Ok(if per > 1.0 { skew.trunc() } else { skew } / per)
        };
        Ok(Self {
            first: zone.count("First cylinder number")?,
            last: zone.count("Last cylinder number")?,
            sectors_per_track,
            skew: skew("Zone Skew")?,
            track_skew: skew("Skew for track switch")?,
            cylinder_skew: skew("Skew for cylinder switch")?,
        })
    }
}

fn g2(layout: &Block) -> Result<Vec<TrackExtent>, SpecError> {
    let name = layout.word("Layout Map File")?;
    let path = layout.location.path.with_file_name(name);
    let zones: Vec<_> = layout
        .blocks("Zones")?
        .into_iter()
        .map(|zone| G2Zone::new(layout, zone))
        .collect::<Result<_, _>>()?;
    let mut extents = map_file(&path)?;
    extents.sort_unstable_by_key(|extent| extent.lba);
    // The heads of each cylinder in the order of their sectors, since each adds a skew.
    let mut heads: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for extent in &extents {
        let heads = heads.entry(extent.cylinder).or_default();
        if !heads.contains(&extent.head) {
            heads.push(extent.head);
        }
    }
    let mut begins = HashMap::new();
    for zone in &zones {
        let mut at = zone.skew;
        for (cylinder, heads) in heads.range(zone.first..=zone.last.max(zone.first)) {
            for (nth, head) in (0u32..).zip(heads) {
                let skew = at + f64::from(nth) * zone.track_skew;
                begins.insert((*cylinder, *head), (angle(skew), zone.sectors_per_track));
            }
            at += (heads.len() - 1) as f64 * zone.track_skew + zone.cylinder_skew;
        }
    }
    for extent in &mut extents {
        let Some(&(angle, per_track)) = begins.get(&(extent.cylinder, extent.head)) else {
            let why = format!("cylinder {} of {name} is in no zone", extent.cylinder);
            return Err(layout.location.wrong(why));
        };
        (extent.angle, extent.sectors_per_track) = (angle, per_track);
    }
    Ok(extents)
}

/// The runs of a layout map file, as DIXtrac writes it: two lines that are ignored, the size of the
/// drive, then `lbn N --> cyl N, head N, sect N, seqcnt N` for N + 1 sectors; with a word other
/// than `seqcnt`, for N sectors.
fn map_file(path: &Path) -> Result<Vec<TrackExtent>, SpecError> {
    let text = read_file(path)?;
    let mut extents = Vec::new();
    for (line, text) in (1..).zip(text.lines()).skip(3) {
        let text = text.trim();
        if text.is_empty() || text.starts_with("Defect at") {
            continue;
        }
        let words: Vec<_> = text.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect();
        let extent = match words[..] {
            ["lbn", lba, "-->", "cyl", cylinder, "head", head, "sect", sector, kind, count] => {
                (|| {
                    let more = u32::from(kind == "seqcnt");
                    Some(TrackExtent {
                        lba: lba.parse().ok()?,
                        sectors: count.parse::<u32>().ok()?.checked_add(more)?,
                        cylinder: cylinder.parse().ok()?,
                        head: head.parse().ok()?,
                        sector: sector.parse().ok()?,
                        sectors_per_track: 0,
                        angle: 0,
                    })
                })()
            }
            _ => None,
        };
        let Some(extent) = extent else {
            let why = format!("`{text}` is not `lbn N --> cyl N, head N, sect N, seqcnt N`");
            return Err(SpecError::Text { path: path.into(), line, why });
        };
        extents.push(extent);
    }
    Ok(extents)
}

/// A track pattern of a g4 layout: first and last sector in use, and sectors that fit on the track.
#[derive(Clone, Copy)]
struct TrackPattern {
    low: u32,
    high: u32,
    sectors_per_track: u32,
}

/// The pattern that an entry of an index repeats.
#[derive(Clone, Copy)]
enum PatternChild {
    Index(usize),
    Track { pattern: usize, head: u32 },
}

/// An entry of an index: consecutive instances of a child pattern.
struct IndexEntry {
    lbn: u64,
    cylinder: i64,
    /// Offset to the enclosing pattern, in revolutions.
    offset: f64,
    sectors: u64,
    cylinders: i64,
    /// Offset from an instance to the next, in revolutions.
    pitch: f64,
    run: u64,
    /// Whether cylinders decrease from an instance to the next.
    falls: bool,
    child: PatternChild,
}

/// A g4 layout. The last index is the root.
struct G4Layout<'a> {
    layout: &'a Block,
    tracks: Vec<TrackPattern>,
    indices: Vec<Vec<IndexEntry>>,
}

/// Origin of an instance of a pattern: its first sector, the number of its sectors in use, its
/// cylinder and its angle.
#[derive(Clone, Copy)]
struct PatternOrigin {
    lbn: u64,
    sectors: u64,
    cylinder: i64,
    angle: f64,
    depth: u32,
}

impl<'a> G4Layout<'a> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole, and checked
    fn new(layout: &'a Block) -> Result<Self, SpecError> {
        let patterns = layout.numbers("TP")?;
        let tracks: Vec<_> = patterns
            .chunks(3)
            .map(|fields| match *fields {
                [low, high, per_track] if 0.0 <= low && low <= high && high < per_track => {
                    let [low, high, sectors_per_track] = [low, high, per_track].map(|x| x as u32);
                    Ok(TrackPattern { low, high, sectors_per_track })
                }
                _ => {
                    let why = "`TP` is not a list of first sector, last sector, sectors per track";
                    Err(layout.location.wrong(why))
                }
            })
            .collect::<Result<_, _>>()?;
        let lists = layout.list("IDX")?;
        let counts = (tracks.len(), lists.len());
        let indices: Vec<_> = lists
            .iter()
            .map(|list| match list {
                Value::List(values) => entries(values, counts),
                _ => None,
            })
            .collect::<Option<_>>()
            .ok_or_else(|| {
                let why = "`IDX` is not a list of lists of entries: lbn, cylinder, offset, \
                           sectors, cylinders, angle, run, cylinders of the run, IDX or TRACK, \
                           number, and of a TRACK the head";
                layout.location.wrong(why)
            })?;
        Ok(Self { layout, tracks, indices })
    }

    /// All runs of sectors of a drive with this number of sectors.
    fn extents(&self, sectors: u64) -> Result<Vec<TrackExtent>, SpecError> {
        let Some(root) = self.indices.len().checked_sub(1) else {
            return Err(self.layout.location.wrong("`IDX` is empty; its last entry is the root"));
        };
        let slips = self.slips()?;
        let remaps = self.remaps()?;
        let lost: i64 = slips.last().map_or(0, |slip| slip.1.max(0));
        let all = sectors.saturating_add_signed(lost);
        let mut raw = Vec::new();
        let whole = PatternOrigin { lbn: 0, sectors: all, cylinder: 0, angle: 0.0, depth: 0 };
        self.expand(root, whole, &mut raw)?;
        raw.sort_unstable_by_key(|extent| extent.lba);
        let mut extents = slipped(&raw, &slips, sectors);
        for remap in remaps {
            extents = remap.applied(&extents, &raw);
        }
        Ok(extents)
    }

    /// Adds the runs of an index to `into`, numbered with slipped sectors included.
    fn expand(
        &self,
        index: usize,
        at: PatternOrigin,
        into: &mut Vec<TrackExtent>,
    ) -> Result<(), SpecError> {
        if at.depth >= DEEPEST {
            return Err(self.layout.location.wrong("the indices of `IDX` contain each other"));
        }
        for entry in &self.indices[index] {
            let run = entry.run.min(at.sectors.saturating_sub(entry.lbn));
            for nth in 0..run.div_ceil(entry.sectors) {
                #[allow(clippy::cast_precision_loss)] // far fewer
                let turns = nth as f64;
                // No drive has that many cylinders.
                let far = i64::try_from(nth).unwrap_or(i64::MAX).saturating_mul(entry.cylinders);
                let origin = PatternOrigin {
                    lbn: at.lbn + entry.lbn + nth * entry.sectors,
                    sectors: entry.sectors.min(run - nth * entry.sectors),
                    cylinder: at.cylinder + entry.cylinder + if entry.falls { -far } else { far },
                    angle: at.angle + entry.offset + turns * entry.pitch,
                    depth: at.depth + 1,
                };
                match entry.child {
                    PatternChild::Index(child) => self.expand(child, origin, into)?,
                    PatternChild::Track { pattern, head } => {
                        self.track(pattern, head, origin, into)?
                    }
                }
            }
        }
        Ok(())
    }

    fn track(
        &self,
        pattern: usize,
        head: u32,
        at: PatternOrigin,
        into: &mut Vec<TrackExtent>,
    ) -> Result<(), SpecError> {
        let TrackPattern { low, high, sectors_per_track } = self.tracks[pattern];
        let Ok(cylinder) = u32::try_from(at.cylinder) else {
            let why = format!("sector {} lies on cylinder {}", at.lbn, at.cylinder);
            return Err(self.layout.location.wrong(why));
        };
        if into.len() >= MOST_EXTENTS {
            return Err(self.layout.location.wrong(format!("more than {MOST_EXTENTS} tracks")));
        }
        let sectors = u64::from(high - low + 1).min(at.sectors);
        into.push(TrackExtent {
            lba: at.lbn,
            sectors: u32::try_from(sectors).unwrap_or(u32::MAX),
            cylinder,
            head,
            sector: low,
            sectors_per_track,
            angle: angle(at.angle),
        });
        Ok(())
    }

    /// Pairs of a sector and the total number of sectors that are skipped from it on.
    #[allow(clippy::cast_possible_truncation)] // sectors
    fn slips(&self) -> Result<Vec<(i64, i64)>, SpecError> {
        let mut all = 0;
        let mut slips = Vec::new();
        for fields in self.layout.numbers("Slips")?.chunks(2) {
            let [at, count] = *fields else {
                return Err(self
                    .layout
                    .location
                    .wrong("`Slips` is not a list of sector and count"));
            };
            // A slip is given by the number that its sector would have had.
            let from = at as i64 - all.max(0);
            all += count as i64;
            let before = slips.last().map_or(0, |slip: &(i64, i64)| slip.0);
            slips.push((from.max(before), all));
        }
        Ok(slips)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // sectors
    fn remaps(&self) -> Result<Vec<Remap>, SpecError> {
        let remaps = self.layout.numbers("Remaps")?;
        remaps
            .chunks(6)
            .map(|fields| match *fields {
                [lba, count, cylinder, head, sector, per_track] if sector + count <= per_track => {
                    let [cylinder, head, sector, sectors_per_track] =
                        [cylinder, head, sector, per_track].map(|x| x as u32);
                    Ok(Remap(TrackExtent {
                        lba: lba as u64,
                        sectors: count as u32,
                        cylinder,
                        head,
                        sector,
                        sectors_per_track,
                        angle: 0,
                    }))
                }
                _ => Err(self.layout.location.wrong(
                    "`Remaps` is not a list of sector, count, cylinder, head, sector, sectors per \
                     track",
                )),
            })
            .collect()
    }
}

/// The entries of an index; `None` if the values are not entries.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole, and checked
fn entries(mut values: &[Value], (tracks, indices): (usize, usize)) -> Option<Vec<IndexEntry>> {
    let number = |value: &Value| match value {
        Value::Number(number) => Some(*number),
        _ => None,
    };
    let mut found = Vec::new();
    while !values.is_empty() {
        let (fields, rest) = values.split_at_checked(8)?;
        let fields: Vec<f64> = fields.iter().map(number).collect::<Option<_>>()?;
        let [lbn, cylinder, offset, sectors, cylinders, pitch, run, over] = fields[..] else {
            return None;
        };
        let (Value::Word(kind), rest) = rest.split_first()? else { return None };
        let (child, rest) = rest.split_first()?;
        let child = number(child)? as usize;
        let (child, rest) = match kind.as_str() {
            "TRACK" if child < tracks => {
                let (head, rest) = rest.split_first()?;
                (PatternChild::Track { pattern: child, head: number(head)? as u32 }, rest)
            }
            "IDX" if child < indices => (PatternChild::Index(child), rest),
            _ => return None,
        };
        if sectors < 1.0 || lbn < 0.0 || run < 0.0 {
            return None;
        }
        found.push(IndexEntry {
            lbn: lbn as u64,
            cylinder: cylinder as i64,
            offset,
            sectors: sectors as u64,
            cylinders: cylinders as i64,
            pitch,
            run: run as u64,
            falls: over < 0.0,
            child,
        });
        values = rest;
    }
    Some(found)
}

/// The track extents, renumbered without the slipped sectors.
fn slipped(raw: &[TrackExtent], slips: &[(i64, i64)], sectors: u64) -> Vec<TrackExtent> {
    let mut extents = Vec::with_capacity(raw.len());
    let mut bounds: Vec<(u64, i64)> = vec![(0, 0)];
    bounds.extend(slips.iter().map(|&(from, all)| (from.unsigned_abs(), all)));
    let mut at = 0;
    for (nth, &(from, all)) in bounds.iter().enumerate() {
        let until = bounds.get(nth + 1).map_or(sectors, |next| next.0).min(sectors);
        let mut lba = from;
        while lba < until {
            let place = lba.saturating_add_signed(all);
            while raw.get(at).is_some_and(|e| e.lba + u64::from(e.sectors) <= place) {
                at += 1;
            }
            // Gaps of the layout are detected when the extents are combined.
            let Some(run) = raw.get(at).filter(|run| run.lba <= place) else { break };
            let skip = place - run.lba;
            let count = (u64::from(run.sectors) - skip).min(until - lba);
            #[allow(clippy::cast_possible_truncation)] // within a track
            extents.push(TrackExtent {
                lba,
                sectors: count as u32,
                sector: run.sector + skip as u32,
                ..*run
            });
            lba += count;
        }
    }
    extents
}

/// Sectors that are remapped to another place.
struct Remap(TrackExtent);

impl Remap {
    fn applied(&self, extents: &[TrackExtent], raw: &[TrackExtent]) -> Vec<TrackExtent> {
        let to = self.0;
        let (first, end) = (to.lba, to.lba + u64::from(to.sectors));
        // A track that the layout does not contain begins at angle 0, as in DiskSim.
        let there = raw.iter().find(|e| (e.cylinder, e.head) == (to.cylinder, to.head));
        let angle = there.map_or(0, |extent| extent.angle);
        let mut made = Vec::with_capacity(extents.len() + 2);
        for extent in extents {
            let (a, b) = (extent.lba, extent.lba + u64::from(extent.sectors));
            let part = |from: u64, until: u64, of: &TrackExtent| {
                #[allow(clippy::cast_possible_truncation)] // within a track
                (from < until).then(|| TrackExtent {
                    lba: from,
                    sectors: (until - from) as u32,
                    sector: of.sector + (from - of.lba) as u32,
                    ..*of
                })
            };
            made.extend(part(a, b.min(first), extent));
            made.extend(part(a.max(first), b.min(end), &TrackExtent { angle, ..to }));
            made.extend(part(a.max(end), b, extent));
        }
        made
    }
}
