//! Parts of the catalogue by their kind and name.

use crate::error::ClusterError;
use std::collections::BTreeMap;

/// The part with this kind and name.
pub(crate) fn part<'a, T>(
    kind: &'static str,
    parts: &'a BTreeMap<String, T>,
    name: &str,
) -> Result<&'a T, ClusterError> {
    parts.get(name).ok_or_else(|| ClusterError::UnknownPart {
        kind,
        name: name.into(),
        known: if parts.is_empty() {
            "none".into()
        } else {
            parts.keys().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")
        },
    })
}
