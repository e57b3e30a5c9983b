//! A thread for background work while clients are idle.

use crate::block_device::BlockDevice;
use gordon_nbd::threads::spawn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time without requests after which background work starts.
const IDLE_AFTER: Duration = Duration::from_millis(20);

/// The thread for background work of a device. Dropping it ends the thread.
pub struct IdleWorker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl IdleWorker {
    pub(super) fn start(served: Arc<dyn BlockDevice>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut before = served.taken();
            while !stopped.load(Ordering::Relaxed) {
                thread::park_timeout(IDLE_AFTER);
                let now = served.taken();
                while now == before && !stopped.load(Ordering::Relaxed) && served.idle() {
                    before = served.taken();
                }
                before = served.taken();
            }
        };
        let thread = spawn("block-idle", work)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for IdleWorker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}
