//! A thread pool with one thread per core, or as many as the system grants.
//!
//! Rayon panics if the system refuses a thread of its global pool. The pool here then uses fewer
//! threads, down to the calling thread alone: that is slower, but results are the same for any
//! number of threads.

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::Duration;

/// Runs `work`, whose parallel iterators use one thread per core, or as many as the system grants.
/// Within a thread of another pool, they use that pool.
pub fn on_all_cores<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);
    if rayon::current_thread_index().is_some() {
        return work();
    }
    let mut known = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if known.is_none() {
        *known = pool(spawn).map(Arc::new);
    }
    let pool = known.clone();
    drop(known);
    match pool {
        Some(pool) => pool.install(work),
        None => on_this_thread(work),
    }
}

fn spawn(run: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    thread::Builder::new().spawn(run).map(drop)
}

/// A pool with as many threads as `spawn` grants, at most one per core; `None` if it grants none.
fn pool(spawn: impl Fn(Box<dyn FnOnce() + Send>) -> io::Result<()>) -> Option<ThreadPool> {
    let cores = available_parallelism().map_or(1, usize::from);
    // 0 lets Rayon choose: the environment may give another number (RAYON_NUM_THREADS).
    let mut wanted = 0;
    loop {
        let running = Arc::new(AtomicUsize::new(0));
        let start = |thread: ThreadBuilder| {
            running.fetch_add(1, Ordering::Relaxed);
            let ends = Arc::clone(&running);
            let run = move || {
                thread.run();
                ends.fetch_sub(1, Ordering::Relaxed);
            };
            spawn(Box::new(run)).inspect_err(|_| {
                running.fetch_sub(1, Ordering::Relaxed);
            })
        };
        let made = ThreadPoolBuilder::new().num_threads(wanted).spawn_handler(start).build();
        if let Ok(pool) = made {
            return Some(pool);
        }
        // The threads that did start now end; wait for them, since they count until then.
        while running.load(Ordering::Relaxed) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        wanted = if wanted == 0 { cores / 2 } else { wanted / 2 };
        if wanted == 0 {
            return None;
        }
    }
}

/// Runs `work` in a pool that consists of the calling thread.
fn on_this_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // A thread cannot leave its pool, so the pool is leaked: some hundred bytes.
        Ok(pool) => Box::leak(Box::new(pool)).install(work),
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    fn sum() -> u64 {
        (0..1000u32).into_par_iter().with_max_len(1).map(|n| u64::from(n).pow(2)).sum()
    }

    const SUM: u64 = 332_833_500;

    #[test]
    fn a_pool_takes_the_threads_that_it_gets() {
        let cores = available_parallelism().map_or(1, usize::from);
        for granted in 1..=cores {
            let left = AtomicUsize::new(granted);
            // A thread that ended can be granted again, as by the system.
            let spawn = |run: Box<dyn FnOnce() + Send>| {
                let take = |left: usize| left.checked_sub(1);
                match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
                    Ok(_) => thread::Builder::new().spawn(run).map(drop),
                    Err(_) => {
                        left.store(granted, Ordering::Relaxed);
                        Err(io::ErrorKind::WouldBlock.into())
                    }
                }
            };
            let pool = pool(spawn).expect("a thread");
            assert!((1..=granted).contains(&pool.current_num_threads()));
            assert_eq!(pool.install(sum), SUM);
        }
    }

    #[test]
    fn without_another_thread_the_calling_one_does_the_work() {
        assert!(pool(|_| Err(io::ErrorKind::WouldBlock.into())).is_none());
        let here = thread::current().id();
        // The test uses a thread of its own, because it stays in its pool.
        thread::spawn(move || {
            let this = thread::current().id();
            assert_ne!(this, here);
            for _ in 0..2 {
                let everywhere = || {
                    let ids = (0..100).into_par_iter().map(|_| thread::current().id());
                    ids.collect::<Vec<_>>()
                };
                assert!(on_this_thread(everywhere).iter().all(|id| *id == this));
                let joined = on_this_thread(|| rayon::join(sum, sum));
                assert_eq!(joined, (SUM, SUM));
            }
        })
        .join()
        .expect("it works");
    }

    #[test]
    fn all_cores_are_used_by_any_caller() {
        assert_eq!((on_all_cores(sum), on_all_cores(sum)), (SUM, SUM));
        let nested = on_all_cores(|| on_all_cores(sum));
        assert_eq!(nested, SUM);
    }
}
