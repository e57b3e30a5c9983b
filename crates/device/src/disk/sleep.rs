//! A disk that saves power while nobody asks for anything: states below idle (heads unloaded, slower,
//! spun down), each entered when it has been quiet for so long, each left at a cost in time and energy.

use super::config::{PowerState, at_least, wrong};
use super::{ConfigError, PowerConfig};
use crate::{Completion, Device, Request, Usage};
use gordon_units::{Bytes, Ns};

/// What a disk saved, and what that cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slept {
    /// How long it was in each state.
    pub time: Vec<Ns>,
    /// How often it was woken from each.
    pub wakes: Vec<u64>,
    /// How long requests waited for that, until the disk was back, in all.
    pub waking: Ns,
}

/// A disk with such states.
#[derive(Clone, Debug)]
pub struct Sleeper<D> {
    disk: D,
    states: Vec<PowerState>,
    /// Since when it has nothing to do, once it had something.
    quiet: Option<Ns>,
    /// Requests that wait until it is awake, and when that is.
    held: Vec<(u64, Request)>,
    awake_at: Ns,
    slept: Slept,
}

impl<D: Device> Sleeper<D> {
    /// `disk`, awake.
    ///
    /// # Errors
    /// Where a deeper state is entered sooner or draws more.
    pub fn new(disk: D, power: &PowerConfig) -> Result<Self, ConfigError> {
        let states = power.states.clone();
        let mut least = power.idle.0;
        for (at, state) in states.iter().enumerate() {
            if !(0.0..=least).contains(&state.draws.0) {
                let must = format!("from 0 to the {least} W of the state above it");
                return Err(wrong("power.states[].draws", state.draws.value, must));
            }
            least = state.draws.0;
            if let Some(above) = at.checked_sub(1).map(|above| &states[above]) {
                let sooner = *above.after + Ns(1);
                at_least("power.states[].after", *state.after, sooner)?;
            }
            if !(*state.wake_energy_j >= 0.0 && state.wake_energy_j.is_finite()) {
                let must = "0 or more".to_owned();
                return Err(wrong("power.states[].wake_energy_j", *state.wake_energy_j, must));
            }
        }
        let slept = Slept {
            time: vec![Ns::ZERO; states.len()],
            wakes: vec![0; states.len()],
            waking: Ns::ZERO,
        };
        let (held, awake_at) = (Vec::new(), Ns::ZERO);
        Ok(Self { disk, states, quiet: None, held, awake_at, slept })
    }

    /// The disk.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// What it saved until `now`, when the last thing happened or later.
    pub fn slept(&self, now: Ns) -> Slept {
        let mut slept = self.slept.clone();
        if let Some(since) = self.quiet {
            self.account(&mut slept, now.saturating_sub(since));
        }
        slept
    }

    /// Joules of a run that took so long, and in which it slept that much.
    pub fn energy(&self, power: &PowerConfig, run: Ns, slept: &Slept) -> f64 {
        let usage = self.disk.usage();
        let more = |time: Ns, watts: f64| time.as_secs() * (watts - power.idle.0);
        let mut joules = power.idle.0 * run.as_secs();
        joules += more(usage.read, power.read.0) + more(usage.write, power.write.0);
        for ((state, time), wakes) in self.states.iter().zip(&slept.time).zip(&slept.wakes) {
            joules += more(*time, state.draws.0);
            // The energy of waking is all of it: what it draws idle is in there.
            #[allow(clippy::cast_precision_loss)]
            let wakes = *wakes as f64;
            joules += wakes * (*state.wake_energy_j - power.idle.0 * state.wake.as_secs());
        }
        joules
    }

    /// Books a quiet time; the state that it ended in.
    fn account(&self, slept: &mut Slept, quiet: Ns) -> Option<usize> {
        let mut deepest = None;
        for (at, state) in self.states.iter().enumerate() {
            if quiet < *state.after {
                break;
            }
            let next = self.states.get(at + 1).map_or(Ns::MAX, |next| *next.after);
            slept.time[at] += quiet.min(next) - *state.after;
            deepest = Some(at);
        }
        deepest
    }

    /// A request comes after so long a quiet time: how long it takes to be awake.
    fn wake(&mut self, quiet: Ns) -> Ns {
        let mut slept = std::mem::take(&mut self.slept);
        let deepest = self.account(&mut slept, quiet);
        self.slept = slept;
        let Some(at) = deepest else { return Ns::ZERO };
        self.slept.wakes[at] += 1;
        self.slept.waking += *self.states[at].wake;
        *self.states[at].wake
    }
}

impl<D: Device> Device for Sleeper<D> {
    fn capacity(&self) -> Bytes {
        self.disk.capacity()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        if let Some(since) = self.quiet.take() {
            let takes = self.wake(at - since);
            self.awake_at = at + takes;
        }
        if at < self.awake_at {
            self.held.push((id, request));
        } else {
            self.disk.submit(at, id, request);
        }
    }

    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        match self.held.iter_mut().find(|held| held.0 == id) {
            Some(held) => {
                held.1 = request;
                true
            }
            None => self.disk.enlarge(id, request),
        }
    }

    fn next_event(&self) -> Option<Ns> {
        if self.held.is_empty() { self.disk.next_event() } else { Some(self.awake_at) }
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        if !self.held.is_empty() {
            for (id, request) in std::mem::take(&mut self.held) {
                self.disk.submit(self.awake_at, id, request);
            }
            return;
        }
        let Some(now) = self.disk.next_event() else { return };
        self.disk.step(completed);
        if self.disk.next_event().is_none() {
            self.quiet = Some(now);
        }
    }

    fn usage(&self) -> Usage {
        self.disk.usage()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Disk;
    use super::super::testing::small;
    use super::*;
    use crate::{Op, SECTOR};
    use gordon_units::Watts;

    /// Idle 1 W, reading 2 W. After 1 s half a watt, awake in 0.1 s for 0.2 J; after 10 s nothing, awake in
    /// 5 s for 20 J.
    fn power() -> PowerConfig {
        let state = |name: &str, after, draws, wake, joules: f64| PowerState {
            name: name.into(),
            after: Ns(after).into(),
            draws: Watts(draws).into(),
            wake: Ns(wake).into(),
            wake_energy_j: joules.into(),
        };
        let states = vec![
            state("unloaded", 1_000_000_000, 0.5, 100_000_000, 0.2),
            state("standby", 10_000_000_000, 0.0, 5_000_000_000, 20.0),
        ];
        PowerConfig { states, ..small().power }
    }

    /// How long a read of a sector of the first track takes.
    fn read(sleeper: &mut Sleeper<Disk>, at: u64, sector: u64) -> Ns {
        let request = Request { op: Op::Read, offset: SECTOR * sector, len: SECTOR };
        sleeper.submit(Ns(at), 1, request);
        let mut done = vec![];
        while sleeper.next_event().is_some() {
            sleeper.step(&mut done);
        }
        done[0].at - Ns(at)
    }

    #[test]
    fn quiet_times_save_and_cost() {
        let mut config = small();
        config.cache.read_ahead = Bytes(0).into();
        let disk = || Disk::new(&config).unwrap();
        let mut sleeper = Sleeper::new(disk(), &power()).unwrap();
        let plain = |at, sector| {
            let mut disk = Sleeper::new(disk(), &small().power).unwrap();
            read(&mut disk, at, sector)
        };
        // Half a second: nothing. Then two seconds since: 1 in the first state.
        let first = read(&mut sleeper, 500_000_000, 10);
        assert_eq!(first, plain(500_000_000, 10));
        let at = 500_000_000 + first.0 + 2_000_000_000;
        // It starts 0.1 s later.
        assert_eq!(read(&mut sleeper, at, 20) - Ns(100_000_000), plain(at + 100_000_000, 20));
        let quiet = sleeper.quiet.unwrap();
        let at = quiet.0 + 30_000_000_000;
        let took = read(&mut sleeper, at, 30);
        assert!(took > Ns(5_000_000_000) && took < Ns(5_100_000_000), "{took}");
        let end = sleeper.quiet.unwrap() + Ns(1_500_000_000);
        let slept = sleeper.slept(end);
        // 1 s, 9 of 30, half of 1.5; 20 of 30.
        assert_eq!(slept.time, [Ns(10_500_000_000), Ns(20_000_000_000)]);
        assert_eq!((slept.wakes.clone(), slept.waking), (vec![1, 1], Ns(5_100_000_000)));
        let busy = sleeper.usage().read.as_secs();
        // All of it at 1 W, but: reading 1 more; what the states save; waking costs 0.1 and 15 more.
        let expected = end.as_secs() + busy - 10.5 * 0.5 - 20.0 + 0.1 + 15.0;
        let energy = sleeper.energy(&power(), end, &slept);
        assert!((energy - expected).abs() < 1e-9, "{energy} {expected}");
    }

    #[test]
    fn requests_that_come_meanwhile_wait_too() {
        let mut sleeper = Sleeper::new(Disk::new(&small()).unwrap(), &power()).unwrap();
        let request = |start| Request { op: Op::Read, offset: SECTOR * start, len: SECTOR };
        // It is awake for the first.
        let first = read(&mut sleeper, 2_000_000_000, 10);
        assert!(first < Ns(20_000_000), "{first}");
        let at = sleeper.quiet.unwrap() + Ns(2_000_000_000);
        sleeper.submit(at, 1, request(2000));
        sleeper.submit(at + Ns(50_000_000), 2, request(5000));
        let awake = at + Ns(100_000_000);
        assert_eq!(sleeper.next_event(), Some(awake));
        let mut done = vec![];
        while sleeper.next_event().is_some() {
            sleeper.step(&mut done);
        }
        assert_eq!(done.len(), 2);
        assert!(done.iter().all(|done| done.at > awake));
        assert_eq!(sleeper.slept(Ns::ZERO).wakes, [1, 0]);
    }

    #[test]
    fn states_go_down() {
        let mut wrong = power();
        wrong.states[1].draws = Watts(0.6).into();
        let text = Sleeper::new(Disk::new(&small()).unwrap(), &wrong).unwrap_err().to_string();
        assert!(text.contains("power.states[].draws"), "{text}");
        let mut wrong = power();
        wrong.states[1].after = Ns(1_000_000_000).into();
        let text = Sleeper::new(Disk::new(&small()).unwrap(), &wrong).unwrap_err().to_string();
        assert!(text.contains("power.states[].after"), "{text}");
    }
}
