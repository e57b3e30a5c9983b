//! Ctrl-C and its like are the command's: they end it, and capture after it.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::{Signal, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;

/// Signals caught while it lives.
pub(crate) struct Signals(SignalDelivery<UnixStream, WithOrigin>);

impl Signals {
    pub(crate) fn catch() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        // What we were started to ignore (nohup, a background job) stays ignored, for the command
        // too.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
        let wanted = wanted.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
        SignalDelivery::with_pipe(read, write, WithOrigin::default(), wanted).map(Self)
    }

    /// Readable when signals have come.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }

    /// Passes on what has come. What the terminal sent, it has sent to the command as well.
    pub(crate) fn forward(&mut self, process: BorrowedFd<'_>) {
        for origin in self.0.pending() {
            if let (false, Some(signal)) =
                (matches!(origin.cause, Cause::Kernel), Signal::from_named_raw(origin.signal))
            {
                // It fails only where the command has ended.
                let _ = pidfd_send_signal(process, signal);
            }
        }
    }
}

/// The set of ignored signals, from /proc/self/status.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ignored_signals() {
        assert_eq!(super::ignored("SigBlk:\t1\nSigIgn:\t0000000000001001\nSigCgt:\t2\n"), 0x1001);
        assert_eq!(super::ignored(""), 0);
    }
}
