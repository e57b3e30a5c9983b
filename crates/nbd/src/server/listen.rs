//! Addresses, and the sockets that listen at them.

use super::error::NbdError;
use rustix::fs::{Mode, chmod};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// An address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket that only its owner can use. A stale socket at the path is replaced.
    Unix(PathBuf),
    /// A TCP port.
    Tcp {
        /// The address. Port 0 chooses a free port.
        address: SocketAddr,
        /// Allows an address that other machines can reach even if TLS is not required.
        insecure: bool,
    },
}

impl Listen {
    /// The address as a URI of this protocol, such as `nbd` or `http`.
    #[must_use]
    pub fn uri(&self, protocol: &str) -> String {
        match self {
            Self::Unix(path) => format!("{protocol}+unix:///?socket={}", path.display()),
            Self::Tcp { address, .. } => format!("{protocol}://{address}"),
        }
    }
}

/// A socket that listens. Dropping it removes a Unix socket from the file system.
pub struct Listener(ListeningSocket);

enum ListeningSocket {
    Unix {
        listener: UnixListener,
        path: PathBuf,
        /// Device and inode of the socket, to remove no file that has replaced it.
        inode: (u64, u64),
    },
    Tcp(TcpListener),
}

impl Listener {
    /// Starts to listen. Returns the address too, with the port that was chosen.
    ///
    /// # Errors
    ///
    /// The address is in use, or can be reached from other machines while TLS is not required and
    /// it is not marked as insecure.
    pub fn open(listen: &Listen, tls_required: bool) -> Result<(Self, Listen), NbdError> {
        match listen {
            Listen::Unix(path) => {
                let listener = bind_unix(path)?;
                Ok((listener, listen.clone()))
            }
            &Listen::Tcp { address, insecure } => {
                if !address.ip().is_loopback() && !tls_required && !insecure {
                    return Err(NbdError::Beyond(address));
                }
                let open = || {
                    let listener = TcpListener::bind(address)?;
                    listener.set_nonblocking(true)?;
                    let address = listener.local_addr()?;
                    Ok((Self(ListeningSocket::Tcp(listener)), Listen::Tcp { address, insecure }))
                };
                open().map_err(|error| NbdError::Listen { place: address.to_string(), error })
            }
        }
    }

    /// Accepts the next client. Returns its socket and its address.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if no client waits.
    pub fn accept(&self) -> io::Result<(OwnedFd, String)> {
        match &self.0 {
            ListeningSocket::Unix { listener, path, .. } => {
                let (stream, _) = listener.accept()?;
                Ok((stream.into(), path.display().to_string()))
            }
            ListeningSocket::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                stream.set_nodelay(true)?;
                // Detect a client machine that has vanished, to free its connection.
                net::sockopt::set_socket_keepalive(&stream, true)?;
                Ok((stream.into(), peer.to_string()))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            ListeningSocket::Unix { listener, .. } => listener.as_fd(),
            ListeningSocket::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let ListeningSocket::Unix { path, inode, .. } = &self.0
            && inode_of(path).is_ok_and(|found| found == *inode)
        {
            // A destructor has no one to report a failure to.
            let _ = fs::remove_file(path);
        }
    }
}

fn inode_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn bind_unix(path: &Path) -> Result<Listener, NbdError> {
    let failed = |error| NbdError::Listen { place: path.display().to_string(), error };
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Err(NbdError::Exists(path.into())),
        // Only a stale socket refuses connections.
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(failed)?;
            }
            _ => return Err(NbdError::Exists(path.into())),
        },
        Err(_) => {}
    }
    let open = || {
        let socket = net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        // Before `listen`, so that no other user can connect.
        chmod(path, Mode::RUSR | Mode::WUSR)?;
        net::listen(&socket, 128)?;
        io::Result::Ok(socket)
    };
    let listener = UnixListener::from(open().map_err(failed)?);
    let inode = inode_of(path).map_err(failed)?;
    Ok(Listener(ListeningSocket::Unix { listener, path: path.into(), inode }))
}
