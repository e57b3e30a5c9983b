//! Mounting: answers what the layer asks of an image that comes up, several looks at a time, and lets
//! the layer make good what a cut left.
//!
//! After a kill all that was written is there. After a crash of the host, what was not synced may be
//! there or not, in any order, so that a page may be lost whose block has a summary. Each entry says
//! how many syncs had been started when it was written, and syncs come one after the other: with n the
//! highest number found, all that has n - 2 or less is durable. Blocks with newer pages are read
//! whole; a page whose data do not fit is answered as unreadable, as if it had never been written,
//! for nobody was promised that it had. It is marked, and so is the summary of its block: the next
//! mount would take them for durable. For the same reason, where a crash has undone a part of an erase
//! (a summary of what was there before, beside newer entries; entries of fewer erases than others),
//! what was there before goes for good.

use crate::engine::{Engine, Payload};
use crate::error::ImageError;
use crate::format::oob::{self, Content, Entry, Head};
use crate::format::table::Left;
use crate::format::{NO_LPN, crc, is_zero, summary, trims};
use crate::image::Image;
use gordon_ftl::{Ftl, Look, Mount, MountError, Record, Standing};
use gordon_nand::{BlockState, Rules};
use gordon_units::{BlockId, Lpn, Ppn};
use std::collections::VecDeque;
use std::io;
use std::thread;

/// Looks that are answered together.
const TOGETHER: usize = 1024;
/// Threads that read: they mostly wait for the disk.
const THREADS: usize = 8;

/// What a look found.
enum Answer {
    Summary { block: BlockId, found: Option<Pages>, syncs: u64, lost: bool },
    Page { ppn: Ppn, found: Found, syncs: u64, erases: u32 },
}

/// The pages of a summary.
struct Pages {
    sequences: Vec<u64>,
    lpns: Vec<Option<Lpn>>,
}

/// [`gordon_ftl::Found`], with what it holds.
enum Found {
    Erased,
    Unreadable,
    /// Of what was not synced, and did not get there.
    Lost,
    Data {
        sequence: u64,
        lpns: Vec<Option<Lpn>>,
        sound: bool,
    },
    Summary,
    Trims(u64, Record),
}

/// What looks need to know.
struct Looker<'a> {
    image: &'a Image,
    /// Numbers of syncs from which on what was written may be lost: only after a crash of the host.
    unsure: u64,
}

/// Brings up the layer: what the array holds is found, and what a cut left is made good.
pub(crate) fn open<P: Payload>(mut image: Image) -> Result<Engine<P>, ImageError> {
    let path = image.path.clone();
    let fail = |error| ImageError::io(&path, error);
    let standing = image.clean.then(|| standing(&image));
    let unsure = if image.clean || image.same_boot {
        u64::MAX
    } else {
        newest(&image).map_err(fail)?.saturating_sub(1)
    };
    let found = match look_at_all(&image, standing.as_ref(), unsure) {
        // What is said of open blocks is wrong: it is left alone.
        Err(Failed::Mount(MountError::Standing(_))) => look_at_all(&image, None, unsure),
        found => found,
    };
    let Mounted { ftl, rules, erases, syncs, lost, lost_summaries } =
        found.map_err(|failed| match failed {
            Failed::Io(error) => fail(error),
            Failed::Mount(why) => ImageError::Layer { path: path.clone(), why: why.to_string() },
        })?;
    image.disk.set_syncs(syncs + 2);
    strike_out(&image, &lost, &lost_summaries).map_err(fail)?;
    image.mark(false).map_err(fail)?;
    for (block, erases) in (0..).map(BlockId).zip(erases) {
        let record = image.record(block);
        if erases > record.erases || image.damaged.contains(&block) {
            image.set_record(block, crate::Record { erases, ..record }).map_err(fail)?;
        }
    }
    let mut engine = Engine::with(image, ftl, rules);
    engine.recover().map_err(fail)?;
    Ok(engine)
}

/// Where the layer stood when it was closed in order.
fn standing(image: &Image) -> Standing {
    let blocks = || (0..).map(BlockId).zip(&image.records);
    let mut open: Vec<_> = blocks()
        .filter_map(|(block, record)| match record.left {
            Left::Open { rank, copies } => Some((rank, block, copies)),
            _ => None,
        })
        .collect();
    open.sort_unstable();
    let suspects = blocks().filter(|(_, record)| record.left == Left::Suspect);
    Standing {
        open: open.into_iter().map(|(_, block, copies)| (block, copies)).collect(),
        suspects: suspects.map(|(block, _)| block).collect(),
    }
}

enum Failed {
    Io(io::Error),
    Mount(MountError),
}

struct Mounted {
    ftl: Ftl,
    rules: Rules,
    /// By block: erases, where its pages know of more than the table.
    erases: Vec<u32>,
    /// The highest number of syncs.
    syncs: u64,
    /// Pages that were not synced and did not get to the medium whole.
    lost: Vec<Ppn>,
    /// Blocks with such pages, and a summary all the same.
    lost_summaries: Vec<BlockId>,
}

/// What was lost in a crash of the host is lost for good.
fn strike_out(image: &Image, pages: &[Ppn], summaries: &[BlockId]) -> io::Result<()> {
    let (places, layout) = (image.places(), image.resolved().layout);
    let struck = vec![0xff; places.oob_bytes];
    for &block in summaries {
        let last = layout.ppn(block, layout.pages_per_block() - 1);
        image.disk.change(|media| media.write(places.slot(last, 0), &[0; 32]))?;
        image.disk.change(|media| media.write(places.oob(last), &struck))?;
    }
    for &ppn in pages {
        image.disk.change(|media| media.write(places.oob(ppn), &struck))?;
    }
    Ok(())
}

fn look_at_all(image: &Image, standing: Option<&Standing>, unsure: u64) -> Result<Mounted, Failed> {
    let resolved = image.resolved();
    let (layout, bad) = (resolved.layout, image.bad());
    let mut erases: Vec<u32> = image.records.iter().map(|record| record.erases).collect();
    let mut mount = Mount::new(layout, resolved.config, &bad, &erases)
        .map_err(|error| Failed::Mount(MountError::Config(error)))?;
    let looker = Looker { image, unsure };
    let mut next = vec![0; layout.blocks() as usize];
    let (mut newest, mut lost, mut lost_summaries) = (0, vec![], vec![]);
    let mut looks = Vec::with_capacity(TOGETHER);
    loop {
        looks.clear();
        let last = loop {
            match mount.poll() {
                Look::Wait => break Look::Wait,
                Look::Done => break Look::Done,
                look => looks.push(look),
            }
            if looks.len() == TOGETHER {
                break Look::Wait;
            }
        };
        if last == Look::Done && looks.is_empty() {
            break;
        }
        for answer in together(&looks, |look| looker.answer(look)) {
            match answer.map_err(Failed::Io)? {
                Answer::Summary { block, found, syncs, lost } => {
                    lost_summaries.extend(lost.then_some(block));
                    newest = newest.max(syncs);
                    if found.is_some() {
                        next[block.index()] = layout.pages_per_block();
                    }
                    mount.summary(block, found.as_ref().map(|f| (&*f.sequences, &*f.lpns)));
                }
                Answer::Page { ppn, found, syncs, erases: seen } => {
                    newest = newest.max(syncs);
                    lost.extend(matches!(found, Found::Lost).then_some(ppn));
                    let (block, page) = layout.place_of(ppn);
                    let block = block.index();
                    erases[block] = erases[block].max(seen);
                    next[block] = page + u32::from(!matches!(found, Found::Erased));
                    mount.page(ppn, found.borrow());
                }
            }
        }
    }
    let ftl = mount.finish(standing, VecDeque::new()).map_err(Failed::Mount)?;
    let mut rules = Rules::new(layout);
    for (at, (&next, &erases)) in (0..).zip(next.iter().zip(&erases)) {
        rules.set(BlockId(at), BlockState { next, erases, bad: false });
    }
    Ok(Mounted { ftl, rules, erases, syncs: newest, lost, lost_summaries })
}

impl Found {
    fn borrow(&self) -> gordon_ftl::Found<'_> {
        match self {
            Self::Erased => gordon_ftl::Found::Erased,
            Self::Unreadable | Self::Lost => gordon_ftl::Found::Unreadable,
            &Self::Data { sequence, ref lpns, sound } => {
                gordon_ftl::Found::Data { sequence, lpns, sound }
            }
            Self::Summary => gordon_ftl::Found::Summary,
            Self::Trims(sequence, record) => gordon_ftl::Found::Trims(*sequence, record.clone()),
        }
    }
}

/// Does the same with all, on several threads if they are many; results in order.
fn together<T: Copy + Sync, R: Send>(all: &[T], each: impl Fn(T) -> R + Sync) -> Vec<R> {
    if all.len() < 4 * THREADS {
        return all.iter().map(|&one| each(one)).collect();
    }
    let each = &each;
    thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(THREADS));
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(|&one| each(one)).collect::<Vec<R>>()))
            .collect();
        let joined = threads.into_iter().flat_map(|thread| match thread.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    })
}

/// The highest number of syncs that any page carries.
fn newest(image: &Image) -> io::Result<u64> {
    let layout = image.resolved().layout;
    let blocks: Vec<_> = (0..layout.blocks()).map(BlockId).collect();
    let looker = Looker { image, unsure: u64::MAX };
    let numbers = together(&blocks, |block| {
        let summary = looker.summary(block)?.map_or(0, |(_, syncs)| syncs);
        let entries = looker.entries(block)?;
        let heads = entries.heads().filter_map(|(_, entry)| entry.head());
        Ok(heads.map(|head| head.syncs).max().unwrap_or(0).max(summary))
    });
    numbers.into_iter().try_fold(0, |most, syncs: io::Result<u64>| Ok(most.max(syncs?)))
}

/// The out-of-band entries of a block.
struct Entries<'a> {
    image: &'a Image,
    block: BlockId,
    bytes: Vec<u8>,
}

impl Entries<'_> {
    fn heads(&self) -> impl Iterator<Item = (&[u8], Entry)> {
        let layout = self.image.resolved().layout;
        let entries = (0..).zip(self.bytes.chunks_exact(self.image.places().oob_bytes));
        entries.map(move |(page, bytes)| (bytes, oob::decode(bytes, layout.ppn(self.block, page))))
    }

    /// Erases of the block when its last page was programmed. Pages with fewer were there before an
    /// erase that a crash has undone in part.
    fn erases(&self) -> u32 {
        let heads = self.heads().filter_map(|(_, entry)| entry.head());
        heads.map(|head| head.erases).max().unwrap_or(0)
    }

    /// Whether the block is complete and a summary says of it what they say.
    fn agree(&self, summary: &Pages) -> bool {
        let erases = self.erases();
        let slots = self.image.resolved().config.slots;
        let mut heads = self.heads();
        let pages = summary.sequences.iter().zip(summary.lpns.chunks(slots as usize));
        let all = pages.zip(heads.by_ref()).all(|((&sequence, lpns), (bytes, entry))| {
            let same = |head: Head| (head.sequence, head.erases) == (sequence, erases);
            let slots = (0..slots).map(|slot| oob::slot(bytes, slot).lpn);
            entry.head().is_some_and(same)
                && slots.eq(lpns.iter().map(|lpn| lpn.map_or(NO_LPN, |lpn| lpn.0)))
        });
        let last = heads.next().and_then(|(_, entry)| entry.head());
        all && last.is_some_and(|h| (h.content, h.erases) == (Content::Summary, erases))
    }
}

impl Looker<'_> {
    fn answer(&self, look: Look) -> io::Result<Answer> {
        match look {
            Look::Summary(block) => {
                let found = self.summary(block)?;
                let syncs = found.as_ref().map_or(0, |(_, syncs)| *syncs);
                let sure = match &found {
                    Some((pages, _)) if self.unsure < u64::MAX => {
                        self.entries(block)?.agree(pages)
                            && (syncs < self.unsure || self.is_whole(block)?)
                    }
                    _ => true,
                };
                let lost = found.is_some() && !sure;
                let found = found.filter(|_| sure).map(|(pages, _)| pages);
                Ok(Answer::Summary { block, found, syncs, lost })
            }
            Look::Page(ppn) => self.page(ppn),
            Look::Wait | Look::Done => unreachable!("no looks"),
        }
    }

    /// The summary of a block, and the number of syncs in it.
    fn summary(&self, block: BlockId) -> io::Result<Option<(Pages, u64)>> {
        let (image, config) = (self.image, self.image.resolved().config);
        let layout = image.resolved().layout;
        let pages = config.data_pages(&layout);
        let mut bytes = vec![0; summary::bytes(pages, config.slots)];
        let last = layout.ppn(block, layout.pages_per_block() - 1);
        image.disk.media().read(image.places().slot(last, 0), &mut bytes)?;
        let Some(found) = summary::decode(&bytes, block, pages, config.slots) else {
            return Ok(None);
        };
        let mut sequences = Vec::with_capacity(pages as usize);
        let mut lpns = Vec::with_capacity((pages * config.slots) as usize);
        for (sequence, slots) in found.pages() {
            sequences.push(sequence);
            lpns.extend(slots.map(|lpn| (lpn != NO_LPN).then_some(Lpn(lpn))));
        }
        Ok(Some((Pages { sequences, lpns }, found.syncs)))
    }

    /// Whether all pages of a block are there, with their data.
    fn is_whole(&self, block: BlockId) -> io::Result<bool> {
        let layout = self.image.resolved().layout;
        for page in 0..layout.pages_per_block() - 1 {
            let Answer::Page { found, .. } = self.page(layout.ppn(block, page))? else {
                return Ok(false);
            };
            if !matches!(found, Found::Data { sound: true, .. }) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn entries(&self, block: BlockId) -> io::Result<Entries<'_>> {
        let image = self.image;
        let mut bytes = vec![0; image.places().oob_area()];
        image.disk.media().read(image.places().block(block), &mut bytes)?;
        Ok(Entries { image, block, bytes })
    }

    /// Whether a page was there before an erase that a crash has undone in part.
    fn is_revenant(&self, ppn: Ppn, head: Head) -> io::Result<bool> {
        let block = self.image.resolved().layout.block_of(ppn);
        Ok(self.unsure < u64::MAX && head.erases < self.entries(block)?.erases())
    }

    fn page(&self, ppn: Ppn) -> io::Result<Answer> {
        let image = self.image;
        let mut entry = vec![0; image.places().oob_bytes];
        image.disk.media().read(image.places().oob(ppn), &mut entry)?;
        let (found, syncs, erases) = match oob::decode(&entry, ppn) {
            Entry::Damaged | Entry::Lost => (Found::Unreadable, 0, 0),
            Entry::Erased if self.is_erased_from(ppn)? => (Found::Erased, 0, 0),
            // A later page is programmed: this one was too, and it was not synced.
            Entry::Erased if self.unsure < u64::MAX => (Found::Lost, 0, 0),
            Entry::Erased => (Found::Unreadable, 0, 0),
            Entry::Programmed(head) if self.is_revenant(ppn, head)? => (Found::Lost, head.syncs, 0),
            Entry::Programmed(head) => (self.content(ppn, head, &entry)?, head.syncs, head.erases),
        };
        Ok(Answer::Page { ppn, found, syncs, erases })
    }

    /// Whether no page of its block from this one on is programmed.
    fn is_erased_from(&self, ppn: Ppn) -> io::Result<bool> {
        let places = self.image.places();
        let layout = self.image.resolved().layout;
        let left = (layout.pages_per_block() - layout.page_of(ppn)) as usize;
        let mut entries = vec![0; left * places.oob_bytes];
        self.image.disk.media().read(places.oob(ppn), &mut entries)?;
        Ok(is_zero(&entries))
    }

    fn content(&self, ppn: Ppn, head: Head, entry: &[u8]) -> io::Result<Found> {
        let (image, slots) = (self.image, self.image.resolved().config.slots);
        match head.content {
            Content::Summary => Ok(Found::Summary),
            Content::Trims => {
                let page = usize::try_from(image.places().page_bytes).map_err(io::Error::other)?;
                let mut bytes = vec![0; page];
                image.disk.media().read(image.places().slot(ppn, 0), &mut bytes)?;
                let record = trims::decode(&bytes, ppn, head.sequence);
                let lost = head.syncs >= self.unsure;
                let otherwise = if lost { Found::Lost } else { Found::Unreadable };
                Ok(record.map_or(otherwise, |record| Found::Trims(head.sequence, record)))
            }
            Content::Data => {
                let slots: Vec<_> = (0..slots).map(|slot| oob::slot(entry, slot)).collect();
                let lpn = |slot: &oob::Slot| (slot.lpn != NO_LPN).then_some(Lpn(slot.lpn));
                let lpns = slots.iter().map(lpn).collect();
                let unit = usize::try_from(image.places().unit).map_err(io::Error::other)?;
                let mut data = vec![0; unit];
                let mut sound = true;
                for (at, slot) in (0..).zip(&slots).filter(|(_, slot)| slot.lpn != NO_LPN) {
                    image.disk.media().read(image.places().slot(ppn, at), &mut data)?;
                    sound &= crc(&data) == slot.crc;
                }
                if !sound && head.syncs >= self.unsure {
                    return Ok(Found::Lost);
                }
                Ok(Found::Data { sequence: head.sequence, lpns, sound })
            }
        }
    }
}
