//! Reads the bytes of a file or of standard input, and decompresses them. gzip, zstd, xz, bzip2 and
//! the block streams of Java (`java_blocks`) are recognized by their magic numbers; concatenated
//! compressed files are read to the end.
//!
//! Memory is bounded by a buffer of 256 KiB and the memory of the decompressor. The buffer grows
//! for long lines, up to 1 MiB; a longer line is an error.

use super::entry_error::FilePosition;
use super::error::FormatError;
use super::java_blocks::{JavaBlocks, JavaCodec};
use crate::foreign::{UTF16, is_utf16};
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::ErrorKind;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of bytes from which a format is detected.
pub(super) const HEAD: usize = 1 << 16;

/// Bytes from which UTF-16 is known.
const MARK_OF_UTF16: usize = 4;
const BUFFER: usize = 1 << 18;
/// The longest line.
pub(super) const LONGEST: usize = 1 << 20;

/// Bytes of the longest magic number.
const MAGIC: usize = 8;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const BZIP2: &[u8] = b"BZh";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A file whose bytes read so far can be seen while it is read.
struct CountedFile {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for CountedFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(into)?;
        self.read.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
}

/// A window over the decompressed bytes that only moves forward.
pub(crate) struct Input {
    from: Box<dyn Read + Send>,
    /// Bytes read from the file, before decompression.
    read: Arc<AtomicU64>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Number of bytes before the window.
    passed: u64,
    finished: bool,
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Self::new(Box::new(io::stdin()));
        }
        let read = Arc::new(AtomicU64::new(0));
        let file = CountedFile { file: File::open(path)?, read: read.clone() };
        Ok(Self { read, ..Self::new(Box::new(file))? })
    }

    /// The number of bytes read from the file so far, before decompression; 0 for standard input.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        self.read.clone()
    }

    /// Decompresses `raw` if it starts with the magic number of a supported compression.
    pub fn new(mut raw: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(MAGIC);
        raw.by_ref().take(MAGIC as u64).read_to_end(&mut magic)?;
        let (gzip, zstd) = (magic.starts_with(GZIP), magic.starts_with(ZSTD));
        let (xz, bzip2) = (magic.starts_with(XZ), magic.starts_with(BZIP2));
        let java = JavaCodec::of(&magic);
        let raw = io::Cursor::new(magic).chain(raw);
        // Uncompressed input needs no further buffer: it is read directly into the window.
        let buffered = |raw| BufReader::with_capacity(BUFFER, raw);
        let from: Box<dyn Read + Send> = if gzip {
            Box::new(MultiGzDecoder::new(buffered(raw)))
        } else if zstd {
            Box::new(zstd::stream::read::Decoder::with_buffer(buffered(raw))?)
        } else if xz {
            Box::new(XzReader::new(buffered(raw), true))
        } else if bzip2 {
            Box::new(MultiBzDecoder::new(buffered(raw)))
        } else if let Some(codec) = java {
            Box::new(JavaBlocks::new(buffered(raw), codec))
        } else {
            Box::new(raw)
        };
        let buffer = vec![0; BUFFER];
        let read = Arc::default();
        let mut input = Self { from, read, buffer, start: 0, end: 0, passed: 0, finished: false };
        // A byte order mark at the start is not part of the text.
        input.want(BYTE_ORDER_MARK.len())?;
        if input.bytes().starts_with(BYTE_ORDER_MARK) {
            input.advance(BYTE_ORDER_MARK.len());
        }
        Ok(input)
    }

    /// The bytes in the window.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The bytes from the start of the window to the end of the file.
    pub fn into_reader(self) -> impl Read + Send {
        let window = self.bytes().to_vec();
        io::Cursor::new(window).chain(self.from)
    }

    /// Position of the first byte in the window.
    pub fn position(&self) -> u64 {
        self.passed + self.start as u64
    }

    /// Moves the start of the window by `len` bytes.
    #[inline]
    pub fn advance(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.end);
    }

    /// Reads more bytes into the window. Returns false at the end of the file.
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

    /// Reads until the window has `len` bytes, or the file ends.
    pub fn want(&mut self, len: usize) -> io::Result<()> {
        while self.end - self.start < len && self.more()? {}
        Ok(())
    }
}

/// The bytes of files together. Those of pipes and of files that cannot be read count as 0.
pub(crate) fn sizes(files: &[PathBuf]) -> u64 {
    files.iter().filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum()
}

/// Opens a trace file; `-` is standard input.
pub(crate) fn open_input(path: &Path) -> Result<Input, FormatError> {
    let mut input = Input::open(path).map_err(|source| match source.kind() {
        // The file is open, but its compressed data are damaged.
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::Other => {
            FormatError::Read { path: path.to_owned(), place: FilePosition::Line(0), source }
        }
        _ => FormatError::Open { path: path.to_owned(), source },
    })?;
    // A read error occurs again when the trace is read, and is reported then.
    let _ = input.want(MARK_OF_UTF16);
    if is_utf16(input.bytes()) {
        let (what, hint) = (UTF16.what.to_owned(), UTF16.hint);
        return Err(FormatError::Unsupported { path: path.to_owned(), what, hint });
    }
    Ok(input)
}
