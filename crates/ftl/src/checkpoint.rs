//! The state of a layer as bytes and back, so that a preconditioned device need not be simulated
//! again.
//!
//! The bytes are little-endian: the blocks (sequence number, valid pages, erases, state), the
//! closed blocks in list order, the write points, counters, the map and the reverse map in packed
//! form. The caller adds what identifies the array and the configuration, and a checksum.
//! Statistics start at zero again, and no page stays in a buffer.

use crate::blocks::{BlockCondition, BlockSnapshot};
use crate::buffer::NONE;
use crate::config::{Config, FtlConfigError};
use crate::io::ActionSink;
use crate::machine::Ftl;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use gordon_nand::Layout;
use gordon_units::{BlockId, Progress, Stopped};

/// Why bytes are not a checkpoint of this array and configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointError {
    /// The configuration is invalid.
    Config(FtlConfigError),
    /// The bytes end too early.
    Short,
    /// The bytes describe an impossible state; names the contradiction.
    Wrong(&'static str),
    /// The restore was stopped.
    Stopped,
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Short => f.write_str("the checkpoint ends too early"),
            Self::Wrong(what) => write!(f, "the checkpoint is damaged: {what}"),
            Self::Stopped => f.write_str("stopped while the checkpoint was read"),
        }
    }
}

impl core::error::Error for CheckpointError {}

impl From<FtlConfigError> for CheckpointError {
    fn from(error: FtlConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<Stopped> for CheckpointError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// Reads integers from a byte source.
struct ByteSource<'a>(&'a mut dyn FnMut(&mut [u8]) -> bool);

impl ByteSource<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), CheckpointError> {
        if (self.0)(bytes) { Ok(()) } else { Err(CheckpointError::Short) }
    }

    fn u64(&mut self) -> Result<u64, CheckpointError> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn u32(&mut self) -> Result<u32, CheckpointError> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

impl<O: ActionSink> Ftl<O> {
    /// Discards the content of the write buffer on a worn-out array, where it can no longer be
    /// programmed: the pages revert to their state on the array. Returns the number of pages
    /// discarded.
    pub fn give_up_buffer(&mut self) -> u64 {
        let mut given_up = 0;
        while self.worn_out && !self.ready.is_empty() {
            let at = self.ready.unlink(&mut self.buffers, NONE);
            self.forget_writes(at);
            self.release_buffer(at);
            given_up += 1;
        }
        given_up
    }

    /// Writes the state to `out`, in several calls.
    ///
    /// # Panics
    /// Panics if work is in flight or waiting.
    pub fn checkpoint(&mut self, out: &mut dyn FnMut(&[u8])) {
        assert!(!self.is_busy(), "a checkpoint is made when no work is in flight");
        if let Some(at) = self.cached.take() {
            self.buffers.remove(at);
        }
        for block in (0..self.blocks.len()).map(BlockId) {
            let BlockSnapshot { sequence, valid, erases, condition } = self.blocks.snapshot(block);
            out(&sequence.to_le_bytes());
            out(&valid.to_le_bytes());
            out(&erases.to_le_bytes());
            out(&[condition.code()]);
        }
        let listed = self.blocks.in_order();
        out(&u32::try_from(listed.len()).expect("numbered in 32 bits").to_le_bytes());
        listed.iter().for_each(|block| out(&block.0.to_le_bytes()));
        for at in self.write_points.in_order() {
            let point = self.write_points.get(at);
            out(&u32::try_from(at).expect("numbered in 32 bits").to_le_bytes());
            out(&point.block.map_or(u32::MAX, |block| block.0).to_le_bytes());
            out(&point.sequence.to_le_bytes());
            out(&point.next.to_le_bytes());
        }
        out(&self.blocks.next_sequence().to_le_bytes());
        out(&self.trim_floor.to_le_bytes());
        out(&self.collector.random_state().to_le_bytes());
        out(&u64::from(self.worn_out).to_le_bytes());
        self.map.fill_tables();
        self.map.save(out);
    }

    /// Restores a layer from the bytes of a checkpoint. `input` fills the buffer passed to it, or
    /// returns false if it cannot. Then the tables are checked; each 64 entries are a step of
    /// `progress`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those of a layer on `layout` with `config`, or if
    /// `progress` requests a stop.
    pub fn restore(
        layout: Layout,
        config: Config,
        out: O,
        input: &mut dyn FnMut(&mut [u8]) -> bool,
        progress: &Progress,
    ) -> Result<Self, CheckpointError> {
        let wrong = |what| Err(CheckpointError::Wrong(what));
        let mut input = ByteSource(input);
        let mut blocks = Vec::with_capacity(layout.blocks() as usize);
        for _ in 0..layout.blocks() {
            let sequence = input.u64()?;
            let valid = input.u32()?;
            let erases = input.u32()?;
            let mut code = [0];
            input.fill(&mut code)?;
            let Some(condition) = BlockCondition::from_code(code[0]) else {
                return wrong("a block that cannot be");
            };
            blocks.push(BlockSnapshot { sequence, valid, erases, condition });
        }
        let listed = input.u32()?;
        if listed > layout.blocks() {
            return wrong("more closed blocks than blocks");
        }
        let listed: Vec<_> = (0..listed).map(|_| input.u32()).collect::<Result<_, _>>()?;
        let in_service = |block: &BlockSnapshot| {
            !matches!(block.condition, BlockCondition::Bad | BlockCondition::Unreadable)
        };
        let numbered = (0..).map(BlockId).zip(&blocks);
        let bad: Vec<_> = numbered.filter(|(_, b)| !in_service(b)).map(|(id, _)| id).collect();
        let mut ftl = Self::worn(layout, config, &bad, out)?;
        let most = ftl.data_pages * config.slots;
        if blocks.iter().any(|block| block.valid > most) {
            return wrong("a block that cannot be");
        }
        let has = |block: u32, condition| {
            blocks.get(block as usize).is_some_and(|block| block.condition == condition)
        };
        let mut seen = vec![false; blocks.len()];
        for &block in &listed {
            let closed = has(block, BlockCondition::Closed);
            if !closed || core::mem::replace(&mut seen[block as usize], true) {
                return wrong("a block listed that is not closed, or twice");
            }
        }
        let mut points = Vec::new();
        for _ in 0..config.points() {
            let (at, block) = (input.u32()?, input.u32()?);
            let (sequence, next) = (input.u64()?, input.u32()?);
            let open = has(block, BlockCondition::Open);
            let held = |&(other, of, ..): &(usize, u32, u64, u32)| {
                other == at as usize || (of == block && open)
            };
            if at >= config.points()
                || !(open || block == u32::MAX)
                || next > ftl.data_pages
                || points.iter().any(held)
            {
                return wrong("a write point that cannot be, or twice");
            }
            points.push((at as usize, block, sequence, next));
        }
        ftl.blocks.restore(&blocks, &listed, input.u64()?);
        for (at, block, sequence, next) in points {
            if block == u32::MAX {
                ftl.write_points.requeue(at);
            } else {
                let die_group = layout.die_group_of(BlockId(block));
                ftl.write_points.open(at, BlockId(block), die_group, sequence);
                ftl.write_points.skip_to(at, next);
            }
        }
        ftl.trim_floor = input.u64()?;
        ftl.collector.set_random_state(input.u64()?);
        ftl.worn_out = input.u64()? != 0;
        let most = config.most_on(ftl.blocks.good(), &layout);
        if u64::from(config.exported) > most && !ftl.worn_out {
            return wrong("too few good blocks, and not worn out");
        }
        let mut fill = |bytes: &mut [u8]| input.fill(bytes).is_ok();
        if !ftl.map.restore(&mut fill) {
            return Err(CheckpointError::Short);
        }
        let has_grown =
            |block: &&BlockSnapshot| block.condition == BlockCondition::Bad && block.sequence > 0;
        ftl.stats.grown_bad = blocks.iter().filter(has_grown).count() as u64;
        ftl.stats.preloaded = blocks.iter().map(|block| u64::from(block.valid)).sum();
        if ftl.is_sound(progress)? { Ok(ftl) } else { wrong("its map and its blocks disagree") }
    }
}
