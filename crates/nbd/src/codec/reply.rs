//! Replies. A client with structured replies gets data, errors and block status as chunks, and
//! other replies in the simple form, which the protocol allows.

use super::wire::{self, chunk};
use crate::export::{AllocationExtent, Errno, MAX_EXTENTS, Op, RequestError, RequestOutcome};
use gordon_blockio::Command;

/// Largest head: the header of a chunk and the offset of its data.
const HEAD: usize = 28;

/// A reply that is ready to be sent: the head, then the body.
#[derive(Debug)]
pub(crate) struct Reply {
    head: [u8; HEAD],
    length: u8,
    /// The bytes after the head.
    pub(crate) body: Vec<u8>,
    /// The body is the buffer of the request, which the connection reuses once it is sent.
    pub(crate) buffer: bool,
}

impl Reply {
    fn new(parts: &[&[u8]], body: Vec<u8>) -> Self {
        let mut head = [0; HEAD];
        let mut length = 0;
        for part in parts {
            head[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        }
        Self { head, length: u8::try_from(length).unwrap_or(0), body, buffer: false }
    }

    fn simple(cookie: u64, errno: u32, body: Vec<u8>) -> Self {
        let magic = wire::SIMPLE_REPLY_MAGIC.to_be_bytes();
        Self::new(&[&magic, &errno.to_be_bytes(), &cookie.to_be_bytes()], body)
    }

    /// A reply of a single chunk. `extra` is the part of the payload before `body`.
    fn chunk(cookie: u64, kind: u16, extra: &[u8], body: Vec<u8>) -> Self {
        let payload = u32::try_from(extra.len() + body.len()).unwrap_or(u32::MAX);
        let flags = u32::from(chunk::DONE) << 16 | u32::from(kind);
        let parts: [&[u8]; 5] = [
            &wire::CHUNK_MAGIC.to_be_bytes(),
            &flags.to_be_bytes(),
            &cookie.to_be_bytes(),
            &payload.to_be_bytes(),
            extra,
        ];
        Self::new(&parts, body)
    }

    /// An error reply. Only a structured reply carries the message.
    pub(crate) fn refused(cookie: u64, fault: RequestError, structured: bool) -> Self {
        let errno = fault.errno as u32;
        if !structured {
            return Self::simple(cookie, errno, Vec::new());
        }
        let why = fault.why.as_bytes();
        let why = &why[..why.len().min(wire::MAX_STRING)];
        let length = u16::try_from(why.len()).unwrap_or(0);
        let mut body = Vec::with_capacity(6 + why.len());
        body.extend(errno.to_be_bytes());
        body.extend(length.to_be_bytes());
        body.extend(why);
        Self::chunk(cookie, chunk::ERROR, &[], body)
    }

    /// The reply to a request, and the request's buffer if the reply does not use it.
    pub(crate) fn answer(
        cookie: u64,
        op: Op,
        data: Vec<u8>,
        outcome: RequestOutcome,
        structured: bool,
    ) -> (Self, Vec<u8>) {
        match (op, outcome) {
            (_, RequestOutcome::Failed(fault)) => (Self::refused(cookie, fault, structured), data),
            (Op::Command(Command::Read { offset }), _) => {
                let extra = offset.to_be_bytes();
                let reply = if structured {
                    Self::chunk(cookie, chunk::OFFSET_DATA, &extra, data)
                } else {
                    Self::simple(cookie, 0, data)
                };
                (Self { buffer: true, ..reply }, Vec::new())
            }
            (Op::Status { length, one, .. }, outcome) => {
                let extents = match outcome {
                    RequestOutcome::Extents(extents) => extents,
                    _ => vec![AllocationExtent { length, hole: false, zero: false }],
                };
                (Self::status(cookie, length, one, &extents), data)
            }
            _ => (Self::simple(cookie, 0, Vec::new()), data),
        }
    }

    /// A block status reply. Adjacent extents with the same state are merged, and the extents are
    /// cut at the end of the requested range.
    fn status(cookie: u64, asked: u64, one: bool, extents: &[AllocationExtent]) -> Self {
        let mut extents_out: Vec<(u64, u32)> = Vec::new();
        let mut left = asked;
        for extent in extents {
            let length = extent.length.min(left);
            if length == 0 || extents_out.len() == MAX_EXTENTS {
                break;
            }
            let hole = if extent.hole { wire::STATE_HOLE } else { 0 };
            let zero = if extent.zero { wire::STATE_ZERO } else { 0 };
            match extents_out.last_mut() {
                Some((sum, state)) if *state == hole | zero => *sum += length,
                Some(_) if one => break,
                _ => extents_out.push((length, hole | zero)),
            }
            left -= length;
        }
        if extents_out.is_empty() {
            let why = "the device reported no extents";
            return Self::refused(cookie, RequestError { errno: Errno::Io, why }, true);
        }
        let mut body = Vec::with_capacity(extents_out.len() * 8);
        for (length, state) in extents_out {
            // A request is shorter than 4 GiB, and so is each of its extents.
            body.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
            body.extend(state.to_be_bytes());
        }
        let id = wire::ALLOCATION_ID.to_be_bytes();
        Self::chunk(cookie, chunk::BLOCK_STATUS, &id, body)
    }

    /// The bytes that precede the body.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.length)]
    }

    /// Length of the head and the body.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.length) + self.body.len()
    }
}
