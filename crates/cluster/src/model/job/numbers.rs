//! The number of nodes of a design next to that of the traced ones.

/// Numbers of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeNumbers {
    /// Traced ones.
    pub traced: u32,
    /// Those of a design.
    pub target: u32,
}

impl NodeNumbers {
    /// The traced nodes themselves.
    pub fn as_traced(traced: u32) -> Self {
        Self { traced, target: traced }
    }

    /// What a node of the target does of what a traced one did.
    pub fn part(self) -> f64 {
        f64::from(self.traced) / f64::from(self.target)
    }

    /// Whether the target has another number of nodes.
    pub fn differ(self) -> bool {
        self.traced != self.target
    }
}
