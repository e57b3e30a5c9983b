//! The entry point of the fuzz target: no input makes the codec panic, and the result does not
//! depend on how the input is cut into pieces.

use super::Offer;
use super::handshake::{Handshake, HandshakeStep, TlsPolicy};
use super::request::{ParsedRequest, RequestParser};
use crate::export::ExportInfo;
use gordon_units::Bytes;
use std::sync::Arc;

/// Runs the codec on the input, whole and in pieces. The first byte is the size of the pieces, the
/// rest is what the client sends.
pub fn talk(data: &[u8]) {
    let Some((&size, input)) = data.split_first() else { return };
    let size = usize::from(size).max(1);
    assert_eq!(run(input, usize::MAX), run(input, size), "pieces change nothing");
}

/// Runs the codec on the input in pieces of this size. Returns the output of the handshake, how it
/// ended, and the requests that followed.
fn run(mut input: &[u8], size: usize) -> (Vec<u8>, Option<HandshakeStep>, Vec<ParsedRequest>) {
    let info = ExportInfo {
        minimum: Bytes(512),
        maximum: Bytes(1 << 16),
        ..ExportInfo::new(Bytes(1 << 20))
    };
    let offer = Offer { name: "a".into(), description: "words".into(), info };
    let offers: Arc<[Offer]> = [offer].into();
    let mut handshake = Handshake::new(Arc::clone(&offers), TlsPolicy::Offered);
    let mut output = vec![];
    let agreed = loop {
        if input.is_empty() {
            return (output, None, vec![]);
        }
        let (used, step) = handshake.receive(&input[..size.min(input.len())], &mut output);
        assert!(used > 0, "each call takes at least one byte");
        input = &input[used..];
        match step {
            HandshakeStep::More | HandshakeStep::StartTls => {}
            HandshakeStep::Transmit(agreed) => break agreed,
            HandshakeStep::Close(_) => return (output, Some(step), vec![]),
        }
    };
    let mut parser = RequestParser::new(info, agreed, &[]);
    let mut parsed = vec![];
    loop {
        match parser.next(|length| Some(vec![0; length])) {
            ParsedRequest::More if input.is_empty() => break,
            ParsedRequest::More => {
                let buffer = parser.free_buffer();
                assert!(!buffer.is_empty(), "there is space for more input");
                let count = size.min(input.len()).min(buffer.len());
                buffer[..count].copy_from_slice(&input[..count]);
                parser.filled(count);
                input = &input[count..];
            }
            next => {
                let is_over = matches!(next, ParsedRequest::Disconnect | ParsedRequest::Garbage);
                parsed.push(next);
                if is_over {
                    break;
                }
            }
        }
    }
    (output, Some(HandshakeStep::Transmit(agreed)), parsed)
}
