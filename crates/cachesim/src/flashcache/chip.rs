//! The flash chip and its controller: one operation at a time, with reads before waiting writes.
//!
//! Operations proceed in steps of a flash page, or of an erase block. A read may start between two
//! steps, but not within one.
//!
//! With several banks (section 3.3 of the paper: flash that reads while it writes), a read waits
//! only for the current step in its own bank. Reads are still sequential. Not covered: contention
//! of reads and programs for the chip's bus.

use super::config::{Design, EccConfig};
use gordon_cache::flashcache::{FlashCache, Job, PageRange};
use gordon_units::Ns;
use std::collections::VecDeque;

/// Duration of each kind of step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepTimes {
    /// Flash pages in a cached page.
    pub pages: u64,
    /// Time to read a flash page, transfer it to DRAM and correct it.
    pub read: Ns,
    /// Time to transfer a flash page from DRAM and program it.
    pub program: Ns,
    /// Time to erase a block.
    pub erase: Ns,
    /// Erase blocks in a logical block.
    pub erase_blocks: u64,
    /// Number of banks; logical block `b` is in bank `b % banks`.
    pub banks: u32,
}

impl StepTimes {
    pub fn new(design: &Design) -> Self {
        let flash = &design.flash;
        let transfer = flash.page.time_at(*flash.rate_per_s);
        Self {
            pages: design.cache.page.0 / flash.page.0,
            read: *flash.read + transfer + design.ecc.as_ref().map_or(Ns::ZERO, EccConfig::decode),
            program: transfer + *flash.program,
            erase: *flash.erase,
            erase_blocks: u64::from(*design.cache.erase_blocks),
            banks: flash.banks(),
        }
    }

    /// Time to erase a logical block and program this many pages of it.
    pub fn refill(&self, pages: u64) -> Ns {
        self.erase * self.erase_blocks + self.program * (pages * self.pages)
    }
}

/// Counters of the chip: flash pages and erase blocks, and busy times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChipCounters {
    pub reads: u64,
    pub programs: u64,
    pub erases: u64,
    pub reading: Ns,
    pub programming: Ns,
    pub erasing: Ns,
}

gordon_units::fieldwise!(ChipCounters { reads, programs, erases, reading, programming, erasing });

impl ChipCounters {
    pub fn busy(&self) -> Ns {
        self.reading + self.programming + self.erasing
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Erase,
    Program,
    Move,
}

/// A job that has been started.
#[derive(Clone, Copy, Debug)]
struct ChipJob {
    step: Step,
    /// Remaining steps.
    left: u64,
    step_time: Ns,
    /// Earliest start of the job.
    ready: Ns,
    /// Logical blocks of the job: the same one twice, or source and target of a move.
    blocks: [u32; 2],
}

pub(super) struct Chip {
    steps: StepTimes,
    /// End of the current step; with one bank, also of the reads before it.
    free: Ns,
    /// Logical blocks of the current or last step.
    blocks: [u32; 2],
    /// End of the last read in each bank.
    read_until: Vec<Ns>,
    current: Option<ChipJob>,
    /// Time when the data of each pending fill are available, in order.
    fetched: VecDeque<Ns>,
    pub counters: ChipCounters,
}

impl Chip {
    pub fn new(steps: StepTimes) -> Self {
        let (fetched, counters) = (VecDeque::new(), ChipCounters::default());
        let read_until = vec![Ns::ZERO; steps.banks as usize];
        Self { steps, free: Ns::ZERO, blocks: [0; 2], read_until, current: None, fetched, counters }
    }

    /// Flash pages in a cached page.
    pub fn pages(&self) -> u64 {
        self.steps.pages
    }

    /// Queues the time when the data of the next fill are available.
    pub fn queue_fill(&mut self, ready: Ns) {
        self.fetched.push_back(ready);
    }

    /// Carries out waiting steps that begin before this time.
    #[inline]
    pub fn advance(&mut self, cache: &mut FlashCache, until: Ns) {
        while self.free < until {
            if self.current.is_none() && cache.is_idle() {
                self.free = until;
                return;
            }
            let Some(current) = self.next(cache) else {
                self.free = until;
                return;
            };
            let start = self.start_of(current);
            if start >= until {
                return;
            }
            let begun = if current.step_time == Ns::ZERO {
                current.left
            } else {
                (until - start).0.div_ceil(current.step_time.0).min(current.left)
            };
            self.carry_out(cache, current, start, begun);
        }
    }

    /// Carries out waiting jobs before any read until the buffer holds at most `pages` pages.
    /// Returns the end, or `None` if there was nothing to do.
    pub fn drain(&mut self, cache: &mut FlashCache, pages: u64) -> Option<Ns> {
        let mut end = None;
        while cache.buffered() > pages {
            let Some(current) = self.next(cache) else { break };
            self.carry_out(cache, current, self.start_of(current), current.left);
            end = Some(self.free);
        }
        end
    }

    /// Carries out all waiting jobs. Returns when they are done.
    pub fn finish(&mut self, cache: &mut FlashCache) -> Ns {
        while let Some(current) = self.next(cache) {
            self.carry_out(cache, current, self.start_of(current), current.left);
        }
        self.free.max(self.reads_end())
    }

    /// Earliest start of the next step of a job.
    fn start_of(&self, current: ChipJob) -> Ns {
        let reads = current.blocks.map(|block| self.read_until[self.bank(block)]);
        self.free.max(current.ready).max(reads[0]).max(reads[1])
    }

    /// End of all reads. One page at a time is transferred from the chip, for all banks.
    fn reads_end(&self) -> Ns {
        self.read_until.iter().copied().max().expect("flash has at least one bank")
    }

    fn bank(&self, block: u32) -> usize {
        (block % self.steps.banks) as usize
    }

    /// The current job, or the next one.
    fn next(&mut self, cache: &mut FlashCache) -> Option<ChipJob> {
        if self.current.is_none() {
            let StepTimes { pages: parts, read, program, erase, erase_blocks, .. } = self.steps;
            let job = cache.job()?;
            let (step, left, step_time) = match job {
                Job::Erase { .. } => (Step::Erase, erase_blocks, erase),
                Job::Program { to, .. } => (Step::Program, u64::from(to.pages) * parts, program),
                // Moves pass through the controller, which corrects the data.
                Job::Move { pages, .. } => (Step::Move, u64::from(pages) * parts, read + program),
            };
            let ready = match job {
                Job::Program { .. } => self.fetched.pop_front().expect("a fill is fetched"),
                Job::Erase { .. } | Job::Move { .. } => Ns::ZERO,
            };
            let blocks = match job {
                Job::Erase { block } => [block; 2],
                Job::Program { to, .. } => [to.block; 2],
                Job::Move { from, to, .. } => [from, to],
            };
            self.current = Some(ChipJob { step, left, step_time, ready, blocks });
        }
        self.current
    }

    fn carry_out(&mut self, cache: &mut FlashCache, current: ChipJob, start: Ns, steps: u64) {
        self.free = start + current.step_time * steps;
        self.blocks = current.blocks;
        match current.step {
            Step::Erase => {
                self.counters.erases += steps;
                self.counters.erasing += current.step_time * steps;
            }
            Step::Program => {
                self.counters.programs += steps;
                self.counters.programming += current.step_time * steps;
            }
            Step::Move => {
                self.counters.reads += steps;
                self.counters.programs += steps;
                self.counters.reading += self.steps.read * steps;
                self.counters.programming += self.steps.program * steps;
            }
        }
        let left = current.left - steps;
        self.current = (left > 0).then_some(ChipJob { left, ..current });
        if left == 0 {
            cache.done();
        }
    }

    /// Reads pages at a time up to which the chip was advanced, or as soon as previous reads and
    /// the current step in the same bank have ended. Returns when the data are in DRAM.
    #[inline]
    pub fn read(&mut self, at: Ns, place: PageRange) -> Ns {
        let steps = u64::from(place.pages) * self.steps.pages;
        let span = self.steps.read * steps;
        self.counters.reads += steps;
        self.counters.reading += span;
        let bank = self.bank(place.block);
        let mut begin = at.max(self.reads_end());
        if self.blocks.iter().any(|block| self.bank(*block) == bank) {
            begin = begin.max(self.free);
        }
        let end = begin + span;
        self.read_until[bank] = end;
        if self.steps.banks == 1 {
            self.free = end;
        }
        end
    }
}
