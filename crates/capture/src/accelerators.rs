//! Graphics processors and other accelerators of the machine, by the names that their drivers give.
//! Capture reads none of their counters.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The accelerators seen under `root`, which is `/` except in tests. Equal ones appear once each.
pub(crate) fn accelerators(root: &Path) -> Vec<String> {
    let mut names = nvidia(root);
    names.extend(amd(root));
    names.extend(others(root));
    names
}

/// The folders in `folder`, sorted by name.
fn entries(folder: PathBuf) -> BTreeSet<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn text(path: PathBuf) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// NVIDIA's driver has a file for each GPU, with a line `Model: NAME`.
fn nvidia(root: &Path) -> Vec<String> {
    let name = |folder: PathBuf| {
        let information = text(folder.join("information")).unwrap_or_default();
        let model = information.lines().find_map(|line| line.strip_prefix("Model:"));
        model.map(str::trim).filter(|model| !model.is_empty()).unwrap_or("NVIDIA GPU").to_owned()
    };
    entries(root.join("proc/driver/nvidia/gpus")).into_iter().map(name).collect()
}

/// The nodes of AMD's compute driver that have SIMD units; the others are processors. Without that
/// driver, the cards of AMD.
fn amd(root: &Path) -> Vec<String> {
    let simds = |properties: &str| {
        properties.lines().find_map(|line| line.strip_prefix("simd_count ")?.trim().parse().ok())
    };
    let nodes = entries(root.join("sys/class/kfd/kfd/topology/nodes"));
    let computes = |folder: &PathBuf| {
        let count: Option<u64> = text(folder.join("properties")).and_then(|text| simds(&text));
        count.is_some_and(|count| count > 0)
    };
    let found: Vec<String> = nodes
        .into_iter()
        .filter(computes)
        .map(|folder| match text(folder.join("name")) {
            Some(name) => format!("AMD {name}"),
            None => "AMD GPU".to_owned(),
        })
        .collect();
    if !found.is_empty() {
        return found;
    }
    let is_card = |folder: &PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Connectors are card0-DP-1 and the like.
        name.strip_prefix("card").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
            && text(folder.join("device/vendor")).as_deref() == Some("0x1002")
    };
    entries(root.join("sys/class/drm"))
        .into_iter()
        .filter(is_card)
        .map(|folder| match text(folder.join("device/product_name")) {
            Some(name) => name,
            None => "AMD GPU".to_owned(),
        })
        .collect()
}

/// Devices of the kernel's class of compute accelerators.
fn others(root: &Path) -> Vec<String> {
    let name = |folder: PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match text(folder.join("device/vendor")) {
            Some(vendor) => format!("accelerator {name} of vendor {vendor}"),
            None => format!("accelerator {name}"),
        }
    };
    entries(root.join("sys/class/accel")).into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn each_accelerator_has_the_name_of_its_driver() {
        let nodes = "sys/class/kfd/kfd/topology/nodes";
        let dir = machine(&[
            ("proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: \t\t NVIDIA L4\nIRQ: 1\n"),
            ("proc/driver/nvidia/gpus/0000:af:00.0/information", "Model: \t\t NVIDIA L4\nIRQ: 2\n"),
            (&format!("{nodes}/0/properties"), "cpu_cores_count 64\nsimd_count 0\n"),
            (&format!("{nodes}/1/properties"), "cpu_cores_count 0\nsimd_count 416\n"),
            (&format!("{nodes}/1/name"), "aldebaran\n"),
            // The same card again, and one that only draws.
            ("sys/class/drm/card1/device/vendor", "0x1002\n"),
            ("sys/class/drm/card0/device/vendor", "0x1a03\n"),
            ("sys/class/accel/accel0/device/vendor", "0x1da3\n"),
        ]);
        let expected =
            ["NVIDIA L4", "NVIDIA L4", "AMD aldebaran", "accelerator accel0 of vendor 0x1da3"];
        assert_eq!(accelerators(dir.path()), expected);
    }

    #[test]
    fn without_the_compute_driver_a_card_of_amd_is_one() {
        let dir = machine(&[
            ("sys/class/drm/card0/device/vendor", "0x1002\n"),
            ("sys/class/drm/card0/device/product_name", "AMD Instinct MI210\n"),
            ("sys/class/drm/card0-DP-1/device/vendor", "0x1002\n"),
        ]);
        assert_eq!(accelerators(dir.path()), ["AMD Instinct MI210"]);
        assert!(accelerators(Path::new("/nonexistent")).is_empty());
    }
}
