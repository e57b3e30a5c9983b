//! A store whose operations take the time of simulated flash.
//!
//! The store moves the bytes of an operation when the translation layer issues it. The operation
//! then occupies the simulated die groups, and its completion is reported to the layer at its
//! simulated time.

#[cfg(test)]
mod tests;

use crate::clock::{DueAnswer, Simulated};
use crate::payload::NbdPayload;
use crate::status::Busy;
use gordon_nand::{FlashOp, Layout, Timing};
use gordon_ssd::{CommandKind, DieGroupStats, DieGroups, FlashCommand};
use gordon_store::{Completion, Engine, Payload, TransferredOp};
use gordon_units::Ns;

/// A store and its operations in flight. It advances only when it is called.
pub(super) struct SimulatedTiming<P> {
    pub engine: Engine<P>,
    /// Requests that completed and have not been taken yet.
    pub ended: Vec<Completion<P>>,
    /// The time at which those completed.
    now: Ns,
    die_groups: DieGroups,
    layout: Layout,
    slots: u32,
    /// The operations on the die groups, by tag.
    in_flight: Vec<Option<TransferredOp>>,
    /// Unused tags.
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
            in_flight: vec![],
            free: vec![],
        }
    }

    /// Time of the next event, if any.
    pub fn next_at(&self) -> Option<Ns> {
        self.die_groups.next_at()
    }

    /// How long buses and die groups were busy since the start.
    pub fn busy(&self) -> Busy {
        let DieGroupStats { bus_busy, group_busy, .. } = self.die_groups.stats();
        let ns = |times: Vec<Ns>| times.into_iter().map(|time| time.0).collect();
        Busy { buses: ns(bus_busy), dies: ns(group_busy) }
    }

    /// Whether no operation is on the die groups.
    fn is_empty(&self) -> bool {
        self.in_flight.len() == self.free.len()
    }

    /// Simulates the next event and issues the operations that follow. Returns its time.
    pub fn step(&mut self) -> Ns {
        let (at, done) = self.die_groups.step();
        if let Some(done) = done {
            let completed =
                self.in_flight[done.command.tag as usize].take().expect("it was in flight");
            self.free.push(done.command.tag);
            self.engine.done(completed);
            self.issue(at);
        }
        at
    }

    /// Issues the ready operations of the store at this time.
    pub fn issue(&mut self, now: Ns) {
        self.now = now;
        loop {
            self.issue_ready(now);
            // If nothing is in flight, requests may wait for the write buffer to be written out;
            // after a failure of the file they can only fail.
            let waits = !self.is_empty() && self.engine.failure().is_none();
            if waits || !self.engine.kick() {
                break;
            }
        }
        self.engine.finished(&mut self.ended);
    }

    fn issue_ready(&mut self, now: Ns) {
        while let Some(completed) = self.engine.next_op() {
            let tag = self.free.pop().unwrap_or_else(|| {
                self.in_flight.push(None);
                u32::try_from(self.in_flight.len() - 1).expect("few operations in flight")
            });
            self.in_flight[tag as usize] = Some(completed);
            let background = completed.copies;
            let ((block, page), transfer_slots, kind) = match completed.op {
                FlashOp::Read { ppn, slots, .. } => {
                    (self.layout.place_of(ppn), slots, CommandKind::Read)
                }
                FlashOp::Program { ppn, .. } => {
                    (self.layout.place_of(ppn), self.slots, CommandKind::Program)
                }
                FlashOp::Erase { block } => ((block, 0), 0, CommandKind::Erase),
            };
            self.die_groups
                .issue(now, FlashCommand { block, page, transfer_slots, tag, kind, background });
        }
    }

    /// Completes all operations in flight at once. No client waits for their simulated times.
    pub fn complete_all(&mut self) {
        let all: Vec<_> = self.in_flight.iter_mut().filter_map(Option::take).collect();
        all.into_iter().for_each(|completed| self.engine.done(completed));
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
            let NbdPayload { arrived_at, link_time, .. } = answer.payload;
            each(DueAnswer { answer, arrived_at, at: self.now + link_time });
        }
    }
}
