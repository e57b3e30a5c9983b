//! An offline look at all of an image, which changes nothing.
//!
//! Held against each other: each page's out-of-band entry with its own checksum and with the data,
//! summaries with the entries of their block, entries with the rules of NAND (pages in order, numbers
//! that never fall, none used by two blocks), logical pages with what is exported, and the block table
//! with what was programmed. Data are compared as they lie in the file: bit errors of the model are no
//! damage.

use crate::error::ImageError;
use crate::format::oob::{self, Content, Entry, Head};
use crate::format::table::Standing;
use crate::format::{NO_LPN, crc, summary, trims};
use crate::image::Image;
use gordon_units::{BlockId, Ppn};
use serde::Serialize;
use std::io;

/// Errors that are told in words; the others are counted.
const TOLD: usize = 1000;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Nothing is wrong.
    pub clean: bool,
    /// What is, the first thousand.
    pub errors: Vec<String>,
    /// How much is.
    pub error_count: u64,
    /// The store was closed in order. (After a kill or a crash it is not, and nothing need be wrong.)
    pub closed_in_order: bool,
    /// Super-blocks.
    pub blocks: u64,
    /// ... that are out of service or have failed a program.
    pub bad_blocks: u64,
    /// ... that hold nothing.
    pub erased_blocks: u64,
    /// ... with a summary.
    pub closed_blocks: u64,
    /// Pages with data.
    pub data_pages: u64,
    /// Pages of the trim log.
    pub trim_pages: u64,
    /// Pages that were struck out after a crash of the host: they had never been synced.
    pub lost_pages: u64,
    /// Slots whose data were compared with their checksum.
    pub slots: u64,
    /// Logical pages with a copy.
    pub logical_pages: u64,
    /// Logical pages exported.
    pub exported_pages: u64,
}

struct Check<'a> {
    image: &'a Image,
    report: Report,
    /// Logical pages with a copy.
    seen: Vec<bool>,
    /// Sequence numbers and their blocks.
    sequences: Vec<(u64, BlockId)>,
    entries: Vec<u8>,
    data: Vec<u8>,
    zeros: u32,
}

/// Looks at all of an image.
pub fn check(image: &Image) -> Result<Report, ImageError> {
    let config = image.resolved().config;
    let unit = usize::try_from(image.places().unit).expect("a unit fits in memory");
    let mut check = Check {
        image,
        report: Report {
            closed_in_order: image.clean,
            blocks: image.records.len() as u64,
            exported_pages: config.exported.into(),
            ..Report::default()
        },
        seen: vec![false; config.exported as usize],
        sequences: Vec::new(),
        entries: vec![0; image.places().oob_area()],
        data: vec![0; unit],
        zeros: crc(&vec![0; unit]),
    };
    if image.lost_superblock {
        check.error("one of the two superblocks is damaged".to_owned());
    }
    for block in &image.damaged {
        check.error(format!("block {block}: its record in the block table is damaged"));
    }
    for block in (0..image.resolved().layout.blocks()).map(BlockId) {
        check.block(block).map_err(|error| ImageError::io(&image.path, error))?;
    }
    Ok(check.end())
}

impl Check<'_> {
    fn error(&mut self, what: String) {
        self.report.error_count += 1;
        if self.report.errors.len() < TOLD {
            self.report.errors.push(what);
        }
    }

    fn end(mut self) -> Report {
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
        self.report.logical_pages = self.seen.iter().filter(|&&seen| seen).count() as u64;
        self.report.clean = self.report.error_count == 0;
        self.report
    }

    fn block(&mut self, block: BlockId) -> io::Result<()> {
        let (image, places) = (self.image, self.image.places());
        let layout = image.resolved().layout;
        let record = image.record(block);
        self.report.bad_blocks += u64::from(record.standing != Standing::Good);
        let mut entries = std::mem::take(&mut self.entries);
        image.disk.media().read(places.block(block), &mut entries)?;
        let read = (0..).map(|page| layout.ppn(block, page));
        let read: Vec<(Ppn, &[u8], Entry)> = read
            .zip(entries.chunks_exact(places.oob_bytes))
            .map(|(ppn, bytes)| (ppn, bytes, oob::decode(bytes, ppn)))
            .collect();
        let used = read.iter().rposition(|(_, _, entry)| *entry != Entry::Erased);
        let used = used.map_or(0, |last| last + 1);
        self.report.erased_blocks += u64::from(used == 0);
        if used > 0 && record.standing == Standing::Factory {
            self.error(format!("block {block}: bad from the factory, yet programmed"));
        }
        let mut floor = 0;
        for &(ppn, bytes, entry) in &read[..used] {
            match entry {
                Entry::Erased => {
                    self.error(format!("page {ppn}: erased, yet a later page is programmed"));
                }
                Entry::Lost => self.report.lost_pages += 1,
                Entry::Damaged => {
                    self.error(format!("page {ppn}: its out-of-band entry is damaged"));
                }
                Entry::Programmed(head) => {
                    self.page(block, ppn, head, bytes, floor)?;
                    floor = floor.max(head.sequence);
                }
            }
        }
        if let Some((ppn, _, Entry::Programmed(head))) = read.last()
            && head.content == Content::Summary
        {
            self.report.closed_blocks += 1;
            self.summary(block, *ppn, &read)?;
        }
        self.entries = entries;
        Ok(())
    }

    fn page(
        &mut self,
        block: BlockId,
        ppn: Ppn,
        head: Head,
        entry: &[u8],
        floor: u64,
    ) -> io::Result<()> {
        if head.sequence < floor {
            let sequence = head.sequence;
            self.error(format!("page {ppn}: sequence number {sequence} after {floor}"));
        }
        let record = self.image.record(block);
        if head.erases != record.erases && !self.image.damaged.contains(&block) {
            let (page, table) = (head.erases, record.erases);
            self.error(format!("page {ppn}: says {page} erases, the block table {table}"));
        }
        if head.content != Content::Summary {
            // A summary's own number is never used.
            self.sequences.push((head.sequence, block));
        }
        match head.content {
            Content::Data => {
                self.report.data_pages += 1;
                for slot in 0..self.image.resolved().config.slots {
                    self.slot(ppn, slot, oob::slot(entry, slot))?;
                }
            }
            Content::Trims => {
                self.report.trim_pages += 1;
                let page = usize::try_from(self.image.places().page_bytes);
                let mut bytes = vec![0; page.map_err(io::Error::other)?];
                self.image.disk.media().read(self.image.places().slot(ppn, 0), &mut bytes)?;
                if trims::decode(&bytes, ppn, head.sequence).is_none() {
                    self.error(format!("page {ppn}: a page of the trim log is damaged"));
                }
            }
            Content::Summary => {
                let layout = self.image.resolved().layout;
                if layout.page_of(ppn) + 1 != layout.pages_per_block() {
                    self.error(format!("page {ppn}: a summary that is not the last of its block"));
                }
            }
        }
        Ok(())
    }

    fn slot(&mut self, ppn: Ppn, at: u32, slot: oob::Slot) -> io::Result<()> {
        if slot.lpn == NO_LPN {
            return Ok(());
        }
        match self.seen.get_mut(slot.lpn as usize) {
            Some(seen) => *seen = true,
            None => {
                self.error(format!(
                    "page {ppn}, slot {at}: logical page {} is not exported",
                    slot.lpn
                ));
            }
        }
        let (place, media) = (self.image.places().slot(ppn, at), self.image.disk.media());
        let found = if media.next_data(place)? >= place + self.data.len() as u64 {
            self.zeros
        } else {
            media.read(place, &mut self.data)?;
            crc(&self.data)
        };
        self.report.slots += 1;
        if found != slot.crc {
            self.error(format!("page {ppn}, slot {at}: the data do not fit their checksum"));
        }
        Ok(())
    }

    /// A summary must say what the entries say.
    fn summary(
        &mut self,
        block: BlockId,
        ppn: Ppn,
        entries: &[(Ppn, &[u8], Entry)],
    ) -> io::Result<()> {
        let config = self.image.resolved().config;
        let pages = config.data_pages(&self.image.resolved().layout);
        let mut bytes = vec![0; summary::bytes(pages, config.slots)];
        self.image.disk.media().read(self.image.places().slot(ppn, 0), &mut bytes)?;
        let Some(found) = summary::decode(&bytes, block, pages, config.slots) else {
            self.error(format!("page {ppn}: the summary of block {block} is damaged"));
            return Ok(());
        };
        for (&(ppn, bytes, entry), (sequence, lpns)) in entries.iter().zip(found.pages()) {
            let Entry::Programmed(head) = entry else { continue };
            let slots = (0..config.slots).map(|slot| oob::slot(bytes, slot).lpn);
            if head.sequence != sequence || !slots.eq(lpns) {
                self.error(format!("page {ppn}: the summary of its block says another thing"));
            }
        }
        Ok(())
    }
}
