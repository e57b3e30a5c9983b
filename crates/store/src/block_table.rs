//! The block table of an open image: what each block must hold at the next mount, and the sync
//! journal that keeps the table up to date on the medium.
//!
//! The engine notes its changes to blocks; each sync first writes the changes noted since the
//! previous one ([`BlockTable::append`]). So the next mount demands exactly what a sync made
//! durable. A block is erased only after a sync has recorded that none of its contents are needed
//! ([`Contents::Nothing`]). So a block that is missing, or older than its record, is damaged.
//!
//! After a kill of the server, everything written is there, so the last record counts. After a
//! crash of the host, the last sync may not have completed: contents that its record adds may be
//! missing, and contents that it gives up may be gone ([`TableScan::after_crash`]).

use crate::format::journal::{self, Area, SyncRecord};
use crate::format::table::{BlockRecord, Contents, TableCopy};
use crate::media::Media;
use crate::offsets::ImageOffsets;
use gordon_units::BlockId;
use std::collections::BTreeSet;
use std::io::Result;

/// The state of all blocks according to the medium.
#[derive(Debug, Default)]
pub(crate) struct TableScan {
    /// By block: the record after the last sync.
    pub records: Vec<BlockRecord>,
    /// As `records`, but demands only what a crash of the host during the last sync leaves.
    pub after_crash: Vec<BlockRecord>,
    /// Generation of the newest undamaged copy; 0 if there is none.
    pub copy: u64,
    /// The highest generation of a copy or a journal record.
    pub generation: u64,
    /// Number of the last sync with a record.
    pub sync: u64,
    /// Identifies the orderly shutdown that wrote the newest copy; 0 if no shutdown did.
    pub shutdown: u64,
    /// Identifies the mount or orderly shutdown that wrote the newest copy.
    pub writer: u64,
    /// Numbers of the damaged copies of the table.
    pub damaged: Vec<u64>,
    /// The journal of the newest copy is damaged. After a crash of the host, this may be a record
    /// whose write was interrupted.
    pub damaged_journal: bool,
}

impl TableScan {
    /// Reads both copies of the table and both areas of the journal. The blocks of the array have
    /// `pages` pages.
    pub fn read(
        media: &dyn Media,
        offsets: &ImageOffsets,
        blocks: u32,
        pages: u32,
    ) -> Result<Self> {
        let nothing = vec![BlockRecord::default(); blocks as usize];
        let mut found = Self::default();
        let mut copies = Vec::new();
        for (number, &at) in (0..).zip(&offsets.tables) {
            let mut bytes = vec![0; offsets.table_bytes];
            media.read(at, &mut bytes)?;
            match TableCopy::decode(&bytes, number, pages) {
                Some(copy) => copies.push(copy),
                None => found.damaged.push(number),
            }
        }
        copies.sort_by_key(|copy| copy.generation);
        let journal = |generation: u64| -> Result<Area> {
            let mut bytes = vec![0; offsets.journal_bytes];
            media.read(offsets.journal(generation), &mut bytes)?;
            Ok(journal::read(&bytes, generation, blocks, pages))
        };
        let (Some(newest), older) = (copies.pop(), copies.pop()) else {
            (found.records, found.after_crash) = (nothing.clone(), nothing);
            return Ok(found);
        };
        // The journal of this copy, then that of the next copy, which may be damaged or not yet
        // written.
        let own = journal(newest.generation)?;
        found.damaged_journal = own.damaged;
        let mut later = own.records;
        later.retain(|record| record.mount == newest.mount);
        later.extend(journal(newest.generation + 1)?.records);
        later.retain(|record| record.sync > newest.sync);
        found.copy = newest.generation;
        (found.shutdown, found.writer) = (newest.shutdown, newest.writer());
        found.generation = later.last().map_or(newest.generation, |last| last.generation);
        found.sync = later.last().map_or(newest.sync, |last| last.sync);
        found.records = newest.records;
        let before = if let Some(last) = later.pop() {
            later.iter().for_each(|record| apply(&mut found.records, record));
            let before = found.records.clone();
            apply(&mut found.records, &last);
            before
        } else if let Some(older) = older.filter(|older| older.generation + 1 == found.copy) {
            // The last sync wrote the newest copy, so the state before it is that of the older
            // copy.
            let mut before = older.records;
            journal(older.generation)?.records.iter().for_each(|record| apply(&mut before, record));
            before
        } else {
            nothing
        };
        found.after_crash = before.iter().zip(&found.records).map(weaker).collect();
        Ok(found)
    }
}

fn apply(records: &mut [BlockRecord], change: &SyncRecord) {
    for &(block, record) in &change.changes {
        records[block.index()] = record;
    }
}

/// The newer record of a block, reduced to the contents that both records demand.
fn weaker((before, now): (&BlockRecord, &BlockRecord)) -> BlockRecord {
    let contents = match (before.contents, now.contents) {
        (Contents::Pages { count: less, .. }, Contents::Pages { count, .. })
            if before.erases == now.erases =>
        {
            if less < count {
                before.contents
            } else {
                now.contents
            }
        }
        _ => Contents::Nothing,
    };
    BlockRecord { contents, ..*now }
}

/// The records of the blocks, and the position of the next journal record.
#[derive(Debug)]
pub(crate) struct BlockTable {
    offsets: ImageOffsets,
    records: Vec<BlockRecord>,
    /// Blocks whose records changed since the last journal record.
    changed: BTreeSet<u32>,
    /// By block: whether the last journal record demands pages of it.
    demanded: Vec<bool>,
    generation: u64,
    mount: u64,
    /// Position of the next journal record within its area, and its number.
    at: usize,
    index: u32,
    /// Whether syncs write journal records.
    active: bool,
}

impl BlockTable {
    /// The table found on the medium. Syncs write no records until [`start`](Self::start) is
    /// called.
    pub fn new(offsets: ImageOffsets, found: &TableScan) -> Self {
        let records = found.records.clone();
        let demanded = records.iter().map(|record| record.contents.count() > 0).collect();
        Self {
            offsets,
            records,
            changed: BTreeSet::new(),
            demanded,
            // The next copy must not overwrite the only undamaged one.
            generation: found.generation + (found.generation + 1 + found.copy + 1) % 2,
            mount: 0,
            at: 0,
            index: 0,
            active: false,
        }
    }

    /// The records of all blocks.
    pub fn records(&self) -> &[BlockRecord] {
        &self.records
    }

    /// The record of a block.
    pub fn record(&self, block: BlockId) -> BlockRecord {
        self.records[block.index()]
    }

    /// Sets the record of a block, after all contents that it demands have been written.
    pub fn set_record(&mut self, block: BlockId, record: BlockRecord) {
        if self.records[block.index()] != record {
            self.records[block.index()] = record;
            self.changed.insert(block.0);
        }
    }

    /// Whether a journal record demands pages of the block. A later record must give them up before
    /// the block may be erased.
    pub fn is_demanded(&self, block: BlockId) -> bool {
        self.demanded[block.index()]
    }

    /// Writes the changed records as the journal record of sync number `sync`, which is about to
    /// start.
    pub fn append(&mut self, media: &dyn Media, sync: u64) -> Result<()> {
        if !self.active {
            return Ok(());
        }
        let bytes = journal::bytes(self.changed.len());
        if journal::place(self.at, bytes) + bytes > self.offsets.journal_bytes {
            return self.rotate(media, sync, 0);
        }
        self.write_record(media, sync)
    }

    /// Starts to record syncs. `mount` identifies this mount and must exceed the numbers of earlier
    /// mounts.
    pub fn start(&mut self, mount: u64) {
        // The area counts as full, so the next record starts a new generation.
        (self.mount, self.at, self.active) = (mount, self.offsets.journal_bytes, true);
    }

    /// Starts a new generation: a complete copy of the table and an empty journal. `shutdown`
    /// identifies the orderly shutdown that writes it; 0 if none does.
    pub fn rotate(&mut self, media: &dyn Media, sync: u64, shutdown: u64) -> Result<()> {
        let (generation, changed) = (self.generation, self.changed.clone());
        let started = self.start_generation(media, sync, shutdown);
        if started.is_err() {
            // The generation before counts until the copy is written: the next record starts the
            // same one again, with the same changes.
            self.generation = generation;
            self.at = self.offsets.journal_bytes;
            self.changed.extend(changed);
        }
        started
    }

    fn start_generation(&mut self, media: &dyn Media, sync: u64, shutdown: u64) -> Result<()> {
        self.generation += 1;
        (self.at, self.index) = (0, 0);
        let journal = self.offsets.journal(self.generation);
        media.write(journal, &vec![0; self.offsets.journal_bytes])?;
        // The copy contains the changes too. With this record, the previous copy and both journals
        // describe the same state.
        self.write_record(media, sync)?;
        let records = self.records.clone();
        let Self { generation, mount, .. } = *self;
        let copy = TableCopy { generation, sync, mount, shutdown, records };
        media.write(self.offsets.table(generation), &copy.encode())
    }

    fn write_record(&mut self, media: &dyn Media, sync: u64) -> Result<()> {
        let changed = self.changed.iter().map(|&block| BlockId(block));
        let changes = changed.map(|block| (block, self.record(block))).collect();
        let Self { generation, mount, index, .. } = *self;
        let record = SyncRecord { generation, sync, mount, index, changes };
        let bytes = record.encode();
        let at = journal::place(self.at, bytes.len());
        media.write(self.offsets.journal(self.generation) + at as u64, &bytes)?;
        self.at = at + bytes.len();
        self.index += 1;
        for (block, record) in record.changes {
            self.demanded[block.index()] = record.contents.count() > 0;
        }
        self.changed.clear();
        Ok(())
    }
}
