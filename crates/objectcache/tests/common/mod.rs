//! Objects of tests, and a model of what a cache may answer.
#![allow(dead_code)]

use bytes::Bytes;
use gordon_objectcache::{Cache, Config, Flash, Medium, Object, Put, Recovery, Tier, block_on};
use gordon_store::{DeviceParams, Faults, Image, Media};
use gordon_testkit::{MemoryMedia, Random, image};
use gordon_units::BlockId;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IoSlice, IoSliceMut, Result, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The size of a small flash: the journal, and 12 segments of 16 KiB.
pub const SIZE: u64 = 288 * 1024 + 12 * SEGMENT as u64;
pub const SEGMENT: u32 = 16 << 10;

/// The flash of a small cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A NAND image with pages of 4 KiB, four to a block.
    Nand,
    /// A NAND image with pages of 8 KiB, two to a block, and segments of two blocks.
    LargePages,
    /// A file with 5 segments and 6 sets.
    Sets,
}

pub const KINDS: [Kind; 4] = [Kind::File, Kind::Nand, Kind::LargePages, Kind::Sets];

/// Offset of the first segment in a file.
pub const SEGMENTS_AT: u64 = 272 * 1024;
/// Offset of the first set, with [`Kind::Sets`].
pub const SETS_AT: u64 = SEGMENTS_AT + 5 * SEGMENT as u64;
/// Number of sets, with [`Kind::Sets`].
pub const SETS: u64 = 6;

impl Kind {
    pub fn is_nand(self) -> bool {
        matches!(self, Self::Nand | Self::LargePages)
    }

    /// The parameters of the array.
    pub fn device(self, faults: Faults, seed: u64) -> DeviceParams {
        match self {
            Self::File | Self::Sets | Self::Nand => image::device(4096, 4, 40, faults, seed),
            Self::LargePages => image::device(8192, 2, 80, faults, seed),
        }
    }

    /// A medium without a cache.
    pub fn media(self) -> Arc<MemoryMedia> {
        match self {
            Self::File | Self::Sets => Arc::new(MemoryMedia::new(self.size())),
            Self::Nand | Self::LargePages => image::image(&self.device(Faults::default(), 1)),
        }
    }

    /// Bytes of a segment. All kinds but one have 12 of them.
    pub fn segment(self) -> u32 {
        match self {
            Self::File | Self::Sets | Self::Nand => SEGMENT,
            Self::LargePages => 2 * SEGMENT,
        }
    }

    /// Logical blocks of a NAND image before the first segment: copies of the superblock, and
    /// halves of the journal of 32 pages.
    pub fn metadata(self) -> u32 {
        if self == Self::Nand { 18 } else { 34 }
    }

    pub fn size(self) -> u64 {
        match self {
            Self::File | Self::Nand => SIZE,
            Self::Sets => SETS_AT + SETS * 4096,
            Self::LargePages => {
                u64::from(self.metadata()) * 16 * 1024 + 12 * u64::from(self.segment())
            }
        }
    }

    /// The medium after a crash of the host, as [`MemoryMedia::crashed`].
    pub fn crashed(self, media: &MemoryMedia, keep: impl FnMut() -> bool) -> Arc<MemoryMedia> {
        let media = media.crashed(keep);
        if self.is_nand() {
            image::forget_boot(&media);
        }
        Arc::new(media)
    }

    /// A cache with DRAM for a few objects.
    pub fn config(self, reinsert: bool) -> Config {
        let segment = Some(self.segment());
        let sets = (self == Self::Sets).then_some(0.231);
        let flash = Flash { segment, reinsert, sets, ..Flash::new("test".into(), self.size()) };
        Config { flash: Some(flash), block: 2048, ..Config::new(12_000) }
    }
}

/// The erase blocks of an image that hold something: start, length, and number of the logical
/// block.
pub fn blocks_of(media: &Arc<MemoryMedia>) -> Vec<(u64, usize, u32)> {
    let image = Image::on(Path::new("image"), Box::new(media.survivor())).expect("it opens");
    let offsets = *image.offsets();
    let found = (0..image.resolved().layout.blocks()).map(|block| {
        let start = offsets.block(BlockId(block));
        let mut entry = [0; 36];
        media.read(start, &mut entry).expect("it works");
        let number = u32::from_le_bytes(entry[32..].try_into().expect("4 bytes"));
        (start, offsets.block_bytes() as usize, number, entry[0] != 0)
    });
    found.filter(|(.., is_used)| *is_used).map(|(at, len, number, _)| (at, len, number)).collect()
}

/// A cache on a file, with DRAM for a few objects.
pub fn config(reinsert: bool) -> Config {
    Kind::File.config(reinsert)
}

/// A medium in memory whose accesses a test intercepts.
pub trait Intercept: Send + Sync {
    fn media(&self) -> &MemoryMedia;

    /// Called before a read.
    fn before_read(&self, _at: u64) {}

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.media().write(at, bytes)
    }

    fn sync(&self) -> Result<()> {
        self.media().sync()
    }
}

/// The medium of an [`Intercept`].
pub struct Intercepted<I>(pub I);

impl<I: Intercept> Media for Intercepted<I> {
    fn len(&self) -> u64 {
        self.0.media().len()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.0.before_read(at);
        self.0.media().read(at, into)
    }

    fn read_data(&self, at: u64, into: &mut [IoSliceMut<'_>]) -> Result<()> {
        self.0.before_read(at);
        self.0.media().read_data(at, into)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.0.write(at, bytes)
    }

    fn write_data(&self, at: u64, parts: &mut [IoSlice<'_>]) -> Result<()> {
        let parts: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        self.0.write(at, &parts)
    }

    fn erase(&self, at: u64, len: u64) -> Result<()> {
        self.0.media().erase(at, len)
    }

    fn next_data(&self, at: u64) -> Result<u64> {
        self.0.media().next_data(at)
    }

    fn next_hole(&self, at: u64) -> Result<u64> {
        self.0.media().next_hole(at)
    }

    fn grow(&self, len: u64) -> Result<()> {
        self.0.media().grow(len)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
}

/// How long a test waits for another thread.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    Open,
    Closed,
    /// An access waits.
    Reached,
}

/// A gate at which accesses to a medium wait.
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

impl Gate {
    pub fn open() -> Self {
        Self { state: Mutex::new(GateState::Open), changed: Condvar::new() }
    }

    pub fn state(&self) -> GateState {
        *self.state.lock().expect("no test has failed")
    }

    pub fn set(&self, state: GateState) {
        *self.state.lock().expect("no test has failed") = state;
        self.changed.notify_all();
    }

    pub fn wait_until(&self, wanted: GateState) {
        let state = self.state.lock().expect("no test has failed");
        let waited = self.changed.wait_timeout_while(state, PATIENCE, |state| *state != wanted);
        let is_late = waited.expect("no test has failed").1.timed_out();
        assert!(!is_late, "the gate is not {wanted:?} after {PATIENCE:?}");
    }

    pub fn pass(&self) {
        if self.state() != GateState::Open {
            self.set(GateState::Reached);
            self.wait_until(GateState::Open);
        }
    }
}

/// A clock that a test sets.
#[derive(Clone, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    pub fn set(&self, seconds: f64) {
        self.0.store((seconds * 1e9) as u64, Ordering::Relaxed);
    }

    pub fn medium(&self, media: Arc<dyn Media>) -> Medium {
        let now = self.0.clone();
        let clock = Arc::new(move || Duration::from_nanos(now.load(Ordering::Relaxed)));
        Medium { media, clock, inline: true }
    }
}

pub fn open(config: &Config, media: &Arc<MemoryMedia>) -> (Cache, Recovery) {
    let medium = Clock::default().medium(media.clone());
    Cache::open_on(config.clone(), medium).expect("it opens")
}

pub fn key(number: usize) -> Vec<u8> {
    format!("/{}/object-{number}", number % 3).into_bytes()
}

/// The body of a version of an object: some are larger than a block.
pub fn body(number: usize, version: u64) -> Vec<u8> {
    let len = match number % 7 {
        0 => 0,
        1 => 5000 + number * 3,
        2 => 2048,
        _ => 100 + number * 41 % 1800,
    };
    let words = [number as u64, version, (number as u64) ^ version.rotate_left(20)];
    let bytes = words.map(u64::to_le_bytes).concat();
    let mut body = bytes.repeat(len.div_ceil(bytes.len()));
    body.truncate(len);
    body
}

pub fn meta(number: usize, version: u64) -> Vec<u8> {
    format!("version {version} of {number}").into_bytes()
}

/// The version in the metadata of an object.
pub fn version_of(object: &Object, number: usize) -> u64 {
    let text = std::str::from_utf8(object.meta()).expect("metadata of a test");
    let words = text.strip_prefix("version ").and_then(|rest| rest.split_once(" of "));
    let (version, of) = words.expect("metadata of a test");
    assert_eq!(of, number.to_string(), "the metadata of another object");
    version.parse().expect("a version")
}

/// Reads an object. Each byte must be that of a version. `None` if it is not in the cache.
pub fn read(cache: &Cache, number: usize) -> Option<(u64, Tier)> {
    let object = block_on(cache.get(&key(number)))?;
    let version = version_of(&object, number);
    let found = block_on(object.read(0..u64::MAX)).expect("the cache is open")?;
    assert!(found == body(number, body_version(version)), "object {number}, version {version}");
    Some((version, object.tier()))
}

/// Versions that only changed the metadata have the body of the version in the upper bits.
pub fn body_version(version: u64) -> u64 {
    if version >> 32 == 0 { version } else { version >> 32 }
}

/// What may be found of each object.
#[derive(Clone, Default)]
pub struct Model {
    /// By object, the last version that was stored; absent if it was deleted.
    newest: BTreeMap<usize, u64>,
    /// By object, versions that a crash may bring back: those before an operation that was not
    /// completed.
    pub unsettled: BTreeMap<usize, BTreeSet<u64>>,
    pub version: u64,
}

impl Model {
    pub fn newest(&self, number: usize) -> Option<u64> {
        self.newest.get(&number).copied()
    }

    pub fn put(&mut self, number: usize) -> u64 {
        self.version += 1;
        self.newest.insert(number, self.version);
        self.version
    }

    pub fn set(&mut self, number: usize, version: u64) {
        self.newest.insert(number, version);
    }

    pub fn delete(&mut self, number: usize) {
        self.newest.remove(&number);
    }

    pub fn purge(&mut self, prefix: &[u8]) {
        self.newest.retain(|number, _| !key(*number).starts_with(prefix));
    }

    /// A version that was found must be the newest, or one that a crash may bring back.
    pub fn check(&self, number: usize, found: Option<u64>) {
        let Some(found) = found else { return };
        let may = self.unsettled.get(&number).is_some_and(|all| all.contains(&found));
        let newest = self.newest(number);
        assert!(
            newest == Some(found) || may,
            "object {number}: version {found}, the newest is {newest:?}"
        );
    }
}

/// A step of a random history.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Get(usize),
    Put(usize),
    Delete(usize),
    Purge(usize),
    /// A purge of nothing, whose record fills the list.
    LongPurge(usize),
    Meta(usize),
    Check,
}

pub const OBJECTS: usize = 90;

pub fn step(random: &mut Random) -> Step {
    // Low numbers are more frequent.
    let number = random.below(OBJECTS).min(random.below(OBJECTS));
    match random.below(40) {
        0..=24 => Step::Get(number),
        25..=31 => Step::Put(number),
        32..=35 => Step::Delete(number),
        36..=37 => Step::Meta(number),
        38 if random.below(4) == 0 => Step::Purge(number % 3),
        38 if random.below(4) == 0 => Step::LongPurge(number),
        39 if random.below(10) == 0 => Step::Check,
        _ => Step::Get(number),
    }
}

/// Does a step. Returns whether the cache took it without an error; the model then has its effect.
/// After an error, both versions may be found.
pub fn apply(cache: &Cache, model: &mut Model, step: Step) -> bool {
    let before = model.clone();
    let unsettle = |model: &mut Model, number: usize| {
        let versions = [before.newest(number), model.newest(number)];
        model.unsettled.entry(number).or_default().extend(versions.into_iter().flatten());
        false
    };
    let put = |model: &mut Model, number: usize| {
        let version = model.put(number);
        let body = Bytes::from(body(number, version));
        block_on(cache.put(&key(number), &meta(number, version), body))
    };
    match step {
        Step::Get(number) => {
            let found = read(cache, number).map(|(version, _)| version);
            model.check(number, found);
            if found.is_some() {
                return true;
            }
            match put(model, number) {
                Ok(_) => true,
                Err(_) => unsettle(model, number),
            }
        }
        Step::Put(number) => match put(model, number) {
            Ok(put) => {
                assert_eq!(put, Put::Stored);
                true
            }
            Err(_) => unsettle(model, number),
        },
        Step::Delete(number) => {
            model.delete(number);
            match block_on(cache.delete(&key(number))) {
                Ok(_) => {
                    assert!(read(cache, number).is_none(), "{number} was deleted");
                    true
                }
                Err(_) => unsettle(model, number),
            }
        }
        Step::Purge(group) => {
            let prefix = format!("/{group}/").into_bytes();
            model.purge(&prefix);
            match block_on(cache.purge(&prefix)) {
                Ok(_) => {
                    (0..OBJECTS).filter(|number| number % 3 == group).for_each(|number| {
                        assert!(read(cache, number).is_none(), "{number} was purged");
                    });
                    true
                }
                Err(_) => {
                    (0..OBJECTS).filter(|number| number % 3 == group).for_each(|number| {
                        unsettle(model, number);
                    });
                    false
                }
            }
        }
        Step::LongPurge(number) => {
            let mut prefix = vec![b'x'; 3900];
            prefix.extend_from_slice(number.to_string().as_bytes());
            match block_on(cache.purge(&prefix)) {
                Ok(count) => {
                    assert_eq!(count, 0);
                    true
                }
                Err(_) => false,
            }
        }
        Step::Meta(number) => {
            let Some(old) = block_on(cache.get(&key(number))) else { return true };
            let old = version_of(&old, number);
            model.check(number, Some(old));
            model.version += 1;
            let version = body_version(old) << 32 | model.version;
            let new = meta(number, version);
            match block_on(cache.update_meta(&key(number), &new)) {
                Ok(true) => {
                    model.set(number, version);
                    true
                }
                Ok(false) => true,
                Err(_) => {
                    model.set(number, version);
                    unsettle(model, number)
                }
            }
        }
        Step::Check => match block_on(cache.check()) {
            Ok(checked) => {
                assert_eq!(checked.damaged, 0, "nothing was damaged");
                true
            }
            Err(_) => false,
        },
    }
}

/// Checks every object. Returns how many were found.
pub fn verify(cache: &Cache, model: &Model) -> usize {
    let found = (0..OBJECTS).map(|number| {
        let found = read(cache, number).map(|(version, _)| version);
        model.check(number, found);
        usize::from(found.is_some())
    });
    found.sum()
}

/// Runs a test for seeds; `CACHE_SEED=N` runs that one alone, `CACHE_RUNS=N` the first N.
pub fn seeds(runs: u64, mut test: impl FnMut(u64)) {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    if let Some(seed) = number("CACHE_SEED") {
        return test(seed);
    }
    for seed in 1..=number("CACHE_RUNS").unwrap_or(runs) {
        let seeded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(seed)));
        if let Err(cause) = seeded {
            let _ = writeln!(std::io::stderr(), "CACHE_SEED={seed} repeats this");
            std::panic::resume_unwind(cause);
        }
    }
}
