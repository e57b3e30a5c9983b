//! Statistics of the layer.

/// Counts since the layer was created. Pages are logical pages (slots of super-pages).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Read sub-requests of the host.
    pub host_reads: u64,
    /// Write sub-requests of the host.
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
    /// Journal pages programmed, in slots.
    pub journal_programs: u64,
    /// Summary pages programmed, in slots.
    pub summary_programs: u64,
    /// Slots left empty because a super-page was not full.
    pub padded: u64,
    /// Pages read for the host.
    pub host_page_reads: u64,
    /// Pages read because a write covered only a part of them.
    pub merge_page_reads: u64,
    /// Pages read for garbage collection or wear levelling.
    pub gc_page_reads: u64,
    /// Super-pages read.
    pub read_operations: u64,
    /// Super-pages programmed.
    pub program_operations: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks emptied by garbage collection.
    pub collections: u64,
    /// Blocks emptied by static wear levelling.
    pub levelled: u64,
    /// Write sub-requests that joined the program of another one.
    pub combined: u64,
    /// Sub-requests that joined a pending read or were served from the page read last.
    pub bypassed: u64,
    /// Read sub-requests served from a buffer that was waiting to be programmed or being
    /// programmed.
    pub forwarded: u64,
    /// Write sub-requests acknowledged from the write buffer.
    pub buffered: u64,
    /// Read sub-requests of unmapped pages, which return zeros.
    pub unmapped_reads: u64,
    /// Pages mapped before the run, without flash operations.
    pub preloaded: u64,
    /// Blocks that have gone bad since the layer was created.
    pub grown_bad: u64,
    /// Sub-requests, trims and flushes refused, because the array is worn out or data are
    /// unreadable.
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
