//! Opening a cache.

use crate::body_pool::BodyPool;
use crate::cache::Cache;
use crate::config::{self, Config, Flash, Plan};
use crate::engine::{Engine, Handle};
use crate::error::{Error, at_path};
use crate::format::PAGE;
use crate::format::set::CAPACITY;
use crate::format::superblock::Superblock;
use crate::medium::{self, FileStorage, NoStorage, Opened, Storage};
use crate::nand::{NandShape, NandStorage};
use crate::reads::Reads;
use crate::sets::{LARGEST_SMALL, THRESHOLD};
use crate::state::{Clock, Shared, State};
use crate::stats::Recovery;
use crate::trace::TraceWriter;
use crate::{recover, worker};
use gordon_cache::tiered::{LogShape, SetShape, TieredMachine};
use gordon_store::{Image, Media, RawNand, is_image};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Storage and time of a cache, apart from files and the clock of the machine: for tests and
/// simulations.
pub struct Medium {
    /// The storage, of at least [`Flash::size`] bytes.
    pub media: Arc<dyn Media>,
    /// The time since 1970.
    pub clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// Whether the callers do the work of the cache's threads: then every future resolves when it
    /// is polled first, and the same calls have the same effects.
    pub inline: bool,
}

/// The part of the DRAM that the memory of bodies that left it may take, as its denominator.
const POOLED: u64 = 128;

/// A superblock for DRAM only.
const NO_FLASH: Superblock = Superblock {
    id: 0,
    size: 0,
    segment: 1 << 20,
    seed: 0,
    created: 0,
    blocks: None,
    erases: 0,
    sets: 0,
};

type SharedClock = Arc<dyn Fn() -> Duration + Send + Sync>;

impl Cache {
    /// Opens or creates a cache. Recovery reads metadata only.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid, or the flash cannot be used: by another
    /// process, because it belongs to another program or version, or has another size.
    pub fn open(config: Config) -> Result<(Self, Recovery), Error> {
        let since_1970 = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        // A clock that does not go back.
        let (start, opened_at) = (since_1970(), Instant::now());
        let clock = Arc::new(move || start + opened_at.elapsed());
        let Some(flash) = &config.flash else { return Self::in_dram(&config, clock) };
        let path = medium::file_of(&flash.path);
        if let Some((image, access)) = medium::open_image(&path)? {
            return Self::on_image(&config, flash, image, &access, clock, false);
        }
        let new = config.superblock(flash, None)?;
        let opened = medium::open(&path, new.size)?;
        Self::with(&config, flash, || Ok(new), opened, clock, false)
    }

    /// Opens or creates a cache whose flash is this medium; [`Flash::path`] only names it in
    /// errors. A medium with a NAND image is used without a translation layer.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(config: Config, medium: Medium) -> Result<(Self, Recovery), Error> {
        let Medium { media, clock, inline } = medium;
        let Some(flash) = &config.flash else { return Self::in_dram(&config, clock) };
        let path = flash.path.clone();
        if is_image(&*media).map_err(at_path(&path))? {
            let image = Image::on(&path, Box::new(media))?;
            return Self::on_image(&config, flash, image, "medium", clock, inline);
        }
        let new = config.superblock(flash, None)?;
        let (storage, access) = (Arc::new(FileStorage(media)), String::from("medium"));
        let (file, blocks) = (None, None);
        let opened = Opened { storage, file, blocks, access, is_new: false, path };
        Self::with(&config, flash, || Ok(new), opened, clock, inline)
    }

    fn in_dram(config: &Config, clock: SharedClock) -> Result<(Self, Recovery), Error> {
        let plan = config.plan(&NO_FLASH)?;
        let storage: Arc<dyn Storage> = Arc::new(NoStorage);
        let (reads, access) = (Reads::inline(storage.clone()), "DRAM".into());
        let clock: Clock = Box::new(move || clock());
        let parts = Parts { storage, reads, access, clock, superblock: NO_FLASH, inline: true };
        let shared = Arc::new(shared(config, &plan, parts)?);
        let recovery = Recovery { created: true, ..Recovery::default() };
        Ok((Self(Engine(Arc::new(Handle { shared, threads: Mutex::default() }))), recovery))
    }

    fn on_image(
        config: &Config,
        flash: &Flash,
        image: Image,
        access: &str,
        clock: SharedClock,
        inline: bool,
    ) -> Result<(Self, Recovery), Error> {
        RawNand::check(&image)?;
        let path = image.path.clone();
        let Some(shape) = NandShape::of(&image) else {
            let why = "its erase blocks have fewer than two pages, or 4 GiB or more".into();
            let hint = "erase blocks of 64 KiB to 1 GiB".into();
            return Err(Error::Array { path, why, hint });
        };
        let access = format!("NAND image, {} erase blocks, {access}", shape.good);
        if !image.is_raw() {
            // An image that does not suit stays as it is. A cache keeps its size when blocks go
            // bad.
            config.superblock(flash, Some(shape))?;
        }
        let storage = Arc::new(NandStorage::open(image, shape)?);
        let erases = storage.wear().map_or(0, |wear| wear.erases);
        let new = || Ok(Superblock { erases, ..config.superblock(flash, Some(shape))? });
        let blocks = Some(shape.blocks);
        let opened = Opened { storage, file: None, blocks, access, is_new: false, path };
        Self::with(config, flash, new, opened, clock, inline)
    }

    /// Opens the cache of a storage, or creates one with the superblock that `new` returns.
    fn with(
        config: &Config,
        flash: &Flash,
        new: impl FnOnce() -> Result<Superblock, Error>,
        opened: Opened,
        clock: SharedClock,
        inline: bool,
    ) -> Result<(Self, Recovery), Error> {
        let Opened { storage, file, blocks, access, is_new, path } = opened;
        let found = if is_new { None } else { recover::superblock(&*storage, blocks, &path)? };
        let created = found.is_none();
        let superblock = match found {
            Some(found) => {
                check_shape(&found, flash, &path)?;
                storage.set_layout(&found);
                found
            }
            None => {
                let (id, created) = (random(config.seed), clock().as_secs());
                let new = Superblock { id, created, ..new()? };
                storage.set_layout(&new);
                storage.grow(new.size).map_err(at_path(&path))?;
                recover::create(&*storage, &new).map_err(at_path(&path))?;
                new
            }
        };
        let plan = config.plan(&superblock)?;
        let (reads, how) = if inline {
            (Reads::inline(storage.clone()), String::from("inline"))
        } else {
            Reads::start(storage.clone(), file).map_err(at_path(&path))?
        };
        let access = format!("{access}, {how}");
        let start = Duration::from_secs(superblock.created);
        let clock: Clock = Box::new(move || clock().saturating_sub(start));
        let parts = Parts { storage, reads, access, clock, superblock, inline };
        let shared = Arc::new(shared(config, &plan, parts)?);
        let recovered = recover::recover(&shared, &superblock).map_err(at_path(&path));
        let mut recovery = match recovered {
            Ok(recovery) => recovery,
            Err(error) => {
                shared.reads.stop();
                return Err(error);
            }
        };
        recovery.created = created;
        shared.begin_day();
        shared.state().pump();
        let threads = if inline {
            worker::run_inline(&shared);
            Vec::new()
        } else {
            worker::start(&shared).map_err(at_path(&path))?
        };
        Ok((Self(Engine(Arc::new(Handle { shared, threads: Mutex::new(threads) }))), recovery))
    }
}

/// Checks that a cache was created with the size and the segments that are given.
fn check_shape(superblock: &Superblock, flash: &Flash, path: &Path) -> Result<(), Error> {
    let given = flash.sets.map(|share| config::sets(share, superblock)).transpose()?;
    let given = given.map(|sets| Superblock { sets, ..*superblock }.set_bytes());
    let same = [
        ("a flash of", superblock.size, flash.size),
        ("segments of", superblock.segment.into(), flash.segment.map(u64::from)),
        ("sets of", superblock.set_bytes(), given),
    ];
    for (what, found, given) in same {
        if let Some(given) = given.filter(|given| *given != found) {
            return Err(Error::OtherShape { path: path.to_path_buf(), what, found, given });
        }
    }
    Ok(())
}

/// A random number, which differs between caches of the same seed.
fn random(seed: u64) -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(seed) | 1
}

struct Parts {
    storage: Arc<dyn Storage>,
    reads: Reads,
    access: String,
    clock: Clock,
    superblock: Superblock,
    inline: bool,
}

fn shared(config: &Config, plan: &Plan, parts: Parts) -> Result<Shared, Error> {
    let Parts { storage, reads, access, clock, superblock, inline } = parts;
    let has_flash = superblock.size > 0;
    let segments = if has_flash { superblock.segments() } else { 2 };
    let shape = LogShape {
        segments: u32::try_from(segments).unwrap_or(u32::MAX),
        stride: superblock.segment,
        capacity: superblock.segment - crate::format::segment::FOOTER as u32,
        unit: crate::format::object::UNIT as u32,
        reinsert: plan.reinsert,
        sets: (superblock.sets > 0).then_some(SetShape {
            sets: superblock.sets,
            bytes: PAGE as u32,
            capacity: CAPACITY as u32,
            largest: LARGEST_SMALL,
            threshold: THRESHOLD,
        }),
    };
    let mut machine = TieredMachine::new(config.dram, shape, plan.admission, config.seed);
    machine.set_slack(u64::from(superblock.segment));
    let trace = match &config.trace {
        Some(path) => Some(TraceWriter::open(path).map_err(at_path(path))?),
        None => None,
    };
    let bodies = BodyPool::new(usize::try_from(config.dram / POOLED).unwrap_or(usize::MAX));
    let stride = superblock.segment.into();
    Ok(Shared {
        state: Mutex::new(State::new(machine, segments as usize, stride, bodies)),
        work: Condvar::new(),
        storage,
        reads,
        clock,
        trace,
        id: superblock.id,
        seed: superblock.seed,
        base: superblock.segments_at(),
        sets_at: superblock.sets_at(),
        sets: superblock.sets,
        segment: superblock.segment as usize,
        unit: usize::try_from(superblock.unit()).unwrap_or(usize::MAX),
        reads_segments: plan.reinsert || superblock.sets > 0,
        block: plan.block,
        inline,
        access,
        dram: config.dram,
        flash: superblock.size,
        endurance: plan.endurance,
        budget: plan.bytes_per_day,
        erases_before: superblock.erases,
    })
}
