//! Reads the validation traces of DiskSim.

use super::collector::{RawRequest, RequestCollector};
use super::entry_error::EntryError;
use super::fields::{BLANK, Fields};
use super::source::LineFormat;
use gordon_blockio::IoOp;
use gordon_units::Ns;

/// A line is `R|W Hit|Miss sector sectors response gap`, with times in microseconds.
///
/// The drive served one request at a time, and each request was issued one gap after the completion
/// of the previous one. Times of issue are therefore sums of the measured responses and gaps. A
/// replay in closed loop uses only the gaps.
pub(super) struct DisksimValidate {
    unit: Ns,
    clock: u64,
}

impl DisksimValidate {
    pub fn new(unit: Ns) -> Self {
        Self { unit, clock: 0 }
    }
}

impl LineFormat for DisksimValidate {
    #[inline]
    fn line(&mut self, line: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        let mut f = Fields::<BLANK>::new(line);
        let op = match f.word() {
            b"R" => IoOp::Read,
            b"W" => IoOp::Write,
            other => return Err(EntryError::field("type", other, "R or W")),
        };
        match f.word() {
            b"Hit" | b"Miss" => {}
            other => return Err(EntryError::field("cache", other, "Hit or Miss")),
        }
        let offset = f.sectors("sector")?;
        let len = f.sectors("sectors")?;
        let response = f.time("response", self.unit)?;
        let gap = f.time("gap", self.unit)?;
        if !f.is_done() {
            return Err(EntryError::field("columns", f.rest(), "the end of the line"));
        }
        let next = response.checked_add(gap).and_then(|t| self.clock.checked_add(t));
        let Some(next) = next else {
            return Err(EntryError::field(
                "gap",
                b"times",
                "times that add up to less than 584 years",
            ));
        };
        let (latency, gap) = (Some(Ns(response)), Some(Ns(gap)));
        collector.take(RawRequest {
            time: self.clock,
            op,
            device: 0,
            offset,
            len,
            latency,
            gap,
            pid: None,
            preflush: false,
            durable: false,
        })?;
        self.clock = next;
        Ok(())
    }
}
