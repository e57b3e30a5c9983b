//! `gordon._core`: each function converts its arguments, calls the core with the interpreter
//! released, and converts the result. No logic.

mod block;
mod cache;
mod disk;
mod error;
mod flash;
mod io;
mod kinds;
mod power;
mod probe;
mod run;
mod sort;
mod sort_data;
mod survey;
mod trace;
mod watch;
mod web;

use error::{GordonError, raise};
use gordon_config as config;
use gordon_units::{Bytes, Ns};
use kinds::KINDS;
use pyo3::prelude::*;

/// The version of the core.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Parses text such as `64KiB` to a number of bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    text.parse::<Bytes>().map(|b| b.0).map_err(|e| raise(format!("`{text}`: {e}")))
}

/// Parses text such as `0.1s` to a number of nanoseconds.
#[pyfunction]
fn parse_ns(text: &str) -> PyResult<u64> {
    text.parse::<Ns>().map(|t| t.0).map_err(|e| raise(format!("`{text}`: {e}")))
}

/// Parses and checks TOML of a kind and returns it as JSON.
#[pyfunction]
fn load_toml(kind: &str, text: &str, origin: &str) -> PyResult<String> {
    let kind = config::find(&KINDS, kind).map_err(raise)?;
    kind.to_json(text, origin).map_err(raise)
}

/// The JSON Schema of a kind of config.
#[pyfunction]
fn schema(kind: &str) -> PyResult<String> {
    let kind = config::find(&KINDS, kind).map_err(raise)?;
    kind.schema().map_err(raise)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GordonError", module.py().get_type::<GordonError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(parse_ns, module)?)?;
    module.add_function(wrap_pyfunction!(load_toml, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_record, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_summary, module)?)?;
    module.add_function(wrap_pyfunction!(sort::sort_run, module)?)?;
    module.add_class::<run::RunResult>()?;
    module.add_class::<run::RunTable>()?;
    module.add_function(wrap_pyfunction!(io::io_target, module)?)?;
    module.add_function(wrap_pyfunction!(io::io_probe, module)?)?;
    module.add_function(wrap_pyfunction!(io::io_characterise, module)?)?;
    module.add_function(wrap_pyfunction!(io::device_characterise, module)?)?;
    module.add_function(wrap_pyfunction!(disk::disk_run, module)?)?;
    module.add_class::<probe::DiskProber>()?;
    module.add_function(wrap_pyfunction!(probe::probes_write, module)?)?;
    module.add_function(wrap_pyfunction!(probe::probes_read, module)?)?;
    module.add_function(wrap_pyfunction!(disk::disk_run_all, module)?)?;
    module.add_function(wrap_pyfunction!(flash::flash_run, module)?)?;
    module.add_function(wrap_pyfunction!(flash::flash_run_all, module)?)?;
    module.add_function(wrap_pyfunction!(flash::flash_wa, module)?)?;
    module.add_function(wrap_pyfunction!(flash::flash_provision, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_run, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_curve, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_policies, module)?)?;
    module.add_function(wrap_pyfunction!(cache::flashcache_run, module)?)?;
    module.add_function(wrap_pyfunction!(cache::flashcache_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(cache::tiered_run, module)?)?;
    module.add_function(wrap_pyfunction!(cache::tables_write, module)?)?;
    module.add_function(wrap_pyfunction!(web::web_generate, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_formats, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_input, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_is_stream, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_activity_format, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_convert_activity, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_create, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_serve, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_check, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_export, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_repair, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_wear, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_image, module)?)?;
    module.add_function(wrap_pyfunction!(sort_data::sort_generate, module)?)?;
    module.add_function(wrap_pyfunction!(sort_data::sort_validate, module)?)?;
    module.add_function(wrap_pyfunction!(survey::survey, module)?)?;
    module.add_function(wrap_pyfunction!(survey::survey_machines, module)?)?;
    module.add_function(wrap_pyfunction!(survey::node_power, module)?)?;
    module.add_class::<power::MachinePower>()?;
    module.add_function(wrap_pyfunction!(power::storage_power, module)?)?;
    Ok(())
}
