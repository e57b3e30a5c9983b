//! Where tests put their files.

use rustix::fs::statfs;
use std::path::Path;

/// File systems in memory or on another machine, by their magic numbers (linux/magic.h): tmpfs,
/// ramfs, NFS, CIFS, SMB2, 9p and FUSE, to which virtiofs belongs.
const ELSEWHERE: [u64; 7] =
    [0x0102_1994, 0x8584_58f6, 0x6969, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x6573_5546];

/// Whether what is written in a folder reaches a block device of this machine.
pub fn is_on_a_disk(folder: &Path) -> bool {
    // The type is signed on some processors, unsigned on others.
    statfs(folder).is_ok_and(|found| !ELSEWHERE.contains(&((found.f_type as u64) & 0xffff_ffff)))
}
