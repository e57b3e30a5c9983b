"""Files of the sort benchmark (sortbenchmark.org): made and checked as gensort and valsort do.

import gordon.sort
made = gordon.sort.generate("in.dat", records=1_000_000)
found = gordon.sort.validate("out.dat", checksum=made["checksum"])
found["in_order"], found["all_there"], found["duplicates"]
"""

from gordon.sort.data import generate, validate

__all__ = ["generate", "validate"]
