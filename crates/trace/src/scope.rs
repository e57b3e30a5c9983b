//! What a trace covers: a machine, or a node, which is a part of a machine that stands for a
//! machine of a cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a trace covers, and on which host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The host, by the identifier of its boot (`/proc/sys/kernel/random/boot_id`); `None` if it is
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The part of the host.
    #[serde(flatten)]
    pub part: ScopePart,
}

/// The part of a host that a trace covers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ScopePart {
    /// All of it.
    #[default]
    Machine,
    /// Some of its processes, devices and network interfaces. All columns of the trace are the
    /// node's own, except those that [`NodeScope::shared`] lists.
    Node(NodeScope),
}

/// A node of a cluster on a machine that it shares with other nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeScope {
    /// Name of the node.
    pub name: String,
    /// Number of cores that the node may use, by its quota; `None` without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// The control group of its processes, from the root of the hierarchy; `None` if they are the
    /// descendants of `processes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Processes whose descendants are the node's; empty with a control group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<u32>,
    /// Inode of its network namespace; `None` if it has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_namespace: Option<u64>,
    /// Names of its block devices, without `/dev/`; empty if it has none of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// What the trace has only of the whole machine, or as the node's share of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
}

/// Something that a node has in common with other nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shared {
    /// A column, or a device.
    pub what: String,
    /// How it was obtained.
    pub why: String,
}

impl Scope {
    /// The whole machine with this boot identifier.
    pub fn machine(host: Option<String>) -> Self {
        Self { host, part: ScopePart::Machine }
    }

    /// The node; `None` if the trace covers a machine.
    pub fn node(&self) -> Option<&NodeScope> {
        match &self.part {
            ScopePart::Machine => None,
            ScopePart::Node(node) => Some(node),
        }
    }

    /// What both scopes cover, in words; `None` if they are apart, or if the host of either is
    /// unknown.
    pub fn overlap(&self, other: &Self) -> Option<String> {
        if self.host.is_none() || self.host != other.host {
            return None;
        }
        match (self.node(), other.node()) {
            (None, _) | (_, None) => Some("the whole machine".into()),
            (Some(one), Some(other)) => one.overlap(other),
        }
    }
}

impl NodeScope {
    fn overlap(&self, other: &Self) -> Option<String> {
        if let (Some(one), Some(other)) = (&self.cgroup, &other.cgroup)
            && (is_within(one, other) || is_within(other, one))
        {
            let inner = if one.len() > other.len() { one } else { other };
            return Some(format!("the control group {inner}"));
        }
        if let Some(process) = self.processes.iter().find(|p| other.processes.contains(p)) {
            return Some(format!("process {process}"));
        }
        if self.network_namespace.is_some() && self.network_namespace == other.network_namespace {
            return Some("a network namespace".into());
        }
        let device = self.devices.iter().find(|device| other.devices.contains(device));
        device.map(|device| format!("the device {device}"))
    }
}

/// Whether the control group `inner` is `outer` or below it.
fn is_within(inner: &str, outer: &str) -> bool {
    let rest = inner.strip_prefix(outer.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> NodeScope {
        NodeScope {
            name: name.into(),
            cores: Some(0.5),
            cgroup: Some(format!("/gordon/{name}")),
            network_namespace: Some(name.bytes().map(u64::from).sum()),
            devices: vec![format!("loop-{name}")],
            ..NodeScope::default()
        }
    }

    fn on(host: &str, node: NodeScope) -> Scope {
        Scope { host: Some(host.into()), part: ScopePart::Node(node) }
    }

    #[test]
    fn nodes_of_one_machine_are_apart_unless_they_share_something() {
        let one = on("a", node("n1"));
        assert_eq!(one.overlap(&on("a", node("n2"))), None);
        assert_eq!(one.overlap(&one).as_deref(), Some("the control group /gordon/n1"));
        let inner = NodeScope { cgroup: Some("/gordon/n1/sub".into()), ..node("n2") };
        assert!(one.overlap(&on("a", inner)).is_some());
        let alike = NodeScope { cgroup: Some("/gordon/n10".into()), ..node("n10") };
        assert_eq!(one.overlap(&on("a", alike)), None);
        let device = NodeScope { devices: vec!["loop-n1".into()], ..node("n2") };
        assert_eq!(one.overlap(&on("a", device)).as_deref(), Some("the device loop-n1"));
        let network = NodeScope { network_namespace: node("n1").network_namespace, ..node("n2") };
        assert!(one.overlap(&on("a", network)).is_some());
        let tree = |roots| NodeScope { cgroup: None, processes: roots, ..node("n2") };
        let of_tree = on("a", tree(vec![7, 8]));
        assert_eq!(
            of_tree
                .overlap(&on(
                    "a",
                    NodeScope { devices: vec![], network_namespace: None, ..tree(vec![8]) }
                ))
                .as_deref(),
            Some("process 8")
        );
    }

    #[test]
    fn a_machine_overlaps_all_of_its_nodes() {
        let machine = Scope::machine(Some("a".into()));
        assert!(machine.overlap(&on("a", node("n1"))).is_some());
        assert!(machine.overlap(&machine).is_some());
        assert_eq!(machine.overlap(&on("b", node("n1"))), None);
        assert_eq!(Scope::default().overlap(&Scope::default()), None);
    }

    #[test]
    fn the_json_of_a_scope_names_its_kind() {
        let scope = on("a", NodeScope { name: "n1".into(), ..NodeScope::default() });
        let json = serde_json::to_value(&scope).unwrap();
        assert_eq!(json, serde_json::json!({ "host": "a", "kind": "node", "name": "n1" }));
        assert_eq!(serde_json::from_value::<Scope>(json).unwrap(), scope);
    }
}
