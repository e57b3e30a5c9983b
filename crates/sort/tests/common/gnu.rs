//! Runs GNU sort, with which results are compared.

use gordon_sort::LinesConfig;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

/// The output of GNU sort for these lines.
pub fn gnu(arguments: &[String], bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new("sort")
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sort runs");
    let mut input = child.stdin.take().expect("it is a pipe");
    let output = thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes).expect("it reads"));
        child.wait_with_output().expect("it ends")
    });
    assert!(output.status.success(), "sort {arguments:?} ends well");
    output.stdout
}

/// Whether `sort` is GNU sort, and version 9.2 or later. With that version, the options R and Q,
/// the order of NaN by sign, and names that start with a dot are again as they were before 9.1.
pub fn known() -> Option<bool> {
    static KNOWN: OnceLock<Option<bool>> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let output = Command::new("sort").arg("--version").output().ok()?;
        let is_gnu = String::from_utf8_lossy(&output.stdout).contains("GNU coreutils");
        is_gnu.then(|| gnu(&["-h".into()], b"1R\n9Y\n").starts_with(b"9Y"))
    })
}

/// The arguments of `sort` for this format.
pub fn arguments(config: &LinesConfig) -> Vec<String> {
    let keys = config.keys.iter().map(|key| format!("-k{key}"));
    let letters = config.options.chars().map(|letter| format!("-{letter}"));
    let separator = config.separator.iter().map(|separator| format!("-t{separator}"));
    let flags = [("-s", config.stable), ("-z", config.zero)];
    let flags = flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_string());
    keys.chain(letters).chain(separator).chain(flags).collect()
}
