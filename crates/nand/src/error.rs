//! Why parameters do not describe a possible flash array.

use core::fmt;

/// Why a geometry or a super-page shape is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// A count is zero.
    Zero(&'static str),
    /// A page is not a whole number of 512-byte sectors.
    PageBytes(u32),
    /// The super-page's extent in a dimension does not divide the array's.
    Indivisible {
        /// The dimension, such as `buses`.
        what: &'static str,
        /// The super-page's extent in this dimension.
        part: u32,
        /// The array's extent in this dimension.
        whole: u32,
    },
    /// No rectangle of pages has this size.
    NoShape {
        /// The requested size, in bytes.
        bytes: u64,
        /// The page size of the array, in bytes.
        page: u32,
        /// The largest super-page, in bytes.
        largest: u64,
    },
    /// The array has more super-pages than 32-bit page numbers can address; holds their number.
    TooMany(u64),
    /// The counts far exceed those of any real array.
    TooLarge,
    /// The bus has no bandwidth, or is wider than 64 bits or not a multiple of 8.
    Bus,
    /// Blocks have a single page, which leaves no data page next to the summary page.
    OnePage,
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "the array has no {what}; give at least 1"),
            Self::PageBytes(bytes) => {
                write!(f, "a page of {bytes} bytes; give a multiple of 512")
            }
            Self::Indivisible { what, part, whole } => write!(
                f,
                "a super-page over {part} {what} does not divide the array's {whole}; \
                 give a divisor of {whole}"
            ),
            Self::NoShape { bytes, page, largest } => write!(
                f,
                "no rectangle of {page}-byte pages makes a super-page of {bytes} bytes; give a \
                 multiple of {page} that divides {largest}"
            ),
            Self::TooMany(pages) => write!(
                f,
                "{pages} super-pages are more than the 4294967295 that can be numbered; \
                 give larger super-pages"
            ),
            Self::TooLarge => f.write_str(
                "the array is too large: at most 4095 packages, 4095 dies a package, 512 KiB a \
                 page and 2^44 pages",
            ),
            Self::Bus => {
                f.write_str("a bus is 8, 16, 32 or 64 bits wide and has a rate of 1kHz or more")
            }
            Self::OnePage => f.write_str("a block needs at least 2 pages"),
        }
    }
}

impl core::error::Error for GeometryError {}
