//! An image: a NAND array in a file. What is where: docs/SPEC.md.

use crate::device::{Device, Resolved};
use crate::error::ImageError;
use crate::faults::factory_bad;
use crate::format::superblock::{self, Flaw, Superblock};
use crate::format::table::{self, Record, Standing};
use crate::format::{is_zero, oob};
use crate::media::{Backend, File, Media};
use crate::synced::Synced;
use gordon_nand::Layout;
use gordon_units::{BlockId, Ppn};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What holes and files are counted in.
const BLOCK: u64 = 4096;

/// What is where in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The block table.
    pub table: u64,
    /// Bytes of an out-of-band entry.
    pub oob_bytes: usize,
    /// Bytes of a super-page.
    pub page_bytes: u64,
    /// Bytes of a slot.
    pub unit: u64,
    blocks: u64,
    /// From one super-block to the next.
    stride: u64,
    /// From the start of a super-block to its first page.
    data: u64,
    pages: u32,
    /// Bytes in all.
    pub len: u64,
}

impl Places {
    /// Of an array with slots of `unit` bytes.
    #[must_use]
    pub fn new(layout: &Layout, slots: u32) -> Self {
        let pages = layout.pages_per_block();
        let page_bytes = layout.page_bytes().0;
        let oob_bytes = oob::bytes(slots);
        let table = 2 * superblock::BYTES as u64;
        let records = u64::from(layout.blocks()) * table::BYTES as u64;
        let blocks = (table + records).next_multiple_of(BLOCK);
        let data = (u64::from(pages) * oob_bytes as u64).next_multiple_of(BLOCK);
        let stride = (data + u64::from(pages) * page_bytes).next_multiple_of(BLOCK);
        let len = blocks + u64::from(layout.blocks()) * stride;
        let unit = page_bytes / u64::from(slots);
        Self { table, oob_bytes, page_bytes, unit, blocks, stride, data, pages, len }
    }

    /// A block's record in the table.
    #[must_use]
    pub fn record(&self, block: BlockId) -> u64 {
        self.table + u64::from(block.0) * table::BYTES as u64
    }

    /// Where a super-block starts: with its out-of-band entries.
    #[must_use]
    pub fn block(&self, block: BlockId) -> u64 {
        self.blocks + u64::from(block.0) * self.stride
    }

    /// Bytes of a super-block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.stride
    }

    /// The data of a super-block: from where, and how much.
    #[must_use]
    pub fn data(&self, block: BlockId) -> (u64, u64) {
        (self.block(block) + self.data, self.stride - self.data)
    }

    /// Bytes of the out-of-band entries of a super-block.
    #[must_use]
    pub fn oob_area(&self) -> usize {
        self.pages as usize * self.oob_bytes
    }

    /// A page's out-of-band entry.
    #[must_use]
    pub fn oob(&self, ppn: Ppn) -> u64 {
        let (block, page) = self.split(ppn);
        self.block(block) + u64::from(page) * self.oob_bytes as u64
    }

    /// A slot of a page.
    #[must_use]
    pub fn slot(&self, ppn: Ppn, slot: u32) -> u64 {
        let (block, page) = self.split(ppn);
        let within = u64::from(page) * self.page_bytes + u64::from(slot) * self.unit;
        self.block(block) + self.data + within
    }

    fn split(&self, ppn: Ppn) -> (BlockId, u32) {
        (BlockId(ppn.0 / self.pages), ppn.0 % self.pages)
    }
}

/// An open image.
pub struct Image {
    /// Its name, for messages.
    pub path: PathBuf,
    pub(crate) disk: Arc<Synced>,
    pub(crate) superblock: Superblock,
    pub(crate) resolved: Resolved,
    pub(crate) places: Places,
    pub(crate) records: Vec<Record>,
    /// Records of the table that were damaged: what stands for them is guessed.
    pub damaged: Vec<BlockId>,
    /// One of the two superblocks was damaged.
    pub lost_superblock: bool,
    /// It was left in order.
    pub clean: bool,
    /// The host has not crashed since it was opened last: all that was written is there.
    pub same_boot: bool,
}

impl Image {
    /// Makes an image of an erased array in a new file, and opens it. It has its name only when all
    /// of it is there.
    pub fn create(path: &Path, device: Device, backend: Backend) -> Result<Self, ImageError> {
        let fail = |error| ImageError::io(path, error);
        let resolved = resolve(path, &device)?;
        let places = Places::new(&resolved.layout, resolved.config.slots);
        if path.symlink_metadata().is_ok() {
            return Err(ImageError::Exists(path.to_owned()));
        }
        let name = path.file_name().ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?;
        let mut partial = name.to_owned();
        partial.push(format!(".partial-{}", std::process::id()));
        let partial = path.with_file_name(partial);
        let made = File::create(&partial, places.len, backend)
            .map_err(fail)
            .and_then(|file| Self::format(path, Box::new(file), device))
            .and_then(|image| rename(&partial, path).map_err(fail).map(|()| image));
        if made.is_err() {
            // There may be none.
            let _ = fs::remove_file(&partial);
        }
        made
    }

    /// Opens an image and locks it: to write against all others, to read against those who write.
    pub fn open(path: &Path, backend: Backend, write: bool) -> Result<Self, ImageError> {
        let file = File::open(path, backend, write).map_err(|error| ImageError::io(path, error))?;
        Self::on(path, Box::new(file))
    }

    /// Makes an image on any medium of the right length: [`Places::len`].
    pub fn format(path: &Path, media: Box<dyn Media>, device: Device) -> Result<Self, ImageError> {
        let fail = |error| ImageError::io(path, error);
        let resolved = resolve(path, &device)?;
        let layout = &resolved.layout;
        let places = Places::new(layout, resolved.config.slots);
        let mut records = vec![Record::default(); layout.blocks() as usize];
        for block in factory_bad(layout, device.faults.factory_bad, device.seed) {
            records[block.index()].standing = Standing::Factory;
        }
        let table: Vec<u8> =
            (0..).zip(&records).flat_map(|(at, record)| table::encode(at, *record)).collect();
        media.write(places.table, &table).map_err(fail)?;
        let uuid = random_bytes().map_err(fail)?;
        let superblock = Superblock { generation: 2, clean: true, uuid, boot: boot(), device };
        for copy in 0..2 {
            let bytes = superblock::encode(&superblock);
            media.write(copy * superblock::BYTES as u64, &bytes).map_err(fail)?;
        }
        media.sync().map_err(fail)?;
        Self::on(path, media)
    }

    /// Opens an image on any medium.
    pub fn on(path: &Path, media: Box<dyn Media>) -> Result<Self, ImageError> {
        let fail = |error| ImageError::io(path, error);
        let (superblock, lost_superblock) = find_superblock(path, &*media)?;
        let resolved = resolve(path, &superblock.device)?;
        let places = Places::new(&resolved.layout, resolved.config.slots);
        if media.len() < places.len {
            let (path, len) = (path.to_owned(), media.len());
            return Err(ImageError::Truncated { path, len, expected: places.len });
        }
        if !places.unit.is_multiple_of(media.alignment() as u64) {
            return Err(ImageError::Unaligned(path.to_owned(), places.unit));
        }
        let mut table = vec![0; resolved.layout.blocks() as usize * table::BYTES];
        media.read(places.table, &mut table).map_err(fail)?;
        let (records, damaged) = read_table(&table);
        let now = boot();
        if !superblock.clean && is_zero(&superblock.boot) {
            media.forget().map_err(fail)?;
        }
        Ok(Self {
            path: path.to_owned(),
            disk: Arc::new(Synced::new(media)),
            clean: superblock.clean && !lost_superblock,
            same_boot: now == superblock.boot && !is_zero(&now),
            superblock,
            resolved,
            places,
            records,
            damaged,
            lost_superblock,
        })
    }

    /// What it is of.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.superblock.device
    }

    /// What its parts are made from.
    #[must_use]
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// What is where.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// What the table says of a block.
    #[must_use]
    pub fn record(&self, block: BlockId) -> Record {
        self.records[block.index()]
    }

    /// The name of the image itself, as 32 hexadecimal digits.
    #[must_use]
    pub fn uuid(&self) -> String {
        self.superblock.uuid.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Blocks out of service. One that has failed a program is not among them: it may still hold data.
    #[must_use]
    pub fn bad(&self) -> Vec<BlockId> {
        let blocks = (0..).map(BlockId).zip(&self.records);
        let gone = |record: &Record| !matches!(record.standing, Standing::Good | Standing::Program);
        blocks.filter(|(_, record)| gone(record)).map(|(at, _)| at).collect()
    }

    /// Writes a block's record.
    pub(crate) fn set_record(&mut self, block: BlockId, record: Record) -> io::Result<()> {
        self.records[block.index()] = record;
        let (at, bytes) = (self.places.record(block), table::encode(block.0, record));
        self.disk.change(|media| media.write(at, &bytes))
    }

    /// Writes the whole block table.
    pub(crate) fn set_records(&mut self, records: Vec<Record>) -> io::Result<()> {
        self.records = records;
        let records = (0..).zip(&self.records);
        let table: Vec<u8> = records.flat_map(|(at, record)| table::encode(at, *record)).collect();
        let at = self.places.table;
        self.disk.change(|media| media.write(at, &table))
    }

    /// Says in both superblocks, as far as that is possible, that a sync has failed: what was written
    /// may be gone though the host has not crashed.
    pub(crate) fn distrust(&mut self) {
        self.superblock.boot = [0; 16];
        for _ in 0..2 {
            self.superblock.generation += 1;
            let copy = self.superblock.generation % 2;
            let bytes = superblock::encode(&self.superblock);
            let _ = self.disk.change(|media| media.write(copy * superblock::BYTES as u64, &bytes));
        }
        let _ = self.disk.media().sync();
    }

    /// Says in both superblocks, one after the other, that the image is in order or in use. With one
    /// of them lost the other is not taken at its word.
    pub(crate) fn mark(&mut self, clean: bool) -> io::Result<()> {
        self.superblock.clean = clean;
        self.superblock.boot = boot();
        for _ in 0..2 {
            self.superblock.generation += 1;
            let copy = self.superblock.generation % 2;
            let bytes = superblock::encode(&self.superblock);
            self.disk.change(|media| media.write(copy * superblock::BYTES as u64, &bytes))?;
            self.disk.sync()?;
        }
        Ok(())
    }
}

fn resolve(path: &Path, device: &Device) -> Result<Resolved, ImageError> {
    device.resolve().map_err(|why| ImageError::Device { path: path.to_owned(), why })
}

/// The newer of the two superblocks, and whether the other is unusable.
fn find_superblock(path: &Path, media: &dyn Media) -> Result<(Superblock, bool), ImageError> {
    let read = |copy: u64| {
        let mut bytes = vec![0; superblock::BYTES];
        match media.read(copy * superblock::BYTES as u64, &mut bytes) {
            Ok(()) => Ok(superblock::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Err(Flaw::Foreign)),
            Err(error) => Err(ImageError::io(path, error)),
        }
    };
    match (read(0)?, read(1)?) {
        (Ok(first), Ok(second)) => {
            let newer = if first.generation > second.generation { first } else { second };
            Ok((newer, false))
        }
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok((one, true)),
        (Err(Flaw::Version(version)), _) | (_, Err(Flaw::Version(version))) => {
            let hint = if version > superblock::VERSION {
                "use a newer version of this program"
            } else {
                "use the version of this program that made it"
            };
            let (path, known) = (path.to_owned(), superblock::VERSION);
            Err(ImageError::Version { path, version, known, hint })
        }
        (Err(Flaw::Damaged), _) | (_, Err(Flaw::Damaged)) => {
            Err(ImageError::Damaged(path.to_owned()))
        }
        _ => Err(ImageError::Foreign(path.to_owned())),
    }
}

/// Whether an image is there, in whatever state.
pub fn is_image(media: &dyn Media) -> io::Result<bool> {
    for copy in 0..2 {
        let mut start = [0; superblock::MAGIC.len()];
        match media.read(copy * superblock::BYTES as u64, &mut start) {
            Ok(()) if start == *superblock::MAGIC => return Ok(true),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            _ => {}
        }
    }
    Ok(false)
}

/// The records, and the blocks whose record is damaged: those are taken as good and as worn as the
/// others are in the mean. A block that is bad will fail again.
fn read_table(table: &[u8]) -> (Vec<Record>, Vec<BlockId>) {
    let read = (0..).zip(table.chunks_exact(table::BYTES));
    let read: Vec<_> = read.map(|(at, bytes)| table::decode(at, bytes)).collect();
    let known = read.iter().flatten();
    let erases: u64 = known.clone().map(|record| u64::from(record.erases)).sum();
    let mean = erases / (known.count() as u64).max(1);
    let guess = Record { erases: u32::try_from(mean).unwrap_or(u32::MAX), ..Record::default() };
    let damaged = (0..).map(BlockId).zip(&read).filter(|(_, record)| record.is_none());
    let damaged = damaged.map(|(at, _)| at).collect();
    (read.into_iter().map(|record| record.unwrap_or(guess)).collect(), damaged)
}

/// Renames, but never over another file, and makes the name durable.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    use rustix::io::Errno;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)?;
        }
        Err(error) => return Err(error.into()),
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// The run of the host's kernel; all zero where it is not told.
fn boot() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| digit.to_digit(16)?.try_into().ok()).collect();
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    id
}

fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
