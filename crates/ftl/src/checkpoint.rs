//! The layer's state as bytes and back: what a device has become after hours of simulation need
//! not be simulated again.
//!
//! Little-endian: the blocks (sequence, valid pages, erases, state), the closed ones in the order
//! in which they are listed, the write points, counters, and the map and the
//! reverse map as they are packed.
//! What identifies the array and the knobs, and a checksum, is up to whoever keeps the bytes.
//! Counts start again, and no page stays in a buffer.

use crate::blocks::BlockState;
use crate::buffer::NONE;
use crate::config::{Config, FtlConfigError};
use crate::io::ActionSink;
use crate::machine::Ftl;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use gordon_nand::Layout;
use gordon_units::{BlockId, Progress, Stopped};

/// Bytes that are no checkpoint of this array and these knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointError {
    /// The knobs cannot be.
    Config(FtlConfigError),
    /// They end too early.
    Short,
    /// They say what cannot be.
    Wrong(&'static str),
    /// Looking through them was to stop early.
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

/// Takes numbers from bytes.
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
    /// Gives up what the write buffer of a worn-out array holds, which can be programmed no more:
    /// these pages are what they were on the array. Says how many they are.
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

    /// Hands out the state, piece by piece.
    ///
    /// # Panics
    /// Where work is in flight or waits.
    pub fn checkpoint(&mut self, out: &mut dyn FnMut(&[u8])) {
        assert!(!self.is_busy(), "a checkpoint is made when no work is in flight");
        if let Some(at) = self.cached.take() {
            self.buffers.remove(at);
        }
        for block in (0..self.blocks.len()).map(BlockId) {
            out(&self.blocks.sequence(block).to_le_bytes());
            out(&self.blocks.valid(block).to_le_bytes());
            out(&self.blocks.erases(block).to_le_bytes());
            out(&[match self.blocks.state(block) {
                BlockState::Free => 0,
                BlockState::Open => 1,
                BlockState::Closed => 2,
                BlockState::Bad => 3,
                // Not for long: nothing is in flight. What cannot be read stays in such a block.
                BlockState::Collecting => 4,
            }]);
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
        self.map.save(out);
    }

    /// The layer as it was when the bytes were handed out. `input` fills what it is given, or says
    /// that it cannot. Then the tables are looked through: 64 entries are a step of `progress`.
    ///
    /// # Errors
    /// Where the bytes are not those of a layer on `layout` with the knobs of `config`, or
    /// `progress` stops it.
    pub fn restore(
        layout: Layout,
        config: Config,
        out: O,
        input: &mut dyn FnMut(&mut [u8]) -> bool,
        progress: &Progress,
    ) -> Result<Self, CheckpointError> {
        let wrong = |what| Err(CheckpointError::Wrong(what));
        let mut input = ByteSource(input);
        let mut states = Vec::with_capacity(layout.blocks() as usize);
        for _ in 0..layout.blocks() {
            let (sequence, valid, erases) = (input.u64()?, input.u32()?, input.u32()?);
            let mut state = [0];
            input.fill(&mut state)?;
            states.push((sequence, valid, erases, state[0]));
        }
        let listed = input.u32()?;
        if listed > layout.blocks() {
            return wrong("more closed blocks than blocks");
        }
        let listed: Vec<_> = (0..listed).map(|_| input.u32()).collect::<Result<_, _>>()?;
        let numbered = (0..).map(BlockId).zip(&states);
        let bad: Vec<_> = numbered.filter(|(_, s)| s.3 >= 3).map(|(id, _)| id).collect();
        let mut ftl = Self::worn(layout, config, &bad, out)?;
        let most = ftl.data_pages * config.slots;
        if states.iter().any(|&(_, valid, _, state)| valid > most || state > 4) {
            return wrong("a block that cannot be");
        }
        let mut seen = vec![false; states.len()];
        for &block in &listed {
            match states.get(block as usize) {
                Some((.., 2)) if !core::mem::replace(&mut seen[block as usize], true) => {}
                _ => return wrong("a block listed that is not closed, or twice"),
            }
        }
        let mut points = Vec::new();
        for _ in 0..config.points() {
            let (at, block) = (input.u32()?, input.u32()?);
            let (sequence, next) = (input.u64()?, input.u32()?);
            let open = states.get(block as usize).is_some_and(|&(.., state)| state == 1);
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
        ftl.blocks.restore(&states, &listed, input.u64()?);
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
        ftl.stats.preloaded = states.iter().map(|&(_, valid, ..)| u64::from(valid)).sum();
        if ftl.is_sound(progress)? { Ok(ftl) } else { wrong("its map and its blocks disagree") }
    }
}
