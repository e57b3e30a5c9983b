//! What a cache has in memory of the sets that are being read, changed or written.

use crate::format::set::SetContent;
use crate::journal::Durable;
use crate::oneshot::{self, Sender};
use gordon_cache::tiered::SetChoice;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Waiting = Vec<Sender<std::result::Result<(), String>>>;

/// Sets that are being read, changed or written.
#[derive(Default)]
pub(crate) struct SetStates {
    /// By set, readers and the number of writes that have started since the first of them.
    pub readers: BTreeMap<u32, (u32, u64)>,
    pub removing: BTreeMap<u32, Removing>,
    pub writing: BTreeMap<u32, Writing>,
    /// Sets whose last write failed: a restart may find their old or their new content.
    pub unsettled: BTreeSet<u32>,
}

/// Objects that must be removed from a set.
#[derive(Default)]
pub(crate) struct Removing {
    pub hashes: Vec<u64>,
    pub waiting: Waiting,
    pub is_queued: bool,
}

/// A set that is being written.
pub(crate) struct Writing {
    pub content: SetContent,
    pub choice: SetChoice,
    pub removed: Vec<u64>,
    pub waiting: Waiting,
}

pub(crate) fn wait(waiting: &mut Waiting) -> Durable {
    let (sender, receiver) = oneshot::channel();
    waiting.push(sender);
    receiver
}

impl SetStates {
    /// Whether an object is to be removed from a set, and the write has not started.
    pub fn is_removing(&self, set: u32, hash: u64) -> bool {
        self.removing.get(&set).is_some_and(|removing| removing.hashes.contains(&hash))
    }
}
