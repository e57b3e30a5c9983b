//! Which disks and interfaces are counted, by their names: monitors list partitions, stacked disks
//! and bridges next to the hardware below them, whose I/O would count twice.

use std::collections::BTreeSet;

/// Names of interfaces that pass on the packets of others, or are on no network.
const PASSED_ON: [&str; 22] = [
    "lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "cali", "vnet", "tap", "tun", "ifb",
    "dummy", "bond", "team", "lxc", "kube", "wg", "sit", "gre", "ip6tnl", "ovs",
];

/// Major numbers of disks (Linux, admin-guide/devices.txt) that are not made of other disks.
const MAJORS: [u32; 30] = [
    3, 8, 22, 33, 34, 65, 66, 67, 68, 69, 70, 71, 94, 104, 105, 106, 107, 108, 109, 110, 111, 128,
    129, 130, 131, 132, 133, 134, 179, 202,
];
/// Major number of NVMe disks and of partitions beyond the minor numbers of their disk.
const EXTENDED: u32 = 259;

/// The interfaces that are counted: hardware, or, without any, all but the loopback.
pub(super) fn counted_interfaces<'a>(names: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let is_bridge = |name: &str| {
        name.strip_prefix("br").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let hardware = |name: &&&str| {
        !PASSED_ON.iter().any(|prefix| name.starts_with(prefix))
            && !is_bridge(name)
            && !name.contains(['.', '@'])
    };
    let found: BTreeSet<&str> = names.iter().filter(hardware).copied().collect();
    if found.is_empty() {
        names.iter().filter(|name| **name != "lo").copied().collect()
    } else {
        found
    }
}

/// The disks whose I/O is that of other disks in `names`, or of memory.
pub(super) fn virtual_disks<'a>(names: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let hardware: BTreeSet<&str> =
        names.iter().copied().filter(|name| whole_disk(name).is_some()).collect();
    names
        .iter()
        .copied()
        .filter(|name| match whole_disk(name) {
            // A partition, if its disk is listed too.
            Some(disk) => disk != *name && names.contains(disk),
            None => is_memory(name) || !hardware.is_empty(),
        })
        .collect()
}

/// Major and minor number of a disk that sadf names `devMAJOR-MINOR`.
pub(super) fn number(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix("dev")?.split_once('-')?;
    let number = (major.parse().ok()?, minor.parse().ok()?);
    (number.0 < 1 << 12 && number.1 < 1 << 20).then_some(number)
}

/// Whether a disk holds its data in memory, or in a file of another disk.
fn is_memory(name: &str) -> bool {
    let by_number = number(name).is_some_and(|(major, _)| matches!(major, 1 | 7));
    by_number || ["loop", "ram", "zram"].iter().any(|prefix| name.starts_with(prefix))
}

/// The name of the whole disk, for a disk or a partition of hardware; `None` for other names.
fn whole_disk(name: &str) -> Option<&str> {
    if let Some((major, _)) = number(name) {
        return (MAJORS.contains(&major) || major == EXTENDED).then_some(name);
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // A disk whose name ends with a number has `p` before the number of a partition.
    for prefix in ["nvme", "mmcblk", "nbd", "pmem", "rbd"] {
        if let Some(rest) = name.strip_prefix(prefix) {
            let disk = match rest.rsplit_once('p') {
                Some((disk, part)) if digits(part) => disk,
                _ => rest,
            };
            let is_disk = disk.split('n').all(digits);
            return is_disk.then(|| &name[..prefix.len() + disk.len()]);
        }
    }
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_disk = ["sd", "hd", "vd", "xvd", "dasd"].iter().any(|prefix| {
        disk.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase()))
    });
    is_disk.then_some(disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(list: &[&'a str]) -> BTreeSet<&'a str> {
        list.iter().copied().collect()
    }

    #[test]
    fn stacked_disks_and_partitions_are_not_counted_next_to_their_disks() {
        let all = names(&["sda", "sda1", "dm-0", "loop0", "nvme0n1", "nvme0n1p2", "md127"]);
        assert_eq!(virtual_disks(&all), names(&["sda1", "dm-0", "loop0", "nvme0n1p2", "md127"]));
        assert_eq!(virtual_disks(&names(&["dev8-0", "dev253-0"])), names(&["dev253-0"]));
    }

    #[test]
    fn a_stacked_disk_or_a_partition_counts_if_nothing_below_it_is_listed() {
        assert_eq!(virtual_disks(&names(&["dm-0", "loop0"])), names(&["loop0"]));
        assert!(virtual_disks(&names(&["xvda1"])).is_empty());
        assert!(virtual_disks(&names(&["dev253-0"])).is_empty());
    }

    #[test]
    fn interfaces_of_hardware_are_counted_or_else_all_but_the_loopback() {
        let all = names(&["lo", "eth0", "docker0", "veth12", "eth0.7", "br0", "bond0"]);
        assert_eq!(counted_interfaces(&all), names(&["eth0"]));
        assert_eq!(counted_interfaces(&names(&["lo", "tun0"])), names(&["tun0"]));
        assert!(counted_interfaces(&names(&["lo"])).is_empty());
    }
}
