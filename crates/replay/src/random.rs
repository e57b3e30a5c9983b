//! Random streams of a run: one for each component, so that no component changes the numbers that
//! another one draws.

pub use gordon_units::RandomStream as Random;

/// The component that uses a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// Addresses of a synthetic load.
    Address,
    /// Choice of reads and of hot pages in a synthetic load.
    Choice,
    /// Addresses of writes in a measurement of write amplification.
    Amplification,
}

impl From<Component> for u32 {
    fn from(component: Component) -> Self {
        component as Self
    }
}
