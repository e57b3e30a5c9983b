//! Requests: found in the stream, checked, with the payload of writes.
//!
//! Bytes come in at [`RequestParser::free_buffer`], as many at a time as there are: one call of the
//! caller's `recv` may bring many requests, and the rest of a large payload goes straight to its
//! buffer.

use super::wire::{self, Reader, command, flag};
use super::{Agreed, transmission_flags};
use crate::export::{Errno, ExportInfo, Op, RequestError};

/// Bytes of a request without its payload.
const HEADER: usize = 28;
/// Bytes taken in at a time: 32 writes of 4 KiB and some.
const INTAKE: usize = 192 << 10;
/// A payload with that much to come is received in place.
const LARGE: usize = 64 << 10;

/// What the stream holds next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedRequest {
    /// Nothing whole: give more bytes.
    More,
    /// A request for which there is no buffer now; ask again.
    NoBuffer,
    /// A request, with its payload or with room for it.
    Request { cookie: u64, op: Op, data: Vec<u8> },
    /// A request that gets an error.
    Refused { cookie: u64, fault: RequestError },
    /// The client is done.
    Disconnect,
    /// This is not NBD.
    Garbage,
}

#[derive(Debug)]
enum ParserState {
    Header,
    Payload { cookie: u64, op: Op, data: Vec<u8>, filled: usize },
    Skip { cookie: u64, fault: RequestError, left: usize },
    Over,
}

/// A header as it came.
#[derive(Clone, Copy, Debug)]
struct RequestHeader {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

/// The requests of one client.
#[derive(Debug)]
pub(crate) struct RequestParser {
    info: ExportInfo,
    /// Flags that a command may carry, beside those of its own.
    fast_zero: bool,
    agreed: Agreed,
    /// All requests get this answer.
    refuse_all: Option<RequestError>,
    state: ParserState,
    intake: Vec<u8>,
    start: usize,
    end: usize,
}

impl RequestParser {
    /// The stream after the handshake, which may have brought some of it already.
    pub(crate) fn new(info: ExportInfo, agreed: Agreed, early: &[u8]) -> Self {
        let mut intake = vec![0; INTAKE.max(early.len())];
        intake[..early.len()].copy_from_slice(early);
        let can = transmission_flags(&info, agreed.structured);
        let fast_zero = can & wire::can::FAST_ZERO != 0;
        let end = early.len();
        let state = ParserState::Header;
        Self { info, fast_zero, agreed, refuse_all: None, state, intake, start: 0, end }
    }

    /// From now on every request gets this answer.
    pub(crate) fn refuse_all(&mut self, fault: RequestError) {
        self.refuse_all = Some(fault);
    }

    /// No request has come in part.
    pub(crate) fn at_message_boundary(&self) -> bool {
        self.start == self.end && matches!(self.state, ParserState::Header | ParserState::Over)
    }

    /// Where the next bytes go; never empty once [`ParsedRequest::More`] was said.
    pub(crate) fn free_buffer(&mut self) -> &mut [u8] {
        if let ParserState::Payload { data, filled, .. } = &mut self.state
            && self.start == self.end
            && data.len() - *filled >= LARGE
        {
            return &mut data[*filled..];
        }
        // What is left is less than a header.
        self.intake.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.intake[self.end..]
    }

    /// So many bytes lie in what [`free_buffer`](Self::free_buffer) gave, called just before.
    pub(crate) fn filled(&mut self, count: usize) {
        match &mut self.state {
            ParserState::Payload { data, filled, .. }
                if self.start == self.end && data.len() - *filled >= LARGE =>
            {
                *filled += count;
            }
            _ => self.end += count,
        }
    }

    /// The next request. `buffer` gives one of exactly the length asked, or none now.
    pub(crate) fn next(
        &mut self,
        mut buffer: impl FnMut(usize) -> Option<Vec<u8>>,
    ) -> ParsedRequest {
        loop {
            let ready = &self.intake[self.start..self.end];
            match &mut self.state {
                ParserState::Over => return ParsedRequest::Disconnect,
                ParserState::Header => {
                    let Some(header) = ready.first_chunk::<HEADER>() else {
                        return ParsedRequest::More;
                    };
                    let Some(header) = parse(header) else {
                        self.state = ParserState::Over;
                        return ParsedRequest::Garbage;
                    };
                    match self.begin(header, &mut buffer) {
                        Some(next) => return next,
                        None => continue,
                    }
                }
                ParserState::Payload { data, filled, .. } => {
                    let count = ready.len().min(data.len() - *filled);
                    data[*filled..*filled + count].copy_from_slice(&ready[..count]);
                    *filled += count;
                    self.start += count;
                    if *filled < data.len() {
                        return ParsedRequest::More;
                    }
                }
                ParserState::Skip { left, .. } => {
                    let count = ready.len().min(*left);
                    *left -= count;
                    self.start += count;
                    if *left > 0 {
                        return ParsedRequest::More;
                    }
                }
            }
            match std::mem::replace(&mut self.state, ParserState::Header) {
                ParserState::Payload { cookie, op, data, .. } => {
                    return ParsedRequest::Request { cookie, op, data };
                }
                ParserState::Skip { cookie, fault, .. } => {
                    return ParsedRequest::Refused { cookie, fault };
                }
                ParserState::Header | ParserState::Over => {}
            }
        }
    }

    /// Takes a header; nothing is returned where its payload must be waited for.
    fn begin(
        &mut self,
        header: RequestHeader,
        buffer: &mut impl FnMut(usize) -> Option<Vec<u8>>,
    ) -> Option<ParsedRequest> {
        let cookie = header.cookie;
        if header.kind == command::DISC {
            self.state = ParserState::Over;
            return Some(ParsedRequest::Disconnect);
        }
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        let checked = self.refuse_all.map_or_else(|| self.check(&header), Err);
        let result = match checked {
            Err(fault) if header.kind == command::WRITE && length > 0 => {
                self.state = ParserState::Skip { cookie, fault, left: length };
                None
            }
            Err(fault) => Some(ParsedRequest::Refused { cookie, fault }),
            Ok(op) => {
                let size =
                    if matches!(op, Op::Read { .. } | Op::Write { .. }) { length } else { 0 };
                let Some(data) = (if size > 0 { buffer(size) } else { Some(Vec::new()) }) else {
                    return Some(ParsedRequest::NoBuffer);
                };
                if matches!(op, Op::Write { .. }) {
                    self.state = ParserState::Payload { cookie, op, data, filled: 0 };
                    None
                } else {
                    Some(ParsedRequest::Request { cookie, op, data })
                }
            }
        };
        self.start += HEADER;
        result
    }

    /// Is it allowed, and what does it ask?
    fn check(&self, header: &RequestHeader) -> Result<Op, RequestError> {
        let fault = |errno, why| Err(RequestError { errno, why });
        let &RequestHeader { flags, kind, offset, .. } = header;
        let length = u64::from(header.length);
        let own = match kind {
            command::READ if self.agreed.structured => flag::DF,
            command::WRITE_ZEROES if self.fast_zero => flag::NO_HOLE | flag::FAST_ZERO,
            command::WRITE_ZEROES => flag::NO_HOLE,
            command::BLOCK_STATUS => flag::REQ_ONE,
            _ => 0,
        };
        let writes = matches!(kind, command::WRITE | command::TRIM | command::WRITE_ZEROES);
        if kind > command::BLOCK_STATUS {
            return fault(Errno::Inval, "an unknown command");
        }
        if flags & !(flag::FUA | own) != 0 {
            return fault(Errno::Inval, "a flag that the command does not have");
        }
        if writes && self.info.read_only {
            return fault(Errno::Perm, "the export is read-only");
        }
        if kind == command::FLUSH {
            if offset != 0 || length != 0 {
                return fault(Errno::Inval, "a flush with an offset or a length");
            }
            return Ok(Op::Flush);
        }
        if length == 0 {
            return fault(Errno::Inval, "a length of zero");
        }
        if offset.checked_add(length).is_none_or(|end| end > self.info.size.0) {
            let space = matches!(kind, command::WRITE | command::WRITE_ZEROES);
            let errno = if space { Errno::NoSpc } else { Errno::Inval };
            return fault(errno, "it reaches beyond the end of the export");
        }
        if (offset | length) & (self.info.minimum.0 - 1) != 0 {
            return fault(Errno::Inval, "it is not aligned to the minimum block size");
        }
        let payload = matches!(kind, command::READ | command::WRITE);
        if payload && length > self.info.maximum.0 {
            let dense = kind == command::READ && self.agreed.structured;
            let errno = if dense { Errno::Overflow } else { Errno::Inval };
            return fault(errno, "the payload is larger than the export takes");
        }
        let fua = flags & flag::FUA != 0;
        Ok(match kind {
            command::READ => Op::Read { offset },
            command::WRITE => Op::Write { offset, fua },
            command::TRIM => Op::Trim { offset, length, fua },
            command::CACHE => Op::Cache { offset, length },
            command::WRITE_ZEROES => {
                let (no_hole, fast) = (flags & flag::NO_HOLE != 0, flags & flag::FAST_ZERO != 0);
                Op::WriteZeroes { offset, length, fua, no_hole, fast }
            }
            _ if self.agreed.allocation => {
                Op::Status { offset, length, one: flags & flag::REQ_ONE != 0 }
            }
            _ => return fault(Errno::Inval, "block status was not negotiated"),
        })
    }
}

fn parse(bytes: &[u8; HEADER]) -> Option<RequestHeader> {
    let mut reader = Reader(bytes);
    if reader.u32()? != wire::REQUEST_MAGIC {
        return None;
    }
    Some(RequestHeader {
        flags: reader.u16()?,
        kind: reader.u16()?,
        cookie: reader.u64()?,
        offset: reader.u64()?,
        length: reader.u32()?,
    })
}
