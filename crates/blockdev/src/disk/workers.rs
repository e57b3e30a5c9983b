//! A pool of threads for jobs that may wait for a file.

use gordon_nbd::threads::spawn_small;
use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Number of threads: about the number of requests that a few disks serve concurrently.
const THREADS: usize = 16;

/// A pool of threads that carry out jobs in no particular order.
pub(super) struct Workers<J> {
    jobs: Mutex<Option<Sender<J>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<J: Send + 'static> Workers<J> {
    pub fn start(name: &str, work: impl Fn(J) + Send + Sync + 'static) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<J>();
        let (receiver, work) = (Arc::new(Mutex::new(receiver)), Arc::new(work));
        let one = || {
            let (receiver, work) = (Arc::clone(&receiver), Arc::clone(&work));
            let next = move || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
            let carry_out = move || std::iter::from_fn(next).for_each(|job| work(job));
            spawn_small(name, 256 << 10, carry_out)
        };
        let mut threads = vec![one()?];
        // Fewer threads do the same work, only later.
        threads.extend((1..THREADS).map_while(|_| one().ok()));
        Ok(Self { jobs: Mutex::new(Some(sender)), threads: Mutex::new(threads) })
    }

    /// Queues a job. After a stop it is dropped.
    pub fn give(&self, job: J) {
        if let Some(jobs) = &*self.jobs.lock().unwrap_or_else(PoisonError::into_inner) {
            // If all threads have panicked, the job is dropped too.
            let _ = jobs.send(job);
        }
    }

    /// Waits until all queued jobs are done, and ends the threads.
    pub fn stop(&self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic of a thread has already been printed.
            let _ = thread.join();
        }
    }
}
