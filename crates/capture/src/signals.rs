//! Forwards signals to the command. Ctrl-C ends the command, and then the capture.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::{Signal, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;

/// Catches signals while the value lives.
pub(crate) struct Signals(SignalDelivery<UnixStream, WithOrigin>);

impl Signals {
    pub(crate) fn catch() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        // Signals that this process was started to ignore (by `nohup`, or in the background) stay
        // ignored, also in the command.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
        let wanted = wanted.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
        SignalDelivery::with_pipe(read, write, WithOrigin::default(), wanted).map(Self)
    }

    /// A descriptor that becomes readable when a signal has arrived.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }

    /// Forwards the signals that have arrived, except those from the terminal, which has sent them
    /// to the command as well.
    pub(crate) fn forward(&mut self, process: BorrowedFd<'_>) {
        for origin in self.0.pending() {
            if let (false, Some(signal)) =
                (matches!(origin.cause, Cause::Kernel), Signal::from_named_raw(origin.signal))
            {
                // Fails only if the command has ended.
                let _ = pidfd_send_signal(process, signal);
            }
        }
    }
}

/// The mask of ignored signals in `/proc/self/status`.
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
