"""HTTP over Unix sockets, on which servers of Gordon answer requests of commands."""

import http.client
import socket


class UnixConnection(http.client.HTTPConnection):
    """A connection to the server of a Unix socket. A request fails after `timeout_s` seconds."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
