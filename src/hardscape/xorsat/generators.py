"""Random systems: regular ones as in the 3-XORSAT challenge, and ones of a given density."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.arguments import checked_seed, integer
from hardscape.errors import InputError
from hardscape.interrupts import interruptible
from hardscape.xorsat.intake import MAX_VARIABLES
from hardscape.xorsat.methods.elimination.elimination import eliminate
from hardscape.xorsat.system import XorSystem

#: Attempts at a full rank: a third of the 3-regular systems have it.
_TRIES = 1000
#: Rounds of exchanges until no clause repeats a variable; sparse systems take a few.
_ROUNDS = 10_000
#: Bytes for each variable of a clause while a system is drawn.
_BYTES = 64


@interruptible
def random_regular(
    num_variables: int,
    k: int = 3,
    degree: int = 3,
    *,
    seed: int | None = None,
    planted: bool = True,
    full_rank: bool = True,
) -> XorSystem:
    """Draw a system in which each clause has k variables and each variable is in `degree` clauses.

    Parameters
    ----------
    num_variables : int
        N; ``N * degree`` must be a multiple of k. There are ``N * degree / k`` clauses.
    k, degree : int
    seed : int, optional
        The same seed gives the same system; drawn where none is given, and told by ``XorSystem.seed``.
    planted : bool
        Draw right-hand sides that a random assignment satisfies, else random ones.
    full_rank : bool
        Draw until the rank, which elimination finds, is min(N, clauses): for as many clauses as
        variables there is one solution then, as in the challenge's instances.

    Raises
    ------
    InputError
        If no such system exists or none was found; 1000 attempts are made at a full rank.

    Notes
    -----
    Configuration model: the places of all clauses are filled at random, and clauses with a repeated
    variable exchange it with a random place until none is left.

    Examples
    --------
    >>> from hardscape.xorsat import random_regular
    >>> system = random_regular(24, seed=1)
    >>> system.num_variables, system.num_clauses, len(system.clauses()[0])
    (24, 24, 3)
    """
    n = integer(num_variables, "num_variables", 0, MAX_VARIABLES)
    k, degree = (integer(x, name, 1, MAX_VARIABLES) for x, name in ((k, "k"), (degree, "degree")))
    if n * degree % k:
        raise InputError(
            f"num_variables={n} of degree {degree} do not fill clauses of k={k}: their product must be a "
            "multiple of k"
        )
    if n and n < k:
        raise InputError(f"num_variables={n} is below k={k}: a clause needs k different variables")
    m = n * degree // k
    if full_rank:
        _check_full_rank(n, m, k, degree)
    _require(m, k)
    seed = checked_seed(seed)
    random = np.random.default_rng(seed)
    for _ in range(_TRIES):
        clauses = _regular_clauses(n, k, degree, random)
        system = _with_sides(clauses, n, planted, random)
        if not full_rank or eliminate(system).rank == min(n, m):
            return _drawn(system, seed)
    raise InputError(
        f"none of {_TRIES} random systems with num_variables={n}, k={k}, degree={degree} had full rank; "
        "full_rank=False takes any"
    )


@interruptible
def random_system(
    num_variables: int,
    density: float,
    k: int = 3,
    *,
    seed: int | None = None,
    planted: bool = True,
) -> XorSystem:
    """Draw round(density * N) clauses of k different variables, each uniform among all such sets.

    Parameters
    ----------
    num_variables : int
        N.
    density : float
        Clauses a variable. For k = 3 random systems are satisfiable below 0.918, and have a core
        without leaves from 0.818 on (Dubois, Mandler 2002; Mézard, Ricci-Tersenghi, Zecchina 2003).
    k : int
    seed : int, optional
    planted : bool
        Draw right-hand sides that a random assignment satisfies, else random ones.

    Raises
    ------
    InputError
        If N is below k or `density` is no finite number of 0 or more.

    Examples
    --------
    >>> from hardscape.xorsat import random_system
    >>> system = random_system(20, 0.75, seed=1)
    >>> system.num_variables, system.num_clauses
    (20, 15)
    """
    n = integer(num_variables, "num_variables", 0, MAX_VARIABLES)
    k = integer(k, "k", 1, MAX_VARIABLES)
    if not 0 <= density < np.inf:
        raise InputError(f"density={density}; a finite number, 0 or more, is accepted")
    m = round(density * n)
    if m and n < k:
        raise InputError(f"num_variables={n} is below k={k}: a clause needs k different variables")
    _require(m, k)
    seed = checked_seed(seed)
    random = np.random.default_rng(seed)
    if k * k > n:  # most tuples repeat a variable: shuffle instead
        clauses = random.permuted(np.tile(np.arange(n), (m, 1)), axis=1)[:, :k]
    else:
        clauses = random.integers(0, n, (m, k))
        while len(repeated := _repeated(clauses)):
            clauses[repeated] = random.integers(0, n, (len(repeated), k))
    return _drawn(_with_sides(clauses, n, planted, random), seed)


def _require(clauses: int, k: int) -> None:
    memory.require(_BYTES * clauses * k, f"a system of {clauses} clauses of {k} variables")


def _drawn(system: XorSystem, seed: int) -> XorSystem:
    object.__setattr__(system, "seed", seed)
    return system


def _check_full_rank(n: int, m: int, k: int, degree: int) -> None:
    """Sums over all clauses or all variables that vanish cap the rank below min(n, m)."""
    if m and degree % 2 == 0 and m <= n:
        raise InputError(
            f"degree={degree} is even, so all clauses sum to 0 and the rank is below {m}; "
            "full_rank=False takes such systems"
        )
    if n and k % 2 == 0 and n <= m:
        raise InputError(
            f"k={k} is even, so no clause changes when all variables do and the rank is below {n}; "
            "full_rank=False takes such systems"
        )


def _repeated(clauses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that hold a variable twice."""
    ordered = np.sort(clauses, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _regular_clauses(n: int, k: int, degree: int, random: np.random.Generator) -> NDArray[np.int64]:
    places = random.permutation(np.repeat(np.arange(n), degree))
    clauses = places.reshape(-1, k)
    for _ in range(_ROUNDS):
        repeated = _repeated(clauses)
        if not len(repeated):
            return clauses
        for clause in repeated.tolist():
            mine = clause * k + int(random.integers(k))
            other = int(random.integers(len(places)))
            places[[mine, other]] = places[[other, mine]]
    raise InputError(
        f"clauses of k={k} different variables were not found for num_variables={n}, degree={degree}; "
        "a number well above k is accepted"
    )


def _with_sides(
    clauses: NDArray[np.int64], n: int, planted: bool, random: np.random.Generator
) -> XorSystem:
    if not planted:
        sides = random.integers(0, 2, len(clauses))
        return XorSystem.from_clauses(clauses, sides, num_variables=n)
    hidden = random.integers(0, 2, n)
    return XorSystem.from_clauses(clauses, hidden[clauses].sum(axis=1) % 2, num_variables=n)
