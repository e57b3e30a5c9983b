//! Plans the use of memory: the number of passes, and the sizes of buffers, buckets and runs.

use crate::SortError;
use crate::entries::ENTRY;
use crate::incore::{InCore, MOST_CHUNKS, TABLE, ranges};
use crate::memory::PAGE;
use crate::stream::room;
use gordon_sys::memory::LARGE_PAGE;
use gordon_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sorting method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// `one-pass` if the input fits in memory, otherwise `distribute`.
    #[default]
    Auto,
    /// One pass, with the whole input in memory.
    OnePass,
    /// Two passes: records are distributed to buckets by key range, then each bucket is sorted. A
    /// bucket that does not fit in memory takes two more.
    Distribute,
    /// Two or more passes: sorted runs are written, then merged.
    Merge,
}

/// Sizes of transfers in bytes. A size that is left out is chosen by the available memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transfers {
    /// Size of a read of the input. Default: chosen by `memory`.
    pub input: Option<Bytes>,
    /// Size of a write of the output. Default: chosen by `memory`.
    pub output: Option<Bytes>,
    /// Size of a read or write of temporary files. Default: chosen by `memory`.
    pub temp: Option<Bytes>,
    /// Stripe unit of temporary data over the folders in `temp`, as in a volume manager. If it is
    /// left out, each transfer is in one folder.
    pub stripe: Option<Bytes>,
}

/// The plan of a sort.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Plan {
    /// The chosen method, never `auto`.
    pub method: Method,
    /// Method to sort records in memory.
    pub in_core: InCore,
    /// Bytes of a read of the input.
    pub input_transfer: Bytes,
    /// Bytes of a write of the output.
    pub output_transfer: Bytes,
    /// Bytes of a transfer of temporary files.
    pub temp_transfer: Bytes,
    /// Stripe unit of temporary data, if set.
    pub temp_stripe: Option<Bytes>,
    /// Number of buckets of a distribution.
    pub buckets: usize,
    /// Maximum bytes sorted in memory at a time: the input, a bucket, or a run.
    pub load: Bytes,
    /// Number of sorting threads.
    pub threads: usize,
    /// Number of buckets in memory at a time.
    pub workers: usize,
    /// Number of runs merged at a time.
    pub fan_in: usize,
    /// Number of output buffers.
    pub output_buffers: usize,
    /// Number of input reads in flight.
    pub depth: usize,
}

/// Transfer size beyond which devices do not get faster.
const TRANSFER: u64 = 8 << 20;
/// Transfer size of temporary files: smaller, since each bucket needs a buffer.
const TEMP: u64 = 2 << 20;
/// Minimum transfer size: a smaller one costs more time than another pass.
const LEAST: u64 = 64 << 10;
/// Minimum transfer size of buckets: writing a bucket in twice as many pieces costs less time than
/// the two additional passes of a bucket that does not fit in memory.
const LEAST_BUCKET: u64 = 16 << 10;
/// Minimum memory, which holds several transfers of the minimum size.
const LEAST_MEMORY: u64 = 1 << 20;
/// Allowance for buckets larger than the mean, since the sample is finite.
const UNEVEN: f64 = 1.2;
/// Number of input reads in flight for each device.
const DEPTH: usize = 4;
/// Record length in bytes that a table of ranges is sized for. The table for shorter records has
/// more ranges.
const TABLE_RECORD: u64 = 64;

fn pages(bytes: u64) -> u64 {
    (bytes / PAGE as u64).max(1) * PAGE as u64
}

/// The largest number of transfers of `size` bytes, but at most `most`, that a quarter of the
/// memory holds; at least one.
fn quarter(memory: u64, most: usize, size: u64) -> usize {
    ((memory / 4 / size) as usize).clamp(1, most)
}

/// Bytes of the table of ranges for `bytes` bytes of records.
fn table(bytes: u64) -> u64 {
    (TABLE * ranges(bytes / TABLE_RECORD)) as u64
}

/// A size of memory for a message: in whole MiB, or from 10 GiB in whole GiB, rounded up.
fn rounded_up(bytes: u64) -> Bytes {
    let grain = if bytes < 10 << 30 { 1 << 20 } else { 1 << 30 };
    Bytes(bytes.next_multiple_of(grain))
}

impl Transfers {
    /// The size of a transfer: `given`, or else `default`.
    fn size(given: Option<Bytes>, what: &str, default: u64, memory: u64) -> Result<u64, SortError> {
        let wrong = |why: String, hint: &str| {
            Err(SortError::impossible(format!("the transfer size of the {what}"), why, hint))
        };
        match given {
            None => Ok(default),
            Some(Bytes(size)) if size < PAGE as u64 || size > 1 << 30 => {
                wrong(format!("{} is not between 4KiB and 1GiB", Bytes(size)), "8MiB")
            }
            Some(Bytes(size)) if size > memory / 4 => wrong(
                format!("{} is more than a quarter of {}", Bytes(size), Bytes(memory)),
                "more memory, or smaller transfers",
            ),
            Some(Bytes(size)) => Ok(pages(size)),
        }
    }

    /// Sizes of transfers of the input, the output and temporary files.
    fn sizes(&self, memory: u64) -> Result<[u64; 3], SortError> {
        let default = |most: u64| pages((memory / 32).clamp(LEAST, most));
        Ok([
            Self::size(self.input, "input", default(TRANSFER), memory)?,
            Self::size(self.output, "output", default(TRANSFER), memory)?,
            Self::size(self.temp, "temporary files", default(TEMP), memory)?,
        ])
    }

    /// Checks the stripe unit.
    fn check_stripe(&self) -> Result<(), SortError> {
        match self.stripe {
            Some(Bytes(unit))
                if unit < PAGE as u64 || unit > 1 << 30 || !unit.is_multiple_of(PAGE as u64) =>
            {
                let what = "the stripe unit of the temporary files";
                let why = format!("{} is not a multiple of 4KiB from 4KiB to 1GiB", Bytes(unit));
                Err(SortError::impossible(what, why, "256KiB"))
            }
            _ => Ok(()),
        }
    }
}

/// The input of a sort, and how memory is divided whatever the method.
struct Budget {
    /// Bytes of the input.
    bytes: u64,
    /// Number of input files.
    files: u64,
    /// Bytes of memory that the sort may use.
    memory: u64,
    /// Bytes of a read of the input.
    input: u64,
    /// Number of input reads in flight.
    depth: u64,
    /// Memory of the output buffers.
    writing: u64,
    /// Memory of the entries of a chunk before they are partitioned.
    scratch: u64,
    /// Bytes of entries per byte of records.
    entry: f64,
    /// Number of buckets in memory at a time.
    workers: u64,
}

impl Budget {
    /// Memory per byte of records, that byte included: its part of an entry, the unused space of
    /// its buffer, and each piece's table of ranges.
    fn memory_per_byte(&self) -> f64 {
        let piece = room(self.input as usize) as u64 + table(self.bytes.min(self.memory));
        self.entry + piece as f64 / self.input as f64
    }

    /// Memory for records, their entries and tables.
    fn for_records(&self) -> u64 {
        self.memory.saturating_sub(self.writing + self.scratch)
    }

    /// Memory that one pass needs.
    fn one_pass(&self) -> u64 {
        let held = (self.bytes + self.depth * self.input) as f64 * self.memory_per_byte();
        // Each file ends with a partial piece, whose memory is allocated in large pages.
        let ends = self.files.saturating_sub(1) * self.input.min(LARGE_PAGE as u64);
        held as u64 + self.writing + self.scratch + ends
    }

    /// The method for `wanted`, which may be `auto`.
    fn method(&self, wanted: Method) -> Result<Method, SortError> {
        let needed = self.one_pass();
        let chunks = self.bytes / self.input + self.files;
        let fits = needed <= self.memory && chunks < MOST_CHUNKS as u64;
        match wanted {
            Method::Auto if fits => Ok(Method::OnePass),
            Method::Auto => Ok(Method::Distribute),
            Method::OnePass if !fits => {
                let needed = rounded_up(needed);
                let why = format!("one pass needs {needed} of memory");
                let hint = format!("--memory {needed} or more, or --method auto");
                Err(SortError::impossible("memory", why, &hint))
            }
            other => Ok(other),
        }
    }

    /// Bytes of a bucket that fits in a worker's memory, and the number of buckets. `temp` is the
    /// largest transfer of temporary files.
    fn buckets(&self, temp: u64) -> (u64, u64) {
        let worker = self.for_records() / self.workers;
        // The pieces of a bucket come from temporary files. They are as large as the number of
        // buckets in memory permits; smaller pieces mean smaller transfers.
        let piece = temp.min(pages((self.memory / 64).max(LEAST)));
        let piece_extra = PAGE as u64 + table(self.bytes.min(worker));
        let per_byte = 1.0 + self.entry + piece_extra as f64 / piece as f64;
        let load = (worker as f64 / per_byte) as u64;
        let count = |load: u64| (self.bytes as f64 * UNEVEN / load.max(1) as f64).ceil() as u64;
        // Each bucket has a buffer, and as many again are being written.
        let most = |buffer| self.memory.saturating_sub(self.depth * self.input) / (2 * buffer);
        // Enough buckets that each fits in a worker's share, or at least that each fits in memory.
        let in_memory = count(load * self.workers).min(most(LEAST_BUCKET));
        let buckets = count(load).min(most(LEAST)).max(in_memory).max(2);
        (load, buckets)
    }

    /// Transfer size of temporary files, at most `temp`, if each of `buckets` buckets has buffers.
    fn bucket_transfer(&self, buckets: u64, temp: u64) -> u64 {
        // Allows for the input buffer in use in addition to those being read.
        let reading = (self.depth + 1) * self.input;
        let buffer = self.memory.saturating_sub(reading) / (2 * buckets + 8);
        temp.min(pages(buffer.max(LEAST_BUCKET)))
    }

    /// Bytes of a sorted run.
    fn run(&self) -> u64 {
        let records = self.for_records().saturating_sub(2 * self.depth * self.input);
        let load = (records as f64 / self.memory_per_byte()) as u64;
        // A run allocates its memory at once, so it is limited to the size of the input.
        load.min(self.bytes + self.input)
    }

    /// Number of runs merged at a time, with transfers of `temp` bytes.
    fn fan_in(&self, temp: u64) -> usize {
        // Double buffering: one buffer of each run is used while the next is read.
        let buffers = 2 * room(temp as usize) as u64;
        ((self.memory.saturating_sub(self.writing) / buffers) as usize).clamp(2, 1024)
    }
}

impl Plan {
    /// Plans a sort of `bytes` bytes in `files` files on `devices` devices that are read in
    /// parallel, with records of about `record` bytes.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid.
    pub fn new(
        method: Method,
        (bytes, files, devices): (u64, usize, usize),
        record: f64,
        memory: u64,
        threads: usize,
        transfers: &Transfers,
    ) -> Result<Self, SortError> {
        if memory < LEAST_MEMORY {
            let least = Bytes(LEAST_MEMORY);
            let why = format!("{} is less than {least}", Bytes(memory));
            return Err(SortError::impossible("memory", why, &format!("--memory {least} or more")));
        }
        let [input, output, temp] = transfers.sizes(memory)?;
        transfers.check_stripe()?;
        // Each thread fills one buffer while others are written.
        let output_buffers = quarter(memory, 2 * threads + 2, output);
        let depth = quarter(memory, DEPTH * devices, input);
        let workers = threads + 1;
        let budget = Budget {
            bytes,
            files: files as u64,
            memory,
            input,
            depth: depth as u64,
            writing: output_buffers as u64 * output,
            scratch: (input as f64 / record * (ENTRY + 2) as f64) as u64 * threads as u64,
            entry: ENTRY as f64 / record,
            workers: workers as u64,
        };
        let method = budget.method(method)?;
        let (load, buckets, temp) = match method {
            Method::OnePass => (bytes, 0, temp),
            Method::Distribute => {
                let (load, buckets) = budget.buckets(temp);
                (load, buckets, budget.bucket_transfer(buckets, temp))
            }
            _ => (budget.run(), 0, temp),
        };
        let [input_transfer, output_transfer, temp_transfer] = [input, output, temp].map(Bytes);
        Ok(Self {
            method,
            in_core: InCore::default(),
            input_transfer,
            output_transfer,
            temp_transfer,
            temp_stripe: transfers.stripe,
            buckets: buckets as usize,
            // At least one piece is loaded, whatever its size.
            load: Bytes(load.max(1)),
            threads,
            workers,
            fan_in: budget.fan_in(temp),
            output_buffers,
            depth,
        })
    }
}
