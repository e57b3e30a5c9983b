//! Work in the background: when clients have asked nothing for a while.

use crate::block_device::BlockDevice;
use crate::threads::spawn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long nothing is asked until the layer works by itself.
const IDLE_AFTER: Duration = Duration::from_millis(20);

/// Lets a device work in the background until it is dropped.
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
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}
