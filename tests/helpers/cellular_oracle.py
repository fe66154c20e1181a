"""The cellular genetic algorithm, operator by operator, as plain as can be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
INITIAL, SELECTION, RECOMBINATION, MUTATION, DIFFUSION, WALK = range(1, 7)


def mix64(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


class Stream:
    """SplitMix64 from the hash of (seed, stream, purpose)."""

    def __init__(self, seed: int, stream: int, purpose: int) -> None:
        state = mix64(seed + GOLDEN & MASK)
        state = mix64(state + stream + GOLDEN & MASK)
        self.state = mix64(state + purpose + GOLDEN & MASK)

    def next(self) -> int:
        self.state = self.state + GOLDEN & MASK
        return mix64(self.state)


def stream(seed, individual, generation, purpose):
    return Stream(seed, generation << 32 | individual, purpose)


def run_seed(seed, run):
    return Stream(seed, run, 0).next()


def chance(probability) -> int:
    return round(Fraction(probability) * 2**32)


def mask(random: Stream, threshold: int) -> list[bool]:
    """64 comparisons of a 32-bit number with the threshold, from the top bit until all are settled."""
    if threshold >= 2**32:
        return [True] * 64
    if threshold == 0:
        return [False] * 64
    less = [None] * 64
    for bit in range(31, -1, -1):
        if None not in less:
            break
        drawn = random.next()
        wanted = threshold >> bit & 1
        for i in range(64):
            got = drawn >> i & 1
            if less[i] is None and got != wanted:
                less[i] = got < wanted
    return [x is True for x in less]


def masks(random: Stream, threshold: int, n: int) -> list[bool]:
    bits: list[bool] = []
    while len(bits) < n:
        bits += mask(random, threshold)
    return bits[:n]


def neighbours(options, diffusion: bool) -> np.ndarray:
    """Individual numbers north, east, south and west of each, shape (individuals, 4)."""
    o = options
    number = np.arange(o.individuals).reshape(o.rows, o.columns, o.height, o.width)
    if diffusion:
        world = number.transpose(0, 2, 1, 3).reshape(o.rows * o.height, o.columns * o.width)
        around = [np.roll(world, shift, axis) for shift, axis in ((1, 0), (-1, 1), (-1, 0), (1, 1))]
        around = [
            a.reshape(o.rows, o.height, o.columns, o.width).transpose(0, 2, 1, 3) for a in around
        ]
    else:
        around = [
            np.roll(number, shift, axis) for shift, axis in ((1, 2), (-1, 3), (-1, 2), (1, 3))
        ]
    return np.stack([a.ravel() for a in around], axis=1)


def value(formula, bits) -> tuple[int, int]:
    """Violated hard clauses, weight of violated soft clauses."""
    return formula.hard_violations(bits), formula.cost(bits)


def climb(formula, bits, passes):
    """Hill climbing; returns the individual, its value and the pass of the last improvement."""
    bits = bits.copy()
    best, last = value(formula, bits), 0
    for number in range(1, passes + 1):
        for v in range(len(bits)):
            bits[v] ^= True
            now = value(formula, bits)
            if now < best:
                best, last = now, number
            else:
                bits[v] ^= True
    return bits, best, last


def initial(formula, options, seed):
    n = formula.num_variables
    rows = np.zeros((options.individuals, n), dtype=bool)
    for i in range(options.individuals):
        random = stream(seed, i, 0, INITIAL)
        words = [random.next() for _ in range(-(-n // 64))]
        rows[i] = [words[v // 64] >> v % 64 & 1 for v in range(n)]
    return rows, [value(formula, row) for row in rows]


def diffuses(options, seed, generation) -> bool:
    return stream(seed, 0, generation, DIFFUSION).next() >> 32 < chance(options.diffusion)


def below(random: Stream, count: int) -> int:
    return (random.next() >> 32) * count >> 32


def panmictic_parent(options, values, seed, i, generation) -> int:
    """The better of two of the whole sub-population."""
    random = stream(seed, i, generation, SELECTION)
    start = i - i % options.cells
    first, second = (start + below(random, options.cells) for _ in range(2))
    return second if values[second] < values[first] else first


def exchanged(random: Stream, threshold: int, n: int) -> list[bool]:
    """Two-point crossover: with the chance of it, the bits between two points."""
    if random.next() >> 32 >= threshold:
        return [False] * n
    first, last = sorted(below(random, n + 1) for _ in range(2))
    return [first <= v < last for v in range(n)]


def inverted(random: Stream, threshold: int, n: int) -> list[bool]:
    """With the chance of it, one random gene."""
    gene = below(random, n) if random.next() >> 32 < threshold else -1
    return [v == gene for v in range(n)]


def migrated(options, rows, values):
    """The best tenth of each sub-population in the places of the worst tenth of the next one."""
    cells, count = options.cells, max(1, options.cells // 10)
    order = [
        sorted(range(cells * k, cells * (k + 1)), key=lambda i: values[i])
        for k in range(options.islands)
    ]
    new_rows, new_values = rows.copy(), list(values)
    for k in range(options.islands):
        for place, source in zip(order[k][::-1], order[k - 1][:count], strict=False):
            new_rows[place], new_values[place] = rows[source], values[source]
    return new_rows, new_values


def second_parent(around, values, seed, i, generation) -> int:
    random = stream(seed, i, generation, SELECTION)
    first, second = (int(around[i][random.next() >> 62]) for _ in range(2))
    return second if values[second] < values[first] else first


def child(options, rows, partner, seed, i, generation):
    n = rows.shape[1]
    random = stream(seed, i, generation, RECOMBINATION)
    crossover = exchanged if options.crossover == "two-point" else masks
    taken = np.array(crossover(random, chance(options.recombination), n), dtype=bool)
    random = stream(seed, i, generation, MUTATION)
    inversion = inverted if options.inversion == "gene" else masks
    turned = np.array(inversion(random, chance(options.mutation), n), dtype=bool)
    return np.where(taken, rows[partner], rows[i]) ^ turned


def generation(formula, options, rows, values, seed, number, passes):
    """One generation: rows, values, and how many still improved in the last pass."""
    opens = diffuses(options, seed, number)
    around = neighbours(options, opens and options.migration == "diffusion")
    born, costs, unfinished = rows.copy(), list(values), 0
    for i in range(options.individuals):
        if options.selection == "panmictic":
            partner = panmictic_parent(options, values, seed, i, number)
        else:
            partner = second_parent(around, values, seed, i, number)
        bits = child(options, rows, partner, seed, i, number)
        bits, best, last = climb(formula, bits, passes)
        unfinished += last == passes
        if best < values[i]:
            born[i], costs[i] = bits, best
    if opens and options.migration == "sorted":
        born, costs = migrated(options, born, costs)
    return born, costs, unfinished


def run(formula, options, seed, target):
    """History (hard, soft, passes) and the best individual of a whole run."""
    rows, values = initial(formula, options, seed)
    history = [(*min(values), 0)]
    passes, stagnant, number = options.passes, 0, 0
    while min(values) > target and stagnant < options.patience:
        if number == options.max_generations:
            break
        number += 1
        before = min(values)
        rows, values, unfinished = generation(formula, options, rows, values, seed, number, passes)
        history.append((*min(values), passes))
        stagnant = 0 if min(values) < before else stagnant + 1
        crowd = Fraction(str(options.feedback)) * options.individuals
        passes += options.step if unfinished > crowd else -options.step
        passes = max(1, min(options.passes, passes))
    return history, rows[values.index(min(values))]
