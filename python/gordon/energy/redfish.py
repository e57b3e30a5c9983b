"""The power reading of a management controller over HTTP (Redfish).

`redfish:https://USER@HOST/redfish/v1/Chassis/1/Power`: the answer is a Power resource
(`PowerControl[0].PowerConsumedWatts`) or the newer EnvironmentMetrics (`PowerWatts.Reading`). The
password is read from the environment variable GORDON_REDFISH_PASSWORD, so that it is in no process
list and no report. SSL_CERT_FILE names a private certificate.
"""

import base64
import json
import os
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from gordon.energy.meter import Channel, Meter, drawn
from gordon.errors import GordonError

PREFIX = "redfish:"
PASSWORD = "GORDON_REDFISH_PASSWORD"  # noqa: S105 - where it is, not what
LONGEST_S = 10
_URL_HINT = (
    "redfish:https://USER@HOST/redfish/v1/Chassis/1/Power with the password in the environment "
    f"variable {PASSWORD}"
)


class Redfish(Meter):
    """The power of a chassis in watts."""

    measures, kind, how = "the whole machine, at its power supplies", "power", "measured"
    step = "1 W"
    quick = False

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise GordonError(
                f"redfish: {url.rpartition('@')[2]} is not a URL: {error}", _URL_HINT, "bad-url"
            ) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.password:
            raise GordonError(
                f"redfish: not an http or https URL without a password: "
                f"{parts.scheme}://{parts.hostname or ''}{parts.path}",
                _URL_HINT,
                kind="bad-url",
            )
        self.name = f"{PREFIX}{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self.channels = [Channel("PowerConsumedWatts", "machine")]
        self._connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        query = f"?{parts.query}" if parts.query else ""
        self._host, self._port, self._path = parts.hostname, port, f"{parts.path or '/'}{query}"
        self._headers = {"Accept": "application/json"}
        if parts.username:
            secret = f"{parts.username}:{os.environ.get(PASSWORD, '')}".encode()
            self._headers["Authorization"] = "Basic " + base64.b64encode(secret).decode()

    def read(self) -> list[float | None]:
        connection = self._connect(self._host, self._port, timeout=LONGEST_S)
        try:
            connection.request("GET", self._path, headers=self._headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, HTTPException) as error:
            raise GordonError(f"{self.name}: {error}", kind="no-answer") from None
        finally:
            connection.close()
        if answer.status != 200:
            hint = f"USER@ in the URL and the password in the environment variable {PASSWORD}"
            hint = hint if answer.status in (401, 403) else ""
            raise GordonError(f"{self.name}: {answer.status} {answer.reason}", hint, "http-status")
        return self.of_controller(self._watts(body))

    def _watts(self, body: bytes) -> float:
        try:
            answer: Any = json.loads(body)
            if "PowerControl" in answer:
                watts = float(answer["PowerControl"][0]["PowerConsumedWatts"])
            else:
                watts = float(answer["PowerWatts"]["Reading"])
        except (ValueError, KeyError, IndexError, TypeError):
            raise GordonError(
                f"{self.name}: the answer has neither PowerControl[0].PowerConsumedWatts nor "
                "PowerWatts.Reading",
                "the URL of the resource Power or EnvironmentMetrics of a chassis",
                kind="no-watts",
            ) from None
        return drawn(watts, f"{self.name}: {watts:g} W")
