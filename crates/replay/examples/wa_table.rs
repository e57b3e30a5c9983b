//! Write amplification of every policy compared with theory, as a page in Markdown.
//!
//!     cargo run --release -p gordon-replay --example wa_table [BLOCKS [SEED]] \
//!         > docs/design/write-amplification.md
//!
//! The translation layer itself is simulated ([`gordon_replay::wa`]), by default with 2048 blocks.
#![allow(clippy::print_stdout)]

use gordon_ftl::VictimPolicy;
use gordon_replay::wa::{HotCold, WaConfig, WaReport, theory, write_amplification};
use gordon_units::Progress;

const RHOS: [f64; 4] = [0.7, 0.8, 0.9, 0.95];

/// Published figures of another simulator for 2048 blocks; it has none for the other policies.
const SIMULATED: [(&str, [f64; 4]); 3] = [
    ("FIFO", [1.874, 2.689, 5.156, 10.09]),
    ("greedy, b = 64", [1.833, 2.596, 4.803, 8.792]),
    ("greedy, b = 256", [1.864, 2.665, 5.063, 9.718]),
];

fn simulate(config: &WaConfig) -> WaReport {
    let report = write_amplification(config, &Progress::default()).expect("a right config");
    assert!(report.converged, "no steady state: {config:?}");
    report
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().expect("a number"));
    let (blocks, seed) = (args.next().unwrap_or(2048), args.next().unwrap_or(1));
    let config = |policy, choices, pages_per_block, rho| WaConfig {
        policy,
        choices,
        rho,
        pages_per_block,
        blocks,
        seed: seed.into(),
        separate: false,
        hot_cold: None,
    };
    println!(
        "# Write amplification and theory\n\n\
         Printed by `cargo run --release -p gordon-replay --example wa_table`; do not edit. The \
         translation layer itself is simulated (`gordon flash wa`). rho is the number of logical \
         pages per page of the closed blocks, and b is the number of pages per block. One block is \
         open, one is free, and there is no summary page. The formulas are in \
         `crates/replay/src/wa/theory.rs`; there is none for cost-benefit. *Simulated elsewhere* \
         are published figures of another simulator. At rho 0.95, one block of 2048 more or less \
         changes the result by 1 %, which is about the difference between the two simulators.\n"
    );
    println!(
        "Uniform random writes, {blocks} blocks, seed {seed}. *Off* is the difference of \
     *ours* from the column before it.\n"
    );
    println!("| policy | rho | ours | theory | off | simulated elsewhere | off |");
    println!("|---|---|---|---|---|---|---|");
    for (name, policy, choices, pages) in [
        ("FIFO", VictimPolicy::Fifo, None, 64),
        ("greedy, b = 64", VictimPolicy::Greedy, None, 64),
        ("greedy, b = 256", VictimPolicy::Greedy, None, 256),
        ("random", VictimPolicy::Random, None, 64),
        ("2 choices, b = 64", VictimPolicy::DChoices, Some(2), 64),
        ("10 choices, b = 64", VictimPolicy::DChoices, Some(10), 64),
        ("cost-benefit, b = 64", VictimPolicy::CostBenefit, None, 64),
    ] {
        for (at, rho) in RHOS.into_iter().enumerate() {
            let report = simulate(&config(policy, choices, pages, rho));
            let ours = report.write_amplification;
            let compared = |other: Option<f64>| {
                other.map_or("| | ".into(), |other| {
                    format!("| {other:.3} | {:+.2} % ", (ours / other - 1.0) * 100.0)
                })
            };
            let published = SIMULATED.iter().find(|(other, _)| *other == name);
            let (theory, published) = (compared(report.theory), published.map(|(_, all)| all[at]));
            println!("| {name} | {rho} | {ours:.3} {theory}{}|", compared(published));
        }
    }

    let (rho, space, share) = (0.9, 0.1, 0.9);
    println!(
        "\n\
     Hot and cold pages: {share} of the writes are to {space} of the pages, rho {rho}, b = 64.\n"
    );
    println!("| | ours | known | off |\n|---|---|---|---|");
    for (name, policy, separate, known) in [
        ("greedy, all in one", VictimPolicy::Greedy, false, Some(5.86)),
        ("greedy, copies apart", VictimPolicy::Greedy, true, None),
        ("cost-benefit, all in one", VictimPolicy::CostBenefit, false, None),
        ("cost-benefit, copies apart", VictimPolicy::CostBenefit, true, Some(3.18)),
    ] {
        let hot_cold = Some(HotCold { space, share });
        let ours = simulate(&WaConfig { separate, hot_cold, ..config(policy, None, 64, rho) });
        let ours = ours.write_amplification;
        let known = known.map_or("| | ".into(), |known: f64| {
            format!("| {known:.2} | {:+.2} % ", (ours / known - 1.0) * 100.0)
        });
        println!("| {name} | {ours:.3} {known}|");
    }
    let split = theory::ideal_split(rho, space, share, |rho| theory::greedy(rho, 64.0));
    let known = 2.20;
    println!(
        "| an ideal split, by the formulas | {split:.3} | {known:.2} | {:+.2} % |",
        (split / known - 1.0) * 100.0
    );
}
