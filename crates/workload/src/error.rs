//! Errors of a generator. Each says what is wrong, where, and what to try.

use gordon_trace::TraceError;
use gordon_units::Stopped;
use std::io;
use std::path::PathBuf;

/// An error of a generator. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The file cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An option has a value that is not accepted.
    #[error("{option}: {why}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// What is wrong with its value, and what to try.
        why: String,
    },
    /// No package with seed text is installed.
    #[error(
        "no package with {what} is installed\n  \
         try: apt install {packages}; or --from DIR with text of your own"
    )]
    NoPackages {
        /// The text or pages that are missing.
        what: &'static str,
        /// Packages that have them.
        packages: &'static str,
    },
    /// Packages with seed text are installed, but their files are missing.
    #[error(
        "the files of {packages} are missing, although the packages are installed\n  \
         try: remove the path-exclude lines of /etc/dpkg/dpkg.cfg.d, then apt install --reinstall \
         them; or --from DIR"
    )]
    PackagesWithoutFiles {
        /// Names of the packages.
        packages: String,
    },
    /// A folder of seed text has no usable text.
    #[error(
        "{path}: no seed text: {why}\n  \
         try: a folder with UTF-8 text, HTML or manual pages, as they are or in .gz",
        path = .path.display()
    )]
    NoSeedText {
        /// The folder or file.
        path: PathBuf,
        /// The contents that are not usable.
        why: String,
    },
    /// The seed text has no HTML pages, which web pages are grown from.
    #[error(
        "no HTML page among the seed text in {path}\n  \
         try: a folder with .html files of at most 256 KiB; or a corpus of kind text",
        path = .0.display()
    )]
    NoPages(PathBuf),
    /// The path of a new corpus exists already.
    #[error("{path} exists already\n  try: another name, or remove it first", path = .0.display())]
    Exists(PathBuf),
    /// The folder of a new corpus does not exist.
    #[error(
        "cannot write {path}: there is no folder {parent}\n  try: mkdir -p {parent}",
        path = .0.display(), parent = .1.display()
    )]
    MissingFolder(PathBuf, PathBuf),
    /// The file system has no space left for the corpus.
    #[error(
        "cannot write {path}: {why}\n  try: a smaller --size, or -o on another disk",
        path = .path.display()
    )]
    DiskFull {
        /// The corpus, or a file of it.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// A file of the corpus cannot be written.
    #[error(
        "cannot write {path}: {source}\n  \
         try: a folder that exists and is yours, with enough free space",
        path = .path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// A file of seed text cannot be read.
    #[error(
        "cannot read {path}: {source}\n  try: check the name, and who may read it",
        path = .path.display()
    )]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The caller stopped the generation.
    #[error("stopped")]
    Stopped,
}

impl From<Stopped> for WorkloadError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}
