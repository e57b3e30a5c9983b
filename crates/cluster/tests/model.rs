//! The arithmetic of the model, compared with results computed by hand.

mod common;

use common::{design, parts};
use gordon_blockio::Usage;
use gordon_cluster::ClusterError;
use gordon_cluster::model::paper::simulate::{Node, SampleCost, simulate, spread};
use gordon_cluster::space::config::{Design, MemoryPer, NodeCommon};
use gordon_cluster::space::node::{
    BusyTimes, MachinePower, NodePower, PartPower, StoragePower, cpu_power,
};
use gordon_cluster::trace::demand::Demand;
use gordon_units::{Hertz, Ns, Watts};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-9), "{a} is not {b}");
}

fn atom_with_a_disk() -> Design {
    design("atom", "1.9GHz", 1, "sata-7200-1tb", 1)
}

/// The power of a node whose power supply and the like multiply it by `ratio`.
fn power_of(design: &Design, ratio: f64) -> NodePower {
    NodePower::new(design, &common::node(), ratio, &parts(1.0)).expect("a design that is possible")
}

#[test]
fn voltage_and_power_scale_with_the_clock() {
    let atom = &parts(1.0).cpu["atom"];
    let full = cpu_power(atom, Hertz(1.9e9));
    close(full.active.0, 2.4);
    close(full.idle.0, 0.16);
    // The clock is 0.8 of 1.9 GHz, the voltage 0.75 of 1.2 V, squared. Idle power is unchanged.
    let scale = 0.8 / 1.9 * 0.625 * 0.625;
    close(cpu_power(atom, Hertz(0.8e9)).active.0, 0.16 + 2.24 * scale);
    close(cpu_power(atom, Hertz(0.8e9)).idle.0, 0.16);
    // At half of the clock range the voltage is at half of its range: 0.975 V.
    let half = 1.35 / 1.9 * (0.975f64 / 1.2).powi(2);
    close(cpu_power(atom, Hertz(1.35e9)).active.0, 0.16 + 2.24 * half);
}

#[test]
fn the_power_of_a_flash_node_matches_table_3() {
    let parts = parts(1.0);
    let flash = design("atom", "1.9GHz", 1, "gordon-slc-256g", 1);
    let node = power_of(&flash, 1.0);
    // Atom, DRAM, 64 dies of 4 GB, controller and its SDRAM.
    close(node.max().0, 2.4 + 5.3 + 64.0 * 0.04 + 2.3 + 1.2);
    close(node.idle().0, 0.16 + 3.0 + 64.0 * 0.003 + 0.16 + 0.7);
    let two = design("atom", "1.9GHz", 1, "gordon-slc-256g", 2);
    let node = power_of(&two, 1.0);
    close(node.max().0, 2.4 + 5.3 + 2.0 * (64.0 * 0.04 + 2.3 + 1.2));
    close(node.idle().0, 0.16 + 3.0 + 2.0 * (64.0 * 0.003 + 0.16 + 0.7));
    let disk = design("core2", "2.4GHz", 4, "sata-7200-1tb", 2);
    let node = power_of(&disk, 1.25);
    close(node.max().0, 1.25 * (4.0 * (20.8 + 5.3) + 2.0 * 17.0));
    close(node.idle().0, 1.25 * (4.0 * (12.0 + 3.0) + 2.0 * 9.0));
    let shared = NodeCommon { memory_per: MemoryPer::Node.into(), ..common::node() };
    let node = NodePower::new(&disk, &shared, 1.25, &parts).unwrap();
    close(node.max().0, 1.25 * (4.0 * 20.8 + 5.3 + 2.0 * 17.0));
}

#[test]
fn energy_is_idle_energy_plus_activity() {
    let disk = design("core2", "2.4GHz", 2, "sata-7200-1tb", 1);
    let node = power_of(&disk, 1.5);
    let storage = Usage { read: Ns::SECOND * 3, write: Ns::SECOND * 2, controller: Ns::ZERO };
    let energy = node.energy(10.0, &BusyTimes { cpu: 8.0, memory: 4.0, storage });
    close(energy.cpu.0, 2.0 * 12.0 * 10.0 + 8.8 * 8.0);
    close(energy.memory.0, 2.0 * 3.0 * 10.0 + 2.3 * 4.0);
    close(energy.storage.0, 9.0 * 10.0 + 4.0 * 3.0 + 8.0 * 2.0);
    close(energy.overhead.0, 0.5 * (energy.cpu.0 + energy.memory.0 + energy.storage.0));
    close(energy.total().0, energy.parts().iter().map(|(_, j)| j.0).sum());
    // Memory cannot be busy for longer than the available time.
    let swamped = node.energy(10.0, &BusyTimes { memory: 99.0, ..BusyTimes::default() });
    close(swamped.memory.0, 2.0 * 53.0);
}

#[test]
fn a_machine_of_the_same_parts_draws_the_same_as_a_node() {
    let parts = parts(1.0);
    let disk = design("core2", "2.4GHz", 2, "sata-7200-1tb", 3);
    let node = NodePower::new(&disk, &common::node(), 1.5, &parts).unwrap();
    let watts = |count, idle, active: &[f64]| PartPower {
        count,
        idle: Watts(idle),
        active: active.iter().copied().map(Watts).collect(),
    };
    let machine = MachinePower {
        parts: vec![
            watts(2.0, 12.0, &[20.8]),
            watts(2.0, 3.0, &[5.3]),
            watts(3.0, 9.0, &[13.0, 17.0]),
        ],
        overhead_ratio: 1.5,
        supply: None,
    };
    let sum = |values: Vec<Watts>| values.iter().map(|watts| watts.0).sum();
    close(node.idle().0, sum(machine.idle()));
    close(node.max().0, sum(machine.max()));
    let storage = Usage { read: Ns::SECOND * 3, write: Ns::SECOND * 2, controller: Ns::ZERO };
    let energy = node.energy(10.0, &BusyTimes { cpu: 8.0, memory: 99.0, storage });
    let same = machine.energy(10.0, &[vec![8.0], vec![99.0], vec![3.0, 2.0]]);
    let nodes = [energy.cpu, energy.memory, energy.storage, energy.overhead];
    assert_eq!(same.len(), nodes.len());
    for (a, b) in same.iter().zip(nodes) {
        close(a.0, b.0);
    }
    // Parts without busy seconds are idle.
    close(machine.energy(10.0, &[])[2].0, 3.0 * 9.0 * 10.0);
}

#[test]
fn work_beyond_the_available_time_is_shortened_to_it() {
    let disk = PartPower { count: 1.0, idle: Watts(9.0), active: vec![Watts(13.0), Watts(17.0)] };
    let machine = MachinePower { parts: vec![disk], overhead_ratio: 1.0, supply: None };
    // 30 s of reads and 10 s of writes in 10 s: three quarters of the time are reads.
    close(machine.energy(10.0, &[vec![30.0, 10.0]])[0].0, 7.5 * 13.0 + 2.5 * 17.0);
}

#[test]
fn the_levels_of_a_storage_part_include_all_of_its_parts() {
    let parts = parts(1.0);
    let flash = StoragePower::new("gordon-slc-256g", 2, &parts).unwrap().levels();
    close(flash.idle.0, 2.0 * (64.0 * 0.003 + 0.16 + 0.7));
    close(flash.read.0, 2.0 * (64.0 * 0.04 + 2.3 + 1.2));
    close(flash.write.0, flash.read.0);
    let disk = StoragePower::new("sata-7200-1tb", 1, &parts).unwrap().levels();
    close(disk.idle.0, 9.0);
    close(disk.read.0, 13.0);
    close(disk.write.0, 17.0);
}

#[test]
fn a_sample_demands_time_of_each_part() {
    let parts = parts(1.0);
    let demand = Demand { instructions: 1.9e9, llc_misses: 1e6, received: 1.25e8, sent: 5e7 };
    close(demand.cpu_secs(&parts.cpu["atom"], Hertz(1.9e9)), 2.0); // 0.5 instructions a cycle
    close(demand.cpu_secs(&parts.cpu["core2"], Hertz(2.4e9)), 1.9 / 3.6);
    close(demand.network_secs(&parts.network["ethernet-1gbps"]), 1.0); // the larger of both ways
}

/// The costs of two nodes with two samples each, in seconds of CPU and storage.
fn costs() -> Vec<Vec<SampleCost>> {
    let cost = |cpu, storage| SampleCost {
        cpu,
        storage,
        network: 0.0,
        busy: BusyTimes { cpu, ..BusyTimes::default() },
    };
    vec![vec![cost(1.0, 0.5), cost(1.0, 3.0)], vec![cost(2.0, 0.0), cost(1.0, 1.0)]]
}

#[test]
fn a_barrier_waits_for_the_slowest_node_in_each_sample() {
    let node = power_of(&atom_with_a_disk(), 1.0);
    let nodes = [Node { stream: 0, shift: 0 }, Node { stream: 1, shift: 0 }];
    let result = simulate(&costs(), &nodes, &node);
    // sync: max(1, 2) + max(3, 1); nosync: max(1 + 3, 2 + 1).
    close(result.sync.time, 5.0);
    close(result.nosync.time, 4.0);
    // Both nodes are on for 5 s with barriers, and for 4 and 3 s without; both use 5 s of CPU.
    let idle = node.idle().0;
    close(result.sync.energy.total().0, idle * 10.0 + 2.24 * 5.0);
    close(result.nosync.energy.total().0, idle * 7.0 + 2.24 * 5.0);
    // Of 7 node seconds, 1 + 2 are limited by the CPU, 3 by storage, and 1 by both.
    let share = |what: &str| result.limits[what] * 7.0;
    close(share("cpu"), 3.0);
    close(share("storage"), 3.0);
    close(share("cpu+storage"), 1.0);
}

#[test]
fn copies_are_shifted_evenly_over_the_trace() {
    let nodes = spread(&[60], 4, 1.0);
    assert_eq!(nodes.iter().map(|n| n.shift).collect::<Vec<_>>(), [0, 15, 30, 45]);
    let nodes = spread(&[10, 20], 3, 1.0);
    assert_eq!(nodes[0], Node { stream: 0, shift: 0 });
    assert_eq!(nodes[1], Node { stream: 1, shift: 0 });
    assert_eq!(nodes[2], Node { stream: 0, shift: 5 });
    let shifts = |share| spread(&[60], 4, share).iter().map(|n| n.shift).collect::<Vec<_>>();
    assert_eq!(shifts(0.05), [0, 0, 1, 2]);
    assert_eq!(shifts(0.0), [0; 4]);

    let power = power_of(&atom_with_a_disk(), 1.0);
    let in_step = [Node { stream: 0, shift: 0 }; 2];
    let shifted = [Node { stream: 0, shift: 0 }, Node { stream: 0, shift: 1 }];
    let (in_step, shifted) =
        (simulate(&costs(), &in_step, &power), simulate(&costs(), &shifted, &power));
    close(in_step.nosync.time, shifted.nosync.time);
    close(in_step.sync.time, 4.0);
    close(shifted.sync.time, 6.0);
}

#[test]
fn a_finished_node_draws_no_power() {
    let power = power_of(&atom_with_a_disk(), 1.0);
    let one = SampleCost { cpu: 1.0, ..SampleCost::default() };
    let streams = vec![vec![one], vec![one, one, one]];
    let nodes = [Node { stream: 0, shift: 0 }, Node { stream: 1, shift: 0 }];
    let result = simulate(&streams, &nodes, &power);
    close(result.sync.time, 3.0);
    close(result.sync.energy.total().0, power.idle().0 * 4.0);
}

#[test]
fn impossible_designs_are_refused() {
    let parts = parts(1.0);
    let refuse = |d| match NodePower::new(&d, &common::node(), 1.0, &parts) {
        Err(ClusterError::Impossible { what, why }) => format!("{what}: {why}"),
        Err(other) => other.to_string(),
        Ok(_) => panic!("accepted"),
    };
    assert!(refuse(design("atom", "2.4GHz", 1, "gordon-slc-256g", 1)).contains("runs at 800MHz"));
    assert!(refuse(design("atom", "1.9GHz", 0, "gordon-slc-256g", 1)).contains("0 is not 1 to"));
    assert!(refuse(design("atom", "1.9GHz", 1, "gordon-slc-256g", 0)).contains("0 is not 1 to"));
    assert!(refuse(design("arm", "1GHz", 1, "gordon-slc-256g", 1)).contains("`atom`, `core2`"));
    assert!(refuse(design("atom", "1.9GHz", 1, "tape", 1)).contains("no storage part `tape`"));
}
