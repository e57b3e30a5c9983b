//! The random streams of a run: one for each component, so that none changes with another's use.

pub use gordon_units::RandomStream as Random;

/// The component that draws from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// Addresses of a synthetic load.
    Address,
    /// Which request of a synthetic load reads, or is hot.
    Choice,
    /// Writes that measure write amplification.
    Amplification,
}

impl From<Component> for u32 {
    fn from(component: Component) -> Self {
        component as Self
    }
}
