//! A simple, slow model: the same rules on lists with linear search, one event at a time.

use gordon_nand::{Layout, Timing};
use gordon_ssd::{CommandDone, CommandKind, FlashCommand};
use gordon_units::{Bytes, Ns};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Sense,
    Send,
    Load,
    Work,
    Stop,
}

struct QueuedCommand {
    command: FlashCommand,
    issued: Ns,
    behind: bool,
}

struct Batch {
    commands: Vec<QueuedCommand>,
    started: Ns,
    /// Time when the batch is sensed or loaded.
    ready: Ns,
    /// Whether any command of the batch, done or not, is background work or an erase.
    background: bool,
}

#[derive(Default)]
struct GroupModel {
    queue: Vec<QueuedCommand>,
    front: Option<Batch>,
    back: Option<Batch>,
    /// The program or erase that was stopped, the time that it still needs, and how often it was.
    suspended: Option<(Batch, Ns)>,
    suspensions: u32,
    reads_bypassed: u32,
    busy: Ns,
    since: Ns,
}

fn is_host_read(command: &FlashCommand) -> bool {
    command.kind == CommandKind::Read && !command.background
}

pub struct Model {
    layout: Layout,
    timing: Timing,
    slots: u32,
    die_groups: Vec<GroupModel>,
    bus_free: Vec<Ns>,
    pub bus_busy: Vec<Ns>,
    /// Time, order of planning, die group, and phase that ends. Events of one instant are ordered
    /// by die group; but without a cache register, bus requests of reads come first, in the order
    /// of their starts.
    events: Vec<(Ns, u64, usize, Phase)>,
    planned: u64,
    pub die_read: Ns,
    pub die_write: Ns,
    pub served: [Ns; 3],
    pub waited: [Ns; 3],
}

impl Model {
    pub fn new(layout: Layout, timing: Timing, slots: u32) -> Self {
        let groups = layout.bus_groups() as usize;
        Self {
            layout,
            timing,
            slots,
            die_groups: (0..layout.die_groups()).map(|_| GroupModel::default()).collect(),
            bus_free: vec![Ns(0); groups],
            bus_busy: vec![Ns(0); groups],
            events: vec![],
            planned: 0,
            die_read: Ns(0),
            die_write: Ns(0),
            served: [Ns(0); 3],
            waited: [Ns(0); 3],
        }
    }

    pub fn group_busy(&self) -> Vec<Ns> {
        self.die_groups.iter().map(|die_group| die_group.busy).collect()
    }

    /// The events, each with its sort key.
    fn in_order(&self) -> impl Iterator<Item = ((Ns, bool, u64), usize)> {
        let first = |phase| phase == Phase::Sense && !self.timing.modes.cache_read;
        self.events.iter().zip(0..).map(move |(&(at, planned, die_group, phase), number)| {
            let rank = if first(phase) { planned } else { die_group as u64 };
            ((at, !first(phase), rank), number)
        })
    }

    pub fn next_at(&self) -> Option<Ns> {
        self.events.iter().map(|event| event.0).min()
    }

    fn plan(&mut self, at: Ns, die_group: usize, phase: Phase) {
        self.events.push((at, self.planned, die_group, phase));
        self.planned += 1;
    }

    /// Bus time, dies touched, and bus time summed over pages, of the data that a command
    /// transfers, computed page by page.
    fn moves(&self, command: &FlashCommand) -> (Ns, u64, Ns) {
        let (shape, geometry) = (self.layout.shape(), self.layout.geometry());
        let all_dies = u64::from(self.layout.dies_per_group());
        if command.kind == CommandKind::Erase {
            let blocks = u64::from(shape.planes * shape.dies_per_bus);
            return (self.timing.command * blocks, all_dies, Ns(0));
        }
        let share =
            if command.kind == CommandKind::Program { self.slots } else { command.transfer_slots };
        let page = u64::from(geometry.page_bytes);
        let wanted = self.layout.page_bytes().0 * u64::from(share) / u64::from(self.slots);
        let mut buses = vec![Ns(0); shape.buses as usize];
        let mut dies = BTreeSet::new();
        for p in 0..shape.pages() {
            let bytes = wanted.saturating_sub(u64::from(p) * page).min(page);
            if bytes > 0 {
                let with_oob = (bytes * (page + u64::from(geometry.oob_bytes))).div_ceil(page);
                buses[(p % shape.buses) as usize] += self.timing.transfer(Bytes(with_oob));
                dies.insert((p % shape.buses, p / shape.buses / shape.planes));
            }
        }
        let longest = *buses.iter().max().expect("there is a bus");
        (longest, dies.len() as u64, buses.into_iter().sum())
    }

    fn cells(&self, command: &FlashCommand) -> Ns {
        match command.kind {
            CommandKind::Read => self.timing.read.of(command.page),
            CommandKind::Program => self.timing.program.of(command.page),
            CommandKind::Erase => self.timing.erase,
        }
    }

    fn set(&self, command: &FlashCommand) -> u32 {
        command.block.0 / (self.layout.geometry().blocks_per_plane * self.layout.die_groups())
    }

    fn batch_cells(&self, batch: &Batch) -> Ns {
        batch.commands.iter().map(|w| self.cells(&w.command)).max().expect("not empty")
    }

    /// Reads that are sensed by now request the bus before anything else.
    fn sensed(&mut self, now: Ns, die_group: usize) {
        let layout = self.layout;
        let bus = |die_group: usize| layout.bus_group(gordon_nand::DieGroupId(die_group as u32));
        while let Some((_, at)) = self
            .in_order()
            .filter(|&((at, other, _), event)| {
                at <= now && !other && bus(self.events[event].2) == bus(die_group)
            })
            .min()
        {
            let (at, _, die_group, _) = self.events.remove(at);
            self.send(at, die_group);
        }
    }

    fn reserve(&mut self, now: Ns, die_group: usize, batch: &Batch) -> Ns {
        if batch.commands[0].command.kind != CommandKind::Read {
            self.sensed(now, die_group);
        }
        let span: Ns = batch.commands.iter().map(|w| self.moves(&w.command).0).sum();
        let bus = self.layout.bus_group(gordon_nand::DieGroupId(die_group as u32));
        self.bus_free[bus] = self.bus_free[bus].max(now) + span;
        self.bus_busy[bus] += span;
        self.bus_free[bus]
    }

    pub fn issue(&mut self, now: Ns, command: FlashCommand) {
        let id = self.layout.die_group_of(command.block).index();
        let die_group = &mut self.die_groups[id];
        let served = [&die_group.front, &die_group.back];
        let behind = served.into_iter().flatten().any(|batch| batch.background);
        let first_read =
            is_host_read(&command) && !die_group.queue.iter().any(|w| is_host_read(&w.command));
        die_group.queue.push(QueuedCommand { command, issued: now, behind });
        if die_group.front.is_none() && die_group.suspended.is_none() {
            die_group.since = now;
            self.start(now, id);
        } else {
            let phase = self.events.iter().find(|event| event.2 == id).expect("it is busy").3;
            if phase != Phase::Stop {
                self.start_next_batch(now, id, phase);
            }
            if first_read && phase == Phase::Work {
                self.suspend(now, id);
            }
        }
    }

    /// A read arrived while the dies work.
    fn suspend(&mut self, now: Ns, id: usize) {
        let Some(stop) = self.timing.modes.suspend else { return };
        let at = self.events.iter().position(|event| event.2 == id).expect("it is busy");
        let ends = self.events[at].0;
        let cells = self.batch_cells(self.die_groups[id].front.as_ref().expect("it is busy"));
        let from = now.max(ends - cells);
        if self.die_groups[id].suspensions < 16 && ends - from > stop {
            self.events.remove(at);
            let front = self.die_groups[id].front.as_ref().expect("it is busy");
            let dies = front.commands.iter().map(|w| self.moves(&w.command).1).max();
            self.die_write += stop * dies.expect("not empty");
            self.set_aside(id, ends - from);
            self.plan(from + stop, id, Phase::Stop);
        }
    }

    fn set_aside(&mut self, id: usize, remaining: Ns) {
        let die_group = &mut self.die_groups[id];
        let batch = die_group.front.take().expect("it is busy");
        die_group.suspended = Some((batch, remaining));
        die_group.suspensions += 1;
        die_group.reads_bypassed = 0;
    }

    fn is_read_due(&self, id: usize) -> bool {
        let die_group = &self.die_groups[id];
        let any = die_group.queue.iter().any(|w| is_host_read(&w.command));
        any && die_group.reads_bypassed < 16
    }

    /// Serves the next read, or resumes the suspended operation.
    fn serve_or_resume(&mut self, now: Ns, id: usize) {
        let die_group = &self.die_groups[id];
        let read = die_group.queue.iter().position(|w| w.command.kind == CommandKind::Read);
        match read.filter(|_| self.is_read_due(id)) {
            Some(at) => self.start_at(now, id, at),
            None => {
                let die_group = &mut self.die_groups[id];
                let (batch, remaining) = die_group.suspended.take().expect("it is suspended");
                if batch.background {
                    die_group.queue.iter_mut().for_each(|w| w.behind = true);
                }
                die_group.front = Some(batch);
                self.start_next_batch(now, id, Phase::Work);
                self.plan(now + remaining, id, Phase::Work);
            }
        }
    }

    /// Index of the queued command that is next.
    fn choose(&self, id: usize) -> Option<usize> {
        let die_group = &self.die_groups[id];
        let read = die_group.queue.iter().position(|w| w.command.kind == CommandKind::Read);
        let other = die_group.queue.iter().position(|w| w.command.kind != CommandKind::Read);
        match (read, other) {
            _ if !self.timing.modes.read_first => (!die_group.queue.is_empty()).then_some(0),
            (Some(_), Some(_)) if die_group.reads_bypassed >= 16 => Some(0),
            (Some(read), _) => Some(read),
            (None, other) => other,
        }
    }

    fn form(&mut self, now: Ns, id: usize, at: usize) -> Batch {
        let first = self.die_groups[id].queue.remove(at);
        let command = first.command;
        let modes = self.timing.modes;
        let others = self.die_groups[id].queue.iter().any(|w| w.command.kind != CommandKind::Read)
            || self.die_groups[id].suspended.is_some();
        let overtakes = modes.read_first && command.kind == CommandKind::Read && others;
        self.die_groups[id].reads_bypassed =
            if overtakes { self.die_groups[id].reads_bypassed + 1 } else { 0 };
        let mut commands = vec![first];
        if modes.multi_plane {
            let mut seen = BTreeSet::from([self.set(&command)]);
            let mut at = 0;
            while at < self.die_groups[id].queue.len() {
                let other = self.die_groups[id].queue[at].command;
                let reads = (command.kind == CommandKind::Read, other.kind == CommandKind::Read);
                // With `read_first`, reads have a queue of their own.
                let same_queue = !modes.read_first || reads.0 == reads.1;
                if !same_queue || !seen.insert(self.set(&other)) {
                    at += 1;
                    continue;
                }
                let any_page =
                    command.kind == CommandKind::Erase || reads.0 && modes.independent_reads;
                if other.kind == command.kind && (any_page || other.page == command.page) {
                    commands.push(self.die_groups[id].queue.remove(at));
                } else {
                    at += 1;
                }
            }
        }
        let background =
            commands.iter().any(|w| w.command.background || w.command.kind == CommandKind::Erase);
        let batch = Batch { commands, started: now, ready: Ns(0), background };
        if background {
            self.die_groups[id].queue.iter_mut().for_each(|w| w.behind = true);
        }
        for w in &batch.commands {
            self.waited[w.command.kind.index()] += now - w.issued;
        }
        let moves: Vec<_> = batch.commands.iter().map(|w| self.moves(&w.command)).collect();
        let dies = moves.iter().map(|m| m.1).max().expect("not empty");
        let time = self.batch_cells(&batch) * dies + moves.iter().map(|m| m.2).sum::<Ns>();
        if command.kind == CommandKind::Read {
            self.die_read += time
        } else {
            self.die_write += time
        }
        batch
    }

    fn start(&mut self, now: Ns, id: usize) {
        let Some(at) = self.choose(id) else { return };
        self.start_at(now, id, at);
    }

    fn start_at(&mut self, now: Ns, id: usize, at: usize) {
        let batch = self.form(now, id, at);
        let cells = self.batch_cells(&batch);
        match batch.commands[0].command.kind {
            CommandKind::Read => self.plan(now + cells, id, Phase::Sense),
            CommandKind::Program if self.timing.modes.cache_program => {
                let loaded = self.reserve(now, id, &batch);
                self.plan(loaded, id, Phase::Load);
            }
            _ => {
                let loaded = self.reserve(now, id, &batch);
                self.plan(loaded + cells, id, Phase::Work);
            }
        }
        self.die_groups[id].front = Some(batch);
    }

    /// Starts the next batch in the cache register, if possible.
    fn start_next_batch(&mut self, now: Ns, id: usize, phase: Phase) {
        let kind = self.die_groups[id].front.as_ref().expect("it is busy").commands[0].command.kind;
        let may = match phase {
            Phase::Send => self.timing.modes.cache_read,
            Phase::Work => self.timing.modes.cache_program && kind == CommandKind::Program,
            Phase::Sense | Phase::Load | Phase::Stop => false,
        };
        let Some(at) = self.choose(id) else { return };
        let same = self.die_groups[id].queue[at].command.kind == kind;
        let may = may && (self.die_groups[id].suspended.is_none() || self.is_read_due(id));
        if may && same && self.die_groups[id].back.is_none() {
            let mut batch = self.form(now, id, at);
            batch.ready = match kind {
                CommandKind::Read => now + self.batch_cells(&batch),
                _ => self.reserve(now, id, &batch),
            };
            self.die_groups[id].back = Some(batch);
        }
    }

    fn send(&mut self, now: Ns, id: usize) {
        let front = self.die_groups[id].front.take().expect("it is busy");
        let end = self.reserve(now, id, &front);
        let spans: Vec<_> = front.commands.iter().map(|w| self.moves(&w.command).0).collect();
        let first = end - spans.iter().copied().sum() + spans[0];
        self.die_groups[id].front = Some(front);
        // The batch behind it starts before the end of the transfer is planned.
        self.start_next_batch(now, id, Phase::Send);
        self.plan(first, id, Phase::Send);
    }

    fn program(&mut self, now: Ns, id: usize) {
        let cells = self.batch_cells(self.die_groups[id].front.as_ref().expect("it is busy"));
        self.start_next_batch(now, id, Phase::Work);
        let die_group = &self.die_groups[id];
        let reads = die_group.queue.iter().any(|w| is_host_read(&w.command));
        let modes = &self.timing.modes;
        if modes.read_first && modes.suspend.is_some() && reads && die_group.suspensions < 16 {
            self.set_aside(id, cells);
            self.serve_or_resume(now, id);
            return;
        }
        self.plan(now + cells, id, Phase::Work);
    }

    pub fn step(&mut self) -> (Ns, Option<CommandDone>) {
        let (_, first) = self.in_order().min().expect("an event");
        let (now, _, id, phase) = self.events.remove(first);
        match phase {
            Phase::Sense => {
                self.send(now, id);
                return (now, None);
            }
            Phase::Load => {
                self.program(now, id);
                return (now, None);
            }
            Phase::Stop => {
                self.serve_or_resume(now, id);
                return (now, None);
            }
            Phase::Send | Phase::Work => {}
        }
        let front = self.die_groups[id].front.as_mut().expect("it is busy");
        let QueuedCommand { command, behind, .. } = front.commands.remove(0);
        self.served[command.kind.index()] += now - front.started;
        if let Some(next) = front.commands.first().map(|w| w.command) {
            let wait = if phase == Phase::Send { self.moves(&next).0 } else { Ns(0) };
            self.plan(now + wait, id, phase);
        } else {
            let die_group = &mut self.die_groups[id];
            die_group.busy += now - die_group.since;
            die_group.since = now;
            let is_read = command.kind == CommandKind::Read;
            if !is_read {
                die_group.suspensions = 0;
            }
            let back_reads = die_group
                .back
                .as_ref()
                .is_some_and(|back| back.commands[0].command.kind == CommandKind::Read);
            if is_read && die_group.suspended.is_some() && !back_reads {
                die_group.front = None;
                self.serve_or_resume(now, id);
                return (now, Some(CommandDone { command, behind_background: behind }));
            }
            die_group.front = die_group.back.take();
            match &die_group.front {
                None => self.start(now, id),
                Some(batch) => {
                    let ready = batch.ready;
                    match (phase, ready <= now) {
                        (Phase::Send, true) => self.send(now, id),
                        (Phase::Send, false) => self.plan(ready, id, Phase::Sense),
                        (_, true) => self.program(now, id),
                        (_, false) => self.plan(ready, id, Phase::Load),
                    }
                }
            }
        }
        (now, Some(CommandDone { command, behind_background: behind }))
    }
}
