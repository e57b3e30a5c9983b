//! Arithmetic on structs of counters.

/// Implements `-` and `+=` of a struct, field by field. All fields must be listed.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Counts {
///     reads: u64,
///     writes: u64,
/// }
/// gordon_units::fieldwise!(Counts { reads, writes });
/// let (before, mut now) = (Counts { reads: 1, writes: 2 }, Counts { reads: 4, writes: 2 });
/// assert_eq!(now - before, Counts { reads: 3, writes: 0 });
/// now += before;
/// assert_eq!(now, Counts { reads: 5, writes: 4 });
/// ```
#[macro_export]
macro_rules! fieldwise {
    ($name:ident { $($field:ident),+ $(,)? }) => {
        impl ::core::ops::Sub for $name {
            type Output = Self;
            fn sub(self, before: Self) -> Self {
                Self { $($field: self.$field - before.$field),+ }
            }
        }

        impl ::core::ops::AddAssign for $name {
            fn add_assign(&mut self, more: Self) {
                $(self.$field += more.$field;)+
            }
        }
    };
}
