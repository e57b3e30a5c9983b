//! Dense numbering of a trace's devices and processes, in the order of their first requests.

use std::collections::HashMap;

/// Assigns each number of a trace a dense number, counted from 0.
#[derive(Debug, Default)]
pub struct DenseIds {
    ids: HashMap<u32, u32>,
    numbers: Vec<u32>,
    /// The last pair returned, since most requests have the same number as their predecessor.
    last: Option<(u32, u32)>,
}

impl DenseIds {
    /// The dense number for the trace's `number`.
    #[inline]
    pub fn of(&mut self, number: u32) -> u32 {
        match self.last {
            Some((last, id)) if last == number => id,
            _ => self.find(number),
        }
    }

    fn find(&mut self, number: u32) -> u32 {
        let next = u32::try_from(self.numbers.len()).expect("fewer numbers than 2^32");
        let id = *self.ids.entry(number).or_insert(next);
        if id == next {
            self.numbers.push(number);
        }
        self.last = Some((number, id));
        id
    }

    /// The trace's numbers, in the order of the dense ones.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_assigned_in_order_and_kept() {
        let mut ids = DenseIds::default();
        let given: Vec<u32> = [7, 7, 9, 0, 9, 7, 1 << 31].map(|n| ids.of(n)).to_vec();
        assert_eq!(given, [0, 0, 1, 2, 1, 0, 3]);
        assert_eq!(ids.numbers(), [7, 9, 0, 1 << 31]);
    }
}
