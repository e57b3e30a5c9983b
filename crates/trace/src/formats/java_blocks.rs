//! Decompresses the block streams of Java programs: `LZ4BlockOutputStream` of lz4-java and
//! `SnappyOutputStream` of snappy-java, in which Spark writes event logs.
//!
//! A block of LZ4 has a header of 21 bytes: the magic number, a byte with the method and the size
//! of blocks, the compressed and the original length, and a checksum (little endian). A stream of
//! Snappy has a header of 16 bytes; each block has its length in front (big endian). Both may
//! follow one another in a file. A file that ends between two blocks ends there; one that ends
//! within a block is `UnexpectedEof`.

use snap::raw::{Decoder, decompress_len};
use std::hash::Hasher as _;
use std::io::{self, ErrorKind, Read};
use twox_hash::XxHash32;

pub(super) const LZ4: &[u8] = b"LZ4Block";
pub(super) const SNAPPY: &[u8] = b"\x82SNAPPY\0";

/// The largest block of lz4-java. Blocks of snappy-java are 32 KiB unless set otherwise.
const LARGEST: usize = 1 << 25;
/// Lengths of the headers.
const LZ4_HEADER: usize = 21;
const SNAPPY_HEADER: usize = 16;
const SNAPPY_LENGTH: usize = 4;
/// Methods of a block of LZ4, in the high bits of a byte.
const METHOD: u8 = 0xf0;
const STORED: u8 = 0x10;
const COMPRESSED: u8 = 0x20;
/// Seed and bits of the checksum that lz4-java keeps.
const SEED: u32 = 0x9747_b28c;
const CHECKED: u32 = 0x0fff_ffff;
/// The shortest match of LZ4, and the value of a length that more bytes follow.
const LEAST_MATCH: usize = 4;
const MORE: usize = 15;

/// Which program wrote the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JavaCodec {
    Lz4,
    Snappy,
}

impl JavaCodec {
    /// The codec of a file that starts with these bytes.
    pub fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(LZ4) {
            return Some(Self::Lz4);
        }
        head.starts_with(SNAPPY).then_some(Self::Snappy)
    }
}

/// The original bytes of a stream of blocks.
pub(super) struct JavaBlocks<R> {
    from: R,
    codec: JavaCodec,
    packed: Vec<u8>,
    block: Vec<u8>,
    /// Bytes of the block that have been read.
    read: usize,
}

impl<R: Read> JavaBlocks<R> {
    pub fn new(from: R, codec: JavaCodec) -> Self {
        Self { from, codec, packed: Vec::new(), block: Vec::new(), read: 0 }
    }

    /// Reads the next block, which may be empty. Returns false at the end of the file.
    fn next(&mut self) -> io::Result<bool> {
        self.block.clear();
        self.read = 0;
        match self.codec {
            JavaCodec::Lz4 => self.next_lz4(),
            JavaCodec::Snappy => self.next_snappy(),
        }
    }

    fn next_lz4(&mut self) -> io::Result<bool> {
        let mut header = [0; LZ4_HEADER];
        if !self.header(&mut header)? {
            return Ok(false);
        }
        let number = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (packed, original, checksum) = (number(9) as usize, number(13) as usize, number(17));
        if !header.starts_with(LZ4) || packed > LARGEST || original > LARGEST {
            return Err(damaged("the header of a block of LZ4 is damaged"));
        }
        self.packed(packed)?;
        match header[8] & METHOD {
            STORED if packed == original => self.block.extend_from_slice(&self.packed),
            COMPRESSED => lz4(&self.packed, original, &mut self.block)
                .ok_or_else(|| damaged("a block of LZ4 is damaged"))?,
            _ => return Err(damaged("the header of a block of LZ4 is damaged")),
        }
        // The end of a stream is an empty block without a checksum.
        let mut hash = XxHash32::with_seed(SEED);
        hash.write(&self.block);
        if original > 0 && hash.finish_32() & CHECKED != checksum {
            return Err(damaged("the checksum of a block of LZ4 is wrong"));
        }
        Ok(true)
    }

    fn next_snappy(&mut self) -> io::Result<bool> {
        let mut length = [0; SNAPPY_LENGTH];
        if !self.header(&mut length)? {
            return Ok(false);
        }
        if length[..] == SNAPPY[..SNAPPY_LENGTH] {
            let mut rest = [0; SNAPPY_HEADER - SNAPPY_LENGTH];
            self.from.read_exact(&mut rest)?;
            return match rest.starts_with(&SNAPPY[SNAPPY_LENGTH..]) {
                true => Ok(true),
                false => Err(damaged("the header of a stream of Snappy is damaged")),
            };
        }
        let packed = u32::from_be_bytes(length) as usize;
        if packed > LARGEST {
            return Err(damaged("the length of a block of Snappy is damaged"));
        }
        self.packed(packed)?;
        let is_known = |length: &usize| *length <= LARGEST;
        let original = decompress_len(&self.packed).ok().filter(is_known);
        let original = original.ok_or_else(|| damaged("a block of Snappy is damaged"))?;
        self.block.resize(original, 0);
        Decoder::new()
            .decompress(&self.packed, &mut self.block)
            .map_err(|error| damaged(&format!("a block of Snappy is damaged: {error}")))?;
        Ok(true)
    }

    /// Fills `into`. Returns false if the file ends before it.
    fn header(&mut self, into: &mut [u8]) -> io::Result<bool> {
        let mut got = 0;
        while got < into.len() {
            match self.from.read(&mut into[got..]) {
                Ok(0) if got == 0 => return Ok(false),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => got += len,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn packed(&mut self, len: usize) -> io::Result<()> {
        self.packed.clear();
        let got = self.from.by_ref().take(len as u64).read_to_end(&mut self.packed)?;
        if got < len { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl<R: Read> Read for JavaBlocks<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.block.len() {
            if into.is_empty() || !self.next()? {
                return Ok(0);
            }
        }
        let len = into.len().min(self.block.len() - self.read);
        into[..len].copy_from_slice(&self.block[self.read..self.read + len]);
        self.read += len;
        Ok(len)
    }
}

/// Appends the `original` bytes of a block of LZ4; `None` if it is damaged.
fn lz4(mut from: &[u8], original: usize, into: &mut Vec<u8>) -> Option<()> {
    loop {
        let token = usize::from(take(&mut from, 1)?[0]);
        let len = length(token >> 4, &mut from)?;
        into.extend_from_slice(take(&mut from, len)?);
        if from.is_empty() {
            return (into.len() == original).then_some(());
        }
        let offset = take(&mut from, 2)?;
        let offset = usize::from(u16::from_le_bytes([offset[0], offset[1]]));
        let len = LEAST_MATCH + length(token & MORE, &mut from)?;
        if offset == 0 || offset > into.len() || into.len() + len > original {
            return None;
        }
        // The match may overlap what it appends, so that it repeats a pattern.
        let start = into.len() - offset;
        for at in start..start + len {
            into.push(into[at]);
        }
    }
}

/// A length: of 15 or more, the sum of the bytes that follow, up to one below 255, is added.
fn length(short: usize, from: &mut &[u8]) -> Option<usize> {
    let mut len = short;
    if short == MORE {
        loop {
            let byte = take(from, 1)?[0];
            len += usize::from(byte);
            if byte < u8::MAX {
                break;
            }
        }
    }
    Some(len)
}

fn take<'a>(from: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(taken)
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let codec = JavaCodec::of(bytes).expect("a magic number");
        let mut text = Vec::new();
        JavaBlocks::new(bytes, codec).read_to_end(&mut text)?;
        Ok(text)
    }

    fn block(method: u8, packed: &[u8], original: &[u8]) -> Vec<u8> {
        let mut hash = XxHash32::with_seed(SEED);
        hash.write(original);
        let checksum = if original.is_empty() { 0 } else { hash.finish_32() & CHECKED };
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
        [LZ4, &[method], &length(packed), &length(original), &checksum.to_le_bytes(), packed]
            .concat()
    }

    /// "abcabcabcabcabcabcabcabc!": three literals, a match that overlaps itself, a literal.
    const PACKED: &[u8] = b"\x3fabc\x03\0\x02\x10!";
    const TEXT: &[u8] = b"abcabcabcabcabcabcabcabc!";

    #[test]
    fn blocks_of_lz4_are_joined_and_streams_may_follow_one_another() {
        let end = block(STORED, b"", b"");
        let stream = [block(COMPRESSED | 6, PACKED, TEXT), block(STORED, b"x", b"x"), end].concat();
        let once = [TEXT, b"x"].concat();
        assert_eq!(read(&stream).unwrap(), once);
        assert_eq!(read(&[&stream[..], &stream].concat()).unwrap(), once.repeat(2));
    }

    #[test]
    fn a_damaged_block_is_an_error_and_a_cut_one_an_early_end() {
        let whole = block(COMPRESSED, PACKED, TEXT);
        for at in LZ4.len()..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 0x10;
            // The low bits of the method are the size of blocks, which no reader needs.
            assert!(read(&bad).is_err() || at == LZ4.len(), "byte {at}");
            let error = read(&whole[..at]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{at} bytes");
        }
    }

    #[test]
    fn blocks_of_snappy_have_a_header_and_lengths() {
        let packed = snap::raw::Encoder::new().compress_vec(TEXT).unwrap();
        let length = u32::try_from(packed.len()).unwrap().to_be_bytes();
        let stream = [SNAPPY, &[0, 0, 0, 1, 0, 0, 0, 1], &length, &packed].concat();
        assert_eq!(read(&stream).unwrap(), TEXT);
        assert_eq!(read(&stream.repeat(2)).unwrap(), TEXT.repeat(2));
        assert_eq!(read(&stream[..SNAPPY_HEADER]).unwrap(), b"");
        for at in SNAPPY_HEADER + 1..stream.len() {
            let error = read(&stream[..at]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{at} bytes");
        }
        let large = [SNAPPY, &[0; 8], &[0x7f, 0xff, 0xff, 0xff]].concat();
        assert_eq!(read(&large).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
