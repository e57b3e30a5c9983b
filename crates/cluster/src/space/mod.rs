//! What is compared: grids of parts and lists of machines, with their cores, storage, network,
//! power and price. All models take these from here.

pub mod catalogue;
pub mod choices;
pub mod config;
pub mod cores;
pub(crate) mod find;
pub(crate) mod grid;
pub mod machine;
pub(crate) mod machines;
pub mod measured;
pub mod node;
pub mod operation;
pub(crate) mod part_times;
pub(crate) mod reference;
pub mod resources;
pub mod standby;
pub(crate) mod storage;
pub mod supply;
pub(crate) mod wear;
pub mod whole;
