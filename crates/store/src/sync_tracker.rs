//! The medium with the count of what was written to it, so that one sync serves every flush that
//! waits, and no sync is made if nothing was written; and with the block table, whose changes each
//! sync records.

use crate::block_table::BlockTable;
use crate::error::IoError;
use crate::format::table::BlockRecord;
use crate::media::Media;
use gordon_units::BlockId;
use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Makes durable what an [`Engine`](crate::Engine) has written: for drivers of an engine, which
/// call it before they report a completion that is `durable`. To be called without holding the
/// engine.
#[derive(Clone)]
pub struct Syncer(pub(crate) Arc<SyncTracker>);

impl Syncer {
    /// Returns when all is durable that was written before; may wait for the sync of another.
    pub fn sync(&self) -> std::result::Result<(), IoError> {
        self.0.sync().map_err(|error| IoError::of(&error))
    }
}

/// A medium whose syncs are shared and recorded.
pub struct SyncTracker {
    media: Box<dyn Media>,
    /// Writes and erases that have been done.
    write_seq: AtomicU64,
    /// Syncs started. A page is stamped with this number after the record of that sync was written.
    syncs_started: AtomicU64,
    /// Changes that are durable.
    durable_seq: AtomicU64,
    /// Held during a sync.
    syncing: Mutex<()>,
    /// None if the medium is no image.
    table: Option<Mutex<BlockTable>>,
    /// A sync has failed: the system may have dropped what it had not written, and reports that
    /// only once.
    broken: AtomicBool,
}

impl SyncTracker {
    /// A medium to which nothing has been written yet, whose syncs are shared.
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

    /// The medium, to read, and to write what no flush waits for.
    pub fn media(&self) -> &dyn Media {
        &*self.media
    }

    /// The block table.
    ///
    /// # Panics
    /// If the medium is no image.
    pub(crate) fn table(&self) -> MutexGuard<'_, BlockTable> {
        let table = self.table.as_ref().expect("an image has a block table");
        table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A change; it is done before a sync that covers it starts.
    pub fn change<T>(&self, change: impl FnOnce(&dyn Media) -> Result<T>) -> Result<T> {
        let done = change(&*self.media);
        self.write_seq.fetch_add(1, Ordering::Release);
        done
    }

    /// Notes a block's new record, after all that it demands has been written.
    pub(crate) fn set_record(&self, block: BlockId, record: BlockRecord) {
        self.table().set_record(block, record);
        // The note counts as a change: a sync that covers it has recorded it.
        self.write_seq.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that nothing in a block is needed any more. Returns the number of changes that have to
    /// be durable before the block may be erased: 0 if no sync has recorded that it holds anything.
    pub(crate) fn release_block(&self, block: BlockId, record: BlockRecord) -> u64 {
        let mut table = self.table();
        table.set_record(block, record);
        if !table.is_demanded(block) {
            return 0;
        }
        drop(table);
        // The note counts as a change: a sync that covers it has recorded it.
        self.write_seq.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Syncs started.
    pub fn syncs_started(&self) -> u64 {
        self.syncs_started.load(Ordering::Acquire)
    }

    /// Continues the count of an earlier run.
    pub(crate) fn set_syncs(&self, syncs: u64) {
        self.syncs_started.store(syncs, Ordering::Release);
    }

    /// Whether a sync has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Changes that have been done. The number identifies what has to be durable.
    pub(crate) fn write_seq(&self) -> u64 {
        self.write_seq.load(Ordering::Acquire)
    }

    /// Changes that are durable.
    pub(crate) fn durable_seq(&self) -> u64 {
        self.durable_seq.load(Ordering::Acquire)
    }

    /// Makes durable what was changed before; may wait for the sync of another.
    pub fn sync(&self) -> Result<()> {
        self.sync_to(self.write_seq())
    }

    /// Makes the first `required_seq` changes durable; may wait for the sync of another.
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

    /// Begins a new generation of the block table, and makes it and all before it durable.
    pub(crate) fn rotate(&self, shutdown: u64) -> Result<()> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        self.sync_now(|table, media, sync| table.rotate(media, sync, shutdown))
    }

    /// One sync, with `syncing` held. `record` writes its record.
    fn sync_now(
        &self,
        record: impl FnOnce(&mut BlockTable, &dyn Media, u64) -> Result<()>,
    ) -> Result<()> {
        if self.is_broken() {
            return Err(Error::other("an earlier sync of the image failed"));
        }
        // In this order: what is noted later than the changes are counted is only recorded early.
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
