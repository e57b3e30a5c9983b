//! The fixed newstyle handshake, from the greeting to the choice of an export.
//!
//! The client is not trusted. The data of an option may have [`MAX_OPTION`] bytes (longer data is
//! skipped and refused), the number of options is limited, and each call answers at most one
//! option, so that replies do not accumulate here. The caller watches the time limit.

use super::wire::{self, Reader, info, option, rep};
use super::{Agreed, Offer, transmission_flags};
use std::sync::Arc;

/// Maximum size of an option's data: two strings of the maximum length, and some more.
pub(crate) const MAX_OPTION: usize = 16 << 10;
/// Maximum number of options of a client. A client that queries 100 exports in full sends 300.
pub(crate) const MAX_OPTIONS: u32 = 1000;

/// Whether a client can or must use TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsPolicy {
    Off,
    Offered,
    Required,
}

/// What the caller has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeStep {
    /// Send the output, and pass on more input.
    More,
    /// Send the output, then continue inside TLS. Input that is already there must be rejected.
    StartTls,
    /// Send the output; the rest of the input is requests.
    Transmit(Agreed),
    /// Send the output, then close.
    Close(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    ClientFlags,
    Header,
    Data { option: u32, length: usize },
    Skip { option: u32, left: usize },
}

/// The handshake of one client.
#[derive(Debug)]
pub(crate) struct Handshake {
    offers: Arc<[Offer]>,
    tls: TlsPolicy,
    phase: Phase,
    /// The bytes received so far of the flags, header or data that `phase` expects.
    part: Vec<u8>,
    options: u32,
    fixed: bool,
    zeroes: bool,
    encrypted: bool,
    structured: bool,
    /// Index of the export for which the client selected `base:allocation`.
    allocation: Option<usize>,
}

type OptionResult = Result<HandshakeStep, (u32, &'static str)>;

impl Handshake {
    /// Starts a handshake. The first offer is the default export.
    pub(crate) fn new(offers: Arc<[Offer]>, tls: TlsPolicy) -> Self {
        Self {
            offers,
            tls,
            phase: Phase::ClientFlags,
            part: Vec::new(),
            options: 0,
            fixed: false,
            zeroes: true,
            encrypted: false,
            structured: false,
            allocation: None,
        }
    }

    /// Writes the greeting, which the server sends first.
    pub(crate) fn greet(out: &mut Vec<u8>) {
        out.extend(wire::INIT_MAGIC.to_be_bytes());
        out.extend(wire::OPTION_MAGIC.to_be_bytes());
        out.extend((wire::FIXED_NEWSTYLE | wire::NO_ZEROES).to_be_bytes());
    }

    /// Takes input up to the end of one option at most. Returns the number of bytes it took.
    pub(crate) fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> (usize, HandshakeStep) {
        let mut used = 0;
        loop {
            let wanted = match self.phase {
                Phase::ClientFlags => 4,
                Phase::Header => 16,
                Phase::Data { length, .. } => length,
                Phase::Skip { option, left } => {
                    let skipped = left.min(bytes.len() - used);
                    used += skipped;
                    self.phase = Phase::Skip { option, left: left - skipped };
                    if skipped < left {
                        return (used, HandshakeStep::More);
                    }
                    self.phase = Phase::Header;
                    return (used, Self::refuse(option, (rep::ERR_TOO_BIG, "too long"), out));
                }
            };
            let taken = (wanted - self.part.len()).min(bytes.len() - used);
            self.part.extend_from_slice(&bytes[used..used + taken]);
            used += taken;
            if self.part.len() < wanted {
                return (used, HandshakeStep::More);
            }
            let part = std::mem::take(&mut self.part);
            match self.phase {
                Phase::Data { option, .. } => {
                    self.phase = Phase::Header;
                    return (used, self.answer(option, &part, out));
                }
                Phase::ClientFlags => {
                    if let Err(why) = self.client_flags(&part) {
                        return (used, HandshakeStep::Close(why));
                    }
                }
                Phase::Header | Phase::Skip { .. } => {
                    if let Err(why) = self.header(&part) {
                        return (used, HandshakeStep::Close(why));
                    }
                }
            }
        }
    }

    fn client_flags(&mut self, part: &[u8]) -> Result<(), &'static str> {
        let flags = Reader(part).u32().unwrap_or(u32::MAX);
        let (fixed, no_zeroes) = (u32::from(wire::FIXED_NEWSTYLE), u32::from(wire::NO_ZEROES));
        if flags & !(fixed | no_zeroes) != 0 {
            return Err("unknown client flags");
        }
        self.fixed = flags & fixed != 0;
        self.zeroes = flags & no_zeroes == 0;
        if !self.fixed && self.tls == TlsPolicy::Required {
            return Err("TLS is required, which needs the fixed newstyle handshake");
        }
        self.phase = Phase::Header;
        Ok(())
    }

    fn header(&mut self, part: &[u8]) -> Result<(), &'static str> {
        let mut reader = Reader(part);
        let (magic, option, length) = (reader.u64(), reader.u32(), reader.u32());
        let (Some(wire::OPTION_MAGIC), Some(option), Some(length)) = (magic, option, length) else {
            return Err("not an NBD option");
        };
        self.options += 1;
        if self.options > MAX_OPTIONS {
            return Err("too many options");
        }
        if !self.fixed && option != option::EXPORT_NAME {
            return Err("an option without the fixed newstyle handshake");
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.phase = if length <= MAX_OPTION {
            Phase::Data { option, length }
        } else if option == option::EXPORT_NAME {
            return Err("an export name that is too long");
        } else {
            Phase::Skip { option, left: length }
        };
        Ok(())
    }

    fn answer(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> HandshakeStep {
        let plain = self.tls == TlsPolicy::Required && !self.encrypted;
        let answer = match option {
            option::ABORT => {
                reply(option, rep::ACK, &[], out);
                Ok(HandshakeStep::Close("the client aborted"))
            }
            option::STARTTLS => self.start_tls(data, out),
            option::EXPORT_NAME if plain => Ok(HandshakeStep::Close("TLS is required")),
            _ if plain => Err((rep::ERR_TLS_REQD, "this server requires TLS")),
            option::EXPORT_NAME => return self.export_name(data, out),
            option::LIST => self.list(data, out),
            option::INFO | option::GO => self.go(option, data, out),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                reply(option, rep::ACK, &[], out);
                Ok(HandshakeStep::More)
            }
            option::STRUCTURED_REPLY => Err((rep::ERR_INVALID, "data where none belongs")),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.meta(option, data, out),
            _ => Err((rep::ERR_UNSUP, "unknown option")),
        };
        answer.unwrap_or_else(|error| Self::refuse(option, error, out))
    }

    fn refuse(option: u32, (kind, why): (u32, &str), out: &mut Vec<u8>) -> HandshakeStep {
        reply(option, kind, &[why.as_bytes()], out);
        HandshakeStep::More
    }

    fn start_tls(&mut self, data: &[u8], out: &mut Vec<u8>) -> OptionResult {
        if self.tls == TlsPolicy::Off {
            return Err((rep::ERR_POLICY, "this server has no certificate"));
        }
        if self.encrypted || !data.is_empty() {
            return Err((rep::ERR_INVALID, "TLS already, or data where none belongs"));
        }
        (self.encrypted, self.structured, self.allocation) = (true, false, None);
        reply(option::STARTTLS, rep::ACK, &[], out);
        Ok(HandshakeStep::StartTls)
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        if name.is_empty() && !self.offers.is_empty() {
            return Some(0);
        }
        self.offers.iter().position(|offer| offer.name.as_bytes() == name)
    }

    fn agreed(&self, export: usize) -> Agreed {
        let allocation = self.allocation == Some(export);
        Agreed { export, structured: self.structured, allocation }
    }

    fn export_name(&self, name: &[u8], out: &mut Vec<u8>) -> HandshakeStep {
        let Some(export) = self.find(name) else {
            return HandshakeStep::Close("an unknown export");
        };
        let info = &self.offers[export].info;
        out.extend(info.size.0.to_be_bytes());
        out.extend(transmission_flags(info, self.structured).to_be_bytes());
        if self.zeroes {
            out.extend([0; 124]);
        }
        HandshakeStep::Transmit(self.agreed(export))
    }

    fn list(&self, data: &[u8], out: &mut Vec<u8>) -> OptionResult {
        if !data.is_empty() {
            return Err((rep::ERR_INVALID, "data where none belongs"));
        }
        for offer in self.offers.iter() {
            let (name, description) = (offer.name.as_bytes(), offer.description.as_bytes());
            reply(option::LIST, rep::SERVER, &[&length(name), name, description], out);
        }
        reply(option::LIST, rep::ACK, &[], out);
        Ok(HandshakeStep::More)
    }

    fn go(&self, option: u32, data: &[u8], out: &mut Vec<u8>) -> OptionResult {
        let Some((name, wanted)) = go_data(data) else {
            return Err((rep::ERR_INVALID, "lengths that do not fit"));
        };
        let Some(export) = self.find(name) else {
            return Err((rep::ERR_UNKNOWN, "no export of that name"));
        };
        let wants = |kind: u16| wanted.chunks_exact(2).any(|item| item == kind.to_be_bytes());
        let offer = &self.offers[export];
        let mut inform = |kind: u16, parts: &[&[u8]]| {
            let kind = kind.to_be_bytes();
            let parts: Vec<&[u8]> = [&kind[..]].iter().chain(parts).copied().collect();
            reply(option, rep::INFO, &parts, out);
        };
        let flags = transmission_flags(&offer.info, self.structured).to_be_bytes();
        inform(info::EXPORT, &[&offer.info.size.0.to_be_bytes(), &flags]);
        if wants(info::NAME) {
            inform(info::NAME, &[offer.name.as_bytes()]);
        }
        if wants(info::DESCRIPTION) && !offer.description.is_empty() {
            inform(info::DESCRIPTION, &[offer.description.as_bytes()]);
        }
        if wants(info::BLOCK_SIZE) {
            let [minimum, preferred, maximum] =
                [offer.info.minimum, offer.info.preferred, offer.info.maximum]
                    .map(|size| u32::try_from(size.0).unwrap_or(u32::MAX).to_be_bytes());
            inform(info::BLOCK_SIZE, &[&minimum, &preferred, &maximum]);
        }
        reply(option, rep::ACK, &[], out);
        Ok(match option {
            option::GO => HandshakeStep::Transmit(self.agreed(export)),
            _ => HandshakeStep::More,
        })
    }

    /// Lists or selects metadata contexts. There is only `base:allocation`.
    fn meta(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> OptionResult {
        let set = option == option::SET_META_CONTEXT;
        if set {
            self.allocation = None;
        }
        if !self.structured {
            return Err((rep::ERR_INVALID, "structured replies come first"));
        }
        let Some((name, matched)) = meta_data(data, set) else {
            return Err((rep::ERR_INVALID, "lengths that do not fit"));
        };
        let Some(export) = self.find(name) else {
            return Err((rep::ERR_UNKNOWN, "no export of that name"));
        };
        if matched {
            let id = if set { wire::ALLOCATION_ID } else { 0 };
            let context = [&id.to_be_bytes()[..], wire::ALLOCATION.as_bytes()];
            reply(option, rep::META_CONTEXT, &context, out);
            if set {
                self.allocation = Some(export);
            }
        }
        reply(option, rep::ACK, &[], out);
        Ok(HandshakeStep::More)
    }
}

/// The name of the export, and the requested kinds of information as 16-bit numbers.
fn go_data(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader(data);
    let name = reader.string()?;
    let count = usize::from(reader.u16()?);
    (reader.0.len() == count * 2).then_some((name, reader.0))
}

/// The name of the export, and whether a query matches `base:allocation`.
fn meta_data(data: &[u8], set: bool) -> Option<(&[u8], bool)> {
    let mut reader = Reader(data);
    let name = reader.string()?;
    let count = reader.u32()?;
    let mut matched = count == 0 && !set;
    for _ in 0..count {
        let query = reader.string()?;
        matched |= query == wire::ALLOCATION.as_bytes() || (!set && query == b"base:");
    }
    reader.0.is_empty().then_some((name, matched))
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()
}

fn reply(option: u32, kind: u32, parts: &[&[u8]], out: &mut Vec<u8>) {
    out.extend(wire::OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    let total: usize = parts.iter().map(|part| part.len()).sum();
    out.extend(u32::try_from(total).unwrap_or(u32::MAX).to_be_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
}
