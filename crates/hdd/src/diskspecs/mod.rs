//! A reader of DiskSim 4.0's descriptions of drives: a `.diskspecs` file for electronics and
//! buffer, the `.model` file that it names for geometry and mechanics, and the `.seek` file named
//! there for the seek curve.
//!
//! The keys are those of the DiskSim 4.0 reference manual (Bucy, Schindler, Schlosser, Ganger,
//! CMU-PDL-08-101). Named files are searched for in the directory of the file that names them. If
//! the bus between drive and host is the bottleneck, its speed is in a `.parv` file; such a file
//! with the same name is used if it exists.
//!
//! Every option of a drive and of its queue is simulated, or has no effect in DiskSim either, or is
//! refused with its name and line (`electronics`). So are spare schemes 4 to 6 and skews in
//! revolutions of `dm_layout_g1`, and seek curves that are neither `extracted` nor of the HPL kind.

mod electronics;
mod layout;
mod text;

use crate::classic::ClassicConfig;
use crate::{
    DiskGeometry, DiskGeometryConfig, Region, SchedulerConfig, SchedulingPolicy, SeekConfig,
    SeekPieces, SeekTimes, Serpentine, ZoneConfig, Zones,
};
use gordon_units::Ns;
use std::path::{Path, PathBuf};
use text::Block;

/// Reason why a description is refused.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// A file cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// A file has an invalid value or syntax.
    #[error("{path}, line {line}: {why}", path = path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
        /// The reason.
        why: String,
    },
    /// The file describes no drive.
    #[error("{path}: no `disksim_disk NAME {{ ... }}` in it", path = .0.display())]
    None(PathBuf),
    /// The file is empty.
    #[error("an empty file")]
    Empty,
    /// The drive is inconsistent.
    #[error("{path}: {error}", path = path.display())]
    Drive {
        /// The file.
        path: PathBuf,
        /// The inconsistency.
        error: crate::DiskConfigError,
    },
}

/// Reads the drive that a `.diskspecs` file describes.
///
/// # Errors
/// Returns an error if a file cannot be read or has an invalid value, or if an option is not
/// simulated.
pub fn read(path: &Path) -> Result<ClassicConfig, SpecError> {
    let spec =
        text::find(path, "disksim_disk", None)?.ok_or_else(|| SpecError::None(path.into()))?;
    electronics::check(&spec)?;
    let model = spec.block("Model")?;
    Ok(ClassicConfig {
        summary: spec.name.clone(),
        source: path.display().to_string(),
        geometry: geometry(model, path)?,
        seek: seek(model.block("Mechanical Model")?)?,
        overheads: electronics::overheads(&spec)?,
        bus: electronics::bus(&spec, path)?,
        buffer: electronics::buffer(&spec)?,
        queue: electronics::queue(&spec)?,
        scheduler: SchedulerConfig { policy: SchedulingPolicy::Fcfs, ..SchedulerConfig::default() },
        power: None,
    })
}

fn read_file(path: &Path) -> Result<String, SpecError> {
    let read = std::fs::read(path);
    let bytes = read.map_err(|error| SpecError::Io { path: path.into(), error })?;
    // Comments may be in any encoding.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Converts milliseconds; negative times become 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn ms(time: f64) -> Ns {
    Ns((time.max(0.0) * 1e6 + 0.5) as u64)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // numbers of sectors
fn sector_numbers(numbers: Vec<f64>) -> Vec<u64> {
    numbers.into_iter().map(|number| number.max(0.0) as u64).collect()
}

fn geometry(model: &Block, path: &Path) -> Result<DiskGeometryConfig, SpecError> {
    let layout = model.block("Layout Model")?;
    let mechanics = model.block("Mechanical Model")?;
    let mut config = DiskGeometryConfig {
        sectors: 0.into(),
        heads: model.count("Number of data surfaces")?.into(),
        rpm: mechanics.count("Rotation speed (in rpms)")?.into(),
        track_skew: None,
        cylinder_skew: None,
        serpentine: Serpentine::Never,
        spare_region: Region::Zone,
        spare_cylinders: 1,
        zones: Zones::Table(Vec::new()),
    };
    if layout.kind == "dm_layout_g1" {
        let zones = zones(layout, &mut config)?;
        let held = DiskGeometry::held_by(&config, &zones);
        config.sectors =
            held.map_err(|error| SpecError::Drive { path: path.into(), error })?.into();
        config.zones = Zones::Table(zones);
    } else {
        let tracks = layout::listed(model, layout)?;
        config.sectors = u64::from(model.count("Block count")?).into();
        config.zones = Zones::Listed(tracks);
    }
    Ok(config)
}

/// Returns the zones of a g1 layout, and sets the parameters common to all zones in `config`.
fn zones(layout: &Block, config: &mut DiskGeometryConfig) -> Result<Vec<ZoneConfig>, SpecError> {
    let scheme = layout.count("Sparing scheme used")?;
    (config.spare_region, config.spare_cylinders) = match scheme {
        0 | 7 | 9 | 10 => (Region::Zone, 1),
        1 => (Region::Tracks, 1),
        2 => (Region::Cylinders, 1),
        3 => (Region::Track, 1),
        8 => (Region::Cylinders, layout.count("Rangesize for sparing")?),
        _ => return Err(layout.location.wrong(format!("sparing scheme {scheme} is not covered"))),
    };
    config.serpentine = match layout.count("LBN-to-PBN mapping scheme")? {
        0 => Serpentine::Never,
        1 => Serpentine::Zone,
        2 => Serpentine::Disk,
        other => {
            return Err(layout.location.wrong(format!("mapping scheme {other} is not covered")));
        }
    };
    let mut zones: Vec<ZoneConfig> = Vec::new();
    let mut next = 0;
    for zone in layout.blocks("Zones")? {
        for block in [layout, zone] {
            if block.word("Skew units").is_ok_and(|unit| unit != "sectors") {
                return Err(block
                    .location
                    .wrong("`Skew units` other than sectors are not covered"));
            }
        }
        let (first, last) =
            (zone.count("First cylinder number")?, zone.count("Last cylinder number")?);
        if first < next || last < first {
            return Err(zone.location.wrong(format!("cylinders {first} to {last} after {next}")));
        }
        let slips = sector_numbers(zone.numbers("slips")?);
        let moved = sector_numbers(zone.numbers("defects")?);
        #[allow(clippy::cast_possible_truncation)] // as many as a list has
        let spares = match scheme {
            0 => 0,
            7 | 10 => zone.count("Number of spares")? + slips.len() as u32,
            _ => zone.count("Number of spares")?,
        };
        let moved = moved.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        zones.push(ZoneConfig {
            cylinders: last - first + 1,
            sectors_per_track: zone.count("Blocks per track")?,
            gap: first - next,
            track_skew: Some(zone.count("Skew for track switch")?),
            cylinder_skew: Some(zone.count("Skew for cylinder switch")?),
            first_angle: Some(zone.count("Offset of first block")?),
            empty: u64::from(zone.count("Empty space at zone front")?),
            spares,
            slips,
            remapped: moved.filter(|(from, to)| from != to).collect(),
        });
        next = last + 1;
    }
    Ok(zones)
}

fn seek(mechanics: &Block) -> Result<SeekConfig, SpecError> {
    let read = match mechanics.word("Seek type")? {
        "extracted" => {
            let name = mechanics.word("Full seek curve")?;
            let table = seek_table(&mechanics.location.path.with_file_name(name))?;
            SeekTimes { table, ..SeekTimes::default() }
        }
        kind @ ("hpl" | "hplplus10") => {
            let values = mechanics.numbers("HPL seek equation values")?;
            let [split, a, b, c, e, ..] = values[..] else {
                return Err(mechanics.location.wrong("`HPL seek equation values` are not six"));
            };
            let first = mechanics.numbers("First ten seek times")?;
            let first = if kind == "hpl" { Vec::new() } else { first };
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // cylinders
            let split = split.max(0.0) as u32;
            let first = first.into_iter().map(ms).collect();
            let pieces = SeekPieces { split, values_ms: [a, b, c, e], first };
            SeekTimes { pieces: Some(pieces), ..SeekTimes::default() }
        }
        other => {
            let why =
                format!("seek type `{other}` is not covered; extracted, hpl and hplplus10 are");
            return Err(mechanics.location.wrong(why));
        }
    };
    Ok(SeekConfig {
        head_switch: ms(mechanics.number("Head switch time")?).into(),
        read,
        write: None,
        write_settle_ms: Some(mechanics.number("Add. write settling delay")?.into()),
    })
}

/// A measured seek curve: a line with the number of distances, then a distance and milliseconds in
/// each line. DIXtrac adds the standard deviation, which DiskSim ignores, too.
fn seek_table(path: &Path) -> Result<Vec<(u32, Ns)>, SpecError> {
    let text = read_file(path)?;
    let mut table = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() || text.starts_with("Seek distances measured") {
            continue;
        }
        let fields: Vec<_> = text.split(',').map(str::trim).collect();
        let numbers: Option<Vec<f64>> =
            fields[1..].iter().map(|field| field.parse().ok()).collect();
        let pair = match numbers.as_deref() {
            Some(&[time] | &[time, _]) => fields[0].parse().ok().map(|distance| (distance, time)),
            _ => None,
        };
        let Some((distance, time)) = pair else {
            let why = format!(
                "`{}` is not a distance, milliseconds and perhaps their standard deviation",
                text.trim()
            );
            return Err(SpecError::Text { path: path.into(), line, why });
        };
        table.push((distance, ms(time)));
    }
    Ok(table)
}
