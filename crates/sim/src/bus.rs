//! A bus or host adapter that several devices share. It carries the data of one request at a time,
//! in the order in which the data become ready (FIFO). Commands, flushes and trims take no bus
//! time.
//!
//! - **A read**: the device's own link delivers the data up to the completion of the read. They
//!   cross the bus at the slower of the two rates, and the last sector crosses after the device is
//!   done.
//! - **A write** crosses the bus when it is submitted. The device receives it at the latest time at
//!   which its own link, if that is faster, never waits for data.
//!
//! Reads and writes share the bus (half duplex), as on a parallel SCSI bus or a SATA port
//! multiplier. Each request makes one reservation; sectors are not simulated individually.
//!
//! Not covered: arbitration and other costs of each command (devices have overheads of their own),
//! interleaving of large transfers in packets, and, if the bus is slower than a medium that is
//! slower than the link, data that could cross the bus while they come off the medium.

use crate::Timeline;
use gordon_blockio::{Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_units::{Bytes, Ns};
use std::collections::VecDeque;

/// A bus and the links of the devices on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBus {
    /// Bandwidth of the bus, in bytes per second.
    pub rate: Bytes,
    /// Bandwidth of each device's own link, in bytes per second.
    pub link: Bytes,
}

/// Devices, with or without a shared bus.
#[derive(Clone, Debug)]
pub(crate) struct BusMembers<D> {
    devices: Vec<D>,
    bus: Option<BusTransfers>,
}

/// State of a shared bus.
#[derive(Clone, Debug)]
struct BusTransfers {
    bus: SharedBus,
    line: Timeline,
    /// Requests in flight. Devices know a request by its index in this list.
    parts: Vec<(u64, Request)>,
    unused: Vec<usize>,
    /// Writes that have not reached their device: time of arrival, device, index in `parts`.
    out: VecDeque<(Ns, usize, usize)>,
    /// Reads whose data are on the bus: device, completion.
    back: VecDeque<(usize, Completion)>,
    /// Completions of one device step; kept to reuse its memory.
    done: Vec<Completion>,
}

/// Kind of the next event. At one instant a write that has crossed the bus comes first, since no
/// device may step past its submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Written,
    Read,
    Of(usize),
}

impl BusTransfers {
    fn claim(&mut self, id: u64, request: Request) -> usize {
        if let Some(place) = self.unused.pop() {
            self.parts[place] = (id, request);
            return place;
        }
        self.parts.push((id, request));
        self.parts.len() - 1
    }

    /// Transfers the data of a write. Returns when the device gets it.
    fn write(&mut self, at: Ns, len: Bytes) -> Ns {
        let takes = len.time_at(self.bus.rate);
        let over = self.line.reserve(at, takes);
        (over - takes).max(over.saturating_sub(len.time_at(self.bus.link)))
    }

    /// Transfers the data of a read that the device completed at `done`. Returns when the data have
    /// crossed the bus.
    fn read(&mut self, done: Ns, len: Bytes) -> Ns {
        let takes = len.time_at(self.bus.rate);
        let there = done.saturating_sub(len.time_at(self.bus.link));
        let last = (done + SECTOR.time_at(self.bus.rate)).saturating_sub(takes);
        self.line.reserve(there.max(last), takes)
    }

    /// Handles the completions of device `member`.
    fn complete(&mut self, member: usize, completed: &mut Vec<Completion>) {
        let mut done = std::mem::take(&mut self.done);
        for one in done.drain(..) {
            let place = usize::try_from(one.id).expect("a place of ours");
            let (id, request) = self.parts[place];
            self.unused.push(place);
            if request.op == IoOp::Read {
                let at = self.read(one.at, request.len);
                self.back.push_back((member, Completion { id, at, ..one }));
            } else {
                completed.push(Completion { id, ..one });
            }
        }
        self.done = done;
    }
}

impl<D: Device> BusMembers<D> {
    pub(crate) fn new(devices: Vec<D>) -> Self {
        Self { devices, bus: None }
    }

    /// Attaches the devices to a bus. Must precede the first request.
    pub(crate) fn on(self, bus: SharedBus) -> Self {
        let bus = BusTransfers {
            bus,
            line: Timeline::default(),
            parts: Vec::new(),
            unused: Vec::new(),
            out: VecDeque::new(),
            back: VecDeque::new(),
            done: Vec::new(),
        };
        Self { bus: Some(bus), ..self }
    }

    pub(crate) fn all(&self) -> &[D] {
        &self.devices
    }

    pub(crate) fn into_all(self) -> Vec<D> {
        self.devices
    }

    pub(crate) fn preload(&mut self, member: usize, offset: Bytes, len: Bytes) {
        self.devices[member].preload(offset, len);
    }

    pub(crate) fn submit(&mut self, member: usize, at: Ns, id: u64, request: Request) {
        let Some(bus) = &mut self.bus else {
            return self.devices[member].submit(at, id, request);
        };
        let place = bus.claim(id, request);
        let reaches = if request.op == IoOp::Write { bus.write(at, request.len) } else { at };
        if reaches > at {
            bus.out.push_back((reaches, member, place));
        } else {
            self.devices[member].submit(at, place as u64, request);
        }
    }

    fn next(&self) -> Option<(Ns, Event)> {
        let devices = self.devices.iter().enumerate();
        let device = devices.filter_map(|(i, one)| Some((one.next_event()?, Event::Of(i)))).min();
        let Some(bus) = &self.bus else { return device };
        let written = bus.out.front().map(|&(at, ..)| (at, Event::Written));
        let read = bus.back.front().map(|(_, done)| (done.at, Event::Read));
        [device, written, read].into_iter().flatten().min()
    }

    pub(crate) fn next_event(&self) -> Option<Ns> {
        match &self.bus {
            None => self.devices.iter().filter_map(D::next_event).min(),
            Some(_) => self.next().map(|(at, _)| at),
        }
    }

    /// Carries out the next event. Returns the device that the completions belong to.
    pub(crate) fn step(&mut self, completed: &mut Vec<Completion>) -> usize {
        let Some((at, event)) = self.next() else { return 0 };
        match (event, &mut self.bus) {
            (Event::Of(member), None) => {
                self.devices[member].step(completed);
                member
            }
            (Event::Of(member), Some(bus)) => {
                self.devices[member].step(&mut bus.done);
                bus.complete(member, completed);
                member
            }
            (Event::Written, bus) => {
                let bus = bus.as_mut().expect("it has crossed one");
                let (_, member, place) = bus.out.pop_front().expect("the next event");
                self.devices[member].submit(at, place as u64, bus.parts[place].1);
                member
            }
            (Event::Read, bus) => {
                let bus = bus.as_mut().expect("it has crossed one");
                let (member, done) = bus.back.pop_front().expect("the next event");
                completed.push(done);
                member
            }
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.devices.iter().map(D::usage).fold(Usage::default(), |sum, one| Usage {
            read: sum.read + one.read,
            write: sum.write + one.write,
            controller: sum.controller + one.controller,
        })
    }
}
