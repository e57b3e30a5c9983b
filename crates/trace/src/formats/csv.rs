//! Columns apart by commas: MSR Cambridge, SPC, Alibaba, Tencent.
//!
//! A first line that names the columns is passed over; columns behind the known ones too where the
//! format allows them.

use super::ascii::whole_time;
use super::error::Bad;
use super::fields::{COMMA, Fields};
use super::intake::{Intake, Raw};
use super::source::Lines;
use crate::model::BlockOp;
use gordon_units::Ns;

fn end(f: &mut Fields<'_, COMMA>) -> Result<(), Bad> {
    if f.is_done() { Ok(()) } else { Err(Bad::field("columns", f.rest(), "the end of the line")) }
}

/// `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: Windows' file time (100 ns since
/// 1601), bytes; the response time is in the same unit.
///
/// As the traces' own README has it (SNIA IOTTA 388; Narayanan et al., FAST 2008).
pub(super) struct Msr(pub Ns);

impl Lines for Msr {
    const HEADER: &[&str] = &["timestamp"];

    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        let mut f = Fields::<COMMA>::new(line);
        let time = whole_time(&mut f, self.0)?;
        let _host = f.word();
        let device = f.small("disk number")?;
        let word = f.word();
        let op = if word.eq_ignore_ascii_case(b"Read") {
            BlockOp::Read
        } else if word.eq_ignore_ascii_case(b"Write") {
            BlockOp::Write
        } else {
            return Err(Bad::field("type", word, "Read or Write"));
        };
        let offset = f.number("offset")?;
        let len = f.number("size")?;
        let response = f.number("response time")?;
        end(&mut f)?;
        let latency = response.checked_mul(self.0.0).map(Ns);
        intake.take(Raw { time, op, device, offset, len, latency, gap: None, pid: None })?;
        Ok(())
    }
}

/// `ASU,LBA,Size,Opcode,Timestamp[,...]`: an application storage unit, sectors, bytes, R or W,
/// seconds with decimals.
///
/// As the SPC Trace File Format Specification 1.0.1 has it. It leaves the size of a block to the
/// trace's description, which UMass's traces lack; those who convert them take 512 bytes, and the
/// sizes and places in them go with nothing larger.
pub(super) struct Spc(pub Ns);

impl Lines for Spc {
    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        let mut f = Fields::<COMMA>::new(line);
        let device = f.small("ASU")?;
        let offset = f.sectors("LBA")?;
        let len = f.number("size")?;
        let op = opcode(f.word())?;
        let time = f.time("timestamp", self.0)?;
        intake.take(Raw { time, op, device, offset, len, latency: None, gap: None, pid: None })?;
        Ok(())
    }
}

#[inline]
fn opcode(word: &[u8]) -> Result<BlockOp, Bad> {
    match word {
        b"R" | b"r" => Ok(BlockOp::Read),
        b"W" | b"w" => Ok(BlockOp::Write),
        other => Err(Bad::field("opcode", other, "R or W")),
    }
}

/// `device_id,opcode,offset,length,timestamp`: bytes, microseconds since 1970.
///
/// As the README of github.com/alibaba/block-traces has it (Li et al., IISWC 2020).
pub(super) struct Alibaba(pub Ns);

impl Lines for Alibaba {
    const HEADER: &[&str] = &["device_id"];

    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        let mut f = Fields::<COMMA>::new(line);
        let device = f.small("device_id")?;
        let op = opcode(f.word())?;
        let offset = f.number("offset")?;
        let len = f.number("length")?;
        let time = whole_time(&mut f, self.0)?;
        end(&mut f)?;
        intake.take(Raw { time, op, device, offset, len, latency: None, gap: None, pid: None })?;
        Ok(())
    }
}

/// `Timestamp,Offset,Size,IOType,VolumeID`: seconds since 1970, sectors of 512 bytes, 0 for a read,
/// 1 for a write.
///
/// As the traces' own README has it (SNIA IOTTA 27917; Zhang et al., ATC 2020).
pub(super) struct Tencent(pub Ns);

impl Lines for Tencent {
    const HEADER: &[&str] = &["timestamp"];

    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        let mut f = Fields::<COMMA>::new(line);
        let time = whole_time(&mut f, self.0)?;
        let offset = f.sectors("offset")?;
        let len = f.sectors("size")?;
        let op = match f.word() {
            b"0" => BlockOp::Read,
            b"1" => BlockOp::Write,
            other => return Err(Bad::field("IOType", other, "0 (read) or 1 (write)")),
        };
        let device = f.small("VolumeID")?;
        end(&mut f)?;
        intake.take(Raw { time, op, device, offset, len, latency: None, gap: None, pid: None })?;
        Ok(())
    }
}
