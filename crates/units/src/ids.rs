//! Identifiers of pages and blocks: distinct types without arithmetic.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// Logical page number: index of a mapping unit in the exported address space.
    Lpn
);
id!(
    /// Physical page number: index of a (super-)page in the array.
    Ppn
);
id!(
    /// Index of a (super-)block in the array.
    BlockId
);
