//! A model of a NAND flash array: its organisation ([`Geometry`], [`SuperPageShape`], [`Layout`]),
//! its speed ([`Timing`]), its lifetime ([`Endurance`], [`factory_bad`]), its operations
//! ([`FlashOp`]) and its rules ([`Array`], which refuses operations that a chip would do wrong).
//!
//! The crate uses no files, clocks or threads, and is `no_std`.
#![no_std]

extern crate alloc;

mod array;
mod ecc;
mod endurance;
mod error;
mod factory;
mod geometry;
mod layout;
mod op;
mod program_order;
mod table;
mod timing;

pub use array::Array;
pub use ecc::{Codewords, parity_bits};
pub use endurance::{
    BLOCK_SURVIVAL, Endurance, EnduranceError, LEAST_ERASES, LEAST_SPAN, endurance_used,
    lifetime_years,
};
pub use error::GeometryError;
pub use factory::factory_bad;
pub use geometry::Geometry;
pub use layout::{DieGroupId, Layout, SuperPageShape};
pub use op::{Buf, FlashOp, Oob, PageContent};
pub use program_order::{BlockProgress, ProgramOrderChecker, Refusal};
pub use table::{LBA_ENTRY, lba_table, smallest_super_page};
pub use timing::{Modes, Times, Timing};
