//! Two passes by merging: as many records as fit in memory are sorted and written as a run; then
//! all runs are merged. If there are more runs than can be merged at once, some are first merged to
//! longer ones.

use crate::SortError;
use crate::context::SortContext;
use crate::entries::EntryArena;
use crate::format::{KeyOffset, RecordFormat, Tiebreak};
use crate::incore::{KeyExtractor, key_hash, ranges};
use crate::one_pass::Loaded;
use crate::output::{Emitter, SortOutput, Writer};
use crate::partition::Partition;
use crate::space::Space;
use crate::stream::{Chunk, Extent, RecordStream, head, room};

/// A run, positioned at its first record that has not been written.
struct RunHead<'a, S> {
    stream: RecordStream<'a, S>,
    chunk: Chunk,
    end: usize,
    /// Greater than all keys if the run has ended.
    prefix: u128,
}

/// Bytes of a record that is shorter than most.
const SHORT: u64 = 64;

/// Greater than all prefixes.
const ENDED: u128 = u128::MAX;

impl<'a, S: RecordFormat> RunHead<'a, S> {
    fn new(stream: RecordStream<'a, S>, format: &S) -> Result<Self, SortError> {
        let mut head = Self { stream, chunk: Chunk::default(), end: 0, prefix: 0 };
        head.advance(format)?;
        Ok(head)
    }

    fn record(&self) -> &[u8] {
        &self.chunk.bytes()[self.chunk.start..self.end]
    }

    fn advance(&mut self, format: &S) -> Result<(), SortError> {
        self.chunk.start = self.end;
        if self.chunk.len() == 0 {
            let old = std::mem::take(&mut self.chunk);
            self.stream.give_back(old.buffer);
            match self.stream.next()? {
                Some(chunk) => self.chunk = chunk,
                None => {
                    self.prefix = ENDED;
                    return Ok(());
                }
            }
        }
        self.end = format.end(self.chunk.bytes(), self.chunk.start);
        self.prefix = format.prefix(self.record());
        Ok(())
    }
}

/// Whether the record of run `a` precedes that of run `b`; of equal records, that of the earlier
/// run does.
fn before<S: RecordFormat>(format: &S, heads: &[RunHead<'_, S>], a: usize, b: usize) -> bool {
    let (x, y) = (&heads[a], &heads[b]);
    if x.prefix != y.prefix {
        return x.prefix < y.prefix;
    }
    if x.prefix == ENDED || format.tiebreak(x.prefix, KeyOffset::default()) == Tiebreak::Nothing {
        return a < b;
    }
    format.compare(x.record(), y.record()).then(a.cmp(&b)).is_lt()
}

/// Merges runs, which are in the order of the input; with `unique`, writes only the first of
/// records with equal keys.
pub fn merge<S: RecordFormat>(
    context: &SortContext<'_, S>,
    runs: &[Extent],
    (transfer, unique): (usize, bool),
    emitter: &mut Emitter<'_, '_>,
) -> Result<(), SortError> {
    let format = context.format;
    let heads = runs.iter().map(|run| {
        // Double buffering: one buffer is used while the next is read.
        let extent = [run.clone()];
        let stream =
            RecordStream::new(format, context.queue, context.progress, extent, transfer, 1);
        RunHead::new(stream, format)
    });
    let mut heads: Vec<_> = heads.collect::<Result<_, _>>()?;
    let count = heads.len();
    if count == 0 {
        return Ok(());
    }
    // A tree of losers (Knuth, The Art of Computer Programming 3, 5.4.1): run r starts at node
    // (count + r) / 2; each node keeps its loser, and the winner moves up.
    let mut losers = vec![usize::MAX; count];
    let mut winner = usize::MAX;
    for run in 0..count {
        let (mut node, mut best) = ((count + run) / 2, run);
        while node > 0 {
            if losers[node] == usize::MAX {
                losers[node] = best;
                best = usize::MAX;
                break;
            }
            if before(format, &heads, losers[node], best) {
                std::mem::swap(&mut losers[node], &mut best);
            }
            node /= 2;
        }
        if best != usize::MAX {
            winner = best;
        }
    }
    let mut back = 0u64;
    let mut last: Option<(u128, Vec<u8>)> = None;
    while heads[winner].prefix != ENDED {
        let (prefix, record) = (heads[winner].prefix, heads[winner].record());
        back = back.wrapping_add(key_hash(prefix));
        if !unique {
            emitter.push(record)?;
        } else if last
            .as_ref()
            .is_none_or(|(before, last)| *before != prefix || format.compare(last, record).is_ne())
        {
            emitter.push(record)?;
            let mut kept = last.take().map(|(_, kept)| kept).unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(record);
            last = Some((prefix, kept));
        }
        heads[winner].advance(format)?;
        let (mut node, mut best) = ((count + winner) / 2, winner);
        while node > 0 {
            if before(format, &heads, losers[node], best) {
                std::mem::swap(&mut losers[node], &mut best);
            }
            node /= 2;
        }
        winner = best;
    }
    context.remove_spilled(back);
    Ok(())
}

/// The limits of a merge sort.
pub struct MergeLimits {
    /// Bytes of records of a run.
    pub run: u64,
    /// Number of runs merged at a time.
    pub fan_in: usize,
    /// Bytes of a read of a run.
    pub transfer: usize,
    /// Bytes of a group of ranges, which one thread writes.
    pub group: u64,
}

impl MergeLimits {
    /// The number of runs to merge at a time if their longest record has this size: each run holds
    /// one such record and the start of the next, in addition to its transfers.
    fn fan_in(&self, longest: usize) -> usize {
        let transfers = 2 * room(self.transfer);
        let records = 2 * longest.saturating_sub(head(self.transfer));
        (self.fan_in * transfers / (transfers + records)).max(2)
    }
}

/// Sorted runs, and counts of their records.
pub struct Runs {
    pub extents: Vec<Extent>,
    pub records: u64,
    /// Bytes of the longest record.
    pub longest: usize,
}

/// Makes sorted runs of a stream.
pub fn make_runs<S: RecordFormat>(
    context: &SortContext<'_, S>,
    stream: &mut RecordStream<'_, S>,
    sample: Vec<u128>,
    limits: &MergeLimits,
    (writer, space): (&Writer<'_>, &mut Space),
) -> Result<Runs, SortError> {
    let (mut runs, mut records, mut longest) = (Vec::new(), 0, 0);
    // The last merge drops records with equal keys.
    let context = &SortContext { unique: false, ..*context };
    let partition = &Partition::new(sample, ranges(limits.run / SHORT));
    let keys = &KeyExtractor { format: context.format, partition, in_core: context.in_core };
    let mut arena = EntryArena::default();
    arena.fit((limits.run / SHORT) as usize);
    loop {
        let loaded = Loaded::read(context, stream, keys, limits.run, &arena.split())?;
        let len = loaded.bytes();
        records += loaded.records();
        longest = longest.max(loaded.longest());
        if len == 0 {
            return Ok(Runs { extents: runs, records, longest });
        }
        let (file, offset) = space.run(len);
        let output = SortOutput::new(writer, file.clone(), offset);
        loaded.emit(context, keys, (&output, 0), limits.group)?;
        output.finish()?;
        context.add_spilled(loaded.key_hash());
        runs.push(Extent { file, offset, len });
        // The next run reuses these buffers, so that their memory is not zeroed again.
        loaded.chunks.into_iter().for_each(|chunk| stream.give_back(chunk.buffer));
    }
}

/// Merges adjacent runs until they can be merged at once; returns how many additional passes over
/// the data that took.
pub fn merge_until_fan_in<S: RecordFormat>(
    context: &SortContext<'_, S>,
    Runs { extents: runs, longest, .. }: &mut Runs,
    limits: &MergeLimits,
    (writer, space): (&Writer<'_>, &mut Space),
) -> Result<u32, SortError> {
    let mut passes = 0;
    let fan_in = limits.fan_in(*longest);
    while runs.len() > fan_in {
        let mut longer = Vec::new();
        for some in runs.chunks(fan_in) {
            if let [one] = some {
                longer.push(one.clone());
                continue;
            }
            let len = some.iter().map(|run| run.len).sum();
            let (file, offset) = space.run(len);
            let output = SortOutput::new(writer, file.clone(), offset);
            let mut emitter = Emitter::new(&output, 0)?;
            context.with_frozen_spill(|| {
                merge(context, some, (limits.transfer, false), &mut emitter)
            })?;
            emitter.finish()?;
            output.finish()?;
            longer.push(Extent { file, offset, len });
        }
        *runs = longer;
        passes += 1;
    }
    Ok(passes)
}
