//! Dense numbering of a trace's devices and processes, in the order of their first requests.

use std::collections::HashMap;

/// Assigns each number of a trace a dense number, counted from 0.
#[derive(Debug, Default)]
pub struct Numbers {
    ours: HashMap<u32, u32>,
    theirs: Vec<u32>,
    /// The last pair returned, since most requests have the same number as their predecessor.
    last: Option<(u32, u32)>,
}

impl Numbers {
    /// The dense number for the trace's `number`.
    #[inline]
    pub fn of(&mut self, number: u32) -> u32 {
        match self.last {
            Some((last, ours)) if last == number => ours,
            _ => self.find(number),
        }
    }

    fn find(&mut self, number: u32) -> u32 {
        let next = u32::try_from(self.theirs.len()).expect("fewer numbers than 2^32");
        let ours = *self.ours.entry(number).or_insert(next);
        if ours == next {
            self.theirs.push(number);
        }
        self.last = Some((number, ours));
        ours
    }

    /// The trace's numbers, in the order of the dense ones.
    pub fn theirs(&self) -> &[u32] {
        &self.theirs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_assigned_in_order_and_kept() {
        let mut numbers = Numbers::default();
        let given: Vec<u32> = [7, 7, 9, 0, 9, 7, 1 << 31].map(|n| numbers.of(n)).to_vec();
        assert_eq!(given, [0, 0, 1, 2, 1, 0, 3]);
        assert_eq!(numbers.theirs(), [7, 9, 0, 1 << 31]);
    }
}
