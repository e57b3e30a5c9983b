//! Replaces the names in the manifest of a trace.

use super::names::{NameKind, Names};
use crate::manifest::Manifest;
use crate::scope::{NodeScope, ScopePart};

/// Replaces all names. Figures, models of hardware, and the format of an imported file are kept.
pub(super) fn replace(manifest: &mut Manifest, names: &mut Names) {
    // Names first, so that the sentences below may mention them.
    if let Some(host) = &mut manifest.scope.host {
        names.replace(NameKind::Host, host);
    }
    for disk in &mut manifest.machine.disks {
        names.replace(NameKind::Device, &mut disk.name);
        for member in &mut disk.members {
            names.replace(NameKind::Device, member);
        }
        // A drive has the model of its hardware, a mapped volume the name that a person gave it.
        let is_mapped = disk.is_virtual || disk.name.starts_with("dm-");
        if let (true, Some(name)) = (is_mapped, &mut disk.model) {
            names.replace(NameKind::Volume, name);
        }
    }
    for interface in &mut manifest.machine.interfaces {
        names.replace(NameKind::Interface, &mut interface.name);
    }
    if let ScopePart::Node(node) = &mut manifest.scope.part {
        replace_node(node, names);
    }
    if !manifest.command.is_empty() {
        let line = manifest.command.join(" ");
        manifest.command = vec![names.of(NameKind::Command, &line)];
    }
    names.replace(NameKind::Path, &mut manifest.cwd);
    if let Some(imported) = &mut manifest.imported {
        names.replace(NameKind::File, &mut imported.file);
    }
    manifest.machine.kernel = version(&manifest.machine.kernel);

    for missing in &mut manifest.unavailable {
        names.text(&mut missing.what);
        names.text(&mut missing.why);
    }
    for column in manifest.parts.iter_mut().flat_map(|part| &mut part.columns) {
        names.text(&mut column.how);
    }
}

fn replace_node(node: &mut NodeScope, names: &mut Names) {
    names.replace(NameKind::Node, &mut node.name);
    if let Some(group) = &mut node.cgroup {
        names.group(group);
    }
    for device in &mut node.devices {
        names.replace(NameKind::Device, device);
    }
    for shared in &mut node.shared {
        names.text(&mut shared.what);
        names.text(&mut shared.why);
    }
}

/// The version of a kernel without the name of its build: `6.1.0` of `6.1.0-acme-amd64`.
fn version(kernel: &str) -> String {
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    kernel.chars().take_while(|c| is_version(*c)).collect()
}
