//! The interfaces of a host: which are counted, how fast their links are, and what was left out.

use super::host::{HostActivity, HostSample, NetworkUse};
use crate::interfaces::{LinkFacts, counted_links};
use crate::manifest::InterfaceInfo;
use std::collections::{BTreeMap, BTreeSet};

/// Speeds of links in megabits per second, to which a speed that is computed from rounded figures
/// is compared: those of Ethernet (IEEE 802.3).
const SPEEDS: [f64; 13] = [
    10.0, 100.0, 1000.0, 2500.0, 5000.0, 10_000.0, 20_000.0, 25_000.0, 40_000.0, 50_000.0,
    100_000.0, 200_000.0, 400_000.0,
];
/// Half of the last digit of a share of the link's speed, which sysstat prints as a per cent.
const ROUNDING: f64 = 0.005 / 100.0;
/// The largest relative error of a speed that Ethernet does not have.
const MOST_ERROR: f64 = 0.02;
/// A rate may exceed the speed by the error of the sample's time.
const BEYOND: f64 = 1.05;
/// Names that a warning lists.
const LISTED: usize = 8;

/// The interfaces of a host.
pub(super) struct HostNetwork {
    /// The interfaces of the input, for the manifest.
    pub interfaces: Vec<InterfaceInfo>,
    /// Names of those that are counted.
    pub counted: BTreeSet<String>,
    /// Whether the input has any interface.
    pub is_recorded: bool,
}

impl HostNetwork {
    /// Decides which interfaces are counted, and warns of those that are not and of impossible
    /// rates.
    pub fn of(activity: &HostActivity, warnings: &mut Vec<String>) -> Self {
        let samples = &activity.samples;
        let mut moved: BTreeMap<&str, Vec<[f64; 2]>> = BTreeMap::new();
        for (at, sample) in samples.iter().enumerate() {
            for (name, link) in sample.network.iter().flatten() {
                let of_link = moved.entry(name).or_insert_with(|| vec![[0.0; 2]; samples.len()]);
                of_link[at] = [link.rx_bytes, link.tx_bytes];
            }
        }
        let facts: Vec<LinkFacts<'_>> = moved
            .iter()
            .map(|(name, moved)| LinkFacts {
                name,
                is_stacked: activity.stacked.contains(*name),
                moved: moved.clone(),
                ..LinkFacts::default()
            })
            .collect();
        let counted: BTreeSet<String> =
            counted_links(&facts).into_iter().map(str::to_owned).collect();
        let left_out: Vec<&str> = facts
            .iter()
            .filter(|link| link.name != "lo" && !counted.contains(link.name))
            .filter(|link| link.moved.iter().flatten().any(|bytes| *bytes > 0.0))
            .map(|link| link.name)
            .collect();
        if !left_out.is_empty() {
            let mut names = left_out[..left_out.len().min(LISTED)].join(", ");
            if left_out.len() > LISTED {
                names += &format!(" and {} more", left_out.len() - LISTED);
            }
            let kept = counted.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            warnings.push(format!(
                "interfaces: {} carry packets of others and are not counted: {names}; counted: \
                 {kept}",
                left_out.len()
            ));
        }
        let megabits = |name: &str| {
            let stated = activity.megabits.get(name).copied();
            stated.or_else(|| computed_speed(name, samples)).filter(|speed| *speed >= 1.0)
        };
        for name in &counted {
            let Some(megabits) = megabits(name) else { continue };
            let is_beyond = |sample: &&HostSample| {
                sample.network.as_ref().and_then(|links| links.get(name)).is_some_and(|link| {
                    let rate = link.larger_bytes() * 8.0 / 1e6 / sample.span.as_secs();
                    rate > megabits * BEYOND
                })
            };
            let beyond = samples.iter().filter(is_beyond).count();
            if beyond > 0 {
                warnings.push(format!(
                    "rates: {name} moved more than its link of {megabits:.0} Mb/s can in {beyond} \
                     samples; they are kept"
                ));
            }
        }
        let interfaces = facts.iter().map(|link| InterfaceInfo {
            name: link.name.to_owned(),
            megabits: megabits(link.name).map(|speed| speed.round() as u32),
            counted: counted.contains(link.name),
        });
        Self { interfaces: interfaces.collect(), is_recorded: !facts.is_empty(), counted }
    }
}

impl NetworkUse {
    /// Bytes of the direction that moved more.
    fn larger_bytes(&self) -> f64 {
        self.rx_bytes.max(self.tx_bytes)
    }
}

/// The speed of a link: the rate of the larger direction, divided by the share of the speed that it
/// used, as of a link of full duplex (`compute_ifutil` of sysstat's common.c). `None` if the share
/// is unknown, or too small to be divided by.
fn computed_speed(name: &str, samples: &[HostSample]) -> Option<f64> {
    let uses = samples.iter().filter_map(|sample| {
        let link = sample.network.as_ref()?.get(name)?;
        Some((link.utilisation, link.larger_bytes() * 8.0 / 1e6 / sample.span.as_secs()))
    });
    let (share, rate) = uses.max_by(|a, b| a.0.total_cmp(&b.0))?;
    if share <= 2.0 * ROUNDING || rate <= 0.0 {
        return None;
    }
    let (least, most) = (rate / (share + ROUNDING), rate / (share - ROUNDING));
    let is_possible = |speed: &&f64| **speed >= least * 0.999 && **speed <= most * 1.001;
    let standard: Vec<&f64> = SPEEDS.iter().filter(is_possible).collect();
    match standard[..] {
        [speed] => Some(*speed),
        [] if most - least <= MOST_ERROR * least => Some(rate / share),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_units::Ns;

    fn speed(megabits_moved: f64, percent: f64) -> Option<f64> {
        let link = NetworkUse {
            tx_bytes: megabits_moved * 1e6 / 8.0,
            utilisation: percent / 100.0,
            ..NetworkUse::default()
        };
        let network = Some(BTreeMap::from([("eth0".to_owned(), link)]));
        computed_speed("eth0", &[HostSample { span: Ns::SECOND, network, ..HostSample::default() }])
    }

    #[test]
    fn the_speed_of_a_link_is_its_rate_by_the_share_that_it_used() {
        assert_eq!(speed(123.4, 12.34), Some(1000.0));
        assert_eq!(speed(2.0, 0.02), Some(10_000.0));
        assert_eq!(speed(3.0, 30.0), Some(10.0));
        // A shaped link of 3 Gb/s.
        assert!(speed(1500.0, 50.0).is_some_and(|speed| (speed - 3000.0).abs() < 1.0));
        // Too little to divide by, or unknown.
        assert_eq!((speed(0.5, 0.01), speed(5.0, 0.0)), (None, None));
    }
}
