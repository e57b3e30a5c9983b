//! The Gordon paper's figures of flash chips and arrays next to simulated ones, as a Markdown
//! table.
//!
//!     cargo run --release -p gordon-ssd --example paper_flash
#![allow(clippy::print_stdout)]

mod figures;

use figures::{Figure, array, one_chip, table_1};

fn main() {
    println!("| what | | the paper | ours | where it comes from |\n|---|---|---|---|---|");
    let all = table_1().into_iter().chain(one_chip()).chain(array(20_000));
    for Figure { what, unit, paper, ours, why } in all {
        println!("| {what} | {unit} | {paper} | {ours:.1} | {why} |");
    }
}
