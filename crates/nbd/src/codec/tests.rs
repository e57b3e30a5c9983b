//! Tests of the codec: the result does not depend on how the input is cut, and no input is fatal.

#[path = "../../tests/common/bytes.rs"]
mod bytes;

use super::handshake::{Handshake, HandshakeStep, MAX_OPTION, MAX_OPTIONS, TlsPolicy};
use super::request::{ParsedRequest, RequestParser};
use super::wire::{self, command, flag, info, option, rep};
use super::{Agreed, Offer};
use crate::export::{Errno, ExportInfo, Op};
use bytes::{option_bytes as opt, request, string as text};
use gordon_blockio::Command;
use gordon_units::Bytes;
use proptest::prelude::*;
use std::sync::Arc;

fn offers() -> Arc<[Offer]> {
    let minimum = ExportInfo { minimum: Bytes(512), ..ExportInfo::new(Bytes(1 << 20)) };
    let offer = |name: &str, description: &str, info| Offer {
        name: name.into(),
        description: description.into(),
        info,
    };
    [
        offer("first", "", minimum),
        offer("second", "words", ExportInfo { read_only: true, ..ExportInfo::new(Bytes(4096)) }),
    ]
    .into()
}

fn go(name: &str, kinds: &[u16]) -> Vec<u8> {
    let mut data = text(name);
    data.extend(u16::try_from(kinds.len()).unwrap().to_be_bytes());
    data.extend(kinds.iter().flat_map(|kind| kind.to_be_bytes()));
    data
}

fn meta(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = text(name);
    data.extend(u32::try_from(queries.len()).unwrap().to_be_bytes());
    data.extend(queries.iter().flat_map(|query| text(query)));
    data
}

/// Passes the pieces to the handshake until it ends. Returns its output, its last step, and the
/// rest of the input.
fn feed(
    machine: &mut Handshake,
    pieces: &mut dyn Iterator<Item = &[u8]>,
) -> (Vec<u8>, HandshakeStep, Vec<u8>) {
    let mut out = Vec::new();
    while let Some(mut piece) = pieces.next() {
        while !piece.is_empty() {
            let before = piece.len();
            let (used, step) = machine.receive(piece, &mut out);
            assert!(used > 0 && used <= before, "each call takes at least one byte");
            piece = &piece[used..];
            if step != HandshakeStep::More {
                let rest = pieces.fold(piece.to_vec(), |rest, piece| [&rest, piece].concat());
                return (out, step, rest);
            }
        }
    }
    (out, HandshakeStep::More, Vec::new())
}

/// Parses the replies of the server: option, kind and data of each.
fn replies(mut bytes: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let mut reader = wire::Reader(bytes);
        assert_eq!(reader.u64(), Some(wire::OPTION_REPLY_MAGIC));
        let (option, kind) = (reader.u32().unwrap(), reader.u32().unwrap());
        let length = reader.u32().unwrap() as usize;
        found.push((option, kind, reader.bytes(length).unwrap().to_vec()));
        bytes = reader.0;
    }
    found
}

fn talk(tls: TlsPolicy, flags: u32, options: &[Vec<u8>]) -> (Vec<(u32, u32)>, HandshakeStep) {
    let bytes = [&flags.to_be_bytes()[..], &options.concat()].concat();
    let mut machine = Handshake::new(offers(), tls);
    let (out, step, _) = feed(&mut machine, &mut [&bytes[..]].into_iter());
    (replies(&out).into_iter().map(|(option, kind, _)| (option, kind)).collect(), step)
}

#[test]
fn a_whole_handshake() {
    let mut bytes = 3u32.to_be_bytes().to_vec();
    bytes.extend(opt(option::STRUCTURED_REPLY, &[]));
    bytes.extend(opt(option::LIST, &[]));
    bytes.extend(opt(option::SET_META_CONTEXT, &meta("second", &["base:allocation", "x-y:z"])));
    bytes.extend(opt(option::INFO, &go("", &[info::NAME])));
    bytes.extend(opt(option::GO, &go("second", &[info::BLOCK_SIZE, info::DESCRIPTION, 77])));
    bytes.extend(b"requests");
    let mut machine = Handshake::new(offers(), TlsPolicy::Off);
    let (out, step, rest) = feed(&mut machine, &mut [&bytes[..]].into_iter());
    assert_eq!(
        step,
        HandshakeStep::Transmit(Agreed { export: 1, structured: true, allocation: true })
    );
    assert_eq!(rest, b"requests");
    let said = replies(&out);
    let kinds: Vec<_> = said.iter().map(|(_, kind, _)| *kind).collect();
    let (ack, server, info_reply, context) = (rep::ACK, rep::SERVER, rep::INFO, rep::META_CONTEXT);
    let mut expected = vec![ack, server, server, ack, context, ack];
    expected.extend([info_reply, info_reply, ack, info_reply, info_reply, info_reply, ack]);
    assert_eq!(kinds, expected);
    assert_eq!(said[1].2, text("first"));
    assert_eq!(said[2].2, [text("second"), b"words".to_vec()].concat());
    assert_eq!(said[7].2, [&info::NAME.to_be_bytes()[..], b"first"].concat());
    // Size 4096; flags HAS_FLAGS, READ_ONLY, FLUSH, FUA, DF, MULTI_CONN, CACHE.
    assert_eq!(said[9].2, [0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0b101, 0b1000_1111]);
    assert_eq!(said[11].2, [0, 3, 0, 0, 0, 1, 0, 0, 0x10, 0, 2, 0, 0, 0]);
}

#[test]
fn an_invalid_option_is_refused_and_the_handshake_continues() {
    let long = vec![0; MAX_OPTION + 1];
    let cases = [
        (opt(option::LIST, &[1]), rep::ERR_INVALID),
        (opt(option::STRUCTURED_REPLY, &[1]), rep::ERR_INVALID),
        (opt(option::SET_META_CONTEXT, &meta("first", &[])), rep::ERR_INVALID),
        (opt(option::INFO, &go("third", &[])), rep::ERR_UNKNOWN),
        (opt(option::INFO, &[0, 0, 0, 9, 1]), rep::ERR_INVALID),
        (opt(option::GO, &[]), rep::ERR_INVALID),
        (opt(option::GO, &go("first", &[])[..10]), rep::ERR_INVALID),
        (opt(option::STARTTLS, &[]), rep::ERR_POLICY),
        (opt(4, &[]), rep::ERR_UNSUP),
        (opt(11, &[]), rep::ERR_UNSUP),
        (opt(u32::MAX, &[1, 2, 3]), rep::ERR_UNSUP),
        (opt(option::LIST, &long), rep::ERR_TOO_BIG),
    ];
    let options: Vec<_> = cases.iter().map(|(option, _)| option.clone()).collect();
    let (said, step) = talk(TlsPolicy::Off, 1, &options);
    assert_eq!(step, HandshakeStep::More);
    let kinds: Vec<_> = said.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, cases.map(|(_, kind)| kind));
}

#[test]
fn input_that_cannot_be_answered_ends_the_handshake() {
    let ends = |tls, flags, options: &[Vec<u8>]| {
        let (said, step) = talk(tls, flags, options);
        assert!(matches!(step, HandshakeStep::Close(_)), "{options:?}");
        said
    };
    ends(TlsPolicy::Off, 4, &[]);
    ends(TlsPolicy::Off, 0, &[opt(option::LIST, &[])]);
    ends(TlsPolicy::Off, 1, &[opt(option::EXPORT_NAME, b"third")]);
    ends(TlsPolicy::Off, 1, &[opt(option::EXPORT_NAME, &vec![b'x'; MAX_OPTION + 1])]);
    ends(TlsPolicy::Off, 1, &[b"GET / HTTP/1.1\r\n\r\n".to_vec()]);
    ends(TlsPolicy::Required, 2, &[]);
    ends(TlsPolicy::Required, 1, &[opt(option::EXPORT_NAME, b"first")]);
    let said = ends(TlsPolicy::Off, 1, &[opt(option::ABORT, b"why")]);
    assert_eq!(said, [(option::ABORT, rep::ACK)]);
    let many = vec![opt(option::LIST, &[1]); MAX_OPTIONS as usize + 1];
    assert_eq!(ends(TlsPolicy::Off, 1, &many).len(), MAX_OPTIONS as usize);
}

#[test]
fn the_reply_to_export_name_has_zeroes_unless_the_client_declines_them() {
    for (flags, length) in [(0, 134), (1, 134), (3, 10)] {
        let bytes = [&u32::to_be_bytes(flags)[..], &opt(option::EXPORT_NAME, b"first")].concat();
        let mut machine = Handshake::new(offers(), TlsPolicy::Off);
        let (out, step, _) = feed(&mut machine, &mut [&bytes[..]].into_iter());
        assert_eq!(out.len(), length);
        let plain = Agreed { export: 0, structured: false, allocation: false };
        assert_eq!(step, HandshakeStep::Transmit(plain));
    }
}

#[test]
fn tls_resets_what_was_negotiated_before_it() {
    let mut machine = Handshake::new(offers(), TlsPolicy::Offered);
    let mut bytes = 3u32.to_be_bytes().to_vec();
    bytes.extend(opt(option::STRUCTURED_REPLY, &[]));
    bytes.extend(opt(option::SET_META_CONTEXT, &meta("", &["base:allocation"])));
    bytes.extend(opt(option::STARTTLS, &[]));
    assert_eq!(feed(&mut machine, &mut [&bytes[..]].into_iter()).1, HandshakeStep::StartTls);
    let bytes = [opt(option::STARTTLS, &[]), opt(option::GO, &go("", &[]))].concat();
    let (out, step, _) = feed(&mut machine, &mut [&bytes[..]].into_iter());
    assert_eq!(replies(&out)[0].1, rep::ERR_INVALID, "TLS in TLS");
    assert_eq!(
        step,
        HandshakeStep::Transmit(Agreed { export: 0, structured: false, allocation: false })
    );

    let options = [opt(option::LIST, &[]), opt(99, &[]), opt(option::GO, &go("", &[]))];
    let (said, step) = talk(TlsPolicy::Required, 1, &options);
    assert!(said.iter().all(|(_, kind)| *kind == rep::ERR_TLS_REQD) && said.len() == 3);
    assert_eq!(step, HandshakeStep::More);
}

#[test]
fn contexts_are_selected_for_one_export() {
    let set = |queries: &[&str], name: &str| {
        let options = [
            opt(option::STRUCTURED_REPLY, &[]),
            opt(option::LIST_META_CONTEXT, &meta("first", &["base:"])),
            opt(option::SET_META_CONTEXT, &meta("first", queries)),
            opt(option::GO, &go(name, &[])),
        ];
        let (said, step) = talk(TlsPolicy::Off, 1, &options);
        assert_eq!(said[1].1, rep::META_CONTEXT, "a wildcard lists");
        matches!(step, HandshakeStep::Transmit(Agreed { allocation: true, .. }))
    };
    assert!(set(&["base:allocation"], ""));
    assert!(set(&["qemu:dirty-bitmap:x", "base:allocation"], "first"));
    assert!(!set(&["base:allocation"], "second"));
    assert!(!set(&["base:"], "first"), "a wildcard selects nothing");
    assert!(!set(&[], "first"));
}

/// A request whose cookie is derived from its range.
fn ask(kind: u16, flags: u16, offset: u64, length: u32) -> Vec<u8> {
    request(kind, flags, offset ^ u64::from(length), offset, length)
}

fn requests(read_only: bool, structured: bool) -> RequestParser {
    let small = ExportInfo {
        minimum: Bytes(512),
        maximum: Bytes(1 << 18),
        ..ExportInfo::new(Bytes(1 << 20))
    };
    let agreed = Agreed { export: 0, structured, allocation: structured };
    RequestParser::new(ExportInfo { read_only, ..small }, agreed, &[])
}

/// Passes the bytes to the parser in pieces of the sizes `cuts`, and collects what it parses.
fn drive(machine: &mut RequestParser, mut bytes: &[u8], cuts: &[usize]) -> Vec<ParsedRequest> {
    let mut found = Vec::new();
    let mut cuts = cuts.iter().cycle();
    // Every third request for a buffer fails at first.
    let mut asked = 0;
    loop {
        match machine.next(|length| {
            asked += 1;
            (asked % 3 != 0).then(|| vec![0; length])
        }) {
            ParsedRequest::More if bytes.is_empty() => return found,
            ParsedRequest::More => {
                let room = machine.free_buffer();
                let count = (*cuts.next().unwrap_or(&usize::MAX)).min(bytes.len()).min(room.len());
                assert!(count > 0, "there is space for more input");
                room[..count].copy_from_slice(&bytes[..count]);
                machine.filled(count);
                bytes = &bytes[count..];
            }
            ParsedRequest::NoBuffer => {}
            end @ (ParsedRequest::Disconnect | ParsedRequest::Garbage) => {
                found.push(end);
                return found;
            }
            next => found.push(next),
        }
    }
}

fn errno(read_only: bool, structured: bool, bytes: &[u8]) -> Option<Errno> {
    let found = drive(&mut requests(read_only, structured), bytes, &[]);
    assert_eq!(found.len(), 1, "{bytes:?}");
    match &found[0] {
        ParsedRequest::Refused { fault, .. } => Some(fault.errno),
        _ => None,
    }
}

#[test]
fn each_invalid_request_gets_its_error_number() {
    let payload = |request: Vec<u8>, length| [request, vec![7; length]].concat();
    let (inval, nospc) = (Some(Errno::Inval), Some(Errno::NoSpc));
    for (bytes, expected) in [
        (ask(command::READ, 0, 0, 512), None),
        (ask(command::READ, flag::FUA | flag::DF, 512, 512), None),
        (ask(command::READ, flag::NO_HOLE, 0, 512), inval),
        (ask(command::READ, 0, 0, 0), inval),
        (ask(command::READ, 0, 100, 512), inval),
        (ask(command::READ, 0, 0, 511), inval),
        (ask(command::READ, 0, 1 << 20, 512), inval),
        (ask(command::READ, 0, u64::MAX - 511, 512), inval),
        (ask(command::READ, 0, 0, 1 << 19), Some(Errno::Overflow)),
        (payload(ask(command::WRITE, 0, 0, 512), 512), None),
        (payload(ask(command::WRITE, flag::DF, 0, 512), 512), inval),
        (payload(ask(command::WRITE, 0, 1 << 20, 512), 512), nospc),
        (payload(ask(command::WRITE, 0, 0, 1 << 19), 1 << 19), inval),
        (ask(command::FLUSH, 0, 0, 0), None),
        (ask(command::FLUSH, 0, 0, 512), inval),
        (ask(command::TRIM, flag::FUA, 0, 1 << 20), None),
        (ask(command::TRIM, 0, 512, 1 << 20), inval),
        (ask(command::WRITE_ZEROES, flag::NO_HOLE | flag::FAST_ZERO, 0, 1 << 20), None),
        (ask(command::WRITE_ZEROES, 0, 512, 1 << 20), nospc),
        (ask(command::CACHE, 0, 0, 1 << 20), None),
        (ask(command::CACHE, flag::DF, 0, 512), inval),
        (ask(command::BLOCK_STATUS, flag::REQ_ONE, 0, 1 << 20), None),
        (ask(8, 0, 0, 0), inval),
        (ask(u16::MAX, u16::MAX, u64::MAX, u32::MAX), inval),
    ] {
        assert_eq!(errno(false, true, &bytes), expected, "{:?}", &bytes[..28]);
    }
    assert_eq!(errno(false, false, &ask(command::READ, flag::DF, 0, 512)), inval);
    assert_eq!(errno(false, false, &ask(command::READ, 0, 0, 1 << 19)), inval);
    assert_eq!(errno(false, false, &ask(command::BLOCK_STATUS, 0, 0, 512)), inval);
    for kind in [command::TRIM, command::WRITE_ZEROES] {
        assert_eq!(errno(true, true, &ask(kind, 0, 0, 512)), Some(Errno::Perm));
    }
    let write = payload(ask(command::WRITE, 0, 0, 512), 512);
    assert_eq!(errno(true, true, &write), Some(Errno::Perm));
}

#[test]
fn input_after_a_disconnect_is_ignored() {
    let bytes = [ask(command::DISC, 0, 0, 0), ask(command::READ, 0, 0, 512)].concat();
    let mut machine = requests(false, true);
    assert_eq!(drive(&mut machine, &bytes, &[]), [ParsedRequest::Disconnect]);
    assert_eq!(machine.next(|_| None), ParsedRequest::Disconnect);
    assert_eq!(drive(&mut requests(false, true), &[9; 28], &[]), [ParsedRequest::Garbage]);
}

/// Valid and invalid options.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop::collection::vec(0u16..5, 0..4);
    let names = prop::sample::select(vec!["", "first", "second", "third"]);
    let queries = prop::collection::vec(
        prop::sample::select(vec!["base:allocation", "base:", "x-a:b", ""]),
        0..3,
    );
    let any = (0u32..13, prop::collection::vec(any::<u8>(), 0..40));
    prop_oneof![
        (names.clone(), kinds, 6u32..8)
            .prop_map(|(name, kinds, kind)| opt(kind, &go(name, &kinds))),
        (names, queries, 9u32..11).prop_map(|(name, list, kind)| opt(kind, &meta(name, &list))),
        Just(opt(option::STRUCTURED_REPLY, &[])),
        Just(opt(option::LIST, &[])),
        Just(opt(77, &vec![0; MAX_OPTION + 9])),
        any.prop_map(|(kind, data)| opt(kind, &data)),
    ]
}

/// Cuts the bytes into pieces of these lengths, which repeat.
fn pieces<'a>(bytes: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let (mut rest, mut cuts) = (bytes, cuts.iter().cycle());
    std::iter::from_fn(move || {
        let count = (*cuts.next()?).min(rest.len());
        let (head, tail) = rest.split_at(count);
        rest = tail;
        (count > 0).then_some(head)
    })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1usize..4, 1usize..100, 1usize..300_000], 1..20)
}

proptest! {
    #[test]
    fn a_handshake_does_not_depend_on_how_its_input_is_cut(
        flags in 0u32..4,
        options in prop::collection::vec(options(), 0..12),
        tls in prop::sample::select(vec![TlsPolicy::Off, TlsPolicy::Offered, TlsPolicy::Required]),
        cuts in cuts(),
    ) {
        let bytes = [&flags.to_be_bytes()[..], &options.concat()].concat();
        let whole = feed(&mut Handshake::new(offers(), tls), &mut [&bytes[..]].into_iter());
        let cut = feed(&mut Handshake::new(offers(), tls), &mut pieces(&bytes, &cuts));
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn no_input_makes_a_handshake_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        feed(&mut Handshake::new(offers(), TlsPolicy::Off), &mut [&bytes[..]].into_iter());
        let mut started = 3u32.to_be_bytes().to_vec();
        for chunk in bytes.chunks(40) {
            started.extend(opt(u32::from(chunk[0] % 12), &chunk[1..]));
        }
        feed(&mut Handshake::new(offers(), TlsPolicy::Off), &mut [&started[..]].into_iter());
    }

    #[test]
    fn requests_do_not_depend_on_how_their_input_is_cut(
        asked in prop::collection::vec((0u16..9, 0u16..32, 0u64..2100, 0u32..600), 0..20),
        read_only: bool,
        structured: bool,
        cuts in cuts(),
    ) {
        let mut bytes = Vec::new();
        for (kind, flags, offset, length) in asked {
            bytes.extend(ask(kind, flags, offset * 512, length * 512));
            if kind == command::WRITE {
                bytes.extend((0..length * 512).map(|at| (at % 251) as u8));
            }
        }
        let whole = drive(&mut requests(read_only, structured), &bytes, &[]);
        let cut = drive(&mut requests(read_only, structured), &bytes, &cuts);
        for next in &whole {
            if let ParsedRequest::Request { op, data, .. } = next
                && matches!(op, Op::Command(Command::Write { .. }))
            {
                prop_assert!(data.iter().zip(0u32..).all(|(byte, at)| *byte == (at % 251) as u8));
            }
        }
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn no_input_makes_the_request_parser_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        cuts in cuts(),
    ) {
        drive(&mut requests(false, true), &bytes, &cuts);
        let mut framed = Vec::new();
        for chunk in bytes.chunks(24) {
            framed.extend(wire::REQUEST_MAGIC.to_be_bytes());
            framed.extend(chunk);
        }
        drive(&mut requests(false, true), &framed, &cuts);
    }
}
