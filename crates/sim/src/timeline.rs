//! A resource that serves one user at a time.

use gordon_units::Ns;

/// Reservations of a resource, first come, first served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    free_at: Ns,
    busy: Ns,
}

impl Timeline {
    /// Reserves the resource for `span`, starting at `at` or as soon as it is free; returns the end
    /// of the reservation. Calls must be in the order of `at`: idle time before the last
    /// reservation is not reused.
    #[inline]
    pub fn reserve(&mut self, at: Ns, span: Ns) -> Ns {
        self.free_at = self.free_at.max(at) + span;
        self.busy += span;
        self.free_at
    }

    /// The time at which the last reservation ends.
    #[inline]
    pub fn free_at(&self) -> Ns {
        self.free_at
    }

    /// Total time reserved so far.
    #[inline]
    pub fn busy(&self) -> Ns {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_queue_and_idle_time_is_not_busy() {
        let mut bus = Timeline::default();
        assert_eq!(bus.reserve(Ns(5), Ns(10)), Ns(15));
        assert_eq!(bus.reserve(Ns(7), Ns(10)), Ns(25), "waits for the first");
        assert_eq!(bus.reserve(Ns(100), Ns(1)), Ns(101));
        assert_eq!(bus.busy(), Ns(21));
    }
}
