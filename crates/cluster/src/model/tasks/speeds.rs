//! The speed of the cores of a node by the number of tasks that run on it.

/// The cores of a node. Speeds are in the unit of `core_speed`.
#[derive(Clone, Debug, PartialEq)]
pub struct Speeds {
    /// Number of cores that tasks can use at a time; a quota may be a part of a core.
    cores: f64,
    /// Work a second of each of 1, 2, ... running tasks; the last one is of all cores.
    by_busy: Vec<f64>,
}

impl Speeds {
    /// `cores` cores; `speed` is that of a core by the number of busy ones, from 1 on.
    pub fn new(cores: f64, speed: impl Fn(u32) -> f64) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = (cores.ceil() as u32).max(1);
        let of = |busy: u32| speed(busy) * (cores / f64::from(busy)).min(1.0);
        Self { cores, by_busy: (1..=whole).map(of).collect() }
    }

    /// Work a second of each of `busy` tasks.
    pub fn each(&self, busy: u32) -> f64 {
        let known = self.by_busy.len();
        match self.by_busy.get((busy.max(1) - 1) as usize) {
            Some(speed) => *speed,
            #[allow(clippy::cast_precision_loss)]
            None => self.by_busy[known - 1] * known as f64 / f64::from(busy),
        }
    }

    /// How much longer each of a mean number of `busy` tasks takes, because there are fewer cores.
    pub fn stretch(&self, busy: f64) -> f64 {
        (busy / self.cores).max(1.0)
    }

    /// Speed of a core while a mean number of `busy` tasks runs.
    pub fn of_core(&self, busy: f64) -> f64 {
        let busy = busy.max(1.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let below = busy as u32;
        let at = |number: u32| self.each(number) * self.stretch(f64::from(number));
        let part = busy - f64::from(below);
        at(below) * (1.0 - part) + at(below + 1) * part
    }

    /// The most work a second of a task.
    pub fn fastest(&self) -> f64 {
        self.by_busy.iter().copied().fold(0.0, f64::max)
    }

    /// Number of cores.
    pub fn cores(&self) -> f64 {
        self.cores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn more_tasks_than_cores_share_them() {
        let two = Speeds::new(2.0, |_| 3.0);
        near(two.each(1), 3.0);
        near(two.each(2), 3.0);
        near(two.each(6), 1.0);
        near(two.stretch(6.0), 3.0);
        near(two.of_core(6.0), 3.0);
    }

    #[test]
    fn a_part_of_a_core_does_a_part_of_its_work() {
        let part = Speeds::new(0.2, |_| 1.0);
        near(part.each(1), 0.2);
        near(part.each(2), 0.1);
        near(part.of_core(1.0), 1.0);
        near(part.stretch(1.0), 5.0);
    }

    #[test]
    fn a_core_is_faster_while_few_are_busy() {
        let cores = Speeds::new(4.0, |busy| if busy <= 2 { 1.5 } else { 1.0 });
        near(cores.of_core(2.0), 1.5);
        near(cores.of_core(2.5), 1.25);
        near(cores.of_core(9.0), 1.0);
    }
}
