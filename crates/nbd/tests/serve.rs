//! Tests of the server: every command works, clients do not harm each other, limits and stops.
#![allow(clippy::unwrap_used)]

mod common;

use common::{
    BLOCK_STATUS, CACHE, Client, DISC, FAST_ZERO, FLUSH, FUA, Faulty, Gate, Late, MemoryExport,
    NO_HOLE, READ, REQ_ONE, Served, TRIM, WRITE, WRITE_ZEROES, connect, listen, memory,
    option_bytes, request, serve, serve_options, serve_with, string, until,
};
use gordon_nbd::{
    ClientEvent, Command, ConnectionLimits, Export, ExportInfo, Listen, MAX_EXTENTS, NamedExport,
    NbdError, Op, Server, ServerOptions,
};
use gordon_testkit::watchdog;
use gordon_units::Bytes;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn late(size: u64) -> Late {
    Late::new(memory(size), Duration::from_millis(5))
}

/// Sends every command to an export of 16 MiB, and checks the replies.
fn every_command(served: &Served, structured: bool) {
    let mut client = Client::go(served.stream(), "", structured);
    let (hole, data) = (3, 0);
    assert_eq!(client.read(12_345, 100), Ok(vec![0; 100]));
    assert_eq!(client.write(65_536 - 3, b"abcdef"), Ok(()));
    assert_eq!(client.read(65_536 - 4, 8), Ok(b"\0abcdef\0".to_vec()));
    let length = 4 << 20;
    let large: Vec<u8> = (0..length).map(|at: u32| (at % 241) as u8).collect();
    let cookie = client.send(WRITE, FUA, 0, length, &large);
    assert_eq!(client.answer().unwrap(), (cookie, Ok(Vec::new())));
    assert_eq!(client.read(0, length), Ok(large));
    assert_eq!(client.ask(FLUSH, 0, 0, 0), Ok(Vec::new()));
    assert_eq!(client.ask(CACHE, 0, 0, 1 << 20), Ok(Vec::new()));
    assert_eq!(client.ask(TRIM, FUA, 0, 1 << 20), Ok(Vec::new()));
    assert_eq!(client.ask(WRITE_ZEROES, FAST_ZERO, 1 << 20, 65_536), Ok(Vec::new()));
    assert_eq!(client.ask(WRITE_ZEROES, NO_HOLE | FUA, 0, 65_536), Ok(Vec::new()));
    assert_eq!(client.ask(WRITE_ZEROES, NO_HOLE | FAST_ZERO, 0, 65_536), Err(95));
    assert_eq!(client.read(65_536, 2 << 20).unwrap()[..1 << 20], vec![0; 1 << 20]);
    if structured {
        let extents = [(65_536, data), (0xf_0000 + 65_536, hole), ((1 << 20) - 65_536, data)];
        assert_eq!(client.status(0, 0, 2 << 20).unwrap(), extents);
        assert_eq!(client.status(REQ_ONE, 512, 2 << 20).unwrap(), [(65_024, data)]);
        assert_eq!(client.status(0, 8 << 20, 1 << 20).unwrap(), [(1 << 20, hole)]);
    } else {
        assert_eq!(client.ask(BLOCK_STATUS, 0, 0, 512), Err(22));
    }
    // Errors leave the stream in order.
    let over = client.send(WRITE, 0, 16 * MIB - 1, 5, b"hello");
    assert_eq!(client.answer().unwrap(), (over, Err(28)));
    assert_eq!(client.ask(TRIM, 0, 16 * MIB, 1), Err(22));
    assert_eq!(client.ask(99, 0, 0, 0), Err(22));
    assert_eq!(client.ask(READ, 64, 0, 1), Err(22));
    assert_eq!(client.read(0, u32::MAX), Err(22));
    // Replies of many requests in flight may be out of order. A disconnect waits for all of them.
    let cookies: Vec<_> =
        (0u32..100).map(|at| client.send(READ, 0, u64::from(at) * 100, 100, &[])).collect();
    client.stream.write_all(&request(DISC, 0, 0, 0, 0)).unwrap();
    let mut answered: Vec<_> = (0..100).map(|_| client.answer().unwrap().0).collect();
    answered.sort_unstable();
    assert_eq!(answered, cookies);
    assert!(client.is_over());
}

#[test]
fn every_command_works() {
    for structured in [false, true] {
        every_command(&serve(memory(16 * MIB)), structured);
        every_command(&serve(late(16 * MIB)), structured);
    }
}

#[test]
fn clients_read_a_long_list_of_extents_in_parts() {
    let served = serve(memory(256 * MIB));
    let mut client = served.client();
    for chunk in 0..1100 {
        client.write(chunk * 2 * 65_536, b"x").unwrap();
    }
    let (mut at, mut extents) = (0, Vec::new());
    while at < 256 * MIB {
        let left = u32::try_from(256 * MIB - at).unwrap();
        let part = client.status(0, at, left).unwrap();
        assert!(part.len() <= MAX_EXTENTS);
        at += part.iter().map(|(length, _)| u64::from(*length)).sum::<u64>();
        extents.extend(part);
    }
    assert_eq!((at, extents.len()), (256 * MIB, 2200));
    assert!(extents.iter().zip([0, 3].iter().cycle()).all(|((_, is), flags)| is == flags));
}

#[test]
fn clients_see_the_errors_of_the_export() {
    for structured in [false, true] {
        let served = serve(Faulty);
        let mut client = Client::go(served.stream(), "", structured);
        for _ in 0..3 {
            assert_eq!(client.read(0, 512), Err(5));
            assert_eq!(client.read(4096, 512), Err(5), "a request that is dropped");
            assert_eq!(client.write(0, b"x"), Err(5));
            assert_eq!(client.write(8192, b"x"), Err(28));
            assert_eq!(client.ask(TRIM, 0, 0, 512), Err(28));
            assert_eq!(client.ask(FLUSH, 0, 0, 0), Ok(Vec::new()));
            if structured {
                assert_eq!(client.status(0, 0, 512), Err(5), "no extents");
            }
        }
    }
}

#[test]
fn clients_can_list_and_select_exports_by_name() {
    let named = |name: &str, size, read_only| NamedExport {
        name: name.into(),
        description: "words".into(),
        export: Arc::new(memory(size)),
        read_only,
    };
    let mut options = ServerOptions::new(Arc::new(memory(MIB)));
    options.exports = vec![named("a", MIB, false), named("b", 2 * MIB, true)];
    let served = serve_options(options);
    let mut client = Client::greet(served.stream());
    assert_eq!(client.option(3, &[]).unwrap().len(), 2);
    assert_eq!(client.option(7, &[string("c"), vec![0, 0]].concat()), Err(6));
    assert_eq!(client.option(99, b"?"), Err(1));
    client.choose("b", true);
    assert_eq!(client.read(2 * MIB - 1, 1), Ok(vec![0]));
    assert_eq!(client.write(0, b"x"), Err(1));
    assert_eq!(client.ask(TRIM, 0, 0, 1), Err(1));
    assert_eq!(client.ask(WRITE_ZEROES, 0, 0, 1), Err(1));
    assert_eq!(client.ask(FLUSH, FUA, 0, 0), Ok(Vec::new()));

    // EXPORT_NAME, the old option, selects an export without INFO replies.
    let mut old = served.stream();
    old.write_all(&1u32.to_be_bytes()).unwrap();
    old.write_all(&option_bytes(1, b"")).unwrap();
    let mut said = [0; 18 + 134];
    old.read_exact(&mut said).unwrap();
    assert_eq!(said[18..26], MIB.to_be_bytes());
}

#[test]
fn requests_must_keep_to_the_block_sizes() {
    let info =
        ExportInfo { minimum: Bytes(4096), maximum: Bytes(65_536), ..ExportInfo::new(Bytes(MIB)) };
    let served = serve(MemoryExport::new(info));
    let mut client = served.client();
    assert_eq!(client.read(4096, 4096), Ok(vec![0; 4096]));
    assert_eq!(client.read(512, 4096), Err(22));
    assert_eq!(client.read(0, 65_536 + 4096), Err(75));
    let data = vec![1; 65_536 + 4096];
    assert_eq!(client.write(0, &data), Err(22));
    assert_eq!(client.write(0, &data[4096..]), Ok(()));
    for wrong in [
        ExportInfo { minimum: Bytes(1000), ..info },
        ExportInfo { minimum: Bytes(1 << 17), ..info },
        ExportInfo { preferred: Bytes(2048), ..info },
        ExportInfo { maximum: Bytes(2048), ..info },
        ExportInfo { maximum: Bytes(1 << 30), ..info },
        ExportInfo { size: Bytes(1000), ..info },
    ] {
        let options = ServerOptions::new(Arc::new(MemoryExport::new(wrong)));
        assert!(matches!(Server::start(options), Err(NbdError::Export { .. })), "{wrong:?}");
    }
}

#[test]
fn many_clients_at_once() {
    for slow in [false, true] {
        let served = if slow { serve(late(16 * MIB)) } else { serve(memory(16 * MIB)) };
        thread::scope(|scope| {
            for number in 0..24u64 {
                let mut client = served.client();
                scope.spawn(move || {
                    let base = number * 512 * 1024;
                    for round in 0..20u64 {
                        let byte = u8::try_from(number * 7 + round).unwrap_or(255);
                        let at = base + round * 20_000;
                        assert_eq!(client.write(at, &vec![byte; 20_000]), Ok(()));
                        assert_eq!(client.read(at, 20_000), Ok(vec![byte; 20_000]));
                    }
                    client.stream.write_all(&request(DISC, 0, 0, 0, 0)).unwrap();
                });
            }
        });
        served.await_clients(0);
    }
}

#[test]
fn one_connection_sees_what_another_wrote() {
    let served = serve(memory(MIB));
    let (mut one, mut other) = (served.client(), served.client());
    one.write(10, b"words").unwrap();
    assert_eq!(other.read(10, 5), Ok(b"words".to_vec()));
    drop(one);
    drop(other);
    served.await_clients(0);
    assert_eq!(served.client().read(10, 5), Ok(b"words".to_vec()), "reconnected");
}

#[test]
fn requests_may_come_in_any_pieces() {
    let served = serve(memory(MIB));
    let mut client = served.client();
    let mut bytes = request(WRITE, 0, 7, 100, 10);
    bytes.extend(b"0123456789");
    bytes.extend(request(READ, 0, 8, 100, 10));
    for byte in bytes {
        client.stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(client.answer().unwrap(), (7, Ok(Vec::new())));
    assert_eq!(client.answer().unwrap(), (8, Ok(b"0123456789".to_vec())));
}

/// A time limit that no test reaches.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// A client that requests 40 MiB in one message and receives no reply.
fn slow(served: &Served) -> Client<UnixStream> {
    let mut client = served.client();
    client.stream.write_all(&request(READ, 0, 1, 0, 2 << 20).repeat(20)).unwrap();
    client
}

#[test]
fn a_client_that_does_not_read_waits_alone() {
    let _watchdog = watchdog("a_client_that_does_not_read_waits_alone");
    let limits = |stall| ConnectionLimits { stall, ..ConnectionLimits::default() };
    let served = serve_with(memory(64 * MIB), limits(NEVER));
    let _slow = slow(&served);
    let mut other = served.client();
    for _ in 0..100 {
        assert_eq!(other.read(0, 65_536), Ok(vec![0; 65_536]));
    }
    assert_eq!(served.clients(), 2, "no client was disconnected");

    // A stalled client that uses shared memory is disconnected.
    let served = serve_with(memory(64 * MIB), limits(Duration::from_millis(300)));
    let _slow = slow(&served);
    served.await_clients(0);

    // A slow client that uses only its reserve is not.
    let mut modest = served.client();
    modest.stream.write_all(&request(WRITE, 0, 1, 0, 4096)).unwrap();
    thread::sleep(Duration::from_millis(2500));
    modest.stream.write_all(&[3; 4096]).unwrap();
    assert_eq!(modest.answer().unwrap(), (1, Ok(Vec::new())));
}

#[test]
fn clients_that_hoard_memory_slow_only_large_requests() {
    let _watchdog = watchdog("clients_that_hoard_memory_slow_only_large_requests");
    let limits = |stall| ConnectionLimits {
        bytes: Bytes(32 * MIB),
        share: Bytes(64 * MIB),
        stall,
        ..ConnectionLimits::default()
    };
    // Announces a write of 32 MiB and sends none of its payload.
    let hoarder = |served: &Served| {
        let mut client = served.client();
        client.stream.write_all(&request(WRITE, 0, 1, 0, 32 << 20)).unwrap();
        client
    };
    let served = serve_with(memory(64 * MIB), limits(NEVER));
    let hoarders: Vec<_> = (0..4).map(|_| hoarder(&served)).collect();
    let mut other = served.client();
    for at in 0..100 {
        assert_eq!(other.write(at * 4096, &[1; 4096]), Ok(()), "small requests have their reserve");
    }
    assert_eq!(served.clients(), 5, "no client was disconnected");
    let large = other.send(READ, 0, 0, 32 << 20, &[]);
    drop(hoarders);
    let (cookie, data) = other.answer().unwrap();
    assert_eq!((cookie, data.map(|data| data.len())), (large, Ok(32 << 20)), "large ones wait");

    let served = serve_with(memory(64 * MIB), limits(Duration::from_millis(300)));
    let _hoarder = hoarder(&served);
    served.await_clients(0);
}

#[test]
fn clients_with_invalid_input_are_disconnected_or_refused() {
    let served = serve(memory(MIB));
    let mut web = served.stream();
    web.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut said = Vec::new();
    web.read_to_end(&mut said).unwrap();
    assert_eq!(said.len(), 18, "only the greeting");

    let mut client = served.client();
    client.stream.write_all(&[0xaa; 1000]).unwrap();
    assert!(client.is_over());

    // The payload of a refused write is skipped, not kept in memory.
    let mut client = served.client();
    client.stream.write_all(&request(WRITE, 0, 9, 0, 100 << 20)).unwrap();
    for _ in 0..100 {
        client.stream.write_all(&vec![0; 1 << 20]).unwrap();
    }
    assert_eq!(client.answer().unwrap(), (9, Err(28)));
    assert_eq!(client.read(0, 1), Ok(vec![0]));

    // Replies to refused requests that the client does not read do not accumulate in the server.
    let mut client = served.client();
    client.stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let bad = request(99, 0, 0, 0, 0).repeat(10_000);
    assert!((0..1000).any(|_| client.stream.write_all(&bad).is_err()), "it has to wait");
}

/// Serves an export and records the events of clients.
fn observed(
    export: impl Export + 'static,
    limits: ConnectionLimits,
) -> (Served, Arc<Mutex<Vec<ClientEvent>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let mut options = ServerOptions::new(Arc::new(export));
    options.on_event = Some(Box::new(move |event| seen.lock().unwrap().push(event.clone())));
    options.limits = limits;
    (serve_options(options), events)
}

#[test]
fn further_clients_are_refused_at_the_limit() {
    let limits =
        ConnectionLimits { connections: 3, handshake: NEVER, ..ConnectionLimits::default() };
    let (served, events) = observed(memory(MIB), limits);
    let mut client = served.client();
    let (silent, _other) = (served.stream(), served.stream());
    served.await_clients(3);
    let mut said = Vec::new();
    served.stream().read_to_end(&mut said).unwrap();
    assert!(said.is_empty(), "the fourth client is disconnected");
    let refused = |event: &ClientEvent| matches!(event, ClientEvent::Refused { .. });
    assert!(events.lock().unwrap().iter().any(refused));
    assert_eq!(client.read(0, 1), Ok(vec![0]));
    drop(silent);
    served.await_clients(2);
    assert_eq!(served.client().read(0, 1), Ok(vec![0]));
}

#[test]
fn a_slow_handshake_is_disconnected() {
    let _watchdog = watchdog("a_slow_handshake_is_disconnected");
    let handshake = Duration::from_millis(300);
    let (served, events) =
        observed(memory(MIB), ConnectionLimits { handshake, ..ConnectionLimits::default() });
    // On a slow machine the time may be too short even for a correct client: try again.
    let mut client = loop {
        if let Ok(client) = Client::hurry(served.stream()) {
            break client;
        }
    };
    let (mut silent, mut drip) = (served.stream(), served.stream());
    for byte in [0u8; 4].into_iter().chain(*b"IHAVEOPT").cycle() {
        if drip.write_all(&[byte]).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    silent.read_to_end(&mut Vec::new()).unwrap();
    served.await_clients(1);
    thread::sleep(2 * handshake);
    assert_eq!(client.read(0, 1), Ok(vec![0]), "the limit ends with the handshake");
    let events = events.lock().unwrap();
    let late = "the handshake took too long";
    assert!(
        events
            .iter()
            .any(|event| matches!(event, ClientEvent::Disconnected { why, .. } if why == late))
    );
}

#[test]
fn a_stop_finishes_requests_in_flight() {
    let _watchdog = watchdog("a_stop_finishes_requests_in_flight");
    let gate =
        Arc::new(Gate::new(memory(MIB), |op| matches!(op, Op::Command(Command::Write { .. }))));
    let mut options = ServerOptions::new(Arc::clone(&gate) as _);
    options.limits.grace = NEVER;
    let mut served = serve_options(options);
    let mut idle = served.client();
    let mut busy = served.client();
    let half = Client::greet(served.stream());
    let cookies: Vec<_> = (0..10).map(|at| busy.send(WRITE, 0, at * 8, 8, b"whatever")).collect();
    gate.await_kept(10);
    let stopped = thread::scope(|scope| {
        let stopper = scope.spawn(|| served.stop());
        assert!(idle.is_over());
        // The connection accepts requests until it notices the stop.
        while busy.read(0, 8) != Err(108) {}
        gate.open();
        let mut answers: Vec<_> = (0..10).map(|_| busy.answer().unwrap()).collect();
        answers.sort_by_key(|(cookie, _)| *cookie);
        for (answer, cookie) in answers.iter().zip(cookies) {
            assert_eq!(*answer, (cookie, Ok(Vec::new())));
        }
        stopper.join().unwrap()
    });
    assert_eq!(stopped, 0);
    assert!(busy.is_over());
    drop(half);
    assert!(!served.socket.exists());
}

#[test]
fn a_stop_disconnects_stalled_clients() {
    let _watchdog = watchdog("a_stop_disconnects_stalled_clients");
    let limits =
        ConnectionLimits { grace: Duration::from_millis(400), ..ConnectionLimits::default() };
    let (mut served, events) = observed(memory(64 * MIB), limits);
    let _slow = slow(&served);
    let mut partial = served.client();
    partial.stream.write_all(&request(WRITE, 0, 1, 0, 4096)[..20]).unwrap();
    served.stop();
    // A slow machine may need longer than the grace period to disconnect them.
    let gone = |event: &&ClientEvent| matches!(event, ClientEvent::Disconnected { .. });
    until("both clients end", || events.lock().unwrap().iter().filter(gone).count() == 2);
}

#[test]
fn a_stop_under_load_loses_no_acknowledged_write() {
    let memory = Arc::new(memory(16 * MIB));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let start = || {
        let mut options = ServerOptions::new(Arc::clone(&memory) as _);
        options.limits.grace = NEVER;
        listen(options, &socket).unwrap()
    };
    let server = start();
    let counts: [AtomicU64; 4] = Default::default();
    thread::scope(|scope| {
        for (number, count) in (0u64..).zip(&counts) {
            let mut client = Client::go(connect(&socket), "", true);
            scope.spawn(move || {
                loop {
                    let next = count.load(Ordering::Relaxed);
                    let at = number * 4 * MIB + (next % 1000) * 4096;
                    let head = request(WRITE, 0, next, at, 4096);
                    let data = next.to_be_bytes().repeat(512);
                    let sent = client.stream.write_all(&[head, data].concat());
                    match sent.and_then(|()| client.answer()) {
                        Ok((_, Ok(_))) => count.store(next + 1, Ordering::Relaxed),
                        _ => return,
                    }
                }
            });
        }
        until("all write", || counts.iter().all(|count| count.load(Ordering::Relaxed) > 100));
        assert_eq!(server.stop(), 0);
    });
    let server = start();
    let mut client = Client::go(connect(&socket), "", true);
    for (count, base) in counts.iter().zip([0, 4, 8, 12]) {
        let last = count.load(Ordering::Relaxed) - 1;
        let data = client.read(base * MIB + (last % 1000) * 4096, 4096).unwrap();
        assert_eq!(data, last.to_be_bytes().repeat(512));
    }
    drop(server);
}

#[test]
fn a_disconnected_client_counts_until_its_requests_complete() {
    let limits = ConnectionLimits { connections: 2, ..ConnectionLimits::default() };
    let gate = Arc::new(Gate::new(memory(64 * MIB), |_| true));
    let mut options = ServerOptions::new(Arc::clone(&gate) as _);
    options.limits = limits;
    let served = serve_options(options);
    for _ in 0..2 {
        let mut client = served.client();
        client.send(READ, 0, 0, 8 << 20, &[]);
        client.send(WRITE, 0, 0, 100, &[5; 100]);
        client.stream.write_all(&[1; 28]).unwrap();
        client.stream.read_to_end(&mut Vec::new()).unwrap();
    }
    assert_eq!(served.clients(), 2, "requests of both are in flight");
    gate.open();
    served.await_clients(0);
    assert_eq!(served.client().read(0, 100), Ok(vec![5; 100]));
}

#[test]
fn limits_that_are_too_low_are_refused() {
    for limits in [
        ConnectionLimits { requests: 0, ..ConnectionLimits::default() },
        ConnectionLimits { connections: 0, ..ConnectionLimits::default() },
        ConnectionLimits { bytes: Bytes(MIB), ..ConnectionLimits::default() },
        ConnectionLimits { share: Bytes(MIB), ..ConnectionLimits::default() },
    ] {
        let mut options = ServerOptions::new(Arc::new(memory(MIB)));
        options.limits = limits;
        assert!(matches!(Server::start(options), Err(NbdError::Limits(_))));
    }
}

#[test]
fn the_tightest_limits_still_serve() {
    let info = ExportInfo { maximum: Bytes(70_000), ..ExportInfo::new(Bytes(MIB)) };
    let limits = ConnectionLimits {
        requests: 1,
        bytes: Bytes(70_000),
        reserve: Bytes(0),
        share: Bytes(70_000),
        ..ConnectionLimits::default()
    };
    let served = serve_with(MemoryExport::new(info), limits);
    let (mut one, mut other) = (served.client(), served.client());
    // A connection that needs memory gets it when the other frees its idle buffers, after a second
    // at the latest.
    for _ in 0..3 {
        assert_eq!(one.write(0, &[1; 70_000]), Ok(()));
        assert_eq!(other.read(0, 70_000), Ok(vec![1; 70_000]));
        assert_eq!(other.read(0, 7), Ok(vec![1; 7]));
        let cookies: Vec<_> = (0..50).map(|at| one.send(READ, 0, at, 1000, &[])).collect();
        let answered: Vec<_> = (0..50).map(|_| one.answer().unwrap().0).collect();
        assert_eq!(cookies, answered);
    }
}

#[test]
fn a_half_closed_client_gets_its_replies() {
    let served = serve(late(MIB));
    let mut client = served.client();
    let cookie = client.send(READ, 0, 0, 100, &[]);
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer().unwrap(), (cookie, Ok(vec![0; 100])));
    assert!(client.is_over());
    // A client that vanishes with requests in flight does no harm.
    let mut client = served.client();
    client.send(READ, 0, 0, 100, &[]);
    drop(client);
    served.await_clients(0);
}

#[test]
fn only_a_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let start = || listen(ServerOptions::new(Arc::new(memory(MIB))), &path);
    let first = start().unwrap();
    assert!(matches!(start(), Err(NbdError::Exists(_))), "in use");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the owner can use it");
    drop(first);
    assert!(!path.exists());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(start().expect("a stale socket is replaced"));
    std::fs::write(&path, "data").unwrap();
    assert!(matches!(start(), Err(NbdError::Exists(_))), "not a socket");
    assert_eq!(std::fs::read(&path).unwrap(), b"data");
}

#[test]
fn tcp_addresses_beyond_this_machine_need_insecure() {
    let start = |address: &str, insecure| {
        let mut options = ServerOptions::new(Arc::new(memory(MIB)));
        options.listen.push(Listen::Tcp { address: address.parse().unwrap(), insecure });
        Server::start(options)
    };
    assert!(matches!(start("0.0.0.0:0", false), Err(NbdError::Beyond(_))));
    drop(start("0.0.0.0:0", true).unwrap());
    let server = start("127.0.0.1:0", false).unwrap();
    let Listen::Tcp { address, .. } = server.listening()[0] else { panic!("no port") };
    let taken = start(&address.to_string(), false);
    assert!(matches!(taken, Err(NbdError::Listen { .. })));
    let mut client = Client::go(TcpStream::connect(address).unwrap(), "", true);
    client.write(1, b"over TCP").unwrap();
    assert_eq!(client.read(1, 8), Ok(b"over TCP".to_vec()));
}
