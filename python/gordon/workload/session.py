"""Sessions of Spark with the pinned settings."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from gordon.run.report import Engine
from gordon.workload import settings


@contextmanager
def opened(name: str, master: str, java_home: Path, own: Mapping[str, str]) -> Iterator[Any]:
    """A session with the pinned settings, and `own` ones."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java_home)
    try:
        builder = import_module("pyspark.sql").SparkSession.builder.master(master).appName(name)
        for key, value in (settings.values() | dict(own)).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
    try:
        yield session
    finally:
        session.stop()
        # The next session would have the settings of this one.
        session.builder._options.clear()


def describe(session: Any, java_version: str, own: Mapping[str, str]) -> Engine:
    """The engine of a run: versions, and the settings as the session has them."""
    return {
        "name": "spark",
        "version": session.version,
        "java": java_version,
        "python": sys.version.split()[0],
        "settings": {key: session.conf.get(key, None) for key in settings.values() | dict(own)},
    }
