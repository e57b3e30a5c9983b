//! Mounting: finds what is where in an image, proves that it is all that should be there, and lets
//! the layer repair what a power cut left.

use crate::engine::{Engine, Payload};
use crate::error::ImageError;
use crate::format::table::{Contents, Record};
use crate::image::{Image, Past};
use crate::survey::{Failed, Survey, proofs, standing};
use gordon_ftl::{Ftl, MountError};
use gordon_nand::{BlockProgress, ProgramOrderChecker};
use gordon_units::BlockId;
use std::collections::{BTreeSet, VecDeque};

/// What a mount has to report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounted {
    /// Pages that were written after the last sync and cut short: units on them have their previous
    /// version.
    pub torn: u64,
    /// Damage that a redundant copy has made good.
    pub redundant: Vec<String>,
}

impl Mounted {
    /// In words, for people: a line each.
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

/// Whether an image is opened in spite of damage that nothing makes good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss<'a> {
    Refused,
    /// The newest version that is found counts. Blocks in which something is damaged are emptied.
    Accepted(&'a BTreeSet<BlockId>),
}

/// Brings up the layer, and repairs what a power cut left.
pub(crate) fn open<P: Payload>(mut image: Image, loss: Loss<'_>) -> Result<Engine<P>, ImageError> {
    let Layer { ftl, survey, redundant } = bring_up(&image, loss)?;
    ftl.check_at_rest().unwrap_or_else(|why| panic!("{why}"));
    let report = Mounted { torn: survey.torn.len() as u64, redundant };
    let path = image.path.clone();
    let fail = |error| ImageError::io(&path, error);
    image.disk.set_syncs(survey.syncs + 2);
    for (block, record) in (0..).map(BlockId).zip(records(&image, &survey)) {
        image.disk.note(block, record);
    }
    image.begin().map_err(fail)?;
    let mut rules = ProgramOrderChecker::new(image.resolved().layout);
    for (at, (&next, &erases)) in (0..).zip(survey.next.iter().zip(&survey.erases)) {
        rules.set(BlockId(at), BlockProgress { next, erases, bad: false });
    }
    let mut engine = Engine::with(image, ftl, rules, report);
    if loss != Loss::Refused {
        engine = engine.repairing();
    }
    engine.recover().map_err(fail)?;
    // What is served from here on is found again, whatever happens before the first flush.
    engine.syncer().0.sync().map_err(fail)?;
    Ok(engine)
}

struct Layer {
    ftl: Ftl,
    survey: Survey,
    redundant: Vec<String>,
}

/// Makes the layer of what an image holds, if that is proved.
fn bring_up(image: &Image, loss: Loss<'_>) -> Result<Layer, ImageError> {
    let (mut mount, mut survey) = Survey::of(image)?;
    let summaries = survey.summaries.iter();
    let summaries = summaries.map(|block| format!("the summary of block {block} is damaged"));
    let mut redundant: Vec<String> = image.redundant.iter().cloned().chain(summaries).collect();
    let mut damage = survey.damage(image);
    let refuse = |damage| ImageError::Unproven { path: image.path.clone(), damage };
    let layer = |why: MountError| Failed::Mount(why).of(image);
    if image.past == Past::Closed {
        let ftl = match &damage[..] {
            [] => mount.into_ftl(Some(&standing(image)), VecDeque::new()),
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
            Ok(ftl) if damage.is_empty() && wrong == 0 && loss == Loss::Refused => {
                return Ok(Layer { ftl, survey, redundant });
            }
            Ok(_) if wrong + unknown == 0 && image.unproven.is_empty() => {
                // All that is missing had been superseded. Mounted as after a kill, the layer
                // empties the blocks with missing pages.
                redundant.append(&mut damage);
            }
            Ok(_) if wrong > 0 => damage.push(format!(
                "the map is not that of the orderly shutdown: {wrong} groups of units differ"
            )),
            Ok(_) => {}
        }
        // Rare enough to look again: a copy of what was found would double the memory of each
        // mount.
        (mount, survey) = Survey::of(image)?;
    }
    match loss {
        Loss::Refused if !damage.is_empty() => return Err(refuse(damage)),
        Loss::Refused => {}
        Loss::Accepted(damaged) => damaged.iter().for_each(|&block| mount.refresh(block)),
    }
    let ftl = mount.into_ftl(None, VecDeque::new()).map_err(layer)?;
    Ok(Layer { ftl, survey, redundant })
}

/// What the next mount is to hold the blocks to.
fn records(image: &Image, survey: &Survey) -> Vec<Record> {
    let layout = image.resolved().layout;
    let mut records = survey.expected.clone();
    for (record, &erases) in records.iter_mut().zip(&survey.erases) {
        record.erases = record.erases.max(erases);
    }
    for &(block, sequence) in &survey.complete {
        let count = layout.pages_per_block();
        records[block.index()].contents = Contents::Pages { count, sequence };
    }
    // The layer empties and erases these blocks.
    for missing in &survey.missing {
        records[layout.block_of(missing.ppn).index()].contents = Contents::Nothing;
    }
    records
}
