"""numpy, whose linear algebra uses the calling thread alone.

Otherwise OpenBLAS starts a thread for each core with the import, which ends the process if the
system refuses one. The systems of equations here are small, and the last bits of their solutions
do not depend on the number of cores.
"""

import os

from gordon.errors import missing_package

_KEY = "OPENBLAS_NUM_THREADS"
_given = os.environ.get(_KEY)
os.environ.setdefault(_KEY, "1")

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise missing_package("numpy", "fit") from None

if _given is None:
    # Commands that are started have the environment that we have.
    del os.environ[_KEY]

__all__ = ["NDArray", "np"]
