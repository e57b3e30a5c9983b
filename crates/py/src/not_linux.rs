//! Stands in for what needs Linux: each of these names is an object that raises an error.

use crate::NEEDS_LINUX;
use crate::error::raise;
use gordon_config::{Kind, ReportKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

pub(crate) const KINDS: [Kind; 0] = [];
pub(crate) const REPORTS: [ReportKind; 0] = [];

/// A function or class that needs Linux.
#[pyclass(module = "gordon._core", frozen)]
struct NeedsLinux {
    name: &'static str,
}

impl NeedsLinux {
    fn refuse<T>(&self) -> PyResult<T> {
        let hint = "a machine, a container or WSL with Linux; surveys and simulations run here";
        Err(raise(format!("{} needs Linux\n  try: {hint}", self.name)))
    }
}

#[pymethods]
impl NeedsLinux {
    #[pyo3(signature = (*_args, **_named))]
    fn __call__(
        &self,
        _args: &Bound<'_, PyTuple>,
        _named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.refuse()
    }

    fn __getattr__(&self, _name: &str) -> PyResult<()> {
        self.refuse()
    }
}

/// Adds the stand-ins to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for name in NEEDS_LINUX {
        module.add(name, NeedsLinux { name })?;
    }
    Ok(())
}
