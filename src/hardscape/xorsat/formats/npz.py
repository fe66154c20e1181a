"""NumPy archives of XOR systems: the four arrays, nothing pickled."""

from __future__ import annotations

import numpy as np

from hardscape import archives
from hardscape.files import Source
from hardscape.xorsat.system import XorSystem

NAME = "npz"
SUFFIXES = (".npz",)
DESCRIPTION = "a NumPy archive: num_variables, offsets, variables, parity"
MAGIC = archives.MAGIC_NPZ

_NAMES = ("num_variables", "offsets", "variables", "parity")


def read(source: Source) -> XorSystem:
    """Read a system; see :mod:`hardscape.xorsat.formats`."""
    with archives.reading(source, "archive of a XOR system"):
        arrays = archives.arrays(source, "iu", _NAMES)
    count = arrays["num_variables"]
    if count.ndim:
        raise source.error(None, f"num_variables has shape {count.shape}; a number is needed")
    return XorSystem(int(count), arrays["offsets"], arrays["variables"], arrays["parity"])


def write(system: XorSystem) -> bytes:
    """Write any system."""
    return archives.packed(**{name: np.asarray(getattr(system, name)) for name in _NAMES})
