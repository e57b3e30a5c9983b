//! The passes of each method, from the input to the output.

use crate::SortError;
use crate::context::SortContext;
use crate::distribute::{self, Bucket};
use crate::entries::EntryArena;
use crate::file::SortFile;
use crate::format::RecordFormat;
use crate::incore::{KeyExtractor, ranges};
use crate::merge::{self, MergeLimits, Runs};
use crate::one_pass::Loaded;
use crate::output::{Emitter, SortOutput, Writer, Written};
use crate::partition::Partition;
use crate::plan::{Method, Plan};
use crate::report::Clock;
use crate::space::Space;
use crate::stream::{Extent, RecordStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The state that all methods share.
pub struct Passes<'a, S> {
    pub context: &'a SortContext<'a, S>,
    pub plan: &'a Plan,
    pub writer: &'a Writer<'a>,
    pub output: &'a SortOutput<'a>,
}

/// The result of a method.
pub struct PassResult {
    /// Bytes of the records read.
    pub bytes: u64,
    pub records: u64,
    /// Counts of the records written; less than those read if duplicates are dropped.
    pub written: Written,
    /// Bytes of the longest record.
    pub longest: usize,
    /// Number of times that each byte was written.
    pub passes: u32,
    pub temp_bytes: u64,
    pub oversized_buckets: usize,
}

/// A sample of the prefixes, and the mean length of a record.
type Sample = (Vec<u128>, f64);

impl<S: RecordFormat> Passes<'_, S> {
    /// Sorts the extents; `temp` are the temporary files for methods with several passes.
    pub fn run(
        &self,
        extents: Vec<Extent>,
        sample: Sample,
        temp: Vec<Arc<SortFile>>,
        clock: &mut Clock<'_>,
    ) -> Result<PassResult, SortError> {
        let Self { context, plan, .. } = *self;
        let input = plan.input_transfer.0 as usize;
        let stream = RecordStream::new(
            context.format,
            context.queue,
            context.progress,
            extents,
            input,
            plan.depth,
        );
        let (moved, last) = match plan.method {
            Method::OnePass => (self.one_pass(stream, sample, clock)?, "write"),
            Method::Merge => (self.merge(stream, sample.0, temp, clock)?, "merge"),
            _ => (self.distribute(stream, sample.0, temp, clock)?, "gather"),
        };
        self.output.finish()?;
        if context.spilled_hash.load(Ordering::Relaxed) != 0 {
            return Err(SortError::Changed);
        }
        clock.end(last);
        Ok(moved)
    }

    fn limits(&self) -> MergeLimits {
        MergeLimits {
            run: self.plan.load.0,
            fan_in: self.plan.fan_in,
            transfer: self.plan.temp_transfer.0 as usize,
            group: self.plan.output_transfer.0,
        }
    }

    fn space(&self, temp: Vec<Arc<SortFile>>) -> Space {
        Space::new(temp, self.plan.temp_transfer.0 as usize, self.plan.temp_stripe)
    }

    /// Sorts all records in memory.
    fn one_pass(
        &self,
        mut stream: RecordStream<'_, S>,
        (sample, record): Sample,
        clock: &mut Clock<'_>,
    ) -> Result<PassResult, SortError> {
        let Self { context, plan, output, .. } = *self;
        // The load is the whole input.
        let records = plan.load.0 as f64 / record;
        let partition = &Partition::new(sample, ranges(records as u64));
        let keys = &KeyExtractor { format: context.format, partition, in_core: context.in_core };
        let mut arena = EntryArena::default();
        // Allows for the sampling error of the mean.
        arena.fit((records * 1.01) as usize);
        let loaded = Loaded::read(context, &mut stream, keys, u64::MAX, &arena.split())?;
        clock.end("read");
        let written = loaded.emit(context, keys, (output, 0), plan.output_transfer.0)?;
        let (bytes, records, longest) = (loaded.bytes(), loaded.records(), loaded.longest());
        Ok(PassResult {
            bytes,
            records,
            written,
            longest,
            passes: 1,
            temp_bytes: 0,
            oversized_buckets: 0,
        })
    }

    /// Distributes the records to buckets, then sorts each bucket.
    fn distribute(
        &self,
        mut stream: RecordStream<'_, S>,
        sample: Vec<u128>,
        temp: Vec<Arc<SortFile>>,
        clock: &mut Clock<'_>,
    ) -> Result<PassResult, SortError> {
        let Self { context, plan, output, .. } = *self;
        let (limits, mut space) = (self.limits(), self.space(temp));
        let partition = Partition::new(sample, plan.buckets);
        let (buckets, longest) = {
            let most = partition.len() + 8;
            let temp = Writer::new(context.queue, context.progress, limits.transfer, most);
            distribute::scatter(context, &mut stream, &partition, &temp, &mut space)?
        };
        drop(stream);
        clock.end("distribute");
        let how = (plan.load.0 * plan.workers as u64, limits.transfer, plan.workers);
        // If duplicates are dropped, the position of a bucket depends on the previous one.
        let together = if context.unique { 1 } else { buckets.len().max(1) };
        let (mut large_buckets, mut passes, mut written) = (0, 2, Written::default());
        for some in buckets.chunks(together) {
            let (large, fitted) = distribute::gather(context, some, (output, written.bytes), how)?;
            large_buckets += large.len();
            written += fitted;
            for (bucket, at) in large {
                let (more, merged) = self.merge_bucket(&bucket, at, &mut space)?;
                passes = passes.max(2 + more);
                written += merged;
            }
        }
        Ok(PassResult {
            bytes: buckets.iter().map(|bucket| bucket.bytes).sum(),
            records: buckets.iter().map(|bucket| bucket.records).sum(),
            written,
            longest,
            passes,
            temp_bytes: space.bytes(),
            oversized_buckets: large_buckets,
        })
    }

    /// Sorts a bucket that does not fit in memory by merging; returns the number of passes, and
    /// counts of the records written.
    fn merge_bucket(
        &self,
        bucket: &Bucket,
        at: u64,
        space: &mut Space,
    ) -> Result<(u32, Written), SortError> {
        let Self { context, writer, .. } = *self;
        let (limits, blocks) = (&self.limits(), bucket.blocks.iter());
        let extents: Vec<Extent> = blocks
            .map(|block| Extent { file: block.file.clone(), offset: block.offset, len: block.len })
            .collect();
        // The prefixes must stay those of the first pass, since the hashes of the keys are compared
        // with those computed at writing.
        let (_, sample, _) = context.sample(&extents, false)?;
        let mut stream = RecordStream::new(
            context.format,
            context.queue,
            context.progress,
            extents,
            limits.transfer,
            2,
        );
        context.progress.total.fetch_add(2 * bucket.bytes, Ordering::Relaxed);
        let mut runs = context.with_frozen_spill(|| {
            merge::make_runs(context, &mut stream, sample, limits, (writer, &mut *space))
        })?;
        drop(stream);
        let (passes, written) = self.merge_runs(context, &mut runs, at, space)?;
        Ok((1 + passes, written))
    }

    /// Makes sorted runs and merges them.
    fn merge(
        &self,
        mut stream: RecordStream<'_, S>,
        sample: Vec<u128>,
        temp: Vec<Arc<SortFile>>,
        clock: &mut Clock<'_>,
    ) -> Result<PassResult, SortError> {
        let Self { context, writer, .. } = *self;
        let (limits, mut space) = (&self.limits(), self.space(temp));
        let mut runs =
            merge::make_runs(context, &mut stream, sample, limits, (writer, &mut space))?;
        drop(stream);
        clock.end("runs");
        let bytes = runs.extents.iter().map(|run| run.len).sum();
        let (narrowed, written) = self.merge_runs(context, &mut runs, 0, &mut space)?;
        let Runs { records, longest, .. } = runs;
        let (passes, temp_bytes) = (2 + narrowed, space.bytes());
        Ok(PassResult {
            bytes,
            records,
            written,
            longest,
            passes,
            temp_bytes,
            oversized_buckets: 0,
        })
    }

    /// Merges runs to a position of the output; returns the number of passes before the last one,
    /// and counts of the records written.
    fn merge_runs<T: RecordFormat>(
        &self,
        context: &SortContext<'_, T>,
        runs: &mut Runs,
        at: u64,
        space: &mut Space,
    ) -> Result<(u32, Written), SortError> {
        let limits = &self.limits();
        let passes = merge::merge_until_fan_in(context, runs, limits, (self.writer, space))?;
        let mut emitter = Emitter::new(self.output, at)?;
        merge::merge(context, &runs.extents, (limits.transfer, context.unique), &mut emitter)?;
        Ok((passes, emitter.finish()?))
    }
}
