//! The medium with the count of what was written to it, so that a flush syncs once for all who wait,
//! and not at all where nothing was written.

use crate::error::Fault;
use crate::media::Media;
use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes durable what an [`Engine`](crate::Engine) has written: for those who drive one themselves,
/// before they tell of a completion that is `durable`. To be called without holding the engine.
#[derive(Clone)]
pub struct Syncer(pub(crate) Arc<Synced>);

impl Syncer {
    /// Returns when all is durable that was written before; may wait for the sync of another.
    pub fn sync(&self) -> std::result::Result<(), Fault> {
        self.0.sync().map_err(|_| Fault::Medium)
    }
}

/// A medium whose syncs are shared.
pub struct Synced {
    media: Box<dyn Media>,
    /// Writes and erases that have been done.
    changes: AtomicU64,
    /// Syncs started. They come one after the other, so a page stamped with this number n is durable
    /// where any page carries n + 2.
    syncs: AtomicU64,
    /// Changes that the last sync that was started makes durable: of later ones nobody knows more than
    /// that they were made.
    claimed: AtomicU64,
    /// Changes that are durable.
    durable: AtomicU64,
    /// Held during a sync.
    syncing: Mutex<()>,
    /// A sync has failed: what the system had not written may be lost, and it will not say so again.
    broken: AtomicBool,
}

impl Synced {
    /// Nothing has been written to it yet.
    pub fn new(media: Box<dyn Media>) -> Self {
        Self {
            media,
            changes: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            claimed: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            syncing: Mutex::new(()),
            broken: AtomicBool::new(false),
        }
    }

    /// To read.
    pub fn media(&self) -> &dyn Media {
        &*self.media
    }

    /// A change; it is to be done before a sync that covers it starts.
    pub fn change<T>(&self, change: impl FnOnce(&dyn Media) -> Result<T>) -> Result<T> {
        let done = change(&*self.media);
        self.changes.fetch_add(1, Ordering::Release);
        done
    }

    /// Syncs started.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Acquire)
    }

    /// Goes on from the number of an earlier run.
    pub(crate) fn set_syncs(&self, syncs: u64) {
        self.syncs.store(syncs, Ordering::Release);
    }

    /// Whether a sync has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Changes that have been done: what is to be durable is named by that number.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Changes that some sync makes durable, or has.
    pub(crate) fn claimed(&self) -> u64 {
        self.claimed.load(Ordering::SeqCst)
    }

    /// Changes that are durable.
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Makes durable what was changed before; may wait for the sync of another.
    pub fn sync(&self) -> Result<()> {
        self.sync_to(self.changes())
    }

    /// Makes so many changes durable; may wait for the sync of another.
    pub(crate) fn sync_to(&self, wanted: u64) -> Result<()> {
        let is_durable = || self.durable() >= wanted;
        if is_durable() && !self.is_broken() {
            return Ok(());
        }
        let syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_broken() {
            return Err(Error::other("an earlier sync of the image failed"));
        }
        if is_durable() {
            return Ok(());
        }
        let upto = self.changes();
        self.claimed.store(upto, Ordering::SeqCst);
        self.syncs.fetch_add(1, Ordering::AcqRel);
        match self.media.sync() {
            Ok(()) => self.durable.store(upto, Ordering::Release),
            Err(error) => {
                self.broken.store(true, Ordering::Release);
                return Err(error);
            }
        }
        drop(syncing);
        Ok(())
    }
}
