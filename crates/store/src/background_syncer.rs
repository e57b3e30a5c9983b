//! A thread that syncs ahead of time the changes for which erases will wait.

use crate::sync_tracker::Syncer;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

/// The thread and its request channel. Dropping it ends the thread.
pub(crate) struct BackgroundSyncer {
    requests: Option<SyncSender<u64>>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundSyncer {
    /// If no thread can be started, no sync happens ahead of time.
    pub fn new(syncer: Syncer) -> Self {
        let (wanted, all) = mpsc::sync_channel(1);
        let work = move || {
            for changes in all {
                // If it fails, the request that needs the sync reports the error.
                let _ = syncer.0.sync_to(changes);
            }
        };
        let thread = thread::Builder::new().name("store-sync".into()).spawn(work).ok();
        Self { requests: Some(wanted), thread }
    }

    /// Requests that the first `changes` changes become durable soon.
    pub fn sync_to(&self, changes: u64) {
        if let Some(wanted) = &self.requests {
            // If a request is already queued, it suffices for now.
            let _ = wanted.try_send(changes);
        }
    }
}

impl Drop for BackgroundSyncer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // The panic message of the thread has already been printed.
            let _ = thread.join();
        }
    }
}
