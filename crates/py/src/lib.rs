//! `gordon._core`: each function converts its arguments, calls the core with the interpreter
//! released, and converts the result. No logic.

mod cache;
mod disk;
mod error;
mod flash;
mod io;
mod kinds;
mod own;
mod plan;
mod power;
mod probe;
mod replicas;
mod run;
mod survey;
mod trace;
mod watch;
mod web;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod not_linux;

use error::{GordonError, raise};
use gordon_config as config;
use gordon_units::{Bytes, DataRate, Hertz, Ns, ParseError, Volts, Watts};
use kinds::{KINDS, REPORTS};
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use not_linux as platform;
use pyo3::prelude::*;
use std::str::FromStr;

/// The functions and classes that exist on Linux only.
const NEEDS_LINUX: [&str; 19] = [
    "trace_record",
    "NodeCapture",
    "sort_run",
    "io_uring_error",
    "io_target",
    "io_probe",
    "io_characterise",
    "cache_serve",
    "corpus_generate",
    "block_create",
    "block_serve",
    "block_check",
    "block_export",
    "block_repair",
    "block_wear",
    "block_image",
    "sort_generate",
    "sort_validate",
    "ObjectCache",
];

/// The version of the core.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A quantity, or an error that names the known units, or has the example.
fn quantity<T: FromStr<Err = ParseError>>(text: &str, example: &str) -> PyResult<T> {
    text.parse().map_err(|error| match error {
        ParseError::Number => {
            raise(format!("`{text}`: expected a number and a unit, such as {example}"))
        }
        _ => raise(format!("`{text}`: {error}")),
    })
}

/// Parses text such as `64KiB` or `64k` to a number of bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    quantity::<Bytes>(text, "64KiB").map(|found| found.0)
}

/// Parses text such as `10Gb` or `125MB` to a number of bytes a second.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<f64> {
    quantity::<DataRate>(text, "125MB").map(|found| found.0)
}

/// Parses text such as `0.1s` to a number of nanoseconds.
#[pyfunction]
fn parse_ns(text: &str) -> PyResult<u64> {
    quantity::<Ns>(text, "25us, 3s or 10min").map(|found| found.0)
}

/// Parses text such as `2.4GHz` to a number of hertz.
#[pyfunction]
fn parse_hertz(text: &str) -> PyResult<f64> {
    quantity::<Hertz>(text, "2.4GHz").map(|found| found.0)
}

/// Parses text such as `19W` to a number of watts.
#[pyfunction]
fn parse_watts(text: &str) -> PyResult<f64> {
    quantity::<Watts>(text, "19W").map(|found| found.0)
}

/// Parses text such as `1.2V` to a number of volts.
#[pyfunction]
fn parse_volts(text: &str) -> PyResult<f64> {
    quantity::<Volts>(text, "12V").map(|found| found.0)
}

/// Parses and checks TOML of a kind and returns it as JSON.
#[pyfunction]
fn load_toml(kind: &str, text: &str, origin: &str) -> PyResult<String> {
    let all = [&KINDS[..], &platform::KINDS].concat();
    let kind = config::find(&all, kind).map_err(raise)?;
    kind.to_json(text, origin).map_err(raise)
}

/// Raises an error with the key path for JSON that is not a config of a kind.
#[pyfunction]
fn check_json(kind: &str, text: &str) -> PyResult<()> {
    let all = [&KINDS[..], &platform::KINDS].concat();
    let kind = config::find(&all, kind).map_err(raise)?;
    kind.check(text, kind.name).map_err(raise)
}

/// The JSON Schema of a kind of config.
#[pyfunction]
fn schema(kind: &str) -> PyResult<String> {
    let all = [&KINDS[..], &platform::KINDS].concat();
    let kind = config::find(&all, kind).map_err(raise)?;
    kind.schema().map_err(raise)
}

/// The JSON Schema of a kind of report.
#[pyfunction]
fn report_schema(kind: &str) -> PyResult<String> {
    let all = [&REPORTS[..], &platform::REPORTS].concat();
    let kind = config::find(&all, kind).map_err(raise)?;
    kind.schema().map_err(raise)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GordonError", module.py().get_type::<GordonError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(parse_rate, module)?)?;
    module.add_function(wrap_pyfunction!(parse_ns, module)?)?;
    module.add_function(wrap_pyfunction!(parse_hertz, module)?)?;
    module.add_function(wrap_pyfunction!(parse_watts, module)?)?;
    module.add_function(wrap_pyfunction!(parse_volts, module)?)?;
    module.add_function(wrap_pyfunction!(load_toml, module)?)?;
    module.add_function(wrap_pyfunction!(check_json, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(report_schema, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_summary, module)?)?;
    module.add_class::<run::RunResult>()?;
    module.add_class::<run::Table>()?;
    module.add_function(wrap_pyfunction!(io::device_characterise, module)?)?;
    module.add_function(wrap_pyfunction!(io::measured_times, module)?)?;
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
    module.add_function(wrap_pyfunction!(cache::cache_run_own, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_curve, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_policies, module)?)?;
    module.add_function(wrap_pyfunction!(cache::flashcache_run, module)?)?;
    module.add_function(wrap_pyfunction!(cache::flashcache_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(cache::tiered_run, module)?)?;
    module.add_function(wrap_pyfunction!(web::web_generate, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_formats, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_input, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_is_stream, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_activity_format, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_convert_activity, module)?)?;
    module.add_function(wrap_pyfunction!(trace::spark_event_log, module)?)?;
    module.add_function(wrap_pyfunction!(trace::spark_event_logs, module)?)?;
    module.add_function(wrap_pyfunction!(trace::spark_recorded_stages, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_anonymise, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_estimate_network, module)?)?;
    module.add_function(wrap_pyfunction!(survey::survey, module)?)?;
    module.add_function(wrap_pyfunction!(survey::survey_mean, module)?)?;
    module.add_function(wrap_pyfunction!(survey::bills, module)?)?;
    module.add_function(wrap_pyfunction!(survey::bill_doubts, module)?)?;
    module.add_function(wrap_pyfunction!(survey::bill_ranking, module)?)?;
    module.add_function(wrap_pyfunction!(survey::pareto_front, module)?)?;
    module.add_function(wrap_pyfunction!(survey::survey_missing, module)?)?;
    module.add_function(wrap_pyfunction!(survey::replay_one, module)?)?;
    module.add_function(wrap_pyfunction!(survey::replay_keep, module)?)?;
    module.add_function(wrap_pyfunction!(survey::node_power, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(replicas::replicas, module)?)?;
    module.add_class::<power::MachinePower>()?;
    module.add_function(wrap_pyfunction!(power::machine_power, module)?)?;
    module.add_function(wrap_pyfunction!(power::storage_power, module)?)?;
    module.add("NEEDS_LINUX", NEEDS_LINUX.to_vec())?;
    platform::add(module)
}
