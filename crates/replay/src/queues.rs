//! The host's queues: what waits to be issued, and whose turn it is.
//!
//! Weighted round robin with credits: a queue whose turn it is issues as many requests as its
//! weight says, fewer where it runs empty, then the next in number has its turn. In a queue the
//! order is that of arrival.

use std::collections::VecDeque;

/// Requests that wait, by queue.
#[derive(Clone, Debug)]
pub(crate) struct Queues<T> {
    queues: Vec<VecDeque<T>>,
    weights: Vec<u32>,
    turn: usize,
    credit: u32,
    waiting: usize,
}

impl<T> Queues<T> {
    /// One queue for each weight; at least one weight, none of them zero.
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

    /// Takes the request whose turn it is.
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

    /// Whether some queue has nothing that waits.
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
        // 0 and 2 are empty after the third round; 1 continues alone.
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
