//! What both front ends need of HTTP.

pub(crate) mod access_log;
pub(crate) mod directives;
pub(crate) mod freshness;
pub(crate) mod hop;
pub(crate) mod plan;
pub(crate) mod status_field;
