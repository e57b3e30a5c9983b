//! Checkpoints: the state of a simulated flash device in a file, for later runs.
//!
//! Layout of the file: `GORDONCK`, the format version (u32), the seed of the device (u64; block
//! budgets follow from it), its parameters as JSON (u64 length, text), the state
//! ([`gordon_ftl::Ftl::checkpoint`]), and the CRC-32 of all before it. Numbers are little-endian.
//! The file is written under a temporary name and renamed when it is complete. A device can only be
//! restored with its own parameters.

use crate::ReplayError;
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::{Progress, Stopped};
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const MAGIC: &[u8; 8] = b"GORDONCK";
const VERSION: u32 = 7;
/// The previous version. It differs only for devices with more slots than
/// `MAX_UNCOMPRESSED_SLOTS`, whose maps were compressed.
const PREVIOUS_VERSION: u32 = 6;
const MAX_UNCOMPRESSED_SLOTS: u64 = 1 << 22;
/// Bytes read or written at once.
const PIECE: usize = 1 << 20;
/// Bytes that take about as long to read as a request takes to simulate; the unit of progress.
const BYTES_A_STEP: u64 = 1 << 10;

/// Checks before a run whether a checkpoint can be written to `path`.
///
/// # Errors
/// Returns an error if no file can be created there.
pub fn check(path: &Path) -> Result<(), ReplayError> {
    let wrong = |why: &str, hint: &str| {
        let why = format!("cannot write {}: {why}", path.display());
        Err(ReplayError::impossible("checkpoint", why, hint))
    };
    if path.exists() && !path.is_file() {
        return wrong("it is not a regular file", "name a file");
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            wrong("its folder is not there", "a folder that exists, with room")
        }
        _ => {
            let temporary = temporary_path(path);
            let made = File::create(&temporary).and_then(|_| std::fs::remove_file(&temporary));
            made.or_else(|e| wrong(&e.to_string(), "a folder that may be written to, with room"))
        }
    }
}

/// Temporary name of the file until it is complete.
fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.partial-{}", std::process::id()))
}

/// Steps `ssd` until it is idle, and writes its state to `path`. A worn-out device cannot program
/// its write buffer, so the buffered pages are discarded, as in a power loss; their number is
/// returned.
///
/// # Errors
/// Returns an error if the file cannot be written or `progress` stops the operation.
pub fn save(
    ssd: &mut Ssd,
    config: &SsdConfig,
    path: &Path,
    progress: &Progress,
) -> Result<u64, ReplayError> {
    ssd.shut_down();
    let given_up = ssd.give_up_buffer();
    check(path)?;
    let temporary = temporary_path(path);
    let written = write(ssd, config, &temporary, progress);
    let written = written.and_then(|()| std::fs::rename(&temporary, path));
    written.map(|()| given_up).map_err(|error| {
        // The file may not exist.
        let _ = std::fs::remove_file(&temporary);
        if progress.stopped() {
            return Stopped.into();
        }
        let why = format!("cannot write {}: {error}", path.display());
        ReplayError::impossible("checkpoint", why, "a folder that exists, with room")
    })
}

fn write(
    ssd: &mut Ssd,
    config: &SsdConfig,
    path: &Path,
    progress: &Progress,
) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(PIECE, File::create(path)?);
    let mut crc = crc32fast::Hasher::new();
    let mut failed = None;
    let mut out = |bytes: &[u8]| {
        if failed.is_none() {
            crc.update(bytes);
            let goes_on = progress.check().map_err(stopped);
            failed = goes_on.and_then(|()| file.write_all(bytes)).err();
        }
    };
    let text = text(config);
    out(MAGIC);
    out(&VERSION.to_le_bytes());
    out(&ssd.seed().to_le_bytes());
    out(&(text.len() as u64).to_le_bytes());
    out(text.as_bytes());
    if !ssd.checkpoint(&mut out) {
        return Err(std::io::Error::other("the device still works"));
    }
    if let Some(error) = failed {
        return Err(error);
    }
    file.write_all(&crc.finalize().to_le_bytes())?;
    file.into_inner()?.sync_all()
}

const MAKE_AGAIN_HINT: &str = "make the checkpoint again";

fn wrong(path: &Path, why: &str, hint: &str) -> ReplayError {
    ReplayError::impossible("from_checkpoint", format!("{}: {why}", path.display()), hint)
}

fn unreadable(path: &Path, error: &std::io::Error) -> ReplayError {
    wrong(path, &format!("cannot be read: {error}"), MAKE_AGAIN_HINT)
}

/// Restores the device of a checkpoint.
///
/// # Errors
/// Returns an error if the file cannot be read, is damaged, or belongs to a device with other
/// parameters, or if `progress` stops the operation.
pub fn load(config: &SsdConfig, path: &Path, progress: &Progress) -> Result<Ssd, ReplayError> {
    let (seed, file) = verify(config, path, progress)?;
    let bytes = path.metadata().map_err(|error| unreadable(path, &error))?.len();
    progress.total.fetch_add(bytes / BYTES_A_STEP, Ordering::Relaxed);
    let mut file = BufReader::with_capacity(PIECE, ProgressReader::new(file, progress));
    let mut fill = |bytes: &mut [u8]| file.read_exact(bytes).is_ok();
    let ssd = Ssd::restore(config, seed, &mut fill, progress);
    progress.check()?;
    Ok(ssd?)
}

/// Reads the whole checkpoint and verifies its checksum. Returns the seed of its device, and the
/// file positioned at its state.
///
/// # Errors
/// Returns the same errors as [`load`].
pub fn verify(
    config: &SsdConfig,
    path: &Path,
    progress: &Progress,
) -> Result<(u64, impl Read), ReplayError> {
    let found = read_head(config, path, progress)?;
    let bytes = path.metadata().map_err(|error| unreadable(path, &error))?.len();
    progress.total.fetch_add(bytes / BYTES_A_STEP, Ordering::Relaxed);
    let intact = checksum(path, progress);
    progress.check()?;
    if !intact.map_err(|error| unreadable(path, &error))? {
        return Err(wrong(path, "damaged or cut short: its checksum is wrong", MAKE_AGAIN_HINT));
    }
    Ok(found)
}

/// Reads the head of a checkpoint. Returns the seed of its device, and the file positioned at the
/// state.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a checkpoint, or belongs to a device with
/// other parameters, or if `progress` stops the operation.
fn read_head(
    config: &SsdConfig,
    path: &Path,
    progress: &Progress,
) -> Result<(u64, impl Read), ReplayError> {
    let read = |error: std::io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => wrong(path, "not a checkpoint, or cut", MAKE_AGAIN_HINT),
        _ => unreadable(path, &error),
    };
    let mut file = BufReader::with_capacity(PIECE, File::open(path).map_err(read)?);
    let (mut magic, mut version, mut seed, mut len) = ([0; 8], [0; 4], [0; 8], [0; 8]);
    file.read_exact(&mut magic).map_err(read)?;
    file.read_exact(&mut version).map_err(read)?;
    file.read_exact(&mut seed).map_err(read)?;
    file.read_exact(&mut len).map_err(read)?;
    if magic != *MAGIC {
        return Err(wrong(path, "this is not a checkpoint", MAKE_AGAIN_HINT));
    }
    let (layout, ftl, _) = config.parts(0)?;
    let same = u64::from(layout.pages()) * u64::from(ftl.slots) <= MAX_UNCOMPRESSED_SLOTS;
    match u32::from_le_bytes(version) {
        VERSION => {}
        PREVIOUS_VERSION if same => {}
        other => {
            let why = format!("format {other}; this gordon reads format {VERSION}");
            return Err(wrong(path, &why, MAKE_AGAIN_HINT));
        }
    }
    let (mut stored, text) = (Vec::new(), text(config));
    (&mut file).take(text.len() as u64).read_to_end(&mut stored).map_err(read)?;
    if u64::from_le_bytes(len) != text.len() as u64 || stored != text.as_bytes() {
        // Damage may look like different parameters.
        let intact = checksum(path, progress);
        progress.check()?;
        if !intact.map_err(|error| unreadable(path, &error))? {
            return Err(wrong(
                path,
                "damaged or cut short: its checksum is wrong",
                MAKE_AGAIN_HINT,
            ));
        }
        let hint = "the --preset, --set and capacity it was made with";
        return Err(wrong(path, "it is of a device with other parameters", hint));
    }
    Ok((u64::from_le_bytes(seed), file))
}

/// The kind must not be `Interrupted`, since such a read is retried.
fn stopped(_: Stopped) -> std::io::Error {
    std::io::Error::other("stopped")
}

/// A reader in pieces that counts progress and can be stopped.
struct ProgressReader<'a, R> {
    from: R,
    progress: &'a Progress,
    bytes: u64,
}

impl<'a, R> ProgressReader<'a, R> {
    fn new(from: R, progress: &'a Progress) -> Self {
        Self { from, progress, bytes: 0 }
    }
}

impl<R: Read> Read for ProgressReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.progress.check().map_err(stopped)?;
        let piece = into.len().min(PIECE);
        let read = self.from.read(&mut into[..piece])?;
        let before = self.bytes / BYTES_A_STEP;
        self.bytes += read as u64;
        self.progress.step(self.bytes / BYTES_A_STEP - before);
        Ok(read)
    }
}

/// Whether the last four bytes are the CRC-32 of all bytes before them.
fn checksum(path: &Path, progress: &Progress) -> std::io::Result<bool> {
    let file = File::open(path)?;
    let Some(content) = file.metadata()?.len().checked_sub(4) else { return Ok(false) };
    let mut file = ProgressReader::new(file, progress);
    let (mut crc, mut left, mut buffer) = (crc32fast::Hasher::new(), content, vec![0; PIECE]);
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        file.read_exact(&mut buffer[..part])?;
        crc.update(&buffer[..part]);
        left -= part as u64;
    }
    let mut stored = [0; 4];
    file.read_exact(&mut stored)?;
    Ok(u32::from_le_bytes(stored) == crc.finalize())
}

fn text(config: &SsdConfig) -> String {
    serde_json::to_string(config).expect("a config that was parsed can be written")
}

#[cfg(test)]
mod tests {
    use crate::ReplayError;
    use crate::config::RunConfig;
    use crate::flash::run;
    use gordon_units::{Bytes, Progress};
    use serde_json::json;
    use std::sync::atomic::Ordering::Relaxed;

    fn config(more: serde_json::Value) -> RunConfig {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
        let text = std::fs::read_to_string(format!("{root}mqsim-mlc-512g.toml")).unwrap();
        let device: toml::Value = toml::from_str(&text).unwrap();
        let mut all = json!({
            "device": device,
            "load": {"bench": {"pattern": "random-write", "size": "8KiB", "requests": 20_000}},
        });
        for (key, value) in more.as_object().unwrap() {
            all[key] = value.clone();
        }
        let mut config: RunConfig = serde_json::from_value(all).unwrap();
        config.device = config.device.with_capacity(Bytes(2 << 30)).unwrap();
        config
    }

    #[test]
    fn a_device_continues_from_its_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let progress = Progress::default();
        let made = config(json!({"precondition": 0.8, "checkpoint": one}));
        run(&made, &progress).unwrap();
        // Two runs from the checkpoint are equal, and the device is full.
        let on = config(json!({"from_checkpoint": one, "checkpoint": two}));
        let [first, second] = [0, 1].map(|_| {
            let report = run(&on, &progress).unwrap().report;
            (serde_json::to_string(&report).unwrap(), std::fs::read(&two).unwrap())
        });
        assert!(first == second, "two runs from one checkpoint differ");
        let report: serde_json::Value = serde_json::from_str(&first.0).unwrap();
        assert!(report["write_amplification"].as_f64().unwrap() > 1.5, "{report}");
        assert!(report["wear"]["max_erases"].as_u64() > Some(0));
        assert_ne!(std::fs::read(&one).unwrap(), second.1);
    }

    #[test]
    fn a_device_keeps_its_blocks_for_any_seed_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let mut made = config(json!({"precondition": 0.9, "checkpoint": path}));
        made.device.endurance.erase_budget = 3.into();
        made.device.endurance.spread = Some(0.5.into());
        run(&made, &Progress::default()).unwrap();
        let bench = json!({"pattern": "sequential-write", "size": "64KiB", "requests": 200_000});
        let worn = |seed: u64| {
            let mut on = config(json!({
                "from_checkpoint": path, "load": {"bench": bench}, "seed": seed
            }));
            on.device = made.device.clone();
            run(&on, &Progress::default()).unwrap().report
        };
        let (one, other) = (worn(1), worn(2));
        assert!(one.device.worn_out && one.device.worn_out_at_s > Some(0.0));
        assert_eq!(one.device, other.device);
    }

    #[test]
    fn an_impossible_checkpoint_path_is_refused_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        for (path, says) in [
            (folder.path().into(), "not a regular file"),
            (folder.path().join("a/b"), "folder is not"),
        ] {
            let bench = json!({"pattern": "random-write", "requests": 1u64 << 60});
            let error = run(
                &config(json!({"checkpoint": path, "load": {"bench": bench}})),
                &Progress::default(),
            );
            let error = error.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_checkpoint_of_a_worn_out_device_discards_its_write_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let mut worn = config(json!({"precondition": 1.0, "checkpoint": path}));
        worn.device.endurance.erase_budget = 1.into();
        worn.device.ftl.write_buffer = Some(gordon_units::Bytes(1 << 20).into());
        worn.load = serde_json::from_value(
            json!({"bench": {"pattern": "random-write", "size": "64KiB", "requests": 100_000}}),
        )
        .unwrap();
        let report = run(&worn, &Progress::default()).unwrap().report;
        let warning = report.warnings.iter().find(|warning| warning.contains("checkpoint"));
        assert!(
            warning.is_some_and(|warning| warning.contains(" pages of the write buffer")),
            "{warning:?}"
        );
        // All acknowledged pages on the array can be read, and nothing can be written.
        let mut on = config(json!({"from_checkpoint": path}));
        on.device = worn.device.clone();
        for (pattern, failed) in [("random-read", 0), ("random-write", 20_000)] {
            on.load = serde_json::from_value(
                json!({"bench": {"pattern": pattern, "size": "64KiB", "requests": 20_000}}),
            )
            .unwrap();
            let report = run(&on, &Progress::default()).unwrap().report;
            assert_eq!(report.read.failed + report.write.failed, failed, "{pattern}");
            assert_eq!(report.device.unmapped_reads, 0);
        }
    }

    #[test]
    fn a_checkpoint_that_cannot_be_written_is_reported_with_the_result() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let made = config(json!({"checkpoint": path}));
        let ready = crate::flash::PreparedRun::new(&made, &Progress::default()).unwrap();
        // The path is free when the run begins and taken when it ends.
        std::fs::create_dir(&path).unwrap();
        let ended = ready.run(&Progress::default()).unwrap();
        assert!(ended.report.write.requests > 0);
        let error = ended.checkpoint_error.expect("no file is there").to_string();
        assert!(error.contains("cannot write") && error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_stop_keeps_the_existing_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let (made, stopped) = (config(json!({"checkpoint": path})), Progress::default());
        run(&made, &Progress::default()).unwrap();
        let kept = std::fs::read(&path).unwrap();
        stopped.stop.store(true, Relaxed);
        let device = made.device.clone();
        let progress = Progress::default();
        let mut ssd = super::load(&device, &path, &progress).unwrap();
        let (done, total) = progress.progress();
        // The file is read twice, with incomplete steps not counted; the rest are the tables.
        assert!((total - 3..=total).contains(&done) && total > (kept.len() as u64) >> 9);
        let loaded = super::load(&device, &path, &stopped).unwrap_err();
        let saved = super::save(&mut ssd, &device, &path, &stopped).unwrap_err();
        let both = (loaded, saved);
        assert!(matches!(both, (ReplayError::Interrupted, ReplayError::Interrupted)), "{both:?}");
        assert!(std::fs::read(&path).unwrap() == kept);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_unwritable_checkpoint_path_is_refused_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["no/such/folder", &"n".repeat(255)] {
            let path = folder.path().join(name);
            let made = config(json!({"checkpoint": path}));
            let error = crate::flash::PreparedRun::new(&made, &Progress::default()).err().unwrap();
            assert!(error.to_string().contains("cannot write"), "{error}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_not_a_checkpoint_of_the_device_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let progress = Progress::default();
        run(&config(json!({"checkpoint": path})), &progress).unwrap();
        let kept = |more: serde_json::Value| {
            let mut all = more;
            all["from_checkpoint"] = json!(path);
            config(all)
        };
        let from = |more| run(&kept(more), &progress).unwrap_err().to_string();
        let mut larger = kept(json!({}));
        larger.device = larger.device.with_capacity(Bytes(3 << 30)).unwrap();
        let other = run(&larger, &progress).unwrap_err().to_string();
        assert!(other.contains("other parameters"), "{other}");
        let both = from(json!({"precondition": 0.5}));
        assert!(both.contains("precondition"), "{both}");
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(from(json!({})).contains("checksum is wrong"));
        // The checkpoint is checked before the trace.
        let none = json!({"trace": {"path": folder.path().join("none")}});
        assert!(from(json!({"load": none})).contains("checksum is wrong"));
        // The file is cut within the parameters.
        std::fs::write(&path, &bytes[..100]).unwrap();
        assert!(from(json!({})).contains("damaged or cut short"));
        std::fs::write(&path, b"x").unwrap();
        assert!(from(json!({})).contains("not a checkpoint, or cut"));
        // The checkpoint is checked before the trace.
        let trace = json!({"trace": {"path": folder.path().join("none")}});
        assert!(from(json!({"load": trace})).contains("not a checkpoint, or cut"));
        std::fs::remove_file(&path).unwrap();
        assert!(from(json!({})).contains("cannot be read"));
    }

    #[test]
    fn a_checkpoint_of_format_6_is_read_if_its_map_was_not_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let progress = Progress::default();
        run(&config(json!({"checkpoint": path})), &progress).unwrap();
        let from = config(json!({"from_checkpoint": path}));
        let today = serde_json::to_string(&run(&from, &progress).unwrap().report).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let content = bytes.len() - 4;
        bytes[8..12].copy_from_slice(&super::PREVIOUS_VERSION.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..content]);
        bytes[content..].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let before = serde_json::to_string(&run(&from, &progress).unwrap().report).unwrap();
        assert_eq!(before, today);
        let mut large = from;
        large.device = large.device.with_capacity(Bytes(64 << 30)).unwrap();
        let error = run(&large, &progress).unwrap_err().to_string();
        assert!(error.contains("format 6"), "{error}");
    }
}
