//! A minimal server: volatile memory, served at a Unix socket.
//!
//! `cargo run --release -p gordon-nbd --example memory -- SOCKET [SIZE]`, then
//! `nbdinfo 'nbd+unix:///?socket=SOCKET'`. It serves until its standard input ends.
#![allow(clippy::print_stdout)]

mod memory_export;

use gordon_nbd::{ExportInfo, Listen, Server, ServerOptions};
use memory_export::MemoryExport;
use std::io::Read;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let socket = words.next().ok_or("usage: memory SOCKET [SIZE]")?;
    let size = words.next().as_deref().unwrap_or("1GiB").parse()?;
    let mut options = ServerOptions::new(Arc::new(MemoryExport::new(ExportInfo::new(size))));
    options.listen.push(Listen::Unix(socket.into()));
    let server = Server::start(options)?;
    println!("{}", server.uris()[0]);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
