"""The quasi-greedy kernel of every kind of instance compiles, without a GPU."""

from __future__ import annotations

import pytest

from hardscape.benchmarks.xorsat.coins import variants
from hardscape.errors import InputError
from hardscape.xorsat import random_regular
from hardscape.xorsat.methods.quasi_greedy.cuda import CudaClones
from hardscape.xorsat.methods.quasi_greedy.cuda.energies import energies_kernel
from hardscape.xorsat.methods.quasi_greedy.cuda.tabled import Tabled
from hardscape.xorsat.methods.quasi_greedy.cuda.unrolled import member
from hardscape.xorsat.methods.quasi_greedy.plan import RUN_W1, Plan
from helpers.compiling import compiles
from helpers.xorsat_systems import PLANNED


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kind", PLANNED)
def test_kernel(kind, exact):
    kernel = CudaClones.build(Plan.build(*PLANNED[kind]), exact=exact).kernel
    assert compiles(kernel)


@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_architectures(arch):
    kernel = CudaClones.build(Plan.build(random_regular(40, seed=1)), exact=True).kernel
    assert compiles(kernel, arch)


def test_words_that_do_not_fit_into_registers_are_kept_in_shared_memory():
    small, large = (
        CudaClones.build(Plan.build(random_regular(n, seed=1)), exact=True).code for n in (64, 256)
    )
    assert not small.kept
    assert small.spins_shared
    assert 0 < len(large.kept) < 80
    assert large.threads == 256
    assert large.shared_bytes <= 227 * 1024


def test_large_systems_go_by_tables():
    def built(n):
        system = random_regular(n, seed=1, full_rank=False)
        return CudaClones.build(Plan.build(system), exact=True).code

    half, whole = built(500), built(256)
    assert half.threads < whole.threads
    assert half.shared_bytes <= 227 * 1024
    assert isinstance(built(1000), Tabled)
    with pytest.raises(InputError):
        built(65538)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kind", ["3-regular", "metropolis", "random, many degrees", "nothing"])
def test_kernel_by_tables(kind, exact):
    kernel = Tabled(Plan.build(*PLANNED[kind]), count=not exact).kernel
    assert compiles(kernel)


@pytest.mark.parametrize("kind", ["3-regular", "nothing"])
def test_kernel_that_counts_violated_clauses(kind):
    kernel = energies_kernel(Tabled(Plan.build(*PLANNED[kind])))
    assert compiles(kernel)


def test_systems_of_a_size_share_a_kernel():
    plans = [Plan.build(random_regular(60, seed=seed), 0.05) for seed in (1, 2)]
    assert Tabled(plans[0]).kernel == Tabled(plans[1]).kernel


@pytest.mark.parametrize("most", range(1, 9))
def test_membership_expression(most):
    digits = most.bit_length()
    for pattern in range(1 << (most + 1)):
        chosen = {k for k in range(most + 1) if pattern >> k & 1}
        text = member(chosen, most, [f"p[{i}]" for i in range(digits)]).replace("u", "")
        for k in range(most + 1):
            p = [-(k >> i & 1) for i in range(digits)]
            assert eval(text, {"p": p}) & 1 == (k in chosen)


def test_the_coins_that_are_compared_compile():
    """The variants of ``hardscape.benchmarks.xorsat.coins``."""
    compared = variants(Plan.build(random_regular(48, seed=1), RUN_W1))
    assert len(compared) == 3
    sources = {clones.kernel.source + str(clones.kernel.headers) for clones in compared.values()}
    assert len(sources) == 3
    for clones in compared.values():
        assert compiles(clones.kernel)
