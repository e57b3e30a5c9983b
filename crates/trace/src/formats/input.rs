//! Bytes of a file or of standard input, decompressed as they come: gzip, zstd, xz and bzip2 are
//! detected by their first bytes, and files joined of several compressed ones are read to the end.
//!
//! Memory is bounded: a buffer of 256 KiB and what the decompressor needs; a line that does not
//! fit in 1 MiB is an error.

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const BUFFER: usize = 1 << 18;
/// The longest line.
pub(super) const LONGEST: usize = 1 << 20;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const BZIP2: &[u8] = b"BZh";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A window on decompressed bytes that moves forward.
pub(super) struct Input {
    from: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes before the window.
    passed: u64,
    finished: bool,
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Self::new(Box::new(io::stdin()));
        }
        Self::new(Box::new(File::open(path)?))
    }

    /// Looks at the first bytes of `raw`, and decompresses it if they say so.
    pub fn new(mut raw: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(6);
        raw.by_ref().take(6).read_to_end(&mut magic)?;
        let (gzip, zstd) = (magic.starts_with(GZIP), magic.starts_with(ZSTD));
        let (xz, bzip2) = (magic.starts_with(XZ), magic.starts_with(BZIP2));
        let raw = io::Cursor::new(magic).chain(raw);
        // What is not compressed is read straight into the window.
        let buffered = |raw| BufReader::with_capacity(BUFFER, raw);
        let from: Box<dyn Read + Send> = if gzip {
            Box::new(MultiGzDecoder::new(buffered(raw)))
        } else if zstd {
            Box::new(zstd::stream::read::Decoder::with_buffer(buffered(raw))?)
        } else if xz {
            Box::new(XzReader::new(buffered(raw), true))
        } else if bzip2 {
            Box::new(MultiBzDecoder::new(buffered(raw)))
        } else {
            Box::new(raw)
        };
        let buffer = vec![0; BUFFER];
        let mut input = Self { from, buffer, start: 0, end: 0, passed: 0, finished: false };
        // What some editors put before a text is none of it.
        input.want(BYTE_ORDER_MARK.len())?;
        if input.bytes().starts_with(BYTE_ORDER_MARK) {
            input.advance(BYTE_ORDER_MARK.len());
        }
        Ok(input)
    }

    /// The bytes at hand.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The place of the first byte at hand.
    pub fn position(&self) -> u64 {
        self.passed + self.start as u64
    }

    /// Leaves `len` bytes behind.
    #[inline]
    pub fn advance(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.end);
    }

    /// Gets more bytes behind those at hand; false at the end of the file.
    pub fn more(&mut self) -> io::Result<bool> {
        if self.finished {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.passed += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            let size = self.buffer.len() * 2;
            if size > LONGEST {
                let why =
                    format!("no end of line within {LONGEST} bytes: this is not a text trace");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            self.buffer.resize(size, 0);
        }
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.finished = true;
                    return Ok(false);
                }
                Ok(len) => {
                    self.end += len;
                    return Ok(true);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Gets up to `len` bytes at hand, fewer only where the file ends.
    pub fn want(&mut self, len: usize) -> io::Result<()> {
        while self.end - self.start < len && self.more()? {}
        Ok(())
    }
}
