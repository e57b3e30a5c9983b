//! What the layer counts.

/// Counts since the layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pieces read by the host.
    pub host_reads: u64,
    /// Pieces written by the host.
    pub host_writes: u64,
    /// Logical pages trimmed.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Pages programmed with host data.
    pub host_programs: u64,
    /// Pages programmed with copies made by garbage collection.
    pub gc_programs: u64,
    /// Summary pages programmed.
    pub summary_programs: u64,
    /// Pages read for the host.
    pub host_page_reads: u64,
    /// Pages read because a write covers only part of them.
    pub merge_page_reads: u64,
    /// Pages read to be copied by garbage collection.
    pub gc_page_reads: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Written pieces that went into the program of another.
    pub combined: u64,
    /// Pieces that shared a pending read or found the last page read.
    pub bypassed: u64,
    /// Pieces read from a buffer that waits to be, or is being, programmed.
    pub forwarded: u64,
    /// Pieces read from pages not mapped: zeros.
    pub unmapped_reads: u64,
    /// Pages mapped before the run, without operations.
    pub preloaded: u64,
}

impl Stats {
    /// Pages programmed, for any cause.
    pub fn programs(&self) -> u64 {
        self.host_programs + self.gc_programs + self.summary_programs
    }

    /// Pages read, for any cause.
    pub fn page_reads(&self) -> u64 {
        self.host_page_reads + self.merge_page_reads + self.gc_page_reads
    }
}
