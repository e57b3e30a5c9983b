//! Errors of a cache.

use gordon_store::ImageError;
use gordon_units::Bytes;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error as ThisError;

/// Why a cache cannot be opened or used.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A value of the configuration is invalid.
    #[error("{key}: {why}\n  try: {hint}")]
    Config {
        /// Name of the field.
        key: &'static str,
        /// What is wrong with it.
        why: String,
        /// A valid value.
        hint: String,
    },
    /// A file cannot be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another process has the cache open.
    #[error("{0}: in use by another process; stop it first")]
    InUse(PathBuf),
    /// The file system has no space for the file.
    #[error("{path}: no space for {}\n  try: less flash, or another file system", Bytes(*size))]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// The path is neither a file, a folder nor a block device.
    #[error("{0}: neither a file, a folder nor a block device\n  try: the path of one of them")]
    NotStorage(PathBuf),
    /// The block device is smaller than the flash of the cache.
    #[error(
        "{path}: {}, smaller than the flash of {}\n  try: less flash", Bytes(*len), Bytes(*size)
    )]
    DeviceTooSmall {
        /// The device.
        path: PathBuf,
        /// Its size in bytes.
        len: u64,
        /// Size of the flash in bytes.
        size: u64,
    },
    /// The file was written by another program.
    #[error(
        "{0}: not a cache of objects\n  try: another path, or remove the file first; of a device, clear the first \
             MiB"
    )]
    Foreign(PathBuf),
    /// A NAND image cannot be used.
    #[error(transparent)]
    Image(ImageError),
    /// The erase blocks of a NAND image do not suit a cache.
    #[error("{path}: {why}\n  try: an image with {hint} (`gordon block create`)")]
    Array {
        /// The image.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// A better one.
        hint: String,
    },
    /// The cache has a version that this program does not support.
    #[error(
        "{path}: a cache of version {version}, this program knows version {known}\n  try: remove the \
         file to start with an empty cache"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Version of the cache.
        version: u32,
        /// Version that this program writes.
        known: u32,
    },
    /// The cache was created with another size.
    #[error(
        "{path}: created with {what} {}, not {}\n  try: the options with which it was created, or remove \
         the file to start with an empty cache", Bytes(*found), Bytes(*given)
    )]
    OtherShape {
        /// The file.
        path: PathBuf,
        /// `a flash of`, `segments of` or `sets of`.
        what: &'static str,
        /// Its size in bytes when the cache was created.
        found: u64,
        /// The size that was given, in bytes.
        given: u64,
    },
    /// Both copies of the superblock are damaged, or the file is cut off.
    #[error("{path}: {why}\n  try: remove the file to start with an empty cache")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The body of a [`Writer`](crate::Writer) does not have the length that was announced.
    #[error("the body has {found} bytes, {expected} were announced")]
    Length {
        /// Announced length in bytes.
        expected: u64,
        /// Bytes written.
        found: u64,
    },
    /// The prefix of a purge is too long.
    #[error("a prefix of {0} bytes is longer than any key\n  try: at most 4000 bytes")]
    LongPrefix(usize),
    /// The removal of an object could not be written to the flash. A restart may bring it back.
    #[error("the flash does not take records of removals: {0}")]
    Journal(String),
    /// The cache was closed.
    #[error("the cache was closed")]
    Closed,
}

impl From<ImageError> for Error {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::InUse(path) => Self::InUse(path),
            ImageError::Io { path, error } => Self::Io { path, source: error },
            other => Self::Image(other),
        }
    }
}

/// Adds the path to an error of a file.
pub(crate) fn at_path(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |source| Error::Io { path: path.to_path_buf(), source }
}
