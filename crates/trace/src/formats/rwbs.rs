//! The notation of devices and operations that the kernel and blkparse share.

use super::entry_error::EntryError;
use super::fields::{BLANK, Fields};
use gordon_blockio::IoOp;

/// Letters in `rwbs`, of blkparse and of the kernel's own events. `E` is a secure erase, `U` an
/// atomic write; `Z` is write zeroes, or with `A`, `R`, `O`, `C` or `F` a zone operation.
const RWBS: &[u8] = b"RWDNFBSAMEUZOC";

/// The operation in `rwbs`; `None` if it moves no data.
#[inline]
pub(super) fn op(rwbs: &[u8]) -> Option<IoOp> {
    // An optional flush before the request, then the operation, then flags.
    let (preflush, rest) = match rwbs {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match rest.first() {
        Some(b'R') => Some(IoOp::Read),
        Some(b'W') if rest.get(1) != Some(&b'Z') => Some(IoOp::Write),
        Some(b'D') => Some(IoOp::Discard),
        Some(b'F') => Some(IoOp::Flush),
        _ if preflush => Some(IoOp::Flush),
        _ => None,
    }
}

/// Parses `major,minor` into a device number of Linux.
#[inline]
pub(super) fn device(word: &[u8]) -> Result<u32, EntryError> {
    let mut f = Fields::<{ super::fields::COMMA }>::new(word);
    match (f.small("device"), f.small("device")) {
        (Ok(major @ ..0x1000), Ok(minor @ ..0x10_0000)) => Ok(major << 20 | minor),
        _ => Err(EntryError::field("device", word, "MAJOR,MINOR")),
    }
}

/// Reads the letters of `rwbs`; other characters are an error.
#[inline]
pub(super) fn letters<'a>(f: &mut Fields<'a, BLANK>) -> Result<&'a [u8], EntryError> {
    let rwbs = f.word();
    if rwbs.is_empty() || !rwbs.iter().all(|letter| RWBS.contains(letter)) {
        return Err(EntryError::field("rwbs", rwbs, "letters such as R, WS or FWFSM"));
    }
    Ok(rwbs)
}

/// The operation of a request of `len` bytes. A write without data is only its preceding flush.
#[inline]
pub(super) fn of_len(op: IoOp, rwbs: &[u8], len: u64) -> IoOp {
    if len == 0 && rwbs[0] == b'F' { IoOp::Flush } else { op }
}

/// Whether a flush precedes the request: an `F` before the operation.
#[inline]
pub(super) fn is_preflush(op: IoOp, rwbs: &[u8]) -> bool {
    op != IoOp::Flush && rwbs.first() == Some(&b'F')
}

/// Whether a write is to be durable when it completes: an `F` after the operation.
#[inline]
pub(super) fn is_durable(op: IoOp, rwbs: &[u8]) -> bool {
    let is_set = |letters: &[u8]| letters.contains(&b'F');
    op == IoOp::Write
        && rwbs.iter().position(|letter| *letter == b'W').is_some_and(|at| is_set(&rwbs[at..]))
}
