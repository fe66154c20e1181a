"""Random Ising models and QUBOs for Hypothesis."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from hypothesis import strategies as st

from hardscape.ising.model import Ising

#: Coefficients of everyday size, of any size that leaves room for a sum, and integers.
everyday = st.floats(-10.0, 10.0, allow_subnormal=False)
extreme = st.floats(-1e300, 1e300)
whole = st.integers(-(2**53), 2**53).map(float)
small_whole = st.integers(-9, 9).map(float)
coefficients = st.one_of(small_whole, everyday, extreme, whole)

labels = st.one_of(
    st.integers(-(10**12), 10**12),
    st.text(max_size=4),
    st.tuples(st.integers(0, 9), st.text("xyz", max_size=1)),
)


@st.composite
def pair_values(
    draw: st.DrawFn, num_spins: int, values: st.SearchStrategy[float], *, diagonal: bool = False
) -> dict[tuple[int, int], float]:
    """A sparse mapping {(i, j): value} with i < j, or i <= j."""
    pairs = [(i, j) for j in range(num_spins) for i in range(j + diagonal)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    return {pair: draw(values) for pair in chosen}


@st.composite
def ising_models(
    draw: st.DrawFn,
    max_spins: int = 12,
    values: st.SearchStrategy[float] = coefficients,
    *,
    named: bool = False,
) -> Ising:
    """An Ising model whose coefficients are float64 values; `named` gives it labels at times."""
    n = draw(st.integers(0, max_spins))
    h = draw(st.lists(st.one_of(st.just(0.0), values), min_size=n, max_size=n))
    names: list[Hashable] | None = None
    if named:
        names = draw(st.none() | st.lists(labels, min_size=n, max_size=n, unique=True))
    return Ising(h, draw(pair_values(n, values)), draw(values), labels=names)


@st.composite
def qubos(
    draw: st.DrawFn, max_spins: int = 8, values: st.SearchStrategy[float] = coefficients
) -> tuple[int, dict[tuple[int, int], float]]:
    """A size and a mapping {(i, j): value}, i <= j, of a QUBO."""
    n = draw(st.integers(1, max_spins))
    return n, draw(pair_values(n, values, diagonal=True))


def exact_energy(model: Ising, state: tuple[int, ...]) -> Fraction:
    """E(s) in rational arithmetic, from the float64 coefficients."""
    row, col, value = model.couplings
    energy = Fraction(model.offset)
    for x, s in zip(model.h.tolist(), state, strict=True):
        energy += Fraction(x) * s
    for i, j, x in zip(row.tolist(), col.tolist(), value.tolist(), strict=True):
        energy += Fraction(x) * state[i] * state[j]
    return energy
