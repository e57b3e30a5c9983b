//! Transfers data between buffers and the image.

use super::{Engine, Payload};
use crate::buffers::AlignedBuffer;
use crate::checksums::Proof;
use crate::format::oob::{self, OobContent, OobHead, OobSlot};
use crate::format::table::{BlockHealth, BlockRecord, Contents};
use crate::format::{NO_LPN, crc, trims};
use crate::media::Job;
use gordon_ftl::PageSegment;
use gordon_nand::{FlashOp, PageContent};
use gordon_units::{BlockId, Ppn};
use std::io::{IoSlice, IoSliceMut, Result};
use std::slice;

/// Maximum number of buffers in one vectored call.
const VECTOR: usize = 64;

/// Buffers for reuse, to avoid allocations.
#[derive(Default)]
pub(super) struct TransferScratch {
    parts: Vec<PageSegment>,
    slots: Vec<OobSlot>,
    taken: Vec<AlignedBuffer>,
    entry: Vec<u8>,
    /// Buffers for metadata pages.
    pub spare: Vec<Vec<u8>>,
}

impl<P: Payload> Engine<P> {
    /// Counts an operation for its die group.
    pub(super) fn count_op(&mut self, op: FlashOp) {
        let layout = self.ftl.layout();
        let block = match op {
            FlashOp::Program { ppn, .. } | FlashOp::Read { ppn, .. } => layout.block_of(ppn),
            FlashOp::Erase { block } => block,
        };
        let die_group = &mut self.counters.die_groups[layout.die_group_of(block).index()];
        match op {
            FlashOp::Read { slots, .. } => {
                die_group.reads += 1;
                die_group.units_read += u64::from(slots);
            }
            FlashOp::Program { .. } => die_group.programs += 1,
            FlashOp::Erase { .. } => die_group.erases += 1,
        }
    }

    /// Carries out an operation. Returns false if it fails as flash does, and an error if the file
    /// under the image fails. The layer follows the rules of NAND, so a refusal by the checker is a
    /// bug, not an error.
    pub(super) fn transfer(&mut self, op: FlashOp) -> Result<bool> {
        match op {
            FlashOp::Read { ppn, buf, .. } => {
                let mut parts = std::mem::take(&mut self.scratch.parts);
                parts.clear();
                parts.extend(self.ftl.segments(buf));
                self.read(ppn, &parts);
                self.scratch.parts = parts;
                Ok(true)
            }
            FlashOp::Program { ppn, buf } => {
                let block = self.ftl.layout().block_of(ppn);
                let erases = self.program_order.block(block).erases;
                let health = self.image.record(block).health;
                if health != BlockHealth::Good || self.fault_injector.program_fails(ppn, erases) {
                    self.fail(block, BlockHealth::Program);
                    return Ok(false);
                }
                if let Some(wanted) = self.erases.required_seq_of(block) {
                    self.erase_deferred(wanted)?;
                }
                if self.program_order.block(block).next == 0 {
                    self.erases.opened(block);
                }
                let oob = self.ftl.oob(buf);
                let mut parts = std::mem::take(&mut self.scratch.parts);
                parts.clear();
                parts.extend(self.ftl.segments(buf));
                let written = match oob.content {
                    PageContent::Data => self.program(ppn, oob.sequence, &parts),
                    PageContent::Summary => {
                        self.program_metadata_page(ppn, oob.sequence, OobContent::Summary, buf)
                    }
                    PageContent::Trims => {
                        self.program_metadata_page(ppn, oob.sequence, OobContent::Trims, buf)
                    }
                };
                self.scratch.parts = parts;
                written?;
                self.program_order.program(ppn).unwrap_or_else(|refusal| panic!("{refusal}"));
                Ok(true)
            }
            FlashOp::Erase { block } => {
                let erases = self.program_order.block(block).erases;
                let health = self.image.record(block).health;
                let worn = self.fault_injector.budget(block).is_some_and(|budget| erases >= budget);
                if worn
                    || health != BlockHealth::Good
                    || self.fault_injector.erase_fails(block, erases)
                {
                    let why = if worn { BlockHealth::Worn } else { BlockHealth::Erase };
                    self.fail(block, why);
                    self.program_order
                        .mark_bad(block)
                        .unwrap_or_else(|refusal| panic!("{refusal}"));
                    return Ok(false);
                }
                let data_pages = self.ftl.config().data_pages(self.ftl.layout());
                let summary = self.program_order.block(block).next > data_pages;
                self.program_order.erase(block).unwrap_or_else(|refusal| panic!("{refusal}"));
                self.checksums.forget(block);
                let record = self.image.record(block);
                let erases = self.program_order.block(block).erases;
                let record = BlockRecord { erases, contents: Contents::Nothing, ..record };
                let wanted = self.sync_tracker().release_block(block, record);
                self.erases.defer(block, summary, wanted);
                Ok(true)
            }
        }
    }

    /// Marks a block as bad. A block that failed a program may still hold data until the layer has
    /// emptied it: it stays in the map, and further programs and erases of it fail.
    fn fail(&mut self, block: BlockId, health: BlockHealth) {
        self.counters.flash_failures += 1;
        let mut record = self.image.record(block);
        record.health = health;
        if health != BlockHealth::Program {
            record.contents = Contents::Nothing;
        }
        self.sync_tracker().set_record(block, record);
    }

    /// Reads slots of a page, corrects them and compares them with their checksums.
    fn read(&mut self, ppn: Ppn, parts: &[PageSegment]) {
        for run in parts.chunk_by(|a, b| a.slot + 1 == b.slot) {
            for run in run.chunks(VECTOR) {
                if self.read_run(ppn, run).is_ok() {
                    self.verify(ppn, run);
                } else {
                    run.iter().for_each(|part| self.read_alone(ppn, part));
                }
            }
        }
    }

    /// Reads one of several slots that could not be read together.
    #[cold]
    fn read_alone(&mut self, ppn: Ppn, part: &PageSegment) {
        if self.read_run(ppn, slice::from_ref(part)).is_ok() {
            self.verify(ppn, slice::from_ref(part));
        } else {
            self.counters.medium_errors += 1;
            self.unreadable(part);
        }
    }

    /// Handles an unreadable unit.
    #[cold]
    fn unreadable(&mut self, part: &PageSegment) {
        match (&mut self.zeroed, part.lpn) {
            (Some(zeroed), Some(lpn)) => {
                zeroed.insert(lpn.0);
                self.buffers.get_mut(part.buf).fill(0);
            }
            _ => self.unreadable.push(part.buf),
        }
    }

    /// Corrects the data read and compares them with their checksums.
    fn verify(&mut self, ppn: Ppn, parts: &[PageSegment]) {
        let (block, page) = self.ftl.layout().place_of(ppn);
        let erases = self.program_order.block(block).erases;
        for part in parts {
            let data = self.buffers.get_mut(part.buf);
            let corrected = self.fault_injector.read(ppn, part.slot, erases, data);
            self.counters.bits_corrected += corrected.bits;
            self.counters.codewords_lost += corrected.lost;
            let (offsets, media) = (&self.image.offsets, self.image.sync_tracker.media());
            let proof = Proof { ftl: &self.ftl, erases };
            let known = self.checksums.get(block, page, part.slot, offsets, media, proof);
            let matches = known.is_ok_and(|known| known == Some(crc(data)));
            self.counters.checksum_errors += u64::from(!matches && corrected.lost == 0);
            if !matches || corrected.lost > 0 {
                self.unreadable(part);
            }
        }
    }

    /// Performs all deferred reads in one batch.
    #[cold]
    pub(super) fn read_together(&mut self) {
        let mut wanted: Vec<(Ppn, PageSegment)> = Vec::new();
        for (ppn, buf) in self.reads.drain(..) {
            wanted.extend(self.ftl.segments(buf).map(|part| (ppn, part)));
        }
        if let [(ppn, part)] = &wanted[..] {
            return self.read(*ppn, slice::from_ref(part));
        }
        let mut buffers: Vec<AlignedBuffer> =
            wanted.iter().map(|(_, part)| self.buffers.take(part.buf)).collect();
        let mut jobs: Vec<Job<'_>> = wanted
            .iter()
            .zip(&mut buffers)
            .map(|((ppn, part), buffer)| {
                let at = self.image.offsets.slot(*ppn, part.slot);
                Job { at, into: buffer.get_mut(), result: Ok(()) }
            })
            .collect();
        self.image.sync_tracker.media().read_together(&mut jobs);
        let read: Vec<bool> = jobs.iter().map(|job| job.result.is_ok()).collect();
        drop(jobs);
        for (((ppn, part), buffer), read) in wanted.iter().zip(buffers).zip(read) {
            self.buffers.put(part.buf, buffer);
            if read {
                self.verify(*ppn, slice::from_ref(part));
            } else {
                self.counters.medium_errors += 1;
                self.unreadable(part);
            }
        }
    }

    /// Reads consecutive slots with one call.
    fn read_run(&mut self, ppn: Ppn, run: &[PageSegment]) -> Result<()> {
        let at = self.image.offsets.slot(ppn, run[0].slot);
        let media = self.image.sync_tracker.media();
        if let [one] = run {
            let data = self.buffers.get_mut(one.buf);
            return media.read_data(at, &mut [IoSliceMut::new(data)]);
        }
        let taken = &mut self.scratch.taken;
        taken.extend(run.iter().map(|part| self.buffers.take(part.buf)));
        let mut vector: [IoSliceMut<'_>; VECTOR] =
            std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (slice, buffer) in vector.iter_mut().zip(taken.iter_mut()) {
            *slice = IoSliceMut::new(buffer.get_mut());
        }
        let read = media.read_data(at, &mut vector[..run.len()]);
        for (part, buffer) in run.iter().zip(taken.drain(..)) {
            self.buffers.put(part.buf, buffer);
        }
        read
    }

    /// Programs a page with units: first the data, then the out-of-band entry.
    fn program(&mut self, ppn: Ppn, sequence: u64, parts: &[PageSegment]) -> Result<()> {
        let Self { image, buffers, scratch, .. } = self;
        scratch.slots.clear();
        for run in parts.chunks(VECTOR) {
            let mut vector: [IoSlice<'_>; VECTOR] = std::array::from_fn(|_| IoSlice::new(&[]));
            for (slice, part) in vector.iter_mut().zip(run) {
                assert_eq!(part.slot as usize, scratch.slots.len(), "slots are filled in order");
                let data = buffers.get(part.buf);
                let lpn = part.lpn.map_or(NO_LPN, |lpn| lpn.0);
                scratch.slots.push(OobSlot { lpn, crc: crc(data) });
                *slice = IoSlice::new(data);
            }
            let at = image.offsets.slot(ppn, run[0].slot);
            image.sync_tracker.change(|media| media.write_data(at, &mut vector[..run.len()]))?;
        }
        self.write_entry(ppn, sequence, OobContent::Data)
    }

    fn program_metadata_page(
        &mut self,
        ppn: Ppn,
        sequence: u64,
        content: OobContent,
        buf: gordon_nand::Buf,
    ) -> Result<()> {
        let at = self.image.offsets.slot(ppn, 0);
        let found = self.metadata_pages.iter().position(|(note, _)| *note == buf);
        let note = found.expect("its content was made before");
        if content == OobContent::Trims {
            trims::seal(&mut self.metadata_pages[note].1, ppn, sequence);
        }
        self.sync_tracker().change(|media| media.write(at, &self.metadata_pages[note].1))?;
        self.scratch.slots.clear();
        self.write_entry(ppn, sequence, content)?;
        self.scratch.spare.push(self.metadata_pages.swap_remove(note).1);
        Ok(())
    }

    /// Writes the out-of-band entry of the page described in `scratch`. The entry holds the number
    /// of syncs started when the whole page had been written; if another sync starts meanwhile, the
    /// entry is written again.
    fn write_entry(&mut self, ppn: Ppn, sequence: u64, content: OobContent) -> Result<()> {
        let (block, page) = self.ftl.layout().place_of(ppn);
        let erases = self.program_order.block(block).erases;
        let slots = self.ftl.config().slots as usize;
        let Self { image, scratch, checksums, .. } = self;
        scratch.slots.resize(slots, OobSlot { lpn: NO_LPN, crc: 0 });
        scratch.entry.resize(image.offsets.oob_bytes, 0);
        loop {
            let syncs = image.sync_tracker.syncs_started();
            let head = OobHead { content, sequence, syncs, erases };
            oob::encode(&mut scratch.entry, ppn, head, scratch.slots.iter().copied());
            image
                .sync_tracker
                .change(|media| media.write(image.offsets.oob(ppn), &scratch.entry))?;
            if image.sync_tracker.syncs_started() == syncs {
                break;
            }
        }
        checksums.set(block, page, sequence, scratch.slots.iter().map(|slot| slot.crc));
        let mut record = image.record(block);
        let before = if page == 0 { 0 } else { record.contents.sequence() };
        // The sequence number of a summary's entry is never that of a data or trim page.
        let sequence = if content == OobContent::Summary { before } else { before.max(sequence) };
        record.erases = erases;
        record.contents = Contents::Pages { count: page + 1, sequence };
        image.sync_tracker.set_record(block, record);
        Ok(())
    }
}
