//! A simulation that follows the clock of the host: requests enter it when they arrive, and are
//! answered when their simulated completion time has come.
//!
//! An event, and everything that follows from it, is simulated at its own time ([`RealTimeSim`]),
//! however late the thread was woken. Lateness therefore does not accumulate. Replies are late only
//! by the time that the system takes to wake a thread, which [`Lateness`] measures.

use crate::lateness::{Lateness, LatenessRecorder};
use gordon_nbd::threads::spawn;
use gordon_units::Ns;
use rustix::thread::set_current_timer_slack;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The thread sleeps until this time before the next event, and busy-waits for the rest, because a
/// sleep may end too late.
const BUSY_WAIT: Duration = Duration::from_micros(30);

/// A simulation that advances only when it is called.
pub(super) trait Simulated: Send + 'static {
    /// The answer to a request.
    type Answer: Send + 'static;

    /// Time of the next event, if any.
    fn next_at(&self) -> Option<Ns>;

    /// Simulates the next event.
    fn step(&mut self);

    /// Passes on the answers to requests that completed since the last call. They may be due later.
    fn ended(&mut self, each: impl FnMut(DueAnswer<Self::Answer>));
}

/// An answer and the time at which it is due.
pub(super) struct DueAnswer<A> {
    pub answer: A,
    /// When the request arrived.
    pub arrived_at: Ns,
    /// When the answer is due.
    pub at: Ns,
}

/// An answer that is not due yet. Answers due at the same time keep the order of their completion.
struct WaitingAnswer<A> {
    due: DueAnswer<A>,
    order: u64,
}

impl<A> WaitingAnswer<A> {
    fn key(&self) -> (Ns, u64) {
        (self.due.at, self.order)
    }
}

impl<A> PartialEq for WaitingAnswer<A> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<A> Eq for WaitingAnswer<A> {}
impl<A> PartialOrd for WaitingAnswer<A> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<A> Ord for WaitingAnswer<A> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// A simulation and the answers that are not due yet. The caller passes the current time, so that
/// tests can choose it.
pub(super) struct RealTimeSim<S: Simulated> {
    simulated: S,
    waiting: BinaryHeap<Reverse<WaitingAnswer<S::Answer>>>,
    order: u64,
    lateness: LatenessRecorder,
}

impl<S: Simulated> RealTimeSim<S> {
    pub fn new(simulated: S) -> Self {
        Self { simulated, waiting: BinaryHeap::new(), order: 0, lateness: LatenessRecorder::new() }
    }

    /// Simulates up to `now`, and then calls `act`.
    pub fn with<T>(&mut self, now: Ns, act: impl FnOnce(&mut S, Ns) -> T) -> T {
        self.advance(now);
        let result = act(&mut self.simulated, now);
        self.collect();
        result
    }

    /// Simulates up to `now`. Returns the answers that are due by then.
    pub fn ready(&mut self, now: Ns) -> Vec<DueAnswer<S::Answer>> {
        self.advance(now);
        let mut ready = Vec::new();
        while let Some(first) = self.waiting.peek_mut()
            && first.0.due.at <= now
        {
            let due = PeekMut::pop(first).0.due;
            self.lateness.record(due.arrived_at, due.at, now);
            ready.push(due);
        }
        ready
    }

    /// Time of the next event or due answer.
    pub fn next(&self) -> Option<Ns> {
        let due = self.waiting.peek().map(|first| first.0.due.at);
        due.into_iter().chain(self.simulated.next_at()).min()
    }

    fn advance(&mut self, now: Ns) {
        while self.simulated.next_at().is_some_and(|at| at <= now) {
            self.simulated.step();
            self.collect();
        }
    }

    fn collect(&mut self) {
        let (waiting, order) = (&mut self.waiting, &mut self.order);
        self.simulated.ended(|due| {
            *order += 1;
            waiting.push(Reverse(WaitingAnswer { due, order: *order }));
        });
    }
}

/// The state that the thread of the clock shares with others.
struct ClockState<S: Simulated> {
    /// The simulation, and whether it is stopped.
    sim: Mutex<(RealTimeSim<S>, bool)>,
    wakeup: Condvar,
    start: Instant,
}

/// A simulation in real time, from its start until it is stopped.
pub(super) struct SimClock<S: Simulated> {
    shared: Arc<ClockState<S>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<S: Simulated> SimClock<S> {
    /// Starts the thread of the clock. It calls `answer`, which must not block, for each answer
    /// that is due.
    pub fn start(
        simulated: S,
        answer: impl Fn(S::Answer) + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let sim = Mutex::new((RealTimeSim::new(simulated), false));
        let shared = Arc::new(ClockState { sim, wakeup: Condvar::new(), start: Instant::now() });
        let inside = Arc::clone(&shared);
        let keep = move || inside.run(answer);
        let thread = spawn("block-clock", keep)?;
        Ok(Arc::new(Self { shared, thread: Mutex::new(Some(thread)) }))
    }

    /// Calls `act` with the simulation at the current time.
    pub fn with<T>(&self, act: impl FnOnce(&mut S, Ns) -> T) -> T {
        let mut sim = self.shared.lock();
        let now = self.shared.now();
        let result = sim.0.with(now, act);
        drop(sim);
        self.shared.wakeup.notify_one();
        result
    }

    /// Calls `look` with the simulation, advanced to the current time, and the lateness so far.
    pub fn observe<T>(&self, look: impl FnOnce(&S, Ns, Lateness) -> T) -> T {
        let mut sim = self.shared.lock();
        let now = self.shared.now();
        sim.0.advance(now);
        look(&sim.0.simulated, now, sim.0.lateness.lateness())
    }

    /// Stops the simulation. Answers that are not due yet are not given.
    pub fn stop(&self) {
        self.shared.lock().1 = true;
        self.shared.wakeup.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }

    /// Calls `act` with the simulation, after a stop.
    pub fn after<T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        act(&mut self.shared.lock().0.simulated)
    }
}

impl<S: Simulated> Drop for SimClock<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<S: Simulated> ClockState<S> {
    fn lock(&self) -> MutexGuard<'_, (RealTimeSim<S>, bool)> {
        self.sim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Ns {
        Ns(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The loop of the clock's thread: simulates, and gives the answers that are due.
    fn run(&self, answer: impl Fn(S::Answer)) {
        // The kernel may delay a wake-up by the timer slack, 50 us by default. If it cannot be
        // reduced, replies are that much later.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut sim = self.lock();
        loop {
            let ready = sim.0.ready(self.now());
            if !ready.is_empty() {
                drop(sim);
                ready.into_iter().for_each(|due| answer(due.answer));
                sim = self.lock();
                continue;
            }
            if sim.1 {
                return;
            }
            let Some(next) = sim.0.next() else {
                sim = self.wakeup.wait(sim).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = Duration::from_nanos(next.0.saturating_sub(self.now().0));
            if left > BUSY_WAIT {
                let wait = self.wakeup.wait_timeout(sim, left - BUSY_WAIT);
                sim = wait.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(sim);
                thread::yield_now();
                sim = self.lock();
            }
        }
    }
}
