//! The electronics of a drive: its overheads, bus, buffer and queue, and the options that are not
//! simulated.

use super::text::{Block, Value};
use super::{SpecError, ms, text};
use crate::classic::{
    BufferConfig, ExtraDisconnect, HostBus, Overheads, QueueConfig, QueuePolicy, ReadAhead,
    ReadWriteTimes, WriteJoin,
};
use std::path::{Path, PathBuf};

/// What an option may be.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A time in milliseconds, not negative.
    Time,
    /// A number from 0 to 1.
    Fraction,
    /// A whole number in a range.
    Whole(i64, i64),
    /// A whole number that has to be 0.
    Zero(i64),
    Block,
}

use Kind::{Fraction, Time, Whole, Zero};

const SWITCH: Kind = Whole(0, 1);
const COUNT: Kind = Whole(0, u32::MAX as i64);
const POSITIVE: Kind = Whole(1, u32::MAX as i64);

/// The options of a drive.
const DRIVE: [(&str, Kind); 65] = [
    ("Model", Kind::Block),
    ("Scheduler", Kind::Block),
    ("Max queue length", POSITIVE),
    ("Bulk sector transfer time", Time),
    ("Segment size (in blks)", POSITIVE),
    ("Number of buffer segments", POSITIVE),
    ("Print stats", SWITCH),
    ("Per-request overhead time", Time),
    ("Time scale for overheads", Time),
    ("Hold bus entire read xfer", SWITCH),
    ("Hold bus entire write xfer", SWITCH),
    ("Allow almost read hits", SWITCH),
    ("Allow sneaky full read hits", Zero(1)),
    ("Allow sneaky partial read hits", Zero(1)),
    ("Allow sneaky intermediate read hits", Zero(1)),
    ("Allow read hits on write data", SWITCH),
    ("Allow write prebuffering", Zero(1)),
    ("Preseeking level", Zero(2)),
    ("Never disconnect", SWITCH),
    ("Avg sectors per cylinder", COUNT),
    ("Maximum number of write segments", POSITIVE),
    ("Use separate write segment", SWITCH),
    ("Low (write) water mark", Fraction),
    ("High (read) water mark", Fraction),
    ("Set watermark by reqsize", SWITCH),
    ("Calc sector by sector", SWITCH),
    ("Enable caching in buffer", Whole(0, 2)),
    ("Buffer continuous read", Whole(0, 4)),
    ("Minimum read-ahead (blks)", COUNT),
    ("Maximum read-ahead (blks)", COUNT),
    ("Read-ahead over requested", Whole(-1, 1)),
    ("Read-ahead on idle hit", SWITCH),
    ("Read any free blocks", SWITCH),
    ("Fast write level", Whole(0, 2)),
    ("Combine seq writes", SWITCH),
    ("Stop prefetch in sector", SWITCH),
    ("Disconnect write if seek", Zero(1)),
    ("Write hit stop prefetch", SWITCH),
    ("Read directly to buffer", SWITCH),
    ("Immed transfer partial hit", SWITCH),
    ("Read hit over. after read", Time),
    ("Read hit over. after write", Time),
    ("Read miss over. after read", Time),
    ("Read miss over. after write", Time),
    ("Write hit over. after read", Time),
    ("Write hit over. after write", Time),
    ("Write miss over. after read", Time),
    ("Write miss over. after write", Time),
    ("Read completion overhead", Time),
    ("Write completion overhead", Time),
    ("Data preparation overhead", Time),
    ("First reselect overhead", Time),
    ("Other reselect overhead", Time),
    ("Read disconnect afterread", Time),
    ("Read disconnect afterwrite", Time),
    ("Write disconnect overhead", Time),
    ("Extra write disconnect", SWITCH),
    ("Extradisc command overhead", Time),
    ("Extradisc disconnect overhead", Time),
    ("Extradisc inter-disconnect delay", Time),
    ("Extradisc 2nd disconnect overhead", Time),
    ("Extradisc seek delta", Time),
    ("Minimum seek delay", Time),
    ("Immediate buffer read", Whole(0, 2)),
    ("Immediate buffer write", Whole(0, 2)),
];

/// The options of a queue.
const QUEUE: [(&str, Kind); 13] = [
    ("Scheduling policy", Whole(1, 28)),
    ("Cylinder mapping strategy", Whole(0, 6)),
    ("Write initiation delay", Time),
    ("Read initiation delay", Time),
    ("Sequential stream scheme", Zero(31)),
    ("Maximum concat size", COUNT),
    ("Overlapping request scheme", Zero(2)),
    ("Sequential stream diff maximum", COUNT),
    ("Scheduling timeout scheme", COUNT),
    ("Timeout time/weight", COUNT),
    ("Timeout scheduling", COUNT),
    ("Scheduling priority scheme", Zero(1)),
    ("Priority scheduling", COUNT),
];

/// Checks the options of a drive: their names, their values, and those that contradict each other.
pub(super) fn check(spec: &Block) -> Result<(), SpecError> {
    check_options(spec, &DRIVE)?;
    if let Some(Value::Block(scheduler)) = spec.get("Scheduler") {
        check_options(scheduler, &QUEUE)?;
    }
    let set = |key: &str| spec.on(key);
    if spec.optional("Enable caching in buffer")? == Some(0.0) {
        for key in ["Buffer continuous read", "Fast write level", "Read any free blocks"] {
            if set(key)? {
                let why = format!(
                    "`{key}` needs a buffer that keeps data, and `Enable caching in buffer` is 0"
                );
                return Err(spec.wrong(key, why));
            }
        }
    }
    let at_most = |key: &str, limit: &str| -> Result<(), SpecError> {
        match (spec.optional(key)?, spec.optional(limit)?) {
            (Some(value), Some(most)) if value > most => {
                Err(spec.wrong(key, format!("`{key}` is {value}, more than `{limit}`, {most}")))
            }
            _ => Ok(()),
        }
    };
    at_most("Maximum number of write segments", "Number of buffer segments")?;
    at_most("Minimum read-ahead (blks)", "Segment size (in blks)")?;
    at_most("Maximum read-ahead (blks)", "Segment size (in blks)")?;
    // An acknowledged write keeps the arm while the next command holds the bus.
    if set("Never disconnect")? && set("Fast write level")? {
        let (key, other) = ("Never disconnect", "Fast write level");
        let why = format!("`{key} = 1` is not simulated with `{other}` above 0");
        return Err(spec.wrong(key, why));
    }
    if set("Use separate write segment")? && spec.count("Number of buffer segments")? < 2 {
        let key = "Use separate write segment";
        return Err(spec.wrong(key, format!("`{key}` needs two `Number of buffer segments`")));
    }
    Ok(())
}

fn check_options(block: &Block, options: &[(&str, Kind)]) -> Result<(), SpecError> {
    for (at, key) in block.keys.iter().enumerate() {
        let name = &key.name;
        let Some((_, kind)) = options.iter().find(|(known, _)| known == name) else {
            return Err(key.location.wrong(format!("`{name}` is not an option of {}", block.kind)));
        };
        if block.keys[..at].iter().any(|other| other.name == *name) {
            return Err(key.location.wrong(format!("`{name}` is given a second time")));
        }
        if matches!(kind, Kind::Block) {
            continue;
        }
        let Value::Number(number) = key.value else {
            return Err(block.missing(name, "a number"));
        };
        let (least, most, must) = match *kind {
            Time => (0.0, 1e9, "not negative".to_owned()),
            Fraction => (0.0, 1.0, "from 0 to 1".to_owned()),
            #[allow(clippy::cast_precision_loss)] // 32 bits at most
            Whole(least, most) => {
                let must = if most < i64::from(u32::MAX) {
                    format!("a whole number from {least} to {most}")
                } else {
                    format!("a whole number, at least {least}")
                };
                (least as f64, most as f64, must)
            }
            #[allow(clippy::cast_precision_loss)]
            Zero(most) => (0.0, most as f64, format!("a whole number from 0 to {most}")),
            Kind::Block => continue,
        };
        let whole = matches!(kind, Whole(..) | Zero(_));
        if !(least..=most).contains(&number) || whole && number.fract() != 0.0 {
            return Err(key.location.wrong(format!("`{name}` is {number}, must be {must}")));
        }
        if matches!(kind, Zero(_)) && number != 0.0 {
            let why = format!("`{name} = {number}` is not simulated; only 0 is");
            return Err(key.location.wrong(why));
        }
    }
    Ok(())
}

pub(super) fn overheads(spec: &Block) -> Result<Overheads, SpecError> {
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
        pause: ms(spec.optional("Extradisc inter-disconnect delay")?.unwrap_or(0.0)),
        second_disconnect: time("Extradisc 2nd disconnect overhead")?,
        second_reselect: time("Other reselect overhead")?,
        seek_delta: time("Extradisc seek delta")?,
    };
    Ok(Overheads {
        command: time("Per-request overhead time")?,
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

pub(super) fn bus(spec: &Block, path: &Path) -> Result<HostBus, SpecError> {
    let own = ms(spec.optional("Bulk sector transfer time")?.unwrap_or(0.0));
    let mut bus = HostBus {
        read_sector: own,
        write_sector: own,
        held: spec.on("Never disconnect")?,
        held_in_reads: spec.on("Hold bus entire read xfer")?,
        held_in_writes: spec.on("Hold bus entire write xfer")?,
    };
    if let Some(parv_file) = parv_file(path)
        && let Some(there) = text::find(&parv_file, "disksim_bus", Some("BUS1"))?
    {
        let time = |key| Ok::<_, SpecError>(ms(there.optional(key)?.unwrap_or(0.0)));
        bus.read_sector = own.max(time("Read block transfer time")?);
        bus.write_sector = own.max(time("Write block transfer time")?);
    }
    Ok(bus)
}

pub(super) fn buffer(spec: &Block) -> Result<BufferConfig, SpecError> {
    let switch = |key: &str, default: bool| -> Result<bool, SpecError> {
        Ok(spec.optional(key)?.map_or(default, |number| number != 0.0))
    };
    let number = |key: &str| spec.optional(key)?.map_or(Ok(0), |_| spec.count(key).map(u64::from));
    let segment_sectors = u64::from(spec.count("Segment size (in blks)")?);
    let kind = spec.count("Buffer continuous read")?;
    let least = if kind == 0 { 0 } else { number("Minimum read-ahead (blks)")? };
    let most = number("Maximum read-ahead (blks)")?.max(least);
    let over = spec.optional("Read-ahead over requested")?.unwrap_or(1.0);
    let in_segment = most == 0;
    let most = if in_segment { segment_sectors } else { most };
    let read_ahead = match kind {
        0 => ReadAhead::None,
        1 => ReadAhead::Track(most),
        2 => ReadAhead::Cylinder(most),
        3 => ReadAhead::Sectors(most),
        _ => ReadAhead::Tracks,
    };
    let level = spec.optional("Fast write level")?.unwrap_or(0.0);
    let write_segments = "Maximum number of write segments";
    Ok(BufferConfig {
        segments: spec.count("Number of buffer segments")?,
        segment_sectors,
        write_segment: spec.on("Use separate write segment")?,
        write_segments: spec
            .optional(write_segments)?
            .map(|_| spec.count(write_segments))
            .transpose()?,
        keeps_data: switch("Enable caching in buffer", true)?,
        read_hits_written: spec.on("Allow read hits on write data")?,
        immediate_report: level != 0.0,
        join_writes: spec.on("Combine seq writes")?,
        join: if level == 1.0 { WriteJoin::Alone } else { WriteJoin::Always },
        read_mark: spec.optional("High (read) water mark")?.unwrap_or(0.0),
        write_mark: spec.optional("Low (write) water mark")?.unwrap_or(0.0),
        marks_of_segment: !switch("Set watermark by reqsize", true)?,
        hits_next_sector: spec.on("Allow almost read hits")?,
        partial_hits_at_once: switch("Immed transfer partial hit", true)?,
        read_ahead,
        read_ahead_on_hit: spec.on("Read-ahead on idle hit")?,
        least_read_ahead: least,
        read_ahead_keeps_read: in_segment && over == 0.0,
        drops_read: over == -1.0,
        writes_end_read_ahead: switch("Write hit stop prefetch", true)?,
        sector_buffer: !switch("Read directly to buffer", true)?,
        reads_on_arrival: spec.on("Immediate buffer read")?,
        writes_on_arrival: spec.on("Immediate buffer write")?,
        stops_at_once: spec.on("Stop prefetch in sector")?,
    })
}

pub(super) fn queue(spec: &Block) -> Result<QueueConfig, SpecError> {
    let mut queue = QueueConfig::default();
    let length = "Max queue length";
    if spec.optional(length)?.is_some() {
        queue.length = spec.count(length)?;
    }
    let Some(Value::Block(scheduler)) = spec.get("Scheduler") else { return Ok(queue) };
    let key = "Scheduling policy";
    let policy = scheduler.optional(key)?.unwrap_or(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
    let policy = policy as u32;
    queue.policy = match policy {
        1 => QueuePolicy::Fcfs,
        2 => QueuePolicy::Look,
        3 => QueuePolicy::CLook,
        4 => QueuePolicy::Sstf,
        5 => QueuePolicy::CylinderLook,
        6 => QueuePolicy::CylinderCLook,
        7 => QueuePolicy::CylinderSstf,
        8 => QueuePolicy::Positioning,
        9 => QueuePolicy::CachedPositioning,
        11 => QueuePolicy::WeightedPositioning,
        12 => QueuePolicy::CachedWeightedPositioning,
        14 => QueuePolicy::AgedPositioning,
        15 => QueuePolicy::CachedAgedPositioning,
        22 => QueuePolicy::Distance,
        23 => QueuePolicy::ArmDistance,
        _ => {
            let why = format!(
                "`{key} = {policy}` is not simulated; 1 to 9, 11, 12, 14, 15, 22 and 23 are"
            );
            return Err(scheduler.wrong(key, why));
        }
    };
    let (combine, level) = ("Combine seq writes", "Fast write level");
    if spec.on(combine)? && spec.optional(level)? == Some(2.0) && queue.policy.positions() {
        let why = format!(
            "`{combine} = 1` is not simulated with `{level} = 2` and `{key} = {policy}`; with \
             `{level}` 0 and 1 it is"
        );
        return Err(spec.wrong(combine, why));
    }
    let time = |key: &str| Ok::<_, SpecError>(ms(scheduler.optional(key)?.unwrap_or(0.0)));
    (queue.read_delay, queue.write_delay) =
        (time("Read initiation delay")?, time("Write initiation delay")?);
    let weight = "Timeout time/weight";
    if scheduler.optional(weight)?.is_some() {
        queue.weight = scheduler.count(weight)?;
    }
    if matches!(policy, 11 | 12) && queue.weight == 0 {
        let why = format!("`{weight}` is 0, must be positive with `{key} = {policy}`");
        return Err(scheduler.wrong(weight, why));
    }
    let mapping = "Cylinder mapping strategy";
    if let Some(strategy @ (0.0 | 5.0 | 6.0)) = scheduler.optional(mapping)?
        && matches!(policy, 5..=7)
    {
        let why = format!(
            "`{mapping} = {strategy}` is not simulated with `{key} = {policy}`; 1 to 4 are"
        );
        return Err(scheduler.wrong(mapping, why));
    }
    Ok(queue)
}
