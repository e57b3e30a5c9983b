//! The queue of jobs of the flash: the lazy writeback (section 3.3 of the paper), erases, and swaps
//! of sets.

use super::PageRange;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A job of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Erase a block.
    Erase {
        /// The physical block.
        block: u32,
    },
    /// Program a unit from the write buffer.
    Program {
        /// The pages to program.
        to: PageRange,
        /// The ticket of the fill.
        ticket: u64,
        /// The unit in the write buffer.
        unit: u64,
    },
    /// Copy the first pages of a block to the same pages of another block, which is erased.
    Move {
        /// The physical block to read.
        from: u32,
        /// The physical block to program.
        to: u32,
        /// Number of pages, counted from the start of the block.
        pages: u32,
    },
}

/// A job in the queue. It names logical blocks, because jobs before it may move them.
#[derive(Clone, Copy, Debug)]
pub(super) enum QueuedJob {
    EraseLogical(u32),
    Erase(u32),
    Program(Write),
    Move { block: u32, to: u32, pages: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub block: u32,
    pub slot: u32,
    pub page: u32,
    pub pages: u32,
    pub ticket: u64,
    pub unit: u64,
    /// Number of evictions of the block when the job was queued. If it has changed, the slot
    /// belongs to another unit by now.
    pub generation: u32,
}

pub(super) struct JobQueue {
    queue: VecDeque<QueuedJob>,
    /// The physical block of each logical block, after the jobs that are done.
    place: Vec<u32>,
    /// Number of pages of the queued programs.
    pub buffered: u64,
}

impl JobQueue {
    pub fn new(blocks: u32) -> Self {
        Self { queue: VecDeque::new(), place: (0..blocks).collect(), buffered: 0 }
    }

    #[inline]
    pub fn place(&self, block: u32) -> u32 {
        self.place[block as usize]
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline]
    pub fn push(&mut self, job: QueuedJob) {
        if let QueuedJob::Program(write) = job {
            self.buffered += u64::from(write.pages);
        }
        self.queue.push_back(job);
    }

    /// The first job. Moves of empty blocks before it are done at once, because they copy nothing.
    #[inline]
    pub fn next(&mut self) -> Option<Job> {
        while let Some(QueuedJob::Move { block, to, pages: 0 }) = self.queue.front() {
            self.place[*block as usize] = *to;
            self.queue.pop_front();
        }
        Some(match *self.queue.front()? {
            QueuedJob::EraseLogical(block) => Job::Erase { block: self.place(block) },
            QueuedJob::Erase(block) => Job::Erase { block },
            QueuedJob::Program(Write { block, page, pages, ticket, unit, .. }) => Job::Program {
                to: PageRange { block: self.place(block), page, pages },
                ticket,
                unit,
            },
            QueuedJob::Move { block, to, pages } => {
                Job::Move { from: self.place(block), to, pages }
            }
        })
    }

    /// Removes the first job, which is done. Returns what it programmed, if anything.
    #[inline]
    pub fn complete(&mut self) -> Option<Write> {
        match self.queue.pop_front()? {
            QueuedJob::Program(write) => {
                self.buffered -= u64::from(write.pages);
                Some(write)
            }
            QueuedJob::Move { block, to, .. } => {
                self.place[block as usize] = to;
                None
            }
            QueuedJob::EraseLogical(_) | QueuedJob::Erase(_) => None,
        }
    }

    pub fn memory(&self) -> usize {
        self.place.len() * size_of::<u32>()
    }
}
