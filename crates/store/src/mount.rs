//! Mounting: scans an image, proves its contents, and builds the layer from them. The engine then
//! lets the layer repair the effects of a power cut ([`crate::engine`]).

use crate::error::ImageError;
use crate::format::table::{BlockRecord, Contents};
use crate::image::{Image, LastShutdown};
use crate::image_scan::{ImageScan, ScanError, clean_shutdown_state, proofs};
use gordon_ftl::{Ftl, MountError};
use gordon_units::BlockId;
use std::collections::{BTreeSet, VecDeque};

/// The report of a mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountReport {
    /// Number of pages that were written after the last sync and are incomplete; the units on them
    /// have their previous version.
    pub torn: u64,
    /// Damage that redundant metadata have repaired.
    pub redundant: Vec<String>,
}

impl MountReport {
    /// The report as text, one line for each warning.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.redundant.iter().map(|what| format!("{what}; repaired from a copy")).collect();
        if self.torn > 0 {
            lines.push(format!(
                "{} pages were being written, and never flushed, when the server was killed; what \
                 they replaced is served",
                self.torn
            ));
        }
        lines
    }
}

/// Whether an image is opened in spite of damage that redundant metadata cannot repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossPolicy<'a> {
    Refused,
    /// The newest version found counts. The blocks with damage are emptied.
    Accepted(&'a BTreeSet<BlockId>),
}

/// A layer with the contents of an image, before it has repaired the effects of a power cut.
pub(crate) struct MountedLayer {
    pub ftl: Ftl,
    pub scan: ImageScan,
    pub redundant: Vec<String>,
}

/// Mounts the layer if the contents of the image are proved.
pub(crate) fn mount(image: &Image, loss: LossPolicy<'_>) -> Result<MountedLayer, ImageError> {
    let (mut mount, mut scan) = ImageScan::of(image)?;
    let summaries = scan.summaries.iter();
    let summaries = summaries.map(|block| format!("the summary of block {block} is damaged"));
    let mut redundant: Vec<String> = image.redundant.iter().cloned().chain(summaries).collect();
    let mut damage = scan.damage(image);
    let refuse = |damage| ImageError::Unproven { path: image.path.clone(), damage };
    let layer = |why: MountError| ScanError::Mount(why).of(image);
    if image.last_shutdown == LastShutdown::Closed {
        let ftl = match &damage[..] {
            [] => mount.into_ftl(Some(&clean_shutdown_state(image)), VecDeque::new()),
            _ => mount.into_frozen_ftl(VecDeque::new()),
        };
        let proofs = match &ftl {
            Ok(ftl) => proofs(image, ftl).map_err(|error| ImageError::io(&image.path, error))?,
            Err(MountError::OpenBlock(_)) => Vec::new(),
            Err(MountError::Config(_)) => return Err(layer(ftl.expect_err("just seen"))),
        };
        let wrong = proofs.iter().filter(|proof| **proof == Some(false)).count();
        let unknown = proofs.iter().filter(|proof| proof.is_none()).count();
        if unknown > 0 {
            redundant.push(format!("the digests of {unknown} groups of units are damaged"));
        }
        match ftl {
            Err(why) => damage.push(why.to_string()),
            Ok(ftl) if damage.is_empty() && wrong == 0 && loss == LossPolicy::Refused => {
                return Ok(MountedLayer { ftl, scan, redundant });
            }
            Ok(_) if wrong + unknown == 0 && image.unproven.is_empty() => {
                // All missing pages had been superseded. The layer is mounted as after a kill, and
                // empties the blocks with missing pages.
                redundant.append(&mut damage);
            }
            Ok(_) if wrong > 0 => damage.push(format!(
                "the map is not that of the orderly shutdown: {wrong} groups of units differ"
            )),
            Ok(_) => {}
        }
        // Scans again, since this is rare; keeping a copy of the scan would double the memory of
        // each mount.
        (mount, scan) = ImageScan::of(image)?;
    }
    match loss {
        LossPolicy::Refused if !damage.is_empty() => return Err(refuse(damage)),
        LossPolicy::Refused => {}
        LossPolicy::Accepted(damaged) => damaged.iter().for_each(|&block| mount.refresh(block)),
    }
    let ftl = mount.into_ftl(None, VecDeque::new()).map_err(layer)?;
    Ok(MountedLayer { ftl, scan, redundant })
}

/// The records with which the next mount will compare the blocks.
pub(crate) fn records(image: &Image, scan: &ImageScan) -> Vec<BlockRecord> {
    let layout = image.resolved().layout;
    let mut records = scan.expected.clone();
    for (record, &erases) in records.iter_mut().zip(&scan.erases) {
        record.erases = record.erases.max(erases);
    }
    for &(block, sequence) in &scan.complete {
        let count = layout.pages_per_block();
        records[block.index()].contents = Contents::Pages { count, sequence };
    }
    // The layer empties and erases these blocks.
    for missing in &scan.missing {
        records[layout.block_of(missing.ppn).index()].contents = Contents::Nothing;
    }
    records
}
