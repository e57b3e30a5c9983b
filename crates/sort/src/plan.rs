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
    /// Two passes: records are distributed to buckets by key range, then each bucket is sorted.
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
#[derive(Clone, Copy, Debug, Serialize)]
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

fn pages(bytes: u64) -> u64 {
    (bytes / PAGE as u64).max(1) * PAGE as u64
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
            let why = format!("{} is less than {}", Bytes(memory), Bytes(LEAST_MEMORY));
            return Err(SortError::impossible("memory", why, "more memory"));
        }
        let share = |most: u64| pages((memory / 32).clamp(LEAST, most));
        let given = |given: Option<Bytes>, what: &str, or: u64| match given {
            None => Ok(or),
            Some(Bytes(size)) if size < PAGE as u64 || size > 1 << 30 => {
                let why = format!("{} is not between 4KiB and 1GiB", Bytes(size));
                Err(SortError::impossible(format!("the transfer size of the {what}"), why, "8MiB"))
            }
            Some(Bytes(size)) if size > memory / 4 => {
                let why = format!("{} is more than a quarter of {}", Bytes(size), Bytes(memory));
                let hint = "more memory, or smaller transfers";
                Err(SortError::impossible(format!("the transfer size of the {what}"), why, hint))
            }
            Some(Bytes(size)) => Ok(pages(size)),
        };
        // At most `most`, and at most a quarter of the memory.
        let some = |most: usize, size: u64| ((memory / 4 / size) as usize).clamp(1, most);
        let input = given(transfers.input, "input", share(TRANSFER))?;
        let output = given(transfers.output, "output", share(TRANSFER))?;
        let temp = given(transfers.temp, "temporary files", share(TEMP))?;
        if let Some(Bytes(unit)) = transfers.stripe
            && (unit < PAGE as u64 || unit > 1 << 30 || !unit.is_multiple_of(PAGE as u64))
        {
            let why = format!("{} is not a multiple of 4KiB from 4KiB to 1GiB", Bytes(unit));
            return Err(SortError::impossible(
                "the stripe unit of the temporary files",
                why,
                "256KiB",
            ));
        }
        // Each thread fills one buffer while others are written.
        let output_buffers = some(2 * threads + 2, output);
        let depth = some(DEPTH * devices, input);
        // Memory for each byte of records, in addition to that byte: its part of an entry, the
        // unused space of its buffer, and each piece's table of ranges. The pieces of a bucket come
        // from temporary files.
        let table = |bytes: u64| (TABLE * ranges(bytes / 64)) as u64;
        let entry = ENTRY as f64 / record;
        let around = room(input as usize) as u64 + table(bytes.min(memory));
        let beside = entry + around as f64 / input as f64;
        let writing = output_buffers as u64 * output;
        // Entries of a chunk before they are partitioned.
        let scratch = (input as f64 / record * (ENTRY + 2) as f64) as u64 * threads as u64;
        let one_pass = ((bytes + depth as u64 * input) as f64 * beside) as u64 + writing + scratch;
        // Each file ends with a partial piece, whose memory is allocated in large pages.
        let ends = (files as u64).saturating_sub(1) * input.min(LARGE_PAGE as u64);
        let one_pass = one_pass + ends;
        let fits = one_pass <= memory && bytes / input + (files as u64) < MOST_CHUNKS as u64;
        let method = match method {
            Method::Auto if fits => Method::OnePass,
            Method::Auto => Method::Distribute,
            Method::OnePass if !fits => {
                let why = format!("one pass needs {} of memory", Bytes(one_pass));
                let hint = "--memory with that, or --method auto";
                return Err(SortError::impossible("memory", why, hint));
            }
            other => other,
        };
        let rest = memory.saturating_sub(writing + scratch);
        let workers = threads + 1;
        let (load, buckets) = match method {
            Method::OnePass => (bytes, 0),
            Method::Distribute => {
                let all = rest / workers as u64;
                let around = PAGE as u64 + table(bytes.min(all));
                // As large as the number of buckets in memory permits; smaller pieces mean smaller
                // transfers.
                let piece = temp.min(pages((memory / 64).max(LEAST)));
                let load = (all as f64 / (1.0 + entry + around as f64 / piece as f64)) as u64;
                let of = |load: u64| (bytes as f64 * UNEVEN / load.max(1) as f64).ceil() as u64;
                // Each bucket has a buffer, and as many again are being written.
                let most = |least| memory.saturating_sub(depth as u64 * input) / (2 * least);
                // Enough buckets that each fits in a worker's share, or at least that each fits in
                // memory.
                let fitting = of(load * workers as u64).min(most(LEAST_BUCKET));
                let buckets = of(load).min(most(LEAST)).max(fitting).max(2);
                (load, buckets as usize)
            }
            _ => {
                let load = (rest.saturating_sub(2 * depth as u64 * input) as f64 / beside) as u64;
                // A run allocates its memory at once, so it is limited to the size of the input.
                (load.min(bytes + input), 0)
            }
        };
        let temp = if method == Method::Distribute {
            // Allows for the input buffer in use in addition to those being read.
            let each = memory.saturating_sub((depth + 1) as u64 * input) / (2 * buckets as u64 + 8);
            temp.min(pages(each.max(LEAST_BUCKET)))
        } else {
            temp
        };
        // Double buffering: one buffer of each run is used while the next is read.
        let each = 2 * room(temp as usize) as u64;
        let fan_in = ((memory.saturating_sub(writing) / each) as usize).clamp(2, 1024);
        let [input_transfer, output_transfer, temp_transfer] = [input, output, temp].map(Bytes);
        Ok(Self {
            method,
            in_core: InCore::default(),
            input_transfer,
            output_transfer,
            temp_transfer,
            temp_stripe: transfers.stripe,
            buckets,
            // At least one piece is loaded, whatever its size.
            load: Bytes(load.max(1)),
            threads,
            workers,
            fan_in,
            output_buffers,
            depth,
        })
    }
}
