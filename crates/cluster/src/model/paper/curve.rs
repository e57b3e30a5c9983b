//! Sums of piecewise linear functions of one variable, evaluated by binary search.
//!
//! Model: each sample of a trace adds lines to N outputs, each over a range of x. Between two
//! successive ends of ranges every output is a single line, whose intercept and slope are summed
//! when the curve is built. Answering x takes a search for its range and N multiplications.
//!
//! Sums are kept with the rounding error of each addition, so that a line whose range ends leaves
//! nothing behind. x is above zero and finite. At the end of a range either side may answer; where
//! the function is continuous, both give the same value up to rounding.

use crate::model::line::Line;

/// N piecewise linear functions of one variable.
#[derive(Clone, Debug)]
pub(super) struct Curve<const N: usize> {
    /// Ends of the ranges, ascending.
    ends: Vec<f64>,
    /// Lines of each range; one more than `ends`.
    lines: Vec<[Line; N]>,
}

impl<const N: usize> Curve<N> {
    pub fn at(&self, x: f64) -> [f64; N] {
        let range = self.ends.partition_point(|end| *end < x);
        self.lines[range].map(|line| line.at(x))
    }
}

/// A line that begins or ends to count.
struct Change {
    at: f64,
    output: usize,
    line: Line,
    begins: bool,
}

/// The lines of a curve.
pub(super) struct CurveBuilder<const N: usize>(Vec<Change>);

impl<const N: usize> CurveBuilder<N> {
    /// A curve of about `pieces` lines.
    pub fn new(pieces: usize) -> Self {
        Self(Vec::with_capacity(2 * pieces))
    }

    /// Adds `line` to `output` for x from `from` to `to`.
    pub fn piece(&mut self, output: usize, from: f64, to: f64, line: Line) {
        let from = from.max(0.0);
        if from >= to || line == Line::default() {
            return;
        }
        self.0.push(Change { at: from, output, line, begins: true });
        if to < f64::INFINITY {
            self.0.push(Change { at: to, output, line, begins: false });
        }
    }

    /// Adds the larger of `floor` and `line`, whose slope is not below zero, `weight` times.
    pub fn larger(&mut self, output: usize, weight: f64, floor: f64, line: Line) {
        let from = rise(floor, line);
        self.piece(output, 0.0, from, Line::constant(floor) * weight);
        self.piece(output, from, f64::INFINITY, line * weight);
    }

    /// Adds the smaller of `most` and `scale` times the larger of `floor` and `slope` x, `weight`
    /// times.
    pub fn clipped(&mut self, output: usize, weight: f64, most: f64, scale: f64, bounds: Bounds) {
        let floor = bounds.floor * scale;
        if most <= floor {
            self.piece(output, 0.0, f64::INFINITY, Line::constant(most) * weight);
            return;
        }
        let line = Line { intercept: 0.0, slope: bounds.slope * scale };
        let from = rise(floor, line);
        let to = rise(most, line);
        self.piece(output, 0.0, from, Line::constant(floor) * weight);
        self.piece(output, from, to, line * weight);
        self.piece(output, to, f64::INFINITY, Line::constant(most) * weight);
    }

    pub fn build(mut self) -> Curve<N> {
        self.0.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
        let mut sums = [LineSum::default(); N];
        let mut curve = Curve { ends: Vec::new(), lines: Vec::new() };
        for changes in self.0.chunk_by(|a, b| a.at.total_cmp(&b.at).is_eq()) {
            if changes[0].at > 0.0 {
                curve.ends.push(changes[0].at);
                curve.lines.push(sums.map(|sum| sum.line()));
            }
            for change in changes {
                sums[change.output].change(change);
            }
        }
        curve.lines.push(sums.map(|sum| sum.line()));
        curve
    }
}

/// Time of a sample: the larger of a constant and of a multiple of x.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub floor: f64,
    pub slope: f64,
}

impl Bounds {
    pub fn line(self) -> Line {
        Line { intercept: 0.0, slope: self.slope }
    }
}

/// x from which `line` is above `floor`; infinite if it never is.
pub(super) fn rise(floor: f64, line: Line) -> f64 {
    if line.intercept >= floor {
        0.0
    } else if line.slope > 0.0 {
        (floor - line.intercept) / line.slope
    } else {
        f64::INFINITY
    }
}

/// Sum of lines. The number of lines makes it exactly zero if there is none.
#[derive(Clone, Copy, Default)]
struct LineSum {
    count: usize,
    intercept: Sum,
    slope: Sum,
}

impl LineSum {
    fn change(&mut self, change: &Change) {
        let sign = if change.begins { 1.0 } else { -1.0 };
        if change.begins {
            self.count += 1;
        } else {
            self.count -= 1;
        }
        if self.count == 0 {
            *self = Self::default();
            return;
        }
        self.intercept.add(change.line.intercept * sign);
        self.slope.add(change.line.slope * sign);
    }

    fn line(self) -> Line {
        Line { intercept: self.intercept.value, slope: self.slope.value }
    }
}

/// A sum and its rounding error (Knuth's two-sum, renormalised).
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    error: f64,
}

impl Sum {
    fn add(&mut self, more: f64) {
        let sum = self.value + more;
        let part = sum - self.value;
        let error = (self.value - (sum - part)) + (more - part) + self.error;
        self.value = sum + error;
        self.error = error - (self.value - sum);
    }
}
