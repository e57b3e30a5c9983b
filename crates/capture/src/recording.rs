//! The recording of one trace: its folder, its files of the activity, and the columns that are
//! calculated from others. It is the same for a machine and for a node.

use gordon_trace::{
    ActivityWriter, BlockWriter, Columns, CycleEstimate, Profile, ProfileRates, Sample, TraceError,
    TraceFolder, TracePart,
};

/// Counted instructions and cache misses; `None` for those to be estimated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountedWork {
    pub(crate) instructions: Option<u64>,
    pub(crate) llc_misses: Option<u64>,
}

/// A trace that is being recorded. Dropping it before [`finish`](Self::finish) removes its folder.
pub(crate) struct Recording {
    activity: ActivityWriter,
    pub(crate) columns: Columns,
    estimate: CycleEstimate,
    last: Sample,
    folder: TraceFolder,
}

impl Recording {
    /// Creates the files of the activity. The first totals are added by [`start`](Self::start).
    pub(crate) fn create(
        folder: TraceFolder,
        columns: Columns,
        profile: &Profile,
    ) -> Result<Self, TraceError> {
        Ok(Self {
            activity: ActivityWriter::create(&folder, &columns)?,
            columns,
            estimate: CycleEstimate::new(ProfileRates::of(profile)),
            last: Sample::default(),
            folder,
        })
    }

    /// Creates the file of the block log.
    pub(crate) fn block_writer(&self) -> Result<BlockWriter, TraceError> {
        BlockWriter::create(&self.folder, self.columns.block.clone())
    }

    /// Adds the totals at the start, in which only the gauges are not zero.
    pub(crate) fn start(&mut self, first: Sample) -> Result<(), TraceError> {
        self.last = first.clone();
        self.activity.push(first)
    }

    /// Adds totals, and to them the instructions and cache misses: the counted ones of the machine
    /// (or of the node) and of the command, else estimates. Returns the interval that they end.
    pub(crate) fn push(
        &mut self,
        mut totals: Sample,
        counted: [CountedWork; 2],
    ) -> Result<Sample, TraceError> {
        let [machine, command] = counted;
        self.estimate.add(&self.last, &totals);
        let estimate = self.estimate;
        (totals.instructions, totals.llc_misses) = estimate.machine(machine.instructions);
        (totals.command.instructions, totals.command.llc_misses) =
            estimate.command(command.instructions);
        if let Some(misses) = machine.llc_misses {
            totals.llc_misses = misses;
        }
        if let Some(misses) = command.llc_misses {
            totals.command.llc_misses = misses;
        }
        let interval = totals.since(&self.last);
        self.last = totals.clone();
        self.activity.push(totals)?;
        Ok(interval)
    }

    /// Completes the files of the activity. The trace is complete when its folder is committed.
    pub(crate) fn finish(self) -> Result<(TraceFolder, Vec<TracePart>), TraceError> {
        let parts = self.activity.finish(Some(self.columns))?;
        Ok((self.folder, parts.into()))
    }
}
