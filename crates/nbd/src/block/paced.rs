//! In the time that the simulated flash would take.
//!
//! What follows from an operation that is done is issued at that very time, in simulation
//! ([`Flight`]), however late the thread that does it was woken; so lateness does not add up. A client
//! is answered when the time of its answer has come: a little late,
//! by what the system takes to wake a thread; [`Lateness`] says how much.

use super::carried::{self, Carried};
use super::flight::Flight;
use super::status::Status;
use super::{BlockError, Served, info};
use crate::export::{Export, Info, Request};
use gordon_nand::Timing;
use gordon_store::{Completion, Engine, Fault, Syncer};
use gordon_units::{Bytes, Ns};
use hdrhistogram::Histogram;
use rustix::thread::set_current_timer_slack;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// In nanoseconds: what is later counts as that late.
const HOUR: u64 = 3_600_000_000_000;

/// The last stretch before an answer is due is waited for awake.
const AWAKE: Duration = Duration::from_micros(30);

/// How far answers were from the time asked for: measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lateness {
    /// Requests answered.
    pub requests: u64,
    /// Mean simulated response time, in us.
    pub asked_mean_us: f64,
    /// Mean time from request to answer, in us.
    pub got_mean_us: f64,
    /// Late by, in us: mean, half of them at most, 99 of 100 at most, all at most.
    pub late_mean_us: f64,
    /// The median.
    pub late_p50_us: f64,
    /// The 99th percentile.
    pub late_p99_us: f64,
    /// The worst.
    pub late_max_us: f64,
}

/// An answer that waits for its time.
struct Due {
    at: Ns,
    order: u64,
    came: Ns,
    completion: Completion<Carried>,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

struct State {
    flight: Flight<Carried>,
    due: BinaryHeap<Reverse<Due>>,
    order: u64,
    /// When the last request came.
    last: Ns,
    asked: u128,
    got: u128,
    late: Histogram<u64>,
    stopped: bool,
}

/// What both threads know.
struct Shared {
    state: Mutex<State>,
    bell: Condvar,
    start: Instant,
    timing: Timing,
    latency: Ns,
    link: Option<Bytes>,
    info: Info,
    taken: AtomicU64,
    syncer: Syncer,
    /// Answers that have to be durable first.
    to_sync: Mutex<Option<mpsc::Sender<Completion<Carried>>>>,
}

/// A store whose operations take flash time.
pub(super) struct Paced {
    shared: Arc<Shared>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

fn nanoseconds(duration: Duration) -> Ns {
    Ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

impl Paced {
    pub fn start(
        engine: Engine<Carried>,
        (timing, latency, link): (Timing, Ns, Option<Bytes>),
    ) -> Result<Arc<Self>, BlockError> {
        let (sender, receiver) = mpsc::channel::<Completion<Carried>>();
        let shared = Arc::new(Shared {
            info: info(engine.image()),
            syncer: engine.syncer(),
            state: Mutex::new(State {
                flight: Flight::new(engine, &timing),
                due: BinaryHeap::new(),
                order: 0,
                last: Ns::ZERO,
                asked: 0,
                got: 0,
                late: Histogram::new_with_bounds(1, HOUR, 3).expect("three digits"),
                stopped: false,
            }),
            bell: Condvar::new(),
            start: Instant::now(),
            timing,
            latency,
            link,
            taken: AtomicU64::new(0),
            to_sync: Mutex::new(Some(sender)),
        });
        let (clock, syncs) = (Arc::clone(&shared), Arc::clone(&shared));
        let clock =
            thread::Builder::new().name("flash-clock".into()).spawn(move || clock.keep())?;
        let sync = move || {
            while let Ok(first) = receiver.recv() {
                let all: Vec<_> = std::iter::once(first).chain(receiver.try_iter()).collect();
                let synced = syncs.syncer.sync().is_ok();
                for mut completion in all {
                    if !synced {
                        completion.result = Err(Fault::Medium);
                    }
                    carried::answer(completion);
                }
            }
        };
        let sync = thread::Builder::new().name("flash-sync".into()).spawn(sync)?;
        Ok(Arc::new(Self { shared, threads: Mutex::new(vec![clock, sync]) }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Ns {
        nanoseconds(self.start.elapsed())
    }

    /// Keeps the clock: simulates, and answers what is due.
    fn keep(&self) {
        // Waking is late by the slack that the system may take, 50 us by default. Best effort.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut state = self.lock();
        loop {
            let now = self.now();
            state.advance(now);
            let mut ready = Vec::new();
            while let Some(first) = state.due.peek_mut()
                && first.0.at <= now
            {
                ready.push(PeekMut::pop(first).0);
            }
            if !ready.is_empty() {
                ready.iter().for_each(|due| state.note(due, now));
                drop(state);
                ready.into_iter().for_each(|due| self.tell(due.completion));
                state = self.lock();
                continue;
            }
            if state.stopped {
                return;
            }
            let due = state.due.peek().map(|due| due.0.at);
            let next = due.into_iter().chain(state.flight.next_at()).min();
            let Some(next) = next else {
                state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = Duration::from_nanos(next.0.saturating_sub(self.now().0));
            if left > AWAKE {
                let wait = self.bell.wait_timeout(state, left - AWAKE);
                state = wait.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(state);
                thread::yield_now();
                state = self.lock();
            }
        }
    }

    fn tell(&self, completion: Completion<Carried>) {
        if completion.durable && completion.result.is_ok() {
            let sender = self.to_sync.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sender) = &*sender {
                // Where that thread is gone, the request is dropped, which answers an error.
                let _ = sender.send(completion);
            }
        } else {
            carried::answer(completion);
        }
    }
}

impl State {
    /// Simulates up to `now`.
    fn advance(&mut self, now: Ns) {
        while self.flight.next_at().is_some_and(|at| at <= now) {
            let at = self.flight.step();
            self.collect(at);
        }
    }

    /// Sends what the store has issued on its way, at this time.
    fn issue(&mut self, now: Ns) {
        self.flight.issue(now);
        self.collect(now);
    }

    /// Puts what has ended among what is due.
    fn collect(&mut self, now: Ns) {
        for completion in self.flight.ended.drain(..) {
            let Carried { came, way, .. } = completion.payload;
            let at = now + way;
            self.order += 1;
            self.due.push(Reverse(Due { at, order: self.order, came, completion }));
        }
    }

    fn note(&mut self, due: &Due, now: Ns) {
        self.asked += u128::from(due.at.0.saturating_sub(due.came.0));
        self.got += u128::from(now.0.saturating_sub(due.came.0));
        self.late.saturating_record(now.0.saturating_sub(due.at.0));
    }

    // Sums of nanoseconds, as means in us.
    #[allow(clippy::cast_precision_loss)]
    fn lateness(&self) -> Lateness {
        let requests = self.late.len();
        let mean = |sum: u128| if requests == 0 { 0.0 } else { sum as f64 / requests as f64 / 1e3 };
        let at = |quantile| self.late.value_at_quantile(quantile) as f64 / 1e3;
        Lateness {
            requests,
            asked_mean_us: mean(self.asked),
            got_mean_us: mean(self.got),
            late_mean_us: self.late.mean() / 1e3,
            late_p50_us: at(0.5),
            late_p99_us: at(0.99),
            late_max_us: self.late.max() as f64 / 1e3,
        }
    }
}

impl Export for Paced {
    fn info(&self) -> Info {
        self.shared.info
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        let shared = &*self.shared;
        shared.taken.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let mut state = shared.lock();
        let now = shared.now();
        state.advance(now);
        let after = now.0 - std::mem::replace(&mut state.last, now).0;
        state.flight.engine.arrived(after, batch.len());
        for request in batch.drain(..) {
            // Not modelled: requests that wait for each other on the link.
            let bytes = Bytes(request.data().len() as u64);
            let crossing = shared.link.map_or(Ns::ZERO, |rate| bytes.time_at(rate));
            let engine = &state.flight.engine;
            let taken = carried::take(request, |see| see(engine));
            if let Some((command, carried)) = taken {
                let way = shared.latency + crossing;
                state.flight.engine.start(command, Carried { came: now, way, ..carried });
            }
        }
        state.issue(now);
        drop(state);
        shared.bell.notify_one();
    }
}

impl Served for Paced {
    fn status(&self) -> Status {
        let state = self.shared.lock();
        let since = self.shared.start.elapsed();
        Status::of(&state.flight.engine, Some(&self.shared.timing), since, Some(state.lateness()))
    }

    fn idle(&self) -> bool {
        let mut state = self.shared.lock();
        let now = self.shared.now();
        state.advance(now);
        // What it begins takes its time.
        state.flight.engine.idle();
        state.issue(now);
        drop(state);
        self.shared.bell.notify_one();
        false
    }

    fn taken(&self) -> u64 {
        self.shared.taken.load(Ordering::Relaxed)
    }

    fn close(&self) -> Result<(), Fault> {
        self.shared.lock().stopped = true;
        self.shared.bell.notify_all();
        self.shared.to_sync.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
        let mut state = self.shared.lock();
        // What is in flight is done: nobody waits for it any more.
        state.flight.land();
        state.flight.engine.close()
    }
}
