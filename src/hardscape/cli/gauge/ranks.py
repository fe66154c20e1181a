"""What `--domains` asks for."""

from __future__ import annotations

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
