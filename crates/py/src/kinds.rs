//! The kinds of config that users write.

use gordon_cachesim::flashcache::Design;
use gordon_cluster::space::config::{Cpu, Memory, Network, Overhead, Space};
use gordon_config::Kind;
use gordon_hdd::DiskConfig;
use gordon_hdd::classic::ClassicConfig;
use gordon_plan::JobQueue;
use gordon_sort::Settings;
use gordon_ssd::SsdConfig;

pub(crate) const KINDS: [Kind; 11] = [
    Kind::of::<Space>("space"),
    Kind::of::<Cpu>("cpu"),
    Kind::of::<Memory>("memory"),
    Kind::of::<Network>("network"),
    Kind::of::<Overhead>("overhead"),
    Kind::of::<SsdConfig>("flash"),
    Kind::of::<DiskConfig>("disk"),
    Kind::of::<ClassicConfig>("drive"),
    Kind::of::<Design>("flashcache"),
    Kind::of::<Settings>("sort"),
    Kind::of::<JobQueue>("jobs"),
];
