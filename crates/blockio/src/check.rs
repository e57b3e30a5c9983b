//! The range check that every device makes on a request.

use crate::{IoOp, Request, SECTOR};
use gordon_units::Bytes;

/// Checks that a device of `capacity` bytes can carry out request `id`.
///
/// # Panics
/// Panics if the range is empty, not aligned to [`SECTOR`] or ends beyond `capacity`.
#[track_caller]
pub fn check_range(capacity: Bytes, id: u64, request: &Request) {
    let Request { op, offset, len, .. } = *request;
    if op == IoOp::Flush {
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
