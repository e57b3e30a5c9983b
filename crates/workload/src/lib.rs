//! Generated workloads: block logs of web servers, after SURGE and SPECweb99, and the input data of
//! cluster jobs.

#[cfg(target_os = "linux")]
mod corpus;
mod distributions;
mod error;
mod request;
mod specweb99;
mod surge;
mod web;

#[cfg(target_os = "linux")]
pub use corpus::{
    CorpusConfig, CorpusFile, CorpusKind, CorpusManifest, CorpusParameters, LanguageFacts,
    SourceFacts, generate_corpus,
};
pub use error::WorkloadError;
pub use web::{KindCount, PAGE, WebConfig, WebReport, Workload, generate};
