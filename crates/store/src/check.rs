//! An offline check of a whole image, which changes nothing.
//!
//! The check compares the block table with the programmed pages, each out-of-band entry with its
//! checksum, summaries with the entries of their block, entries with the rules of NAND (pages in
//! order, sequence numbers that never decrease, none used by two blocks), after an orderly shutdown
//! the resulting map with its digests, and the data of each unit with their checksum. Exempt are
//! erased pages, superseded data, and pages that were being written when the server was killed.
//! Data are compared as they are in the file: modelled bit errors do not count as damage.

use crate::error::ImageError;
use crate::format::oob::{self, OobContent, OobEntry, OobHead};
use crate::format::table::BlockHealth;
use crate::format::{NO_LPN, crc, summary};
use crate::image::{Image, LastShutdown};
use crate::image_scan::{BlockEntries, ImageScan, ScanError, clean_shutdown_state, proofs};
use gordon_ftl::Ftl;
use gordon_units::{BlockId, Lpn, Ppn};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::ops::Range;

/// Number of errors that are listed; further ones are only counted.
const WORDED: usize = 1000;

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckReport {
    /// No errors were found.
    pub clean: bool,
    /// Descriptions of the first thousand errors.
    pub errors: Vec<String>,
    /// Number of errors.
    pub error_count: u64,
    /// Whether the image can be served, that is, whether the metadata that determine the current
    /// data are proved.
    pub servable: bool,
    /// The store was shut down in order. After a kill or a crash it was not, which is not an error.
    pub closed_in_order: bool,
    /// Number of super-blocks.
    pub blocks: u64,
    /// Number of super-blocks that are out of service or have failed a program.
    pub bad_blocks: u64,
    /// Number of super-blocks that hold nothing.
    pub erased_blocks: u64,
    /// Number of super-blocks with a summary.
    pub closed_blocks: u64,
    /// Number of pages with data.
    pub data_pages: u64,
    /// Number of pages of the trim journal.
    pub trim_pages: u64,
    /// Number of pages that were being written, without having been flushed, when the server was
    /// killed.
    pub torn: u64,
    /// Number of units whose data were compared with their checksum.
    pub slots: u64,
    /// Number of units that hold data.
    pub logical_pages: u64,
    /// Number of units of the device.
    pub exported_pages: u64,
    /// Byte ranges with data that are unreadable.
    pub unreadable_ranges: Vec<Range<u64>>,
    /// Blocks with any damage.
    #[serde(skip)]
    pub(crate) damaged_blocks: BTreeSet<BlockId>,
}

struct Checker<'a> {
    image: &'a Image,
    scan: &'a ImageScan,
    ftl: &'a Ftl,
    /// Pages whose damage has already been reported.
    missing: BTreeSet<Ppn>,
    /// Pages that do not count, since their program was interrupted.
    torn: BTreeSet<Ppn>,
    report: CheckReport,
    /// By unit: whether its data match their checksum.
    sound: Vec<bool>,
    /// Sequence numbers with their blocks.
    sequences: Vec<(u64, BlockId)>,
    data: Vec<u8>,
    zeros: u32,
}

/// Checks a whole image.
pub fn check(image: &Image) -> Result<CheckReport, ImageError> {
    let fail = |error| ImageError::io(&image.path, error);
    let layer = |why| ScanError::Mount(why).of(image);
    let (mount, scan) = ImageScan::of(image)?;
    let config = image.resolved().config;
    let mut errors = scan.damage(image);
    let mut servable = errors.is_empty();
    let frozen = mount.clone().into_frozen_ftl(VecDeque::new()).map_err(layer)?;
    if image.last_shutdown == LastShutdown::Closed {
        let proofs = proofs(image, &frozen).map_err(fail)?;
        let wrong = proofs.iter().filter(|proof| **proof == Some(false)).count();
        let unknown = proofs.iter().filter(|proof| proof.is_none()).count();
        if wrong > 0 {
            errors.push(format!("the map: {wrong} groups of units are not as their digests say"));
        }
        if unknown > 0 {
            errors.push(format!("the digests of {unknown} groups of units are damaged"));
        }
        if scan.missing.is_empty()
            && let Err(why) =
                mount.into_ftl::<VecDeque<_>>(Some(&clean_shutdown_state(image)), VecDeque::new())
        {
            errors.push(why.to_string());
        }
        servable = if servable { wrong == 0 } else { wrong + unknown == 0 };
        servable &= image.unproven.is_empty();
    }
    if let Err(why) = frozen.check_at_rest() {
        errors.push(format!("the map: {why}"));
    }
    let unit = usize::try_from(image.offsets().unit).expect("a unit fits in memory");
    let mut check = Checker {
        image,
        scan: &scan,
        ftl: &frozen,
        missing: scan.missing.iter().map(|missing| missing.ppn).collect(),
        torn: scan.torn.iter().copied().collect(),
        report: CheckReport {
            servable,
            closed_in_order: image.last_shutdown == LastShutdown::Closed,
            blocks: scan.expected.len() as u64,
            torn: scan.torn.len() as u64,
            exported_pages: config.exported.into(),
            ..CheckReport::default()
        },
        sound: vec![false; config.exported as usize],
        sequences: Vec::new(),
        data: vec![0; unit],
        zeros: crc(&vec![0; unit]),
    };
    for what in image.redundant.iter().cloned().chain(errors) {
        check.error(what);
    }
    for block in (0..image.resolved().layout.blocks()).map(BlockId) {
        check.block(block).map_err(fail)?;
    }
    Ok(check.end())
}

impl Checker<'_> {
    fn error(&mut self, what: String) {
        self.report.error_count += 1;
        if self.report.errors.len() < WORDED {
            self.report.errors.push(what);
        }
    }

    fn end(mut self) -> CheckReport {
        self.sequences.sort_unstable();
        self.sequences.dedup();
        let sequences = std::mem::take(&mut self.sequences);
        for pair in sequences.windows(2) {
            if let [(number, first), (other, second)] = pair
                && number == other
            {
                self.error(format!("blocks {first} and {second} share sequence number {number}"));
            }
        }
        let mapped = (0..self.ftl.config().exported).filter(|&lpn| self.ftl.is_mapped(Lpn(lpn)));
        let mapped: Vec<u32> = mapped.collect();
        self.report.logical_pages = mapped.len() as u64;
        let (unit, capacity) = (self.image.offsets().unit, self.image.device().capacity.0);
        let unreadable = mapped.into_iter().filter(|&lpn| !self.sound[lpn as usize]);
        self.report.unreadable_ranges = joined(unreadable.map(|lpn| {
            let from = u64::from(lpn) * unit;
            from..(from + unit).min(capacity)
        }));
        self.report.clean = self.report.error_count == 0;
        self.report
    }

    fn block(&mut self, block: BlockId) -> io::Result<()> {
        let layout = self.image.resolved().layout;
        let record = self.scan.expected[block.index()];
        let errors = self.report.error_count;
        self.report.bad_blocks += u64::from(record.health != BlockHealth::Good);
        let entries = BlockEntries::read(self.image, block, record)?;
        let promised = record.contents.count();
        // After an orderly shutdown, further pages count as erased.
        let end = promised.max(if self.image.last_shutdown == LastShutdown::Closed {
            0
        } else {
            entries.end
        });
        self.report.erased_blocks += u64::from(end == 0);
        if end > 0 && record.health == BlockHealth::Factory {
            self.error(format!("block {block}: bad from the factory, yet programmed"));
        }
        let (pages, data_pages) = (layout.pages_per_block(), self.image.data_pages());
        let in_use: Vec<bool> =
            (0..pages).map(|page| self.in_use(layout.ppn(block, page))).collect();
        let mut floor = 0;
        for page in 0..end {
            let ppn = layout.ppn(block, page);
            if self.missing.contains(&ppn) || self.torn.contains(&ppn) {
                continue;
            }
            let (entry, bytes) = entries.get(page);
            if let Some(head) = entries.head(page) {
                self.page(block, ppn, head, bytes, floor)?;
                floor = floor.max(head.sequence);
                continue;
            }
            // The entry of a summary page is in use if any data page of its block is.
            let entry_in_use =
                in_use[page as usize] || (page >= data_pages && in_use.contains(&true));
            if page < promised && entry_in_use {
                self.error(match entry {
                    OobEntry::Programmed(head) => {
                        let (page, table) = (head.erases, record.erases);
                        format!("page {ppn}: says {page} erases, the block table {table}")
                    }
                    _ => format!("page {ppn}: its out-of-band entry is damaged"),
                });
            }
        }
        let mut summary = (data_pages..pages).map(|page| entries.head(page));
        let is_closed =
            summary.all(|head| head.is_some_and(|head| head.content == OobContent::Summary));
        if (end == pages && is_closed) || (promised == pages && !entries.is_journal()) {
            self.report.closed_blocks += 1;
            if in_use.contains(&true) {
                self.summary(block, &entries)?;
            }
        }
        if self.report.error_count > errors {
            self.report.damaged_blocks.insert(block);
        }
        Ok(())
    }

    /// Whether a page holds the current data of a unit.
    fn in_use(&self, ppn: Ppn) -> bool {
        (0..self.ftl.config().slots).any(|slot| {
            let lpn = self.ftl.written(ppn, slot);
            lpn.is_some_and(|lpn| self.ftl.lookup(lpn) == Some((ppn, slot)))
        })
    }

    fn page(
        &mut self,
        block: BlockId,
        ppn: Ppn,
        head: OobHead,
        entry: &[u8],
        floor: u64,
    ) -> io::Result<()> {
        if head.sequence < floor {
            let sequence = head.sequence;
            self.error(format!("page {ppn}: sequence number {sequence} after {floor}"));
        }
        if head.content != OobContent::Summary {
            // The number in a summary's entry is never used.
            self.sequences.push((head.sequence, block));
        }
        match head.content {
            OobContent::Data => {
                self.report.data_pages += 1;
                for slot in 0..self.image.resolved().config.slots {
                    self.slot(ppn, slot, oob::slot(entry, slot))?;
                }
            }
            // The mount checks the contents of trim records.
            OobContent::Trims => self.report.trim_pages += 1,
            OobContent::Summary => {
                let page = self.image.resolved().layout.page_of(ppn);
                if page < self.image.data_pages() {
                    self.error(format!("page {ppn}: a summary where data should be"));
                }
            }
        }
        Ok(())
    }

    fn slot(&mut self, ppn: Ppn, at: u32, slot: oob::OobSlot) -> io::Result<()> {
        if slot.lpn == NO_LPN {
            return Ok(());
        }
        if slot.lpn >= self.ftl.config().exported {
            let lpn = slot.lpn;
            self.error(format!("page {ppn}, slot {at}: logical page {lpn} is not exported"));
            return Ok(());
        }
        if self.ftl.lookup(Lpn(slot.lpn)) != Some((ppn, at)) {
            return Ok(());
        }
        let (place, media) = (self.image.offsets().slot(ppn, at), self.image.sync_tracker.media());
        let found = if media.next_data(place)? >= place + self.data.len() as u64 {
            Ok(self.zeros)
        } else {
            media.read(place, &mut self.data).map(|()| crc(&self.data))
        };
        self.report.slots += 1;
        match found {
            Ok(found) if found == slot.crc => self.sound[slot.lpn as usize] = true,
            Ok(_) => {
                self.error(format!("page {ppn}, slot {at}: the data do not fit their checksum"));
            }
            Err(error) => self.error(format!("page {ppn}, slot {at}: {error}")),
        }
        Ok(())
    }

    /// Compares a summary with the entries of its block.
    fn summary(&mut self, block: BlockId, entries: &BlockEntries) -> io::Result<()> {
        let config = self.image.resolved().config;
        let layout = self.image.resolved().layout;
        let pages = self.image.data_pages();
        let ppn = layout.ppn(block, pages);
        let mut bytes = vec![0; summary::bytes(pages, config.slots)];
        self.image.sync_tracker.media().read(self.image.offsets().slot(ppn, 0), &mut bytes)?;
        let Some(found) = summary::decode(&bytes, block, pages, config.slots) else {
            if !self.torn.contains(&ppn) {
                self.error(format!("page {ppn}: the summary of block {block} is damaged"));
            }
            return Ok(());
        };
        for (page, (sequence, lpns)) in (0..).zip(found.pages()) {
            let Some(head) = entries.head(page) else { continue };
            let (_, bytes) = entries.get(page);
            let slots = (0..config.slots).map(|slot| oob::slot(bytes, slot).lpn);
            if head.sequence != sequence || !slots.eq(lpns) {
                let ppn = layout.ppn(block, page);
                self.error(format!("page {ppn}: the summary of its block says another thing"));
            }
        }
        Ok(())
    }
}

/// Merges adjacent ranges.
pub(crate) fn joined(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}
