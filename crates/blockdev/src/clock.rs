//! Real time for something simulated: requests go into it at the time at which they come, and are
//! answered when the time of their answer has come.
//!
//! What follows from an event is simulated at that very time ([`RealTimeSim`]), however late the
//! thread that does it was woken; so lateness does not add up. A client is answered a little late,
//! by what the system takes to wake a thread; [`Lateness`] says how much.

use crate::lateness::{Lateness, LatenessRecorder};
use crate::threads::spawn;
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

/// The last stretch before an answer is due is waited for awake.
const AWAKE: Duration = Duration::from_micros(30);

/// What is simulated. It moves only when asked.
pub(super) trait Simulated: Send + 'static {
    /// A request on its way back.
    type Answer: Send + 'static;

    /// When the next event happens.
    fn next_at(&self) -> Option<Ns>;

    /// Simulates it.
    fn step(&mut self);

    /// Hands over the requests that have ended since it was asked last.
    fn ended(&mut self, each: impl FnMut(DueAnswer<Self::Answer>));
}

/// An answer and its time.
pub(super) struct DueAnswer<A> {
    pub answer: A,
    /// When the request came.
    pub arrived_at: Ns,
    /// When it is to be answered.
    pub at: Ns,
}

/// One that waits for it: of several at a time, the first comes first.
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

/// What is simulated, and the answers that wait for their time, up to a time that others tell.
pub(super) struct RealTimeSim<S: Simulated> {
    simulated: S,
    waiting: BinaryHeap<Reverse<WaitingAnswer<S::Answer>>>,
    order: u64,
    record: LatenessRecorder,
}

impl<S: Simulated> RealTimeSim<S> {
    pub fn new(simulated: S) -> Self {
        Self { simulated, waiting: BinaryHeap::new(), order: 0, record: LatenessRecorder::new() }
    }

    /// Simulates up to `now`, and then does something to it.
    pub fn with<T>(&mut self, now: Ns, act: impl FnOnce(&mut S, Ns) -> T) -> T {
        self.advance(now);
        let result = act(&mut self.simulated, now);
        self.collect();
        result
    }

    /// Simulates up to `now`; the answers that are due by then.
    pub fn ready(&mut self, now: Ns) -> Vec<DueAnswer<S::Answer>> {
        self.advance(now);
        let mut ready = Vec::new();
        while let Some(first) = self.waiting.peek_mut()
            && first.0.due.at <= now
        {
            let due = PeekMut::pop(first).0.due;
            self.record.note(due.arrived_at, due.at, now);
            ready.push(due);
        }
        ready
    }

    /// When there is something to do.
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

/// What the thread and all others know.
struct ClockState<S: Simulated> {
    /// And whether it is over.
    sim: Mutex<(RealTimeSim<S>, bool)>,
    wakeup: Condvar,
    start: Instant,
}

/// A simulation in real time, from when it is started until it is stopped.
pub(super) struct SimClock<S: Simulated> {
    shared: Arc<ClockState<S>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<S: Simulated> SimClock<S> {
    /// `answer` is called from a thread of the clock's, which nobody may hold up.
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

    /// Does something to what is simulated, now.
    pub fn with<T>(&self, act: impl FnOnce(&mut S, Ns) -> T) -> T {
        let mut sim = self.shared.lock();
        let now = self.shared.now();
        let result = sim.0.with(now, act);
        drop(sim);
        self.shared.wakeup.notify_one();
        result
    }

    /// Looks at it as it is now.
    pub fn observe<T>(&self, look: impl FnOnce(&S, Ns, Lateness) -> T) -> T {
        let mut sim = self.shared.lock();
        let now = self.shared.now();
        sim.0.advance(now);
        look(&sim.0.simulated, now, sim.0.record.lateness())
    }

    /// Answers nothing that is not due, and simulates no more.
    pub fn stop(&self) {
        self.shared.lock().1 = true;
        self.shared.wakeup.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }

    /// What is simulated, when it is stopped.
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

    /// Keeps the clock: simulates, and answers what is due.
    fn run(&self, answer: impl Fn(S::Answer)) {
        // Waking is late by the slack that the system may take, 50 us by default. Best effort.
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
            if left > AWAKE {
                let wait = self.wakeup.wait_timeout(sim, left - AWAKE);
                sim = wait.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(sim);
                thread::yield_now();
                sim = self.lock();
            }
        }
    }
}
