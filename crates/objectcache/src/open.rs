//! Opening a cache.

use crate::cache::Cache;
use crate::config::{Config, Flash, Plan};
use crate::engine::{Engine, Handle};
use crate::error::{Error, at_path};
use crate::format::superblock::Superblock;
use crate::medium::{self, Opened};
use crate::reads::Reads;
use crate::state::{Clock, Shared, State};
use crate::stats::Recovery;
use crate::trace::TraceWriter;
use crate::{recover, worker};
use gordon_cache::tiered::{LogShape, TieredMachine};
use gordon_store::Media;
use std::io::IoSliceMut;
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
    /// Whether the callers do the work of the cache's threads: then every future resolves when it is
    /// polled first, and the same calls have the same effects.
    pub inline: bool,
}

/// A superblock for DRAM only.
const NO_FLASH: Superblock = Superblock { id: 0, size: 0, segment: 1 << 20, seed: 0, created: 0 };

impl Cache {
    /// Opens or creates a cache. Recovery reads metadata only.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid, or the flash cannot be used: by another
    /// process, because it belongs to another program or version, or has another size.
    pub fn open(config: Config) -> Result<(Self, Recovery), Error> {
        let plan = config.plan()?;
        let since_1970 = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        // A clock that does not go back.
        let (start, opened_at) = (since_1970(), Instant::now());
        let clock = move || start + opened_at.elapsed();
        let Some(flash) = &config.flash else {
            return Self::in_dram(&config, &plan, Box::new(clock));
        };
        let opened = medium::open(&flash.path, flash.size)?;
        Self::with(&config, flash, &plan, opened, Arc::new(clock), false)
    }

    /// Opens or creates a cache whose flash is this medium; [`Flash::path`] only names it in errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(config: Config, medium: Medium) -> Result<(Self, Recovery), Error> {
        let plan = config.plan()?;
        let Medium { media, clock, inline } = medium;
        let Some(flash) = &config.flash else {
            return Self::in_dram(&config, &plan, Box::new(move || clock()));
        };
        let path = flash.path.clone();
        let (access, file) = (String::from("medium"), None);
        let opened = Opened { media, file, access, is_new: false, path };
        Self::with(&config, flash, &plan, opened, clock, inline)
    }

    fn in_dram(config: &Config, plan: &Plan, clock: Clock) -> Result<(Self, Recovery), Error> {
        let reads = Reads::inline(Arc::new(NoMedia));
        let (media, access): (Arc<dyn Media>, _) = (Arc::new(NoMedia), "DRAM".into());
        let parts = Parts { media, reads, access, clock, superblock: NO_FLASH, inline: true };
        let shared = Arc::new(shared(config, plan, parts)?);
        let recovery = Recovery { created: true, ..Recovery::default() };
        Ok((Self(Engine(Arc::new(Handle { shared, threads: Mutex::default() }))), recovery))
    }

    fn with(
        config: &Config,
        flash: &Flash,
        plan: &Plan,
        opened: Opened,
        clock: Arc<dyn Fn() -> Duration + Send + Sync>,
        inline: bool,
    ) -> Result<(Self, Recovery), Error> {
        let Opened { media, file, access, is_new, path } = opened;
        let found = if is_new { None } else { recover::superblock(&*media, &path)? };
        let created = found.is_none();
        let superblock = match found {
            Some(found) => found,
            None => {
                media.grow(flash.size).map_err(at_path(&path))?;
                let new = Superblock {
                    id: random(config.seed),
                    size: flash.size,
                    segment: flash.segment,
                    seed: config.seed,
                    created: clock().as_secs(),
                };
                recover::create(&*media, &new).map_err(at_path(&path))?;
                new
            }
        };
        check_shape(&superblock, flash, &path)?;
        let (reads, how) = if inline {
            (Reads::inline(media.clone()), String::from("inline"))
        } else {
            Reads::start(media.clone(), file).map_err(at_path(&path))?
        };
        let access = format!("{access}, {how}");
        let start = Duration::from_secs(superblock.created);
        let clock: Clock = Box::new(move || clock().saturating_sub(start));
        let parts = Parts { media, reads, access, clock, superblock, inline };
        let shared = Arc::new(shared(config, plan, parts)?);
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

fn check_shape(superblock: &Superblock, flash: &Flash, path: &Path) -> Result<(), Error> {
    let same = [
        ("a flash of", superblock.size, flash.size),
        ("segments of", superblock.segment.into(), flash.segment.into()),
    ];
    match same.into_iter().find(|(_, found, given)| found != given) {
        Some((what, found, given)) => {
            Err(Error::OtherShape { path: path.to_path_buf(), what, found, given })
        }
        None => Ok(()),
    }
}

/// A random number, which differs between caches of the same seed.
fn random(seed: u64) -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(seed) | 1
}

struct Parts {
    media: Arc<dyn Media>,
    reads: Reads,
    access: String,
    clock: Clock,
    superblock: Superblock,
    inline: bool,
}

fn shared(config: &Config, plan: &Plan, parts: Parts) -> Result<Shared, Error> {
    let Parts { media, reads, access, clock, superblock, inline } = parts;
    let has_flash = superblock.size > 0;
    let segments = if has_flash { superblock.segments() } else { 2 };
    let shape = LogShape {
        segments: u32::try_from(segments).unwrap_or(u32::MAX),
        stride: superblock.segment,
        capacity: superblock.segment - crate::format::segment::FOOTER as u32,
        unit: crate::format::object::UNIT as u32,
        reinsert: plan.reinsert,
    };
    let mut machine = TieredMachine::new(config.dram, shape, plan.admission, config.seed);
    machine.set_slack(u64::from(superblock.segment));
    let trace = match &config.trace {
        Some(path) => Some(TraceWriter::open(path).map_err(at_path(path))?),
        None => None,
    };
    Ok(Shared {
        state: Mutex::new(State::new(machine, segments as usize, superblock.segment.into())),
        work: Condvar::new(),
        media,
        reads,
        clock,
        trace,
        id: superblock.id,
        seed: superblock.seed,
        base: superblock.segments_at(),
        segment: superblock.segment as usize,
        reinsert: plan.reinsert,
        block: plan.block,
        inline,
        access,
        dram: config.dram,
        flash: superblock.size,
        endurance: plan.endurance,
        budget: plan.bytes_per_day,
    })
}

/// The medium of a cache in DRAM, which is never used.
struct NoMedia;

impl Media for NoMedia {
    fn len(&self) -> u64 {
        0
    }

    fn read(&self, _: u64, _: &mut [u8]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn read_data(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn write(&self, _: u64, _: &[u8]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn write_data(&self, _: u64, _: &mut [std::io::IoSlice<'_>]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn erase(&self, _: u64, _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn next_data(&self, at: u64) -> std::io::Result<u64> {
        Ok(at)
    }

    fn next_hole(&self, at: u64) -> std::io::Result<u64> {
        Ok(at)
    }

    fn grow(&self, _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
}
