//! The resources of a machine, and whether a use of one keeps up.

use super::series::{Series, is_within};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Resources, in the order of [`PerResource`].
pub const RESOURCES: [&str; 4] = ["cpu", "memory", "disk", "network"];

/// A value of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerResource<T> {
    /// Cores.
    pub cpu: T,
    /// Main memory.
    pub memory: T,
    /// Storage.
    pub disk: T,
    /// The busier direction of the network.
    pub network: T,
}

impl<T: JsonSchema> JsonSchema for PerResource<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("PerResource_{}", T::schema_name()).into()
    }

    /// A map by the name of the resource.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

impl<T> PerResource<T> {
    /// The value of each resource from that in `self`.
    pub fn map<U>(&self, of: impl Fn(&T) -> U) -> PerResource<U> {
        PerResource {
            cpu: of(&self.cpu),
            memory: of(&self.memory),
            disk: of(&self.disk),
            network: of(&self.network),
        }
    }

    /// The resources with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &T)> {
        RESOURCES.into_iter().zip([&self.cpu, &self.memory, &self.disk, &self.network])
    }
}

/// The use of a resource as a share of its capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadUse {
    /// Not exceeded in 99 % of the time.
    pub p99: f64,
    /// Greatest of any sample.
    pub peak: f64,
}

impl LoadUse {
    /// That of a series.
    pub fn of(series: &Series) -> Self {
        Self { p99: series.p99(), peak: series.peak() }
    }

    /// A multiple.
    pub fn times(self, factor: f64) -> Self {
        Self { p99: self.p99 * factor, peak: self.peak * factor }
    }

    /// The sums of both.
    pub fn plus(self, other: Self) -> Self {
        Self { p99: self.p99 + other.p99, peak: self.peak + other.peak }
    }

    /// The greater of both.
    pub fn most(self, other: Self) -> Self {
        Self { p99: self.p99.max(other.p99), peak: self.peak.max(other.peak) }
    }

    /// The greatest multiple of the load that keeps up; `None` of no use. `demand` returns the
    /// demand that uses a share of the capacity.
    pub fn load_factor(self, limit: f64, demand: impl Fn(f64) -> f64) -> Option<f64> {
        let of = |used: f64, most: f64| (used > 0.0).then(|| demand(most) / demand(used));
        [of(self.p99, limit), of(self.peak, 1.0)].into_iter().flatten().reduce(f64::min)
    }

    /// As [`overload`](Self::overload) of at most 1.
    fn keeps_up(&self, limit: f64) -> bool {
        is_within(self.p99, limit) && is_within(self.peak, 1.0)
    }

    /// The use relative to what is allowed: `limit` for the p99, the capacity for the peak.
    fn overload(&self, limit: f64) -> f64 {
        (self.p99 / limit).max(self.peak)
    }
}

/// The use of a resource on a design, with its range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResourceUse {
    /// Best estimate.
    pub best: LoadUse,
    /// The least use that the record allows.
    pub low: LoadUse,
    /// The greatest; `None` if the record does not bound it.
    pub high: Option<LoadUse>,
    /// Samples in which the best estimate is above the limit, and above the capacity.
    pub over_headroom: usize,
    /// See `over_headroom`.
    pub over_capacity: usize,
}

impl ResourceUse {
    /// Whether the resource keeps up, with a p99 of at most `limit`; `None` if one end of the range
    /// does and the other does not.
    pub fn keeps_up(&self, limit: f64) -> Option<bool> {
        if !self.low.keeps_up(limit) {
            return Some(false);
        }
        self.high.is_some_and(|high| high.keeps_up(limit)).then_some(true)
    }

    /// Whether the best estimate keeps up.
    pub fn may_keep_up(&self, limit: f64) -> bool {
        self.best.keeps_up(limit)
    }

    /// The use relative to what is allowed, by the upper end if it is known.
    pub fn overload(&self, limit: f64) -> f64 {
        self.high.unwrap_or(self.best).overload(limit)
    }

    /// The p99 at both ends of the range, if they differ.
    pub fn range(&self) -> Option<[Option<f64>; 2]> {
        let high = self.high.map(|high| high.p99);
        (high != Some(self.low.p99)).then_some([Some(self.low.p99), high])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(low: f64, high: Option<f64>) -> ResourceUse {
        let of = |p99| LoadUse { p99, peak: p99 };
        ResourceUse { low: of(low), best: of(low), high: high.map(of), ..ResourceUse::default() }
    }

    #[test]
    fn a_limit_within_the_range_is_unknown() {
        assert_eq!(resource(0.5, Some(0.7)).keeps_up(0.7), Some(true));
        assert_eq!(resource(0.5, Some(0.8)).keeps_up(0.7), None);
        assert_eq!(resource(0.5, None).keeps_up(0.7), None);
        assert_eq!(resource(0.71, None).keeps_up(0.7), Some(false));
    }

    #[test]
    fn a_peak_above_the_capacity_does_not_keep_up() {
        let over = LoadUse { p99: 0.1, peak: 1.01 };
        let one = ResourceUse { low: over, best: over, high: Some(over), ..ResourceUse::default() };
        assert_eq!((one.keeps_up(0.7), one.overload(0.7)), (Some(false), 1.01));
        assert_eq!(over.load_factor(0.7, |share| share), Some(1.0 / 1.01));
        assert_eq!(LoadUse::default().load_factor(0.7, |share| share), None);
    }
}
