//! Raw access to the flash array of an image, without the translation layer.
//!
//! A driver erases blocks, programs their pages in order, each once, and reads what it programmed.
//! It labels each block that it fills: a read returns only pages with this label, which were
//! programmed since the last erase. Bad blocks, erases, bit errors and failures are those of the
//! image, as under the translation layer.
//!
//! A power cut leaves the block that was being written or erased in any state. Blocks are therefore
//! not continued after [`RawNand::open`], which reports what is known of each: a driver erases
//! those that it does not need.

use crate::error::ImageError;
use crate::faults::FaultInjector;
use crate::format::oob::{self, OobContent, OobEntry, OobHead, OobSlot};
use crate::format::superblock::Usage;
use crate::format::table::{BlockHealth, BlockRecord, Contents, ShutdownState};
use crate::format::{NO_LPN, crc, digest};
use crate::image::{Image, LastShutdown};
use crate::offsets::ImageOffsets;
use crate::sync_tracker::SyncTracker;
use gordon_nand::{BlockProgress, Layout, ProgramOrderChecker};
use gordon_units::BlockId;
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a driver writes with each page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawLabel {
    /// What the block holds: a number below 2^32 - 1.
    pub tag: u32,
    /// A number that differs each time that the block is filled.
    pub sequence: u64,
}

/// What is known of a block when an image is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawContents {
    /// The block is erased.
    Erased,
    /// The block seems to be erased, but must be erased before it is programmed: a power cut may
    /// have ended a program or an erase of it.
    SeemsErased,
    /// The first page of the block cannot be read. Should it become readable, the block would have
    /// its label again, unless it is erased.
    Unreadable,
    /// The first page of the block has this label; others may be missing.
    Labelled(RawLabel),
}

/// A block in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBlock {
    /// The block.
    pub block: BlockId,
    /// Number of erases.
    pub erases: u32,
    /// What it holds.
    pub contents: RawContents,
}

/// A program or an erase has failed, and its block went out of service.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("block {0} went bad")]
pub struct WentBad(pub BlockId);

impl WentBad {
    /// Whether an operation failed because its block went bad.
    #[must_use]
    pub fn is_cause_of(error: &Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

/// Erases and bad blocks of an array, and the operations since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawWear {
    /// Erases of all blocks in service in the life of the image.
    pub erases: u64,
    /// The smallest number of erases of a block in service.
    pub least: u32,
    /// The largest number of erases of a block in service.
    pub most: u32,
    /// Blocks in service.
    pub good: u32,
    /// Blocks out of service, those bad from the factory included.
    pub bad: u32,
    /// Pages programmed since the image was opened.
    pub programs: u64,
    /// Programs and erases that failed since the image was opened.
    pub failures: u64,
    /// Bits corrected in pages read since the image was opened.
    pub bits_corrected: u64,
}

#[derive(Debug, Default)]
struct RawCounters {
    programs: AtomicU64,
    failures: AtomicU64,
    bits_corrected: AtomicU64,
}

/// The flash array of an image. Threads may share it; they must not use the same block at the same
/// time, except to read it.
pub struct RawNand {
    image: Mutex<Image>,
    sync_tracker: Arc<SyncTracker>,
    offsets: ImageOffsets,
    layout: Layout,
    slots: u32,
    fault_injector: FaultInjector,
    rules: Mutex<ProgramOrderChecker>,
    counters: RawCounters,
}

impl RawNand {
    /// Opens the array of an image, which from then on cannot hold a block device. Returns the
    /// blocks in service.
    ///
    /// # Errors
    /// Returns an error if the image holds the data of a block device, or is damaged.
    pub fn open(mut image: Image) -> std::result::Result<(Self, Vec<RawBlock>), ImageError> {
        Self::check(&image)?;
        let path = image.path.clone();
        let fail = |error| ImageError::io(&path, error);
        let layout = image.resolved.layout;
        let mut rules = ProgramOrderChecker::new(layout);
        let mut syncs = image.recorded_sync.unwrap_or(0);
        let mut found = Vec::new();
        for (block, record) in (0..).map(BlockId).zip(image.expected.clone()) {
            if record.health != BlockHealth::Good {
                let progress = BlockProgress { next: 0, erases: record.erases, bad: true };
                rules.set(block, progress);
                continue;
            }
            let (entry, tag) = first_entry(&image, block);
            let contents = match entry {
                OobEntry::Erased
                    if image.last_shutdown == LastShutdown::Closed
                        && record.shutdown_state != ShutdownState::Suspect =>
                {
                    RawContents::Erased
                }
                // Fewer erases than are recorded: older contents of the block have come back.
                OobEntry::Programmed(head) if head.erases < record.erases => {
                    RawContents::Unreadable
                }
                OobEntry::Programmed(OobHead { sequence, .. }) if tag != NO_LPN => {
                    RawContents::Labelled(RawLabel { tag, sequence })
                }
                OobEntry::Erased => RawContents::SeemsErased,
                _ => RawContents::Unreadable,
            };
            let head = entry.head();
            syncs = syncs.max(head.map_or(0, |head| head.syncs));
            let erases = record.erases.max(head.map_or(0, |head| head.erases));
            let is_erased = contents == RawContents::Erased;
            // A block that is not erased is not continued.
            let next = if is_erased { 0 } else { layout.pages_per_block() };
            rules.set(block, BlockProgress { next, erases, bad: false });
            found.push(RawBlock { block, erases, contents });
        }
        image.sync_tracker.set_syncs(syncs + 2);
        image.superblock.usage = Usage::Raw;
        for block in &found {
            let before = image.record(block.block);
            let record = BlockRecord { erases: block.erases, ..before };
            image.sync_tracker.set_record(block.block, record);
        }
        // What was read above is durable from here on.
        image.begin().map_err(fail)?;
        image.mark_recovered().map_err(fail)?;
        let raw = Self {
            sync_tracker: image.sync_tracker.clone(),
            offsets: image.offsets,
            slots: image.resolved.config.slots,
            fault_injector: image.fault_injector(),
            rules: Mutex::new(rules),
            counters: RawCounters::default(),
            layout,
            image: Mutex::new(image),
        };
        Ok((raw, found))
    }

    /// Checks that the array of an image can be used.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn check(image: &Image) -> std::result::Result<(), ImageError> {
        if !image.is_raw() && !image.is_unused() {
            return Err(ImageError::HoldsDevice(image.path.clone()));
        }
        if image.unproven.is_empty() {
            return Ok(());
        }
        Err(ImageError::Unproven { path: image.path.clone(), damage: image.unproven.clone() })
    }

    fn rules(&self) -> MutexGuard<'_, ProgramOrderChecker> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of erases of a block.
    #[must_use]
    pub fn erases(&self, block: BlockId) -> u32 {
        self.rules().block(block).erases
    }

    /// Erases a block.
    ///
    /// # Errors
    /// Returns [`WentBad`] if the block goes out of service; what it holds is never read again once
    /// that is synced. Other errors are those of the file under the image.
    pub fn erase(&self, block: BlockId) -> Result<()> {
        let BlockProgress { erases, bad, .. } = self.rules().block(block);
        if bad {
            return Err(Error::other(WentBad(block)));
        }
        let worn = self.fault_injector.budget(block).is_some_and(|budget| erases >= budget);
        if worn || self.fault_injector.erase_fails(block, erases) {
            let health = if worn { BlockHealth::Worn } else { BlockHealth::Erase };
            return Err(self.fail(block, health));
        }
        let zeros = vec![0; self.offsets.oob_area()];
        let at = self.offsets.block(block);
        self.sync_tracker.change(|media| media.write(at, &zeros))?;
        self.rules().erase(block).map_err(Error::other)?;
        let record = self.sync_tracker.table().record(block);
        let record = BlockRecord { erases: erases + 1, contents: Contents::Nothing, ..record };
        self.sync_tracker.set_record(block, record);
        Ok(())
    }

    /// Programs a page.
    ///
    /// # Errors
    /// Returns an error of the kind `InvalidInput` if the page is not the next one of its block,
    /// and [`WentBad`] if the block goes out of service.
    ///
    /// # Panics
    /// Panics if `data` is not a page.
    pub fn program(&self, block: BlockId, page: u32, label: RawLabel, data: &[u8]) -> Result<()> {
        assert_eq!(data.len() as u64, self.offsets.page_bytes, "a page is programmed whole");
        let ppn = self.layout.ppn(block, page);
        let erases = {
            let mut rules = self.rules();
            let refused = |refusal| Error::new(ErrorKind::InvalidInput, refusal);
            rules.program(ppn).map_err(refused)?;
            rules.block(block).erases
        };
        if self.fault_injector.program_fails(ppn, erases) {
            return Err(self.fail(block, BlockHealth::Program));
        }
        let at = self.offsets.slot(ppn, 0);
        self.sync_tracker.change(|media| media.write_data(at, &mut [IoSlice::new(data)]))?;
        let unit = self.unit();
        let slots = data.chunks(unit).map(|slot| OobSlot { lpn: label.tag, crc: crc(slot) });
        let syncs = self.sync_tracker.syncs_started();
        let head = OobHead { content: OobContent::Data, sequence: label.sequence, syncs, erases };
        let mut entry = vec![0; self.offsets.oob_bytes];
        oob::encode(&mut entry, ppn, head, slots);
        let at = self.offsets.oob(ppn);
        self.sync_tracker.change(|media| media.write(at, &entry))?;
        self.counters.programs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Reads whole slots from byte `at` of a block that was filled with this label. Pages that are
    /// erased read as zeros.
    ///
    /// # Errors
    /// Returns an error of the kind `InvalidData` if a page has another label or too many wrong
    /// bits.
    ///
    /// # Panics
    /// Panics if the range is not whole slots of the block.
    pub fn read(&self, block: BlockId, at: u64, into: &mut [u8], label: RawLabel) -> Result<()> {
        let (unit, page_bytes) = (self.offsets.unit, self.offsets.page_bytes);
        let end = at + into.len() as u64;
        let whole = at.is_multiple_of(unit) && end.is_multiple_of(unit);
        assert!(whole && end <= self.block_bytes(), "whole slots of a block are read");
        if into.is_empty() {
            return Ok(());
        }
        let number = |slot: u64| u32::try_from(slot).unwrap_or(u32::MAX);
        let (first, last) = (number(at / page_bytes), number((end - 1) / page_bytes));
        let media = self.sync_tracker.media();
        let mut entries = vec![0; (last - first + 1) as usize * self.offsets.oob_bytes];
        media.read(self.offsets.oob(self.layout.ppn(block, first)), &mut entries)?;
        let slot = number(at % page_bytes / unit);
        let data_at = self.offsets.slot(self.layout.ppn(block, first), slot);
        media.read_data(data_at, &mut [IoSliceMut::new(into)])?;
        let erases = self.erases(block);
        let slots = u64::from(slot)..;
        for (slot, data) in slots.zip(into.chunks_mut(self.unit())) {
            let page = slot / u64::from(self.slots);
            let slot = number(slot % u64::from(self.slots));
            let ppn = self.layout.ppn(block, first + number(page));
            let start = usize::try_from(page).unwrap_or(usize::MAX) * self.offsets.oob_bytes;
            let entry = &entries[start..start + self.offsets.oob_bytes];
            let damaged = |why: &str| {
                Error::new(
                    ErrorKind::InvalidData,
                    format!("block {block}, page {}: {why}", first + number(page)),
                )
            };
            let head = match oob::decode(entry, ppn) {
                OobEntry::Erased => {
                    data.fill(0);
                    continue;
                }
                OobEntry::Programmed(head) => head,
                OobEntry::Lost | OobEntry::Damaged => return Err(damaged("its entry is damaged")),
            };
            let expected = oob::slot(entry, slot);
            let is_same = head.sequence == label.sequence && head.erases == erases;
            if !is_same || expected.lpn != label.tag {
                return Err(damaged("it holds something else"));
            }
            let corrected = self.fault_injector.read(ppn, slot, erases, data);
            self.counters.bits_corrected.fetch_add(corrected.bits, Ordering::Relaxed);
            if corrected.lost > 0 || crc(data) != expected.crc {
                return Err(damaged("too many wrong bits"));
            }
        }
        Ok(())
    }

    /// Makes all earlier programs and erases durable, and the blocks that went bad.
    ///
    /// # Errors
    /// Returns an error if the file under the image cannot be synced, or could not be before.
    pub fn sync(&self) -> Result<()> {
        let was_broken = self.sync_tracker.is_broken();
        let synced = self.sync_tracker.sync();
        if synced.is_err() && !was_broken && self.sync_tracker.is_broken() {
            self.image().mark_untrusted();
        }
        synced
    }

    /// Records an orderly shutdown. Blocks in `suspects` only seem to be erased.
    ///
    /// # Errors
    /// Returns an error if the file under the image cannot be written.
    pub fn close(&self, suspects: impl IntoIterator<Item = BlockId>) -> Result<()> {
        let mut image = self.image();
        let mut records = image.records();
        for record in &mut records {
            (record.contents, record.shutdown_state) = (Contents::Nothing, ShutdownState::Plain);
        }
        for block in suspects {
            records[block.index()].shutdown_state = ShutdownState::Suspect;
        }
        let digests = digest::empty(image.resolved.config.exported);
        image.end_shutdown(records, &digests)
    }

    /// The wear of the array.
    #[must_use]
    pub fn wear(&self) -> RawWear {
        let rules = self.rules();
        let blocks = (0..self.layout.blocks()).map(|block| rules.block(BlockId(block)));
        let mut wear = RawWear { least: u32::MAX, ..RawWear::default() };
        for block in blocks {
            if block.bad {
                wear.bad += 1;
                continue;
            }
            wear.good += 1;
            wear.erases += u64::from(block.erases);
            wear.least = wear.least.min(block.erases);
            wear.most = wear.most.max(block.erases);
        }
        wear.least = wear.least.min(wear.most);
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        wear.programs = count(&self.counters.programs);
        wear.failures = count(&self.counters.failures);
        wear.bits_corrected = count(&self.counters.bits_corrected);
        wear
    }

    fn image(&self) -> MutexGuard<'_, Image> {
        self.image.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.offsets.page_bytes
    }

    /// Bytes of a block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.layout.pages_per_block()) * self.offsets.page_bytes
    }

    /// Bytes of a slot, the unit of reads.
    #[must_use]
    pub fn unit(&self) -> usize {
        usize::try_from(self.offsets.unit).unwrap_or(usize::MAX)
    }

    /// Takes a block out of service.
    fn fail(&self, block: BlockId, health: BlockHealth) -> Error {
        self.counters.failures.fetch_add(1, Ordering::Relaxed);
        let bad = self.rules().mark_bad(block);
        debug_assert!(bad.is_ok(), "the array has the block");
        let record = self.sync_tracker.table().record(block);
        let record = BlockRecord { health, contents: Contents::Nothing, ..record };
        self.sync_tracker.set_record(block, record);
        Error::other(WentBad(block))
    }
}

/// The entry of the first page of a block, with the tag in its first slot. An entry that cannot be
/// read is damaged.
fn first_entry(image: &Image, block: BlockId) -> (OobEntry, u32) {
    let ppn = image.resolved.layout.ppn(block, 0);
    let mut entry = vec![0; image.offsets.oob_bytes];
    match image.sync_tracker.media().read(image.offsets.oob(ppn), &mut entry) {
        Ok(()) => (oob::decode(&entry, ppn), oob::slot(&entry, 0).lpn),
        Err(_) => (OobEntry::Damaged, NO_LPN),
    }
}
