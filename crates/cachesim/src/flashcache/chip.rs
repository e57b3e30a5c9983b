//! The flash chip and its controller: one operation at a time, reads before what waits.
//!
//! A flash page is the step: between two of them a read may come in. So may it between two blocks
//! that are erased, never within.
//!
//! With several banks (section 3.3 of the paper: flash that reads while it writes) a read waits for
//! the step in its own bank only. Reads still follow each other. Left out: transfers of a read and
//! of a program that share the chip's bus.

use super::config::{Design, EccConfig};
use gordon_cache::flashcache::{FlashCache, Job, PageRange};
use gordon_units::Ns;
use std::collections::VecDeque;

/// How long each step takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// Flash pages of a page.
    pub pages: u64,
    /// To read one, bring it to DRAM and correct it.
    pub read: Ns,
    /// To bring one from DRAM and program it.
    pub program: Ns,
    /// To erase a block of the flash.
    pub erase: Ns,
    /// Blocks of a logical block.
    pub erase_blocks: u64,
    /// Banks; logical block `b` is in bank `b % banks`.
    pub banks: u32,
}

impl Steps {
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

    /// A logical block of so many pages emptied and filled.
    pub fn refill(&self, pages: u64) -> Ns {
        self.erase * self.erase_blocks + self.program * (pages * self.pages)
    }
}

/// What the chip did: flash pages and blocks, and the time that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Did {
    pub reads: u64,
    pub programs: u64,
    pub erases: u64,
    pub reading: Ns,
    pub programming: Ns,
    pub erasing: Ns,
}

impl Did {
    /// What was done after `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            programs: self.programs - before.programs,
            erases: self.erases - before.erases,
            reading: self.reading - before.reading,
            programming: self.programming - before.programming,
            erasing: self.erasing - before.erasing,
        }
    }

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

/// A job that was begun.
#[derive(Clone, Copy, Debug)]
struct Work {
    step: Step,
    /// Steps to be done.
    left: u64,
    each: Ns,
    /// Not before that.
    ready: Ns,
    /// Blocks that it works on: one, or the source and the target of a move.
    blocks: [u32; 2],
}

pub(super) struct Chip {
    steps: Steps,
    /// When the step under way ends; with one bank, also the reads before it.
    free: Ns,
    /// The blocks of the step under way, or of the last one.
    blocks: [u32; 2],
    /// When the last read of each bank ends.
    read_until: Vec<Ns>,
    work: Option<Work>,
    /// When what is fetched for each fill is there, in order.
    fetched: VecDeque<Ns>,
    pub did: Did,
}

impl Chip {
    pub fn new(steps: Steps) -> Self {
        let (fetched, did) = (VecDeque::new(), Did::default());
        let read_until = vec![Ns::ZERO; steps.banks as usize];
        Self { steps, free: Ns::ZERO, blocks: [0; 2], read_until, work: None, fetched, did }
    }

    /// Pages of flash in one of the cache's.
    pub fn pages(&self) -> u64 {
        self.steps.pages
    }

    /// What the next fill programs is there at this time.
    pub fn fetch(&mut self, ready: Ns) {
        self.fetched.push_back(ready);
    }

    /// What waits is done until this time, as far as it is begun before.
    #[inline]
    pub fn advance(&mut self, cache: &mut FlashCache, until: Ns) {
        while self.free < until {
            if self.work.is_none() && cache.is_idle() {
                self.free = until;
                return;
            }
            let Some(work) = self.next(cache) else {
                self.free = until;
                return;
            };
            let start = self.start_of(work);
            if start >= until {
                return;
            }
            let begun = if work.each == Ns::ZERO {
                work.left
            } else {
                (until - start).0.div_ceil(work.each.0).min(work.left)
            };
            self.carry_out(cache, work, start, begun);
        }
    }

    /// What waits is done, before any read, until no more than so many pages are in the buffer;
    /// answers with the time, or none if that was so.
    pub fn drain(&mut self, cache: &mut FlashCache, pages: u64) -> Option<Ns> {
        let mut end = None;
        while cache.buffered() > pages {
            let Some(work) = self.next(cache) else { break };
            self.carry_out(cache, work, self.start_of(work), work.left);
            end = Some(self.free);
        }
        end
    }

    /// All that waits is done; answers with when.
    pub fn finish(&mut self, cache: &mut FlashCache) -> Ns {
        while let Some(work) = self.next(cache) {
            self.carry_out(cache, work, self.start_of(work), work.left);
        }
        self.free.max(self.reads_end())
    }

    /// When the next step of this work can start.
    fn start_of(&self, work: Work) -> Ns {
        let reads = work.blocks.map(|block| self.read_until[self.bank(block)]);
        self.free.max(work.ready).max(reads[0]).max(reads[1])
    }

    /// When all reads have ended. One page at a time leaves the chip, whatever its bank.
    fn reads_end(&self) -> Ns {
        self.read_until.iter().copied().max().expect("flash has at least one bank")
    }

    fn bank(&self, block: u32) -> usize {
        (block % self.steps.banks) as usize
    }

    /// The job in hand, or the next one.
    fn next(&mut self, cache: &mut FlashCache) -> Option<Work> {
        if self.work.is_none() {
            let Steps { pages: parts, read, program, erase, erase_blocks, .. } = self.steps;
            let job = cache.job()?;
            let (step, left, each) = match job {
                Job::Erase { .. } => (Step::Erase, erase_blocks, erase),
                Job::Program { to, .. } => (Step::Program, u64::from(to.pages) * parts, program),
                // By way of the controller, which corrects what it read.
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
            self.work = Some(Work { step, left, each, ready, blocks });
        }
        self.work
    }

    fn carry_out(&mut self, cache: &mut FlashCache, work: Work, start: Ns, steps: u64) {
        self.free = start + work.each * steps;
        self.blocks = work.blocks;
        match work.step {
            Step::Erase => {
                self.did.erases += steps;
                self.did.erasing += work.each * steps;
            }
            Step::Program => {
                self.did.programs += steps;
                self.did.programming += work.each * steps;
            }
            Step::Move => {
                self.did.reads += steps;
                self.did.programs += steps;
                self.did.reading += self.steps.read * steps;
                self.did.programming += self.steps.program * steps;
            }
        }
        let left = work.left - steps;
        self.work = (left > 0).then_some(Work { left, ..work });
        if left == 0 {
            cache.done();
        }
    }

    /// Reads pages at this time, to which it was advanced, or as soon as the reads before it and
    /// the step under way in its bank have ended; answers with when they are in DRAM.
    #[inline]
    pub fn read(&mut self, at: Ns, place: PageRange) -> Ns {
        let steps = u64::from(place.pages) * self.steps.pages;
        let span = self.steps.read * steps;
        self.did.reads += steps;
        self.did.reading += span;
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
