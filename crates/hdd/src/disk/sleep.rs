//! A disk with low-power states below idle (heads unloaded, slower, spun down). Each state is
//! entered after an idle time, and leaving it costs time and energy. The idle time may adapt to the
//! workload ([`AdaptiveConfig`]).

use super::{AdaptiveConfig, DiskConfigError, PowerConfig, PowerState};
use gordon_blockio::{Completion, Device, Request, Usage};
use gordon_units::{Bytes, Ns};

/// Time in low-power states, and wake-ups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SleepStats {
    /// Total time in each state.
    pub time: Vec<Ns>,
    /// Number of wake-ups from each state.
    pub wakes: Vec<u64>,
    /// Total time of wake-ups, for which requests waited.
    pub waking: Ns,
    /// Wake-ups that took more than the tolerated fraction of the idle time; 0 without `adaptive`.
    pub unwelcome: u64,
}

/// Energy that a disk used.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyUse {
    /// Time in low-power states, and wake-ups.
    pub sleep_stats: SleepStats,
    /// Energy in joules, by state.
    pub joules: Vec<(String, f64)>,
}

/// A disk with low-power states.
#[derive(Clone, Debug)]
pub struct PowerManagedDisk<D> {
    disk: D,
    states: Vec<PowerState>,
    adaptive: Option<AdaptiveConfig>,
    /// Idle time before the first state.
    first: Ns,
    /// Time since which the disk is idle; `None` while it is busy, and before its first request.
    idle_since: Option<Ns>,
    /// Requests that wait for the end of a wake-up, and when that is.
    waiting: Vec<(u64, Request)>,
    awake_at: Ns,
    sleep_stats: SleepStats,
}

impl<D: Device> PowerManagedDisk<D> {
    /// Wraps `disk`, which is awake.
    ///
    /// # Errors
    /// Returns an error if a deeper state is entered earlier or draws more.
    pub fn new(disk: D, power: &PowerConfig) -> Result<Self, DiskConfigError> {
        power.check_states()?;
        Ok(Self::with(disk, power.states.clone(), power.adaptive.clone()))
    }

    /// Wraps a disk without low-power states.
    pub fn without_states(disk: D) -> Self {
        Self::with(disk, Vec::new(), None)
    }

    fn with(disk: D, states: Vec<PowerState>, adaptive: Option<AdaptiveConfig>) -> Self {
        let sleep_stats = SleepStats {
            time: vec![Ns::ZERO; states.len()],
            wakes: vec![0; states.len()],
            waking: Ns::ZERO,
            unwelcome: 0,
        };
        let (waiting, awake_at) = (Vec::new(), Ns::ZERO);
        let first = states.first().map_or(Ns::MAX, |state| *state.after);
        Self { disk, states, adaptive, first, idle_since: None, waiting, awake_at, sleep_stats }
    }

    /// Makes the disk idle from time zero on, so that it can sleep before its first request.
    pub fn rest(&mut self) {
        self.idle_since = Some(Ns::ZERO);
    }

    /// The disk without its power states.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Low-power statistics up to `now`, which is not before the last event.
    pub fn sleep_stats(&self, now: Ns) -> SleepStats {
        let mut sleep_stats = self.sleep_stats.clone();
        if let Some(since) = self.idle_since {
            self.account(&mut sleep_stats, now.saturating_sub(since));
        }
        sleep_stats
    }

    /// Energy in joules of a run of length `run` with these low-power statistics.
    pub fn energy(&self, power: &PowerConfig, run: Ns, sleep_stats: &SleepStats) -> f64 {
        self.energy_by_state(power, run, sleep_stats).map(|(_, joules)| joules).sum()
    }

    /// Energy by state: the power of the state times the time in it. An operation in flight at the
    /// end of the run counts as a whole; the rest of the run is idle time.
    pub fn energy_by_state<'a>(
        &'a self,
        power: &PowerConfig,
        run: Ns,
        sleep_stats: &'a SleepStats,
    ) -> impl Iterator<Item = (&'a str, f64)> {
        let usage = self.disk.usage();
        let below = sleep_stats.time.iter().fold(Ns::ZERO, |sum, time| sum + *time);
        let idle = run.saturating_sub(usage.read + usage.write + below + sleep_stats.waking);
        #[allow(clippy::cast_precision_loss)]
        let woken = self.states.iter().zip(&sleep_stats.wakes);
        let waking = woken.map(|(state, wakes)| *wakes as f64 * *state.wake_energy_j).sum();
        let states = self.states.iter().zip(&sleep_stats.time);
        let awake = [
            ("idle", idle.as_secs() * power.idle.0),
            ("reading", usage.read.as_secs() * power.read.0),
            ("writing", usage.write.as_secs() * power.write.0),
            ("waking", waking),
        ];
        let asleep =
            states.map(|(state, time)| (state.name.as_str(), time.as_secs() * state.draws.0));
        awake.into_iter().chain(asleep)
    }

    /// Idle time before a state; `Ns::MAX` beyond the last state.
    fn after(&self, state: usize) -> Ns {
        let distance = |state: &PowerState| *state.after - *self.states[0].after;
        self.states.get(state).map_or(Ns::MAX, |state| self.first + distance(state))
    }

    /// Statistics up to `now`, and the energy of a run of length `run`.
    pub fn energy_use(&self, power: &PowerConfig, now: Ns, run: Ns) -> EnergyUse {
        let sleep_stats = self.sleep_stats(now);
        let states = self.energy_by_state(power, run, &sleep_stats);
        let joules = states.map(|(state, joules)| (state.to_owned(), joules)).collect();
        EnergyUse { sleep_stats, joules }
    }

    /// Adds an idle time to the statistics. Returns the deepest state that it reached.
    fn account(&self, sleep_stats: &mut SleepStats, idle_time: Ns) -> Option<usize> {
        let mut deepest = None;
        for at in 0..self.states.len() {
            let after = self.after(at);
            if idle_time < after {
                break;
            }
            sleep_stats.time[at] += idle_time.min(self.after(at + 1)) - after;
            deepest = Some(at);
        }
        deepest
    }

    /// Handles a request after `idle_time` without requests. Returns the time to wake up.
    fn wake(&mut self, idle_time: Ns) -> Ns {
        let mut sleep_stats = std::mem::take(&mut self.sleep_stats);
        let deepest = self.account(&mut sleep_stats, idle_time);
        self.sleep_stats = sleep_stats;
        let Some(at) = deepest else { return Ns::ZERO };
        self.sleep_stats.wakes[at] += 1;
        let takes = *self.states[at].wake;
        self.sleep_stats.waking += takes;
        self.adapt(takes, idle_time);
        takes
    }

    /// Carries out the next event, which is at `now`.
    #[inline]
    fn step_at(&mut self, now: Ns, completed: &mut Vec<Completion>) {
        if !self.waiting.is_empty() {
            for (id, request) in std::mem::take(&mut self.waiting) {
                self.disk.submit(self.awake_at, id, request);
            }
            return;
        }
        self.disk.step(completed);
        if self.disk.next_event().is_none() {
            self.idle_since = Some(now);
        }
    }

    /// Raises the idle time if the wake-up took too large a fraction of `idle_time`, and lowers it
    /// otherwise.
    fn adapt(&mut self, takes: Ns, idle_time: Ns) {
        let Some(adaptive) = &self.adaptive else { return };
        let unwelcome = takes.as_secs() > *adaptive.tolerance * idle_time.as_secs();
        self.sleep_stats.unwelcome += u64::from(unwelcome);
        self.first = if unwelcome {
            (self.first + *adaptive.step).min(*adaptive.most)
        } else {
            self.first.saturating_sub(*adaptive.step).max(*adaptive.least)
        };
    }
}

impl<D: Device> Device for PowerManagedDisk<D> {
    fn capacity(&self) -> Bytes {
        self.disk.capacity()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        if let Some(since) = self.idle_since.take() {
            let takes = self.wake(at - since);
            self.awake_at = at + takes;
        }
        if at < self.awake_at {
            self.waiting.push((id, request));
        } else {
            self.disk.submit(at, id, request);
        }
    }

    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        match self.waiting.iter_mut().find(|waiting| waiting.0 == id) {
            Some(waiting) => {
                waiting.1 = request;
                true
            }
            None => self.disk.enlarge(id, request),
        }
    }

    #[inline]
    fn next_event(&self) -> Option<Ns> {
        if self.waiting.is_empty() { self.disk.next_event() } else { Some(self.awake_at) }
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        if let Some(now) = self.next_event() {
            self.step_at(now, completed);
        }
    }

    fn advance(&mut self, until: Ns, completed: &mut Vec<Completion>) {
        while completed.is_empty()
            && let Some(now) = self.next_event()
            && now <= until
        {
            self.step_at(now, completed);
        }
    }

    fn usage(&self) -> Usage {
        self.disk.usage()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Disk;
    use super::super::StandbyConfig;
    use super::super::testing::small;
    use super::*;
    use gordon_blockio::{IoOp, SECTOR};
    use gordon_units::Watts;

    /// Idle 1 W, reading 2 W. After 1 s: 0.5 W, and a wake-up takes 0.1 s and 0.2 J. After 10 s: 0
    /// W, and a wake-up takes 5 s and 20 J.
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

    /// Response time of a read of one sector on the first track.
    fn read(sleeper: &mut PowerManagedDisk<Disk>, at: u64, sector: u64) -> Ns {
        let request = Request::new(IoOp::Read, SECTOR * sector, SECTOR);
        sleeper.submit(Ns(at), 1, request);
        let mut done = vec![];
        sleeper.run_until(Ns::MAX, &mut done);
        done[0].at - Ns(at)
    }

    #[test]
    fn low_power_states_save_energy_and_delay_requests() {
        let mut config = small();
        config.cache.read_ahead = Bytes(0).into();
        let disk = || Disk::new(&config).unwrap();
        let mut sleeper = PowerManagedDisk::new(disk(), &power()).unwrap();
        let plain = |at, sector| {
            let mut disk = PowerManagedDisk::new(disk(), &small().power).unwrap();
            read(&mut disk, at, sector)
        };
        // Half a second is too short for a state. Two seconds: 1 s in the first state.
        let first = read(&mut sleeper, 500_000_000, 10);
        assert_eq!(first, plain(500_000_000, 10));
        let at = 500_000_000 + first.0 + 2_000_000_000;
        // The read starts 0.1 s later.
        assert_eq!(read(&mut sleeper, at, 20) - Ns(100_000_000), plain(at + 100_000_000, 20));
        let since = sleeper.idle_since.unwrap();
        let at = since.0 + 30_000_000_000;
        let took = read(&mut sleeper, at, 30);
        assert!(took > Ns(5_000_000_000) && took < Ns(5_100_000_000), "{took}");
        let end = sleeper.idle_since.unwrap() + Ns(1_500_000_000);
        let sleep_stats = sleeper.sleep_stats(end);
        // First state: 1 s, 9 of 30 s, half of 1.5 s; second state: 20 of 30 s.
        assert_eq!(sleep_stats.time, [Ns(10_500_000_000), Ns(20_000_000_000)]);
        assert_eq!(
            (sleep_stats.wakes.clone(), sleep_stats.waking),
            (vec![1, 1], Ns(5_100_000_000))
        );
        let busy = sleeper.usage().read.as_secs();
        // Everything at 1 W, plus: 1 W more while reading, minus the savings of the states, plus
        // 0.1 J and 15 J more for the wake-ups.
        let expected = end.as_secs() + busy - 10.5 * 0.5 - 20.0 + 0.1 + 15.0;
        let energy = sleeper.energy(&power(), end, &sleep_stats);
        assert!((energy - expected).abs() < 1e-9, "{energy} {expected}");
        let states: Vec<_> = sleeper.energy_by_state(&power(), end, &sleep_stats).collect();
        let idle = end.as_secs() - busy - 30.5 - 5.1;
        let expected_awake =
            [("idle", idle), ("reading", 2.0 * busy), ("writing", 0.0), ("waking", 20.2)];
        let asleep = [("unloaded", 5.25), ("standby", 0.0)];
        for ((name, joules), (known, other)) in
            states.iter().zip(expected_awake.iter().chain(&asleep))
        {
            assert_eq!(name, known);
            assert!((joules - other).abs() < 1e-9, "{name} {joules} {other}");
        }
        assert_eq!(states.len(), 6);
    }

    #[test]
    fn an_operation_in_flight_at_the_end_counts_as_a_whole() {
        let mut sleeper = PowerManagedDisk::new(Disk::new(&small()).unwrap(), &power()).unwrap();
        read(&mut sleeper, 0, 10);
        let (busy, sleep_stats) = (sleeper.usage().read, sleeper.sleep_stats(Ns::ZERO));
        let energy = sleeper.energy(&power(), Ns(busy.0 / 2), &sleep_stats);
        assert!((energy - 2.0 * busy.as_secs()).abs() < 1e-9, "{energy}");
    }

    #[test]
    fn requests_during_a_wake_up_wait() {
        let mut sleeper = PowerManagedDisk::new(Disk::new(&small()).unwrap(), &power()).unwrap();
        let request = |start| Request::new(IoOp::Read, SECTOR * start, SECTOR);
        // The disk is awake for its first request.
        let first = read(&mut sleeper, 2_000_000_000, 10);
        assert!(first < Ns(20_000_000), "{first}");
        let at = sleeper.idle_since.unwrap() + Ns(2_000_000_000);
        sleeper.submit(at, 1, request(2000));
        sleeper.submit(at + Ns(50_000_000), 2, request(5000));
        let awake = at + Ns(100_000_000);
        assert_eq!(sleeper.next_event(), Some(awake));
        let mut done = vec![];
        sleeper.run_until(Ns::MAX, &mut done);
        assert_eq!(done.len(), 2);
        assert!(done.iter().all(|done| done.at > awake));
        assert_eq!(sleeper.sleep_stats(Ns::ZERO).wakes, [1, 0]);
    }

    #[test]
    fn the_adaptive_idle_time_follows_the_workload() {
        // A wake-up from the first state takes 0.1 s, too much for less than 2 s of idle time. The
        // idle time is 1 s and moves by 0.4 s between 0.5 and 2; the second state stays 9 s behind.
        let mut power = power();
        let ms = |ms: u64| Ns(ms * 1_000_000).into();
        let (step, least, most) = (ms(400), ms(500), ms(2000));
        power.adaptive = Some(AdaptiveConfig { tolerance: 0.05.into(), step, least, most });
        let mut sleeper = PowerManagedDisk::new(Disk::new(&small()).unwrap(), &power).unwrap();
        read(&mut sleeper, 0, 10);
        let mut after = |idle_time: u64| {
            let since = sleeper.idle_since.unwrap();
            read(&mut sleeper, since.0 + idle_time * 1_000_000, 10 + idle_time);
            (
                sleeper.first.0 / 1_000_000,
                sleeper.sleep_stats.unwelcome,
                sleeper.sleep_stats.wakes.clone(),
            )
        };
        assert_eq!(after(900), (1000, 0, vec![0, 0]));
        assert_eq!(after(1500), (1400, 1, vec![1, 0]));
        // An idle time below the threshold changes nothing.
        assert_eq!(after(1399), (1400, 1, vec![1, 0]));
        assert_eq!(after(1999), (1800, 2, vec![2, 0]));
        assert_eq!(after(1900), (2000, 3, vec![3, 0]));
        // 2 s are just enough.
        assert_eq!(after(2000), (1600, 3, vec![4, 0]));
        // The second state is entered after 1.6 + 9 s; waking from it takes 5 s, too much for less
        // than 100 s.
        assert_eq!(after(10_599), (1200, 3, vec![5, 0]));
        assert_eq!(after(10_200), (1600, 4, vec![5, 1]));
        for (idle_time, first) in [(100_000, 1200), (200_000, 800), (9000, 500), (9000, 500)] {
            assert_eq!((after(idle_time).0, after(0).1), (first, 4));
        }
        let sleep_stats = sleeper.sleep_stats(Ns::ZERO);
        assert_eq!(sleep_stats.wakes, [7, 3]);
        // The last idle period counts from 0.5 s on.
        assert_eq!(sleeper.after(1), Ns(9_500_000_000));
        let idle_time = |after: u64, until: u64| Ns((until - after) * 1_000_000);
        let first = idle_time(1000, 1500) + idle_time(1400, 1400);
        let first = first + idle_time(1400, 1999) + idle_time(1800, 1900) + idle_time(2000, 2000);
        let first = first + idle_time(1600, 10_599) + Ns(9_000_000_000) * 3 + idle_time(800, 9000);
        assert_eq!(sleep_stats.time[0], first + idle_time(500, 9000));
        let second =
            idle_time(10_200, 10_200) + idle_time(10_600, 100_000) + idle_time(10_200, 200_000);
        assert_eq!(sleep_stats.time[1], second);
    }

    #[test]
    fn invalid_adaptive_settings_are_refused() {
        let refused = |change: &dyn Fn(&mut PowerConfig)| {
            let mut wrong = power();
            let s = |s: u64| Ns(s * 1_000_000_000).into();
            let (step, least, most) = (s(1), s(1), s(60));
            wrong.adaptive = Some(AdaptiveConfig { tolerance: 0.05.into(), step, least, most });
            change(&mut wrong);
            PowerManagedDisk::new(Disk::new(&small()).unwrap(), &wrong)
                .map(drop)
                .map_err(|e| e.to_string())
        };
        fn adaptive(power: &mut PowerConfig) -> &mut AdaptiveConfig {
            power.adaptive.as_mut().unwrap()
        }
        assert_eq!(refused(&|_| {}), Ok(()));
        let refused_with = |change: &dyn Fn(&mut PowerConfig), key: &str| {
            let text = refused(change).unwrap_err();
            assert!(text.contains(key), "{text}");
        };
        refused_with(
            &|power| adaptive(power).tolerance = 0.0.into(),
            "power.adaptive.tolerance is 0",
        );
        refused_with(&|power| adaptive(power).step = Ns(0).into(), "power.adaptive.step");
        refused_with(
            &|power| adaptive(power).least = Ns(1_100_000_000).into(),
            "power.adaptive.least",
        );
        refused_with(&|power| adaptive(power).most = Ns(900_000_000).into(), "power.adaptive.most");
        refused_with(&|power| power.states.clear(), "power.states");
    }

    /// Standby of 0 W, left in 5 s with 20 J.
    fn with_standby() -> PowerConfig {
        let (draws, wake) = (Watts(0.0).into(), Ns(5_000_000_000).into());
        let standby =
            StandbyConfig { draws, wake, wake_energy_j: 20.0.into(), cycles: Some(50_000.into()) };
        PowerConfig { standby: Some(standby), ..small().power }
    }

    #[test]
    fn standby_saves_energy_from_the_break_even_time_on() {
        // Idle for t and the 5 s of the wake-up: 1 W x (t + 5 s). Standby and wake-up: 20 J.
        let power = with_standby();
        assert_eq!(power.break_even(), Some(Ns(15_000_000_000)));
        let joules = |power: &PowerConfig, idle_time: u64| {
            let disk = Disk::new(&small()).unwrap();
            let mut sleeper = PowerManagedDisk::new(disk, power).unwrap();
            sleeper.rest();
            read(&mut sleeper, idle_time, 10);
            let run = Ns(idle_time + 10_000_000_000);
            sleeper.energy(power, run, &sleeper.sleep_stats(Ns::ZERO))
        };
        for (idle_time, saves) in [(14_900_000_000, false), (15_100_000_000, true)] {
            let asleep = power.in_standby_after(Ns::ZERO).unwrap();
            let saved = joules(&power.always_awake(), idle_time) - joules(&asleep, idle_time);
            assert!((saved.abs() - 0.1).abs() < 0.02, "{saved}");
            assert_eq!(saved > 0.0, saves, "{idle_time}");
        }
    }

    #[test]
    fn the_break_even_time_has_limits() {
        let with = |draws: f64, joules: f64| {
            let mut power = with_standby();
            let standby = power.standby.as_mut().unwrap();
            (standby.draws, standby.wake_energy_j) = (Watts(draws).into(), joules.into());
            power.break_even()
        };
        // A wake-up that needs no more than an idle disk, and standby that draws as much.
        assert_eq!((with(0.0, 5.0), with(1.0, 20.0)), (Some(Ns::ZERO), Some(Ns::MAX)));
        assert_eq!(small().power.break_even(), None);
        assert_eq!(small().power.in_standby_after(Ns(1)), None);
    }

    #[test]
    fn an_invalid_standby_state_is_refused() {
        let refused = |change: &dyn Fn(&mut StandbyConfig), key: &str| {
            let mut wrong = with_standby();
            change(wrong.standby.as_mut().unwrap());
            let made = PowerManagedDisk::new(Disk::new(&small()).unwrap(), &wrong);
            let text = made.map(drop).unwrap_err().to_string();
            assert!(text.contains(key), "{text}");
        };
        refused(&|standby| standby.draws = Watts(1.5).into(), "power.standby.draws");
        refused(&|standby| standby.wake_energy_j = (-1.0).into(), "power.standby.wake_energy_j");
    }

    #[test]
    fn deeper_states_must_draw_less_and_come_later() {
        let mut wrong = power();
        wrong.states[1].draws = Watts(0.6).into();
        let text =
            PowerManagedDisk::new(Disk::new(&small()).unwrap(), &wrong).unwrap_err().to_string();
        assert!(text.contains("power.states[].draws"), "{text}");
        let mut wrong = power();
        wrong.states[1].after = Ns(1_000_000_000).into();
        let text =
            PowerManagedDisk::new(Disk::new(&small()).unwrap(), &wrong).unwrap_err().to_string();
        assert!(text.contains("power.states[].after"), "{text}");
    }
}
