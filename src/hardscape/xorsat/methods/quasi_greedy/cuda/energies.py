"""Violated clauses of clones stage by stage on CUDA, by tables: stages may differ in their probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Kernel, cuda_device, kernel
from hardscape.xorsat.methods.quasi_greedy.cuda.tabled import Tabled
from hardscape.xorsat.methods.quasi_greedy.plan import Plan


def energies_kernel(code: Tabled) -> Kernel:
    """The kernel that counts, as data."""
    constants = {
        "kClauses": code.state_rows,
        "kClauseDigits": max(code.state_rows, 1).bit_length(),
        "kThreads": code.threads,
    }
    path = "xorsat/methods/quasi_greedy/cuda/energies.cu"
    return kernel(path, "xorsat_energies", constants=constants)


def cuda_energies(
    stages: Sequence[tuple[Plan, int]],
    seed: int,
    first_group: int,
    groups: int,
    context: Context,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]] | None:
    """Violated clauses of each group's clones together, and the fewest of one, stage by stage.

    Both have the shape (stages + 1, groups), from the start on; None where it was told to stop.
    """
    import cupy

    words, number = 32 * groups, 0
    totals: list[NDArray[np.uint64]] = []
    fewest: list[NDArray[np.uint32]] = []
    with cuda_device(context.device.ordinal) as device:
        code = Tabled(stages[0][0])
        count = device.load(energies_kernel(code))
        state = cupy.empty((code.state_rows or 1, words), np.uint32)
        scratch = cupy.empty((code.scratch_rows or 1, words), np.uint32)
        found = cupy.asarray(np.array([2**64 - 1, 0], np.uint64))
        blocks = -(-words // code.threads)

        def note() -> None:
            total, least = cupy.zeros(groups, np.uint64), cupy.full(groups, 2**32 - 1, np.uint32)
            count(blocks, code.threads, state, np.uint32(words), total, least)
            device.synchronize()
            totals.append(total.get())
            fewest.append(least.get())

        def sweep(code: Tabled, sweeps: int) -> bool:
            nonlocal number
            run, tables = device.load(code.kernel), code.arguments()
            chunk = max(1, int(code.launch_updates / max(1, words * 32 * code.plan.updates)))
            end = number + sweeps
            while True:
                now = min(chunk, end - number)
                numbers = map(np.uint32, (number, now, 1 << 30, 0, words, False, True))
                key = (np.uint64(seed), np.uint64(first_group))
                run(blocks, code.threads, state, scratch, found, found, *key, *numbers, *tables)
                device.synchronize()
                number += now
                if number >= end:
                    return True
                if context.stopped():
                    return False

        sweep(code, 0)  # lays the initial spins out
        note()
        for plan, sweeps in stages:
            if sweeps and not sweep(Tabled(plan), sweeps):
                return None
            note()
    return np.array(totals), np.array(fewest)
