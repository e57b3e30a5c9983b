//! Tables of a run: time series, and histograms of latencies, queue depths and erases.

use super::flash::erase_histogram;
use super::latency::{CAUSES, OPS};
use super::recorder::Recorded;
use super::report::{mb_s, per_s};
use super::series::{Interval, RunSeries};
use super::share;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use gordon_blockio::IoOp;
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::Ns;
use std::sync::Arc;

/// The tables of a run, by name.
pub type Tables = Vec<(&'static str, RecordBatch)>;

/// Names of the tables; runs on disks do not have the last one.
pub const NAMES: [&str; 4] = ["series", "latency", "outstanding", "erases"];

/// All tables of a run on `ssd`, built from `config`.
pub fn tables(run: &RunSeries, recorded: &Recorded, ssd: &Ssd, config: &SsdConfig) -> Tables {
    let batches = [series(run, ssd, config), latency(recorded), outstanding(run), erases(ssd)];
    NAMES.into_iter().zip(batches).collect()
}

fn floats(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<Float64Array>())
}

fn counts(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn batch(columns: Vec<Column>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

type Row<'a> = (Ns, Ns, &'a Interval);
type Column = (&'static str, ArrayRef);

/// The columns of the time series that all devices have, one row per interval. Rates are those of
/// the interval; the last one may be short.
fn over_time(run: &RunSeries) -> (Vec<Row<'_>>, Vec<Column>) {
    let rows: Vec<Row<'_>> =
        run.spans().zip(&run.intervals).map(|((start, len), i)| (start, len, i)).collect();
    let column = |value: &dyn Fn(&Interval, Ns) -> Option<f64>| column(&rows, value);
    let op = |op: IoOp| op as usize;
    #[allow(clippy::cast_precision_loss)]
    let over = |sum: u128, by: u64| (by > 0).then(|| sum as f64 / by as f64);
    let columns = vec![
        ("start_s", floats(rows.iter().map(|(start, ..)| Some(start.as_secs())))),
        ("length_s", floats(rows.iter().map(|(_, len, _)| Some(len.as_secs())))),
        ("read_mb_s", column(&|i, len| mb_s(i.bytes[op(IoOp::Read)], len.0))),
        ("write_mb_s", column(&|i, len| mb_s(i.bytes[op(IoOp::Write)], len.0))),
        ("read_iops", column(&|i, len| per_s(i.requests[op(IoOp::Read)], len.0))),
        ("write_iops", column(&|i, len| per_s(i.requests[op(IoOp::Write)], len.0))),
        ("latency_mean_us", column(&|i, _| Some(over(i.latency, i.requests.iter().sum())? / 1e3))),
        ("latency_max_us", column(&|i, _| Some(i.slowest.as_secs() * 1e6))),
        ("outstanding", column(&|i, len| over(i.outstanding, len.0))),
    ];
    (rows, columns)
}

fn column(rows: &[Row<'_>], value: &dyn Fn(&Interval, Ns) -> Option<f64>) -> ArrayRef {
    floats(rows.iter().map(|&(_, len, interval)| value(interval, len)))
}

fn series(run: &RunSeries, ssd: &Ssd, config: &SsdConfig) -> RecordBatch {
    let (rows, mut columns) = over_time(run);
    let column = |value: &dyn Fn(&Interval, Ns) -> Option<f64>| column(&rows, value);
    let buses = ssd.bus_busy().len() as u64;
    let busy = busy(&rows, config.dies().into());
    let part = |kind: usize| floats(busy.iter().map(|parts| parts[kind]));
    columns.extend([
        ("bus", spread(&rows, buses, |i| i.device.bus)),
        ("collecting", spread(&rows, 1, |i| i.device.collecting)),
        ("die_read", part(0)),
        ("die_write", part(1)),
        ("controller", spread(&rows, 1, |i| i.device.usage.controller)),
        ("write_amplification", column(&|i, _| share(i.device.programs, i.device.host_programs))),
        ("pages_programmed", counts(rows.iter().map(|(.., i)| i.device.programs))),
        ("erases", counts(rows.iter().map(|(.., i)| i.device.erases))),
        ("failed", counts(rows.iter().map(|(.., i)| i.failed))),
    ]);
    batch(columns)
}

/// The tables of a run on this many disks.
pub fn of_disks(run: &RunSeries, recorded: &Recorded, disks: u64) -> Tables {
    let (rows, mut columns) = over_time(run);
    let busy = busy(&rows, disks);
    let part = |kind: usize| floats(busy.iter().map(|parts| parts[kind]));
    columns.extend([("reading", part(0)), ("writing", part(1))]);
    let batches = [batch(columns), latency(recorded), outstanding(run)];
    NAMES.into_iter().zip(batches).collect()
}

/// Fraction of each interval during which dies or disks read, and during which they wrote or
/// erased. The device counts the time of an operation when it starts. Time that exceeds an interval
/// is moved to the following ones, since operations continue beyond its end, and several intervals
/// may be sampled as one while the host is idle.
fn busy(rows: &[Row<'_>], dies: u64) -> Vec<[Option<f64>; 2]> {
    let (mut read, mut write) = (0, 0);
    let one = |(_, len, interval): &Row<'_>| {
        let usage = &interval.device.usage;
        read += usage.read.0;
        write += usage.write.0;
        let all = len.0.saturating_mul(dies);
        let mut room = all;
        [
            share(take_at_most(&mut read, &mut room), all),
            share(take_at_most(&mut write, &mut room), all),
        ]
    };
    rows.iter().map(one).collect()
}

/// The same for `parts` equal parts with one kind of activity.
fn spread(rows: &[Row<'_>], parts: u64, booked: fn(&Interval) -> Ns) -> ArrayRef {
    let mut left = 0;
    let one = |(_, len, interval): &Row<'_>| {
        left += booked(interval).0;
        let all = len.0.saturating_mul(parts);
        share(take_at_most(&mut left, &mut all.clone()), all)
    };
    floats(rows.iter().map(one))
}

/// Takes as much of the counted time as fits.
fn take_at_most(booked: &mut u64, room: &mut u64) -> u64 {
    let taken = (*booked).min(*room);
    (*booked, *room) = (*booked - taken, *room - taken);
    taken
}

/// One row per non-empty bucket: requests by operation, cause and latency.
fn latency(recorded: &Recorded) -> RecordBatch {
    let mut rows = Vec::new();
    for (op, op_name) in OPS {
        for (cause, cause_name) in CAUSES {
            if let Some(latency) = recorded.latencies.get(op, cause) {
                rows.extend(latency.buckets().map(|bucket| (op_name, cause_name, bucket)));
            }
        }
    }
    batch(vec![
        ("op", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)))),
        ("cause", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)))),
        ("from_ns", counts(rows.iter().map(|row| row.2.0))),
        ("to_ns", counts(rows.iter().map(|row| row.2.1))),
        ("requests", counts(rows.iter().map(|row| row.2.2))),
    ])
}

/// Time at each number of outstanding requests.
fn outstanding(run: &RunSeries) -> RecordBatch {
    let depths = || (0u64..).zip(run.depths.iter().copied()).filter(|(_, ns)| *ns > 0);
    batch(vec![
        ("outstanding", counts(depths().map(|(depth, _)| depth))),
        ("time_s", floats(depths().map(|(_, ns)| Some(Ns(ns).as_secs())))),
    ])
}

/// Number of super-blocks by number of erases.
fn erases(ssd: &Ssd) -> RecordBatch {
    let histogram = erase_histogram(ssd);
    batch(vec![
        ("erases", counts(histogram.keys().map(|erases| u64::from(*erases)))),
        ("blocks", counts(histogram.values().copied())),
    ])
}
