//! What needs Linux: its block devices, counters, control groups, direct I/O and io_uring.

mod block;
mod corpus;
mod kinds;
mod nodes;
mod object_cache;
mod record;
mod serve;
mod sort;
mod sort_data;
mod storage;

pub(crate) use kinds::{KINDS, REPORTS};
use pyo3::prelude::*;

/// Adds the functions and classes to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(record::trace_record, module)?)?;
    module.add_class::<nodes::NodeCapture>()?;
    module.add_function(wrap_pyfunction!(sort::sort_run, module)?)?;
    module.add_function(wrap_pyfunction!(sort::io_uring_error, module)?)?;
    module.add_function(wrap_pyfunction!(storage::io_target, module)?)?;
    module.add_function(wrap_pyfunction!(storage::io_probe, module)?)?;
    module.add_function(wrap_pyfunction!(storage::io_characterise, module)?)?;
    module.add_function(wrap_pyfunction!(serve::cache_serve, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::corpus_generate, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_create, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_serve, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_check, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_export, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_repair, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_wear, module)?)?;
    module.add_function(wrap_pyfunction!(block::block_image, module)?)?;
    module.add_function(wrap_pyfunction!(sort_data::sort_generate, module)?)?;
    module.add_function(wrap_pyfunction!(sort_data::sort_validate, module)?)?;
    module.add_class::<object_cache::ObjectCache>()?;
    Ok(())
}
