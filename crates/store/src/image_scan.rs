//! A scan of the whole image: answers the scan requests of the layer at mount, several at a time,
//! and compares the contents found with the block table.
//!
//! The table holds how many pages of each block must be present ([`Contents`]). Of these pages:
//!
//! - A data page counts by its out-of-band entry, even if its data are damaged: these have their
//!   own checksum, which reads compare.
//! - A summary can replace all entries of its block, and the entries can replace the summary.
//! - A page that neither proves is *missing*: without it, an older version or nothing would be
//!   taken for it.
//!
//! Later pages were written after the last sync. If such a page is incomplete or damaged it is
//! *torn*, and counts as not written. (After an orderly shutdown there are no such pages.)

use crate::error::ImageError;
use crate::format::digest;
use crate::format::oob::{self, OobContent, OobEntry, OobHead};
use crate::format::table::{BlockRecord, Contents, ShutdownState};
use crate::format::{NO_LPN, crc, summary, trims};
use crate::image::{Image, LastShutdown};
use gordon_ftl::{CleanShutdownState, Ftl, Mount, MountError, ScanRequest};
use gordon_units::{BlockId, Lpn, Ppn};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Number of scan requests answered in one batch.
const SCAN_BATCH: usize = 1024;
/// Number of reading threads, which mostly wait for the disk.
const THREADS: usize = 8;

/// A page, or all pages of a block, that must be present but is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingPage {
    pub ppn: Ppn,
    /// The highest sequence number that the page may have had.
    pub sequence: u64,
    pub why: &'static str,
}

/// The result of a scan.
pub(crate) struct ImageScan {
    /// By block: the record with which it was compared.
    pub expected: Vec<BlockRecord>,
    /// By block: the first page that is not programmed.
    pub next: Vec<u32>,
    /// By block: its erase count, from its pages or the table.
    pub erases: Vec<u32>,
    /// The highest sync number in a page.
    pub syncs: u64,
    /// Complete blocks, with the highest sequence number of their pages.
    pub complete: Vec<(BlockId, u64)>,
    /// Pages that were written after the last sync and are incomplete.
    pub torn: Vec<Ppn>,
    /// Pages that must be present but are not.
    pub missing: Vec<MissingPage>,
    /// Blocks whose summary is damaged, but whose entries are not.
    pub summaries: Vec<BlockId>,
}

impl ImageScan {
    /// Scans a whole image; also returns the layer's mount in progress.
    pub fn of(image: &Image) -> Result<(Mount, Self), ImageError> {
        if image.is_raw() {
            return Err(ImageError::Raw(image.path.clone()));
        }
        scan_image(image).map_err(|failed| failed.of(image))
    }

    /// Damage that only the digests of the map might prove harmless.
    pub fn damage(&self, image: &Image) -> Vec<String> {
        let layout = image.resolved().layout;
        let mut damage = image.unproven.clone();
        let ahead = u64::from(image.last_shutdown == LastShutdown::Crashed);
        if let Some(recorded) = image.recorded_sync
            && image.last_shutdown != LastShutdown::Closed
            && self.syncs > recorded + ahead
        {
            damage.push(format!(
                "the sync journal ends at sync {recorded}, and pages were written after sync {}",
                self.syncs
            ));
        }
        damage.extend(self.missing.iter().map(|missing| {
            let (block, page) = layout.place_of(missing.ppn);
            format!("block {block}, page {page}: {}", missing.why)
        }));
        damage
    }
}

/// Why a scan was aborted.
pub(crate) enum ScanError {
    Io(io::Error),
    Mount(MountError),
}

impl ScanError {
    /// Converts it to an error of this image.
    pub fn of(self, image: &Image) -> ImageError {
        match self {
            Self::Io(error) => ImageError::io(&image.path, error),
            Self::Mount(why) => {
                ImageError::Layer { path: image.path.clone(), why: why.to_string() }
            }
        }
    }
}

/// The clean shutdown state of the layer, from the block table.
pub(crate) fn clean_shutdown_state(image: &Image) -> CleanShutdownState {
    let blocks = || (0..).map(BlockId).zip(&image.expected);
    let mut open: Vec<_> = blocks()
        .filter_map(|(block, record)| match record.shutdown_state {
            ShutdownState::Open { rank, copies } => Some((rank, block, copies)),
            _ => None,
        })
        .collect();
    open.sort_unstable();
    let suspects = blocks().filter(|(_, record)| record.shutdown_state == ShutdownState::Suspect);
    CleanShutdownState {
        open: open.into_iter().map(|(_, block, copies)| (block, copies)).collect(),
        suspects: suspects.map(|(block, _)| block).collect(),
    }
}

/// The digests of the map of a layer at rest.
pub(crate) fn digests(ftl: &Ftl) -> Vec<u32> {
    let (exported, slots) = (ftl.config().exported, ftl.config().slots);
    let groups: Vec<u32> = (0..digest::groups(exported)).collect();
    let slot = |lpn| ftl.lookup(Lpn(lpn)).map(|(ppn, slot)| ppn.0 * slots + slot);
    let group = |group: u32| {
        let lpns = group * digest::GROUP..exported;
        digest::of(lpns.take(digest::GROUP as usize).map(slot))
    };
    par_map(&groups, group)
}

/// Compares the digests of the layer's map with those of the orderly shutdown. By group: whether
/// they are equal; `None` if the page of digests is damaged.
pub(crate) fn proofs(image: &Image, ftl: &Ftl) -> io::Result<Vec<Option<bool>>> {
    let now = digests(ftl);
    let pages = image.digests()?;
    let pages = now.chunks(digest::EACH).zip(pages);
    let compared = pages.flat_map(|(now, then)| {
        let same = |at: usize| then.as_ref().map(|then| then[at] == now[at]);
        (0..now.len()).map(same).collect::<Vec<_>>()
    });
    Ok(compared.collect())
}

fn scan_image(image: &Image) -> Result<(Mount, ImageScan), ScanError> {
    let resolved = image.resolved();
    let (layout, bad) = (resolved.layout, image.bad());
    let pages = layout.pages_per_block();
    let looker = Scanner::new(image).map_err(ScanError::Io)?;
    let erases: Vec<u32> = looker.expected.iter().map(|record| record.erases).collect();
    let mut mount = Mount::new(layout, resolved.config, &bad, &erases)
        .map_err(|error| ScanError::Mount(MountError::Config(error)))?;
    let mut scan = ImageScan {
        expected: looker.expected.clone(),
        next: vec![0; layout.blocks() as usize],
        erases,
        syncs: looker.syncs,
        complete: vec![],
        torn: vec![],
        missing: vec![],
        summaries: vec![],
    };
    let mut looks = Vec::with_capacity(SCAN_BATCH);
    loop {
        looks.clear();
        let last = loop {
            match mount.next_scan() {
                ScanRequest::Wait => break ScanRequest::Wait,
                ScanRequest::Done => break ScanRequest::Done,
                look => looks.push(look),
            }
            if looks.len() == SCAN_BATCH {
                break ScanRequest::Wait;
            }
        };
        if last == ScanRequest::Done && looks.is_empty() {
            return Ok((mount, scan));
        }
        for answer in par_map(&looks, |look| looker.answer(look)) {
            match answer.map_err(ScanError::Io)? {
                ScanAnswer::Summary { block, found, erases, damaged } => {
                    scan.summaries.extend(damaged.then_some(block));
                    if let Some(found) = &found {
                        let sequence = found.sequences.iter().copied().max().unwrap_or(0);
                        scan.syncs = scan.syncs.max(found.syncs);
                        scan.complete.push((block, sequence));
                        scan.next[block.index()] = pages;
                        scan.erases[block.index()] = erases;
                    }
                    mount.summary(block, found.as_ref().map(|f| (&*f.sequences, &*f.lpns)));
                }
                ScanAnswer::Page { ppn, found, syncs, erases } => {
                    let (block, page) = layout.place_of(ppn);
                    let (block, end) = (block.index(), page + 1);
                    scan.syncs = scan.syncs.max(syncs);
                    scan.erases[block] = scan.erases[block].max(erases);
                    scan.next[block] = if matches!(found, PageScan::Erased) { page } else { end };
                    match &found {
                        PageScan::Torn => scan.torn.push(ppn),
                        PageScan::Missing(why) => {
                            let record = looker.expected[block];
                            let sequence = record.contents.sequence();
                            scan.missing.push(MissingPage { ppn, sequence, why });
                        }
                        _ => {}
                    }
                    if end == pages || matches!(found, PageScan::Erased) {
                        looker.forget(BlockId(u32::try_from(block).expect("a block")));
                    }
                    mount.page(ppn, found.for_layer());
                }
            }
        }
    }
}

/// The answer to a scan request.
enum ScanAnswer {
    Summary { block: BlockId, found: Option<SummaryPages>, erases: u32, damaged: bool },
    Page { ppn: Ppn, found: PageScan, syncs: u64, erases: u32 },
}

struct SummaryPages {
    sequences: Vec<u64>,
    lpns: Vec<Option<Lpn>>,
    syncs: u64,
}

/// The state of a page.
enum PageScan {
    Erased,
    /// The page was written after the last sync and is incomplete.
    Torn,
    /// The page must be present but is not; holds the reason.
    Missing(&'static str),
    Data {
        sequence: u64,
        lpns: Vec<Option<Lpn>>,
    },
    Summary,
    Trims(u64, gordon_ftl::TrimRecord),
}

impl PageScan {
    fn for_layer(&self) -> gordon_ftl::ScanResult<'_> {
        match self {
            Self::Erased => gordon_ftl::ScanResult::Erased,
            Self::Torn | Self::Missing(_) => gordon_ftl::ScanResult::Unreadable,
            &Self::Data { sequence, ref lpns } => {
                gordon_ftl::ScanResult::Data { sequence, lpns, sound: true }
            }
            Self::Summary => gordon_ftl::ScanResult::Summary,
            Self::Trims(sequence, record) => {
                gordon_ftl::ScanResult::Trims(*sequence, record.clone())
            }
        }
    }
}

/// Applies `each` to all items, on several threads if there are many items and threads can be
/// started; results are in order.
pub(crate) fn par_map<T, R>(all: &[T], each: impl Fn(T) -> R + Sync) -> Vec<R>
where
    T: Copy + Sync,
    R: Send,
{
    if all.len() < 4 * THREADS {
        return all.iter().map(|&one| each(one)).collect();
    }
    let each = &each;
    let work = |part: &[T]| part.iter().map(|&one| each(one)).collect::<Vec<R>>();
    thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(THREADS));
        let threads: Vec<_> = parts
            .map(|part| {
                let spawned = thread::Builder::new().spawn_scoped(scope, move || work(part));
                (part, spawned)
            })
            .collect();
        let joined = threads.into_iter().flat_map(|(part, spawned)| match spawned {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // The system cannot start another thread.
            Err(_) => work(part),
        });
        joined.collect()
    })
}

/// The out-of-band entries of a block.
pub(crate) struct BlockEntries {
    bytes: Vec<u8>,
    entries: Vec<OobEntry>,
    oob_bytes: usize,
    /// Erase count of the block; pages with another count belong to earlier contents.
    pub erases: u32,
    /// All pages from this one on are erased.
    pub end: u32,
}

impl BlockEntries {
    /// Reads the entries of a block with this record.
    pub fn read(image: &Image, block: BlockId, record: BlockRecord) -> io::Result<Self> {
        let (offsets, layout) = (image.offsets(), image.resolved().layout);
        let mut bytes = vec![0; offsets.oob_area()];
        image.sync_tracker.media().read(offsets.block(block), &mut bytes)?;
        let entries: Vec<_> = (0..)
            .zip(bytes.chunks_exact(offsets.oob_bytes))
            .map(|(page, bytes)| oob::decode(bytes, layout.ppn(block, page)))
            .collect();
        let heads = entries.iter().filter_map(|entry| entry.head());
        // A block without demanded contents may have been erased after the table was written. A
        // crash may have undone a part of that, so the highest erase count is used.
        let erases = match record.contents {
            Contents::Pages { .. } => record.erases,
            Contents::Nothing => heads.map(|head| head.erases).fold(record.erases, u32::max),
        };
        let used = entries.iter().rposition(|entry| *entry != OobEntry::Erased);
        let end = used.map_or(0, |last| u32::try_from(last).expect("a page") + 1);
        Ok(Self { bytes, entries, oob_bytes: offsets.oob_bytes, erases, end })
    }

    /// The entry of a page, decoded and as bytes.
    pub fn get(&self, page: u32) -> (OobEntry, &[u8]) {
        let from = page as usize * self.oob_bytes;
        (self.entries[page as usize], &self.bytes[from..from + self.oob_bytes])
    }

    /// The head of a page that belongs to the current contents of the block.
    pub fn head(&self, page: u32) -> Option<OobHead> {
        self.entries[page as usize].head().filter(|head| head.erases == self.erases)
    }

    /// Whether the block holds trim records, in which case its last page is not a summary.
    pub fn is_journal(&self) -> bool {
        self.entries.iter().any(|entry| {
            entry
                .head()
                .is_some_and(|head| head.erases == self.erases && head.content == OobContent::Trims)
        })
    }

    /// Whether the block is complete and its entries agree with this summary.
    fn agree(&self, summary: &SummaryPages, slots: u32) -> bool {
        let pages = summary.sequences.iter().zip(summary.lpns.chunks(slots as usize));
        let data = (0..).zip(pages).all(|(page, (&sequence, lpns))| {
            let (_, bytes) = self.get(page);
            let found = (0..slots).map(|slot| oob::slot(bytes, slot).lpn);
            self.head(page).is_some_and(|head| head.sequence == sequence)
                && found.eq(lpns.iter().map(|lpn| lpn.map_or(NO_LPN, |lpn| lpn.0)))
        });
        let summaries = summary.sequences.len()..self.entries.len();
        let mut summaries = summaries.map(|page| u32::try_from(page).expect("a page"));
        data && summaries
            .all(|page| self.head(page).is_some_and(|head| head.content == OobContent::Summary))
    }
}

/// Answers scan requests.
struct Scanner<'a> {
    image: &'a Image,
    /// By block: its record.
    expected: Vec<BlockRecord>,
    /// The highest sync number seen while the records were determined.
    syncs: u64,
    /// Entries of the blocks that are scanned page by page.
    entries: Mutex<HashMap<BlockId, Arc<BlockEntries>>>,
}

impl<'a> Scanner<'a> {
    fn new(image: &'a Image) -> io::Result<Self> {
        let (expected, syncs) = if image.is_legacy() {
            expected_by_syncs(image)?
        } else {
            (image.expected.clone(), image.recorded_sync.unwrap_or(0))
        };
        Ok(Self { image, expected, syncs, entries: Mutex::default() })
    }

    fn entries(&self, block: BlockId) -> io::Result<Arc<BlockEntries>> {
        let lock = || self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = lock().get(&block) {
            return Ok(Arc::clone(entries));
        }
        let record = self.expected[block.index()];
        let entries = Arc::new(BlockEntries::read(self.image, block, record)?);
        lock().insert(block, Arc::clone(&entries));
        Ok(entries)
    }

    /// Drops the entries of a block after all its pages were scanned.
    fn forget(&self, block: BlockId) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).remove(&block);
    }

    fn answer(&self, request: ScanRequest) -> io::Result<ScanAnswer> {
        match request {
            ScanRequest::Summary(block) => self.summary(block),
            ScanRequest::Page(ppn) => self.page(ppn),
            ScanRequest::Wait | ScanRequest::Done => unreachable!("no looks"),
        }
    }

    fn summary(&self, block: BlockId) -> io::Result<ScanAnswer> {
        let (image, config) = (self.image, self.image.resolved().config);
        let pages = image.resolved().layout.pages_per_block();
        let BlockRecord { contents, erases, .. } = self.expected[block.index()];
        let none = ScanAnswer::Summary { block, found: None, erases, damaged: false };
        if image.last_shutdown == LastShutdown::Closed && contents.count() < pages {
            return Ok(none);
        }
        let found = read_summary(image, block)?;
        if contents.count() == pages {
            // Sequence numbers never decrease, so a summary with this number is not of older
            // contents.
            let found =
                found.filter(|found| found.sequences.iter().max() == Some(&contents.sequence()));
            let damaged = found.is_none() && !self.entries(block)?.is_journal();
            return Ok(ScanAnswer::Summary { block, found, erases, damaged });
        }
        let Some(found) = found else { return Ok(none) };
        let entries = self.entries(block)?;
        let whole = entries.agree(&found, config.slots)
            && (image.last_shutdown == LastShutdown::Killed
                || self.is_complete(block, &entries)?);
        if !whole {
            return Ok(none);
        }
        self.forget(block);
        let erases = entries.erases;
        Ok(ScanAnswer::Summary { block, found: Some(found), erases, damaged: false })
    }

    /// Whether all data pages of a block are intact.
    fn is_complete(&self, block: BlockId, entries: &BlockEntries) -> io::Result<bool> {
        let layout = self.image.resolved().layout;
        for page in 0..self.image.data_pages() {
            let ppn = layout.ppn(block, page);
            if !self.is_sound(ppn, entries.get(page).1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn page(&self, ppn: Ppn) -> io::Result<ScanAnswer> {
        let layout = self.image.resolved().layout;
        let (block, page) = layout.place_of(ppn);
        let promised = page < self.expected[block.index()].contents.count();
        if !promised && self.image.last_shutdown == LastShutdown::Closed {
            return Ok(ScanAnswer::Page { ppn, found: PageScan::Erased, syncs: 0, erases: 0 });
        }
        let entries = self.entries(block)?;
        let (entry, bytes) = entries.get(page);
        if let Some(head) = entries.head(page) {
            let found = self.content(ppn, head, bytes, promised)?;
            return Ok(ScanAnswer::Page { ppn, found, syncs: head.syncs, erases: head.erases });
        }
        let is_summary = page >= self.image.data_pages();
        let found = if promised && !(is_summary && page > 0 && !entries.is_journal()) {
            PageScan::Missing(match entry {
                OobEntry::Erased => "it is erased, and was programmed",
                OobEntry::Programmed(_) => "it is that of another erase of its block",
                OobEntry::Damaged | OobEntry::Lost => "its out-of-band entry is damaged",
            })
        } else if page >= entries.end {
            PageScan::Erased
        } else if promised {
            PageScan::Summary
        } else {
            PageScan::Torn
        };
        Ok(ScanAnswer::Page { ppn, found, syncs: 0, erases: 0 })
    }

    fn content(
        &self,
        ppn: Ppn,
        head: OobHead,
        entry: &[u8],
        promised: bool,
    ) -> io::Result<PageScan> {
        let image = self.image;
        match head.content {
            OobContent::Summary => Ok(PageScan::Summary),
            OobContent::Trims => {
                let page = usize::try_from(image.offsets().page_bytes).map_err(io::Error::other)?;
                let mut bytes = vec![0; page];
                image.sync_tracker.media().read(image.offsets().slot(ppn, 0), &mut bytes)?;
                Ok(match trims::decode(&bytes, ppn, head.sequence) {
                    Some(record) => PageScan::Trims(head.sequence, record),
                    None if promised => PageScan::Missing("a page of the trim journal is damaged"),
                    None => PageScan::Torn,
                })
            }
            OobContent::Data if promised || self.is_sound(ppn, entry)? => {
                let slots = (0..image.resolved().config.slots).map(|slot| oob::slot(entry, slot));
                let lpns = slots.map(|slot| (slot.lpn != NO_LPN).then_some(Lpn(slot.lpn)));
                Ok(PageScan::Data { sequence: head.sequence, lpns: lpns.collect() })
            }
            OobContent::Data => Ok(PageScan::Torn),
        }
    }

    /// Whether the data of a page match their checksums.
    fn is_sound(&self, ppn: Ppn, entry: &[u8]) -> io::Result<bool> {
        let (image, offsets) = (self.image, self.image.offsets());
        let mut data = vec![0; usize::try_from(offsets.unit).map_err(io::Error::other)?];
        for at in 0..image.resolved().config.slots {
            let slot = oob::slot(entry, at);
            if slot.lpn != NO_LPN {
                image.sync_tracker.media().read(offsets.slot(ppn, at), &mut data)?;
                if crc(&data) != slot.crc {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// The summary of a block; `None` if it has no valid one.
fn read_summary(image: &Image, block: BlockId) -> io::Result<Option<SummaryPages>> {
    let config = image.resolved().config;
    let layout = image.resolved().layout;
    let pages = image.data_pages();
    let mut bytes = vec![0; summary::bytes(pages, config.slots)];
    let first = layout.ppn(block, pages);
    image.sync_tracker.media().read(image.offsets().slot(first, 0), &mut bytes)?;
    let Some(found) = summary::decode(&bytes, block, pages, config.slots) else {
        return Ok(None);
    };
    let mut sequences = Vec::with_capacity(pages as usize);
    let mut lpns = Vec::with_capacity((pages * config.slots) as usize);
    for (sequence, slots) in found.pages() {
        sequences.push(sequence);
        lpns.extend(slots.map(|lpn| (lpn != NO_LPN).then_some(Lpn(lpn))));
    }
    Ok(Some(SummaryPages { sequences, lpns, syncs: found.syncs }))
}

/// The contents that each block of an image of version 2 must hold, which has no sync journal. Each
/// page holds the number of syncs started when it was written. Syncs do not overlap, so if n is the
/// highest number, pages with n - 2 or less are durable, as are the pages before them in their
/// block.
fn expected_by_syncs(image: &Image) -> io::Result<(Vec<BlockRecord>, u64)> {
    let blocks: Vec<_> = (0..image.resolved().layout.blocks()).map(BlockId).collect();
    let read = par_map(&blocks, |block| {
        let entries = BlockEntries::read(image, block, image.expected[block.index()])?;
        let summary = read_summary(image, block)?.map_or(0, |summary| summary.syncs);
        Ok((entries, summary))
    });
    let read: Vec<_> = read.into_iter().collect::<io::Result<_>>()?;
    let stamps = |entries: &BlockEntries| {
        let heads = (0..entries.end).map(|page| entries.head(page));
        heads.map(|head| head.map_or(0, |head| head.syncs)).collect::<Vec<_>>()
    };
    let newest = read
        .iter()
        .map(|(entries, summary)| stamps(entries).into_iter().max().unwrap_or(0).max(*summary));
    let newest = newest.max().unwrap_or(0);
    let mut expected = image.expected.clone();
    for (record, (entries, _)) in expected.iter_mut().zip(&read) {
        let durable = |page: &u32| entries.head(*page).is_some_and(|head| head.syncs + 2 <= newest);
        // A mount of version 2 overwrote entries with ones that a crash of the host had left
        // incomplete.
        let struck_out = (0..entries.end).any(|page| entries.get(page).0 == OobEntry::Lost);
        let Some(last) = (0..entries.end).rev().find(durable).filter(|_| !struck_out) else {
            continue;
        };
        let heads = (0..=last).filter_map(|page| entries.head(page));
        let heads = heads.filter(|head| head.content != OobContent::Summary);
        let sequence = heads.map(|head| head.sequence).max().unwrap_or(0);
        record.erases = entries.erases;
        record.contents = Contents::Pages { count: last + 1, sequence };
    }
    Ok((expected, newest))
}
