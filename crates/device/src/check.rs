//! What every device holds its callers to.

use crate::{Op, Request, SECTOR};
use gordon_units::Bytes;

/// # Panics
/// Where the range is empty, not aligned to [`SECTOR`] or ends beyond `capacity`.
#[track_caller]
pub(crate) fn range(capacity: Bytes, id: u64, request: &Request) {
    let Request { op, offset, len } = *request;
    if op == Op::Flush {
        return;
    }
    assert!(len > Bytes::ZERO, "request {id} is empty");
    assert!((offset.0 | len.0).is_multiple_of(SECTOR.0), "request {id}: {request:?} is unaligned");
    let end = offset.0.checked_add(len.0);
    assert!(
        end.is_some_and(|end| end <= capacity.0),
        "request {id}: {request:?} ends beyond {capacity}"
    );
}
