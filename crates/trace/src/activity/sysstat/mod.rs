//! Reads what sysstat's sadf prints: JSON (`-j`), or text for databases (`-d`) and for programs
//! (`-p`). Field names are those of sysstat 10.2 to 12.7 (json_stats.c, rndr_stats.c).

mod json;
mod rows;
mod text;
mod time;

use super::ActivityOptions;
use super::error::ActivityError;
use super::host::Recorded;
use super::input::{SADC, foreign_file, open};
use crate::foreign::ForeignText;
use gordon_units::Progress;
use std::path::Path;

/// How to make an input that has all that a trace can hold.
pub(super) const HINT: &str = "sadf -j FILE -- -u ALL -P ALL -r ALL -d -n DEV";

/// What to do about JSON that is not that of sadf.
const JSON_HINT: &str = "the whole and unchanged output of sadf -j (sysstat 10.2 to 12.7)";

/// Whether a text is a time as sadf prints it.
pub(super) fn is_time(text: &str) -> bool {
    time::parse(text).is_some()
}

/// Adds the samples of the file at `path`.
pub(super) fn read(
    path: &Path,
    options: &ActivityOptions,
    progress: &Progress,
    recorded: &mut Recorded,
) -> Result<(), ActivityError> {
    let (first, input) = open(path, progress)?;
    // The low byte, or the high byte on machines with the other byte order.
    if SADC.contains(&first) {
        let why = "it is a binary file of sadc".to_owned();
        return Err(ActivityError::Content { path: path.to_owned(), why, hint: HINT });
    }
    // The JSON of iostat may have the form of that of sadf, without what is read of it.
    if let Some(ForeignText { what, hint }) = foreign_file(path) {
        let why = what.to_owned();
        return Err(ActivityError::Content { path: path.to_owned(), why, hint });
    }
    match first {
        b'{' => json::read(path, input, recorded),
        _ => text::read(path, input, options, recorded),
    }
}
