//! A cache of objects in DRAM and flash, as a class.

use crate::error::raise;
use gordon_config::from_json;
use gordon_objectcache::{Admission, Cache, Config, Flash, Lifetime, Put, Recovery, block_on};
use gordon_units::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use std::path::PathBuf;

/// The settings of a cache.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    dram: Bytes,
    flash: Option<PathBuf>,
    flash_size: Option<Bytes>,
    segment: Option<Bytes>,
    block: Option<Bytes>,
    admission: AdmissionOption,
    /// Years that the flash must last, and rated erases of a block.
    lifetime: Option<(f64, u64)>,
    reinsert: bool,
    /// Part of the flash for sets.
    sets: Option<f64>,
    seed: u64,
    trace: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AdmissionOption {
    All,
    Random(f64),
    Hits(u32),
    Ghost(Bytes),
}

impl Options {
    pub(crate) fn config(self) -> Config {
        let narrow = |bytes: Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
        let mut config = Config::new(self.dram.0);
        config.block = self.block.map_or(config.block, narrow);
        config.seed = self.seed;
        config.trace = self.trace;
        config.flash = self.flash.map(|path| {
            let mut flash = Flash::image(path);
            flash.size = self.flash_size.map(|size| size.0);
            flash.segment = self.segment.map(narrow);
            flash.admission = match self.admission {
                AdmissionOption::All => Admission::All,
                AdmissionOption::Random(part) => Admission::Random(part),
                AdmissionOption::Hits(least) => Admission::Hits(least),
                AdmissionOption::Ghost(bytes) => Admission::Ghost(bytes.0),
            };
            flash.lifetime = self.lifetime.map(|(years, endurance)| Lifetime { years, endurance });
            flash.reinsert = self.reinsert;
            flash.sets = self.sets;
            flash
        });
        config
    }
}

/// A cache of objects in DRAM and flash.
#[pyclass(frozen)]
pub struct ObjectCache {
    cache: Cache,
    recovery: Recovery,
}

#[pymethods]
impl ObjectCache {
    /// Opens or creates the cache that `options` (JSON) describe.
    #[new]
    fn new(py: Python<'_>, options: &str) -> PyResult<Self> {
        let options: Options = from_json(options, "cache").map_err(raise)?;
        let config = options.config();
        let (cache, recovery) = py.detach(|| Cache::open(config)).map_err(raise)?;
        Ok(Self { cache, recovery })
    }

    /// What was found when the cache was opened, as JSON.
    fn recovery(&self) -> PyResult<String> {
        serde_json::to_string(&self.recovery).map_err(raise)
    }

    /// Metadata and body of an object.
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &[u8],
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let found = py.detach(|| {
            block_on(async {
                let Some(object) = self.cache.get(key).await else { return Ok(None) };
                let body = object.read(0..u64::MAX).await?;
                Ok(body.map(|body| (object, body)))
            })
        });
        let found = found.map_err(|error: gordon_objectcache::Error| raise(error))?;
        Ok(found.map(|(object, body)| (PyBytes::new(py, object.meta()), PyBytes::new(py, &body))))
    }

    /// Stores an object. Returns `stored`, `too-large` or `not-admitted`.
    fn put(&self, py: Python<'_>, key: &[u8], meta: &[u8], body: &[u8]) -> PyResult<&'static str> {
        let put = py.detach(|| {
            let mut writer = self.cache.writer(key, meta, Some(body.len() as u64));
            writer.write_slice(body)?;
            block_on(writer.finish())
        });
        Ok(match put.map_err(raise)? {
            Put::Stored => "stored",
            Put::TooLarge => "too-large",
            Put::NotAdmitted => "not-admitted",
        })
    }

    /// Replaces the metadata of an object; returns whether there was one.
    fn update_meta(&self, py: Python<'_>, key: &[u8], meta: &[u8]) -> PyResult<bool> {
        py.detach(|| block_on(self.cache.update_meta(key, meta))).map_err(raise)
    }

    /// Deletes an object durably; returns whether there was one.
    fn delete(&self, py: Python<'_>, key: &[u8]) -> PyResult<bool> {
        py.detach(|| block_on(self.cache.delete(key))).map_err(raise)
    }

    /// Deletes all objects with a prefix durably; returns their number.
    fn purge(&self, py: Python<'_>, prefix: &[u8]) -> PyResult<u64> {
        py.detach(|| block_on(self.cache.purge(prefix))).map_err(raise)
    }

    /// The counters, as JSON.
    fn stats(&self) -> PyResult<String> {
        serde_json::to_string(&self.cache.stats()).map_err(raise)
    }

    /// Verifies every object in flash; returns counts as JSON.
    fn check(&self, py: Python<'_>) -> PyResult<String> {
        let checked = py.detach(|| block_on(self.cache.check())).map_err(raise)?;
        serde_json::to_string(&checked).map_err(raise)
    }

    /// Writes what DRAM holds to flash and ends the use of the cache.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| block_on(self.cache.close())).map_err(raise)
    }
}
