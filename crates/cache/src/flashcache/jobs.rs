//! What is to be done in flash, in order: the lazy writeback (paper, 3.3), erases, swaps of sets.

use super::PageRange;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Something to be done in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Erase a logical block.
    Erase {
        /// Its place.
        block: u32,
    },
    /// Program what was fetched, from the buffer.
    Program {
        /// Where.
        to: PageRange,
        /// The fill's.
        ticket: u64,
        /// The tag's.
        unit: u64,
    },
    /// Copy the first pages of a block to the same pages of another, which is erased.
    Move {
        /// From this place.
        from: u32,
        /// To this one.
        to: u32,
        /// How many.
        pages: u32,
    },
}

/// The same, by logical blocks: where they are is known when their turn comes.
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
    /// How often the block had been evicted: its slots have other units by now if that has changed.
    pub generation: u32,
}

pub(super) struct JobQueue {
    queue: VecDeque<QueuedJob>,
    /// Where each logical block is now.
    place: Vec<u32>,
    /// Pages that are to be programmed.
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

    /// The first, past moves of empty blocks, which only change places.
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

    /// The first is done; answers with what it programmed.
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
