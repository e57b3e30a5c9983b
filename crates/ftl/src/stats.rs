//! What the layer counts.

/// Counts since the layer was made. Pages are logical pages (slots of super-pages).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sub-requests read by the host.
    pub host_reads: u64,
    /// Sub-requests written by the host.
    pub host_writes: u64,
    /// Logical pages trimmed.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Pages programmed with host data.
    pub host_programs: u64,
    /// Pages programmed with copies made by garbage collection.
    pub gc_programs: u64,
    /// Pages programmed with copies made by static wear levelling.
    pub wear_programs: u64,
    /// Pages of the trim journal programmed, in slots.
    pub journal_programs: u64,
    /// Summary pages programmed, in slots.
    pub summary_programs: u64,
    /// Slots programmed with nothing: a super-page was not full.
    pub padded: u64,
    /// Pages read for the host.
    pub host_page_reads: u64,
    /// Pages read because a write covers only part of them.
    pub merge_page_reads: u64,
    /// Pages read to be copied, for either cause.
    pub gc_page_reads: u64,
    /// Super-pages read and programmed: operations of the array.
    pub read_operations: u64,
    /// Super-pages programmed.
    pub program_operations: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks emptied by garbage collection.
    pub collections: u64,
    /// Blocks emptied by static wear levelling.
    pub levelled: u64,
    /// Write sub-requests that went into the program of another.
    pub combined: u64,
    /// Sub-requests that shared a pending read or found the last page read.
    pub bypassed: u64,
    /// Sub-requests read from a buffer that waits to be, or is being, programmed.
    pub forwarded: u64,
    /// Write sub-requests acknowledged from the write buffer.
    pub buffered: u64,
    /// Sub-requests read from pages not mapped: zeros.
    pub unmapped_reads: u64,
    /// Pages mapped before the run, without operations.
    pub preloaded: u64,
    /// Blocks that have gone bad.
    pub grown_bad: u64,
    /// Sub-requests and trims refused: worn out, or not readable.
    pub refused: u64,
}

impl Stats {
    /// Slots programmed, for any cause.
    pub fn programs(&self) -> u64 {
        self.host_programs
            + self.gc_programs
            + self.wear_programs
            + self.summary_programs
            + self.journal_programs
            + self.padded
    }

    /// Pages read, for any cause.
    pub fn page_reads(&self) -> u64 {
        self.host_page_reads + self.merge_page_reads + self.gc_page_reads
    }
}
