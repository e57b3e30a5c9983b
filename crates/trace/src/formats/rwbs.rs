//! The notation of devices and operations that the kernel and blkparse share.

use super::entry_error::EntryError;
use super::fields::{BLANK, Fields};
use crate::model::BlockOp;

/// Letters in `rwbs`, of blkparse and of the kernel's own events. `E` is a secure erase, `U` an
/// atomic write; `Z` is write zeroes, or with `A`, `R`, `O`, `C` or `F` a zone operation.
const RWBS: &[u8] = b"RWDNFBSAMEUZOC";

/// The operation in `rwbs`; `None` if it moves no data.
#[inline]
pub(super) fn op(rwbs: &[u8]) -> Option<BlockOp> {
    // An optional flush before the request, then the operation, then flags.
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
pub(super) fn of_len(op: BlockOp, rwbs: &[u8], len: u64) -> BlockOp {
    if len == 0 && rwbs[0] == b'F' { BlockOp::Flush } else { op }
}
