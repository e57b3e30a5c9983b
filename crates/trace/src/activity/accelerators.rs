//! Accelerators in the input: they are named in the traces, and their work is not.

use super::assemble::AssembledHost;
use crate::manifest::Unavailable;
use std::collections::{BTreeMap, BTreeSet};

/// What a trace lacks of accelerators.
const WHAT: &str = "time and power of accelerators";

/// Names of accelerators by their host and identifier.
type OfHosts = BTreeMap<String, BTreeMap<String, String>>;

/// Adds the accelerators to the manifests of their hosts, and one warning for all. The exporter of
/// an accelerator is another target than that of its host: `n1:9400` and `n1:9100` are the same
/// machine. If no host has the name, they are those of the only host.
pub(super) fn add(found: OfHosts, hosts: &mut [AssembledHost], warnings: &mut Vec<String>) {
    let machine = |name: &str| name.rsplit_once(':').map_or(name, |(host, _)| host).to_owned();
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    let is_single = hosts.len() == 1;
    for (of_host, accelerators) in found {
        let accelerators: Vec<String> = accelerators.into_values().collect();
        names.extend(accelerators.iter().cloned());
        let is_same =
            |host: &&mut AssembledHost| is_single || machine(&host.name) == machine(&of_host);
        let mut same = hosts.iter_mut().filter(is_same).peekable();
        if same.peek().is_none() {
            unknown.insert(of_host.clone());
        }
        for host in same {
            let machine = &mut host.manifest.machine;
            machine.accelerators.extend(accelerators.iter().cloned());
            let list = machine.accelerators.join(", ");
            let why = format!("the input has figures of {list}, which a trace has no place for");
            let unavailable = &mut host.manifest.unavailable;
            unavailable.retain(|missing| missing.what != WHAT);
            unavailable.push(Unavailable { what: WHAT.to_owned(), why });
        }
    }
    if names.is_empty() {
        return;
    }
    let list = names.into_iter().collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "accelerators: {list}; GPU time and watts are not in the trace, so that a survey knows the \
         processors alone"
    );
    if !unknown.is_empty() {
        let list = unknown.into_iter().collect::<Vec<_>>().join(", ");
        text += &format!("; {list} is not a host of the input");
    }
    warnings.push(text);
}
