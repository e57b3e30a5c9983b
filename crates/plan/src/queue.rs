//! The simulation: jobs, slices, and the events that end their phases.
//!
//! Each job waits for one thing at a time, so that it has one slot of the event queue: its arrival,
//! or the end of its phase. Links and processors of slices are granted after all events of an
//! instant, in this order: results that wait for links, jobs that wait for processors, then jobs
//! that have not started, first come, first served. A job that does not find enough slices holds up
//! those behind it.

use crate::config::Phases;
use gordon_sim::SlotScheduler;
use gordon_units::Ns;
use std::collections::VecDeque;

/// What a job does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Arriving,
    Loading,
    Computing,
    Unloading,
}

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: Ns,
    pub end: Ns,
}

impl Span {
    fn of(start: Ns, length: Ns) -> Self {
        Self { start, end: start + length }
    }

    /// Its length.
    pub fn length(&self) -> Ns {
        self.end - self.start
    }
}

/// When a job was served, and by which slices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Served {
    pub slices: Vec<usize>,
    pub load: Span,
    pub compute: Span,
    pub unload: Span,
}

/// A slice: the jobs whose data it holds, and whether its link and its processors are in use.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    resident: u32,
    is_link_busy: bool,
    is_computing: bool,
}

/// The queue while it is simulated.
struct Queue<'a> {
    jobs: &'a [Phases],
    /// Most jobs whose data a slice holds.
    places: u32,
    slices: Vec<Slice>,
    served: Vec<Served>,
    steps: Vec<Step>,
    agenda: SlotScheduler,
    waiting: VecDeque<usize>,
    loaded: Vec<usize>,
    computed: Vec<usize>,
}

/// Serves all jobs; the result is in their order. Each fits into `slices`.
pub(crate) fn serve(jobs: &[Phases], slices: u32, overlap: bool) -> Vec<Served> {
    let mut queue = Queue {
        jobs,
        places: if overlap { 2 } else { 1 },
        slices: vec![Slice::default(); slices as usize],
        served: vec![Served::default(); jobs.len()],
        steps: vec![Step::default(); jobs.len()],
        agenda: SlotScheduler::new(jobs.len()),
        waiting: VecDeque::new(),
        loaded: Vec::new(),
        computed: Vec::new(),
    };
    for (job, phases) in jobs.iter().enumerate() {
        queue.agenda.plan(job, phases.arrival);
    }
    while let Some(now) = queue.agenda.next_at() {
        while queue.agenda.next_at() == Some(now) {
            queue.end_step(queue.agenda.next_slot());
        }
        queue.grant(now);
    }
    assert!(queue.waiting.is_empty() && queue.loaded.is_empty() && queue.computed.is_empty());
    queue.served
}

impl Queue<'_> {
    /// Handles the event of a job: the end of its step.
    fn end_step(&mut self, job: usize) {
        self.agenda.remove(job);
        match self.steps[job] {
            Step::Arriving => self.waiting.push_back(job),
            Step::Loading => {
                self.of_job(job, |slice| slice.is_link_busy = false);
                self.loaded.push(job);
            }
            Step::Computing => {
                self.of_job(job, |slice| slice.is_computing = false);
                self.computed.push(job);
            }
            Step::Unloading => self.of_job(job, |slice| {
                slice.is_link_busy = false;
                slice.resident -= 1;
            }),
        }
    }

    /// Gives free links and processors to the jobs that wait for them.
    fn grant(&mut self, now: Ns) {
        for job in std::mem::take(&mut self.computed) {
            let unload = self.jobs[job].unload;
            if unload == Ns::ZERO {
                self.served[job].unload = Span::of(now, unload);
                self.of_job(job, |slice| slice.resident -= 1);
            } else if self.all(job, |slice| !slice.is_link_busy) {
                self.of_job(job, |slice| slice.is_link_busy = true);
                self.served[job].unload = self.start(job, Step::Unloading, now, unload);
            } else {
                self.computed.push(job);
            }
        }
        for job in std::mem::take(&mut self.loaded) {
            if self.all(job, |slice| !slice.is_computing) {
                self.of_job(job, |slice| slice.is_computing = true);
                let compute = self.jobs[job].compute;
                self.served[job].compute = self.start(job, Step::Computing, now, compute);
            } else {
                self.loaded.push(job);
            }
        }
        while let Some(&job) = self.waiting.front() {
            let Some(slices) = self.free_slices(self.jobs[job].slices as usize) else { break };
            self.waiting.pop_front();
            self.served[job].slices = slices;
            self.of_job(job, |slice| {
                slice.resident += 1;
                slice.is_link_busy = true;
            });
            let load = self.jobs[job].load;
            self.served[job].load = self.start(job, Step::Loading, now, load);
        }
    }

    /// Starts a step that lasts `length`.
    fn start(&mut self, job: usize, step: Step, now: Ns, length: Ns) -> Span {
        self.steps[job] = step;
        self.agenda.plan(job, now + length);
        Span::of(now, length)
    }

    /// The `count` slices that can be loaded, empty ones first; `None` if there are fewer.
    fn free_slices(&self, count: usize) -> Option<Vec<usize>> {
        let is_free = |slice: &Slice| slice.resident < self.places && !slice.is_link_busy;
        let mut free: Vec<usize> =
            (0..self.slices.len()).filter(|&at| is_free(&self.slices[at])).collect();
        free.sort_by_key(|&at| self.slices[at].resident);
        free.truncate(count);
        (free.len() == count).then_some(free)
    }

    fn all(&self, job: usize, holds: impl Fn(&Slice) -> bool) -> bool {
        self.served[job].slices.iter().all(|&at| holds(&self.slices[at]))
    }

    fn of_job(&mut self, job: usize, change: impl Fn(&mut Slice)) {
        for &at in &self.served[job].slices {
            change(&mut self.slices[at]);
        }
    }
}
