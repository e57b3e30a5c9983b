//! The parser of requests: it finds them in the stream, checks them, and collects the payload of
//! writes.
//!
//! The caller receives into [`RequestParser::free_buffer`]. One `recv` may bring many requests, and
//! the rest of a large payload goes directly into the buffer of its request.

use super::wire::{self, Reader, command, flag};
use super::{Agreed, transmission_flags};
use crate::export::{Errno, ExportInfo, Op, RequestError};
use gordon_blockio::Command;

/// Size of a request without its payload.
const HEADER: usize = 28;
/// Size of the receive buffer: 32 writes of 4 KiB, and some more.
const INTAKE: usize = 192 << 10;
/// If at least this much of a payload is missing, it is received directly into its buffer.
const LARGE: usize = 64 << 10;

/// The next item of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedRequest {
    /// No complete item: more input is needed.
    More,
    /// A request for which no buffer is available now. The next call tries again.
    NoBuffer,
    /// A request, with its payload or the buffer for its result.
    Request { cookie: u64, op: Op, data: Vec<u8> },
    /// A request that must be answered with this error.
    Refused { cookie: u64, fault: RequestError },
    /// The client disconnects.
    Disconnect,
    /// The input is not NBD.
    Garbage,
}

#[derive(Debug)]
enum ParserState {
    Header,
    Payload { cookie: u64, op: Op, data: Vec<u8>, filled: usize },
    Skip { cookie: u64, fault: RequestError, left: usize },
    Over,
}

/// The header of a request, not yet checked.
#[derive(Clone, Copy, Debug)]
struct RequestHeader {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

/// The parser of one client's requests.
#[derive(Debug)]
pub(crate) struct RequestParser {
    info: ExportInfo,
    /// The export announces FAST_ZERO, so WRITE_ZEROES may carry the flag.
    fast_zero: bool,
    agreed: Agreed,
    /// If set, all requests are answered with this error.
    refuse_all: Option<RequestError>,
    state: ParserState,
    intake: Vec<u8>,
    start: usize,
    end: usize,
}

impl RequestParser {
    /// Parses the stream after the handshake. `early` is input that arrived together with the end
    /// of the handshake.
    pub(crate) fn new(info: ExportInfo, agreed: Agreed, early: &[u8]) -> Self {
        let mut intake = vec![0; INTAKE.max(early.len())];
        intake[..early.len()].copy_from_slice(early);
        let can = transmission_flags(&info, agreed.structured);
        let fast_zero = can & wire::can::FAST_ZERO != 0;
        let end = early.len();
        let state = ParserState::Header;
        Self { info, fast_zero, agreed, refuse_all: None, state, intake, start: 0, end }
    }

    /// From now on, answers every request with this error.
    pub(crate) fn refuse_all(&mut self, fault: RequestError) {
        self.refuse_all = Some(fault);
    }

    /// Whether no part of a request has been received.
    pub(crate) fn at_message_boundary(&self) -> bool {
        self.start == self.end && matches!(self.state, ParserState::Header | ParserState::Over)
    }

    /// The buffer for the next input. It is not empty after [`ParsedRequest::More`].
    pub(crate) fn free_buffer(&mut self) -> &mut [u8] {
        if let ParserState::Payload { data, filled, .. } = &mut self.state
            && self.start == self.end
            && data.len() - *filled >= LARGE
        {
            return &mut data[*filled..];
        }
        // The unparsed rest is shorter than a header, so moving it is cheap.
        self.intake.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.intake[self.end..]
    }

    /// Reports that `count` bytes were received into the buffer of the preceding call of
    /// [`free_buffer`](Self::free_buffer).
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

    /// Parses the next item. `buffer` returns a buffer of exactly the requested length, or `None`
    /// if there is none now.
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

    /// Starts the request of a header. Returns `None` if its payload follows.
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
                let size = match op {
                    Op::Command(Command::Read { .. } | Command::Write { .. }) => length,
                    _ => 0,
                };
                let Some(data) = (if size > 0 { buffer(size) } else { Some(Vec::new()) }) else {
                    return Some(ParsedRequest::NoBuffer);
                };
                if matches!(op, Op::Command(Command::Write { .. })) {
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

    /// Checks the header and returns its operation.
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
            return Ok(Op::Command(Command::Flush));
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
            command::READ => Op::Command(Command::Read { offset }),
            command::WRITE => Op::Command(Command::Write { offset, fua }),
            command::TRIM => Op::Command(Command::Trim { offset, length, fua }),
            command::CACHE => Op::Cache { offset, length },
            command::WRITE_ZEROES => {
                let (no_hole, fast) = (flags & flag::NO_HOLE != 0, flags & flag::FAST_ZERO != 0);
                Op::Command(Command::WriteZeroes { offset, length, fua, no_hole, fast })
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
