//! Timed probes of a simulated disk, and logs of probes.

use crate::error::raise;
use gordon_blockio::IoOp;
use gordon_config::from_json;
use gordon_replay::probe::{self, Probe, TimedProbe, log};
use gordon_units::{Bytes, Ns};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Probes by column: operation (0: read, 1: write, 3: flush), offset, length, and time since the
/// previous probe completed.
type Columns = (Vec<u8>, Vec<u64>, Vec<u64>, Vec<u64>);

fn probes((ops, offsets, lengths, thinks): Columns) -> PyResult<Vec<Probe>> {
    if [offsets.len(), lengths.len(), thinks.len()].iter().any(|len| *len != ops.len()) {
        return Err(raise("probes: columns of different lengths"));
    }
    let op = |code: u8| match code {
        0 => Ok(IoOp::Read),
        1 => Ok(IoOp::Write),
        3 => Ok(IoOp::Flush),
        other => Err(raise(format!("probes: no operation {other}"))),
    };
    let ranges = offsets.into_iter().zip(lengths).zip(thinks);
    let rows = ops.into_iter().zip(ranges).map(|(code, ((offset, len), think))| {
        let (offset, len) = (Bytes(offset), Bytes(len));
        Ok(Probe { op: op(code)?, offset, len, think: Ns(think) })
    });
    rows.collect()
}

/// A simulated disk that serves one probe at a time.
#[pyclass(module = "gordon._core")]
pub struct DiskProber(probe::Prober);

#[pymethods]
impl DiskProber {
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        let config = from_json(config, "prober").map_err(raise)?;
        Ok(Self(probe::Prober::new(&config).map_err(raise)?))
    }

    /// Capacity in bytes.
    fn capacity(&self) -> u64 {
        self.0.capacity().0
    }

    /// Performs probes; returns the time of issue and of completion of each, in nanoseconds.
    fn probe(&mut self, py: Python<'_>, asked: Columns) -> PyResult<Vec<(u64, u64)>> {
        let asked = probes(asked)?;
        let answers = py.detach(|| self.0.probe(&asked)).map_err(raise)?;
        Ok(answers.into_iter().map(|timed| (timed.issued.0, timed.completed.0)).collect())
    }
}

/// Writes a log of probes and their results; `about` is JSON.
#[pyfunction]
pub fn probes_write(
    path: PathBuf,
    about: &str,
    asked: Columns,
    answers: Vec<(u64, u64)>,
) -> PyResult<()> {
    let timed = answers
        .into_iter()
        .map(|(issued, completed)| TimedProbe { issued: Ns(issued), completed: Ns(completed) });
    let rows: Vec<_> = probes(asked)?.into_iter().zip(timed).collect();
    log::write(&path, about, &rows).map_err(raise)
}

/// Reads a log of probes: its `about` (JSON), the probes and their results.
#[pyfunction]
#[allow(clippy::type_complexity)] // columns, as above
pub fn probes_read(path: PathBuf) -> PyResult<(String, Columns, Vec<(u64, u64)>)> {
    let (about, rows) = log::read(&path).map_err(raise)?;
    let column = |of: fn(&Probe) -> u64| rows.iter().map(|row| of(&row.0)).collect();
    let asked = (
        rows.iter().map(|row| row.0.op as u8).collect(),
        column(|probe| probe.offset.0),
        column(|probe| probe.len.0),
        column(|probe| probe.think.0),
    );
    let answers = rows.iter().map(|row| (row.1.issued.0, row.1.completed.0)).collect();
    Ok((about, asked, answers))
}
