//! Learns the models of all languages of the seed text, on several threads.

use super::model::{Chain, Spelling};
use super::packages::FOR_PAGES;
use super::seed_text::{self, LanguageText, Reading};
use super::sources::{ENGLISH, LanguageFiles, SourceFacts};
use super::web::Templates;
use crate::WorkloadError;
use gordon_units::Progress;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The seed text of a language, and what was learned from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LanguageFacts {
    /// Its name, as `de` or `pt_BR`.
    pub language: String,
    /// Number of files that were read.
    pub files: u64,
    /// Length of its text in bytes.
    pub bytes: u64,
    /// Number of its lines.
    pub lines: u64,
    /// Number of its words.
    pub words: u64,
    /// Number of its different words, with their punctuation.
    pub vocabulary: u64,
    /// Number of HTML pages that are templates of web pages.
    pub pages: u64,
    /// The SHA-256 of its text and pages, in hexadecimal.
    pub sha256: String,
}

/// Models and templates, and what they were learned from.
#[derive(Debug)]
pub struct Seed {
    /// A model for each language, in the order of `facts`.
    pub chains: Vec<Chain>,
    /// Templates of web pages, if they were requested.
    pub templates: Templates,
    /// The languages.
    pub facts: Vec<LanguageFacts>,
    /// Packages or folders.
    pub sources: Vec<SourceFacts>,
}

/// Where seed text is looked for, and what is learned from it.
#[derive(Clone, Copy, Debug)]
pub struct SeedRequest<'a> {
    /// Folder that packages are installed under.
    pub root: &'a Path,
    /// Folders of the user, which replace packages.
    pub from: &'a [PathBuf],
    /// Whether web pages are generated: languages without pages are left out.
    pub pages: bool,
}

/// The model of a language, the seed text's pages and files.
struct Learned {
    chain: Chain,
    text: LanguageText,
    facts: LanguageFacts,
}

/// The result of a language: text without words has no model.
type LanguageResult = Result<Result<Learned, LanguageText>, WorkloadError>;

impl SeedRequest<'_> {
    /// Reads all languages and learns their models.
    pub fn learn(self, threads: Option<usize>, progress: &Progress) -> Result<Seed, WorkloadError> {
        let mut found = seed_text::find(self.root, self.from, progress)?;
        let packaged = self.from.is_empty();
        let english = found.languages.iter().position(|known| known.language == ENGLISH);
        // English lines are known before the other languages are read.
        let first = english.filter(|_| packaged);
        let mut known = None;
        let mut results: Vec<Option<LanguageResult>> =
            found.languages.iter().map(|_| None).collect();
        if let Some(first) = first {
            let learned = self.language(&found.languages[first], None, progress);
            if let Ok(Ok(learned)) = &learned {
                known = Some(seed_text::line_hashes(&learned.text.lines));
            }
            results[first] = Some(learned);
        }
        self.others(&found.languages, &mut results, known.as_ref(), threads, progress);
        let mut seed = Seed {
            chains: Vec::new(),
            templates: Templates::default(),
            facts: Vec::new(),
            sources: Vec::new(),
        };
        let (mut files, mut binary) = (0, 0);
        for result in results.into_iter().flatten() {
            match result? {
                Ok(learned) if !self.pages || !learned.text.pages.is_empty() => {
                    found.count(&learned.text.read);
                    for page in &learned.text.pages {
                        seed.templates.add(seed.chains.len(), page);
                    }
                    seed.chains.push(learned.chain);
                    seed.facts.push(learned.facts);
                }
                Ok(_) => {}
                Err(text) => {
                    files += text.read.len() as u64 + text.binary;
                    binary += text.binary;
                }
            }
        }
        seed.sources = found.sources.into_iter().filter(|source| source.files() > 0).collect();
        if !seed.chains.is_empty() {
            return Ok(seed);
        }
        Err(match found.folder {
            None => WorkloadError::NoPackages { what: "HTML pages", packages: FOR_PAGES },
            Some(path) if files == 0 => WorkloadError::NoPages(path),
            Some(path) if binary == files => {
                WorkloadError::NoSeedText { path, why: format!("binary, {files} files") }
            }
            Some(path) => {
                let why = format!("{files} files without words, {binary} of them binary");
                WorkloadError::NoSeedText { path, why }
            }
        })
    }

    /// Learns the languages that have no result yet.
    fn others(
        self,
        languages: &[LanguageFiles],
        results: &mut [Option<LanguageResult>],
        english: Option<&HashSet<u64>>,
        threads: Option<usize>,
        progress: &Progress,
    ) {
        let left: Vec<usize> = (0..results.len()).filter(|&at| results[at].is_none()).collect();
        let next = AtomicUsize::new(0);
        let slots: Vec<Mutex<&mut Option<LanguageResult>>> =
            results.iter_mut().map(Mutex::new).collect();
        let work = || {
            while let Some(&at) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                let learned = self.language(&languages[at], english, progress);
                **slots[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(learned);
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or(cores).clamp(1, left.len().max(1));
        thread::scope(|scope| {
            for _ in 1..threads {
                // If the system refuses a thread, the others do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    fn language(
        self,
        files: &LanguageFiles,
        english: Option<&HashSet<u64>>,
        progress: &Progress,
    ) -> LanguageResult {
        let reading = Reading { packaged: self.from.is_empty(), pages: self.pages, english };
        let mut text = reading.read(files, progress)?;
        progress.check()?;
        let spelling = if self.pages { Spelling::HtmlInJson } else { Spelling::Plain };
        let Some(chain) = Chain::learn(&text.lines, spelling) else { return Ok(Err(text)) };
        let facts = LanguageFacts {
            language: files.language.clone(),
            files: text.read.len() as u64,
            bytes: text.lines.len() as u64,
            lines: chain.lines(),
            words: chain.tokens(),
            vocabulary: chain.vocabulary(),
            pages: text.pages.len() as u64,
            sha256: text.sha256(),
        };
        if files.language != ENGLISH {
            text.lines = String::new();
        }
        Ok(Ok(Learned { chain, text, facts }))
    }
}
