//! Arrival times of requests: those of the trace, equally spaced, or a closed loop.

use super::config::PaceConfig;
use crate::load::{AccessStamp, Load};
use gordon_cache::Request;
use gordon_replay::ReplayError;
use gordon_units::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum number of requests of one second that are spread together.
const MAX_SPREAD: usize = 1 << 20;

/// Source of the arrival times.
pub(super) enum Pace {
    /// Times of the trace, divided by this speed.
    Trace(f64),
    /// Number of requests so far, and requests per second.
    Even(u64, f64),
    /// Responses to the outstanding requests, and the time from a response to the next request.
    Closed(BinaryHeap<Reverse<Ns>>, Ns),
}

impl Pace {
    pub fn new(config: &PaceConfig) -> Result<Self, ReplayError> {
        let PaceConfig { speed, rate, outstanding, think } = config;
        let (what, hint) = ("pace", "one of --speed, --rate, --outstanding");
        if [speed.is_some(), rate.is_some(), outstanding.is_some()].map(u8::from).iter().sum::<u8>()
            > 1
        {
            return Err(ReplayError::impossible(
                what,
                "--speed, --rate and --outstanding exclude each other",
                hint,
            ));
        }
        if think.is_some() && outstanding.is_none() {
            let why = "a think time applies in a closed loop only";
            return Err(ReplayError::impossible("think", why, "--outstanding 24 --think 1ms"));
        }
        for (what, value) in [("speed", speed), ("rate", rate)] {
            if value.is_some_and(|value| !(value > 0.0 && value.is_finite())) {
                return Err(ReplayError::impossible(what, "not above zero", "1"));
            }
        }
        Ok(match (rate, outstanding) {
            (_, Some(0)) => {
                return Err(ReplayError::impossible(
                    "outstanding",
                    "a closed loop without outstanding requests never ends",
                    "24",
                ));
            }
            (_, Some(many)) => {
                let idle = (0..*many).map(|_| Reverse(Ns::ZERO)).collect();
                Self::Closed(idle, think.unwrap_or(Ns::ZERO))
            }
            (Some(rate), None) => Self::Even(0, *rate),
            (None, None) => Self::Trace(speed.unwrap_or(1.0)),
        })
    }

    /// Arrival of the next request, which has this time in the trace.
    #[inline]
    pub fn at(&mut self, stamp: Ns) -> Ns {
        match self {
            #[allow(clippy::float_cmp)] // the configured value itself
            Self::Trace(speed) if *speed == 1.0 => stamp,
            Self::Trace(speed) => Ns::from_secs(stamp.as_secs() / *speed),
            Self::Even(count, rate) => {
                *count += 1;
                Ns::from_secs((*count - 1) as f64 / *rate)
            }
            Self::Closed(ends, _) => ends.pop().map_or(Ns::ZERO, |Reverse(at)| at),
        }
    }

    /// Records the response to a request.
    #[inline]
    pub fn answered(&mut self, end: Ns) {
        if let Self::Closed(ends, think) = self {
            ends.push(Reverse(end + *think));
        }
    }
}

/// A load in which the requests of each whole second are spread evenly over it.
pub(super) struct SpreadLoad {
    pub load: Load,
    /// Whether times are used and are whole seconds.
    spread: bool,
    requests: Vec<Request>,
    /// Number of `requests` returned by the last call.
    taken: usize,
    first: Option<Ns>,
    ended: bool,
    /// Number of times a second had more requests than are spread together.
    pub crowded: u64,
}

impl SpreadLoad {
    /// # Errors
    /// Returns an error if the pace is that of the trace, and the trace has no times.
    pub fn new(mut load: Load, pace: &Pace) -> Result<Self, ReplayError> {
        load.stamps = Some(Vec::new());
        let by_trace = matches!(pace, Pace::Trace(_));
        if by_trace && load.note().time_unit_ns.is_none() {
            let hint = "--rate, or --outstanding for a closed loop";
            return Err(ReplayError::impossible("pace", "the trace has no times", hint));
        }
        let spread = load.whole_seconds() && by_trace;
        let requests = Vec::new();
        let (taken, first, ended, crowded) = (0, None, false, 0);
        Ok(Self { load, spread, requests, taken, first, ended, crowded })
    }

    /// The next requests with their times, in order; none at the end.
    pub fn next(&mut self) -> Result<(&[Request], &[AccessStamp]), ReplayError> {
        let taken = self.taken;
        self.requests.drain(..taken);
        self.stamps().drain(..taken);
        // The last second is complete only when another one begins.
        self.taken = loop {
            let spread = self.spread;
            let stamps = self.stamps();
            let all = stamps.len();
            let last = stamps.last().map(|stamp| stamp.at);
            let whole = match spread {
                true => stamps.partition_point(|stamp| Some(stamp.at) < last),
                false => all,
            };
            if self.ended || whole > 0 {
                break if self.ended { all } else { whole };
            }
            if all >= MAX_SPREAD {
                self.crowded += 1;
                break all;
            }
            self.ended = !self.load.add_batch(&mut self.requests)?;
        };
        if self.spread {
            self.spread_seconds();
        } else {
            self.count_from_first();
        }
        let taken = self.taken;
        let stamps = self.load.stamps.as_deref().unwrap_or_default();
        Ok((&self.requests[..taken], &stamps[..taken]))
    }

    /// Times of the requests in the buffer.
    fn stamps(&mut self) -> &mut Vec<AccessStamp> {
        self.load.stamps.get_or_insert_default()
    }

    /// Makes times count from the first request: those of objects are the file's.
    fn count_from_first(&mut self) {
        let (taken, first) = (self.taken, self.first);
        let stamps = &mut self.stamps()[..taken];
        let Some(first) = first.or(stamps.first().map(|stamp| stamp.at)) else { return };
        stamps.iter_mut().for_each(|stamp| stamp.at = stamp.at.saturating_sub(first));
        self.first = Some(first);
    }

    /// Spreads the requests of each second evenly over it; times count from the first request.
    fn spread_seconds(&mut self) {
        let (taken, first) = (self.taken, self.first);
        let stamps = &mut self.stamps()[..taken];
        let Some(first) = first.or(stamps.first().map(|stamp| stamp.at)) else { return };
        for second in stamps.chunk_by_mut(|one, next| one.at == next.at) {
            let gap = Ns::SECOND.0 / second.len() as u64;
            for (number, stamp) in (0..).zip(second) {
                stamp.at = stamp.at - first + Ns(gap * number);
            }
        }
        self.first = Some(first);
    }
}
