//! What a fuzzer asks of the codec: nothing a client says is a panic, and it means the same however
//! it is cut.

use super::Offer;
use super::handshake::{Handshake, Step, TlsPolicy};
use super::request::{Next, Requests};
use crate::export::Info;
use gordon_units::Bytes;
use std::sync::Arc;

/// The first byte says how the rest is cut into pieces; the rest is what the client says.
pub fn talk(data: &[u8]) {
    let Some((&cut, said)) = data.split_first() else { return };
    let piece = usize::from(cut).max(1);
    assert_eq!(hear(said, usize::MAX), hear(said, piece), "the same however it is cut");
}

/// What comes of it: what the server says in the handshake, how that ends, and the requests.
fn hear(mut said: &[u8], piece: usize) -> (Vec<u8>, Option<Step>, Vec<Next>) {
    let info = Info { minimum: Bytes(512), maximum: Bytes(1 << 16), ..Info::new(Bytes(1 << 20)) };
    let offer = Offer { name: "a".into(), description: "words".into(), info };
    let offers: Arc<[Offer]> = [offer].into();
    let mut handshake = Handshake::new(Arc::clone(&offers), TlsPolicy::Offered);
    let mut out = vec![];
    let agreed = loop {
        if said.is_empty() {
            return (out, None, vec![]);
        }
        let (used, step) = handshake.receive(&said[..piece.min(said.len())], &mut out);
        assert!(used > 0, "it moves");
        said = &said[used..];
        match step {
            Step::More | Step::StartTls => {}
            Step::Transmit(agreed) => break agreed,
            Step::Close(_) => return (out, Some(step), vec![]),
        }
    };
    let mut requests = Requests::new(info, agreed, &[]);
    let mut found = vec![];
    loop {
        match requests.next(|length| Some(vec![0; length])) {
            Next::More if said.is_empty() => break,
            Next::More => {
                let room = requests.room();
                assert!(!room.is_empty(), "there is room");
                let count = piece.min(said.len()).min(room.len());
                room[..count].copy_from_slice(&said[..count]);
                requests.filled(count);
                said = &said[count..];
            }
            next => {
                let over = matches!(next, Next::Disconnect | Next::Garbage);
                found.push(next);
                if over {
                    break;
                }
            }
        }
    }
    (out, Some(Step::Transmit(agreed)), found)
}
