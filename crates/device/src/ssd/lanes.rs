//! Bus and die time: when operations on lanes are done.
//!
//! A lane carries out one operation at a time, in the order they are issued: first come first
//! served starves nobody, and it is what the paper's controller, with one ready line a die, can do
//! without a scheduler of its own. Lanes work in parallel, but those that hang on the same buses
//! take turns there, in the order they ask:
//!
//! - program: the bus carries the pages of the lane's dies one after the other, without a gap
//!   (section 4.2.2: "stream out the data without interruption"); done t_PROG after the last.
//! - read: all dies sense together, t_R; then the bus is asked for, and carries the pages one
//!   after the other; done with the last.
//! - erase: the command cycles on the bus, then t_BERS.
//!
//! All buses of a lane carry the same share at the same time, so one [`Timeline`] stands for them.
//! The command cycles of a read are counted with its data.

use gordon_des::Timeline;
use gordon_nand::{FlashOp, LaneId, Layout, Timing};
use gordon_units::{Bytes, Ns};
use std::collections::VecDeque;

/// What happens next on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Sensed(Ns),
    Done(Ns),
}

#[derive(Clone, Debug, Default)]
struct Lane {
    bus: usize,
    current: Option<FlashOp>,
    waiting: VecDeque<FlashOp>,
    started: Ns,
    busy: Ns,
}

/// All lanes and their buses.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    layout: Layout,
    lanes: Vec<Lane>,
    /// By group of buses.
    buses: Vec<Timeline>,
    sense: Ns,
    program: Ns,
    erase: Ns,
    /// A bus's share of a super-page, and of the commands of an erase.
    stream: Ns,
    commands: Ns,
    /// One die's share of a super-page on the bus.
    die_stream: Ns,
    die_read: Ns,
    die_write: Ns,
}

impl Lanes {
    pub fn new(layout: Layout, timing: &Timing) -> Self {
        let (geometry, shape) = (layout.geometry(), layout.shape());
        let page = Bytes(u64::from(geometry.page_bytes) + u64::from(geometry.oob_bytes));
        let die_stream = timing.transfer(page) * u64::from(shape.planes);
        let lane = |lane| Lane { bus: layout.bus_group(LaneId(lane)), ..Lane::default() };
        Self {
            lanes: (0..layout.lanes()).map(lane).collect(),
            buses: vec![Timeline::default(); layout.bus_groups() as usize],
            sense: timing.read,
            program: timing.program,
            erase: timing.erase,
            stream: die_stream * u64::from(shape.dies_per_bus),
            commands: timing.command * u64::from(shape.planes * shape.dies_per_bus),
            die_stream,
            die_read: Ns::ZERO,
            die_write: Ns::ZERO,
            layout,
        }
    }

    /// Queues an operation; says what happens next if it can start at once.
    pub fn issue(&mut self, now: Ns, op: FlashOp) -> (LaneId, Option<Next>) {
        let block = match op {
            FlashOp::Read { ppn, .. } | FlashOp::Program { ppn, .. } => self.layout.block_of(ppn),
            FlashOp::Erase { block } => block,
        };
        let lane = self.layout.lane_of(block);
        if self.lanes[lane.index()].current.is_some() {
            self.lanes[lane.index()].waiting.push_back(op);
            return (lane, None);
        }
        (lane, Some(self.start(now, lane, op)))
    }

    fn start(&mut self, now: Ns, id: LaneId, op: FlashOp) -> Next {
        let dies = u64::from(self.layout.dies_per_lane());
        let lane = &mut self.lanes[id.index()];
        lane.current = Some(op);
        lane.started = now;
        let bus = &mut self.buses[lane.bus];
        match op {
            FlashOp::Read { .. } => {
                self.die_read += (self.sense + self.die_stream) * dies;
                Next::Sensed(now + self.sense)
            }
            FlashOp::Program { .. } => {
                self.die_write += (self.die_stream + self.program) * dies;
                Next::Done(bus.reserve(now, self.stream) + self.program)
            }
            FlashOp::Erase { .. } => {
                self.die_write += self.erase * dies;
                Next::Done(bus.reserve(now, self.commands) + self.erase)
            }
        }
    }

    /// The pages a lane reads wait for the bus.
    pub fn sensed(&mut self, now: Ns, lane: LaneId) -> Next {
        let bus = self.lanes[lane.index()].bus;
        Next::Done(self.buses[bus].reserve(now, self.stream))
    }

    /// Ends the operation of a lane, and starts the next.
    pub fn done(&mut self, now: Ns, id: LaneId) -> (FlashOp, Option<Next>) {
        let lane = &mut self.lanes[id.index()];
        let op = lane.current.take().expect("an operation is done that was started");
        lane.busy += now - lane.started;
        let next = lane.waiting.pop_front();
        (op, next.map(|op| self.start(now, id, op)))
    }

    /// How long each group of buses carried something.
    pub fn bus_busy(&self) -> Vec<Ns> {
        self.buses.iter().map(Timeline::busy).collect()
    }

    /// How long each lane had an operation, those done.
    pub fn lane_busy(&self) -> Vec<Ns> {
        self.lanes.iter().map(|lane| lane.busy).collect()
    }

    /// Summed over dies, for all operations started: reading, and writing or erasing. Waiting for
    /// the bus is not work.
    pub fn die_time(&self) -> (Ns, Ns) {
        (self.die_read, self.die_write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_nand::{Buf, Geometry, Shape};
    use gordon_units::{BlockId, Hertz, Ppn};

    /// 2 buses, 2 dies on each, 2 planes; a lane is one die on each bus, so 2 lanes share the
    /// buses. A page of 1024 + 26 bytes takes 100 ns at 10.5 GB/s, and 10 for its command: a
    /// lane's share of a bus, 2 planes, takes 220.
    fn lanes() -> Lanes {
        let geometry = Geometry {
            buses: 2,
            packages_per_bus: 1,
            dies_per_package: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_bytes: 1024,
            oob_bytes: 26,
        };
        let shape = Shape { buses: 2, dies_per_bus: 1, planes: 2 };
        let layout = Layout::new(geometry, shape).expect("a small array");
        let timing = Timing {
            read: Ns(1_000),
            program: Ns(5_000),
            erase: Ns(30_000),
            bus_bits: 8,
            bus_rate: Hertz(1.05e10),
            command: Ns(10),
        };
        Lanes::new(layout, &timing)
    }

    /// Blocks 0, 2, ... are on lane 0, blocks 1, 3, ... on lane 1.
    fn read(block: u32) -> FlashOp {
        FlashOp::Read { ppn: Ppn(block * 4), buf: Buf(0) }
    }

    fn program(block: u32) -> FlashOp {
        let oob = gordon_nand::Oob { holds: gordon_nand::Holds::Summary, sequence: 1 };
        FlashOp::Program { ppn: Ppn(block * 4), buf: Buf(0), oob }
    }

    const A: LaneId = LaneId(0);
    const B: LaneId = LaneId(1);

    #[test]
    fn two_lanes_share_the_buses() {
        let mut lanes = lanes();
        assert_eq!(lanes.issue(Ns(0), program(0)), (A, Some(Next::Done(Ns(220 + 5_000)))));
        // Waits for the bus: 220 + 220 + 5000.
        assert_eq!(lanes.issue(Ns(0), program(1)), (B, Some(Next::Done(Ns(5_440)))));
        assert_eq!(lanes.bus_busy(), [Ns(440)]);
    }

    #[test]
    fn a_read_asks_for_the_bus_when_it_has_sensed() {
        let mut lanes = lanes();
        assert_eq!(lanes.issue(Ns(0), read(0)), (A, Some(Next::Sensed(Ns(1_000)))));
        // The bus is free while lane A senses.
        assert_eq!(lanes.issue(Ns(900), program(1)), (B, Some(Next::Done(Ns(6_120)))));
        // It carries the program until 900 + 220.
        assert_eq!(lanes.sensed(Ns(1_000), A), Next::Done(Ns(1_120 + 220)));
    }

    #[test]
    fn a_lane_takes_one_operation_at_a_time_in_order() {
        let mut lanes = lanes();
        lanes.issue(Ns(0), FlashOp::Erase { block: BlockId(0) });
        assert_eq!(lanes.issue(Ns(5), read(2)), (A, None));
        assert_eq!(lanes.issue(Ns(6), program(4)), (A, None));
        // Commands for 2 planes, then the erase: 20 + 30000.
        let (op, next) = lanes.done(Ns(30_020), A);
        assert_eq!(op, FlashOp::Erase { block: BlockId(0) });
        assert_eq!(next, Some(Next::Sensed(Ns(31_020))));
        assert_eq!(lanes.sensed(Ns(31_020), A), Next::Done(Ns(31_240)));
        assert_eq!(lanes.done(Ns(31_240), A).1, Some(Next::Done(Ns(36_460))));
        assert_eq!(lanes.done(Ns(36_460), A), (program(4), None));
        assert_eq!(lanes.lane_busy(), [Ns(36_460), Ns(0)]);
        // 2 dies: (1000 + 220) read, 30000 erase, (220 + 5000) program.
        assert_eq!(lanes.die_time(), (Ns(2_440), Ns(70_440)));
    }
}
