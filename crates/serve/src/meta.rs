//! What is stored next to a body: status, header fields and freshness of a response, or the names
//! of the request fields by which the variants of a resource differ.
//!
//! Little-endian, without padding: a version, a kind, then the fields in the order of the code. A
//! text has its length in 16 bits before it. What does not parse is a miss.

use crate::http::freshness::Freshness;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

const VERSION: u8 = 1;
const RESPONSE: u8 = 0;
/// 1 was the names without a generation.
const VARY: u8 = 2;

/// What the variants of a resource have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vary {
    /// A random part of the keys of variants: with a new one, nobody finds those stored before.
    pub generation: u64,
    /// Names of request fields; the response is stored once for each combination of their values.
    pub names: Vec<HeaderName>,
}

/// The properties of a file by which a change is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub size: u64,
    pub modified_ns: u64,
    /// Inode and time of its last change, which no program can set.
    pub inode: u64,
    pub changed_ns: u64,
}

/// A stored response without its body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredResponse {
    pub status: StatusCode,
    /// The fields that clients get, without those of one connection and without Age.
    pub headers: HeaderMap,
    pub freshness: Freshness,
    /// Of a file: the file that was read.
    pub stamp: Option<FileStamp>,
}

/// The metadata of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StoredMeta {
    Response(StoredResponse),
    Vary(Vary),
}

impl StoredMeta {
    /// `None` if a field is longer than 64 KiB, which no connection admits.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut out = vec![VERSION];
        match self {
            Self::Response(stored) => {
                out.push(RESPONSE);
                out.extend(stored.status.as_u16().to_le_bytes());
                let f = &stored.freshness;
                out.extend(f.received_ms.to_le_bytes());
                for value in [f.age_s, f.lifetime_s, f.while_revalidate_s, f.if_error_s] {
                    out.extend(value.to_le_bytes());
                }
                out.push(u8::from(f.must_revalidate) | u8::from(stored.stamp.is_some()) << 1);
                if let Some(s) = &stored.stamp {
                    for value in [s.size, s.modified_ns, s.inode, s.changed_ns] {
                        out.extend(value.to_le_bytes());
                    }
                }
                out.extend(u16::try_from(stored.headers.len()).ok()?.to_le_bytes());
                for (name, value) in &stored.headers {
                    text(&mut out, name.as_str().as_bytes())?;
                    text(&mut out, value.as_bytes())?;
                }
            }
            Self::Vary(Vary { generation, names }) => {
                out.push(VARY);
                out.extend(generation.to_le_bytes());
                out.extend(u16::try_from(names.len()).ok()?.to_le_bytes());
                for name in names {
                    text(&mut out, name.as_str().as_bytes())?;
                }
            }
        }
        Some(out)
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        if take::<1>(&mut rest)? != [VERSION] {
            return None;
        }
        let [kind] = take::<1>(&mut rest)?;
        let found = match kind {
            RESPONSE => {
                let status = StatusCode::from_u16(u16::from_le_bytes(take(&mut rest)?)).ok()?;
                let received_ms = u64::from_le_bytes(take(&mut rest)?);
                let age_s = u32::from_le_bytes(take(&mut rest)?);
                let lifetime_s = u32::from_le_bytes(take(&mut rest)?);
                let while_revalidate_s = u32::from_le_bytes(take(&mut rest)?);
                let if_error_s = u32::from_le_bytes(take(&mut rest)?);
                let [flags] = take::<1>(&mut rest)?;
                let mut number = || take(&mut rest).map(u64::from_le_bytes);
                let stamp = if flags & 2 == 0 {
                    None
                } else {
                    let (size, modified_ns) = (number()?, number()?);
                    Some(FileStamp { size, modified_ns, inode: number()?, changed_ns: number()? })
                };
                let count = u16::from_le_bytes(take(&mut rest)?);
                let mut headers = HeaderMap::with_capacity(usize::from(count.min(64)));
                for _ in 0..count {
                    let name = HeaderName::from_bytes(untext(&mut rest)?).ok()?;
                    let value = HeaderValue::from_bytes(untext(&mut rest)?).ok()?;
                    headers.append(name, value);
                }
                let freshness = Freshness {
                    received_ms,
                    age_s,
                    lifetime_s,
                    while_revalidate_s,
                    if_error_s,
                    must_revalidate: flags & 1 != 0,
                };
                Self::Response(StoredResponse { status, headers, freshness, stamp })
            }
            VARY => {
                let generation = u64::from_le_bytes(take(&mut rest)?);
                let count = u16::from_le_bytes(take(&mut rest)?);
                let name = |_| HeaderName::from_bytes(untext(&mut rest)?).ok();
                let names = (0..count).map(name).collect::<Option<_>>()?;
                Self::Vary(Vary { generation, names })
            }
            _ => return None,
        };
        rest.is_empty().then_some(found)
    }
}

fn text(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    out.extend(u16::try_from(text.len()).ok()?.to_le_bytes());
    out.extend(text);
    Some(())
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (found, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*found)
}

fn untext<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::from(u16::from_le_bytes(take(rest)?));
    let (found, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_without_a_generation_are_a_miss() {
        let mut bytes = vec![VERSION, 1];
        bytes.extend(1u16.to_le_bytes());
        text(&mut bytes, b"accept").expect("it is short");
        assert_eq!(StoredMeta::decode(&bytes), None);
    }

    fn response(stamp: Option<FileStamp>) -> StoredMeta {
        let mut headers = HeaderMap::new();
        headers.append("content-type", HeaderValue::from_static("text/html"));
        headers.append("set-cookie", HeaderValue::from_static("a=1"));
        headers.append("set-cookie", HeaderValue::from_bytes(b"b=\xff").expect("a value"));
        let freshness = Freshness {
            received_ms: 1 << 41,
            age_s: 1,
            lifetime_s: 2,
            while_revalidate_s: 3,
            if_error_s: 4,
            must_revalidate: true,
        };
        StoredMeta::Response(StoredResponse { status: StatusCode::OK, headers, freshness, stamp })
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let stamp = FileStamp { size: 1, modified_ns: 2, inode: 3, changed_ns: 4 };
        let names = vec![http::header::ACCEPT, http::header::ACCEPT_LANGUAGE];
        let vary = StoredMeta::Vary(Vary { generation: 1 << 40, names });
        for meta in [response(None), response(Some(stamp)), vary] {
            let bytes = meta.encode().expect("it fits");
            assert_eq!(StoredMeta::decode(&bytes), Some(meta));
            for end in 0..bytes.len() {
                assert_eq!(StoredMeta::decode(&bytes[..end]), None);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = VERSION;
            }
            StoredMeta::decode(&bytes);
        }
    }
}
