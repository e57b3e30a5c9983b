//! Power cuts: their effects on operations in flight, and mounting afterwards.

use crate::Rig;
use crate::rig::{Flying, More};
use gordon_ftl::{CleanShutdownState, Input, Mount, ScanRequest, ScanResult};
use gordon_nand::{FlashOp, PageContent};
use gordon_units::{BlockId, Lpn, Ppn};
use std::collections::{BTreeMap, VecDeque};

/// The effect of a power cut on an operation in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The operation did not start.
    Before,
    /// The operation completed, but its completion was not reported.
    After(After),
    /// A program: the out-of-band data are readable, the data are not. An erase: a random half of
    /// the pages stay readable.
    Torn,
    /// A program: nothing is readable. An erase: as `Torn`, with another random half.
    Unreadable,
    /// A program seems not to have started and an erase seems complete, but pages programmed there
    /// now would be lost.
    SeemsErased,
    /// A program: nothing is readable until the next power cut, then everything. An erase: as
    /// `Torn`.
    Hidden,
}

/// Durability of a page whose program completed just before the power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// As durable as any other page.
    Stable,
    /// Unreadable after the next power cut (an unstable page).
    Unstable,
}

impl Cut {
    /// All effects possible on an operation that has not yet changed the array.
    pub const ALL: [Self; 7] = [
        Self::Before,
        Self::After(After::Stable),
        Self::After(After::Unstable),
        Self::Torn,
        Self::Unreadable,
        Self::SeemsErased,
        Self::Hidden,
    ];
    /// All effects possible on a program that has already changed the array.
    pub const DONE: [Self; 2] = [Self::After(After::Stable), Self::After(After::Unstable)];
}

impl Rig {
    /// The operations in flight, each with the effects that a power cut may have on it.
    pub fn in_flight(&self) -> Vec<(FlashOp, &'static [Cut])> {
        let what = |flying: &Flying| match flying.op {
            FlashOp::Read { .. } => &Cut::ALL[..1],
            FlashOp::Erase { block } if self.array.is_bad(block) => &Cut::ALL[..1],
            FlashOp::Program { .. } if flying.early => &Cut::DONE[..],
            FlashOp::Erase { .. } if flying.early => &Cut::DONE[..1],
            _ => &Cut::ALL[..],
        };
        self.flying.iter().map(|flying| (flying.op, what(flying))).collect()
    }

    /// Cuts the power, or turns it off if nothing is in flight. `cuts` holds the effect on each
    /// operation in flight. The array must then be [mounted](Self::mount).
    pub fn cut(&mut self, cuts: &[Cut]) {
        for (ppn, erases) in std::mem::take(&mut self.scars.unstable) {
            if self.erases_at(ppn) == erases {
                self.array.spoil(ppn);
            }
        }
        self.scars.hidden.clear();
        for (flying, &cut) in self.drop_all().into_iter().zip(cuts) {
            if let Cut::After(_) = cut
                && !flying.early
            {
                self.effect(flying.op);
            }
            match flying.op {
                FlashOp::Read { .. } => {}
                FlashOp::Program { ppn, .. } => self.cut_program(flying.op, ppn, cut),
                FlashOp::Erase { block } => self.cut_erase(block, cut),
            }
        }
    }

    fn cut_program(&mut self, op: FlashOp, ppn: Ppn, cut: Cut) {
        let erases = self.erases_at(ppn);
        match cut {
            Cut::Before | Cut::After(After::Stable) => {}
            Cut::After(After::Unstable) => {
                self.scars.unstable.insert(ppn, erases);
            }
            Cut::Torn => {
                self.effect(op);
                self.scars.torn.insert(ppn, erases);
            }
            Cut::Unreadable => self.array.spoil(ppn),
            Cut::SeemsErased => {
                self.array.spoil(ppn);
                self.scars.deceptive.insert(ppn, erases);
            }
            Cut::Hidden => {
                self.effect(op);
                self.scars.hidden.insert(ppn, erases);
            }
        }
    }

    fn cut_erase(&mut self, block: BlockId, cut: Cut) {
        let layout = *self.array.layout();
        let erases = self.array.erases(block);
        for page in 0..layout.pages_per_block() {
            let ppn = layout.ppn(block, page);
            let survives = self.random.below(2) == 0;
            match cut {
                Cut::Before | Cut::After(_) => {}
                Cut::Torn | Cut::Unreadable | Cut::Hidden if survives => {}
                Cut::Torn | Cut::Unreadable | Cut::Hidden => self.array.spoil(ppn),
                Cut::SeemsErased => {
                    self.array.spoil(ppn);
                    self.scars.deceptive.insert(ppn, erases);
                }
            }
        }
    }

    /// The state of a page as a mount finds it.
    fn look(&self, ppn: Ppn) -> Seen<'_> {
        let erases = self.erases_at(ppn);
        let has = |scars: &BTreeMap<Ppn, u32>| scars.get(&ppn) == Some(&erases);
        if !self.array.is_programmed(ppn) || has(&self.scars.deceptive) {
            return Seen::Erased;
        }
        if has(&self.scars.hidden) {
            return Seen::Unreadable;
        }
        match self.array.read(ppn).unwrap_or_else(|e| panic!("{e}")) {
            (_, None) => Seen::Unreadable,
            (page, Some(oob)) => match (oob.content, &page.more) {
                (PageContent::Data, _) => {
                    Seen::Data(oob.sequence, &page.lpns, !has(&self.scars.torn))
                }
                _ if has(&self.scars.torn) => Seen::Unreadable,
                (_, More::Summary(sequences, lpns)) => Seen::Summary(sequences, lpns),
                (_, more) => Seen::Trims(oob.sequence, more),
            },
        }
    }

    /// The summary of a block, if all its pages are readable.
    fn look_at_summary(&self, block: BlockId) -> Option<(Vec<u64>, Vec<Option<Lpn>>)> {
        let layout = *self.array.layout();
        let (mut sequences, mut lpns) = (vec![], vec![]);
        for page in self.ftl.config().data_pages(&layout)..layout.pages_per_block() {
            let Seen::Summary(more_sequences, more_lpns) = self.look(layout.ppn(block, page))
            else {
                return None;
            };
            sequences.extend_from_slice(more_sequences);
            lpns.extend_from_slice(more_lpns);
        }
        Some((sequences, lpns))
    }

    /// Mounts the array; scan requests are answered in random order. `standing` is the state of the
    /// layer if it was shut down cleanly, `None` after a power cut.
    ///
    /// # Panics
    /// Panics if the layer refuses to mount.
    pub fn mount(&mut self, standing: Option<&CleanShutdownState>) {
        let (layout, config) = (*self.array.layout(), *self.ftl.config());
        let erases: Vec<_> =
            (0..layout.blocks()).map(|block| self.array.erases(BlockId(block))).collect();
        let mut mount =
            Mount::new(layout, config, &self.retired, &erases).unwrap_or_else(|e| panic!("{e}"));
        let mut outstanding = vec![];
        loop {
            match mount.next_scan() {
                ScanRequest::Done => break,
                ScanRequest::Wait => {}
                look => {
                    outstanding.push(look);
                    if self.random.below(2) == 0 {
                        continue;
                    }
                }
            }
            let at = self.random.below(outstanding.len());
            match outstanding.swap_remove(at) {
                ScanRequest::Summary(block) => {
                    let seen = self.look_at_summary(block);
                    let seen = seen.as_ref().map(|(sequences, lpns)| (&sequences[..], &lpns[..]));
                    mount.summary(block, seen);
                }
                ScanRequest::Page(ppn) => mount.page(ppn, self.look(ppn).found()),
                ScanRequest::Wait | ScanRequest::Done => unreachable!("no looks"),
            }
        }
        self.ftl = mount.into_ftl(standing, VecDeque::new()).unwrap_or_else(|e| panic!("{e}"));
        self.ftl.check().unwrap_or_else(|e| panic!("{e}"));
        self.ftl.check_at_rest().unwrap_or_else(|e| panic!("{e}"));
        self.ftl.handle(Input::Idle);
        self.carry_out();
    }

    /// Completes operations until the layer has recovered from the power cut.
    ///
    /// # Panics
    /// Panics if recovery stops making progress.
    pub fn recover(&mut self) {
        while self.ftl.is_recovering() {
            if !self.step() {
                self.idle();
                assert!(
                    !self.flying.is_empty() || !self.ftl.is_recovering(),
                    "stuck: {:#?}",
                    self.ftl
                );
            }
        }
    }

    /// Checks every page after a power cut: it must be in its state after some change, and no
    /// flushed change may be lost. Later checks start from this state.
    ///
    /// # Errors
    /// Returns a description of the lost data.
    pub fn settle_cut(&mut self) -> Result<(), String> {
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        for first in (0..self.model.sectors()).step_by(self.ftl.config().sectors_per_page as usize)
        {
            let values: Vec<_> = (first..first + per_page).map(|s| self.on_array(s)).collect();
            self.model
                .settle(first, &values)
                .map_err(|lost| self.story_of(first / per_page, &lost))?;
        }
        self.model.forget();
        Ok(())
    }
}

impl Rig {
    /// Lists the copies and trim records of a page, to report its loss.
    pub fn story_of(&self, lpn: u64, lost: &str) -> String {
        use std::fmt::Write as _;
        let mut text = format!(
            "{lost}\npage {lpn} is mapped to {:?}",
            self.ftl.lookup(Lpn(u32::try_from(lpn).unwrap_or(0)))
        );
        for ppn in (0..self.array.layout().pages()).map(Ppn) {
            let block = self.array.layout().block_of(ppn);
            let says = match self.look(ppn) {
                Seen::Data(sequence, lpns, sound)
                    if lpns.iter().flatten().any(|l| u64::from(l.0) == lpn) =>
                {
                    format!("a copy, sequence {sequence}, sound {sound}")
                }
                Seen::Trims(sequence, More::Trims(record))
                    if record.pages().any(|l| u64::from(l.0) == lpn) =>
                {
                    format!("trimmed below {sequence}")
                }
                Seen::Unreadable => "unreadable".into(),
                _ => continue,
            };
            let retired = self.retired.contains(&block);
            let _ = write!(
                text,
                "\n  page {ppn} of block {block}: {says}{}",
                if retired { ", bad" } else { "" }
            );
        }
        text
    }
}

enum Seen<'a> {
    Erased,
    Unreadable,
    Data(u64, &'a [Option<Lpn>], bool),
    Summary(&'a [u64], &'a [Option<Lpn>]),
    Trims(u64, &'a More),
}

impl<'a> Seen<'a> {
    fn found(self) -> ScanResult<'a> {
        match self {
            Self::Erased => ScanResult::Erased,
            Self::Data(sequence, lpns, sound) => ScanResult::Data { sequence, lpns, sound },
            Self::Summary(..) => ScanResult::Summary,
            Self::Trims(sequence, More::Trims(record)) => {
                ScanResult::Trims(sequence, record.clone())
            }
            Self::Unreadable | Self::Trims(..) => ScanResult::Unreadable,
        }
    }
}
