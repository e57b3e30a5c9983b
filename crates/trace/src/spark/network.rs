//! The network use of nodes that have no network of their own, from the tasks' remote reads.
//!
//! Nodes that are plain processes of one machine share its loopback, which nobody counts by node.
//! The event log has the shuffle bytes that each task fetched from other executors. They are spread
//! evenly over the time of the task: received by the node of its executor, sent by the nodes of the
//! executors that had written the data ([`Senders`]).

use super::log::EventLog;
use super::senders::Senders;
use crate::columns::{ColumnKind, Columns};
use crate::error::TraceError;
use crate::manifest::{ACTIVITY_FILE, BLOCK_FILE, DISKS_FILE, NETWORK};
use crate::model::Sample;
use crate::read::Trace;
use crate::write::{ActivityWriter, TraceFolder};
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

const RECEIVED: &str = "remote shuffle bytes that the tasks of its executors read, in Spark's \
                        event log, spread over their times";
const SENT: &str = "remote shuffle bytes that tasks of other executors read, in Spark's event log, \
                    spread over their times and divided among the executors by what these had \
                    written: the log does not say who sent them";
const NO_PACKETS: &str =
    "the node has no network namespace of its own; the event log has no packets";

/// A trace of a node, with the executors that ran in it.
#[derive(Clone, Debug)]
pub struct NodeExecutors {
    /// Folder of the trace.
    pub trace: PathBuf,
    /// Identifiers of the executors.
    pub executors: Vec<String>,
}

/// What was added to the traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NetworkEstimate {
    /// Bytes received and sent by each node.
    pub nodes: Vec<NodeTraffic>,
}

/// Traffic of a node over its trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeTraffic {
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
}

/// Writes the network columns of the traces of `nodes`, estimated from `log`. Each trace is written
/// under a temporary name, and replaced when it is complete. Bytes of executors of no node, and of
/// times outside of the traces, are left out.
///
/// # Errors
/// When a trace cannot be read or written. Traces that were replaced before stay so.
pub fn estimate_network(
    log: &EventLog,
    nodes: &[NodeExecutors],
) -> Result<NetworkEstimate, TraceError> {
    let mut traces = Vec::new();
    for node in nodes {
        traces.push(NodeTrace::open(node)?);
    }
    let node_of = |id: &str| nodes.iter().position(|n| n.executors.iter().any(|e| e == id));
    let node_of: Vec<Option<usize>> =
        log.executors.iter().map(|executor| node_of(&executor.id)).collect();
    let senders = Senders::new(log);
    let mut shares_of = BTreeMap::new();
    for task in &log.tasks {
        let (Some(figures), Some(ended)) = (&task.figures, task.ended) else { continue };
        let bytes = figures.shuffle_remote.0 as f64;
        if bytes <= 0.0 {
            continue;
        }
        let executor = senders.index(log.text(task.executor));
        let span = TaskSpan { start: task.started, end: ended };
        let shares = shares_of
            .entry((task.stage, executor))
            .or_insert_with(|| senders.shares(log, task.stage, executor));
        for share in shares.iter() {
            let (receiver, sender) = (node_of[executor], node_of[share.executor]);
            if receiver == sender {
                // From an executor to one that replaced it on the same node.
                continue;
            }
            let bytes = bytes * share.part;
            if let Some(node) = receiver {
                traces[node].add(Direction::Received, span, bytes);
            }
            if let Some(node) = sender {
                traces[node].add(Direction::Sent, span, bytes);
            }
        }
    }
    let mut estimate = NetworkEstimate::default();
    for trace in traces {
        estimate.nodes.push(trace.replace()?);
    }
    Ok(estimate)
}

/// The time of a task, since 1970.
#[derive(Clone, Copy)]
struct TaskSpan {
    start: Ns,
    end: Ns,
}

#[derive(Clone, Copy)]
enum Direction {
    Received,
    Sent,
}

/// A trace with the traffic that is added to it.
struct NodeTrace {
    trace: Trace,
    /// Totals since the start, at the end of each sample; the first are those at the start.
    rows: Vec<Sample>,
    /// Bytes received and sent in each interval that ends at a row.
    traffic: [Vec<f64>; 2],
}

impl NodeTrace {
    fn open(node: &NodeExecutors) -> Result<Self, TraceError> {
        let trace = Trace::open(&node.trace)?;
        let rows = trace.all_totals()?;
        let traffic = [vec![0.0; rows.len()], vec![0.0; rows.len()]];
        Ok(Self { trace, rows, traffic })
    }

    /// Spreads an amount evenly over a span, and adds the part of it that is within the trace.
    fn add(&mut self, direction: Direction, span: TaskSpan, amount: f64) {
        let start = self.trace.manifest().start_unix_ns;
        let since = |at: Ns| i128::from(at.0) - i128::from(start);
        // A task that ended within the millisecond in which it started has the length of one.
        let (from, to) = (since(span.start), since(span.end).max(since(span.start) + MILLISECOND));
        let first = self.rows.partition_point(|row| i128::from(row.end().0) <= from).max(1);
        let sums = self.traffic[direction as usize].iter_mut().skip(1);
        let intervals = self.rows.windows(2).zip(sums);
        for (rows, sum) in intervals.skip(first - 1) {
            let [begin, end] = [0, 1].map(|at: usize| i128::from(rows[at].end().0));
            let inside = to.min(end) - from.max(begin);
            if inside <= 0 {
                break;
            }
            *sum += amount * inside as f64 / (to - from) as f64;
        }
    }

    /// Writes the trace again, with its traffic.
    fn replace(mut self) -> Result<NodeTraffic, TraceError> {
        let mut total = [0.0; 2];
        for (at, row) in self.rows.iter_mut().enumerate() {
            for (sum, amounts) in total.iter_mut().zip(&self.traffic) {
                *sum += amounts[at];
            }
            row.rx_bytes = Bytes(total[0].round() as u64);
            row.tx_bytes = Bytes(total[1].round() as u64);
        }
        let mut manifest = self.trace.manifest().clone();
        let mut columns = Columns::all(ColumnKind::Missing, "not in the trace");
        for (file, described) in
            [(ACTIVITY_FILE, &mut columns.activity), (DISKS_FILE, &mut columns.disks)]
        {
            for known in manifest.part(file).into_iter().flat_map(|part| &part.columns) {
                if let Some(column) = described.iter_mut().find(|c| c.name == known.name) {
                    column.clone_from(known);
                }
            }
        }
        columns.set(&["rx_bytes"], ColumnKind::Estimated, RECEIVED);
        columns.set(&["tx_bytes"], ColumnKind::Estimated, SENT);
        columns.set(&["rx_packets", "tx_packets"], ColumnKind::Missing, NO_PACKETS);
        manifest.unavailable.retain(|unavailable| unavailable.what != NETWORK);

        let folder = TraceFolder::replace(self.trace.path())?;
        let mut writer = ActivityWriter::create(&folder, &columns)?;
        let last = self.rows.last().map(|row| (row.rx_bytes.0, row.tx_bytes.0));
        for row in std::mem::take(&mut self.rows) {
            writer.push(row)?;
        }
        let parts = writer.finish(None)?;
        if manifest.part(BLOCK_FILE).is_some() {
            let (from, to) = (self.trace.block_path(), folder.file(BLOCK_FILE));
            fs::copy(&from, &to).map_err(|error| TraceError::write(&to, error))?;
        }
        manifest.parts.retain(|part| part.file == BLOCK_FILE);
        manifest.parts.splice(0..0, parts);
        folder.commit(&manifest)?;
        let (rx_bytes, tx_bytes) = last.unwrap_or_default();
        Ok(NodeTraffic { rx_bytes, tx_bytes })
    }
}

/// The resolution of Spark's times.
const MILLISECOND: i128 = 1_000_000;
