//! Finds the cached blocks of an application: which stage made them, and which stages read them.
//!
//! A log does not have the sizes of blocks, unless it was asked to, but a task that found its block
//! counts the block's bytes as input. A task that did not find it has computed it again, and has
//! the input of the task that made it: none, or bytes of files.

use super::application::{AT_ONCE, AppTask, Application};
use super::cached::{Block, CachedBlocks};
use gordon_trace::spark::{CachedRdd, EventLog};
use std::collections::{BTreeMap, HashMap};

impl Application {
    /// Finds the cached blocks that each stage reads: those of an RDD that an earlier stage named,
    /// too. The first of these made them. Of several RDDs most derive from one another; a stage
    /// reads the one that was made last.
    pub(super) fn find_cached(&mut self, log: &EventLog) {
        let mut rdds: HashMap<u32, BTreeMap<u32, &CachedRdd>> = HashMap::new();
        for stage in &log.stages {
            let of_stage = rdds.entry(stage.id).or_default();
            of_stage.extend(stage.cached.iter().map(|rdd| (rdd.id, rdd)));
        }
        let mut made_by: HashMap<u32, usize> = HashMap::new();
        let mut found: BTreeMap<u32, CachedBlocks> = BTreeMap::new();
        let mut readers: Vec<(usize, u32)> = Vec::new();
        for at in 0..self.stages.len() {
            let submitted = self.stages[at].submitted;
            let of_stage = rdds.get(&self.stages[at].id).into_iter().flat_map(BTreeMap::values);
            let made = of_stage.map(|rdd| (*made_by.entry(rdd.id).or_insert(at), *rdd));
            let read = made.filter(|(maker, _)| {
                *maker != at && self.stages[*maker].ended <= submitted + AT_ONCE
            });
            let Some((maker, rdd)) = read.max_by_key(|(maker, rdd)| (*maker, rdd.id)) else {
                continue;
            };
            let Some(read) = self.classify(at, maker) else { continue };
            let blocks = found.entry(rdd.id).or_insert(CachedBlocks {
                made_by: maker,
                moves_to_disk: rdd.moves_to_disk,
                ..CachedBlocks::default()
            });
            blocks.last_read_by = at;
            blocks.bytes = blocks.bytes.max(read.bytes);
            blocks.reads += read.reads;
            blocks.missed += read.missed;
            readers.push((at, rdd.id));
        }
        for (at, id) in readers {
            self.stages[at].cached = found.keys().position(|known| *known == id);
            self.stages[at].blocks = self.makers(at, found[&id].made_by);
        }
        self.cached = found.into_values().collect();
    }

    /// Which tasks of a stage found their blocks; `None` if none did.
    #[allow(clippy::cast_precision_loss)]
    fn classify(&mut self, stage: usize, maker: usize) -> Option<CachedBlocks> {
        let of_maker = &self.tasks[self.stages[maker].tasks.clone()];
        let inputs: HashMap<u32, f64> =
            of_maker.iter().map(|task| (task.partition, task.input)).collect();
        let is_found = |task: &AppTask| {
            task.input > 0.0 && inputs.get(&task.partition).is_none_or(|made| *made != task.input)
        };
        let tasks = &mut self.tasks[self.stages[stage].tasks.clone()];
        let of_found = |task: &&AppTask| is_found(task);
        let sizes: Vec<f64> = tasks.iter().filter(of_found).map(|task| task.input).collect();
        if sizes.is_empty() {
            return None;
        }
        for task in tasks.iter_mut() {
            task.block = if is_found(task) { Block::Found } else { Block::Missed };
        }
        let (reads, found) = (tasks.len(), sizes.len());
        let bytes = sizes.iter().sum::<f64>() / found as f64 * reads as f64;
        Some(CachedBlocks { bytes, reads, missed: reads - found, ..CachedBlocks::default() })
    }

    /// Of each task of a stage, the place of the task of its partition in the stage that made the
    /// blocks; nothing if one has none.
    fn makers(&self, stage: usize, maker: usize) -> Vec<u32> {
        let of_maker = &self.tasks[self.stages[maker].tasks.clone()];
        let places: HashMap<u32, u32> =
            (0..).zip(of_maker).map(|(place, task)| (task.partition, place)).collect();
        let tasks = &self.tasks[self.stages[stage].tasks.clone()];
        let found = tasks.iter().map(|task| places.get(&task.partition).copied());
        found.collect::<Option<Vec<u32>>>().unwrap_or_default()
    }

    /// The most bytes of blocks that are needed at a time: from the stage that made them to the
    /// last one that reads them.
    pub(super) fn most_cached(&self) -> f64 {
        let at = |stage: usize| {
            let needed =
                |blocks: &&CachedBlocks| (blocks.made_by..=blocks.last_read_by).contains(&stage);
            self.cached.iter().filter(needed).map(|blocks| blocks.bytes).sum()
        };
        self.cached.iter().map(|blocks| at(blocks.made_by)).fold(0.0, f64::max)
    }

    /// Share of the reads of blocks that did not find them.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn missed(&self) -> f64 {
        let reads: usize = self.cached.iter().map(|blocks| blocks.reads).sum();
        let missed: usize = self.cached.iter().map(|blocks| blocks.missed).sum();
        missed as f64 / reads.max(1) as f64
    }
}
