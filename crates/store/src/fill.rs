//! Fills an image as years of writing would, without data: nearly all blocks are closed, with
//! summaries and out-of-band entries, and all logical pages are mapped. Data are holes that read as
//! zeros. For tests of the time and memory that a mount takes.

use crate::engine::Engine;
use crate::error::ImageError;
use crate::format::oob::{self, OobContent, OobHead, OobSlot};
use crate::format::table::{BlockHealth, Contents};
use crate::format::{NO_LPN, crc, summary};
use crate::image::{Image, LastShutdown};
use gordon_units::BlockId;
use std::io;

/// Fills an erased image; returns the number of blocks closed.
///
/// The free blocks that garbage collection requires stay free. Blocks beyond those needed for all
/// logical pages hold superseded copies.
pub fn fill(mut image: Image) -> Result<u32, ImageError> {
    let path = image.path.clone();
    let fail = |error| ImageError::io(&path, error);
    let closed = write(&mut image).map_err(fail)?;
    let close = |mut engine: Engine<Vec<u8>>| engine.close().map_err(io::Error::other);
    Engine::open(image).and_then(|engine| close(engine).map_err(fail))?;
    Ok(closed)
}

fn write(image: &mut Image) -> io::Result<u32> {
    let (layout, config) = (image.resolved().layout, image.resolved().config);
    let pages = config.data_pages(&layout);
    let each = pages * config.slots;
    let good: Vec<BlockId> = (0..layout.blocks())
        .map(BlockId)
        .filter(|&block| image.record(block).health == BlockHealth::Good)
        .collect();
    let free = config.low_water + config.spare(&layout) + config.points() + 4;
    let closed = good.len().saturating_sub(free as usize);
    let needed = config.exported.div_ceil(each) as usize;
    let crc = crc(&vec![0; usize::try_from(image.offsets().unit).map_err(io::Error::other)?]);
    let mut entries = vec![0; image.offsets().oob_area()];
    let mut bytes = Vec::new();
    for (at, &block) in good[..closed].iter().enumerate() {
        // The last blocks hold all pages in order; the earlier ones hold copies that these
        // supersede.
        let part = if at + needed >= closed { at + needed - closed } else { at % needed.max(1) };
        let first = u32::try_from(part).map_err(io::Error::other)? * each;
        let sequence = at as u64 + 1;
        // As if each block had been synced before the next was written.
        let syncs = sequence;
        let lpn = |page: u32, slot: u32| {
            let lpn = first + page * config.slots + slot;
            if lpn < config.exported { lpn } else { NO_LPN }
        };
        summary::start(&mut bytes, block, pages, config.slots, syncs);
        for page in 0..pages {
            summary::add(&mut bytes, sequence, (0..config.slots).map(|slot| lpn(page, slot)));
        }
        summary::seal(&mut bytes, block);
        for (page, entry) in (0..).zip(entries.chunks_exact_mut(image.offsets().oob_bytes)) {
            let is_summary = page >= pages;
            let content = if is_summary { OobContent::Summary } else { OobContent::Data };
            let head = OobHead { content, sequence, syncs, erases: image.record(block).erases };
            let slots = (0..config.slots).map(|slot| {
                let lpn = if is_summary { NO_LPN } else { lpn(page, slot) };
                OobSlot { lpn, crc: if lpn == NO_LPN { 0 } else { crc } }
            });
            oob::encode(entry, layout.ppn(block, page), head, slots);
        }
        let (offsets, media) = (image.offsets(), image.sync_tracker.media());
        media.write(offsets.slot(layout.ppn(block, pages), 0), &bytes)?;
        media.write(offsets.block(block), &entries)?;
        let count = layout.pages_per_block();
        image.expected[block.index()].contents = Contents::Pages { count, sequence };
    }
    // As if a server that wrote all this had been killed.
    image.last_shutdown = LastShutdown::Killed;
    image.recorded_sync = Some(closed as u64);
    u32::try_from(closed).map_err(io::Error::other)
}
