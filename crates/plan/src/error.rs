//! Why a plan is refused.

use gordon_units::Bytes;

/// A size in decimal units, as data and capacities are given.
#[allow(clippy::cast_precision_loss)]
fn decimal(size: Bytes) -> String {
    let size = size.0 as f64;
    if size >= 1e12 { format!("{:.1} TB", size / 1e12) } else { format!("{:.3} GB", size / 1e9) }
}

/// Why a plan cannot be simulated. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A value of the array is impossible.
    #[error("{what}: {why}\n  try: {hint}")]
    BadArray {
        /// The value.
        what: &'static str,
        /// Why it is impossible.
        why: String,
        /// What to change.
        hint: String,
    },
    /// A value of a job is impossible.
    #[error("job `{job}`: {key}: {why}\n  try: {hint}")]
    BadJob {
        /// Name of the job.
        job: String,
        /// The key of the value.
        key: &'static str,
        /// Why it is impossible.
        why: String,
        /// What to change.
        hint: &'static str,
    },
    /// Two jobs have the same name.
    #[error("two jobs have the name `{job}`\n  try: give each job a name of its own")]
    SameName {
        /// The name.
        job: String,
    },
    /// There is nothing to plan.
    #[error("there are no jobs\n  try: a table [[jobs]] with `name` and `data`")]
    NoJobs,
    /// The data of a job do not fit into its slices.
    #[error(
        "job `{job}`: its data, {}, do not fit into its {slices} of the {of} slices, which \
         hold {}\n  try: {hint}",
        decimal(*data), decimal(*capacity)
    )]
    JobTooLarge {
        /// Name of the job.
        job: String,
        /// Size of its data.
        data: Bytes,
        /// Number of slices that it may use.
        slices: u32,
        /// Number of slices of the array.
        of: u32,
        /// Bytes that these slices hold.
        capacity: Bytes,
        /// What to change.
        hint: String,
    },
}
