//! Columns apart by blanks: what MQSim and DiskSim read, and DiskSim's validation traces.

use super::error::Bad;
use super::fields::{BLANK, Fields};
use super::intake::{Intake, Raw};
use super::source::Lines;
use crate::model::BlockOp;
use gordon_units::Ns;

const TOO_MANY: &str = "the end of the line";

/// `time device sector sectors type`, all whole numbers; type 0 is a write, 1 a read.
///
/// As `src/exec/ASCII_Trace_Definition.h` of MQSim has it.
pub(super) struct Mqsim {
    unit: Ns,
    /// The user named the unit: times may have decimals.
    decimals: bool,
}

impl Mqsim {
    pub fn new(unit: Ns, decimals: bool) -> Self {
        Self { unit, decimals }
    }
}

impl Lines for Mqsim {
    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        let mut f = Fields::<BLANK>::new(line);
        let time =
            if self.decimals { f.time("time", self.unit)? } else { whole_time(&mut f, self.unit)? };
        let device = f.small("device")?;
        let offset = f.sectors("sector")?;
        let len = f.sectors("sectors")?;
        let op = match f.word() {
            b"0" => BlockOp::Write,
            b"1" => BlockOp::Read,
            other => return Err(Bad::field("type", other, "0 (write) or 1 (read)")),
        };
        end(&mut f)?;
        intake.take(Raw { time, op, device, offset, len, latency: None, gap: None, pid: None })?;
        Ok(())
    }
}

/// A time without decimals.
#[inline]
pub(super) fn whole_time<const SEP: u8>(f: &mut Fields<'_, SEP>, unit: Ns) -> Result<u64, Bad> {
    let units = f.number("time")?;
    let time = units.checked_mul(unit.0);
    time.ok_or_else(|| Bad::field("time", units.to_string().as_bytes(), "a time below 584 years"))
}

#[inline]
fn end(f: &mut Fields<'_, BLANK>) -> Result<(), Bad> {
    if f.is_done() { Ok(()) } else { Err(Bad::field("columns", f.rest(), TOO_MANY)) }
}

/// `time device sector sectors flags`: milliseconds with decimals; bit 0 of the hexadecimal flags
/// is a read.
///
/// As `disksim_iotrace.c` of DiskSim 4.0 reads its default format, "ascii".
pub(super) struct Disksim(pub Ns);

impl Lines for Disksim {
    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        let mut f = Fields::<BLANK>::new(line);
        let time = f.time("time", self.0)?;
        let device = f.small("device")?;
        let offset = f.sectors("sector")?;
        let len = f.sectors("sectors")?;
        let word = f.word();
        let flags = hexadecimal(word)
            .ok_or_else(|| Bad::field("flags", word, "a hexadecimal number, 1 for a read"))?;
        end(&mut f)?;
        let op = if flags & 1 == 1 { BlockOp::Read } else { BlockOp::Write };
        intake.take(Raw { time, op, device, offset, len, latency: None, gap: None, pid: None })?;
        Ok(())
    }
}

#[inline]
fn hexadecimal(word: &[u8]) -> Option<u32> {
    let digits = word.strip_prefix(b"0x").or(word.strip_prefix(b"0X")).unwrap_or(word);
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    let mut value = 0;
    for &digit in digits {
        value = value << 4 | char::from(digit).to_digit(16)?;
    }
    Some(value)
}

/// `R|W Hit|Miss sector sectors response gap`, microseconds.
///
/// The drive served one request at a time: each was issued its predecessor's gap after the
/// predecessor's completion. Times of issue are therefore sums of the responses and gaps measured;
/// a replay in closed loop uses the gaps alone.
pub(super) struct Validate {
    unit: Ns,
    clock: u64,
}

impl Validate {
    pub fn new(unit: Ns) -> Self {
        Self { unit, clock: 0 }
    }
}

impl Lines for Validate {
    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        let mut f = Fields::<BLANK>::new(line);
        let op = match f.word() {
            b"R" => BlockOp::Read,
            b"W" => BlockOp::Write,
            other => return Err(Bad::field("type", other, "R or W")),
        };
        match f.word() {
            b"Hit" | b"Miss" => {}
            other => return Err(Bad::field("cache", other, "Hit or Miss")),
        }
        let offset = f.sectors("sector")?;
        let len = f.sectors("sectors")?;
        let response = f.time("response", self.unit)?;
        let gap = f.time("gap", self.unit)?;
        end(&mut f)?;
        let next = response.checked_add(gap).and_then(|t| self.clock.checked_add(t));
        let Some(next) = next else {
            return Err(Bad::field("gap", b"times", "times that add up to less than 584 years"));
        };
        let (latency, gap) = (Some(Ns(response)), Some(Ns(gap)));
        intake.take(Raw {
            time: self.clock,
            op,
            device: 0,
            offset,
            len,
            latency,
            gap,
            pid: None,
        })?;
        self.clock = next;
        Ok(())
    }
}
