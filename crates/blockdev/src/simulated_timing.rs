//! A store whose operations take the time of simulated flash.
//!
//! The store moves the bytes of an operation when the layer issues it; then the operation goes to
//! the simulated die groups, and the layer hears that it is done when their clock says so.

#[cfg(test)]
mod tests;

use crate::clock::{DueAnswer, Simulated};
use crate::payload::NbdPayload;
use crate::status::Busy;
use gordon_nand::{FlashOp, Layout, Timing};
use gordon_ssd::{CommandKind, DieGroupStats, DieGroups, FlashCommand};
use gordon_store::{CompletedOp, Completion, Engine, Payload};
use gordon_units::Ns;

/// A store and its operations on their way. It moves only when asked.
pub(super) struct SimulatedTiming<P> {
    pub engine: Engine<P>,
    /// Requests that have ended since somebody looked.
    pub ended: Vec<Completion<P>>,
    /// When those ended.
    now: Ns,
    die_groups: DieGroups,
    layout: Layout,
    slots: u32,
    /// By tag: operations on the die groups.
    flying: Vec<Option<CompletedOp>>,
    free: Vec<u32>,
}

impl<P: Payload> SimulatedTiming<P> {
    pub fn new(engine: Engine<P>, timing: &Timing) -> Self {
        let resolved = engine.image().resolved();
        let (layout, slots) = (resolved.layout, resolved.config.slots);
        let die_groups = DieGroups::new(layout, timing, slots);
        Self {
            engine,
            ended: vec![],
            now: Ns::ZERO,
            die_groups,
            layout,
            slots,
            flying: vec![],
            free: vec![],
        }
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<Ns> {
        self.die_groups.next_at()
    }

    /// How long buses and die groups were busy.
    pub fn busy(&self) -> Busy {
        let DieGroupStats { bus_busy, group_busy: lane_busy, .. } = self.die_groups.stats();
        let ns = |times: Vec<Ns>| times.into_iter().map(|time| time.0).collect();
        Busy { buses: ns(bus_busy), dies: ns(lane_busy) }
    }

    /// Whether nothing is on the die groups.
    fn is_empty(&self) -> bool {
        self.flying.len() == self.free.len()
    }

    /// Simulates the next event, and sends on its way what follows; when that is.
    pub fn step(&mut self) -> Ns {
        let (at, done) = self.die_groups.step();
        if let Some(done) = done {
            let completed =
                self.flying[done.command.tag as usize].take().expect("it was in flight");
            self.free.push(done.command.tag);
            self.engine.done(completed);
            self.issue(at);
        }
        at
    }

    /// Sends what the store has issued on its way, at this time.
    pub fn issue(&mut self, now: Ns) {
        self.now = now;
        loop {
            self.launch(now);
            let flies = !self.is_empty();
            if flies && self.engine.failure().is_none() || !self.engine.kick() {
                break;
            }
        }
        self.engine.finished(&mut self.ended);
    }

    fn launch(&mut self, now: Ns) {
        while let Some(completed) = self.engine.next_op() {
            let tag = self.free.pop().unwrap_or_else(|| {
                self.flying.push(None);
                u32::try_from(self.flying.len() - 1).expect("few operations in flight")
            });
            self.flying[tag as usize] = Some(completed);
            let background = completed.copies;
            let ((block, page), share, kind) = match completed.op {
                FlashOp::Read { ppn, slots, .. } => {
                    (self.layout.place_of(ppn), slots, CommandKind::Read)
                }
                FlashOp::Program { ppn, .. } => {
                    (self.layout.place_of(ppn), self.slots, CommandKind::Program)
                }
                FlashOp::Erase { block } => ((block, 0), 0, CommandKind::Erase),
            };
            self.die_groups.issue(
                now,
                FlashCommand { block, page, transfer_slots: share, tag, kind, background },
            );
        }
    }

    /// Ends at once what is on its way: nobody waits for it any more.
    pub fn land(&mut self) {
        let flying: Vec<_> = self.flying.iter_mut().filter_map(Option::take).collect();
        flying.into_iter().for_each(|completed| self.engine.done(completed));
        self.engine.run();
    }
}

impl Simulated for SimulatedTiming<NbdPayload> {
    type Answer = Completion<NbdPayload>;

    fn next_at(&self) -> Option<Ns> {
        self.next_at()
    }

    fn step(&mut self) {
        self.step();
    }

    fn ended(&mut self, mut each: impl FnMut(DueAnswer<Self::Answer>)) {
        for answer in self.ended.drain(..) {
            let NbdPayload { arrived_at: came, link_time: way, .. } = answer.payload;
            each(DueAnswer { answer, arrived_at: came, at: self.now + way });
        }
    }
}
