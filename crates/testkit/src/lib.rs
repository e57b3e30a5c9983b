//! Test support: [`Rig`] drives the translation layer on an array model with real contents and
//! compares every answer with [`Model`], a reference model of a disk. [`MemoryMedia`] is a medium
//! of the store that can fail, and [`image`] makes small NAND images on it.

pub mod image;
mod memory_media;
mod model;
mod place;
mod power;
mod random;
mod rig;
mod scars;
mod skipped;
mod watchdog;

pub use memory_media::MemoryMedia;
pub use model::Model;
pub use place::is_on_a_disk;
pub use power::{After, Cut};
pub use random::Random;
pub use rig::{Request, Rig};
pub use skipped::skipped;
pub use watchdog::{Watchdog, watchdog};
