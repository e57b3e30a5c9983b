//! A disk tier for [Pingora's](https://github.com/cloudflare/pingora) HTTP cache: its [`Storage`]
//! on [`gordon_objectcache`], in DRAM and flash, bounded and purgeable.
//!
//! - `storage`: [`ObjectStorage`], the trait's methods.
//! - `hit`: bodies that are read, from the cache or from a write in progress.
//! - `miss`: bodies that are written.
//! - `writes`: the writes in progress, and who reads them.
//! - `entry`: keys and metadata as the cache stores them.
//!
//! [`Storage`]: pingora_cache::Storage

mod entry;
mod hit;
mod miss;
mod storage;
mod writes;

pub use storage::ObjectStorage;
