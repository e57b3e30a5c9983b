//! Which disks are counted: monitors list partitions and stacked disks next to the hardware below
//! them, whose I/O would count twice. A name is hardware unless it is known to be stacked.

use std::collections::{BTreeMap, BTreeSet};

/// Starts of the names of disks that are made of other disks: device mapper, RAID, caches,
/// replicas, volumes of ZFS, multipath.
const STACKED: [&str; 14] = [
    "dm-", "md", "drbd", "bcache", "zd", "mpath", "emcpower", "vpath", "luks-", "lvm-", "VxVM",
    "vxdmp", "dmcrypt", "asm",
];
/// Starts of the names of disks that hold their data in memory, or in a file of another disk.
const IN_MEMORY: [&str; 3] = ["loop", "ram", "zram"];
/// Starts of persistent names of hardware in `/dev/disk/by-id` and `by-path`.
const BUSES: [&str; 12] = [
    "ata-",
    "scsi-",
    "nvme-",
    "usb-",
    "virtio-",
    "wwn-",
    "pci-",
    "mmc-",
    "ip-",
    "platform-",
    "ieee1394-",
    "google-",
];
/// Major numbers (Linux, admin-guide/devices.txt) of memory and loop devices, and of stacked disks:
/// RAID and DRBD. Those of device mapper are assigned when it starts.
const MEMORY_MAJORS: [u32; 2] = [1, 7];
const STACKED_MAJORS: [u32; 2] = [9, 147];
/// Major numbers that the kernel assigns, among others to device mapper and to virtio's disks.
const ASSIGNED: std::ops::RangeInclusive<u32> = 240..=254;
/// Major number of NVMe disks, and of partitions beyond the minor numbers of their disk.
const EXTENDED: u32 = 259;
/// Minor numbers of a disk: of the whole disk and of its partitions.
const MINORS: [(&[u32], u32); 4] = [
    (&[3, 22, 33, 34, 56, 57, 88, 89, 90, 91], 64),
    (
        &[
            8, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 104, 105, 106, 107, 108,
            109, 110, 111, 128, 129, 130, 131, 132, 133, 134, 135, 202, 252, 253, 254,
        ],
        16,
    ),
    (&[48, 49, 50, 51, 52, 53, 54, 55, 179], 8),
    (&[94], 4),
];

/// The disks whose I/O is that of other disks in `moved`, or of memory. `moved` has the bytes of
/// each.
pub(super) fn virtual_disks<'a>(moved: &BTreeMap<&'a str, f64>) -> BTreeSet<&'a str> {
    let partitions = partitions(moved);
    let whole = || moved.keys().copied().filter(|name| !partitions.contains(name));
    let known: Vec<&str> = whole().filter(|name| layer(name) == DiskLayer::Hardware).collect();
    let of_known: f64 = known.iter().map(|name| moved[name]).sum();
    let mut found: BTreeSet<&str> = whole()
        .filter(|name| match layer(name) {
            DiskLayer::Hardware => false,
            DiskLayer::Memory => true,
            // Of disks that moved nothing, it is not made.
            DiskLayer::Stacked => !known.is_empty() && (of_known > 0.0 || moved[name] <= 0.0),
            // What is made of the known disks moves no more bytes than they do.
            DiskLayer::Unknown => !known.is_empty() && moved[name] <= of_known,
        })
        .collect();
    found.extend(partitions);
    found
}

/// What a disk is, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiskLayer {
    Hardware,
    Stacked,
    Memory,
    /// A number that the kernel assigned, of hardware or of device mapper.
    Unknown,
}

fn layer(name: &str) -> DiskLayer {
    if let Some((major, _)) = number(name) {
        return match major {
            major if MEMORY_MAJORS.contains(&major) => DiskLayer::Memory,
            major if STACKED_MAJORS.contains(&major) => DiskLayer::Stacked,
            major if ASSIGNED.contains(&major) => DiskLayer::Unknown,
            _ => DiskLayer::Hardware,
        };
    }
    let starts = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
    let has_number_after = |start: &str| {
        let rest = name.strip_prefix(start).unwrap_or_default();
        rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || "-_/".contains(c))
    };
    if starts(&IN_MEMORY) {
        DiskLayer::Memory
    } else if starts(&BUSES) {
        DiskLayer::Hardware
    } else if starts(&STACKED) && (!name.starts_with("md") || has_number_after("md")) {
        DiskLayer::Stacked
    } else if name.contains('-') {
        // The name of a logical volume: GROUP-VOLUME.
        DiskLayer::Stacked
    } else {
        DiskLayer::Hardware
    }
}

/// The disks that are partitions of another disk in `moved`.
fn partitions<'a>(moved: &BTreeMap<&'a str, f64>) -> BTreeSet<&'a str> {
    let is_listed = |name: &str| moved.contains_key(name);
    let by_number = |name: &str| {
        let (major, minor) = number(name)?;
        let (_, minors) = MINORS.iter().find(|(majors, _)| majors.contains(&major))?;
        let first = minor / minors * minors;
        // Device mapper numbers its disks one by one.
        let is_disk = !ASSIGNED.contains(&major)
            || moved[name] <= moved.get(disk_name(major, first).as_str()).copied()?;
        (minor != first && is_disk).then(|| disk_name(major, first))
    };
    let whole = |name: &str| -> Option<String> {
        if let Some(disk) = by_number(name) {
            return Some(disk);
        }
        if let Some((disk, part)) = name.rsplit_once("-part")
            && is_digits(part)
        {
            return Some(disk.to_owned());
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if stem == name || number(name).is_some() {
            return None;
        }
        if let Some(head) = nvme_head(name) {
            return Some(head);
        }
        // A disk whose name ends with a number has `p` before the number of a partition.
        Some(match stem.strip_suffix('p') {
            Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => disk.to_owned(),
            _ => stem.to_owned(),
        })
    };
    let mut found: BTreeSet<&str> = moved
        .keys()
        .copied()
        .filter(|name| whole(name).is_some_and(|disk| disk != *name && is_listed(&disk)))
        .collect();
    found.extend(extended_partitions(moved));
    found
}

/// The disk of a path of NVMe multipath: `nvme0n1` of `nvme0c1n1`.
fn nvme_head(name: &str) -> Option<String> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let is_path = is_digits(subsystem) && is_digits(controller) && is_digits(namespace);
    is_path.then(|| format!("nvme{subsystem}n{namespace}"))
}

fn disk_name(major: u32, minor: u32) -> String {
    format!("dev{major}-{minor}")
}

/// NVMe disks and their partitions have one major number. The partitions of a disk follow it, and
/// move together what it moves.
fn extended_partitions<'a>(moved: &BTreeMap<&'a str, f64>) -> BTreeSet<&'a str> {
    let mut listed: Vec<(u32, &str, f64)> = moved
        .iter()
        .filter_map(|(name, bytes)| match number(name)? {
            (EXTENDED, minor) => Some((minor, *name, *bytes)),
            _ => None,
        })
        .collect();
    listed.sort_unstable_by_key(|(minor, ..)| *minor);
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < listed.len() {
        let (_, _, of_disk) = listed[at];
        let mut sum = 0.0;
        let followers = listed[at + 1..].iter().position(|(_, _, bytes)| {
            sum += bytes;
            // Rates have two decimals.
            (sum - of_disk).abs() <= of_disk * 1e-3
        });
        match followers.filter(|_| of_disk > 0.0) {
            Some(last) => {
                found.extend(listed[at + 1..=at + 1 + last].iter().map(|(_, name, _)| *name));
                at += last + 2;
            }
            None => at += 1,
        }
    }
    found
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Major and minor number of a disk that sadf names `devMAJOR-MINOR`.
pub(super) fn number(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix("dev")?.split_once('-')?;
    let number = (major.parse().ok()?, minor.parse().ok()?);
    (number.0 < 1 << 12 && number.1 < 1 << 20).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The disks that are not counted, of disks with these bytes.
    fn left_out(disks: &[(&'static str, f64)]) -> Vec<&'static str> {
        virtual_disks(&disks.iter().copied().collect()).into_iter().collect()
    }

    fn of_names(names: &[&'static str]) -> Vec<&'static str> {
        left_out(&names.iter().map(|name| (*name, 1.0)).collect::<Vec<_>>())
    }

    #[test]
    fn stacked_disks_and_partitions_are_not_counted_next_to_their_disks() {
        let all =
            ["sda", "sda1", "dm-0", "loop0", "nvme0n1", "nvme0n1p2", "md127", "vg-root", "bcache0"];
        let expected = ["bcache0", "dm-0", "loop0", "md127", "nvme0n1p2", "sda1", "vg-root"];
        assert_eq!(of_names(&all), expected);
    }

    #[test]
    fn any_other_name_is_hardware() {
        let disks = [
            "sda",
            "cciss/c0d0",
            "ida/c0d1",
            "rd/c0d0",
            "fioa",
            "rssda",
            "skd0",
            "etherd/e0.0",
            "mmcblk0",
            "nbd0",
            "pmem0",
            "rbd0",
            "dasda",
            "xvda",
            "ubda",
            "nvme0c0n1",
            "scinia",
            "mtdblock0",
        ];
        assert_eq!(of_names(&["nvme0n1", "nvme0c0n1", "nvme0c1n1"]), ["nvme0c0n1", "nvme0c1n1"]);
        assert!(of_names(&disks).is_empty(), "{:?}", of_names(&disks));
        assert_eq!(
            of_names(&["cciss/c0d0", "cciss/c0d0p1", "mmcblk0", "mmcblk0p1"]),
            ["cciss/c0d0p1", "mmcblk0p1"]
        );
    }

    #[test]
    fn a_stacked_disk_or_a_partition_counts_if_nothing_below_it_is_listed() {
        assert_eq!(of_names(&["dm-0", "loop0"]), ["loop0"]);
        assert!(of_names(&["xvda1"]).is_empty());
        assert!(left_out(&[("sr0", 0.0), ("dm-0", 9.0)]).is_empty());
        assert!(of_names(&["dev253-0"]).is_empty());
        assert!(of_names(&["dev8-1", "dev8-2"]).is_empty());
    }

    #[test]
    fn partitions_are_known_by_number_and_by_persistent_name() {
        assert_eq!(of_names(&["dev8-0", "dev8-1", "dev8-16", "dev8-17"]), ["dev8-1", "dev8-17"]);
        assert_eq!(
            of_names(&["dev65-32", "dev65-33", "dev94-0", "dev94-1", "dev94-4"]),
            ["dev65-33", "dev94-1"]
        );
        assert_eq!(of_names(&["dev202-0", "dev202-1"]), ["dev202-1"]);
        let named = ["ata-WDC_WD10EZEX", "ata-WDC_WD10EZEX-part1", "nvme-Samsung_980"];
        assert_eq!(of_names(&named), ["ata-WDC_WD10EZEX-part1"]);
        // NVMe disks: 100 = 60 + 40, then a disk without partitions.
        let nvme = [("dev259-0", 100.0), ("dev259-1", 60.0), ("dev259-2", 40.0), ("dev259-3", 7.0)];
        assert_eq!(left_out(&nvme), ["dev259-1", "dev259-2"]);
    }

    #[test]
    fn an_assigned_number_is_of_device_mapper_if_its_bytes_fit_into_the_disks() {
        assert_eq!(left_out(&[("dev8-0", 10.0), ("dev253-0", 10.0)]), ["dev253-0"]);
        assert!(left_out(&[("dev8-0", 10.0), ("dev254-0", 1000.0)]).is_empty());
        // A virtio disk and its partition.
        assert_eq!(left_out(&[("dev254-0", 10.0), ("dev254-1", 9.0)]), ["dev254-1"]);
    }
}
