//! What the tasks of an application need, read from what they took on the machine that ran them.
//!
//! A task's time is: scheduling + CPU time, stretched where its host ran more tasks than it has
//! cores + garbage collection + waiting for shuffle data + a rest that the log does not explain. As
//! much of the rest as the task's bytes take on the traced storage, if that is known, is taken as
//! waiting for storage; what remains as computing that the engine does not count (Python workers,
//! code generation, other threads), which a faster core shortens.

use super::application::{AppStage, AppTask, Application};
use super::cached::{Block, Recompute};
use super::scattered::conflict;
use super::speeds::Speeds;
use super::warm_up::{First, WarmUp};
use super::{median, turn};

/// What is known of the nodes that ran an application.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedNode {
    /// Its cores.
    pub speeds: Speeds,
    /// Bytes a second that its storage reads and writes; `None` if unknown.
    pub storage: Option<[f64; 2]>,
    /// Heap of an executor in bytes.
    pub heap: f64,
    /// Whether tasks read the disks of all nodes.
    pub is_scattered: bool,
    /// By stage, CPU seconds of the nodes for each second that the engine counted; 1 where nothing
    /// was traced.
    pub counted: Vec<f64>,
}

/// What a task needs on any machine. Seconds are on a core of speed 1, if they are computing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskDemand {
    /// Seconds of scheduling, and until the next task of the slot starts.
    pub scheduling: f64,
    /// Core seconds.
    pub work: f64,
    /// Core seconds on top of `work` if the task is the first of its stage in its slot.
    pub warm_up: f64,
    /// Seconds of computing that the engine did not count.
    pub uncounted: f64,
    /// Seconds of garbage collection.
    pub gc: f64,
    /// Seconds in which it waited for shuffle data.
    pub fetch: f64,
    /// Shuffle bytes read.
    pub shuffled: f64,
    /// The part of `shuffled` that came from other hosts.
    pub remote: f64,
    /// Bytes that it read, and wrote, without spills.
    pub moved: [f64; 2],
    /// The part of the bytes written that are of files.
    pub output: f64,
    /// Bytes of its shuffle data and of its output, whether or not it waited for them.
    pub files: [f64; 2],
    /// What it does if its cached block was evicted.
    pub recompute: Recompute,
    /// The share of its bytes for which it waited; above 1 if other nodes used its storage.
    pub waited: f64,
    /// Tasks of its stage.
    pub peers: u32,
    /// Bytes on disk for each byte that is spilled.
    pub spill_ratio: f64,
    /// Bytes of execution memory with which it would not spill.
    pub memory: f64,
}

/// What the tasks of an application need.
#[derive(Clone, Debug, Default)]
pub struct Demands {
    /// Of the tasks, in their order.
    pub tasks: Vec<TaskDemand>,
    /// Of the first tasks of the stages, in their order.
    pub warm_ups: Vec<WarmUp>,
}

impl Demands {
    /// The demands of `application`.
    pub fn of(application: &Application, traced: &TracedNode) -> Self {
        let mut tasks = vec![TaskDemand::default(); application.tasks.len()];
        let mut warm_ups = Vec::with_capacity(application.stages.len());
        let in_stages = written_in_stages(application);
        for (at, stage) in application.stages.iter().enumerate() {
            let counted = traced.counted.get(at).copied().unwrap_or(1.0).max(1.0);
            let recorded = &application.tasks[stage.tasks.clone()];
            let of_stage = &mut tasks[stage.tasks.clone()];
            for (demand, task) in of_stage.iter_mut().zip(recorded) {
                let peers = stage.tasks_total();
                *demand = demand_of(task, application, traced, [counted, in_stages], peers);
            }
            if traced.is_scattered {
                wait_alike(of_stage);
            }
            let secs = of_stage.iter().map(|demand| demand.work + demand.uncounted);
            let warm_up = WarmUp::of(recorded.iter().map(|task| task.first).zip(secs));
            for (demand, task) in of_stage.iter_mut().zip(recorded) {
                demand.warm_up = warm_up.secs;
                if task.first != First::No {
                    let left = warm_up.left(demand.work + demand.uncounted);
                    demand.work *= left;
                    demand.uncounted *= left;
                }
            }
            warm_ups.push(warm_up);
        }
        for stage in &application.stages {
            take_recomputing(stage, application, &mut tasks);
        }
        Self { tasks, warm_ups }
    }
}

/// Lets all tasks of a stage wait for the same share of their bytes: which of them met another one
/// on a disk was chance, and how often tasks meet is computed.
fn wait_alike(tasks: &mut [TaskDemand]) {
    let bytes = |task: &TaskDemand| task.moved.iter().sum::<f64>();
    let all: f64 = tasks.iter().map(bytes).sum();
    let waited: f64 = tasks.iter().map(|task| bytes(task) * task.waited).sum();
    let share = if all > 0.0 { (waited / all).min(1.0) } else { 0.0 };
    tasks.iter_mut().for_each(|task| task.waited = share);
}

/// The share of the bytes that tasks write which storage has written before the last stage ends.
fn written_in_stages(application: &Application) -> f64 {
    let replicas = f64::from(application.recorded_replicas());
    let of = |task: &AppTask| task.shuffle_written + task.output * replicas;
    let written: f64 = application.tasks.iter().map(of).sum();
    if written > 0.0 { (1.0 - application.written_back / written).max(0.0) } else { 1.0 }
}

/// What a task needs, of a stage of `peers` tasks whose nodes computed `counted` seconds for each
/// that the engine counted, of an application that wrote the share `in_stages` of its bytes before
/// its end.
fn demand_of(
    task: &AppTask,
    application: &Application,
    traced: &TracedNode,
    [counted, in_stages]: [f64; 2],
    peers: u32,
) -> TaskDemand {
    let (stretch, speed) =
        (traced.speeds.stretch(task.concurrent), traced.speeds.of_core(task.concurrent));
    let run = (task.wall - task.scheduling).max(0.0);
    let rest = (run - task.cpu * stretch - task.gc - task.fetch).max(0.0);
    // CPU time of the nodes that the engine did not count.
    let more = (task.cpu * (counted - 1.0)).min(rest / stretch);
    let rest = rest - more * stretch;
    let share = |part: f64, of: f64| if of > 0.0 { (part / of).min(1.0) } else { 0.0 };
    let spilled = task.spilled_disk;
    let output = task.output * in_stages;
    let written = output + task.shuffle_written * in_stages;
    // A node writes the copies of the output of others, too.
    let copied = output * f64::from(application.recorded_replicas() - 1);
    // A cached block comes from memory.
    let input = if task.block == Block::Found { 0.0 } else { task.input };
    let bytes = [input + spilled, written + copied + spilled];
    let hosts = f64::from(application.executors.hosts.max(1));
    let [reading, writing] =
        traced.storage.map_or([0.0; 2], |rates| [0, 1].map(|op: usize| bytes[op] / rates[op]));
    let conflict = match traced.is_scattered {
        true => {
            let readers = application.executors.slots_total().min(peers);
            conflict(reading, run - rest, f64::from(readers), hosts)
        }
        false => 1.0,
    };
    let seconds = (reading * conflict + writing) * task.concurrent;
    // Nodes that wait longer than their own bytes take read what is on the storage of others.
    let most = if traced.counted.is_empty() { 1.0 } else { hosts / conflict };
    let waited = if seconds > 0.0 { (rest / seconds).min(most) } else { 0.0 };
    let waiting = waited * seconds;
    // More bytes than the storage moves in the time of the task were in the page cache.
    let alone = (reading + writing) * task.concurrent;
    let on_disk = if alone > 0.0 { share(run, alone) } else { 1.0 };
    TaskDemand {
        scheduling: task.scheduling + application.turnaround,
        work: (task.cpu + more) * speed,
        warm_up: 0.0,
        uncounted: (rest - waiting).max(0.0) * speed / stretch,
        gc: task.gc * speed / traced.speeds.stretch(1.0),
        fetch: task.fetch,
        shuffled: task.shuffled,
        remote: task.remote,
        moved: [input * on_disk, written * on_disk],
        output: output * on_disk,
        files: [task.shuffle_written, task.output],
        recompute: Recompute::default(),
        waited: (waited / on_disk.max(f64::MIN_POSITIVE)).min(most),
        peers,
        spill_ratio: if task.spilled > 0.0 { task.spilled_disk / task.spilled } else { 1.0 },
        memory: task.peak + task.spilled,
    }
}

/// Takes what the tasks of a stage did to compute blocks again out of their demands, and adds what
/// each does where its block is evicted. Without a task that did so, that is as much as a mean task
/// of the stage that made the blocks.
#[allow(clippy::cast_precision_loss)]
pub(super) fn take_recomputing(
    stage: &AppStage,
    application: &Application,
    demands: &mut [TaskDemand],
) {
    let Some(blocks) = stage.cached.map(|at| &application.cached[at]) else { return };
    let maker = application.stages[blocks.made_by].tasks.clone();
    let (count, makers) = (maker.len().max(1) as f64, &demands[maker]);
    let mean = |of: fn(&TaskDemand) -> f64| makers.iter().map(of).sum::<f64>() / count;
    let as_made = match blocks.moves_to_disk {
        true => Recompute { read: blocks.bytes / count, ..Recompute::default() },
        false => Recompute {
            work: mean(|task| task.work + task.uncounted),
            read: mean(|task| task.moved[0]),
            from: 0.0,
        },
    };
    let recorded = &application.tasks[stage.tasks.clone()];
    let of_stage = &mut demands[stage.tasks.clone()];
    let works = |wanted: Block| {
        let of = recorded.iter().zip(of_stage.iter()).filter(|(task, _)| task.block == wanted);
        of.map(|(_, demand)| demand.work + demand.uncounted).collect::<Vec<f64>>()
    };
    let (found, missed) = (median(works(Block::Found)), works(Block::Missed));
    let share = missed.len() as f64 / recorded.len().max(1) as f64;
    let usual = match missed.is_empty() {
        true => as_made,
        false => Recompute { work: (median(missed) - found).max(0.0), ..as_made },
    };
    for (at, (demand, task)) in of_stage.iter_mut().zip(recorded).enumerate() {
        let turn = turn(u32::try_from(at).unwrap_or(u32::MAX));
        demand.recompute = match task.block {
            // Blocks that were evicted on the recorded nodes are the first to be.
            Block::Missed => {
                let own = demand.work + demand.uncounted;
                let kept = if own > 0.0 { (found / own).min(1.0) } else { 1.0 };
                demand.work *= kept;
                demand.uncounted *= kept;
                let read = std::mem::take(&mut demand.moved[0]);
                Recompute { work: own * (1.0 - kept), read, from: share * turn }
            }
            _ => Recompute { from: share + (1.0 - share) * turn, ..usual },
        };
    }
}
