//! A drive with a segmented buffer, as drives of the 1990s had.
//!
//! The drive has the parameters by which DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger,
//! CMU-PDL-08-101) describes such drives; several of these were measured. The head moves in closed
//! form, track by track; the drive proceeds from one step of its bus to the next.
//!
//! - **Overheads** depend on the operation, on whether its data are in the buffer, and on the
//!   previous operation. The arm does not start before they are over.
//! - **Reads** cross the bus as they come off the medium, at most at the rate of the bus. The head
//!   reads ahead, up to a limit, over tracks and cylinders.
//! - **Writes** are acknowledged when they are in the buffer, if the drive supports that; a write
//!   to the medium is not interrupted.
//! - **A command during read-ahead** continues the read-ahead if it requests the sectors being
//!   read. Otherwise it stops the read-ahead at the end of the current sector or seek.
//! - **The queue** holds the commands that the drive has accepted; the arm serves them in the order
//!   of a [policy](QueuePolicy). The arm is free for the next command when the current one has
//!   been completed.
//! - **The host** queues all other commands, and selects the next one by a
//!   [policy](crate::SchedulingPolicy). No command passes a flush.
//!
//! A trim is acknowledged and changes nothing. A flush waits for the medium.

mod arm;
mod buffer;
mod bus;
mod command;
mod config;
mod control;
mod media;
mod queue;
mod spindle;
#[cfg(test)]
mod tests;

pub use config::{
    BufferConfig, ClassicConfig, ExtraDisconnect, HostBus, Overheads, QueueConfig, QueuePolicy,
    ReadAhead, ReadWriteTimes, WriteJoin,
};

use crate::disk::{
    Candidate, Choice, DiskConfigError, DiskStats, Scheduler, SchedulerInput, ShortSkew,
};
use arm::Access;
use buffer::BufferSegments;
use bus::Bus;
use command::Command;
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_units::{Bytes, Ns};
use media::{Actuator, MediaStream, WriteStream};
use queue::CommandQueue;
use std::collections::VecDeque;

/// A command that waits at the host.
#[derive(Clone, Copy, Debug)]
struct WaitingCommand {
    id: u64,
    request: Request,
    candidate: Candidate,
}

impl AsRef<Candidate> for WaitingCommand {
    fn as_ref(&self) -> &Candidate {
        &self.candidate
    }
}

/// A simulated drive with a segmented buffer.
#[derive(Clone, Debug)]
pub struct ClassicDisk {
    overheads: Overheads,
    link: HostBus,
    buffer: BufferConfig,
    /// Maximum number of commands in the drive.
    length: usize,
    arm: Actuator,
    /// Time of the last call.
    clock: Ns,
    /// Time of the last step of the drive. With one command at a time it is ahead of the clock,
    /// since nothing can happen before the command ends.
    now: Ns,
    host: VecDeque<WaitingCommand>,
    scheduler: Scheduler,
    /// Number of commands in the drive that are not completed.
    outstanding: usize,
    /// A trim or flush in progress.
    aside: Option<Completion>,
    /// Commands of the drive, by key; free ones are listed.
    commands: Vec<Command>,
    free: Vec<usize>,
    /// Commands that the drive has not begun to process, with the time when it can.
    arriving: VecDeque<(Ns, usize)>,
    queue: CommandQueue,
    segments: BufferSegments,
    bus: Bus,
    /// What the head does.
    access: Option<Access>,
    reading: MediaStream,
    writing: WriteStream,
    /// Time when the head was last looked at; the end of the seek or sector in which it was, and
    /// whether it is a seek. None if the head does not read.
    head_step: (Ns, Option<(Ns, bool)>),
    /// Segment into which the head reads while the arm passes from one command to another.
    handed: Option<usize>,
    /// Time of the next point of the access that somebody waits for.
    media_at: Option<Ns>,
    /// Time when the last command got its segment.
    attached: Ns,
    /// Time of the last sector that the head has passed.
    turned: Ns,
    /// Time until which an interrupted seek or sector occupies the arm.
    arm_busy: Ns,
    last_read: bool,
    /// Time up to which the mechanism's reading has been counted.
    since: Ns,
    usage: Usage,
    stats: DiskStats,
}

impl ClassicDisk {
    /// Creates a drive at time zero with an empty buffer and its head on the outermost track.
    ///
    /// # Errors
    /// Returns an error if the config is inconsistent.
    pub fn new(config: &ClassicConfig) -> Result<Self, DiskConfigError> {
        let mechanics = config.check()?;
        // No command gets to a drive whose bus is held by another.
        let length = if config.bus.held { 1 } else { config.queue.length as usize };
        Ok(Self {
            overheads: config.overheads,
            link: config.bus,
            buffer: config.buffer,
            length,
            arm: Actuator::new(mechanics, *config.geometry.rpm),
            clock: Ns::ZERO,
            now: Ns::ZERO,
            host: VecDeque::new(),
            scheduler: Scheduler::new(&config.scheduler),
            outstanding: 0,
            aside: None,
            commands: Vec::new(),
            free: Vec::new(),
            arriving: VecDeque::new(),
            queue: CommandQueue::new(config.queue),
            segments: BufferSegments::new(&config.buffer),
            bus: Bus::default(),
            access: None,
            reading: MediaStream::default(),
            writing: WriteStream::default(),
            head_step: (Ns::ZERO, None),
            handed: None,
            media_at: None,
            attached: Ns::ZERO,
            turned: Ns::ZERO,
            arm_busy: Ns::ZERO,
            last_read: true,
            since: Ns::ZERO,
            usage: Usage::default(),
            stats: DiskStats::default(),
        })
    }

    /// Warnings for the results: skews at which a transfer loses a revolution.
    pub fn warnings(&self) -> Vec<String> {
        let short = self.arm.mechanics.short_skews().into_iter().map(|short| {
            let ShortSkew { key, skew, read, write } = short;
            let both = if skew < read { "reads and writes" } else { "writes" };
            format!(
                "{key} is {skew} at the shortest, and a write needs {write} to get to the next \
                 track (a read {read}): sequential {both} lose a revolution there"
            )
        });
        short.collect()
    }

    /// Counters since the creation of the drive.
    pub fn stats(&self) -> DiskStats {
        DiskStats {
            positionings: self.arm.passes,
            seeks: self.arm.moves,
            seek_time: self.arm.seek,
            rotation_time: self.arm.rotation,
            transfer_time: self.arm.transfer,
            ..self.stats
        }
    }

    /// Bandwidth of the bus for reads, in bytes per second.
    pub fn link_rate(&self) -> Bytes {
        Bytes((SECTOR.0 * 1_000_000_000).div_ceil(self.link.read_sector.0.max(1)))
    }

    fn sectors(&self) -> u64 {
        self.arm.mechanics.geometry().sectors()
    }

    /// The scheduling candidate of a request.
    fn candidate(&self, request: &Request, since: Ns) -> Candidate {
        let lba = (request.offset.0 / SECTOR.0).min(self.sectors() - 1);
        Candidate { lba, target: self.arm.mechanics.aim(lba), since }
    }

    /// Removes and returns the next command of the host.
    fn next(&mut self) -> Option<WaitingCommand> {
        let passable = self.host.iter().take_while(|one| one.request.op != IoOp::Flush).count();
        if passable < 2 {
            return self.host.pop_front();
        }
        let (all, none) = (self.host.make_contiguous(), &[] as &[WaitingCommand]);
        let choice = self.scheduler.choose(&SchedulerInput {
            mechanics: &self.arm.mechanics,
            // The arm does not start before the overhead has passed.
            at: self.clock + self.overheads.read_miss.get(self.last_read),
            head: self.arm.head,
            next: None,
            reads: &all[..passable],
            destages: none,
            destage_now: false,
        });
        match choice {
            Some(Choice::Read(at)) => self.host.remove(at),
            _ => self.host.pop_front(),
        }
    }

    /// Whether the drive accepts another command now.
    fn accepts(&self, flush: bool) -> bool {
        self.aside.is_none()
            && if flush { self.outstanding == 0 } else { self.outstanding < self.length }
    }

    /// Sends commands of the host to the drive, while it accepts them.
    fn send(&mut self) {
        while let Some(front) = self.host.front()
            && self.accepts(front.request.op == IoOp::Flush)
            && let Some(WaitingCommand { id, request, .. }) = self.next()
        {
            self.start(id, request);
        }
    }

    /// Sends reads and writes only.
    fn send_commands(&mut self) {
        let waits = |one: &WaitingCommand| matches!(one.request.op, IoOp::Read | IoOp::Write);
        if self.host.front().is_some_and(waits)
            && self.accepts(false)
            && let Some(WaitingCommand { id, request, .. }) = self.next()
        {
            self.start(id, request);
        }
    }

    /// Gives a command to the drive, which accepts it.
    fn start(&mut self, id: u64, request: Request) {
        let at = self.clock;
        let aside = |at, cause| Some(Completion { id, at, cause, failed: false });
        match request.op {
            IoOp::Discard => self.aside = aside(at, Cause::Buffer),
            IoOp::Flush => self.aside = aside(self.write_out().max(at), Cause::Medium),
            IoOp::Read | IoOp::Write => {
                self.outstanding += 1;
                self.arrive(id, &request);
            }
        }
    }
}

impl Device for ClassicDisk {
    fn capacity(&self) -> Bytes {
        SECTOR * self.sectors()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        assert!(at >= self.clock, "request {id} at {at}, the disk is at {}", self.clock);
        gordon_blockio::check_range(self.capacity(), id, &request);
        self.clock = at;
        if self.host.is_empty() && self.accepts(request.op == IoOp::Flush) {
            self.start(id, request);
            self.run_ahead();
        } else {
            let candidate = self.candidate(&request, at);
            self.host.push_back(WaitingCommand { id, request, candidate });
        }
    }

    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        let Some(at) = self.host.iter().rposition(|waiting| waiting.id == id) else {
            return false;
        };
        let candidate = self.candidate(&request, self.host[at].candidate.since);
        self.host[at] = WaitingCommand { id, request, candidate };
        true
    }

    fn next_event(&self) -> Option<Ns> {
        let step = if self.outstanding > 0 { self.next_step() } else { None };
        match (step, self.aside) {
            (Some(step), Some(aside)) => Some(step.min(aside.at)),
            (step, aside) => step.or(aside.map(|aside| aside.at)),
        }
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let step = if self.outstanding > 0 { self.next_step() } else { None };
        match self.aside {
            Some(done) if step.is_none_or(|step| done.at <= step) => {
                (self.aside, self.clock) = (None, done.at);
                self.stats.requests += 1;
                completed.push(done);
                self.send();
            }
            _ => {
                let before = completed.len();
                completed.extend(self.proceed());
                if completed.len() > before {
                    self.send();
                }
            }
        }
        self.run_ahead();
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}
