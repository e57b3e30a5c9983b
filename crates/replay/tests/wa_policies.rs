//! Every policy of garbage collection compared with theory, on arrays that are small enough for a
//! debug build; `examples/wa_table` uses 2048 blocks.
#![allow(clippy::unwrap_used, missing_docs)]

use gordon_ftl::VictimPolicy;
use gordon_replay::wa::{HotCold, WaConfig, write_amplification};
use gordon_units::Progress;

fn config(policy: VictimPolicy, rho: f64) -> WaConfig {
    WaConfig {
        policy,
        choices: None,
        rho,
        pages_per_block: 32,
        blocks: 128,
        seed: 1,
        separate: false,
        hot_cold: None,
    }
}

/// Relative difference of the measured write amplification from theory.
fn off(config: &WaConfig) -> f64 {
    let report = write_amplification(config, &Progress::default()).unwrap();
    assert!(report.converged, "{config:?}");
    report.write_amplification / report.theory.unwrap() - 1.0
}

#[test]
fn each_policy_matches_theory() {
    // With so few blocks, one more open or free block is 1 % of write amplification at rho = 0.8. A
    // fully valid block must be collected like any other: without it, random collection would be 14
    // % low at rho = 0.8, and FIFO would stop at the first such block. Small blocks are often fully
    // valid.
    let small = WaConfig { pages_per_block: 8, blocks: 512, ..config(VictimPolicy::Fifo, 0.9) };
    assert!(off(&small).abs() < 0.025, "{}", off(&small));
    for policy in
        [VictimPolicy::Fifo, VictimPolicy::Greedy, VictimPolicy::Random, VictimPolicy::DChoices]
    {
        for rho in [0.7, 0.8] {
            let off = off(&config(policy, rho));
            assert!(off.abs() < 0.025, "{policy:?}, rho {rho}: {off}");
        }
    }
    // Ten choices are nearly greedy.
    let ten = WaConfig { choices: Some(10), ..config(VictimPolicy::DChoices, 0.8) };
    assert!(off(&ten).abs() < 0.015, "{}", off(&ten));
}

#[test]
fn cost_benefit_is_between_greedy_and_fifo_and_gains_from_separation() {
    let wa = |config: &WaConfig| {
        write_amplification(config, &Progress::default()).unwrap().write_amplification
    };
    let [greedy, costs, fifo] =
        [VictimPolicy::Greedy, VictimPolicy::CostBenefit, VictimPolicy::Fifo]
            .map(|policy| wa(&config(policy, 0.8)));
    assert!(greedy < costs && costs < fifo, "{greedy} {costs} {fifo}");
    // 90 % of the writes go to 10 % of the pages.
    let hot = |policy, separate| {
        let hot_cold = Some(HotCold { space: 0.1, share: 0.9 });
        wa(&WaConfig { separate, hot_cold, ..config(policy, 0.9) })
    };
    let (mixed, apart) = (hot(VictimPolicy::Greedy, false), hot(VictimPolicy::CostBenefit, true));
    // 5.86 and 3.18 at 2048 blocks of 64 pages.
    assert!((5.0..6.2).contains(&mixed) && (2.9..3.6).contains(&apart), "{mixed} {apart}");
}
