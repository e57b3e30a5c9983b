//! Input data of cluster jobs: text, web pages, numbers and records, in folders of part files.
//!
//! Text and web pages are grown from seed text that the machine has: packages, or folders of the
//! user ([`seed_text`]). A word model is learned for each language ([`model`]), and a generator
//! draws from it. The same configuration, seed text and version give the same bytes, whatever the
//! number of threads. docs/design/corpora.md describes models and formats.

mod error;
mod generator;
mod html;
mod learn;
mod model;
mod numbers;
mod output;
mod packages;
mod parts;
mod records;
mod roff;
mod seed_text;
mod sources;
mod text;
mod tokens;
mod web;

pub use learn::LanguageFacts;
pub use parts::CorpusFile;
pub use sources::SourceFacts;

use crate::WorkloadError;
use generator::{Generator, Part};
use gordon_units::{Bytes, Progress};
use learn::SeedRequest;
use numbers::NumberGenerator;
use parts::CorpusFolder;
use records::{RECORD, RecordGenerator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use text::TextGenerator;
use web::WebGenerator;

/// Version of the manifest.
const FORMAT_VERSION: u32 = 1;

/// Smallest size of a part: the longest page of the seed text, and a bit more.
const SMALLEST_PART: Bytes = Bytes(1 << 20);

/// Largest number of parts, which their names have digits for.
const MOST_PARTS: u64 = 100_000;

/// Kind of the records of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CorpusKind {
    /// Lines of text in several languages.
    Text,
    /// HTML pages, one line of JSON each.
    Web,
    /// Lines of decimal numbers.
    Numbers,
    /// Records of the sort benchmark.
    Records,
}

impl CorpusKind {
    /// The format of a record, as the manifest names it.
    fn format(self) -> &'static str {
        match self {
            Self::Text | Self::Numbers => "lines",
            Self::Web => "json-lines",
            Self::Records => "records-100",
        }
    }
}

/// Description of a corpus to generate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusConfig {
    /// Kind of the records.
    pub kind: CorpusKind,
    /// Size of all files together, which the corpus reaches up to the last record of each file.
    pub size: Bytes,
    /// Largest size of a file.
    pub part_size: Bytes,
    /// Random seed.
    pub seed: u64,
    /// Folders with seed text, each with the name of its language. Empty: packages.
    pub from: Vec<PathBuf>,
    /// Folder of the corpus, which must not exist.
    pub output: PathBuf,
    /// Number of threads. `None`: two more than cores.
    pub threads: Option<usize>,
    /// Folder that the packages are installed under.
    pub root: PathBuf,
}

/// Parameters that the bytes of a corpus depend on, in addition to seed and seed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CorpusParameters {
    /// Requested size in bytes.
    pub size: u64,
    /// Largest size of a file in bytes.
    pub part_size: u64,
    /// Most seed text of a language in bytes; `None` for kinds without seed text.
    pub seed_text_bytes: Option<u64>,
    /// Most HTML of a language in bytes that pages are grown from; `None` except for web pages.
    pub page_bytes: Option<u64>,
    /// Number of page templates; `None` except for web pages.
    pub templates: Option<u64>,
    /// Lines of a document; `None` except for text.
    pub document_lines: Option<u64>,
    /// Number of the first record, in decimal; `None` except for records of the sort benchmark.
    #[serde(serialize_with = "decimal")]
    #[schemars(with = "Option<String>")]
    pub first_record: Option<u128>,
}

/// A number that may exceed those of JSON, as text.
fn decimal<S: serde::Serializer>(number: &Option<u128>, to: S) -> Result<S::Ok, S::Error> {
    number.map(|number| number.to_string()).serialize(to)
}

/// Description of a generated corpus, the contents of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CorpusManifest {
    /// Version of this format.
    pub corpus_version: u32,
    /// Version of Gordon. Another version may generate other bytes from the same seed.
    pub gordon: &'static str,
    /// Kind of the records.
    pub kind: CorpusKind,
    /// Format of the files: `lines`, `json-lines` or `records-100`.
    pub format: &'static str,
    /// Random seed.
    pub seed: u64,
    /// Total length of the files in bytes.
    pub bytes: u64,
    /// Number of records.
    pub records: u64,
    /// The sum of the CRC-32 of each record, in hexadecimal; a line feed is not part of a record.
    pub checksum: String,
    /// The files, in order.
    pub files: Vec<CorpusFile>,
    /// What the generator is configured with.
    pub parameters: CorpusParameters,
    /// The languages of the seed text, sorted by name.
    pub languages: Vec<LanguageFacts>,
    /// Packages or folders of the seed text.
    pub sources: Vec<SourceFacts>,
}

/// Generates a corpus and returns its manifest. Its folder appears when it is complete.
///
/// # Errors
/// When the configuration is not valid, there is no seed text, the files cannot be written, or a
/// stop was requested ([`WorkloadError::Stopped`]). Nothing is left of the corpus then.
pub fn generate_corpus(
    config: &CorpusConfig,
    progress: &Progress,
) -> Result<CorpusManifest, WorkloadError> {
    let parts = divided(config)?;
    CorpusFolder::check(&config.output, config.size)?;
    progress.total.store(config.size.0, Ordering::Relaxed);
    let mut parameters = CorpusParameters {
        size: config.size.0,
        part_size: config.part_size.0,
        seed_text_bytes: None,
        page_bytes: None,
        templates: None,
        document_lines: None,
        first_record: None,
    };
    let mut languages = Vec::new();
    let mut sources = Vec::new();
    let generator: Box<dyn Generator> = match config.kind {
        CorpusKind::Numbers => Box::new(NumberGenerator { seed: config.seed }),
        CorpusKind::Records => {
            parameters.first_record = Some(records::first_record(config.seed));
            Box::new(RecordGenerator::new(config.seed))
        }
        CorpusKind::Text | CorpusKind::Web => {
            let pages = config.kind == CorpusKind::Web;
            let request = SeedRequest { root: &config.root, from: &config.from, pages };
            let seed = request.learn(config.threads, progress)?;
            parameters.seed_text_bytes = Some(seed_text::SEED_BYTES as u64);
            (languages, sources) = (seed.facts, seed.sources);
            if pages {
                parameters.page_bytes = Some(seed_text::PAGE_BYTES as u64);
                parameters.templates = Some(seed.templates.len() as u64);
                Box::new(WebGenerator::new(seed.chains, seed.templates, config.seed, &parts))
            } else {
                parameters.document_lines = Some(text::LINES as u64);
                Box::new(TextGenerator::new(seed.chains, config.seed))
            }
        }
    };
    let folder = CorpusFolder::make(&config.output)?;
    let files = parts::write(&folder, generator.as_ref(), &parts, config.threads, progress)?;
    let records = files.iter().map(|file| file.records).sum();
    if records == 0 {
        return Err(bad("size", format!("no record fits in {}", config.size), "a larger size"));
    }
    let manifest = CorpusManifest {
        corpus_version: FORMAT_VERSION,
        gordon: env!("CARGO_PKG_VERSION"),
        kind: config.kind,
        format: config.kind.format(),
        seed: config.seed,
        bytes: files.iter().map(|file| file.bytes).sum(),
        records,
        checksum: format!("{:x}", files.iter().map(|file| file.sum).sum::<u128>()),
        files,
        parameters,
        languages,
        sources,
    };
    let Ok(mut text) = serde_json::to_vec_pretty(&manifest) else {
        unreachable!("the manifest has only numbers, text and lists")
    };
    text.push(b'\n');
    folder.write("manifest.json", &text)?;
    progress.check()?;
    folder.keep()?;
    Ok(manifest)
}

/// Checks the configuration; returns the parts.
fn divided(config: &CorpusConfig) -> Result<Vec<Part>, WorkloadError> {
    let CorpusConfig { kind, size, part_size, .. } = *config;
    let unit = if kind == CorpusKind::Records { RECORD as u64 } else { 1 };
    if config.threads == Some(0) {
        return Err(bad("threads", "0 threads do no work", "at least 1"));
    }
    if config.output.file_name().is_none() {
        let output = config.output.display();
        return Err(bad("output", format!("`{output}` is not the name of a new folder"), "a name"));
    }
    if !config.from.is_empty() && !matches!(kind, CorpusKind::Text | CorpusKind::Web) {
        let why = "numbers and records are not grown from seed text";
        return Err(bad("from", why, "without --from"));
    }
    if size.0 < unit || i64::try_from(size.0).is_err() {
        let why = format!("{size} is not the size of a corpus");
        return Err(bad("size", why, "100MB, 2GB"));
    }
    if part_size < SMALLEST_PART {
        let why = format!("{part_size} is less than {SMALLEST_PART}");
        return Err(bad("part-size", why, "64MiB"));
    }
    if size.0.div_ceil(part_size.0) > MOST_PARTS {
        let why = format!("{size} in files of {part_size} are more than {MOST_PARTS} files");
        return Err(bad("part-size", why, "larger files"));
    }
    Ok(Part::divide(size.0, part_size.0, unit))
}

fn bad(option: &'static str, why: impl AsRef<str>, hint: &str) -> WorkloadError {
    WorkloadError::Option { option, why: format!("{}\n  try: {hint}", why.as_ref()) }
}
