//! Writes traces. A trace is written to a folder with a temporary name, which is renamed when it is
//! complete.
//!
//! Memory is bounded: each part buffers the rows of one Parquet row group.

use crate::columns::{ACTIVITY, BLOCK, Column, ColumnKind, ColumnSpec, Columns, DISKS, schema};
use crate::error::TraceError;
use crate::manifest::{ACTIVITY_FILE, BLOCK_FILE, DISKS_FILE, MANIFEST_FILE, Manifest, TracePart};
use crate::model::{BlockIo, DiskSample, Sample};
use crate::rename::{exchange, rename_new};
use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{ArrowPrimitiveType, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array,
    new_null_array,
};
use arrow_schema::{Field, Schema};
use gordon_blockio::IoOp;
use gordon_units::Ns;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a row group, which is also the number of rows in memory. The activity part has fewer,
/// because each of its rows has an entry per core.
const ACTIVITY_ROWS: usize = 1 << 10;
const DISKS_ROWS: usize = 1 << 13;
const BLOCK_ROWS: usize = 1 << 16;

/// Number of distinct process names. Further names share one entry, so that the memory for names is
/// bounded.
const NAMES: usize = 1 << 16;

/// The folder of a trace that is being written. Dropping it before [`TraceFolder::commit`] removes
/// it.
pub struct TraceFolder {
    partial: PathBuf,
    out: PathBuf,
    /// Whether `out` is a trace that this one replaces.
    is_replacement: bool,
}

impl TraceFolder {
    /// Creates the folder next to `out`, under a temporary name.
    ///
    /// # Errors
    /// When `out` exists, or its parent cannot be written.
    pub fn create(out: &Path) -> Result<Self, TraceError> {
        if out.symlink_metadata().is_ok() {
            return Err(TraceError::Exists(out.to_owned()));
        }
        Self::partial(out, false)
    }

    /// Creates the folder next to the trace at `out`, under a temporary name. It replaces the trace
    /// when it is complete.
    ///
    /// # Errors
    /// When the parent of `out` cannot be written.
    pub(crate) fn replace(out: &Path) -> Result<Self, TraceError> {
        Self::partial(out, true)
    }

    fn partial(out: &Path, is_replacement: bool) -> Result<Self, TraceError> {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        if name.is_empty() {
            let why = format!("`{}` names no folder to make", out.display());
            return Err(TraceError::Option { option: "output", why });
        }
        name.push(format!(".partial-{}", std::process::id()));
        let partial = out.with_file_name(name);
        fs::create_dir(&partial).map_err(|e| match e.kind() {
            // Left by a killed process with our number, or used by a process in another container.
            io::ErrorKind::AlreadyExists => TraceError::Exists(partial.clone()),
            _ => TraceError::write(out, e),
        })?;
        Ok(Self { partial, out: out.to_owned(), is_replacement })
    }

    /// The path of the folder while it is written.
    pub(crate) fn path(&self) -> &Path {
        &self.partial
    }

    /// The path of a file in the folder while it is written.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Writes the manifest and renames the folder to its final name.
    ///
    /// # Errors
    /// When the folder cannot be written, or its final name was taken in the meantime.
    pub fn commit(self, manifest: &Manifest) -> Result<(), TraceError> {
        let path = self.file(MANIFEST_FILE);
        let mut text = serde_json::to_string_pretty(manifest).expect("a manifest is plain data");
        text.push('\n');
        let written = File::create(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
        written.map_err(|e| TraceError::write(&path, e))?;
        self.publish()
    }

    /// Renames the folder to its final name.
    ///
    /// # Errors
    /// When its final name was taken in the meantime.
    pub(crate) fn publish(self) -> Result<(), TraceError> {
        match self.is_replacement {
            true => exchange(&self.partial, &self.out),
            false => rename_new(&self.partial, &self.out),
        }
        .map_err(|error| not_renamed(&self.out, error))
    }
}

/// The error of a complete file or folder that does not get the name `out`.
fn not_renamed(out: &Path, error: io::Error) -> TraceError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => TraceError::Exists(out.to_owned()),
        _ => TraceError::write(out, error),
    }
}

impl Drop for TraceFolder {
    fn drop(&mut self) {
        // After a rename the temporary path does not exist, and after an exchange it has the trace
        // that was replaced.
        let _ = fs::remove_dir_all(&self.partial);
    }
}

/// A file with the checksum of the bytes written to it.
struct ChecksummedFile {
    file: File,
    sum: crc32fast::Hasher,
}

impl io::Write for ChecksummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.file.write(bytes)?;
        self.sum.update(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// One Parquet file of a trace.
struct PartFile {
    path: PathBuf,
    name: &'static str,
    writer: ArrowWriter<ChecksummedFile>,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: u64,
}

impl PartFile {
    fn create(
        path: PathBuf,
        name: &'static str,
        specs: &[ColumnSpec],
        columns: Vec<Column>,
        deltas: &[&str],
    ) -> Result<Self, TraceError> {
        let file = File::create(&path).map_err(|e| TraceError::write(&path, e))?;
        let file = ChecksummedFile { file, sum: crc32fast::Hasher::new() };
        let zstd = ZstdLevel::try_new(1).expect("zstd has a level 1");
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(zstd))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(format!("gordon {}", env!("CARGO_PKG_VERSION")));
        for column in deltas {
            let column = ColumnPath::from(*column);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        let schema = schema(specs);
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.build()))
            .map_err(|e| TraceError::parquet_write(&path, e))?;
        Ok(Self { path, name, writer, schema, columns, rows: 0 })
    }

    /// Writes one row group. Missing columns become null if they are nullable.
    fn group(&mut self, mut arrays: Vec<ArrayRef>) -> Result<(), TraceError> {
        let fields = self.schema.fields().iter();
        for ((array, column), field) in arrays.iter_mut().zip(&self.columns).zip(fields) {
            if column.kind == ColumnKind::Missing && field.is_nullable() {
                *array = new_null_array(array.data_type(), array.len());
            }
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .expect("arrays are made after the schema");
        self.rows += batch.num_rows() as u64;
        self.writer
            .write(&batch)
            .and_then(|()| self.writer.flush())
            .map_err(|e| TraceError::parquet_write(&self.path, e))
    }

    fn finish(mut self) -> Result<TracePart, TraceError> {
        self.writer.finish().map_err(|e| TraceError::parquet_write(&self.path, e))?;
        let ChecksummedFile { file, sum } = self.writer.inner();
        let size = file.sync_all().and_then(|()| file.metadata());
        Ok(TracePart {
            file: self.name.to_owned(),
            rows: self.rows,
            bytes: size.map_err(|e| TraceError::write(&self.path, e))?.len(),
            crc32: sum.clone().finalize(),
            columns: self.columns,
        })
    }
}

/// Writes `activity.parquet` and `disks.parquet`, which hold totals since the start.
pub struct ActivityWriter {
    activity: PartFile,
    disks: PartFile,
    rows: Vec<Sample>,
    disk_rows: usize,
}

impl ActivityWriter {
    /// Starts both files in `folder`.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn create(folder: &TraceFolder, columns: &Columns) -> Result<Self, TraceError> {
        let part = |name, specs, columns: &Vec<Column>| {
            PartFile::create(folder.file(name), name, specs, columns.clone(), &["t_ns"])
        };
        Ok(Self {
            activity: part(ACTIVITY_FILE, ACTIVITY, &columns.activity)?,
            disks: part(DISKS_FILE, DISKS, &columns.disks)?,
            rows: Vec::new(),
            disk_rows: 0,
        })
    }

    /// Adds a row of totals since the start of the trace.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn push(&mut self, totals: Sample) -> Result<(), TraceError> {
        self.disk_rows += totals.disks.len();
        self.rows.push(totals);
        if self.rows.len() >= ACTIVITY_ROWS || self.disk_rows >= DISKS_ROWS {
            self.group()?;
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), TraceError> {
        let rows = std::mem::take(&mut self.rows);
        self.disk_rows = 0;
        let per_row = |value: fn(&Sample) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
        };
        let cpu = rows.iter().map(|s| s.cpu_per_core.iter().map(|ns| ns.0));
        let mhz = rows.iter().map(|s| s.mhz_per_core.iter().copied());
        let processes = rows.iter().map(|s| s.command.processes);
        self.activity.group(vec![
            per_row(|s| s.end().0),
            lists::<UInt64Type, _>(cpu),
            lists::<UInt32Type, _>(mhz),
            per_row(|s| s.instructions),
            per_row(|s| s.llc_misses),
            per_row(|s| s.memory.0),
            per_row(|s| s.rx_bytes.0),
            per_row(|s| s.rx_packets),
            per_row(|s| s.tx_bytes.0),
            per_row(|s| s.tx_packets),
            per_row(|s| s.command.cpu.0),
            per_row(|s| s.command.instructions),
            per_row(|s| s.command.llc_misses),
            per_row(|s| s.command.memory.0),
            per_row(|s| s.command.read_bytes.0),
            per_row(|s| s.command.write_bytes.0),
            Arc::new(UInt32Array::from_iter_values(processes)),
            per_row(|s| s.iowait.0),
            per_row(|s| s.psi_io_full.0),
            per_row(|s| s.psi_cpu_some.0),
            per_row(|s| s.steal.0),
            per_row(|s| s.throttled.0),
            per_row(|s| s.anonymous.0),
            per_row(|s| s.cache.0),
            per_row(|s| s.command.anonymous.0),
            per_row(|s| s.command.psi_io_full.0),
            per_row(|s| s.command.psi_cpu_some.0),
        ])?;
        let disks: Vec<(Ns, DiskSample)> =
            rows.iter().flat_map(|s| s.disks.iter().map(|d| (s.end(), *d))).collect();
        if disks.is_empty() {
            return Ok(());
        }
        let per_disk = |value: fn(&DiskSample) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(disks.iter().map(|(_, d)| value(d))))
        };
        self.disks.group(vec![
            Arc::new(UInt64Array::from_iter_values(disks.iter().map(|(t, _)| t.0))),
            Arc::new(UInt32Array::from_iter_values(disks.iter().map(|(_, d)| d.device))),
            per_disk(|d| d.reads),
            per_disk(|d| d.read_bytes.0),
            per_disk(|d| d.writes),
            per_disk(|d| d.write_bytes.0),
            per_disk(|d| d.discards),
            per_disk(|d| d.discard_bytes.0),
            per_disk(|d| d.flushes),
            per_disk(|d| d.busy.0),
        ])
    }

    /// Completes both files. `columns` replaces the description given to [`create`](Self::create),
    /// because how a column was obtained may be known only at the end.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn finish(mut self, columns: Option<Columns>) -> Result<[TracePart; 2], TraceError> {
        if !self.rows.is_empty() {
            self.group()?;
        }
        if let Some(columns) = columns {
            (self.activity.columns, self.disks.columns) = (columns.activity, columns.disks);
        }
        Ok([self.activity.finish()?, self.disks.finish()?])
    }
}

fn lists<T, I>(rows: impl Iterator<Item = I>) -> ArrayRef
where
    T: ArrowPrimitiveType,
    I: Iterator<Item = T::Native>,
{
    let item = Field::new("item", T::DATA_TYPE, false);
    let mut builder = ListBuilder::new(PrimitiveBuilder::<T>::new()).with_field(item);
    for row in rows {
        for value in row {
            builder.values().append_value(value);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// Writes a block log, in order of issue.
pub struct BlockWriter {
    file: PartFile,
    rows: Vec<BlockIo>,
    names: Vec<String>,
    index: HashMap<String, u32>,
    last: Ns,
}

impl BlockWriter {
    /// Starts the file in `folder`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(folder: &TraceFolder, columns: Vec<Column>) -> Result<Self, TraceError> {
        Self::at(folder.file(BLOCK_FILE), columns)
    }

    fn at(path: PathBuf, columns: Vec<Column>) -> Result<Self, TraceError> {
        let deltas = ["time_ns", "sector", "latency_ns"];
        let file = PartFile::create(path, BLOCK_FILE, BLOCK, columns, &deltas)?;
        let (rows, names, index) = (Vec::new(), Vec::new(), HashMap::new());
        Ok(Self { file, rows, names, index, last: Ns::ZERO })
    }

    /// Returns the number of a process name, for [`BlockIo::process`].
    pub fn process(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let name = if self.names.len() < NAMES - 1 { name } else { "(others)" };
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let number = u32::try_from(self.names.len()).expect("names are bounded");
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), number);
        number
    }

    /// Adds a request.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When the request was issued before the last one, or its process has no name here.
    pub fn push(&mut self, io: BlockIo) -> Result<(), TraceError> {
        assert!(io.at >= self.last, "requests are written in order of issue");
        assert!((io.process as usize) < self.names.len(), "the process has a name");
        self.last = io.at;
        self.rows.push(io);
        if self.rows.len() >= BLOCK_ROWS { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> Result<(), TraceError> {
        let rows = &self.rows;
        let ops = StringArray::from_iter_values(IoOp::ALL.iter().map(|op| op.name()));
        let names = StringArray::from_iter_values(&self.names);
        let named = |keys: UInt32Array, values: StringArray| -> ArrayRef {
            let array = DictionaryArray::<UInt32Type>::try_new(keys, Arc::new(values));
            Arc::new(array.expect("keys were handed out with the names"))
        };
        let numbers =
            |value: fn(&BlockIo) -> u32| UInt32Array::from_iter_values(rows.iter().map(value));
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|io| io.at.0))),
            Arc::new(numbers(|io| io.device)),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|io| io.sector))),
            Arc::new(numbers(|io| io.sectors)),
            named(numbers(|io| io.op as u32), ops),
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(|io| io.flags.0))),
            Arc::new(numbers(|io| io.pid)),
            named(numbers(|io| io.process), names),
            Arc::new(UInt64Array::from_iter(rows.iter().map(|io| io.latency.map(|l| l.0)))),
        ];
        self.file.group(arrays)?;
        self.rows.clear();
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<TracePart, TraceError> {
        if !self.rows.is_empty() {
            self.group()?;
        }
        self.file.finish()
    }

    /// Completes a single-file block log: adds its description and the checksum.
    fn finish_alone(mut self, about: &serde_json::Value) -> Result<(), TraceError> {
        if !self.rows.is_empty() {
            self.group()?;
        }
        let about = KeyValue::new(ABOUT.to_owned(), about.to_string());
        self.file.writer.append_key_value_metadata(about);
        let path = self.file.path.clone();
        let crc32 = self.file.finish()?.crc32.to_le_bytes();
        let file = OpenOptions::new().write(true).open(&path);
        let sealed = file.and_then(|mut file| {
            file.seek(SeekFrom::Start(SEALED_FROM - crc32.len() as u64))?;
            file.write_all(&crc32)?;
            file.sync_all()
        });
        sealed.map_err(|e| TraceError::write(&path, e))
    }
}

/// Writes a trace that holds only a block log.
pub(crate) struct BlockLogWriter {
    folder: TraceFolder,
    block: BlockWriter,
}

impl BlockLogWriter {
    pub fn create(out: &Path, columns: Vec<Column>) -> Result<Self, TraceError> {
        let folder = TraceFolder::create(out)?;
        let block = BlockWriter::create(&folder, columns)?;
        Ok(Self { folder, block })
    }

    pub fn block(&mut self) -> &mut BlockWriter {
        &mut self.block
    }

    /// Completes the trace. Its duration is the time of the last request.
    pub fn finish(self, mut manifest: Manifest) -> Result<(), TraceError> {
        manifest.duration = self.block.last;
        manifest.parts = vec![self.block.finish()?];
        manifest.block.get_or_insert_default();
        self.folder.commit(&manifest)
    }
}

/// Metadata key of the JSON description in a single-file block log.
const ABOUT: &str = "gordon";

/// The header of a single-file block log: Parquet's magic number and ours. The CRC-32 of the file
/// follows in four bytes, calculated with zeros in their place.
pub(crate) const SEAL: &[u8; 12] = b"PAR1gordonbl";
/// Where the header and the checksum end.
pub(crate) const SEALED_FROM: u64 = SEAL.len() as u64 + 4;

/// Writes a block log as a single file with a checksum. The file has a temporary name until it is
/// complete; dropping the writer before that removes it.
pub struct BlockFileWriter {
    block: Option<BlockWriter>,
    partial: PathBuf,
    out: PathBuf,
}

impl BlockFileWriter {
    /// Starts a block log that becomes the file `out`.
    ///
    /// # Errors
    /// When `out` exists, or its folder cannot be written.
    pub fn create(out: &Path, columns: Vec<Column>) -> Result<Self, TraceError> {
        if out.symlink_metadata().is_ok() {
            return Err(TraceError::Exists(out.to_owned()));
        }
        let mut name = out.file_name().unwrap_or_default().to_owned();
        if name.is_empty() {
            let why = format!("`{}` names no file to make", out.display());
            return Err(TraceError::Option { option: "output", why });
        }
        name.push(format!(".partial-{}", std::process::id()));
        let partial = out.with_file_name(name);
        let mut new = Self { block: None, partial, out: out.to_owned() };
        // Errors name the path that the user gave, not the temporary one.
        let block = BlockWriter::at(new.partial.clone(), columns);
        let mut block = block.map_err(|error| error.of(out))?;
        // Parquet has written the first four bytes of the seal, its magic number.
        let rest = [&SEAL[4..], &[0; 4]].concat();
        let written = block.file.writer.write_all(&rest);
        written.map_err(|e| TraceError::write(out, e))?;
        new.block = Some(block);
        Ok(new)
    }

    /// The writer that takes the requests.
    pub fn block(&mut self) -> &mut BlockWriter {
        self.block.as_mut().expect("it is there until it is finished")
    }

    /// Completes the file and gives it its name. `about`, stored in the metadata of the file,
    /// describes where the requests come from.
    ///
    /// # Errors
    /// When the file cannot be written, or its name was taken in the meantime.
    pub fn finish(mut self, about: &serde_json::Value) -> Result<(), TraceError> {
        self.block.take().expect("it is finished once").finish_alone(about)?;
        rename_new(&self.partial, &self.out).map_err(|error| not_renamed(&self.out, error))
    }
}

impl Drop for BlockFileWriter {
    fn drop(&mut self) {
        // After the rename the temporary path does not exist, and nothing is removed.
        let _ = fs::remove_file(&self.partial);
    }
}

/// Writes a trace from given samples and requests, for tests, benchmarks and generators.
pub struct TraceWriter {
    folder: TraceFolder,
    activity: ActivityWriter,
    /// `None` in a trace without a block log.
    block: Option<BlockWriter>,
    totals: Sample,
}

impl TraceWriter {
    /// Starts a trace that becomes the folder `out`.
    ///
    /// # Errors
    /// When `out` exists, or its parent cannot be written.
    pub fn create(out: &Path, columns: &Columns) -> Result<Self, TraceError> {
        let mut writer = Self::without_block_log(out, columns)?;
        writer.block = Some(BlockWriter::create(&writer.folder, columns.block.clone())?);
        Ok(writer)
    }

    /// Starts a trace that has samples only.
    ///
    /// # Errors
    /// When `out` exists, or its parent cannot be written.
    pub fn without_block_log(out: &Path, columns: &Columns) -> Result<Self, TraceError> {
        let folder = TraceFolder::create(out)?;
        let mut activity = ActivityWriter::create(&folder, columns)?;
        activity.push(Sample::default())?;
        Ok(Self { folder, activity, block: None, totals: Sample::default() })
    }

    /// Adds an interval, which must start where the last one ended.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When the interval starts elsewhere.
    pub fn sample(&mut self, interval: &Sample) -> Result<(), TraceError> {
        assert_eq!(interval.start, self.totals.end(), "intervals follow each other");
        self.totals.add(interval);
        self.activity.push(self.totals.clone())
    }

    /// The writer that takes the requests.
    ///
    /// # Panics
    /// When the trace has no block log.
    pub fn block(&mut self) -> &mut BlockWriter {
        self.block.as_mut().expect("the trace was started with a block log")
    }

    /// Completes the trace. If the manifest has no duration, it becomes the end of the last
    /// interval.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn finish(self, mut manifest: Manifest) -> Result<Manifest, TraceError> {
        if manifest.duration == Ns::ZERO {
            manifest.duration = self.totals.end();
        }
        manifest.parts = self.activity.finish(None)?.into();
        if let Some(block) = self.block {
            manifest.parts.push(block.finish()?);
            manifest.block.get_or_insert_default();
        }
        self.folder.commit(&manifest)?;
        Ok(manifest)
    }
}
