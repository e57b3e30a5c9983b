//! Small NAND images in memory.

use crate::MemoryMedia;
use gordon_ftl::Config;
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_store::{DeviceParams, Faults, Image, ImageOffsets, Media as _};
use gordon_units::Bytes;
use std::path::Path;
use std::sync::Arc;

/// The parameters of a device with an even number of `blocks`, each of `pages` pages of
/// `page_bytes`, with slots of up to 4 KiB.
///
/// # Panics
/// Panics if there is no such device.
#[must_use]
pub fn device(page_bytes: u32, pages: u32, blocks: u32, faults: Faults, seed: u64) -> DeviceParams {
    let geometry = Geometry {
        buses: 2,
        packages_per_bus: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: blocks / 2,
        pages_per_block: pages,
        page_bytes,
        oob_bytes: 64,
    };
    let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
    let layout = Layout::new(geometry, shape).unwrap_or_else(|error| panic!("{error}"));
    let unit = page_bytes.min(4096);
    let slots = page_bytes / unit;
    let config = Config { slots, seed, durable: true, ..Config::new(&layout, 1, unit / 512) };
    DeviceParams { faults, ..DeviceParams::new("test", &layout, &config, Bytes(unit.into())) }
}

/// A medium with a new image of a device.
///
/// # Panics
/// Panics if there is no such device.
#[must_use]
pub fn image(device: &DeviceParams) -> Arc<MemoryMedia> {
    let resolved = device.resolve().unwrap_or_else(|error| panic!("{error}"));
    let media = Arc::new(MemoryMedia::new(ImageOffsets::new(&resolved).len));
    let image = Image::format(Path::new("memory.img"), Box::new(media.clone()), device.clone());
    image.unwrap_or_else(|error| panic!("{error}"));
    media
}

/// Changes the boot identifier in the sound superblocks of an image, as after a crash of the host.
///
/// # Panics
/// Panics if the medium cannot be read or written.
pub fn forget_boot(media: &MemoryMedia) {
    for copy in 0..2 {
        let mut bytes = vec![0; 4096];
        media.read(copy * 4096, &mut bytes).expect("it works");
        let sum = |bytes: &[u8]| {
            let mut unsealed = bytes.to_vec();
            unsealed[12..16].fill(0);
            crc32c::crc32c_append(crc32c::crc32c(&[0; 4]), &unsealed).to_le_bytes()
        };
        if sum(&bytes) != bytes[12..16] {
            continue;
        }
        bytes[48..64].fill(0xee);
        let sealed = sum(&bytes);
        bytes[12..16].copy_from_slice(&sealed);
        media.write(copy * 4096, &bytes).expect("it works");
    }
    media.sync().expect("it works");
}
