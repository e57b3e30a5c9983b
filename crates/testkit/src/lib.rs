//! For tests: drives the translation layer over the strict array with real contents ([`Rig`]), and
//! holds every answer against a model of what a disk would say ([`Model`]).

mod model;
mod place;
mod power;
mod random;
mod rig;
mod skipped;
mod watchdog;

pub use model::Model;
pub use place::is_on_a_disk;
pub use power::{After, Cut};
pub use random::Random;
pub use rig::{Request, Rig};
pub use skipped::skipped;
pub use watchdog::{Watchdog, watchdog};
