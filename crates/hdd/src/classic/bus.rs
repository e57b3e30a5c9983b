//! The bus of a classic drive: which command has it, and what crosses it until when.

use gordon_units::Ns;

/// What the drive does on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BusStep {
    /// Prepares a transfer of a command's data, or its completion.
    Contact,
    /// Transfers sectors, from a time on. From `gaps` on the bus is free while the drive waits for
    /// the medium between two sectors.
    Transfer { begins: Ns, sectors: u64, gaps: Ns },
    /// Disconnects.
    Leave,
    /// Reports the completion.
    Complete,
}

/// The bus, with the step in progress and the commands that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bus {
    /// The step in progress, its command, and its end.
    pub step: Option<(Ns, BusStep, usize)>,
    /// The command that is to use the bus next, even if it has left it.
    pub current: Option<usize>,
    /// Whether `current` holds the bus, and waits for data or for room.
    pub held: bool,
    /// Commands that have left the bus and are not completed, the last one at the end.
    pub waiting: Vec<usize>,
    /// A command that made an extra disconnection and will come back to the bus at a time.
    pub pause: Option<(Ns, usize)>,
}

impl Bus {
    pub fn begin(&mut self, until: Ns, step: BusStep, command: usize) {
        debug_assert!(self.step.is_none());
        self.step = Some((until, step, command));
    }

    /// Time from which a new command can get the bus; none if somebody holds it.
    pub fn free_from(&self) -> Option<Ns> {
        match self.step {
            None if !self.held => Some(Ns::ZERO),
            Some((_, BusStep::Transfer { gaps, .. }, _)) if gaps < Ns::MAX => Some(gaps),
            _ => None,
        }
    }

    pub fn waits(&self, command: usize) -> bool {
        self.waiting.contains(&command)
    }
}
