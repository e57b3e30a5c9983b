//! Flash images served as block devices, and plain files served with the timing of simulated disks.

use crate::error::raise;
use crate::watch::{watch, watched};
use gordon_blockdev::{
    BlockError, DiskFile, DiskPart, Metrics, Pace, Part, ServedImage, Serving, describe,
};
use gordon_config::from_json;
use gordon_hdd::SchedulingPolicy;
use gordon_hdd::drive::StripeConfig;
use gordon_nbd::{ConnectionLimits, Listen, NamedExport, Server, ServerOptions, Tls};
use gordon_replay::disk::DiskDevice;
use gordon_ssd::SsdConfig;
use gordon_store::{Backend, Faults, Image};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    path: PathBuf,
    name: String,
    device: SsdConfig,
    seed: u64,
    faults: Option<Faults>,
    #[serde(default)]
    fill: bool,
}

/// A created image, as reported to Python.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Created {
    /// Always `block-image`.
    kind: &'static str,
    /// Version of this program.
    version: &'static str,
    /// UUID of the image.
    uuid: String,
    /// The device in the image.
    device: gordon_store::DeviceParams,
    /// Exported capacity in bytes.
    capacity: u64,
    /// Size of a mapping unit in bytes.
    unit: u64,
    /// Number of super-blocks.
    blocks: u32,
    /// Super-blocks with a block that is bad from the factory.
    bad_blocks: usize,
    /// Size of a super-page in bytes.
    super_page: u64,
    /// Size of the array in bytes.
    raw: u64,
    /// Size of the file in bytes.
    file_bytes: u64,
}

/// Creates the image that `config` (JSON) describes and returns its description as JSON.
#[pyfunction]
pub fn block_create(py: Python<'_>, config: &str) -> PyResult<String> {
    let config: Create = from_json(config, "image").map_err(raise)?;
    let make = || -> Result<Created, BlockError> {
        let name = config.name.clone();
        let part =
            Part { config: config.device.clone(), name, seed: config.seed, faults: config.faults };
        let mut image = Image::create(&config.path, describe(&part)?, Backend::File)?;
        if config.fill {
            gordon_store::fill(image)?;
            image = Image::open(&config.path, Backend::File, false)?;
        }
        let layout = image.resolved().layout;
        Ok(Created {
            kind: "block-image",
            version: env!("CARGO_PKG_VERSION"),
            uuid: image.uuid(),
            device: image.device().clone(),
            capacity: image.device().capacity.0,
            unit: image.device().unit.0,
            blocks: layout.blocks(),
            bad_blocks: image.bad().len(),
            super_page: layout.page_bytes().0,
            raw: layout.page_bytes().0 * u64::from(layout.pages()),
            file_bytes: std::fs::metadata(&config.path).map_or(0, |file| file.len()),
        })
    };
    let created = watched(py, make, || Ok(()), || ())?.map_err(raise)?;
    serde_json::to_string(&created).map_err(raise)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Serve {
    path: PathBuf,
    direct: bool,
    read_only: bool,
    salvage: bool,
    real: bool,
    device: Option<SsdConfig>,
    /// Serves a plain file with the timing of this disk, instead of an image.
    disk: Option<OnDisk>,
    sockets: Vec<PathBuf>,
    listen: Vec<String>,
    insecure: bool,
    export: String,
    clients: Option<usize>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    authority: Option<PathBuf>,
    metrics: Vec<String>,
}

/// The simulated disks whose timing a served plain file has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnDisk {
    name: String,
    device: DiskDevice,
    stripe: Option<StripeConfig>,
    scheduler: Option<SchedulingPolicy>,
}

impl Serve {
    /// Starts the export; also returns warnings about parts of the description without effect.
    fn start(&self) -> PyResult<(Serving, Vec<String>)> {
        let pace = if self.real { Pace::Real } else { Pace::Full };
        let Some(disk) = &self.disk else {
            let backend = if self.direct { Backend::Direct } else { Backend::File };
            let open = || -> Result<_, BlockError> {
                let part = self.device.as_ref();
                ServedImage::open(&self.path, backend, part, pace, self.salvage)?.start()
            };
            return open().map_err(raise);
        };
        let described = disk.device.description().map_err(raise)?;
        let part = DiskPart {
            drive: described.drive(disk.scheduler, disk.stripe).map_err(raise)?,
            name: disk.name.clone(),
            power: described.config.power().cloned(),
        };
        let file = DiskFile::open(&self.path, part, !self.read_only).map_err(raise)?;
        Ok((file.start(pace).map_err(raise)?, described.warnings))
    }
}

/// Where the export is reachable, as reported to Python.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ready {
    /// Addresses of the export.
    places: Vec<String>,
    /// Addresses of its status.
    status: Vec<String>,
    /// Capacity in bytes.
    capacity: u64,
    /// Parts of the description of a device that have no effect.
    warnings: Vec<String>,
}

/// Serves an image, or a file with the timing of a disk, until a signal handler raises; returns the
/// final status as JSON. `ready` is called with the addresses (JSON) when clients can connect.
#[pyfunction]
pub fn block_serve(py: Python<'_>, config: &str, ready: &Bound<'_, PyAny>) -> PyResult<String> {
    let config: Serve = from_json(config, "server").map_err(raise)?;
    let (serving, warnings) = py.detach(|| config.start())?;
    let mut listen: Vec<_> = config.sockets.iter().cloned().map(Listen::Unix).collect();
    for place in &config.listen {
        listen.push(Listen::Tcp { address: address(place)?, insecure: config.insecure });
    }
    let mut options = ServerOptions::new(serving.export());
    options.exports = vec![NamedExport {
        name: config.export,
        description: if config.disk.is_some() { "Gordon disk" } else { "Gordon flash" }.to_owned(),
        export: serving.export(),
        read_only: config.read_only,
    }];
    options.listen = listen;
    options.limits.connections = config.clients.unwrap_or(ConnectionLimits::default().connections);
    if let (Some(certificate), Some(key)) = (&config.certificate, &config.key) {
        let tls = Tls::from_files(certificate, key, config.authority.as_deref());
        options.tls = Some(tls.map_err(raise)?);
    }
    let server = Server::start(options).map_err(raise)?;
    let mut stats: Vec<_> = config.sockets.iter().map(|path| Listen::Unix(stat(path))).collect();
    for place in &config.metrics {
        stats.push(Listen::Tcp { address: address(place)?, insecure: config.insecure });
    }
    let metrics = stats.iter().map(|place| Metrics::start(serving.clone(), place));
    let metrics: Vec<_> = metrics.collect::<Result<_, _>>().map_err(raise)?;
    let background = serving.start_idle_worker().map_err(raise)?;
    let ready_json = Ready {
        places: server.uris(),
        status: metrics.iter().map(Metrics::uri).collect(),
        capacity: serving.export().info().size.0,
        warnings,
    };
    let ready_json = serde_json::to_string(&ready_json).map_err(raise)?;
    // A signal handler that raises stops the server; the signal may arrive while `ready` runs.
    let heard = ready.call1((ready_json,)).map(|_| ());
    while heard.is_ok() && py.check_signals().is_ok() {
        py.detach(|| std::thread::sleep(Duration::from_millis(50)));
    }
    let status = py.detach(|| {
        server.stop();
        drop(background);
        let status = serving.status();
        drop(metrics);
        serving.close().map_err(raise)?;
        serde_json::to_string(&status).map_err(raise)
    })?;
    match heard {
        Err(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok(status),
    }
}

/// The socket that reports the status of a device served at `socket`.
fn stat(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".stat");
    name.into()
}

fn address(place: &str) -> PyResult<SocketAddr> {
    let wrong = || raise(format!("{place} is not an address\n  try: 127.0.0.1:10809"));
    place.to_socket_addrs().ok().and_then(|mut all| all.next()).ok_or_else(wrong)
}

/// Checks a whole image and returns the findings as JSON.
#[pyfunction]
pub fn block_check(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let look = || gordon_store::check(&Image::open(&path, Backend::File, false)?);
    let report = watched(py, look, || Ok(()), || ())?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// Repairs a damaged image and returns the losses as JSON.
#[pyfunction]
pub fn block_repair(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let repair = || gordon_store::repair(&path, Backend::File);
    let repaired = watched(py, repair, || Ok(()), || ())?.map_err(raise)?;
    serde_json::to_string(&repaired).map_err(raise)
}

/// Copies the readable part of an image to a raw file, with a map of the rest, and returns a
/// summary as JSON. `tick(done, total)` is called with bytes a few times a second.
#[pyfunction]
#[pyo3(signature = (path, out, tick=None))]
pub fn block_export(
    py: Python<'_>,
    path: PathBuf,
    out: PathBuf,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let export =
        |watch: &_| gordon_store::export(Image::open(&path, Backend::File, false)?, &out, watch);
    let exported = watch(py, tick, export)?.map_err(raise)?;
    serde_json::to_string(&exported).map_err(raise)
}

/// The wear of an image, as JSON.
#[pyfunction]
pub fn block_wear(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let look = || Image::open(&path, Backend::File, false).map(|image| gordon_store::wear(&image));
    serde_json::to_string(&py.detach(look).map_err(raise)?).map_err(raise)
}

/// The parameters of the device in an image, as JSON.
#[pyfunction]
pub fn block_image(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let look = || Image::open(&path, Backend::File, false).map(|image| image.device().clone());
    serde_json::to_string(&py.detach(look).map_err(raise)?).map_err(raise)
}
