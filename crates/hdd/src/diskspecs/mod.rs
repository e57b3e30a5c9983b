//! A reader of DiskSim 4.0's descriptions of drives: a `.diskspecs` file for electronics and
//! buffer, the `.model` file that it names for geometry and mechanics, and the `.seek` file named
//! there for the seek curve.
//!
//! The keys are those of the DiskSim 4.0 reference manual (Bucy, Schindler, Schlosser, Ganger,
//! CMU-PDL-08-101). Named files are searched for in the directory of the file that names them. If
//! the bus between drive and host is the bottleneck, its speed is in a `.parv` file; such a file
//! with the same name is used if it exists.
//!
//! Unsupported parameters are reported. A switch that changes hits or the order of operations
//! ([`UNCOVERED`]) causes a warning if it is on. Spare schemes 4 to 6 and skews in revolutions of
//! `dm_layout_g1`, and seek curves that are neither `extracted` nor of the HPL kind, are errors.

mod layout;
mod text;

use crate::classic::{
    BufferConfig, ClassicConfig, ExtraDisconnect, HostBus, Overheads, ReadAhead, ReadWriteTimes,
};
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

/// Switches without effect here. They are off in all drives of DiskSim's validation set.
pub const UNCOVERED: [&str; 8] = [
    "Allow almost read hits",
    "Allow sneaky full read hits",
    "Allow sneaky partial read hits",
    "Allow sneaky intermediate read hits",
    "Allow write prebuffering",
    "Preseeking level",
    "Disconnect write if seek",
    "Minimum read-ahead (blks)",
];

/// Reads the drive that a `.diskspecs` file describes. Also returns warnings about unsupported
/// parameters.
///
/// # Errors
/// Returns an error if a file cannot be read or has an invalid value.
pub fn read(path: &Path) -> Result<(ClassicConfig, Vec<String>), SpecError> {
    let spec =
        text::find(path, "disksim_disk", None)?.ok_or_else(|| SpecError::None(path.into()))?;
    let model = spec.block("Model")?;
    let geometry = geometry(model, path)?;
    let mut warnings = Vec::new();
    for key in UNCOVERED {
        if spec.on(key)? {
            warnings.push(format!("{}: `{key}` has no effect here", path.display()));
        }
    }
    if spec.optional("Enable caching in buffer")? == Some(0.0) {
        warnings.push(format!("{}: its buffer is used as a cache all the same", path.display()));
    }
    let config = ClassicConfig {
        summary: spec.name.clone(),
        source: path.display().to_string(),
        geometry,
        seek: seek(model.block("Mechanical Model")?)?,
        overheads: overheads(&spec)?,
        bus: bus(&spec, path)?,
        buffer: buffer(&spec)?,
        scheduler: SchedulerConfig { policy: SchedulingPolicy::Fcfs, ..SchedulerConfig::default() },
        power: None,
    };
    Ok((config, warnings))
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

fn overheads(spec: &Block) -> Result<Overheads, SpecError> {
    let scale = spec.optional("Time scale for overheads")?.unwrap_or(1.0);
    let time = |key: &str| Ok(ms(spec.optional(key)?.unwrap_or(0.0) * scale));
    let after = |kind: &str| -> Result<ReadWriteTimes, SpecError> {
        Ok(ReadWriteTimes {
            read: time(&format!("{kind} over. after read"))?,
            write: time(&format!("{kind} over. after write"))?,
        })
    };
    let immediate = spec.on("Fast write level")?;
    let extra = ExtraDisconnect {
        command: time("Extradisc command overhead")?,
        disconnect: time("Extradisc disconnect overhead")?,
        pause: time("Extradisc inter-disconnect delay")?,
        second_disconnect: time("Extradisc 2nd disconnect overhead")?,
        second_reselect: time("Other reselect overhead")?,
        seek_delta: time("Extradisc seek delta")?,
    };
    Ok(Overheads {
        read_hit: after("Read hit")?,
        read_miss: after("Read miss")?,
        write: after(if immediate { "Write hit" } else { "Write miss" })?,
        read_disconnect: ReadWriteTimes {
            read: time("Read disconnect afterread")?,
            write: time("Read disconnect afterwrite")?,
        },
        write_disconnect: time("Write disconnect overhead")?,
        reselect: time("First reselect overhead")?,
        prepare: time("Data preparation overhead")?,
        read_completion: time("Read completion overhead")?,
        write_completion: time("Write completion overhead")?,
        extra: (spec.on("Extra write disconnect")? && !spec.on("Never disconnect")?)
            .then_some(extra),
        least_write_seek: ms(spec.optional("Minimum seek delay")?.unwrap_or(0.0)),
    })
}

/// The `.parv` file in the directory of a description that uses the drive. For `x_validate` it may
/// be named after `x`.
fn parv_file(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_str()?;
    let names = [stem, stem.trim_end_matches("_validate")];
    names.iter().map(|name| path.with_file_name(format!("{name}.parv"))).find(|path| path.is_file())
}

fn bus(spec: &Block, path: &Path) -> Result<HostBus, SpecError> {
    let own = ms(spec.optional("Bulk sector transfer time")?.unwrap_or(0.0));
    let mut bus =
        HostBus { read_sector: own, write_sector: own, held: spec.on("Never disconnect")? };
    if let Some(parv_file) = parv_file(path)
        && let Some(there) = text::find(&parv_file, "disksim_bus", Some("BUS1"))?
    {
        let time = |key| Ok::<_, SpecError>(ms(there.optional(key)?.unwrap_or(0.0)));
        bus.read_sector = own.max(time("Read block transfer time")?);
        bus.write_sector = own.max(time("Write block transfer time")?);
    }
    Ok(bus)
}

fn buffer(spec: &Block) -> Result<BufferConfig, SpecError> {
    let segment_sectors = u64::from(spec.count("Segment size (in blks)")?);
    let most = match u64::from(spec.count("Maximum read-ahead (blks)")?) {
        0 => segment_sectors,
        most => most,
    };
    let read_ahead = match spec.count("Buffer continuous read")? {
        0 => ReadAhead::None,
        1 => ReadAhead::Track(most),
        2 => ReadAhead::Cylinder(most),
        3 => ReadAhead::Sectors(most),
        4 => ReadAhead::Tracks,
        other => {
            return Err(spec
                .location
                .wrong(format!("`Buffer continuous read` is {other}, not 0 to 4")));
        }
    };
    Ok(BufferConfig {
        segments: spec.count("Number of buffer segments")?,
        segment_sectors,
        write_segment: spec.on("Use separate write segment")?,
        read_hits_written: spec.on("Allow read hits on write data")?,
        immediate_report: spec.on("Fast write level")?,
        join_writes: spec.on("Combine seq writes")?,
        read_mark: spec.optional("High (read) water mark")?.unwrap_or(0.0),
        read_ahead,
        read_ahead_on_hit: spec.on("Read-ahead on idle hit")?,
        stops_at_once: spec.on("Stop prefetch in sector")?,
    })
}
