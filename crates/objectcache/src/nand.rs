//! A NAND image as the storage of a cache, without a translation layer.
//!
//! The cache's addresses are divided into logical blocks of the size of an erase block. A logical
//! block is erased as a whole ([`Storage::begin`]), takes the least worn free block when its first
//! page is written, and is written to its end. So the blocks of the journal and of segments take
//! turns over the whole array, and bad blocks are left out. A few blocks are kept free for those
//! that go bad; the last ones are for the journal only, so that removals can be recorded when
//! segments can no longer be written.
//!
//! A journal that is written far more often than segments would wear out the free blocks. Once they
//! have [`SPREAD`] erases more than a block of a segment, the cache discards that segment, so that
//! its blocks take their turn ([`Storage::coldest`]).
//!
//! Which logical block a block holds is in its out-of-band entries. If a power cut leaves two
//! blocks of the same logical block, the one that was filled last counts; the other one is erased.

use crate::format::PAGE;
use crate::format::superblock::{EraseBlocks, Superblock};
use crate::medium::{Buffer, Storage};
use gordon_store::{Image, ImageError, RawBlock, RawContents, RawLabel, RawNand, RawWear, WentBad};
use gordon_units::BlockId;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Erases by which the least worn free block may exceed a block of a segment.
const SPREAD: u32 = 16;

/// Spare blocks of a small array.
const FEWEST_SPARE: u64 = 4;

/// The dimensions of an array that matter to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NandShape {
    pub blocks: EraseBlocks,
    /// Blocks in service.
    pub good: u64,
}

impl NandShape {
    /// The shape of an image's array. `None` if its blocks do not have two units of writes, or are
    /// too large for an address.
    pub fn of(image: &Image) -> Option<Self> {
        let layout = image.resolved().layout;
        let page = layout.page_bytes().0;
        // Whole pages of the array and of the cache.
        let unit = (1..=PAGE as u64).map(|count| count * page);
        let unit = unit.into_iter().find(|bytes| bytes.is_multiple_of(PAGE as u64))?;
        let block = layout.block_bytes().0 / unit * unit;
        let (unit, block) = (u32::try_from(unit).ok()?, u32::try_from(block).ok()?);
        let good = u64::from(layout.blocks()) - image.bad().len() as u64;
        (block / unit >= 2).then_some(Self { blocks: EraseBlocks { unit, block }, good })
    }

    /// Bytes that a new cache can use. The other blocks are for those that go bad.
    pub fn capacity(&self) -> u64 {
        let spare = (self.good / 50).max(FEWEST_SPARE);
        self.good.saturating_sub(spare) * u64::from(self.blocks.block)
    }
}

/// A block that holds a logical block.
#[derive(Clone, Copy)]
struct Mapped {
    block: BlockId,
    sequence: u64,
    /// The next page; `None` if the block was filled before this start and is not continued.
    next: Option<u32>,
}

#[derive(Default)]
struct NandState {
    /// By logical block.
    map: BTreeMap<u32, Mapped>,
    /// Erases and number of the blocks that hold nothing.
    free: BTreeSet<(u32, BlockId)>,
    /// Free blocks that must be erased before they are programmed.
    suspects: BTreeSet<BlockId>,
    sequence: u64,
    /// The first logical block of a segment, and those of a half of the journal.
    segments: u32,
    half: usize,
}

impl NandState {
    /// Free blocks that segments leave to the journal, whose blocks are not all in use.
    fn reserved(&self) -> usize {
        self.segments as usize + 1 - self.map.range(..self.segments).count()
    }
}

/// The array of an image.
pub(crate) struct NandStorage {
    raw: RawNand,
    blocks: EraseBlocks,
    /// Number of logical blocks that could be addressed.
    count: u32,
    state: Mutex<NandState>,
}

impl NandStorage {
    /// Opens the array of an image, which then can no longer hold a block device.
    pub fn open(image: Image, shape: NandShape) -> std::result::Result<Self, ImageError> {
        let count = image.resolved().layout.blocks();
        let path = image.path.clone();
        let (raw, found) = RawNand::open(image)?;
        let mut state = NandState::default();
        let mut stale = Vec::new();
        for RawBlock { block, erases, contents } in found {
            match contents {
                RawContents::Erased => {
                    state.free.insert((erases, block));
                }
                RawContents::SeemsErased => {
                    state.free.insert((erases, block));
                    state.suspects.insert(block);
                }
                RawContents::Unreadable => stale.push(block),
                RawContents::Labelled(RawLabel { tag, sequence }) => {
                    state.sequence = state.sequence.max(sequence);
                    let new = Mapped { block, sequence, next: None };
                    let older = match state.map.get(&tag) {
                        _ if tag >= count => Some(block),
                        Some(other) if other.sequence > sequence => Some(block),
                        _ => state.map.insert(tag, new).map(|other| other.block),
                    };
                    stale.extend(older);
                }
            }
        }
        let storage = Self { raw, blocks: shape.blocks, count, state: Mutex::new(state) };
        for block in stale {
            let erased = storage.release(block);
            erased.map_err(|error| ImageError::Io { path: path.clone(), error })?;
        }
        Ok(storage)
    }

    fn state(&self) -> MutexGuard<'_, NandState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Erases a block and makes it free. One that goes bad is never used again.
    fn release(&self, block: BlockId) -> Result<()> {
        match self.raw.erase(block) {
            Ok(()) => {
                self.state().free.insert((self.raw.erases(block), block));
                Ok(())
            }
            Err(error) if WentBad::is_cause_of(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes the least worn free block for a logical block.
    fn take(&self, logical: u32) -> Result<Mapped> {
        loop {
            let (block, is_suspect) = {
                let mut state = self.state();
                let kept = if logical >= state.segments { state.reserved() } else { 0 };
                let enough = state.free.len() > kept;
                let Some((_, block)) = enough.then(|| state.free.pop_first()).flatten() else {
                    let why = "too many erase blocks are bad";
                    return Err(Error::new(ErrorKind::StorageFull, why));
                };
                (block, state.suspects.remove(&block))
            };
            if is_suspect {
                // It is free again, or went bad.
                self.release(block)?;
                continue;
            }
            let mut state = self.state();
            state.sequence += 1;
            let mapped = Mapped { block, sequence: state.sequence, next: Some(0) };
            state.map.insert(logical, mapped);
            return Ok(mapped);
        }
    }

    /// The logical blocks of a range of addresses.
    fn logical(&self, area: &Range<u64>) -> Range<u32> {
        let block = u64::from(self.blocks.block);
        let number = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
        number(area.start / block)..number(area.end.div_ceil(block))
    }

    /// Programs a page of a logical block, and pages of zeros before it that were left out.
    fn program(&self, logical: u32, page: u32, bytes: &[u8]) -> Result<()> {
        let mapped = self.state().map.get(&logical).copied();
        let mapped = match mapped {
            Some(mapped) => mapped,
            None => self.take(logical)?,
        };
        let label = RawLabel { tag: logical, sequence: mapped.sequence };
        let next = mapped.next.filter(|next| *next <= page);
        let Some(next) = next else {
            let why = format!("block {logical}: page {page} is programmed already");
            return Err(Error::new(ErrorKind::InvalidInput, why));
        };
        if next < page {
            let mut zeros = Buffer::new(bytes.len());
            for skipped in next..page {
                self.raw.program(mapped.block, skipped, label, zeros.slice())?;
            }
        }
        let programmed = self.raw.program(mapped.block, page, label, bytes);
        let mut state = self.state();
        if let Some(mapped) = state.map.get_mut(&logical) {
            mapped.next = programmed.is_ok().then_some(page + 1);
        }
        programmed
    }

    /// Erases the blocks of an area.
    fn erase(&self, area: &Range<u64>) -> Result<()> {
        for logical in self.logical(area) {
            let mapped = self.state().map.get(&logical).copied();
            let Some(mapped) = mapped else { continue };
            self.release(mapped.block)?;
            self.state().map.remove(&logical);
        }
        Ok(())
    }
}

impl Storage for NandStorage {
    fn set_layout(&self, superblock: &Superblock) {
        let mut state = self.state();
        let blocks = |bytes: u64| bytes / u64::from(self.blocks.block);
        let end = blocks(superblock.journal_at(2));
        state.segments = u32::try_from(end).unwrap_or(u32::MAX);
        state.half = usize::try_from(blocks(superblock.journal())).unwrap_or(usize::MAX);
    }

    fn len(&self) -> u64 {
        u64::from(self.count) * u64::from(self.blocks.block)
    }

    fn read(&self, mut at: u64, mut into: &mut [u8]) -> Result<()> {
        let (block, slot) = (u64::from(self.blocks.block), self.raw.unit() as u64);
        while !into.is_empty() {
            let within = at % block;
            #[allow(clippy::cast_possible_truncation)] // at most the length
            let len = (block - within).min(into.len() as u64) as usize;
            let (part, rest) = into.split_at_mut(len);
            let logical = u32::try_from(at / block).unwrap_or(u32::MAX);
            let mapped = self.state().map.get(&logical).copied();
            match mapped {
                None => part.fill(0),
                Some(Mapped { block, sequence, .. }) => {
                    let label = RawLabel { tag: logical, sequence };
                    let end = within + len as u64;
                    let start = within / slot * slot;
                    let whole = end.next_multiple_of(slot) - start;
                    if whole == len as u64 {
                        self.raw.read(block, within, part, label)?;
                    } else {
                        // Slots are read whole, since their checksums are.
                        let mut slots = Buffer::new(usize::try_from(whole).unwrap_or(usize::MAX));
                        self.raw.read(block, start, slots.slice(), label)?;
                        #[allow(clippy::cast_possible_truncation)] // less than a slot
                        let skip = (within - start) as usize;
                        part.copy_from_slice(&slots.slice()[skip..skip + len]);
                    }
                }
            }
            (at, into) = (at + len as u64, rest);
        }
        Ok(())
    }

    fn begin(&self, area: Range<u64>) -> Result<()> {
        self.erase(&area)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let (block, page) = (u64::from(self.blocks.block), self.raw.page_bytes());
        let pages = bytes.chunks(usize::try_from(page).unwrap_or(usize::MAX));
        for (at, bytes) in (0..).map(|number| at + number * page).zip(pages) {
            let number = |of: u64| u32::try_from(of).unwrap_or(u32::MAX);
            self.program(number(at / block), number(at % block / page), bytes)?;
        }
        Ok(())
    }

    fn discard(&self, area: Range<u64>) -> Result<()> {
        self.erase(&area)?;
        self.raw.sync()
    }

    fn sync(&self) -> Result<()> {
        self.raw.sync()
    }

    fn continues(&self) -> bool {
        false
    }

    fn close(&self) -> Result<()> {
        let suspects = self.state().suspects.clone();
        self.raw.close(suspects)
    }

    fn wear(&self) -> Option<RawWear> {
        Some(self.raw.wear())
    }

    fn coldest(&self) -> Option<u64> {
        let state = self.state();
        // The most worn block that the next half of the journal would take.
        let (free, _) = state.free.iter().take(state.half).next_back()?;
        let segments = state.map.range(state.segments..);
        let worn = segments.map(|(logical, mapped)| (self.raw.erases(mapped.block), *logical));
        let (cold, logical) = worn.min()?;
        let is_cold = cold.saturating_add(SPREAD) <= *free;
        is_cold.then(|| u64::from(logical) * u64::from(self.blocks.block))
    }

    fn page_bytes(&self) -> u64 {
        self.raw.page_bytes()
    }
}
