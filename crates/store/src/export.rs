//! Export: a copy of all readable data of an image, and a map of the rest.

use crate::engine::Engine;
use crate::error::ImageError;
use crate::image::Image;
use gordon_blockio::Command;
use gordon_units::{Progress, Stopped};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Bytes read at a time.
const CHUNK: u64 = 1 << 20;

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExportReport {
    /// Size of the device in bytes.
    pub bytes: u64,
    /// Number of bytes that are unreadable or cannot be proved to be current.
    pub bad_bytes: u64,
    /// The ranges of these bytes.
    pub bad_ranges: Vec<Range<u64>>,
    /// Path of the map of these ranges, in the format of GNU ddrescue.
    pub map: PathBuf,
}

/// Copies the readable data of an image to a new raw file `out`, in which all else is a hole, and
/// writes the map to `out`.map. Both files get their names only when they are complete. `progress`
/// counts bytes; if it requests a stop, the result is an error of kind
/// [`Interrupted`](io::ErrorKind::Interrupted).
pub fn export(image: Image, out: &Path, progress: &Progress) -> Result<ExportReport, ImageError> {
    let mut map = out.as_os_str().to_owned();
    map.push(".map");
    let map = PathBuf::from(map);
    for path in [out, &map] {
        if path.symlink_metadata().is_ok() {
            return Err(ImageError::Exists(path.to_owned()));
        }
    }
    let (part, map_part) = (partial(out), partial(&map));
    let mut engine: Engine<Vec<u8>> = Engine::salvage(image)?;
    let fail = |error| ImageError::io(out, error);
    let copied = copy(&mut engine, &part, progress).and_then(|mut export| {
        let mut file = fs::File::create_new(&map_part)?;
        file.write_all(ddrescue_map(&export).as_bytes())?;
        file.sync_all()?;
        fs::rename(&map_part, &map)?;
        fs::rename(&part, out)?;
        export.map = map;
        Ok(export)
    });
    if copied.is_err() {
        // The files may not exist.
        let _ = (fs::remove_file(&part), fs::remove_file(&map_part));
    }
    copied.map_err(fail)
}

fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    name.into()
}

fn copy(engine: &mut Engine<Vec<u8>>, out: &Path, progress: &Progress) -> io::Result<ExportReport> {
    let (capacity, unit) = (engine.image().device().capacity.0, engine.image().offsets().unit);
    let file = fs::File::create_new(out)?;
    file.set_len(capacity)?;
    let mut export = ExportReport { bytes: capacity, ..ExportReport::default() };
    progress.total.store(capacity, Ordering::Relaxed);
    let chunk = CHUNK.next_multiple_of(unit);
    for at in (0..capacity).step_by(usize::try_from(chunk).map_err(io::Error::other)?) {
        progress.check().map_err(|Stopped| io::ErrorKind::Interrupted)?;
        progress.done.store(at, Ordering::Relaxed);
        let mut parts = Vec::new();
        engine.extents(at, chunk.min(capacity - at), |length, data| {
            parts.push((length, data));
            true
        });
        let mut at = at;
        for (length, data) in parts {
            if data {
                copy_range(engine, &file, at..at + length, unit, &mut export)?;
            }
            at += length;
        }
    }
    file.sync_all()?;
    export.bad_bytes = export.bad_ranges.iter().map(|range| range.end - range.start).sum();
    Ok(export)
}

/// Copies a range at once or, if a part of it is unreadable, unit by unit.
fn copy_range(
    engine: &mut Engine<Vec<u8>>,
    file: &fs::File,
    range: Range<u64>,
    unit: u64,
    export: &mut ExportReport,
) -> io::Result<()> {
    if let Some(bytes) = read(engine, &range)? {
        return file.write_all_at(&bytes, range.start);
    }
    let mut at = range.start;
    while at < range.end {
        let part = at..(at - at % unit + unit).min(range.end);
        at = part.end;
        match read(engine, &part)? {
            Some(bytes) => file.write_all_at(&bytes, part.start)?,
            None => match export.bad_ranges.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => export.bad_ranges.push(part),
            },
        }
    }
    Ok(())
}

/// The bytes of a range; `None` if any of them are unreadable.
fn read(engine: &mut Engine<Vec<u8>>, range: &Range<u64>) -> io::Result<Option<Vec<u8>>> {
    let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
    engine.start(Command::Read { offset: range.start }, vec![0; length]);
    engine.run();
    let mut ended = Vec::new();
    engine.finished(&mut ended);
    let read = ended.pop().expect("a read ends");
    Ok(read.result.is_ok().then_some(read.payload))
}

/// The map in the format of GNU ddrescue (its manual, "Mapfile structure").
fn ddrescue_map(export: &ExportReport) -> String {
    let mut text = format!(
        "# Mapfile. Created by gordon {}\n# current_pos  current_status  current_pass\n\
         0x{:08X}     +               1\n#      pos        size  status\n",
        env!("CARGO_PKG_VERSION"),
        export.bytes
    );
    let mut line = |range: Range<u64>, status: char| {
        if !range.is_empty() {
            let (at, length) = (range.start, range.end - range.start);
            writeln!(text, "0x{at:08X}  0x{length:08X}  {status}").expect("memory takes text");
        }
    };
    let mut at = 0;
    for bad in &export.bad_ranges {
        line(at..bad.start, '+');
        line(bad.clone(), '-');
        at = bad.end;
    }
    line(at..export.bytes, '+');
    text
}
