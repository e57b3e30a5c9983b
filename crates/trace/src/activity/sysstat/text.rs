//! The text of `sadf -d`, rows of values under a line of column names, and of `sadf -p`, a value a
//! line. The sections follow each other, each with all its times.

use super::rows::Sections;
use super::{HINT, time};
use crate::activity::ActivityOptions;
use crate::activity::error::ActivityError;
use crate::activity::host::{Recorded, Skipped};
use crate::activity::input::read_error;
use crate::formats::{EntryError, FilePosition, FormatError};
use gordon_units::Ns;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufRead;
use std::path::Path;

/// Columns that name what a row of `sadf -d` is about.
const ITEMS: [&str; 3] = ["CPU", "DEV", "IFACE"];
/// Columns of every row before those of its section.
const COMMON: usize = 3;

/// What was read of a host.
#[derive(Default)]
struct Host {
    cores: BTreeMap<Ns, u32>,
    restarts: Vec<Ns>,
    duplicates: u64,
    samples: Vec<Sections>,
    is_utc: BTreeSet<bool>,
    /// Index in `samples` by time.
    by_time: HashMap<Ns, usize>,
    /// Hashes of the sample, item and first field of each row that was read.
    rows: HashSet<u64>,
}

#[derive(Default)]
struct TextReader {
    hosts: BTreeMap<String, Host>,
    /// Column names of the section.
    header: Vec<String>,
}

/// Adds the samples of a file.
pub(super) fn read(
    path: &Path,
    mut from: impl BufRead,
    options: &ActivityOptions,
    recorded: &mut Recorded,
) -> Result<(), ActivityError> {
    let mut reader = TextReader::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let len = from.read_until(b'\n', &mut line).map_err(|e| read_error(path, number, e))?;
        if len == 0 {
            break;
        }
        number += 1;
        let text = String::from_utf8_lossy(&line);
        // The last field of a line may be empty: only the end of the line is removed.
        let text = text.trim_end_matches(['\r', '\n']);
        let text = if text.trim().is_empty() { "" } else { text };
        let Err(bad) = reader.line(path, text)? else { continue };
        if number == 1 && !text.contains([';', '\t']) {
            let why = "it is neither the JSON nor the text of sadf".to_owned();
            return Err(ActivityError::Content { path: path.to_owned(), why, hint: HINT });
        }
        skip(path, number, bad, options.skip_bad, &mut recorded.skipped)?;
    }
    for (name, host) in reader.hosts {
        let to = recorded.hosts.entry(name).or_default();
        to.cores.extend(host.cores);
        to.restarts.extend(host.restarts);
        to.duplicates += host.duplicates;
        to.is_utc.extend(host.is_utc);
        to.samples.extend(host.samples.into_iter().map(Sections::sample));
    }
    Ok(())
}

/// Counts a malformed line, or returns its error.
fn skip(
    path: &Path,
    line: u64,
    bad: EntryError,
    enabled: bool,
    skipped: &mut Skipped,
) -> Result<(), ActivityError> {
    let (path, place) = (path.to_owned(), FilePosition::Line(line));
    let error = FormatError::Bad { path, place, format: "sysstat", bad: Box::new(bad) };
    if !enabled {
        return Err(error.into());
    }
    skipped.lines += 1;
    let text = error.to_string();
    skipped.first.get_or_insert_with(|| text.lines().next().unwrap_or_default().to_owned());
    Ok(())
}

impl TextReader {
    /// Reads a line. The outer error ends the reading; the inner one is of this line.
    fn line(&mut self, path: &Path, line: &str) -> Result<Result<(), EntryError>, ActivityError> {
        if line.is_empty() {
            return Ok(Ok(()));
        }
        if let Some(header) = line.strip_prefix('#') {
            let columns: Vec<&str> = header.trim().split(';').collect();
            let items = columns.iter().filter(|column| ITEMS.contains(column)).count();
            if header.contains("[...]") || items > 1 {
                let why = "`sadf -h` prints all sections on one line".to_owned();
                let hint = "sadf -d without -h, or sadf -j";
                return Err(ActivityError::Content { path: path.to_owned(), why, hint });
            }
            self.header = columns.into_iter().map(str::to_owned).collect();
            return Ok(Ok(()));
        }
        Ok(self.row(line))
    }

    fn row(&mut self, line: &str) -> Result<(), EntryError> {
        // A restart has a tab in its text in both forms; only `sadf -d` has a semicolon before it.
        let separator = line.chars().find(|c| matches!(c, ';' | '\t'));
        let fields: Vec<&str> = line.split(separator.unwrap_or('\t')).collect();
        let [name, interval, stamp, rest @ ..] = fields.as_slice() else {
            let expected = "host, interval, time and values of sadf -d or -p";
            return Err(EntryError::field("line", line.as_bytes(), expected));
        };
        let text = rest.join(" ");
        if text.starts_with("LINUX-RESTART") || text.starts_with("LINUX RESTART") {
            let host = self.hosts.entry((*name).to_owned()).or_default();
            let at = time::parse(stamp);
            host.restarts.extend(at);
            let cores = text.split_once('(').and_then(|(_, rest)| rest.split_once(" CPU"));
            let cores = cores.and_then(|(cores, _)| cores.parse::<u32>().ok());
            host.cores.extend(at.zip(cores));
            return Ok(());
        }
        // A comment of the monitor (`sadf -C`).
        if *interval == "-1" {
            return Ok(());
        }
        let seconds: u64 = interval
            .parse()
            .map_err(|_| EntryError::field("interval", interval.as_bytes(), "whole seconds"))?;
        let expected = "a date and a time, or seconds since 1970";
        let end = time::parse(stamp)
            .ok_or_else(|| EntryError::field("time", stamp.as_bytes(), expected))?;
        self.hosts.entry((*name).to_owned()).or_default().is_utc.insert(time::is_utc(stamp));
        let row = Row { name, end, span: Ns(seconds.saturating_mul(Ns::SECOND.0)) };
        match (separator, rest) {
            (Some(';'), values) => self.values(&row, values),
            (_, [item, field, value]) => {
                let item = if *item == "-" { "" } else { item };
                set(&mut self.hosts, &row, item, &[(field, value)])
            }
            _ => {
                let expected = "host, interval, time, item, field and value of sadf -p";
                Err(EntryError::field("line", line.as_bytes(), expected))
            }
        }
    }

    /// The values of a row of `sadf -d` under the names of the header.
    fn values(&mut self, row: &Row<'_>, values: &[&str]) -> Result<(), EntryError> {
        let names = self.header.get(COMMON..).unwrap_or_default();
        if names.is_empty() {
            let found = values.join(";");
            let expected = "a line of column names (# hostname;interval;timestamp;...) before it";
            return Err(EntryError::field("row", found.as_bytes(), expected));
        }
        let has_item = ITEMS.contains(&names[0].as_str());
        let pairs: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(values.iter().copied()).collect();
        let pairs = &pairs[usize::from(has_item).min(pairs.len())..];
        if !pairs.iter().any(|(name, _)| is_used(name)) && values.len() >= names.len() {
            return Ok(());
        }
        if values.len() != names.len() {
            let found = values.join(";");
            let expected = "as many values as the line of column names has";
            return Err(EntryError::field("row", found.as_bytes(), expected));
        }
        let item = if has_item { values[0] } else { "" };
        set(&mut self.hosts, row, item, pairs)
    }
}

/// What every row starts with.
struct Row<'a> {
    name: &'a str,
    end: Ns,
    span: Ns,
}

fn is_used(field: &str) -> bool {
    let mut probe = Sections::default();
    // Transfers have the same name for a disk and for the machine.
    field == "tps" || slot(&mut probe, "x", field).is_some()
}

/// Stores the fields of one row, or one field of it, in the sample of its time.
fn set(
    hosts: &mut BTreeMap<String, Host>,
    row: &Row<'_>,
    item: &str,
    fields: &[(&str, &str)],
) -> Result<(), EntryError> {
    let mut parsed = Vec::with_capacity(fields.len());
    for (field, value) in fields {
        if !is_used(field) {
            continue;
        }
        // Some locales have a decimal comma.
        let number: f64 = value.replace(',', ".").parse().unwrap_or(f64::NAN);
        if !number.is_finite() {
            let of = EntryError::named("value", value.as_bytes(), format!("a number for {field}"));
            return Err(of);
        }
        parsed.push((*field, number));
    }
    let Some((first, _)) = parsed.first() else { return Ok(()) };
    let host = hosts.entry(row.name.to_owned()).or_default();
    let at = *host.by_time.entry(row.end).or_insert_with(|| {
        host.samples.push(Sections::at(row.end, row.span));
        host.samples.len() - 1
    });
    let sample = &mut host.samples[at];
    let mut key = DefaultHasher::new();
    (at, item, first).hash(&mut key);
    if !host.rows.insert(key.finish()) {
        // The first row of a time stays, in all sections: a sample is not mixed from two of the
        // same local time.
        let is_cpu = matches!(*first, "%user" | "%usr");
        let is_of_next_sample = is_cpu && sample.cpu.keys().next() == Some(&core(item));
        host.duplicates += u64::from(is_of_next_sample);
        return Ok(());
    }
    for (field, number) in parsed {
        if let Some(slot) = slot(sample, item, field) {
            *slot = number;
        }
    }
    Ok(())
}

/// The number of a core; `None` for all cores (`all` or `-1`).
fn core(item: &str) -> Option<u32> {
    item.strip_prefix("cpu").unwrap_or(item).parse().ok()
}

/// Where a field is stored; `None` if it is not used. Fields that a trace needs have names that
/// differ between sections.
fn slot<'a>(sample: &'a mut Sections, item: &str, field: &str) -> Option<&'a mut f64> {
    match field {
        "%user" | "%usr" | "%nice" | "%system" | "%sys" | "%iowait" | "%steal" | "%irq"
        | "%soft" | "%guest" | "%gnice" | "%idle" => {
            let row = sample.cpu.entry(core(item)).or_default();
            return Some(match field {
                "%user" | "%usr" => &mut row.user,
                "%nice" => &mut row.nice,
                "%system" | "%sys" => &mut row.system,
                "%iowait" => &mut row.iowait,
                "%steal" => &mut row.steal,
                "%irq" => &mut row.irq,
                "%soft" => &mut row.soft,
                "%guest" => &mut row.guest,
                "%idle" => row.idle.get_or_insert_default(),
                _ => &mut row.gnice,
            });
        }
        "MHz" => return Some(sample.clock.entry(core(item)).or_default()),
        "%fio" => return Some(sample.io_full.get_or_insert_default()),
        "%scpu" => return Some(sample.cpu_some.get_or_insert_default()),
        "kbmemfree" | "kbavail" | "kbmemused" | "%memused" | "kbbuffers" | "kbcached"
        | "kbanonpg" => {
            let row = sample.memory.get_or_insert_default();
            return Some(match field {
                "kbmemfree" => &mut row.memfree,
                "kbavail" => row.avail.get_or_insert_default(),
                "kbmemused" => &mut row.memused,
                "%memused" => &mut row.percent,
                "kbbuffers" => &mut row.buffers,
                "kbanonpg" => row.anonpg.get_or_insert_default(),
                _ => &mut row.cached,
            });
        }
        "rtps" | "wtps" | "dtps" | "bread/s" | "bwrtn/s" | "bdscd/s" => {
            let row = sample.io.get_or_insert_default();
            return Some(match field {
                "rtps" => &mut row.rtps,
                "wtps" => &mut row.wtps,
                "dtps" => &mut row.dtps,
                "bread/s" => &mut row.bread,
                "bwrtn/s" => &mut row.bwrtn,
                _ => &mut row.bdscd,
            });
        }
        // The transfers of all disks are the sum of those of each kind.
        "tps" if item.is_empty() => return None,
        "tps" | "rd_sec/s" | "wr_sec/s" | "dc_sec/s" | "rkB/s" | "wkB/s" | "dkB/s" | "%util" => {
            let row = named(sample.disks.get_or_insert_default(), item);
            return Some(match field {
                "tps" => &mut row.tps,
                "rd_sec/s" => row.rd_sec.get_or_insert_default(),
                "wr_sec/s" => row.wr_sec.get_or_insert_default(),
                "dc_sec/s" => &mut row.dc_sec,
                "rkB/s" => row.rkb.get_or_insert_default(),
                "wkB/s" => row.wkb.get_or_insert_default(),
                "dkB/s" => row.dkb.get_or_insert_default(),
                _ => &mut row.util,
            });
        }
        "rxpck/s" | "txpck/s" | "rxkB/s" | "txkB/s" | "%ifutil" => {
            let row = named(sample.network.get_or_insert_default(), item);
            return Some(match field {
                "rxpck/s" => &mut row.rxpck,
                "txpck/s" => &mut row.txpck,
                "rxkB/s" => &mut row.rxkb,
                "%ifutil" => &mut row.ifutil,
                _ => &mut row.txkb,
            });
        }
        _ => {}
    }
    None
}

fn named<'a, T: Default>(rows: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    match rows.entry(name.to_owned()) {
        Entry::Occupied(row) => row.into_mut(),
        Entry::Vacant(row) => row.insert(T::default()),
    }
}
