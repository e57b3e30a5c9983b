//! Dimensions of the physical array.

use crate::GeometryError;
use gordon_units::Bytes;

/// The physical array, as in section 4.2.1 of the Gordon paper: buses connect packages, packages
/// contain dies, dies contain planes, planes contain blocks, blocks contain pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Geometry {
    /// Buses between the controller and the packages.
    pub buses: u32,
    /// Packages on one bus.
    pub packages_per_bus: u32,
    /// Dies in one package.
    pub dies_per_package: u32,
    /// Planes of one die.
    pub planes_per_die: u32,
    /// Blocks of one plane.
    pub blocks_per_plane: u32,
    /// Pages of one block.
    pub pages_per_block: u32,
    /// Data bytes of one page.
    pub page_bytes: u32,
    /// Out-of-band bytes of one page.
    pub oob_bytes: u32,
}

impl Geometry {
    /// Checks that the array is possible.
    pub fn validate(&self) -> Result<(), GeometryError> {
        for (count, what) in [
            (self.buses, "buses"),
            (self.packages_per_bus, "packages_per_bus"),
            (self.dies_per_package, "dies_per_package"),
            (self.planes_per_die, "planes_per_die"),
            (self.blocks_per_plane, "blocks_per_plane"),
            (self.pages_per_block, "pages_per_block"),
            (self.page_bytes, "page_bytes"),
        ] {
            if count == 0 {
                return Err(GeometryError::Zero(what));
            }
        }
        if !self.page_bytes.is_multiple_of(512) {
            return Err(GeometryError::PageBytes(self.page_bytes));
        }
        if self.pages_per_block < 2 {
            return Err(GeometryError::OnePage);
        }
        // After these checks, none of the products below overflows.
        let pages = [
            self.buses,
            self.packages_per_bus,
            self.dies_per_package,
            self.planes_per_die,
            self.blocks_per_plane,
            self.pages_per_block,
        ];
        let pages = pages.iter().try_fold(1u64, |n, &count| n.checked_mul(u64::from(count)));
        match pages {
            Some(pages) if pages <= 1 << 44 && self.dies_fit() => Ok(()),
            _ => Err(GeometryError::TooLarge),
        }
    }

    fn dies_fit(&self) -> bool {
        u64::from(self.buses) * u64::from(self.packages_per_bus) < 1 << 12
            && self.dies_per_package < 1 << 12
            && self.page_bytes <= 1 << 19
            && self.oob_bytes <= 1 << 19
    }

    /// Dies that share one bus.
    pub const fn dies_per_bus(&self) -> u32 {
        self.packages_per_bus * self.dies_per_package
    }

    /// Dies in the array.
    pub const fn dies(&self) -> u32 {
        self.buses * self.dies_per_bus()
    }

    /// Raw data bytes of one die.
    pub const fn die_bytes(&self) -> Bytes {
        Bytes(
            self.planes_per_die as u64
                * self.blocks_per_plane as u64
                * self.pages_per_block as u64
                * self.page_bytes as u64,
        )
    }

    /// Raw data bytes of the array.
    pub fn capacity(&self) -> Bytes {
        self.die_bytes() * u64::from(self.dies())
    }
}
