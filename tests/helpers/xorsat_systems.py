"""Systems and flip probabilities that the quasi-greedy kernels are compared on."""

from __future__ import annotations

from hardscape.xorsat import XorSystem, random_regular, random_system

PLANNED = {
    "3-regular": (random_regular(30, seed=1), None),
    "3-regular, w1": (random_regular(30, seed=2), 0.3),
    "3-regular, w1 = 1": (random_regular(24, seed=8), 1.0),
    "3-regular, all w_k": (random_regular(24, seed=3), [0.1, 0.4, 0.7, 0.9]),
    "4-regular of 5-clauses": (random_regular(25, 5, 4, seed=4, full_rank=False), None),
    "random, many degrees": (random_system(20, 2.5, planted=False, seed=5), None),
    "3-regular, w1 in 256ths": (random_regular(30, seed=2), 77 / 256),
    "metropolis": (random_regular(27, seed=2), [0.2**3, 0.2, 1, 1]),
    "falling w_k": (random_system(20, 1.5, planted=False, seed=6), [0, 1, 0.2, 1, 0, 0.5]),
    "no coins": (random_regular(24, seed=7), [0, 0, 1, 1]),
    "pairs and singles": (
        XorSystem.from_clauses([[0], [0, 1], [1, 2], [3, 4, 5]], [1, 0, 1, 1]),
        None,
    ),
    "a false constant": (XorSystem(2, [0, 0, 2], [0, 1], [1, 0]), None),
    "nothing": (XorSystem(0, [0], [], []), None),
}
