//! The block table of an open image: what each block must hold at the next mount, and the sync
//! journal that keeps it up to date on the medium.
//!
//! The engine notes what it does to a block; each sync first writes what was noted since the sync
//! before ([`BlockTable::append`]). So what a sync makes durable is also what the next mount
//! demands. A block is only erased after a sync has recorded that nothing of it is needed
//! ([`Contents::Nothing`]), so a block that is missing, or older than its record, is damage.
//!
//! After a kill all that was written is there, so the last record counts. After a crash of the host
//! the last sync may not have ended: what its record adds may be missing, and what it gives up may
//! be gone ([`TableScan::after_crash`]).

use crate::format::journal::{self, Area, SyncRecord};
use crate::format::table::{BlockRecord, Contents, TableCopy};
use crate::image::ImageOffsets;
use crate::media::Media;
use gordon_units::BlockId;
use std::collections::BTreeSet;
use std::io::Result;

/// What the medium says about all blocks.
#[derive(Debug, Default)]
pub(crate) struct TableScan {
    /// By block: its record.
    pub records: Vec<BlockRecord>,
    /// The same, of which only as much counts as a crash of the host cannot have undone.
    pub after_crash: Vec<BlockRecord>,
    /// Generation of the newest copy that is sound; 0: none is.
    pub copy: u64,
    /// The highest generation of a copy or a record.
    pub generation: u64,
    /// The last sync that has a record.
    pub sync: u64,
    /// Identifies the orderly shutdown that wrote the newest copy; 0: none did.
    pub shutdown: u64,
    /// Identifies the mount or the orderly shutdown that wrote the newest copy.
    pub writer: u64,
    /// Copies of the table that are damaged.
    pub damaged: Vec<u64>,
    /// Something in the journal of the newest copy is damaged. After a crash of the host it may be
    /// a record that was cut short.
    pub damaged_journal: bool,
}

impl TableScan {
    /// Reads both copies of the table, and both areas of the journal, of an array of blocks of
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
        // The journal of this copy, then that of the next, which may be damaged or not yet written.
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
            // The newest copy is that of the last sync, so what was before it is in the other.
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

/// The newer record of a block, without what only one of the two demands.
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

/// What is noted of blocks, and where the next record of the journal goes.
#[derive(Debug)]
pub(crate) struct BlockTable {
    offsets: ImageOffsets,
    records: Vec<BlockRecord>,
    /// Blocks noted since the last record.
    changed: BTreeSet<u32>,
    /// By block: the last record of the journal demands pages of it.
    demanded: Vec<bool>,
    generation: u64,
    mount: u64,
    /// Where the next record goes, within its area, and its number.
    at: usize,
    index: u32,
    /// Syncs are recorded.
    active: bool,
}

impl BlockTable {
    /// The table as it was found. No syncs are recorded before it is [started](Self::start).
    pub fn new(offsets: ImageOffsets, found: &TableScan) -> Self {
        let records = found.records.clone();
        let demanded = records.iter().map(|record| record.contents.count() > 0).collect();
        Self {
            offsets,
            records,
            changed: BTreeSet::new(),
            demanded,
            // The next copy does not go over the only one that is sound.
            generation: found.generation + (found.generation + 1 + found.copy + 1) % 2,
            mount: 0,
            at: 0,
            index: 0,
            active: false,
        }
    }

    /// All records, by block.
    pub fn records(&self) -> &[BlockRecord] {
        &self.records
    }

    /// A block's record.
    pub fn record(&self, block: BlockId) -> BlockRecord {
        self.records[block.index()]
    }

    /// Notes a block's new record, after all that it demands has been written.
    pub fn set_record(&mut self, block: BlockId, record: BlockRecord) {
        if self.records[block.index()] != record {
            self.records[block.index()] = record;
            self.changed.insert(block.0);
        }
    }

    /// Whether a record of the journal demands pages of the block. Before such a block is erased, a
    /// later record has to give them up.
    pub fn is_demanded(&self, block: BlockId) -> bool {
        self.demanded[block.index()]
    }

    /// Writes what has changed, as the record of the sync `sync`, which is about to start.
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

    /// Records syncs from the next on. `mount` identifies this mount, and is above that of any
    /// earlier one.
    pub fn start(&mut self, mount: u64) {
        // So the next record begins a new generation.
        (self.mount, self.at, self.active) = (mount, self.offsets.journal_bytes, true);
    }

    /// Begins a new generation: a whole copy of the table, and an empty journal. `shutdown`
    /// identifies the orderly shutdown that this ends; 0 for none.
    pub fn rotate(&mut self, media: &dyn Media, sync: u64, shutdown: u64) -> Result<()> {
        self.generation += 1;
        (self.at, self.index) = (0, 0);
        let journal = self.offsets.journal(self.generation);
        media.write(journal, &vec![0; self.offsets.journal_bytes])?;
        // The changes are in the copy too. The record makes the copy before this one, with both
        // journals, say the same.
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
