//! Seed text: what the word models and web pages are grown from.
//!
//! The text comes from packages that are installed ([`packages`]), or from folders of the user.
//! Files are read in an order that depends on their names alone and mixes them, until a language
//! has [`SEED_BYTES`] of text and [`PAGE_BYTES`] of pages. So the same files give the same seed
//! text on every machine.
//!
//! In packages a line is used once, and lines of other languages that are also English are left
//! out: both are what pages repeat (navigation, licences) or what is not translated. Lines without
//! a letter are left out too. The text of users is taken as it is.

use super::sources::{LanguageFiles, SeedFile, SeedFiles};
use super::{html, packages, roff};
use crate::WorkloadError;
use flate2::read::MultiGzDecoder;
use gordon_units::{Progress, splitmix64};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most text of one language in bytes.
pub const SEED_BYTES: usize = 16 << 20;

/// Most HTML of one language in bytes that web pages are grown from.
pub const PAGE_BYTES: usize = 4 << 20;

/// Longest HTML file in bytes that web pages are grown from.
pub const LONGEST_PAGE: usize = 256 << 10;

/// The files of installed packages under `root`, or of the folders `from` if there are any.
pub fn find(
    root: &Path,
    from: &[PathBuf],
    progress: &Progress,
) -> Result<SeedFiles, WorkloadError> {
    let mut found = SeedFiles::default();
    if from.is_empty() {
        packages::add(root, &mut found)?;
    }
    for folder in from {
        found.add_folder(folder, progress)?;
    }
    found.sort();
    Ok(found)
}

/// The seed text of one language.
#[derive(Clone, Debug, Default)]
pub struct LanguageText {
    /// Its lines, each with a line feed.
    pub lines: String,
    /// HTML pages.
    pub pages: Vec<String>,
    /// The files that were read.
    pub read: Vec<SeedFile>,
    /// Number of files that are not UTF-8 text.
    pub binary: u64,
}

impl LanguageText {
    /// The SHA-256 of lines and pages, in hexadecimal.
    pub fn sha256(&self) -> String {
        let mut sum = Sha256::new();
        sum.update(&self.lines);
        for page in &self.pages {
            sum.update([0]);
            sum.update(page);
        }
        sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What is kept of the text that is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Whether the text is of packages, whose repeated and untranslated lines are left out.
    pub packaged: bool,
    /// Whether HTML pages are kept.
    pub pages: bool,
    /// Hashes of the English lines.
    pub english: Option<&'a HashSet<u64>>,
}

impl Reading<'_> {
    /// Reads the files of a language.
    pub fn read(
        self,
        files: &LanguageFiles,
        progress: &Progress,
    ) -> Result<LanguageText, WorkloadError> {
        let mut found = LanguageText::default();
        let mut seen = HashSet::new();
        let mut page_bytes = 0;
        for file in &files.files {
            progress.check()?;
            let wants_pages = self.pages && page_bytes < PAGE_BYTES;
            if found.lines.len() >= SEED_BYTES && !wants_pages {
                break;
            }
            let Some(text) = text_of(&file.path)? else {
                found.binary += 1;
                continue;
            };
            found.read.push(file.clone());
            let format = Format::of(&file.path, &text);
            if found.lines.len() < SEED_BYTES {
                format.paragraphs(&text, |text| self.add(text, &mut found.lines, &mut seen));
            }
            if wants_pages && format == Format::Html && text.len() <= LONGEST_PAGE {
                page_bytes += text.len();
                found.pages.push(text);
            }
        }
        Ok(found)
    }

    /// Appends a paragraph as a line, with single spaces between its words.
    fn add(self, paragraph: &str, lines: &mut String, seen: &mut HashSet<u64>) {
        if lines.len() >= SEED_BYTES || (self.packaged && !paragraph.contains(char::is_alphabetic))
        {
            return;
        }
        let start = lines.len();
        for word in paragraph.split_whitespace() {
            lines.push_str(word);
            lines.push(' ');
        }
        if lines.len() == start {
            return;
        }
        lines.pop();
        let hash = line_hash(&lines[start..]);
        if self.packaged
            && (self.english.is_some_and(|known| known.contains(&hash)) || !seen.insert(hash))
        {
            lines.truncate(start);
            return;
        }
        lines.push('\n');
    }
}

/// Hashes of the lines of a text.
pub fn line_hashes(lines: &str) -> HashSet<u64> {
    lines.lines().map(line_hash).collect()
}

fn line_hash(line: &str) -> u64 {
    let (words, rest) = line.as_bytes().as_chunks();
    let hash = words.iter().fold(0, |hash, word| splitmix64(hash ^ u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, &byte| splitmix64(hash ^ u64::from(byte)))
}

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Html,
    Roff,
    Lines,
}

impl Format {
    fn of(path: &Path, text: &str) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
        let start = text.trim_start();
        let starts = |tag: &str| {
            start
                .as_bytes()
                .get(..tag.len())
                .is_some_and(|s| s.eq_ignore_ascii_case(tag.as_bytes()))
        };
        if ["html", "htm", "xhtml"].contains(&suffix) || starts("<!doctype html") || starts("<html")
        {
            Self::Html
        } else if suffix.starts_with(|c: char| c.is_ascii_digit()) && start.starts_with(['.', '\''])
        {
            Self::Roff
        } else {
            Self::Lines
        }
    }

    fn paragraphs(self, text: &str, paragraph: impl FnMut(&str)) {
        match self {
            Self::Html => html::paragraphs(text, paragraph),
            Self::Roff => roff::paragraphs(text, paragraph),
            Self::Lines => text.lines().for_each(paragraph),
        }
    }
}

/// The text of a file, at most [`SEED_BYTES`]; `None` if it is not UTF-8 text.
fn text_of(path: &Path) -> Result<Option<String>, WorkloadError> {
    let failed = |error| WorkloadError::read(path, error);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let packed = path.extension().is_some_and(|suffix| suffix == "gz");
    if packed {
        let read = MultiGzDecoder::new(file).take(SEED_BYTES as u64).read_to_end(&mut bytes);
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(failed(error));
            }
            Err(_) => return Ok(None),
        }
    } else {
        file.take(SEED_BYTES as u64).read_to_end(&mut bytes).map_err(failed)?;
    }
    if memchr::memchr(0, &bytes).is_some() {
        return Ok(None);
    }
    let cut = bytes.len() == SEED_BYTES;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        // The limit has cut a character.
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).ok()
        }
        Err(_) => None,
    })
}
