//! Text of blkparse in its default format.
//!
//! `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]`, and a summary that
//! ends the trace. One event of each request counts, by default D (issue). As blkparse(1) has it,
//! "DEFAULT FORMAT", and `blkparse_fmt.c` of blktrace 1.2.

use super::Event;
use super::error::Bad;
use super::fields::{BLANK, Fields};
use super::intake::{Intake, Raw};
use super::source::{Lines, Then};
use crate::model::BlockOp;
use gordon_units::Ns;

/// Reads the lines.
pub(super) struct Blkparse {
    event: u8,
    unit: Ns,
}

const fn letter(event: Event) -> u8 {
    match event {
        Event::Queue => b'Q',
        Event::Issue => b'D',
        Event::Complete => b'C',
    }
}

impl Blkparse {
    pub fn new(event: Event, unit: Ns) -> Self {
        Self { event: letter(event), unit }
    }
}

/// The event that counts, by the first lines.
pub(super) fn event(head: &[u8]) -> Event {
    let mut seen = [false; 2];
    for line in head.split(|&b| b == b'\n') {
        let mut f = Fields::<BLANK>::new(line);
        for _ in 0..5 {
            f.word();
        }
        match f.word() {
            b"D" => return Event::Issue,
            b"Q" => seen[0] = true,
            b"C" => seen[1] = true,
            _ => {}
        }
    }
    match seen {
        [true, _] => Event::Queue,
        [false, true] => Event::Complete,
        [false, false] => Event::Issue,
    }
}

/// Letters of `rwbs`: those of blkparse, and of the kernel's own events (`E` erases securely, `U` is
/// atomic; `Z` is zeroes, or with `A`, `R`, `O`, `C` and `F` what is done to zones).
const RWBS: &[u8] = b"RWDNFBSAMEUZOC";

/// Whether blkparse has such an action. `m` is a message, `T` the `UT` of old.
fn is_action(action: &[u8]) -> bool {
    match action {
        [letter] => b"ABCDFGIMPQRSTUWXm".contains(letter),
        _ => action == b"UT",
    }
}

/// What `rwbs` asks for, `None` where it moves no data.
#[inline]
pub(super) fn op(rwbs: &[u8]) -> Option<BlockOp> {
    // A flush before it, then the operation, then marks.
    let (preflush, rest) = match rwbs {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match rest.first() {
        Some(b'R') => Some(BlockOp::Read),
        Some(b'W') if rest.get(1) != Some(&b'Z') => Some(BlockOp::Write),
        Some(b'D') => Some(BlockOp::Discard),
        Some(b'F') => Some(BlockOp::Flush),
        _ if preflush => Some(BlockOp::Flush),
        _ => None,
    }
}

/// `major,minor` as Linux packs it.
#[inline]
fn device(word: &[u8]) -> Result<u32, Bad> {
    let mut f = Fields::<{ super::fields::COMMA }>::new(word);
    match (f.small("device"), f.small("device")) {
        (Ok(major @ ..0x1000), Ok(minor @ ..0x10_0000)) => Ok(major << 20 | minor),
        _ => Err(Bad::field("device", word, "MAJOR,MINOR")),
    }
}

impl Lines for Blkparse {
    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<Then, Bad> {
        if line.starts_with(b"CPU") || line.starts_with(b"Total") {
            return Ok(Then::End);
        }
        let mut f = Fields::<BLANK>::new(line);
        let device = device(f.word())?;
        let _cpu = f.number("CPU")?;
        let _sequence = f.number("sequence")?;
        let time = f.time("time", self.unit)?;
        let _pid = f.number("pid")?;
        let action = f.word();
        if action != [self.event] {
            if !is_action(action) {
                return Err(Bad::field("action", action, "an action such as Q, D or C"));
            }
            intake.other();
            return Ok(Then::More);
        }
        let rwbs = f.word();
        if rwbs.is_empty() || !rwbs.iter().all(|letter| RWBS.contains(letter)) {
            return Err(Bad::field("rwbs", rwbs, "letters such as R, WS or FWFSM"));
        }
        let Some(op) = op(rwbs) else {
            intake.other();
            return Ok(Then::More);
        };
        let (mut offset, mut len) = (0, 0);
        if op != BlockOp::Flush {
            offset = f.sectors("sector")?;
            match f.word() {
                b"+" => len = f.sectors("sectors")?,
                // No sectors: `0 [process]`.
                word if word.starts_with(b"[") => {}
                // The bytes of a command of the driver's own: `36 (12 00 ...) [process]`.
                word if word.starts_with(b"(") => {
                    intake.other();
                    return Ok(Then::More);
                }
                other => return Err(Bad::field("sectors", other, "`+` and a number")),
            }
        }
        intake.take(Raw { time, op, device, offset, len, latency: None, gap: None, pid: None })?;
        Ok(Then::More)
    }
}
