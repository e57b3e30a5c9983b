//! The medium with a count of its changes, so that one sync serves all waiting flushes and no sync
//! is made without changes. It also owns the block table, whose changes each sync records.

use crate::block_table::BlockTable;
use crate::error::IoError;
use crate::format::table::BlockRecord;
use crate::media::Media;
use gordon_units::BlockId;
use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Makes durable what an [`Engine`](crate::Engine) has written. A driver of an engine calls it,
/// without holding the engine, before it reports a completion that is `durable`.
#[derive(Clone)]
pub struct Syncer(pub(crate) Arc<SyncTracker>);

impl Syncer {
    /// Returns when all earlier writes are durable; may wait for a sync of another thread.
    pub fn sync(&self) -> std::result::Result<(), IoError> {
        self.0.sync().map_err(|error| IoError::of(&error))
    }
}

/// A medium whose syncs are shared and recorded.
pub struct SyncTracker {
    media: Box<dyn Media>,
    /// Number of writes and erases done.
    write_seq: AtomicU64,
    /// Number of syncs started. A page carries this number only after the record of that sync was
    /// written.
    syncs_started: AtomicU64,
    /// Number of changes that are durable.
    durable_seq: AtomicU64,
    /// Held during a sync.
    syncing: Mutex<()>,
    /// `None` if the medium is not that of an image.
    table: Option<Mutex<BlockTable>>,
    /// A sync has failed. The system may have dropped data it could not write, and reports that
    /// only once.
    broken: AtomicBool,
}

impl SyncTracker {
    /// A medium without changes so far, whose syncs are shared.
    #[must_use]
    pub fn new(media: Box<dyn Media>) -> Self {
        Self {
            media,
            write_seq: AtomicU64::new(0),
            syncs_started: AtomicU64::new(0),
            durable_seq: AtomicU64::new(0),
            syncing: Mutex::new(()),
            table: None,
            broken: AtomicBool::new(false),
        }
    }

    /// The medium of an image with this block table, to which each sync adds a record.
    pub(crate) fn recorded(media: Box<dyn Media>, table: BlockTable) -> Self {
        Self { table: Some(Mutex::new(table)), ..Self::new(media) }
    }

    /// The medium, for reads, and for writes that no flush waits for.
    pub fn media(&self) -> &dyn Media {
        &*self.media
    }

    /// The block table.
    ///
    /// # Panics
    /// Panics if the medium is not that of an image.
    pub(crate) fn table(&self) -> MutexGuard<'_, BlockTable> {
        let table = self.table.as_ref().expect("an image has a block table");
        table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a change to the medium and counts it. The change is done before any sync that covers
    /// it starts.
    pub fn change<T>(&self, change: impl FnOnce(&dyn Media) -> Result<T>) -> Result<T> {
        let done = change(&*self.media);
        self.write_seq.fetch_add(1, Ordering::Release);
        done
    }

    /// Sets the record of a block, after all contents that it demands have been written.
    pub(crate) fn set_record(&self, block: BlockId, record: BlockRecord) {
        self.table().set_record(block, record);
        // The new record counts as a change, so a sync that covers it has recorded it.
        self.write_seq.fetch_add(1, Ordering::AcqRel);
    }

    /// Records that none of a block's contents are needed any more. Returns the number of changes
    /// that must be durable before the block may be erased: 0 if no sync has recorded any contents.
    pub(crate) fn release_block(&self, block: BlockId, record: BlockRecord) -> u64 {
        let mut table = self.table();
        table.set_record(block, record);
        if !table.is_demanded(block) {
            return 0;
        }
        drop(table);
        // The new record counts as a change, so a sync that covers it has recorded it.
        self.write_seq.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Number of syncs started.
    pub fn syncs_started(&self) -> u64 {
        self.syncs_started.load(Ordering::Acquire)
    }

    /// Continues the count of syncs of an earlier mount.
    pub(crate) fn set_syncs(&self, syncs: u64) {
        self.syncs_started.store(syncs, Ordering::Release);
    }

    /// Whether a sync has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Number of changes so far, which identifies the state to be made durable.
    pub(crate) fn write_seq(&self) -> u64 {
        self.write_seq.load(Ordering::Acquire)
    }

    /// Number of changes that are durable.
    pub(crate) fn durable_seq(&self) -> u64 {
        self.durable_seq.load(Ordering::Acquire)
    }

    /// Makes all earlier changes durable; may wait for a sync of another thread.
    pub fn sync(&self) -> Result<()> {
        self.sync_to(self.write_seq())
    }

    /// Makes the first `required_seq` changes durable; may wait for a sync of another thread.
    pub(crate) fn sync_to(&self, required_seq: u64) -> Result<()> {
        let is_durable = || self.durable_seq() >= required_seq;
        if is_durable() && !self.is_broken() {
            return Ok(());
        }
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_broken() && is_durable() {
            return Ok(());
        }
        self.sync_now(|table, media, sync| table.append(media, sync))
    }

    /// Starts a new generation of the block table, and makes it and all earlier changes durable.
    pub(crate) fn rotate(&self, shutdown: u64) -> Result<()> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        self.sync_now(|table, media, sync| table.rotate(media, sync, shutdown))
    }

    /// Performs a sync, with `syncing` held. `record` writes its journal record.
    fn sync_now(
        &self,
        record: impl FnOnce(&mut BlockTable, &dyn Media, u64) -> Result<()>,
    ) -> Result<()> {
        if self.is_broken() {
            return Err(Error::other("an earlier sync of the image failed"));
        }
        // The order matters: a change made after this count is then at worst recorded early.
        let changes = self.write_seq();
        let sync = self.syncs_started() + 1;
        if self.table.is_some() {
            record(&mut self.table(), &*self.media, sync)?;
        }
        self.syncs_started.store(sync, Ordering::Release);
        match self.media.sync() {
            Ok(()) => {
                self.durable_seq.store(changes, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                self.broken.store(true, Ordering::Release);
                Err(error)
            }
        }
    }
}
