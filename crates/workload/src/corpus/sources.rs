//! Files with seed text, by language, and where they came from.

use crate::WorkloadError;
use gordon_units::{Progress, splitmix64};
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The language of packages without one in their paths.
pub const ENGLISH: &str = "en";

/// Where seed text came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum SourceFacts {
    /// A Debian package.
    Package {
        /// Its name.
        name: String,
        /// Its version.
        version: String,
        /// Number of its files that were read.
        files: u64,
    },
    /// A folder or file of the user.
    Folder {
        /// Its path as given.
        path: PathBuf,
        /// Number of its files that were read.
        files: u64,
    },
}

impl SourceFacts {
    /// Number of files that were read.
    pub fn files(&self) -> u64 {
        match self {
            Self::Package { files, .. } | Self::Folder { files, .. } => *files,
        }
    }
}

/// A file with seed text.
#[derive(Clone, Debug)]
pub struct SeedFile {
    /// Its path.
    pub path: PathBuf,
    /// Index of its source.
    pub source: usize,
    /// Hash of its name within its source, which orders the files of a language.
    order: u64,
}

impl SeedFile {
    /// A file; `name` is its path within its source.
    pub fn new(path: PathBuf, source: usize, name: &Path) -> Self {
        let hash = |hash, &byte: &u8| splitmix64(hash ^ u64::from(byte));
        let order = name.as_os_str().as_encoded_bytes().iter().fold(0, hash);
        Self { path, source, order }
    }
}

/// The files of one language.
#[derive(Clone, Debug)]
pub struct LanguageFiles {
    /// The language, as `de` or `pt_BR`; the name of the folder for text of users.
    pub language: String,
    /// Its files.
    pub files: Vec<SeedFile>,
}

/// Files with seed text, by language, and where they came from.
#[derive(Clone, Debug, Default)]
pub struct SeedFiles {
    /// The languages, sorted by name.
    pub languages: Vec<LanguageFiles>,
    /// The packages or folders.
    pub sources: Vec<SourceFacts>,
    /// The first folder, if the text is that of the user.
    pub folder: Option<PathBuf>,
}

impl SeedFiles {
    /// Sorts the languages by name, and the files of each in the order in which they are read.
    pub fn sort(&mut self) {
        self.languages.sort_by(|a, b| a.language.cmp(&b.language));
        for language in &mut self.languages {
            language.files.sort_by(|a, b| (a.order, &a.path).cmp(&(b.order, &b.path)));
        }
    }

    /// Adds a file of a language.
    pub fn add(&mut self, language: &str, file: SeedFile) {
        match self.languages.iter_mut().find(|known| known.language == language) {
            Some(known) => known.files.push(file),
            None => self
                .languages
                .push(LanguageFiles { language: language.to_owned(), files: vec![file] }),
        }
    }

    /// Adds the files of a folder of the user, or a single file. The name of the folder is that of
    /// their language.
    pub fn add_folder(&mut self, folder: &Path, progress: &Progress) -> Result<(), WorkloadError> {
        self.folder.get_or_insert_with(|| folder.to_owned());
        let absolute = fs::canonicalize(folder).map_err(|e| WorkloadError::read(folder, e))?;
        let language = absolute.file_name().map_or("text".into(), |name| name.to_string_lossy());
        let source = self.sources.len();
        self.sources.push(SourceFacts::Folder { path: folder.to_owned(), files: 0 });
        let mut files = Vec::new();
        walk(folder, &mut files, progress)?;
        if files.is_empty() {
            let path = folder.to_owned();
            return Err(WorkloadError::NoSeedText { path, why: "it has no files".into() });
        }
        for path in files {
            let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
            self.add(&language, SeedFile::new(path, source, &name));
        }
        Ok(())
    }

    /// Adds the files that were read to the facts of their sources.
    pub fn count(&mut self, read: &[SeedFile]) {
        for file in read {
            match &mut self.sources[file.source] {
                SourceFacts::Package { files, .. } | SourceFacts::Folder { files, .. } => {
                    *files += 1;
                }
            }
        }
    }
}

/// Appends the files under `path`, or `path` itself if it is a file. Links are not followed.
fn walk(path: &Path, into: &mut Vec<PathBuf>, progress: &Progress) -> Result<(), WorkloadError> {
    progress.check()?;
    let failed = |error| WorkloadError::read(path, error);
    if fs::metadata(path).map_err(failed)?.is_file() {
        into.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            walk(&entry.path(), into, progress)?;
        } else if kind.is_file() {
            into.push(entry.path());
        }
    }
    Ok(())
}
