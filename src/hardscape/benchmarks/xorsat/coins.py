"""Does sharing coins cost updates to solution?

``python -m hardscape.benchmarks.xorsat.coins`` on a GPU.

The same dynamics with a coin for each word of 32 clones, for the 1,024 clones of a warp (what the
library does), and for all clones of a multiprocessor: mean updates to solution of many runs, each
with its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import cyclopts
import numpy as np

from hardscape.engine.cuda import cuda_device
from hardscape.engine.cuda.jit import Kernel
from hardscape.xorsat import XorSystem, random_regular
from hardscape.xorsat.methods.quasi_greedy.cuda import CudaClones, CudaRound
from hardscape.xorsat.methods.quasi_greedy.cuda.unrolled import Unrolled
from hardscape.xorsat.methods.quasi_greedy.plan import RUN_W1, Plan
from hardscape.xorsat.methods.quasi_greedy.rounds import Rounds

app = cyclopts.App(help=__doc__, result_action="return_value")

#: Stream of the coins of one word of 32 clones.
_OWN = 0x6F776E
#: Groups of 1024 clones for small systems; larger ones take what the GPU holds.
_GROUPS = {96: 32, 128: 256}


class OwnCoins(Unrolled):
    """A coin for each word and update: no two threads of a warp share any."""

    def headers(self) -> dict[str, str]:
        """A stream for each thread, beside the generated files."""
        made = super().headers()
        stream = f"const hardscape::RandomStream own(seed, first_group * 32 + thread, {_OWN}ull);"
        return {**made, "declare.cuh": f"{made['declare.cuh']}{stream}\n"}

    def _coins(self, wave: int) -> Iterator[str]:
        return iter(())

    def _group(self, number: int, updates: range) -> Iterator[str]:
        at = f"static_cast<uint64_t>(sweep) * kCoinWords + {number}"
        yield f"{{ const uint64_t random = own.at({at});"
        for half, shift in (("low", 0), ("high", 32)):
            bits = f"static_cast<uint32_t>(random >> {shift})"
            yield f"const uint32_t {half} = __vcmpltu4({bits}, w1);"
        for j, update in enumerate(updates):
            coin = f"coin_word({'low' if j < 4 else 'high'}, {j % 4})"
            yield self._counted(update, {self.plan.thresholds[0]: coin})
        yield "}"


@dataclass(frozen=True, eq=False)
class BlockCoins(CudaClones):
    """The same coins for all warps of a multiprocessor."""

    @cached_property
    def kernel(self) -> Kernel:
        """With streams that the whole block shares."""
        plain = self.code.kernel
        source = plain.source.replace(
            "first_group + thread / 32", "first_group + thread / kThreads"
        )
        assert source != plain.source
        return replace(plain, source=source)


def variants(plan: Plan) -> dict[str, CudaClones]:
    """The kernels to compare, by the number of clones that share a coin."""
    shared = Unrolled(plan)
    return {
        "32": CudaClones(OwnCoins(plan)),
        "1024": CudaClones(shared),
        f"{32 * shared.threads}": BlockCoins(shared),
    }


def measure(
    clones: CudaClones, plan: Plan, groups: int, runs: int, restart: int
) -> tuple[float, float]:
    """Mean updates to solution of `runs` runs, and its standard error."""
    sweeps = []
    with cuda_device(0) as device:
        for seed in range(runs):
            done, number = 0, 0
            while True:
                rounds = Rounds(plan, seed, groups, restart, 0, 1 << 40, False)
                search = CudaRound(clones, rounds, number, device)
                search.start(0, restart, 8, last=False, keep=False)
                key, _ = search.read()
                if key >> 48 == 0:
                    done += key >> 26 & 0x3FFFFF
                    break
                done, number = done + restart, number + 1
            sweeps.append(done)
    per_sweep = groups * 1024 * plan.updates
    mean = float(np.mean(sweeps)) * per_sweep
    return mean, mean / math.sqrt(runs)


@app.default
def main(*, sizes: tuple[int, ...] = (96, 128, 160), runs: int = 1000, instances: int = 2) -> None:
    """Compare the variants.

    Parameters
    ----------
    sizes
        Numbers of variables.
    runs
        Runs of each variant on each instance.
    instances
        Random instances of each size.
    """
    print("| N | instance | clones to a coin | updates to solution |")
    print("| --- | --- | --- | --- |")
    for n in sizes:
        for instance in range(instances):
            compare(f"seed {instance}", random_regular(n, seed=instance), runs)


@app.command
def file(path: Path, *, runs: int = 1000) -> None:
    """Compare the variants on the system in a file."""
    compare(path.name, XorSystem.from_file(path), runs)


def compare(name: str, system: XorSystem, runs: int) -> None:
    """Print one row for each variant."""
    plan = Plan.build(system, RUN_W1)
    for sharing, clones in variants(plan).items():
        # Several hundred sweeps: many more than the first, in which all clones settle.
        groups = min(_GROUPS.get(system.num_variables, 1 << 20), clones.groups_at_once(0))
        mean, error = measure(clones, plan, groups, runs, 1 << 14)
        print(
            f"| {system.num_variables} | {name} | {sharing} | {mean:.3e} ± {error:.1e} |",
            flush=True,
        )


if __name__ == "__main__":
    app()
