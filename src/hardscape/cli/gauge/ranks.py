"""What `--domains` asks for."""

from __future__ import annotations

import os
from typing import Any

from hardscape.errors import InputError, needed


def all_ranks(command: str) -> Any:
    """The ranks of MPI that run this command."""
    comm = needed("mpi4py.MPI", "mpi4py", "mpi", "--domains").COMM_WORLD
    if comm.Get_size() == 1:
        raise InputError(
            f"--domains: there is one MPI rank; mpiexec -n 4 hardscape {command} ... starts four"
        )
    return comm


def started_by_mpi() -> bool:
    """Whether mpiexec started several processes, as its variables say."""
    sizes = (os.environ.get(name, "1") for name in _SIZES)
    return any(size.isdigit() and int(size) > 1 for size in sizes)


_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
