//! Queues of the host, and the order in which their requests are issued.
//!
//! The order is weighted round robin with credits: in its turn, a queue issues as many requests as
//! its weight, or fewer if it becomes empty; then it is the turn of the next queue. Requests of one
//! queue stay in the order of arrival.

use std::collections::VecDeque;

/// Waiting requests by queue.
#[derive(Clone, Debug)]
pub(crate) struct Queues<T> {
    queues: Vec<VecDeque<T>>,
    weights: Vec<u32>,
    turn: usize,
    credit: u32,
    waiting: usize,
}

impl<T> Queues<T> {
    /// Creates one queue per weight; there must be at least one weight, and none may be zero.
    pub fn new(weights: Vec<u32>) -> Self {
        assert!(!weights.is_empty() && weights.iter().all(|w| *w > 0), "weights: {weights:?}");
        Self {
            queues: weights.iter().map(|_| VecDeque::new()).collect(),
            credit: weights[0],
            weights,
            turn: 0,
            waiting: 0,
        }
    }

    pub fn count(&self) -> usize {
        self.queues.len()
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    #[inline]
    pub fn push(&mut self, queue: usize, item: T) {
        self.queues[queue].push_back(item);
        self.waiting += 1;
    }

    /// Removes and returns the next request.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.waiting == 0 {
            return None;
        }
        loop {
            if self.credit > 0
                && let Some(item) = self.queues[self.turn].pop_front()
            {
                self.credit -= 1;
                self.waiting -= 1;
                return Some(item);
            }
            self.turn = if self.turn + 1 == self.queues.len() { 0 } else { self.turn + 1 };
            self.credit = self.weights[self.turn];
        }
    }

    /// Whether any queue is empty.
    #[inline]
    pub fn any_empty(&self) -> bool {
        self.queues.iter().any(VecDeque::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_the_weights() {
        let mut queues = Queues::new(vec![3, 1, 2]);
        for i in 0..6 {
            (0..3).for_each(|queue| queues.push(queue, (queue, i)));
        }
        let order: Vec<_> = std::iter::from_fn(|| queues.pop()).map(|(queue, _)| queue).collect();
        // Queues 0 and 2 are empty after the third round; 1 continues alone.
        assert_eq!(order, [0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 1, 2, 2, 1, 1, 1]);
        assert_eq!(queues.waiting(), 0);
    }

    #[test]
    fn an_empty_queue_loses_its_turn_and_order_is_kept() {
        let mut queues = Queues::new(vec![2, 2]);
        queues.push(1, 'a');
        queues.push(1, 'b');
        queues.push(1, 'c');
        assert_eq!((queues.pop(), queues.pop()), (Some('a'), Some('b')));
        queues.push(0, 'x');
        assert_eq!([queues.pop(), queues.pop(), queues.pop()], [Some('x'), Some('c'), None]);
    }
}
