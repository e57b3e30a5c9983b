//! Reads a trace. Opening verifies the checksum of every file; reading verifies the order of the
//! rows.

use crate::columns::{
    ACTIVITY, ANONYMOUS, BLOCK, CACHE, COMMAND_ANONYMOUS, COMMAND_PSI_CPU_SOME,
    COMMAND_PSI_IO_FULL, ColumnSpec, DISKS, IOWAIT, LATER, PSI_CPU_SOME, PSI_IO_FULL, STEAL,
    THROTTLED, schema,
};
use crate::error::TraceError;
use crate::manifest::{
    ACTIVITY_FILE, BLOCK_FILE, BLOCK_LOG, DISKS_FILE, FORMAT, MANIFEST_FILE, Manifest,
    OLDEST_VERSION, TracePart, VERSION,
};
use crate::model::{BlockFlags, BlockIo, CommandSample, DiskSample, Sample};
use crate::write::SEAL;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// Rows per batch.
const BATCH: usize = 1 << 13;

/// A trace on disk, opened for reading.
#[derive(Clone, Debug)]
pub struct Trace {
    path: PathBuf,
    manifest: Manifest,
}

impl Trace {
    /// Opens the trace at `path`.
    ///
    /// # Errors
    /// When there is no trace at `path`, or it is incomplete or damaged.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let manifest = manifest(path)?;
        for (file, specs) in [(ACTIVITY_FILE, ACTIVITY), (DISKS_FILE, DISKS), (BLOCK_FILE, BLOCK)] {
            match manifest.part(file) {
                Some(part) => check(path, part, specs)?,
                None if file == BLOCK_FILE => {}
                // A converted trace has only the block log.
                None if manifest.imported.is_some() => {}
                None => {
                    let why = format!("it lists no {file}");
                    return Err(TraceError::damaged(&path.join(MANIFEST_FILE), why));
                }
            }
        }
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// The folder of the trace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Description of the trace.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// All intervals, in order.
    ///
    /// # Errors
    /// When a file is damaged, or the trace was converted and holds only the block log.
    pub fn activity(&self) -> Result<Vec<Sample>, TraceError> {
        if let Some(imported) = &self.manifest.imported
            && self.manifest.part(ACTIVITY_FILE).is_none()
        {
            let (path, format) = (self.path.clone(), imported.format.clone());
            return Err(TraceError::BlockLogOnly { path, format });
        }
        let totals = self.all_totals()?;
        Ok(totals.windows(2).map(|pair| pair[1].since(&pair[0])).collect())
    }

    /// The rows of the activity part with those of the disks: totals since the start.
    pub(crate) fn all_totals(&self) -> Result<Vec<Sample>, TraceError> {
        let mut totals = self.totals()?;
        self.disks(&mut totals)?;
        Ok(totals)
    }

    /// Path of the block log, which exists only if the manifest lists it.
    pub fn block_path(&self) -> PathBuf {
        self.path.join(BLOCK_FILE)
    }

    /// Opens the block log.
    ///
    /// # Errors
    /// When the trace has no block log, or the file is damaged.
    pub fn block(&self) -> Result<BlockReader, TraceError> {
        let Some(part) = self.manifest.part(BLOCK_FILE) else {
            let known = self.manifest.unavailable.iter().find(|u| u.what == BLOCK_LOG);
            let why = known.map_or("capture made none".to_owned(), |u| u.why.clone());
            return Err(TraceError::NoBlockLog { path: self.path.clone(), why });
        };
        BlockReader::open(self.block_path(), part.rows)
    }

    fn totals(&self) -> Result<Vec<Sample>, TraceError> {
        let path = self.path.join(ACTIVITY_FILE);
        let mut all: Vec<Sample> = Vec::new();
        for batch in batches(&path)? {
            let batch = batch.map_err(|e| TraceError::damaged(&path, e))?;
            let u64s = |name| NumberColumn::<UInt64Type>::of(&batch, name);
            let t = u64s("t_ns");
            let [instructions, llc_misses, memory] =
                ["instructions", "llc_misses", "memory_bytes"].map(u64s);
            let net = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"].map(u64s);
            let command = [
                "command_cpu_ns",
                "command_instructions",
                "command_llc_misses",
                "command_memory_bytes",
                "command_read_bytes",
                "command_write_bytes",
            ]
            .map(u64s);
            let processes = NumberColumn::<UInt32Type>::of(&batch, "command_processes");
            let later = |name| batch.column_by_name(name).map(|_| u64s(name));
            let [iowait, io_full, cpu_some, steal, throttled] =
                [IOWAIT, PSI_IO_FULL, PSI_CPU_SOME, STEAL, THROTTLED].map(later);
            let [anonymous, cache, command_anonymous] =
                [ANONYMOUS, CACHE, COMMAND_ANONYMOUS].map(later);
            let [command_io_full, command_cpu_some] =
                [COMMAND_PSI_IO_FULL, COMMAND_PSI_CPU_SOME].map(later);
            let at_or_zero = |column: &Option<NumberColumn<'_, UInt64Type>>, row| {
                column.as_ref().map_or(0, |column| column.at(row))
            };
            for row in 0..batch.num_rows() {
                let at = Ns(t.at(row));
                if all.last().is_some_and(|last| at < last.end()) {
                    return Err(TraceError::damaged(
                        &path,
                        format!("row {}: time runs back", all.len()),
                    ));
                }
                all.push(Sample {
                    start: Ns::ZERO,
                    span: at,
                    cpu_per_core: list::<UInt64Type>(&batch, "cpu_ns", row).map(Ns).collect(),
                    iowait: Ns(at_or_zero(&iowait, row)),
                    psi_io_full: Ns(at_or_zero(&io_full, row)),
                    psi_cpu_some: Ns(at_or_zero(&cpu_some, row)),
                    steal: Ns(at_or_zero(&steal, row)),
                    throttled: Ns(at_or_zero(&throttled, row)),
                    mhz_per_core: list::<UInt32Type>(&batch, "mhz", row).collect(),
                    instructions: instructions.at(row),
                    llc_misses: llc_misses.at(row),
                    memory: Bytes(memory.at(row)),
                    anonymous: Bytes(at_or_zero(&anonymous, row)),
                    cache: Bytes(at_or_zero(&cache, row)),
                    rx_bytes: Bytes(net[0].at(row)),
                    rx_packets: net[1].at(row),
                    tx_bytes: Bytes(net[2].at(row)),
                    tx_packets: net[3].at(row),
                    disks: Vec::new(),
                    command: CommandSample {
                        cpu: Ns(command[0].at(row)),
                        instructions: command[1].at(row),
                        llc_misses: command[2].at(row),
                        memory: Bytes(command[3].at(row)),
                        anonymous: Bytes(at_or_zero(&command_anonymous, row)),
                        psi_io_full: Ns(at_or_zero(&command_io_full, row)),
                        psi_cpu_some: Ns(at_or_zero(&command_cpu_some, row)),
                        read_bytes: Bytes(command[4].at(row)),
                        write_bytes: Bytes(command[5].at(row)),
                        processes: processes.at(row),
                    },
                });
            }
        }
        Ok(all)
    }

    /// Adds the rows of the disks part to the totals of the same time.
    fn disks(&self, totals: &mut [Sample]) -> Result<(), TraceError> {
        let path = self.path.join(DISKS_FILE);
        let mut at = 0;
        for batch in batches(&path)? {
            let batch = batch.map_err(|e| TraceError::damaged(&path, e))?;
            let u64s = |name| NumberColumn::<UInt64Type>::of(&batch, name);
            let device = NumberColumn::<UInt32Type>::of(&batch, "device");
            let t = u64s("t_ns");
            let counts = ["reads", "writes", "discards", "flushes", "busy_ns"].map(u64s);
            let bytes = ["read_bytes", "write_bytes", "discard_bytes"].map(u64s);
            for row in 0..batch.num_rows() {
                while totals.get(at).is_some_and(|s| s.end().0 < t.at(row)) {
                    at += 1;
                }
                let Some(sample) = totals.get_mut(at).filter(|s| s.end().0 == t.at(row)) else {
                    return Err(TraceError::damaged(
                        &path,
                        "its times are not those of the activity",
                    ));
                };
                sample.disks.push(DiskSample {
                    device: device.at(row),
                    reads: counts[0].at(row),
                    read_bytes: Bytes(bytes[0].at(row)),
                    writes: counts[1].at(row),
                    write_bytes: Bytes(bytes[1].at(row)),
                    discards: counts[2].at(row),
                    discard_bytes: Bytes(bytes[2].at(row)),
                    flushes: counts[3].at(row),
                    busy: Ns(counts[4].at(row)),
                });
            }
        }
        Ok(())
    }
}

/// The names of the traces in a folder, such as a conversion of several hosts makes it.
fn traces_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let traces = entries.filter(|entry| entry.path().join(MANIFEST_FILE).is_file());
    let mut names: Vec<String> =
        traces.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Reads the manifest. Returns different errors for a missing path, a foreign path, another version
/// and a damaged manifest.
fn manifest(path: &Path) -> Result<Manifest, TraceError> {
    let kind = match fs::metadata(path) {
        Ok(kind) => kind,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(TraceError::Missing(path.to_owned()));
        }
        Err(source) => return Err(TraceError::Read { path: path.to_owned(), source }),
    };
    if !kind.is_dir() {
        let why = "it is a file, and a trace is a folder".to_owned();
        let hint = format!(
            "gordon trace convert {} OUT, if another program wrote it; then OUT",
            path.display()
        );
        return Err(TraceError::Foreign { path: path.to_owned(), why, hint });
    }
    let file = path.join(MANIFEST_FILE);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let traces = traces_in(path);
            if !traces.is_empty() {
                return Err(TraceError::Several { path: path.to_owned(), traces });
            }
            let empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
            let partial =
                path.file_name().is_some_and(|n| n.to_string_lossy().contains(".partial-"));
            let why = match (partial, empty) {
                (true, _) => "its capture was killed before it was whole",
                (false, true) => "the folder is empty",
                (false, false) => "it holds no manifest.json",
            };
            return Err(TraceError::foreign(path, why));
        }
        Err(source) => return Err(TraceError::Read { path: file, source }),
    };
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|e| match e.is_eof() {
        true => TraceError::damaged(&file, "it is cut short"),
        false => TraceError::foreign(path, format!("its manifest.json is not JSON: {e}")),
    })?;
    if value.get("format").and_then(|f| f.as_str()) != Some(FORMAT) {
        return Err(TraceError::foreign(
            path,
            format!("its manifest.json does not say \"format\": \"{FORMAT}\""),
        ));
    }
    let found = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if !(u64::from(OLDEST_VERSION)..=u64::from(VERSION)).contains(&found) {
        let gordon = value.get("gordon").and_then(|g| g.as_str()).unwrap_or("unknown").to_owned();
        return Err(TraceError::Version { path: path.to_owned(), found, known: VERSION, gordon });
    }
    serde_json::from_value(value).map_err(|e| TraceError::damaged(&file, e))
}

/// Compares size, checksum, rows and columns of a part with the manifest and with this version.
fn check(folder: &Path, part: &TracePart, specs: &[ColumnSpec]) -> Result<(), TraceError> {
    let path = folder.join(&part.file);
    let size = match fs::metadata(&path) {
        Ok(meta) => meta.len(),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(TraceError::damaged(&path, "it is not there"));
        }
        Err(source) => return Err(TraceError::Read { path, source }),
    };
    if size != part.bytes {
        let why = format!("it has {size} bytes where the manifest says {}", part.bytes);
        return Err(TraceError::damaged(&path, why));
    }
    let sum = sum(&path).map_err(|source| TraceError::Read { path: path.clone(), source })?;
    if sum != part.crc32 {
        return Err(TraceError::damaged(&path, "its bytes have changed (CRC-32)"));
    }
    let builder = builder(&path)?;
    let rows = builder.metadata().file_metadata().num_rows();
    if u64::try_from(rows) != Ok(part.rows) {
        let why = format!("it has {rows} rows where the manifest says {}", part.rows);
        return Err(TraceError::damaged(&path, why));
    }
    columns(&path, &builder, specs)
}

/// Checks that a part has all columns, with the expected types. Older traces have fewer.
fn columns(
    path: &Path,
    builder: &ParquetRecordBatchReaderBuilder<File>,
    specs: &[ColumnSpec],
) -> Result<(), TraceError> {
    for field in schema(specs).fields() {
        let found = builder.schema().field_with_name(field.name());
        if found.is_err() && LATER.contains(&field.name().as_str()) {
            continue;
        }
        let same = found.is_ok_and(|found| {
            found.data_type() == field.data_type() && (field.is_nullable() || !found.is_nullable())
        });
        if !same {
            let why =
                format!("its column {} is not there or not {}", field.name(), field.data_type());
            return Err(TraceError::damaged(path, why));
        }
    }
    Ok(())
}

fn sum(path: &Path) -> io::Result<u32> {
    let mut sum = crc32fast::Hasher::new();
    add(&mut File::open(path)?, &mut sum)?;
    Ok(sum.finalize())
}

/// Whether the checksum in the header of a single-file block log is correct.
fn is_sealed(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut start = [0; SEAL.len() + 4];
    file.read_exact(&mut start)?;
    let (seal, said) = start.split_at_mut(SEAL.len());
    let mut sum = crc32fast::Hasher::new();
    sum.update(seal);
    sum.update(&[0; 4]);
    add(&mut file, &mut sum)?;
    Ok(sum.finalize().to_le_bytes() == *said)
}

/// Adds the rest of a file to a checksum.
fn add(file: &mut File, sum: &mut crc32fast::Hasher) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            len => sum.update(&buffer[..len]),
        }
    }
}

fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, TraceError> {
    let file =
        File::open(path).map_err(|source| TraceError::Read { path: path.to_owned(), source })?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| TraceError::damaged(path, e))
}

fn batches(path: &Path) -> Result<ParquetRecordBatchReader, TraceError> {
    builder(path)?.with_batch_size(BATCH).build().map_err(|e| TraceError::damaged(path, e))
}

/// A column of numbers; null is read as zero.
struct NumberColumn<'a, T: ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<'a, T: ArrowPrimitiveType> NumberColumn<'a, T> {
    fn of(batch: &'a RecordBatch, name: &str) -> Self {
        let column = batch.column_by_name(name).expect("opening checked the columns");
        Self(column.as_primitive())
    }

    fn at(&self, row: usize) -> T::Native {
        if self.0.is_null(row) { T::Native::default() } else { self.0.value(row) }
    }
}

/// One row of a column of lists; null is read as an empty list.
fn list<T: ArrowPrimitiveType>(
    batch: &RecordBatch,
    name: &str,
    row: usize,
) -> impl Iterator<Item = T::Native> {
    let column = batch.column_by_name(name).expect("opening checked the columns").as_list::<i32>();
    let values = column.is_valid(row).then(|| column.value(row));
    let len = values.as_ref().map_or(0, |v| v.len());
    (0..len).map(move |i| {
        values.as_ref().expect("only then is it not empty").as_primitive::<T>().value(i)
    })
}

/// Reads the requests of a block log in batches, in order of issue.
pub struct BlockReader {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    names: Vec<String>,
    index: HashMap<String, u32>,
    last: Ns,
    rows: u64,
}

impl BlockReader {
    fn open(path: PathBuf, rows: u64) -> Result<Self, TraceError> {
        let reader = batches(&path)?;
        let (names, index) = (Vec::new(), HashMap::new());
        Ok(Self { path, reader, names, index, last: Ns::ZERO, rows })
    }

    /// Opens a block log that is a single file, as a [`BlockFileWriter`](crate::BlockFileWriter)
    /// writes it.
    ///
    /// # Errors
    /// When the file is not such a block log, or is damaged.
    pub fn file(path: &Path) -> Result<Self, TraceError> {
        if !Self::is_file(path) {
            return Err(TraceError::foreign(path, "it is a file, and no block log of ours"));
        }
        // The Parquet reader may panic on damaged files, so the checksum is verified first.
        match is_sealed(path) {
            Ok(true) => {}
            Ok(false) => {
                return Err(TraceError::damaged(path, "its bytes have changed (CRC-32)"));
            }
            Err(source) => return Err(TraceError::Read { path: path.to_owned(), source }),
        }
        let builder = builder(path)?;
        columns(path, &builder, BLOCK)?;
        let rows = builder.metadata().file_metadata().num_rows();
        Self::open(path.to_owned(), u64::try_from(rows).unwrap_or(0))
    }

    /// Whether the file starts with the header of a single-file block log.
    pub(crate) fn is_file(path: &Path) -> bool {
        let mut start = [0; SEAL.len()];
        path.is_file()
            && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
            && start == *SEAL
    }

    /// Number of requests in the whole log.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The process names read so far; [`BlockIo::process`] is an index into them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Replaces the content of `batch` with the next requests. Returns false at the end.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn next_batch(&mut self, batch: &mut Vec<BlockIo>) -> Result<bool, TraceError> {
        batch.clear();
        let Some(rows) = self.reader.next() else { return Ok(false) };
        let rows = rows.map_err(|e| TraceError::damaged(&self.path, e))?;
        let u32s = |name| NumberColumn::<UInt32Type>::of(&rows, name).0.values();
        let u64s = |name| NumberColumn::<UInt64Type>::of(&rows, name).0.values();
        let (at, sector) = (u64s("time_ns"), u64s("sector"));
        let [device, sectors, pid] = ["device", "sectors", "pid"].map(u32s);
        let flags = NumberColumn::<UInt8Type>::of(&rows, "flags").0.values();
        let latency = NumberColumn::<UInt64Type>::of(&rows, "latency_ns").0;
        let (op_keys, op_names) = dictionary(&rows, "op");
        let (process_keys, process_names) = dictionary(&rows, "process");
        let ops = op_names.iter().map(|name| IoOp::ALL.into_iter().find(|op| op.name() == *name));
        let ops: Vec<Option<IoOp>> = ops.collect();
        let processes: Vec<u32> = process_names.iter().map(|name| self.intern(name)).collect();
        batch.reserve(rows.num_rows());
        for row in 0..rows.num_rows() {
            let at = Ns(at[row]);
            if at < self.last {
                return Err(TraceError::damaged(&self.path, "its rows are not in order of issue"));
            }
            self.last = at;
            let Some(op) = ops[op_keys[row] as usize] else {
                let why = format!("it has an unknown op `{}`", op_names[op_keys[row] as usize]);
                return Err(TraceError::damaged(&self.path, why));
            };
            batch.push(BlockIo {
                at,
                device: device[row],
                sector: sector[row],
                sectors: sectors[row],
                op,
                flags: BlockFlags(flags[row]),
                pid: pid[row],
                process: processes[process_keys[row] as usize],
                latency: latency.is_valid(row).then(|| Ns(latency.value(row))),
            });
        }
        Ok(true)
    }

    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let number = u32::try_from(self.names.len()).expect("fewer names than rows");
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), number);
        number
    }
}

impl Iterator for BlockReader {
    type Item = Result<Vec<BlockIo>, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = Vec::new();
        match self.next_batch(&mut batch) {
            Ok(true) => Some(Ok(batch)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// The keys of a dictionary column, and its values.
fn dictionary<'a>(batch: &'a RecordBatch, name: &str) -> (&'a [u32], Vec<&'a str>) {
    let column = batch.column_by_name(name).expect("opening checked the columns");
    let column = column.as_dictionary::<UInt32Type>();
    let names = column.values().as_string::<i32>();
    (
        column.keys().values(),
        (0..names.len()).map(|i| if names.is_null(i) { "" } else { names.value(i) }).collect(),
    )
}
