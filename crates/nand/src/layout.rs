//! The logical organisation of the array: super-pages, super-blocks and die groups.
//!
//! A super-page is one page in each plane of a rectangle of dies (Figure 3 of the Gordon paper:
//! striped over buses is *horizontal*, over the dies of a bus *vertical*, over both *2-D*). The
//! rectangles tile the array. Each is a [die group](DieGroupId): its dies operate together on one
//! operation at a time, in parallel with the other die groups. With 64 KiB super-pages over 4 buses
//! x 4 dies x 2 planes the paper's array has 4 die groups: its "four operations proceed in
//! parallel". If a super-page uses only some planes of a die, several plane sets share a die group
//! and contend for its dies; each plane set has its own super-blocks.
//!
//! Super-block numbers are `(set * blocks_per_plane + row) * die groups + die group`; super-page
//! numbers are `block * pages_per_block + page`.

use crate::{Geometry, GeometryError};
use gordon_units::{BlockId, Bytes, Divisor, Ppn};

/// Index of a die group: a rectangle of dies that operate together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DieGroupId(pub u32);

impl DieGroupId {
    /// The number as an index into a table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The rectangle over which a super-page is striped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct SuperPageShape {
    /// Number of buses.
    pub buses: u32,
    /// Dies on each of the buses.
    pub dies_per_bus: u32,
    /// Planes of each of the dies.
    pub planes: u32,
}

impl SuperPageShape {
    /// The shape of a super-page of `size` bytes. It is striped over buses first (horizontal), then
    /// over planes, which costs no parallelism between die groups, then over the dies of a bus
    /// (vertical).
    pub fn of_size(size: Bytes, geometry: &Geometry) -> Result<Self, GeometryError> {
        geometry.validate()?;
        let page = u64::from(geometry.page_bytes);
        let refuse = || GeometryError::NoShape {
            bytes: size.0,
            page: geometry.page_bytes,
            largest: page * u64::from(geometry.dies()) * u64::from(geometry.planes_per_die),
        };
        if size.0 == 0 || !size.0.is_multiple_of(page) {
            return Err(refuse());
        }
        let mut left = size.0 / page;
        let mut take = |most: u32| {
            let part = gcd(left, u64::from(most));
            left /= part;
            // The value is at most `most`, so the cast cannot truncate.
            #[allow(clippy::cast_possible_truncation)]
            {
                part as u32
            }
        };
        let shape = Self {
            buses: take(geometry.buses),
            planes: take(geometry.planes_per_die),
            dies_per_bus: take(geometry.dies_per_bus()),
        };
        if left == 1 { Ok(shape) } else { Err(refuse()) }
    }

    /// Physical pages in one super-page.
    pub const fn pages(&self) -> u32 {
        self.buses * self.dies_per_bus * self.planes
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A geometry with super-pages laid over it, and the sizes that the layers above need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    geometry: Geometry,
    shape: SuperPageShape,
    die_groups: u32,
    die_groups_per_bus_group: u32,
    blocks: u32,
    by_block: Divisor,
    by_die_group: Divisor,
    by_set: Divisor,
}

/// A quotient or remainder of a number of 32 bits.
#[inline]
#[allow(clippy::cast_possible_truncation)]
fn low32(n: u64) -> u32 {
    n as u32
}

impl Layout {
    /// Lays super-pages of `shape` over `geometry`.
    pub fn new(geometry: Geometry, shape: SuperPageShape) -> Result<Self, GeometryError> {
        geometry.validate()?;
        for (part, whole, what) in [
            (shape.buses, geometry.buses, "buses"),
            (shape.dies_per_bus, geometry.dies_per_bus(), "dies per bus"),
            (shape.planes, geometry.planes_per_die, "planes"),
        ] {
            if part == 0 || !whole.is_multiple_of(part) {
                return Err(GeometryError::Indivisible { what, part, whole });
            }
        }
        let die_groups_per_bus_group = geometry.dies_per_bus() / shape.dies_per_bus;
        let die_groups = geometry.buses / shape.buses * die_groups_per_bus_group;
        let sets = geometry.planes_per_die / shape.planes;
        let blocks = u64::from(die_groups) * u64::from(sets) * u64::from(geometry.blocks_per_plane);
        let pages = blocks.saturating_mul(u64::from(geometry.pages_per_block));
        if pages >= u64::from(u32::MAX) {
            return Err(GeometryError::TooMany(pages));
        }
        // `blocks <= pages`, which fits.
        #[allow(clippy::cast_possible_truncation)]
        Ok(Self {
            geometry,
            shape,
            die_groups,
            die_groups_per_bus_group,
            blocks: blocks as u32,
            by_block: Divisor::new(geometry.pages_per_block.into()),
            by_die_group: Divisor::new(die_groups.into()),
            by_set: Divisor::new((die_groups * geometry.blocks_per_plane).into()),
        })
    }

    /// The physical array.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The shape of a super-page.
    pub fn shape(&self) -> SuperPageShape {
        self.shape
    }

    /// Number of die groups, which is the number of operations that can proceed in parallel.
    pub fn die_groups(&self) -> u32 {
        self.die_groups
    }

    /// Number of bus groups: the buses that carry a super-page together. Several die groups may
    /// share a bus group.
    pub fn bus_groups(&self) -> u32 {
        self.die_groups / self.die_groups_per_bus_group
    }

    /// Index of the bus group of a die group.
    pub fn bus_group(&self, die_group: DieGroupId) -> usize {
        (die_group.0 / self.die_groups_per_bus_group) as usize
    }

    /// Dies in one die group.
    pub fn dies_per_group(&self) -> u32 {
        self.shape.buses * self.shape.dies_per_bus
    }

    /// Number of super-blocks in the array.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Super-pages in one super-block.
    pub fn pages_per_block(&self) -> u32 {
        self.geometry.pages_per_block
    }

    /// Number of super-pages in the array.
    pub fn pages(&self) -> u32 {
        self.blocks * self.geometry.pages_per_block
    }

    /// Data bytes of one super-page.
    pub fn page_bytes(&self) -> Bytes {
        Bytes(u64::from(self.geometry.page_bytes)) * u64::from(self.shape.pages())
    }

    /// Data size of a super-block.
    pub fn block_bytes(&self) -> Bytes {
        self.page_bytes() * u64::from(self.pages_per_block())
    }

    /// Number of plane sets that share the dies of a die group.
    pub fn plane_sets(&self) -> u32 {
        self.geometry.planes_per_die / self.shape.planes
    }

    /// Index of a super-block's plane set within its die group.
    #[inline]
    pub fn plane_set_of(&self, block: BlockId) -> u32 {
        low32(self.by_set.floor(block.0.into()))
    }

    /// The die group of a super-block.
    #[inline]
    pub fn die_group_of(&self, block: BlockId) -> DieGroupId {
        DieGroupId(low32(self.by_die_group.rest(block.0.into())))
    }

    /// The super-block of a super-page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(low32(self.by_block.floor(ppn.0.into())))
    }

    /// Index of a super-page within its super-block.
    #[inline]
    pub fn page_of(&self, ppn: Ppn) -> u32 {
        low32(self.by_block.rest(ppn.0.into()))
    }

    /// The super-block of a super-page, and the index of the super-page within it.
    #[inline]
    pub fn place_of(&self, ppn: Ppn) -> (BlockId, u32) {
        let (block, page) = self.by_block.divide(ppn.0.into());
        (BlockId(low32(block)), low32(page))
    }

    /// The number of super-page `page` of super-block `block`.
    #[inline]
    pub fn ppn(&self, block: BlockId, page: u32) -> Ppn {
        Ppn(block.0 * self.geometry.pages_per_block + page)
    }
}
