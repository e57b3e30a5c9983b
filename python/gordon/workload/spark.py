"""PySpark, imported when it is needed: an optional package.

The modules of PySpark are looked up by name, so that this package is imported, checked and listed
without it. With Spark Connect the same names serve a remote session.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gordon.errors import GordonError

#: The oldest PySpark whose DataFrame API has every function that the jobs call.
OLDEST = (3, 5)


def require() -> str:
    """The version of PySpark. Raises GordonError with the kind `no-spark` if it is missing, and
    `old-spark` if it is too old."""
    if find_spec("pyspark") is None:
        raise GordonError(
            "Spark is not installed: there is no Python package pyspark",
            "pip install 'gordon-storage[spark]'",
            kind="no-spark",
        )
    version = str(import_module("pyspark").__version__)
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise GordonError(
            f"PySpark {version} is installed, and the jobs need {oldest} or later",
            "pip install --upgrade 'gordon-storage[spark]'",
            kind="old-spark",
        )
    return version


def home() -> Path:
    """The folder of Spark, with its programs in `bin`."""
    require()
    return Path(str(import_module("pyspark").__file__)).parent


def functions() -> Any:
    """The module `pyspark.sql.functions`."""
    require()
    return import_module("pyspark.sql.functions")


def window() -> Any:
    """The class `pyspark.sql.Window`."""
    require()
    return import_module("pyspark.sql").Window


def analysis_error() -> type[Exception]:
    """The exception of Spark for a query that cannot be planned, as for a missing path."""
    require()
    error: type[Exception] = import_module("pyspark.errors").AnalysisException
    return error


def errors() -> tuple[type[Exception], ...]:
    """The exceptions of Spark for a query that cannot be planned or that fails when it is run."""
    require()
    found: list[type[Exception]] = [import_module("pyspark.errors").PySparkException]
    if find_spec("py4j") is not None:
        found.append(import_module("py4j.protocol").Py4JError)
    return tuple(found)
