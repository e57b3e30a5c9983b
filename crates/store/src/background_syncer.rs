//! Syncs by a thread of its own what erases will soon wait for.

use crate::sync_tracker::Syncer;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

/// The thread, and the way to it; it ends when this is dropped.
pub(crate) struct BackgroundSyncer {
    requests: Option<SyncSender<u64>>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundSyncer {
    /// Where there can be no thread, nothing is done ahead of time.
    pub fn new(syncer: Syncer) -> Self {
        let (wanted, all) = mpsc::sync_channel(1);
        let work = move || {
            for changes in all {
                // If it fails, who needs it is told.
                let _ = syncer.0.sync_to(changes);
            }
        };
        let thread = thread::Builder::new().name("store-sync".into()).spawn(work).ok();
        Self { requests: Some(wanted), thread }
    }

    /// Makes so many changes durable soon.
    pub fn sync_to(&self, changes: u64) {
        if let Some(wanted) = &self.requests {
            // One that waits already will do for now.
            let _ = wanted.try_send(changes);
        }
    }
}

impl Drop for BackgroundSyncer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}
