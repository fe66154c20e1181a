"""Rounds of clones on CUDA: a kernel launched until a round is over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, CudaDevice, Device, Kernel, cuda_device
from hardscape.xorsat.methods.quasi_greedy.cuda.clones import CudaClones
from hardscape.xorsat.methods.quasi_greedy.plan import Plan
from hardscape.xorsat.methods.quasi_greedy.rounds import (
    MAX_CLONES,
    MAX_SWEEPS,
    Best,
    Round,
    Rounds,
    Side,
    Tell,
)

#: Sweeps between looks for a solution that stays; solutions that a launch lists.
_LOOK, _LISTED = 8, 1024
#: A key: violated clauses, sweep, clone; the least is the best.
_WORTH, _SWEEP = 48, 26
_NOTHING = (1 << 64) - 1


class CudaSide(Side):
    """One GPU."""

    def groups(self, plan: Plan, device: Device) -> int:
        """What the GPU runs at once."""
        return CudaClones.build(plan, exact=True).groups_at_once(device.ordinal)

    def brief(self, rounds: Rounds) -> bool:
        """Always: it asks between launches whether to stop."""
        return True

    def kernel(self, rounds: Rounds) -> Callable[[], Kernel]:
        """That of the plan."""
        return partial(_kernel, rounds)

    def run(self, rounds: Rounds, number: int, context: Context, tell: Tell) -> Round:
        """Launch sweeps until the round is over."""
        clones = CudaClones.build(rounds.plan, exact=rounds.exact)
        with cuda_device(context.device.ordinal) as device:
            return CudaRound(clones, rounds, number, device).run(context, tell)


def _kernel(rounds: Rounds) -> Kernel:
    return CudaClones.build(rounds.plan, exact=rounds.exact).kernel


class CudaRound:
    """One round on one GPU; to be used inside its `cuda_device`."""

    def __init__(self, clones: CudaClones, rounds: Rounds, number: int, device: CudaDevice) -> None:
        import cupy

        self._code = clones.code
        self._arguments = clones.code.arguments()
        self._kernel = device.load(clones.kernel)
        self._device = device
        self._rounds = rounds
        self._number = number
        self._words = rounds.groups * 32
        # Words of clauses where the last launch kept them; rows of empty clauses are unset.
        self.state = cupy.empty((self._code.state_rows or 1, self._words), np.uint32)
        self._scratch = cupy.empty((self._code.scratch_rows or 1, self._words), np.uint32)
        # The best key, the number of solutions listed, and the list, in one array to copy at once.
        self._found = cupy.empty(2 + _LISTED, np.uint64)
        self._clear = cupy.asarray(np.array([_NOTHING, 0], np.uint64))
        # For each number of violated clauses the first sweep and clone (a key without its top).
        counts = max(len(rounds.plan.system.parity), rounds.target) + 1 if self._code.count else 1
        self._firsts = cupy.empty(counts, np.uint64)

    def start(self, first: int, sweeps: int, look: int, *, last: bool, keep: bool) -> None:
        """Launch sweeps `first` and on; afterwards `found` is ready to be read."""
        if first == 0:
            self._found[:2] = self._clear
            self._firsts.fill(_NOTHING)
        threads = self._code.threads
        numbers = (first, sweeps, look, self._rounds.target, self._words, last, keep)
        self._kernel(
            -(-self._words // threads),
            threads,
            self.state,
            self._scratch,
            self._found,
            self._firsts,
            np.uint64(self._rounds.seed),
            np.uint64(self._number * self._rounds.groups),
            *map(np.uint32, numbers),
            *self._arguments,
            shared=self._code.shared_bytes,
        )

    def run(self, context: Context, tell: Tell) -> Round:
        """Launch until the round ends, the target is reached, or `context` says to stop."""
        rounds, total = self._rounds, self._rounds.sweeps(self._number)
        look = rounds.look(_LOOK)
        updates = max(1, self._words * 32 * rounds.plan.updates)
        chunk = max(1, int(self._code.launch_updates / updates) // look) * look
        done = 0
        improvements: tuple[Best, ...] = ()
        while done < total:
            halted = context.stopped()
            sweeps = min(look if halted else chunk, total - done)
            last = halted or done + sweeps == total
            self.start(done, sweeps, look, last=last, keep=not last)
            done += sweeps
            key, listed = self.read()
            reached = key >> _WORTH <= rounds.target
            if rounds.exact and reached:
                improvements = (self._exact(key, listed, look),)
            elif self._code.count:
                improvements = self._improvements()
            elif key != _NOTHING:
                improvements = (self._best(key),)
            if tell is not None:
                for best in improvements:
                    tell(best.violated, best.sweep)
            if reached:
                return Round(improvements, improvements[-1].sweep * rounds.groups, True)
            if halted:
                break
        return Round(improvements, done * rounds.groups, done == total)

    def _improvements(self) -> tuple[Best, ...]:
        """Each clone that came further than all before it."""
        firsts = self._firsts.get()
        keys = sorted((int(firsts[v]), int(v)) for v in np.flatnonzero(firsts != _NOTHING))
        found: list[Best] = []
        for first, violated in keys:
            if not found or violated < found[-1].violated:
                best = self._best(violated << _WORTH | first)
                if found and found[-1].sweep == best.sweep:
                    found.pop()
                found.append(best)
        return tuple(found)

    def read(self) -> tuple[int, NDArray[np.uint64]]:
        """The best key and the list of solutions; more than `_LISTED` means that some are missing."""
        self._device.synchronize()  # lets the threads of other GPUs run meanwhile, as a copy would not
        found = self._found.get()
        return int(found[0]), found[2:] if found[1] > _LISTED else found[2 : 2 + int(found[1])]

    def _best(self, key: int) -> Best:
        return Best(key >> _WORTH, self._number, key >> _SWEEP & MAX_SWEEPS, key & (MAX_CLONES - 1))

    def _exact(self, key: int, listed: NDArray[np.uint64], look: int) -> Best:
        """The first solution of those found at one look, whose clones are run again on the CPU."""
        seen = key >> _SWEEP & MAX_SWEEPS
        first_word = self._number * self._rounds.groups * 32
        replay = self._rounds.plan.kernel.first_solved
        if len(listed) == _LISTED:
            # So many are there only where solutions come fast: then the whole round is run again.
            self.start(0, seen, 1, last=False, keep=False)
            best = self._best(self.read()[0])
            if best.sweep > 1:
                return best
            words, seen = np.arange(self._words), 1
        else:
            words = np.sort(listed[listed >> np.uint64(32) == seen] & np.uint64(0xFFFFFFFF))
        after = max(0, seen - look)
        found = []
        for word in words.tolist():
            sweep, bit = replay(self._rounds.seed, first_word + word, after, seen)
            if bit < 32:
                found.append((sweep, word * 32 + bit))
                if sweep == 0:
                    break
        return Best(0, self._number, *min(found))
