//! Writes block traces in other formats, and in our own.
//!
//! A file has a temporary name until it is complete. The suffixes `.gz` and `.zst` select
//! compression; `-` is standard output.

use super::error::FormatError;
use super::fio;
use super::format::Format;
use super::request::TraceRequest;
use crate::columns::Columns;
use crate::manifest::{ImportSource, MachineInfo, Manifest, Unavailable};
use crate::model::{BlockFlags, BlockIo};
use crate::write::BlockLogWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use gordon_blockio::IoOp;
use gordon_units::Ns;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER: usize = 1 << 18;
/// Bytes of text that are collected before they are written.
const CHUNK: usize = 1 << 16;
/// 1970 in Windows file time: units of 100 ns since 1601.
const UNIX_AS_FILE_TIME: u64 = 116_444_736_000_000_000;

/// Writes one trace.
pub(super) enum RequestWriter {
    Gordon { log: Box<BlockLogWriter>, imported: ImportSource, process: u32 },
    File(Box<OutputFile>),
}

/// A file in the format of another program.
pub(super) struct OutputFile {
    format: Format,
    out: Compressor,
    path: PathBuf,
    /// Temporary name, removed when dropped before the file is complete.
    partial: Option<PathBuf>,
    chunk: Vec<u8>,
    /// The devices written so far (fio).
    devices: Vec<u32>,
    last: Ns,
}

enum Compressor {
    Plain(Box<dyn Write + Send>),
    Gzip(GzEncoder<Box<dyn Write + Send>>),
    Zstd(zstd::Encoder<'static, Box<dyn Write + Send>>),
}

impl Compressor {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(bytes),
            Self::Gzip(out) => out.write_all(bytes),
            Self::Zstd(out) => out.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let mut out = match self {
            Self::Plain(out) => out,
            Self::Gzip(out) => out.finish()?,
            Self::Zstd(out) => out.finish()?,
        };
        out.flush()
    }
}

impl Format {
    /// Whether [`convert`](super::convert) can write this format.
    pub const fn is_written(self) -> bool {
        matches!(
            self,
            Self::Gordon
                | Self::Fio
                | Self::MSR
                | Self::MQSIM
                | Self::DISKSIM
                | Self::SPC
                | Self::ALIBABA
                | Self::OracleGeneral
        )
    }

    /// Resolution of the times in this format.
    pub(super) const fn resolution(self) -> Ns {
        match self {
            Self::Fio | Self::ALIBABA => Ns(1000),
            Self::MSR => Ns(100),
            Self::OracleGeneral => Ns::SECOND,
            _ => Ns(1),
        }
    }

    /// Whether the format can express `op`.
    pub(super) const fn can_express(self, op: IoOp) -> bool {
        match self {
            Self::Gordon | Self::Fio => true,
            _ => matches!(op, IoOp::Read | IoOp::Write),
        }
    }
}

impl RequestWriter {
    pub fn create(
        path: &Path,
        format: Format,
        from: Format,
        input: &Path,
    ) -> Result<Self, FormatError> {
        if format != Format::Gordon {
            return OutputFile::create(path, format).map(|text| Self::File(Box::new(text)));
        }
        let columns = Columns::converted(from.name(), from.has_latency());
        let mut log = BlockLogWriter::create(path, columns)?;
        let process = log.block().process("");
        let name = input.file_name().unwrap_or_default();
        let imported = ImportSource {
            format: from.name().to_owned(),
            file: name.to_string_lossy().into_owned(),
        };
        Ok(Self::Gordon { log: Box::new(log), imported, process })
    }

    /// Writes a request, whose operation the format must be able to express.
    pub fn push(&mut self, io: &TraceRequest) -> Result<(), FormatError> {
        match self {
            Self::File(text) => text.push(io),
            Self::Gordon { log, process, .. } => {
                let sectors = u32::try_from(io.len.0 / 512).map_err(|_| {
                    let why = "a request of 2 TiB or more does not fit in our own format\n  try: \
                               --to mqsim, or --skip-bad";
                    FormatError::Option(why.to_owned())
                })?;
                log.block().push(BlockIo {
                    at: io.at,
                    device: io.device,
                    sector: io.offset.0 / 512,
                    sectors,
                    op: io.op,
                    flags: if io.durable { BlockFlags::FUA } else { BlockFlags::default() },
                    pid: 0,
                    process: *process,
                    latency: io.latency,
                })?;
                Ok(())
            }
        }
    }

    /// Writes a record of a binary format.
    pub fn record(&mut self, record: &[u8]) -> Result<(), FormatError> {
        match self {
            Self::File(file) => {
                file.chunk.extend_from_slice(record);
                if file.chunk.len() >= CHUNK { file.write() } else { Ok(()) }
            }
            Self::Gordon { .. } => unreachable!("our own format is written by request"),
        }
    }

    /// Completes the trace.
    pub fn finish(self) -> Result<(), FormatError> {
        match self {
            Self::File(text) => text.finish(),
            Self::Gordon { log, imported, .. } => {
                let command = vec![format!("(converted from {})", imported.file)];
                let mut manifest = Manifest::new(command, Ns::ZERO, MachineInfo::default());
                let why =
                    format!("converted from {}, which has block requests alone", imported.format);
                manifest.unavailable.push(Unavailable { what: "activity".to_owned(), why });
                manifest.imported = Some(imported);
                log.finish(manifest)?;
                Ok(())
            }
        }
    }
}

impl OutputFile {
    fn create(path: &Path, format: Format) -> Result<Self, FormatError> {
        let failed = |source| FormatError::Write { path: path.to_owned(), source };
        let (raw, partial): (Box<dyn Write + Send>, _) = if path.as_os_str() == "-" {
            (Box::new(BufWriter::with_capacity(BUFFER, io::stdout())), None)
        } else {
            if path.symlink_metadata().is_ok() {
                return Err(crate::error::TraceError::Exists(path.to_owned()).into());
            }
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".partial-{}", std::process::id()));
            let partial = path.with_file_name(name);
            let file = File::create(&partial).map_err(failed)?;
            (Box::new(BufWriter::with_capacity(BUFFER, file)), Some(partial))
        };
        let out = match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Compressor::Gzip(GzEncoder::new(raw, Compression::fast())),
            Some("zst") => Compressor::Zstd(zstd::Encoder::new(raw, 1).map_err(failed)?),
            _ => Compressor::Plain(raw),
        };
        let mut chunk = Vec::with_capacity(CHUNK + 256);
        match format {
            Format::Fio => {
                chunk.extend_from_slice(fio::V3);
                chunk.push(b'\n');
            }
            Format::MSR => {
                chunk.extend_from_slice(
                    b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n",
                );
            }
            _ => {}
        }
        let (path, devices, last) = (path.to_owned(), Vec::new(), Ns::ZERO);
        Ok(Self { format, out, path, partial, chunk, devices, last })
    }

    fn push(&mut self, io: &TraceRequest) -> Result<(), FormatError> {
        self.line(io);
        if self.chunk.len() >= CHUNK { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), FormatError> {
        let written = self.out.write_all(&self.chunk);
        self.chunk.clear();
        written.map_err(|source| FormatError::Write { path: self.path.clone(), source })
    }

    /// Appends the line of a request.
    fn line(&mut self, io: &TraceRequest) {
        let (at, device, offset, len) = (io.at.0, io.device, io.offset.0, io.len.0);
        let (sector, sectors, read) = (offset / 512, len / 512, io.op == IoOp::Read);
        let letter = if read { 'R' } else { 'W' };
        if self.format == Format::Fio && !self.devices.contains(&device) {
            self.devices.push(device);
            for action in ["add", "open"] {
                self.text(format_args!("{} {} {action}\n", at / 1000, fio_name(device)));
            }
        }
        self.last = io.at;
        match self.format {
            Format::Fio => {
                let action = match io.op {
                    IoOp::Read => "read",
                    IoOp::Write => "write",
                    IoOp::Discard => "trim",
                    IoOp::Flush => "sync",
                };
                let name = fio_name(device);
                self.text(format_args!("{} {name} {action} {offset} {len}\n", at / 1000));
            }
            Format::MSR => {
                let time = UNIX_AS_FILE_TIME.saturating_add(at / 100);
                let (word, response) =
                    (if read { "Read" } else { "Write" }, io.latency.map_or(0, |l| l.0 / 100));
                self.text(format_args!(
                    "{time},gordon,{device},{word},{offset},{len},{response}\n"
                ));
            }
            Format::DISKSIM => {
                let (ms, ns, flags) = (at / 1_000_000, at % 1_000_000, u8::from(read));
                self.text(format_args!("{ms}.{ns:06} {device} {sector} {sectors} {flags}\n"));
            }
            Format::SPC => {
                let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
                self.text(format_args!("{device},{sector},{len},{letter},{s}.{ns:09}\n"));
            }
            Format::ALIBABA => {
                self.text(format_args!("{device},{letter},{offset},{len},{}\n", at / 1000));
            }
            // MQSim; other formats are rejected when the writer is created.
            _ => {
                let kind = u8::from(read);
                self.text(format_args!("{at} {device} {sector} {sectors} {kind}\n"));
            }
        }
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) {
        self.chunk.write_fmt(text).expect("memory takes any text");
    }

    fn finish(mut self) -> Result<(), FormatError> {
        if self.format == Format::Fio {
            for device in std::mem::take(&mut self.devices) {
                self.text(format_args!("{} {} close\n", self.last.0 / 1000, fio_name(device)));
            }
        }
        self.write()?;
        let empty = Compressor::Plain(Box::new(io::sink()));
        let finished = std::mem::replace(&mut self.out, empty).finish();
        let renamed = finished.and_then(|()| match self.partial.take() {
            Some(partial) => fs::rename(&partial, &self.path).inspect_err(|_| {
                let _ = fs::remove_file(&partial);
            }),
            None => Ok(()),
        });
        renamed.map_err(|source| FormatError::Write { path: self.path.clone(), source })
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = fs::remove_file(partial);
        }
    }
}

/// The file name that stands for a device.
fn fio_name(device: u32) -> String {
    format!("/dev/gordon-{device}")
}
