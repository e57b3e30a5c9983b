//! Which network interfaces are counted: hosts list bridges, taps, tunnels and virtual functions
//! next to the hardware that carries their packets, whose bytes would count twice.
//!
//! Structure decides where it is known: a device of its own, an interface that it belongs to or is
//! stacked on, counters that repeat those of another one. Otherwise the name decides.

use std::collections::BTreeSet;

/// What is known of an interface.
#[derive(Clone, Debug, Default)]
pub struct LinkFacts<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it has a device of its own; `None` if unknown.
    pub has_device: Option<bool>,
    /// The interface that it is a part of: a bridge, a bond, or the one that a virtual function
    /// serves.
    pub master: Option<String>,
    /// Whether it is known to be stacked on another interface, such as a VLAN.
    pub is_stacked: bool,
    /// Received and sent bytes of each sample; empty if unknown.
    pub moved: Vec<[f64; 2]>,
}

impl LinkFacts<'_> {
    /// Bytes of all samples.
    fn bytes(&self) -> f64 {
        self.moved.iter().flatten().sum()
    }
}

/// What an interface is, by its name. Without hardware, the first kind that a host has is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LinkLayer {
    /// Hardware, or a name that no list has.
    Hardware,
    /// A bond or team of interfaces.
    Bond,
    /// A bridge or virtual switch.
    Bridge,
    /// A VLAN, or the end of a container or guest.
    Guest,
    /// A tunnel, or an interface that is on no network.
    Tunnel,
    Loopback,
}

/// Starts of names, by kind. Sources: systemd's naming schemes and the defaults of libvirt, Docker,
/// Podman, LXD and Incus, Proxmox, Xen, Open vSwitch, CNI plug-ins (Calico, Cilium, Flannel, Weave,
/// Antrea, AWS, Azure), systemd-nspawn, VMware, VirtualBox, WireGuard, Tailscale, ZeroTier and of
/// the kernel's tunnels.
const BONDS: &[&str] = &["bond", "team", "lag"];
const BRIDGES: &[&str] = &[
    "br-",
    "vmbr",
    "virbr",
    "lxdbr",
    "lxcbr",
    "incusbr",
    "xenbr",
    "xapi",
    "ovs",
    "docker",
    "podman",
    "cni",
    "cbr",
    "kube",
    "weave",
    "mpqemubr",
    "mpbr",
    "fwbr",
    "hassio",
    "vmnet",
    "vboxnet",
    "bridge",
    "lxdovn",
    "nm-bridge",
    "bat",
    "vswitch",
];
const GUESTS: &[&str] = &[
    "veth",
    "tap",
    "vnet",
    "macvtap",
    "macvlan",
    "ipvlan",
    "vlan",
    "vif",
    "fwpr",
    "fwln",
    "lxc",
    "cali",
    "cilium",
    "azv",
    "ve-",
    "vb-",
    "vz-",
    "mv-",
    "iv-",
    "ns-",
    "qvo",
    "qvb",
    "qbr",
    "qr-",
    "qg-",
    "antrea",
    "nodelocaldns",
    "vt-",
    "p2p-",
    "eni",
];
const TUNNELS: &[&str] = &[
    "tun",
    "utun",
    "wg",
    "sit",
    "gre",
    "erspan",
    "ip6tnl",
    "ip6gre",
    "ip_vti",
    "ip6_vti",
    "vti",
    "ipip",
    "vxlan",
    "geneve",
    "genev",
    "gtp",
    "l2tp",
    "ppp",
    "flannel",
    "tailscale",
    "zt",
    "nebula",
    "tinc",
    "ifb",
    "dummy",
    "nlmon",
    "hsr",
    "teql",
    "bnep",
    "ovn-k8s",
    "wt",
    "xfrm",
    "ipsec",
    "imq",
    "submariner",
    "vrf",
    "pimreg",
];

fn has_start(name: &str, list: &[&str]) -> bool {
    list.iter().any(|start| name.starts_with(start))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// What an interface is, by its name alone.
fn layer(name: &str) -> LinkLayer {
    if name == "lo" || name.strip_prefix("lo").is_some_and(is_number) {
        return LinkLayer::Loopback;
    }
    // eno, ens, enp and enx are hardware; Amazon's plug-in adds eleven digits of a hash to eni.
    let is_amazon = name.strip_prefix("eni").is_some_and(|hash| hash.len() == 11);
    if has_start(name, TUNNELS) {
        LinkLayer::Tunnel
    } else if name.contains(['.', '@', ':'])
        || (has_start(name, GUESTS) && (!name.starts_with("eni") || is_amazon))
        || name.ends_with("nsby")
    {
        LinkLayer::Guest
    } else if has_start(name, BRIDGES)
        || name.strip_prefix("br").is_some_and(is_number)
        || name.ends_with("-nic")
    {
        LinkLayer::Bridge
    } else if has_start(name, BONDS) {
        LinkLayer::Bond
    } else {
        LinkLayer::Hardware
    }
}

/// The letters before the first digit: names of the same scheme are peers.
fn scheme(name: &str) -> &str {
    name.find(|c: char| c.is_ascii_digit()).map_or(name, |end| &name[..end])
}

/// Whether a name is of a virtual function on a PCI bus of its own, as Azure's accelerated
/// networking has them next to `eth0`.
fn is_azure_function(name: &str) -> bool {
    name.strip_prefix("enP").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The interfaces that are counted, by name: hardware that moved bytes and whose packets no other
/// one of the list carries. Without hardware, the first of bonds, bridges, ends of guests, and
/// tunnels that there is. Never the loopback.
pub fn counted_links<'a>(links: &[LinkFacts<'a>]) -> BTreeSet<&'a str> {
    let is_device =
        |name: &str| links.iter().any(|link| link.name == name && link.has_device == Some(true));
    let has_devices = links.iter().any(|link| link.has_device == Some(true));
    let layer_of = |link: &LinkFacts<'_>| {
        let of_name = layer(link.name);
        // A virtual function serves another interface of the same machine.
        let serves = link.master.as_deref().is_some_and(is_device);
        match link.has_device {
            _ if of_name == LinkLayer::Loopback => LinkLayer::Loopback,
            Some(true) if serves => LinkLayer::Guest,
            Some(true) => LinkLayer::Hardware,
            Some(false) if has_devices => of_name.max(LinkLayer::Bond),
            _ if link.is_stacked => of_name.max(LinkLayer::Guest),
            _ => of_name,
        }
    };
    let layers: Vec<(&LinkFacts<'a>, LinkLayer)> =
        links.iter().map(|link| (link, layer_of(link))).collect();
    // A card without a cable carries nothing for the bond or tunnel that has the bytes.
    let may_carry = |(link, layer): &&(&LinkFacts<'a>, LinkLayer)| {
        *layer != LinkLayer::Loopback && (link.moved.is_empty() || link.bytes() > 0.0)
    };
    let kinds = || layers.iter().filter(|(_, layer)| *layer != LinkLayer::Loopback);
    let first = layers.iter().filter(may_carry).map(|(_, layer)| *layer).min();
    let first = first.or_else(|| kinds().map(|(_, layer)| *layer).min());
    let candidates: Vec<&LinkFacts<'a>> =
        layers.iter().filter(|(_, layer)| Some(*layer) == first).map(|(link, _)| *link).collect();
    let repeats = |link: &LinkFacts<'_>| {
        link.has_device.is_none() && candidates.iter().any(|other| is_repeated(link, other))
    };
    candidates.iter().filter(|link| !repeats(link)).map(|link| link.name).collect()
}

/// Whether the bytes of `link` are those of `other`, which is then the one to count.
fn is_repeated(link: &LinkFacts<'_>, other: &LinkFacts<'_>) -> bool {
    if link.name == other.name || scheme(link.name) == scheme(other.name) {
        return false;
    }
    let (moved, of_other) = (link.bytes(), other.bytes());
    if moved <= 0.0 {
        return false;
    }
    // The counters of eth0 have the bytes of its function, and those of the slow path.
    if is_azure_function(link.name) && other.name.starts_with("eth") {
        return moved <= of_other * 1.01;
    }
    let same = link.moved == other.moved;
    // The end of a guest receives what the other interface sends.
    let mirrored = link.moved.len() == other.moved.len()
        && link.moved.iter().zip(&other.moved).all(|([rx, tx], [a, b])| rx == b && tx == a);
    // Of two equal ones, the kernel's own name, or the first by name, is counted.
    let rank = |name: &str| (!name.starts_with("eth"), !is_systemd(name), name.to_owned());
    (same || mirrored) && rank(other.name) < rank(link.name)
}

/// Whether a name is one that systemd gives to hardware.
fn is_systemd(name: &str) -> bool {
    ["en", "wl", "ww", "ib", "sl"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(list: &[&'a str]) -> BTreeSet<&'a str> {
        list.iter().copied().collect()
    }

    fn by_name<'a>(list: &[&'a str]) -> BTreeSet<&'a str> {
        let facts: Vec<LinkFacts<'_>> =
            list.iter().map(|name| LinkFacts { name, ..LinkFacts::default() }).collect();
        counted_links(&facts)
    }

    #[test]
    fn names_of_hardware_are_counted() {
        let hardware = [
            "eth0",
            "eno1",
            "ens3",
            "enp3s0",
            "enx001122334455",
            "em1",
            "p1p1",
            "wlan0",
            "wlp2s0",
            "ib0",
            "usb0",
            "wan",
            "lan0",
            "eni0",
        ];
        assert_eq!(by_name(&hardware), names(&hardware));
        let mut all = hardware.to_vec();
        all.extend([
            "lo",
            "docker0",
            "br-0f1e2d3c4b5a",
            "vmbr0",
            "lxdbr0",
            "virbr0",
            "virbr0-nic",
            "br0",
            "tap100i0",
            "fwbr100i0",
            "fwpr100p0",
            "fwln100i0",
            "veth12",
            "vnet3",
            "vif1.0",
            "cali1",
            "eni0a1b2c3d4e5",
            "azv12",
            "lxc_health",
            "eth0.7",
            "vlan7",
            "eth0@if5",
            "bond0",
            "team0",
            "wg0",
            "tun0",
            "tailscale0",
            "flannel.1",
            "vxlan.calico",
            "ovs-system",
            "macvtap0",
            "ip6tnl0",
            "sit0",
            "dummy0",
            "ifb0",
            "ppp0",
            "cilium_host",
            "kube-ipvs0",
            "ens3nsby",
        ]);
        assert_eq!(by_name(&all), names(&hardware));
    }

    #[test]
    fn without_hardware_the_lowest_kind_is_counted() {
        assert_eq!(by_name(&["lo", "tun0"]), names(&["tun0"]));
        assert_eq!(by_name(&["lo", "bond0", "vmbr0", "tap1"]), names(&["bond0"]));
        assert_eq!(by_name(&["lo", "br0", "vnet0", "wg0"]), names(&["br0"]));
        assert!(by_name(&["lo"]).is_empty() && by_name(&[]).is_empty());
    }

    fn moving<'a>(name: &'a str, moved: &[[f64; 2]]) -> LinkFacts<'a> {
        LinkFacts { name, moved: moved.to_vec(), ..LinkFacts::default() }
    }

    #[test]
    fn counters_that_repeat_another_interface_are_not_counted() {
        let moved = [[1000.0, 10.0], [2000.0, 20.0]];
        let swapped = moved.map(|[rx, tx]| [tx, rx]);
        let less = moved.map(|[rx, tx]| [rx * 0.9, tx]);
        let counted = |other: LinkFacts<'_>, first| {
            let links = [moving(first, &moved), other];
            counted_links(&links).len()
        };
        assert_eq!(counted(moving("enP4s1", &less), "eth0"), 1);
        // On a machine whose only interface has such a name, it is hardware.
        assert_eq!(by_name(&["enP4s1"]), names(&["enP4s1"]));
        assert_eq!(counted(moving("enP4s1", &moved.map(|[rx, tx]| [rx * 2.0, tx])), "eth0"), 2);
        assert_eq!(counted(moving("guest-a", &moved), "eno1"), 1);
        assert_eq!(counted(moving("guest-a", &swapped), "eno1"), 1);
        assert_eq!(counted(moving("guest-a", &less), "eno1"), 2);
        // Two parts of a bond may share its bytes equally.
        assert_eq!(counted(moving("eno2", &moved), "eno1"), 2);
        let idle = [[0.0, 0.0]; 2];
        let links = [moving("eno1", &idle), moving("bond0", &moved), moving("vnet0", &moved)];
        assert_eq!(counted_links(&links), names(&["bond0"]), "eno1 has no cable");
        assert_eq!(counted_links(&[moving("eth0", &idle), moving("ens4", &idle)]).len(), 2);
    }

    #[test]
    fn structure_decides_before_names() {
        let link = |name, has_device, master: Option<&str>| LinkFacts {
            name,
            has_device: Some(has_device),
            master: master.map(str::to_owned),
            ..LinkFacts::default()
        };
        let azure = [link("eth0", true, None), link("enP4s1", true, Some("eth0"))];
        assert_eq!(counted_links(&azure), names(&["eth0"]));
        let bond = [
            link("bond0", false, None),
            link("eth0", true, Some("bond0")),
            link("veth-nic", true, Some("bond0")),
        ];
        assert_eq!(counted_links(&bond), names(&["eth0", "veth-nic"]));
        let container = [link("eth0", false, None), link("docker0", false, None)];
        assert_eq!(counted_links(&container), names(&["eth0"]));
        let stacked = LinkFacts { name: "storage", is_stacked: true, ..LinkFacts::default() };
        assert_eq!(counted_links(&[moving("eno1", &[]), stacked]), names(&["eno1"]));
    }
}
