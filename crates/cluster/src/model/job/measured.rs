//! The measured storages of a survey: checks, and what they assume where a trace has requests that
//! were not measured.

use super::JobSurvey;
use crate::error::ClusterError;
use crate::space::catalogue::MachineCatalogue;
use crate::space::measured::{OpPatterns, READS, WRITES};
use crate::trace::job_stream::JobStream;

/// Reads and writes: the name, and their patterns.
const OPS: [(&str, OpPatterns); 2] = [("reads", READS), ("writes", WRITES)];

/// Returns an error for a trace with reads or writes that were not measured on a storage.
pub(crate) fn check_ops(
    catalogue: &MachineCatalogue,
    streams: &[JobStream],
) -> Result<(), ClusterError> {
    for path in catalogue.files() {
        let storage = &catalogue.measured[path];
        for stream in streams {
            for ((name, of), is_used) in OPS.into_iter().zip(stream.ops()) {
                if is_used && !storage.has(of.sequential) && !storage.has(of.random) {
                    return Err(ClusterError::NotMeasured {
                        file: path.into(),
                        trace: stream.stream.path.clone(),
                        op: name,
                    });
                }
            }
        }
    }
    Ok(())
}

/// Requests of the traces for which the storages have others, or none: the file, what is missing,
/// and what is used for it.
pub(super) fn substitutes(
    survey: &JobSurvey,
    streams: &[JobStream],
) -> Vec<(String, String, &'static str)> {
    let mut list = Vec::new();
    for path in survey.catalogue.files() {
        let storage = &survey.catalogue.measured[path];
        for (op, (name, of)) in OPS.into_iter().enumerate() {
            let mut add = |missing: String, used| list.push((path.to_owned(), missing, used));
            match (storage.has(of.sequential), storage.has(of.random)) {
                (true, true) => {}
                (false, false) => add(format!("no {name}"), "the traces have none"),
                _ if !streams.iter().any(|stream| stream.ops()[op]) => {}
                (true, false) => add(
                    format!("no random {name}"),
                    "not measured; they have the times of sequential ones",
                ),
                (false, true) => add(
                    format!("no sequential {name}"),
                    "not measured; they have the times of random ones",
                ),
            }
        }
    }
    list
}
