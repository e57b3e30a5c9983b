//! In the time that the simulated flash would take.
//!
//! The store moves the bytes of an operation when the layer issues it; then the operation goes to the
//! simulated lanes, and the layer hears that it is done when their clock says so. What follows from that
//! is issued at that very time, in simulation, however late the thread that does it was woken; so
//! lateness does not add up. A client is answered when the time of its answer has come: a little late,
//! by what the system takes to wake a thread; [`Lateness`] says how much.

use super::carried::{self, Carried};
use super::status::Status;
use super::{BlockError, Served, info};
use crate::export::{Export, Info, Request};
use gordon_device::ssd::{Kind, Lanes, Work};
use gordon_nand::{FlashOp, Layout, Timing};
use gordon_store::{Completion, Engine, Fault, Moved, Resolved, Syncer};
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
    engine: Engine<Carried>,
    lanes: Lanes,
    /// By tag: operations on the lanes.
    flying: Vec<Option<Moved>>,
    free: Vec<u32>,
    due: BinaryHeap<Reverse<Due>>,
    order: u64,
    ended: Vec<Completion<Carried>>,
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
    layout: Layout,
    slots: u32,
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
        resolved: &Resolved,
        (timing, latency, link): (Timing, Ns, Option<Bytes>),
    ) -> Result<Arc<Self>, BlockError> {
        let (layout, slots) = (resolved.layout, resolved.config.slots);
        let (sender, receiver) = mpsc::channel::<Completion<Carried>>();
        let shared = Arc::new(Shared {
            info: info(engine.image()),
            syncer: engine.syncer(),
            state: Mutex::new(State {
                lanes: Lanes::new(layout, &timing, slots),
                engine,
                flying: Vec::new(),
                free: Vec::new(),
                due: BinaryHeap::new(),
                order: 0,
                ended: Vec::new(),
                last: Ns::ZERO,
                asked: 0,
                got: 0,
                late: Histogram::new_with_bounds(1, HOUR, 3).expect("three digits"),
                stopped: false,
            }),
            bell: Condvar::new(),
            start: Instant::now(),
            layout,
            slots,
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

    /// Simulates up to `now`.
    fn advance(&self, state: &mut State, now: Ns) {
        while state.lanes.next_at().is_some_and(|at| at <= now) {
            let (at, done) = state.lanes.step();
            let Some(done) = done else { continue };
            let moved = state.flying[done.work.tag as usize].take().expect("it was in flight");
            state.free.push(done.work.tag);
            state.engine.done(moved);
            self.issue(state, at);
        }
    }

    /// Puts what the store has issued on the lanes, and what has ended among what is due.
    fn issue(&self, state: &mut State, now: Ns) {
        loop {
            self.launch(state, now);
            let flies = state.flying.len() > state.free.len();
            if flies && state.engine.failure().is_none() || !state.engine.unstick() {
                break;
            }
        }
        let mut ended = std::mem::take(&mut state.ended);
        state.engine.finished(&mut ended);
        for completion in ended.drain(..) {
            let Carried { came, way, .. } = completion.payload;
            let at = now + way;
            state.order += 1;
            state.due.push(Reverse(Due { at, order: state.order, came, completion }));
        }
        state.ended = ended;
    }

    /// Puts what the store has issued on the lanes.
    fn launch(&self, state: &mut State, now: Ns) {
        while let Some(moved) = state.engine.next_op() {
            let tag = state.free.pop().unwrap_or_else(|| {
                state.flying.push(None);
                u32::try_from(state.flying.len() - 1).expect("few operations in flight")
            });
            state.flying[tag as usize] = Some(moved);
            let background = moved.copies;
            let ((block, page), share, kind) = match moved.op {
                FlashOp::Read { ppn, slots, .. } => (self.layout.place_of(ppn), slots, Kind::Read),
                FlashOp::Program { ppn, .. } => {
                    (self.layout.place_of(ppn), self.slots, Kind::Program)
                }
                FlashOp::Erase { block } => ((block, 0), 0, Kind::Erase),
            };
            state.lanes.issue(now, Work { block, page, share, tag, kind, background });
        }
    }

    /// Keeps the clock: simulates, and answers what is due.
    fn keep(&self) {
        // Waking is late by the slack that the system may take, 50 us by default. Best effort.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut state = self.lock();
        loop {
            let now = self.now();
            self.advance(&mut state, now);
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
            let next = due.into_iter().chain(state.lanes.next_at()).min();
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
        shared.advance(&mut state, now);
        let after = now.0 - std::mem::replace(&mut state.last, now).0;
        state.engine.arrived(after, batch.len());
        for request in batch.drain(..) {
            // Not modelled: requests that wait for each other on the link.
            let bytes = Bytes(request.data().len() as u64);
            let crossing = shared.link.map_or(Ns::ZERO, |rate| bytes.time_at(rate));
            let engine = &state.engine;
            let taken = carried::take(request, |see| see(engine));
            if let Some((command, carried)) = taken {
                let way = shared.latency + crossing;
                state.engine.start(command, Carried { came: now, way, ..carried });
            }
        }
        shared.issue(&mut state, now);
        drop(state);
        shared.bell.notify_one();
    }
}

impl Served for Paced {
    fn status(&self) -> Status {
        let state = self.shared.lock();
        let since = self.shared.start.elapsed();
        Status::of(&state.engine, Some(&self.shared.timing), since, Some(state.lateness()))
    }

    fn idle(&self) -> bool {
        let mut state = self.shared.lock();
        let now = self.shared.now();
        self.shared.advance(&mut state, now);
        // What it begins takes its time.
        state.engine.idle();
        self.shared.issue(&mut state, now);
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
        let flying: Vec<_> = state.flying.iter_mut().filter_map(Option::take).collect();
        flying.into_iter().for_each(|moved| state.engine.done(moved));
        state.engine.run();
        state.engine.close()
    }
}
