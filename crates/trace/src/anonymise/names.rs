//! Pseudonyms: the same name has the same one.

use crate::spark::is_of_operators;
use std::collections::BTreeMap;

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameKind {
    Application,
    Command,
    Device,
    File,
    Group,
    Host,
    Interface,
    Node,
    Path,
    Place,
    Process,
    User,
    Value,
    Volume,
}

impl NameKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Command => "command",
            Self::Device => "device",
            Self::File => "file",
            Self::Group => "group",
            Self::Host => "host",
            Self::Interface => "interface",
            Self::Node => "node",
            Self::Path => "path",
            Self::Place => "place",
            Self::Process => "process",
            Self::User => "user",
            Self::Value => "value",
            Self::Volume => "volume",
        }
    }

    /// Whether a text may mention such a name. The others may be common words.
    const fn is_mentioned(self) -> bool {
        !matches!(self, Self::Group | Self::Place | Self::Process | Self::Value)
    }
}

/// The names that have been replaced, and their pseudonyms.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: BTreeMap<NameKind, BTreeMap<String, String>>,
    counts: BTreeMap<NameKind, u64>,
}

/// Prefixes of the kernel's names of disks. Names of mapped volumes and of multipath devices are
/// chosen by people.
const DISKS: [&str; 19] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "nbd", "pmem", "rbd", "dasd", "loop", "ram", "zram",
    "dm-", "md", "sr", "fd", "bcache", "dev",
];
/// Prefixes of the kernel's and systemd's names of interfaces, without those that hold an address.
const INTERFACES: [&str; 16] = [
    "lo", "eth", "eno", "ens", "enp", "wlan", "wlo", "wlp", "ib", "bond", "team", "br", "docker",
    "virbr", "tun", "tap",
];
/// What follows the name of a stage that was tried again.
const ATTEMPT: &str = ", attempt ";
/// Start of paths of the kernel.
const KERNEL_PATHS: [&str; 3] = ["/proc/", "/sys/", "/dev/"];

/// Whether the name is one of `prefixes` and a number, or of a partition or a slot with numbers.
fn is_numbered(name: &str, prefixes: &[&str], letters: &str) -> bool {
    prefixes.iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            rest.chars().all(|c| c.is_ascii_digit() || c == '-' || letters.contains(c))
        })
    })
}

/// Whether a disk has a name of the kernel's, which says nothing of its owner.
pub(super) fn is_kernel_disk(name: &str) -> bool {
    let Some(letters) = ["sd", "hd", "vd", "xvd", "dasd"].iter().find_map(|p| name.strip_prefix(p))
    else {
        return is_numbered(name, &DISKS, "np");
    };
    let disk = letters.trim_end_matches(|c: char| c.is_ascii_digit());
    // `sdzzz` is the largest name of 18,278 disks.
    (1..=3).contains(&disk.len()) && disk.bytes().all(|b| b.is_ascii_lowercase())
}

fn is_kernel_interface(name: &str) -> bool {
    is_numbered(name, &INTERFACES, "fnsd")
}

impl Names {
    /// The pseudonym of a name. An empty name keeps its meaning: unknown.
    pub fn of(&mut self, kind: NameKind, name: &str) -> String {
        let is_kept = match kind {
            NameKind::Device => is_kernel_disk(name),
            NameKind::Interface => is_kernel_interface(name),
            NameKind::Process => name == "(others)",
            _ => false,
        };
        if name.is_empty() || is_kept {
            return name.to_owned();
        }
        let known = self.known.entry(kind).or_default();
        if let Some(pseudonym) = known.get(name) {
            return pseudonym.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let pseudonym = format!("{}-{count}", kind.name());
        known.insert(name.to_owned(), pseudonym.clone());
        pseudonym
    }

    /// Replaces each level of a control group, so that nested groups stay nested.
    pub fn group(&mut self, group: &mut String) {
        let levels = group.split('/').map(|level| self.of(NameKind::Group, level));
        *group = levels.collect::<Vec<_>>().join("/");
    }

    /// The name of a stage without its place in the program, which may be a path: `sort at place-1`
    /// for `sort at job.py:12`. The names of Spark's operators are kept: `scan text, filter`.
    pub fn stage(&mut self, name: &str) -> String {
        let (operators, attempt) = match name.split_once(ATTEMPT) {
            Some((operators, attempt)) if attempt.bytes().all(|b| b.is_ascii_digit()) => {
                (operators, Some(attempt))
            }
            _ => (name, None),
        };
        if is_of_operators(operators) && attempt != Some("") {
            return name.to_owned();
        }
        match name.split_once(" at ") {
            Some((what, place)) if what.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                format!("{what} at {}", self.of(NameKind::Place, place))
            }
            _ => self.of(NameKind::Place, name),
        }
    }

    /// Replaces the name at `text`.
    pub fn replace(&mut self, kind: NameKind, text: &mut String) {
        *text = self.of(kind, text);
    }

    /// Gives `other` the pseudonym of `name`, because both name the same.
    pub fn alias(&mut self, kind: NameKind, name: &str, other: &str) {
        let pseudonym = self.of(kind, name);
        self.known.entry(kind).or_default().entry(other.to_owned()).or_insert(pseudonym);
    }

    /// The pseudonym of a node, host, device or other name that has been replaced before.
    pub fn known(&self, name: &str) -> Option<String> {
        let mentioned = self.known.iter().filter(|(kind, _)| kind.is_mentioned());
        mentioned.filter_map(|(_, names)| names.get(name)).next().cloned()
    }

    /// Number of replaced names by kind.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.iter().map(|(kind, count)| (kind.name(), *count)).collect()
    }

    /// Replaces the names in a sentence: those that are known, paths and addresses.
    pub fn text(&mut self, text: &mut String) {
        let mut result = String::with_capacity(text.len());
        // A path may contain brackets, so brackets end a word only where it begins or ends.
        let is_between = |c: char| c.is_whitespace() || "\"'`(),;=".contains(c);
        let is_end = |c: char| is_between(c) || "[]{}<>:.".contains(c);
        for part in text.split_inclusive(is_between) {
            let rest = part.trim_start_matches(['[', '{', '<']);
            result.push_str(&part[..part.len() - rest.len()]);
            let word = rest.trim_end_matches(is_end);
            match self.word(word) {
                Some(pseudonym) => {
                    result.push_str(&pseudonym);
                    result.push_str(&rest[word.len()..]);
                }
                None => result.push_str(rest),
            }
        }
        *text = result;
    }

    fn word(&mut self, word: &str) -> Option<String> {
        if word.is_empty() {
            return None;
        }
        if let Some(known) = self.known(word) {
            return Some(known);
        }
        let is_path = (word.starts_with('/') && word.len() > 1) || word.starts_with("~/");
        if is_path && !KERNEL_PATHS.iter().any(|start| word.starts_with(start)) {
            return Some(self.of(NameKind::Path, word));
        }
        if word.contains("://") {
            return Some(self.of(NameKind::Path, word));
        }
        if word.contains('@') {
            return Some(self.of(NameKind::User, word));
        }
        // `file:/home/...`
        if let Some((scheme, path)) = word.split_once(':')
            && path.starts_with('/')
            && !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Some(self.of(NameKind::Path, word));
        }
        let is_address = |text: &str| text.parse::<std::net::IpAddr>().is_ok();
        let (host, port) = match is_address(word) {
            true => (word, ""),
            false => word.rsplit_once(':').unwrap_or((word, "")),
        };
        if !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && let Some(known) = self.known(host)
        {
            return Some(format!("{known}:{port}"));
        }
        // `[::1]:8080`, whose first bracket is not part of the word.
        let bare = host.trim_end_matches(']');
        if is_address(bare) {
            let host = self.of(NameKind::Host, bare) + &host[bare.len()..];
            return Some(if port.is_empty() { host } else { format!("{host}:{port}") });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_has_the_same_pseudonym() {
        let mut names = Names::default();
        assert_eq!(names.of(NameKind::Process, "payroll"), "process-1");
        assert_eq!(names.of(NameKind::Process, "dd"), "process-2");
        assert_eq!(names.of(NameKind::Process, "payroll"), "process-1");
        assert_eq!(names.of(NameKind::Host, "payroll"), "host-1");
        assert_eq!(names.of(NameKind::Process, ""), "");
        assert_eq!(names.counts(), BTreeMap::from([("host", 1), ("process", 2)]));
    }

    #[test]
    fn names_of_stages_keep_operators_and_lose_places() {
        let mut names = Names::default();
        for name in ["scan text, filter, exchange", "exchange, sort, write, attempt 2"] {
            assert_eq!(names.stage(name), name);
        }
        assert_eq!(names.stage("count at /home/ann/acme.py:3"), "count at place-1");
        assert_eq!(names.stage("scan acme"), "place-2");
        assert_eq!(names.stage("scan text, attempt acme"), "place-3");
    }

    #[test]
    fn names_of_the_kernel_are_kept_and_those_of_people_are_not() {
        for name in [
            "sda",
            "sdab1",
            "vdb",
            "nvme0n1",
            "nvme0n1p2",
            "mmcblk0p1",
            "dm-3",
            "md127",
            "loop7",
            "dev8-0",
            "sr0",
            "xvda1",
        ] {
            assert!(is_kernel_disk(name), "{name}");
        }
        for name in ["vg0-payroll", "mpatha", "sdpayroll", "acme", "dm-acme", "nvme-acme"] {
            assert!(!is_kernel_disk(name), "{name}");
        }
        for name in ["lo", "eth0", "enp0s31f6", "ens3", "wlan0", "docker0", "ib0"] {
            assert!(is_kernel_interface(name), "{name}");
        }
        for name in ["enx001122334455", "acme-vpn", "br-1a2b3c4d5e6f", "wg-acme", "vethab12"] {
            assert!(!is_kernel_interface(name), "{name}");
        }
    }

    #[test]
    fn sentences_lose_known_names_paths_and_addresses() {
        let mut names = Names::default();
        names.of(NameKind::Host, "db1.acme.example");
        names.of(NameKind::Process, "the");
        let mut text = "cannot read /home/ann/x.log, /proc/7/io of the host db1.acme.example: \
                        10.1.2.3:7077 (ann@acme.example)"
            .to_owned();
        names.text(&mut text);
        assert_eq!(text, "cannot read path-1, /proc/7/io of the host host-1: host-2:7077 (user-1)");
        let mut text =
            "no file:/home/ann/acme/in on db1.acme.example:8020 [/home/ann/x]".to_owned();
        names.text(&mut text);
        assert_eq!(text, "no path-2 on host-1:8020 [path-3]");
        let mut text = "/home/{acme}/[secret].csv [fe80::8a]:8080, fe80::8b and ::1".to_owned();
        names.text(&mut text);
        assert_eq!(text, "path-4 [host-3]:8080, host-4 and host-5");
    }
}
