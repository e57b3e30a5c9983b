//! An image: a NAND array in a file. The format is in docs/SPEC.md.

use crate::block_table::{BlockTable, TableScan};
use crate::device::DeviceParams;
use crate::error::ImageError;
use crate::faults::{FaultInjector, factory_bad};
use crate::format::superblock::{self, Superblock, SuperblockError, Usage};
use crate::format::table::{self, BlockHealth, BlockRecord, Contents};
use crate::format::{digest, is_zero, legacy};
use crate::media::{Backend, FileMedia, Media};
use crate::offsets::{ImageOffsets, LEGACY_TABLE};
use crate::resolved_device::ResolvedDevice;
use crate::sync_tracker::SyncTracker;
use gordon_units::BlockId;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Generation of the block table of a new image.
const FIRST: u64 = 2;
/// Writer identifier of the block table of a new image.
const FIRST_WRITER: u64 = 1;

/// How the image was last closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastShutdown {
    /// By an orderly shutdown: its contents are exactly those in the block table.
    Closed,
    /// By a kill of the server: everything written is present.
    Killed,
    /// By a crash of the host: data written after the last sync may be present or not.
    Crashed,
}

/// An open image.
pub struct Image {
    /// Path of the image, for messages.
    pub path: PathBuf,
    pub(crate) sync_tracker: Arc<SyncTracker>,
    pub(crate) superblock: Superblock,
    pub(crate) resolved: ResolvedDevice,
    pub(crate) offsets: ImageOffsets,
    /// How the image was last closed.
    pub last_shutdown: LastShutdown,
    /// By block: the record with which the mount compares it.
    pub(crate) expected: Vec<BlockRecord>,
    /// The last sync with a journal record; `None` for an image of version 2.
    pub(crate) recorded_sync: Option<u64>,
    /// Identifies the mount or orderly shutdown that wrote the block table.
    writer: u64,
    /// Damage that redundant metadata repair.
    pub redundant: Vec<String>,
    /// Damage to metadata that determine the contents of the image.
    pub(crate) unproven: Vec<String>,
}

impl Image {
    /// Creates an image of an erased array in a new file, and opens it. The file gets its name only
    /// when it is complete.
    pub fn create(path: &Path, device: DeviceParams, backend: Backend) -> Result<Self, ImageError> {
        let fail = |error| ImageError::io(path, error);
        let resolved = resolve(path, &device)?;
        let offsets = ImageOffsets::new(&resolved);
        if path.symlink_metadata().is_ok() {
            return Err(ImageError::Exists(path.to_owned()));
        }
        let name = path.file_name().ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?;
        let mut partial = name.to_owned();
        partial.push(format!(".partial-{}", std::process::id()));
        let partial = path.with_file_name(partial);
        let made = FileMedia::create(&partial, offsets.len, backend)
            .map_err(fail)
            .and_then(|file| Self::format(path, Box::new(file), device))
            .and_then(|image| rename(&partial, path).map_err(fail).map(|()| image));
        if made.is_err() {
            // The file may not exist.
            let _ = fs::remove_file(&partial);
        }
        made
    }

    /// Opens and locks an image: for writing against all others, for reading against writers.
    pub fn open(path: &Path, backend: Backend, write: bool) -> Result<Self, ImageError> {
        let file =
            FileMedia::open(path, backend, write).map_err(|error| ImageError::io(path, error))?;
        Self::on(path, Box::new(file))
    }

    /// Creates an image on any medium, which must have the length [`ImageOffsets::len`].
    pub fn format(
        path: &Path,
        media: Box<dyn Media>,
        device: DeviceParams,
    ) -> Result<Self, ImageError> {
        let fail = |error| ImageError::io(path, error);
        let resolved = resolve(path, &device)?;
        let layout = &resolved.layout;
        let offsets = ImageOffsets::new(&resolved);
        let mut records = vec![BlockRecord::default(); layout.blocks() as usize];
        for block in factory_bad(layout, device.faults.factory_bad, device.seed) {
            records[block.index()].health = BlockHealth::Factory;
        }
        write_metadata(&*media, &offsets, &records, resolved.config.exported).map_err(fail)?;
        let uuid = random_bytes().map_err(fail)?;
        let (version, generation) = (superblock::VERSION, 2);
        let (mount, found) = (FIRST_WRITER, FIRST_WRITER);
        let superblock = Superblock {
            version,
            generation,
            clean: true,
            uuid,
            boot: boot(),
            mount,
            found,
            usage: Usage::Layer,
            device,
        };
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
        let (offsets, layout) = (ImageOffsets::new(&resolved), &resolved.layout);
        let is_legacy = superblock.version < superblock::VERSION;
        let expected = if is_legacy { offsets.blocks_end } else { offsets.len };
        if media.len() < expected {
            let (path, len) = (path.to_owned(), media.len());
            return Err(ImageError::Truncated { path, len, expected });
        }
        if !offsets.unit.is_multiple_of(media.alignment() as u64) {
            return Err(ImageError::Unaligned(path.to_owned(), offsets.unit));
        }
        let now = boot();
        if !superblock.clean && is_zero(&superblock.boot) {
            media.forget().map_err(fail)?;
        }
        let same_boot = now == superblock.boot && !is_zero(&now);
        let mut redundant = Vec::new();
        if let Some(copy) = lost_superblock {
            redundant.push(format!("superblock {copy} is damaged"));
        }
        let mut unproven = Vec::new();
        let found = if is_legacy {
            let (found, damaged) = read_legacy(&*media, layout.blocks()).map_err(fail)?;
            unproven.extend(damaged);
            found
        } else {
            let found =
                TableScan::read(&*media, &offsets, layout.blocks(), layout.pages_per_block());
            let found = found.map_err(fail)?;
            match found.damaged[..] {
                [] => {}
                [copy] => redundant.push(format!("copy {copy} of the block table is damaged")),
                _ => unproven.push("both copies of the block table are damaged".to_owned()),
            }
            let shutdown = superblock.clean && found.shutdown != superblock.mount;
            let other = ![superblock.mount, superblock.found].contains(&found.writer);
            if found.copy > 0 && (shutdown || other) {
                unproven.push("the block table is older than the superblock".to_owned());
            }
            found
        };
        let last_shutdown = match () {
            () if superblock.clean && !is_legacy && found.shutdown == superblock.mount => {
                LastShutdown::Closed
            }
            () if same_boot => LastShutdown::Killed,
            () => LastShutdown::Crashed,
        };
        if last_shutdown == LastShutdown::Killed && found.damaged_journal {
            unproven.push("the sync journal is damaged".to_owned());
        }
        let table = BlockTable::new(offsets, &found);
        let expected =
            if last_shutdown == LastShutdown::Crashed { found.after_crash } else { found.records };
        Ok(Self {
            path: path.to_owned(),
            sync_tracker: Arc::new(SyncTracker::recorded(media, table)),
            last_shutdown,
            expected,
            recorded_sync: (!is_legacy).then_some(found.sync),
            writer: found.writer,
            superblock,
            resolved,
            offsets,
            redundant,
            unproven,
        })
    }

    /// Whether the format is older than the version that this program writes.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.superblock.version < superblock::VERSION
    }

    /// Whether a program erases and programs the blocks itself ([`RawNand`](crate::RawNand)).
    #[must_use]
    pub fn is_raw(&self) -> bool {
        self.superblock.usage == Usage::Raw
    }

    /// Whether no block holds anything: the image is new, or all of its data were superseded before
    /// an orderly shutdown.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        self.last_shutdown == LastShutdown::Closed
            && self.unproven.is_empty()
            && self.expected.iter().all(|record| record.contents == Contents::Nothing)
    }

    /// The device parameters.
    #[must_use]
    pub fn device(&self) -> &DeviceParams {
        &self.superblock.device
    }

    /// The device in resolved form.
    #[must_use]
    pub fn resolved(&self) -> &ResolvedDevice {
        &self.resolved
    }

    /// The faults of the device.
    pub(crate) fn fault_injector(&self) -> FaultInjector {
        let (device, resolved) = (self.device(), self.resolved());
        FaultInjector::new(device.faults, device.seed, &resolved.layout, resolved.endurance)
    }

    /// Number of data pages of a block; the summary follows them.
    #[must_use]
    pub fn data_pages(&self) -> u32 {
        self.resolved.config.data_pages(&self.resolved.layout)
    }

    /// Offsets of the parts of the image.
    #[must_use]
    pub fn offsets(&self) -> &ImageOffsets {
        &self.offsets
    }

    /// The record of a block in the block table.
    #[must_use]
    pub fn record(&self, block: BlockId) -> BlockRecord {
        self.sync_tracker.table().record(block)
    }

    /// All records of the block table.
    #[must_use]
    pub fn records(&self) -> Vec<BlockRecord> {
        self.sync_tracker.table().records().to_vec()
    }

    /// The unique identifier of the image, as 32 hexadecimal digits.
    #[must_use]
    pub fn uuid(&self) -> String {
        self.superblock.uuid.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Blocks out of service. A block that failed a program is not included, since it may still
    /// hold data.
    #[must_use]
    pub fn bad(&self) -> Vec<BlockId> {
        let records = self.records();
        let blocks = (0..).map(BlockId).zip(&records);
        let gone = |record: &BlockRecord| {
            !matches!(record.health, BlockHealth::Good | BlockHealth::Program)
        };
        blocks.filter(|(_, record)| gone(record)).map(|(at, _)| at).collect()
    }

    /// Records in both superblocks, on a best-effort basis, that a sync has failed: data written
    /// may be lost although the host has not crashed.
    pub(crate) fn mark_untrusted(&mut self) {
        self.superblock.boot = [0; 16];
        for _ in 0..2 {
            self.superblock.generation += 1;
            let copy = self.superblock.generation % 2;
            let bytes = superblock::encode(&self.superblock);
            let _ = self
                .sync_tracker
                .change(|media| media.write(copy * superblock::BYTES as u64, &bytes));
        }
        let _ = self.sync_tracker.media().sync();
    }

    /// Marks the image as in use and starts to record changes. After a crash of the host, the image
    /// stays marked as crashed until it has [recovered](Self::mark_recovered), so that data that
    /// this mount considers lost are considered lost by the next one too.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        let boot =
            if self.last_shutdown == LastShutdown::Crashed { self.superblock.boot } else { boot() };
        if self.is_legacy() {
            self.sync_tracker.media().grow(self.offsets.len)?;
            let exported = self.resolved.config.exported;
            write_metadata(self.sync_tracker.media(), &self.offsets, &self.records(), exported)?;
            self.sync_tracker.media().sync()?;
        }
        self.superblock.found = self.writer;
        self.superblock.mount = self.superblock.generation + 2;
        self.mark(false, boot)?;
        self.sync_tracker.table().start(self.superblock.mount);
        self.sync_tracker.rotate(0)
    }

    /// Marks the image as recovered: after a kill, all of its contents will be found.
    pub(crate) fn mark_recovered(&mut self) -> io::Result<()> {
        if self.last_shutdown == LastShutdown::Crashed { self.mark(false, boot()) } else { Ok(()) }
    }

    /// Completes an orderly shutdown; `records` and `digests` describe the contents of the image.
    pub(crate) fn end_shutdown(
        &mut self,
        records: Vec<BlockRecord>,
        digests: &[u32],
    ) -> io::Result<()> {
        let shutdown = self.superblock.generation + 2;
        write_digests(self.sync_tracker.media(), &self.offsets, digests, shutdown)?;
        for (block, record) in (0..).map(BlockId).zip(records) {
            self.sync_tracker.set_record(block, record);
        }
        // After two rotations both copies are of this shutdown.
        self.sync_tracker.rotate(shutdown)?;
        self.sync_tracker.rotate(shutdown)?;
        self.superblock.mount = shutdown;
        self.mark(true, boot())
    }

    /// The digests that an orderly shutdown wrote, by page; `None` for a damaged page.
    pub(crate) fn digests(&self) -> io::Result<Vec<Option<Vec<u32>>>> {
        let pages = digest::bytes(self.resolved.config.exported) / digest::PAGE as u64;
        let read = |number: u32| {
            let mut bytes = vec![0; digest::PAGE];
            let at = self.offsets.digests + u64::from(number) * digest::PAGE as u64;
            self.sync_tracker.media().read(at, &mut bytes)?;
            Ok(digest::decode(&bytes, number, self.writer))
        };
        (0..).take(usize::try_from(pages).map_err(io::Error::other)?).map(read).collect()
    }

    /// Writes both superblocks one by one, each with a sync, so that one of them is always valid.
    fn mark(&mut self, clean: bool, boot: [u8; 16]) -> io::Result<()> {
        self.superblock.version = superblock::VERSION;
        self.superblock.clean = clean;
        self.superblock.boot = boot;
        for _ in 0..2 {
            self.superblock.generation += 1;
            let copy = self.superblock.generation % 2;
            let bytes = superblock::encode(&self.superblock);
            self.sync_tracker
                .change(|media| media.write(copy * superblock::BYTES as u64, &bytes))?;
            self.sync_tracker.sync()?;
        }
        Ok(())
    }
}

/// Writes the block table, the sync journal and the digests of a new image. The whole journal is
/// written, so that later syncs allocate no space.
fn write_metadata(
    media: &dyn Media,
    offsets: &ImageOffsets,
    records: &[BlockRecord],
    exported: u32,
) -> io::Result<()> {
    for generation in [1, FIRST] {
        media.write(offsets.journal(generation), &vec![0; offsets.journal_bytes])?;
        let records = records.to_vec();
        let copy =
            table::TableCopy { generation, sync: 0, mount: 0, shutdown: FIRST_WRITER, records };
        media.write(offsets.table(generation), &copy.encode())?;
    }
    write_digests(media, offsets, &digest::empty(exported), FIRST_WRITER)
}

fn write_digests(
    media: &dyn Media,
    offsets: &ImageOffsets,
    digests: &[u32],
    shutdown: u64,
) -> io::Result<()> {
    let pages = digests.chunks(digest::EACH);
    for (number, (at, page)) in (0..).zip((offsets.digests..).step_by(digest::PAGE).zip(pages)) {
        media.write(at, &digest::encode(page, number, shutdown))?;
    }
    Ok(())
}

/// The block table of an image of version 2, which demands no contents, and its damage.
fn read_legacy(media: &dyn Media, blocks: u32) -> io::Result<(TableScan, Vec<String>)> {
    let mut table = vec![0; blocks as usize * legacy::RECORD];
    media.read(LEGACY_TABLE, &mut table)?;
    let (records, damaged) = legacy::decode(&table);
    let damaged = damaged.iter().map(|block| format!("block {block}: its record is damaged"));
    let after_crash = records.clone();
    let (copy, generation) = (FIRST, FIRST);
    let writer = FIRST_WRITER;
    let found =
        TableScan { records, after_crash, copy, generation, writer, ..TableScan::default() };
    Ok((found, damaged.collect()))
}

fn resolve(path: &Path, device: &DeviceParams) -> Result<ResolvedDevice, ImageError> {
    device.resolve().map_err(|why| ImageError::Device { path: path.to_owned(), why })
}

/// The newer of the two superblocks, and the number of the other one if it is unusable.
fn find_superblock(
    path: &Path,
    media: &dyn Media,
) -> Result<(Superblock, Option<u64>), ImageError> {
    let read = |copy: u64| {
        let mut bytes = vec![0; superblock::BYTES];
        match media.read(copy * superblock::BYTES as u64, &mut bytes) {
            Ok(()) => Ok(superblock::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(Err(SuperblockError::Foreign))
            }
            Err(error) => Err(ImageError::io(path, error)),
        }
    };
    match (read(0)?, read(1)?) {
        (Ok(first), Ok(second)) => {
            let newer = if first.generation > second.generation { first } else { second };
            Ok((newer, None))
        }
        (Ok(one), Err(_)) => Ok((one, Some(1))),
        (Err(_), Ok(one)) => Ok((one, Some(0))),
        (Err(SuperblockError::Version(version)), _)
        | (_, Err(SuperblockError::Version(version))) => {
            let hint = if version > superblock::VERSION {
                "use a newer version of this program"
            } else {
                "use the version of this program that made it"
            };
            let (path, known) = (path.to_owned(), superblock::VERSION);
            Err(ImageError::Version { path, version, known, hint })
        }
        (Err(SuperblockError::Damaged), _) | (_, Err(SuperblockError::Damaged)) => {
            Err(ImageError::Damaged(path.to_owned()))
        }
        _ => Err(ImageError::Foreign(path.to_owned())),
    }
}

/// Whether the medium holds an image, in whatever state.
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

/// Renames a file without replacing an existing one, and makes the new name durable.
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

/// Boot identifier of the host's kernel; zeros if unavailable.
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
