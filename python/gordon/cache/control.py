"""Requests to the control socket of a cache that serves."""

import http.client
import json
from collections.abc import Mapping
from typing import Any

from gordon.errors import GordonError
from gordon.unix_http import UnixConnection

#: Time to wait for a server that checks all of its flash or fetches many paths.
_PATIENCE_S = 3600.0


def request(socket: str, method: str, target: str, body: Mapping[str, object] | None = None) -> Any:
    """Sends a request to the server of a control socket. Raises GordonError if none answers."""
    try:
        connection = UnixConnection(socket, _PATIENCE_S)
        connection.request(method, target, None if body is None else json.dumps(body))
        response = connection.getresponse()
        found = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise GordonError(
            f"no cache answers at {socket}: {_reason(error)}",
            "start `gordon cache serve` with this --socket",
            kind="not-served",
        ) from None
    if response.status != 200:
        raise GordonError(f"{socket}: {found['error']}", kind="refused")
    return found


def _reason(error: Exception) -> str:
    """Why there is no answer."""
    match error:
        case FileNotFoundError():
            return "there is no such socket; a server that stops has removed it"
        case ConnectionRefusedError():
            return "its server has ended"
        case ConnectionError() | http.client.IncompleteRead():
            return "the server stopped before it answered"
        case OSError(strerror=str(why)):
            return why
    return str(error)
