//! The journal of removals: objects that were deleted, purged, replaced or damaged never return
//! after a crash.
//!
//! A caller that removed an object from flash queues a [`Record`] and waits until it is durable.
//! Records that are queued meanwhile share the next page. When the half in use is full, the records
//! that still matter are written to the other half: those that are newer than the oldest object on
//! the medium. If they do not fit, the segments with the oldest objects are evicted.

use crate::error::Error;
use crate::format::journal::{Page, Record};
use crate::format::superblock::Superblock;
use crate::oneshot::{self, Receiver, Sender};

pub(crate) type Durable = Receiver<Result<(), String>>;

/// The journal.
#[derive(Default)]
pub(crate) struct Journal {
    pub superblock: Option<Superblock>,
    /// Records on the medium, or about to be written.
    pub records: Vec<Record>,
    pub generation: u64,
    /// Next page of the half in use.
    pub next_page: u32,
    /// Objects with lower sequence numbers are gone.
    pub floor: u64,
    /// Whether segments were evicted, and the floor that records it is not durable yet.
    pub floor_pending: bool,
    /// Whether a write failed: the half in use may end with a damaged page.
    pub restart: bool,
    /// Whether the next write starts a generation, without the purges whose objects have left all
    /// sets.
    pub was_swept: bool,
    /// Whether the first pages of the generation are durable; until then the other half counts.
    pub is_started: bool,
    /// Whether a segment was evicted, and is not discarded durably yet.
    pub is_evicting: bool,
    /// Whether the records do not fit until a segment that is being written is complete.
    pub blocked: bool,
    pub pending: Vec<Record>,
    /// Records that are being written.
    pub in_flight: Vec<Record>,
    pub waiting: Vec<Sender<Result<(), String>>>,
}

impl Journal {
    /// Queues a record, which is durable when the result resolves.
    pub fn push(&mut self, record: Record) -> Durable {
        self.pending.push(record);
        self.wait()
    }

    /// Resolves when everything that was queued is durable.
    pub fn wait(&mut self) -> Durable {
        let (sender, receiver) = oneshot::channel();
        self.waiting.push(sender);
        receiver
    }

    /// Whether evictions are not durable yet, or records could not be written, so that a new object
    /// may have an older version.
    pub fn must_wait(&self) -> bool {
        self.floor_pending || self.restart || self.is_evicting
    }

    /// Whether the removal of an object is recorded, but not durable yet.
    pub fn is_unsettled(&self, hash: u64, key: &[u8]) -> bool {
        self.pending.iter().chain(&self.in_flight).any(|record| match record {
            Record::Removed { hash: removed, .. } => *removed == hash,
            Record::Purged { prefix, .. } => key.starts_with(prefix),
            Record::Lost { .. } => true,
            Record::Closed { .. } => false,
        })
    }

    /// Starts with a new generation, because the one in use is damaged.
    pub fn restart_now(&mut self) {
        self.restart = true;
    }

    pub fn has_work(&self) -> bool {
        !self.waiting.is_empty() && !self.blocked
    }

    /// Distributes records to pages, each with `capacity` bytes for them.
    pub fn pages(
        &self,
        records: &[Record],
        first: u32,
        written: u64,
        capacity: usize,
    ) -> Vec<Page> {
        let page = |number| Page {
            generation: self.generation,
            number,
            batch: first,
            first_pages: 1,
            floor: self.floor,
            written,
            records: Vec::new(),
        };
        let mut pages = vec![page(first)];
        let mut used = 0;
        for record in records {
            if used + record.len() > capacity {
                let number = first + u32::try_from(pages.len()).unwrap_or(u32::MAX);
                pages.push(page(number));
                used = 0;
            }
            used += record.len();
            if let Some(last) = pages.last_mut() {
                last.records.push(record.clone());
            }
        }
        pages
    }
}

/// Waits until records, or removals from sets, are durable.
pub(crate) async fn durable(received: impl IntoIterator<Item = Durable>) -> Result<(), Error> {
    let mut result = Ok(());
    for received in received {
        let found = match received.await {
            Some(Ok(())) => Ok(()),
            Some(Err(why)) => Err(Error::Journal(why)),
            None => Err(Error::Closed),
        };
        result = result.and(found);
    }
    result
}
