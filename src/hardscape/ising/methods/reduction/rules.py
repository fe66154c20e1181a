"""Taking spins out of a model without losing one of its lowest states.

A spin is minimised over where the least energy is again a quadratic form of the others: where it is fixed by
its field or tied to a neighbour, and where it has three neighbours at most, its field counted as one. Of two
spins that feel their neighbours alike, and do not repel one another, one goes by the other. Each state of what
is left stands for all that differ from it in what was taken out, and has the energy of the lowest. Where
`ordered`, it has the code of that one, too. Where one state is wanted, spins that have one value in all ground
states get it (docs/theory/spectrum.md). After E. Boros, P. L. Hammer, Discrete
Appl. Math. 123 (2002) 155.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.ising.exact import ExactTerms, to_limbs
from hardscape.ising.methods.reduction.steps import Persistent, Place, Removal, Step, Twins

#: Bits below the least of a coefficient: most eliminations in a row that halve or quarter couplings.
SPARE_BITS = 24
#: Neighbours, a field counted as one, of a spin that is minimised over whatever they are.
_MOST_NEAR = 3
#: Spins up to which twins are looked for, and how far ratios of their couplings may be off in double precision.
_MOST_WITH_TWINS, _ALIKE = 1024, 1e-9
#: Bits of all coefficients together with which a flow is exact, and looks at each of its arcs, at most.
_FLOW_BITS, _LOOKS = 120, 1000


@dataclass(frozen=True)
class Remainder:
    """What is left of a model: energies are integers in units of ``2**exponent``."""

    places: tuple[Place, ...]  #: of the spins that are left, the lowest first
    fields: Mapping[int, int]
    near: Mapping[int, Mapping[int, int]]
    offset: int
    exponent: int
    steps: tuple[Step, ...]

    def parts(self) -> Iterator[tuple[Place, ...]]:
        """Spins that are coupled, through others or not; the largest part last."""
        found, seen = [], set()
        for place in self.places:
            if place.spin in seen:
                continue
            part, waiting = {place.spin}, [place.spin]
            while waiting:
                new = self.near[waiting.pop()].keys() - part
                part |= new
                waiting += new
            seen |= part
            found.append(tuple(x for x in self.places if x.spin in part))
        yield from sorted(found, key=len)

    def terms(self, part: tuple[Place, ...]) -> ExactTerms:
        """The model of a part, without the offset: bit k is that of its k-th place."""
        number = {place.spin: k for k, place in enumerate(part)}
        up = [place.up for place in part]
        pairs = sorted(
            (number[i], number[j], x * up[number[i]] * up[number[j]])
            for i in number
            for j, x in self.near[i].items()
            if number[i] < number[j]
        )
        return ExactTerms.of_integers(
            [self.fields[x.spin] * x.up for x in part],
            np.array([i for i, _, _ in pairs], dtype=np.int64),
            np.array([j for _, j, _ in pairs], dtype=np.int64),
            [x for _, _, x in pairs],
            0,
            self.exponent,
        )


def reduced(terms: ExactTerms, ordered: bool, single: bool = False) -> Remainder:
    """Take out all spins that can go; if `ordered`, where the lowest of states that tie stays the lowest.

    If not, the last spin of a model without fields is held down. If `single`, of a list of two states the
    first is right, and whether the second ties with it.
    """
    model = _Model(terms, ordered)
    if terms.symmetric and not ordered:
        model.hold(terms.num_spins - 1)
    model.shrink()
    while (single and model.set_persistent()) or model.merge_twins():
        model.shrink()
    places = sorted(model.places.values(), key=lambda x: x.position)
    return Remainder(
        tuple(places),
        model.fields,
        model.near,
        model.offset,
        terms.exponent - SPARE_BITS,
        tuple(model.steps),
    )


def alike(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Pairs i < j whose couplings to all others seem to be in proportion; fields are the last column."""
    gram = matrix @ matrix.T
    # Without what both couple to one another.
    norms = np.diag(gram)[:, None] - matrix[:, :-1] ** 2
    return np.triu((gram**2 >= (1 - _ALIKE) * norms * norms.T) & (norms > 0), 1)


def stays_whole(terms: ExactTerms) -> bool:
    """Whether it is soon seen that no spin can go: of dense models."""
    n, size = terms.num_spins, float(terms.bound)
    degrees = np.bincount(np.concatenate([terms.row, terms.col]), minlength=n)
    # Where each is coupled to half of the others, all of them are, through others or not.
    if not max(_MOST_NEAR + 1, n // 2) <= degrees.min(initial=n) or n > _MOST_WITH_TWINS:
        return False
    matrix = np.zeros((n, n + 1))
    matrix[terms.row, terms.col] = [x / size for x in terms.couplings]
    matrix[:, :n] += matrix[:, :n].T
    matrix[:, n] = [x / size for x in terms.fields]
    sizes = abs(matrix)
    room = (sizes.sum(axis=1) - 2 * sizes.max(axis=1)) > _ALIKE
    return bool(room.all()) and not alike(matrix).any()


class _Model:
    """A model that shrinks."""

    def __init__(self, terms: ExactTerms, ordered: bool) -> None:
        n = terms.num_spins
        self.ordered = ordered
        self.fields = {i: x << SPARE_BITS for i, x in enumerate(terms.fields)}
        self.near: dict[int, dict[int, int]] = {i: {} for i in range(n)}
        self.offset = terms.offset << SPARE_BITS
        self.places = {i: Place(i, i, 1) for i in range(n)}
        self.steps: list[Step] = []
        for i, j, x in zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True):
            self.near[i][j] = self.near[j][i] = x << SPARE_BITS
        self._waiting: list[tuple[int, int]] = []

    def hold(self, spin: int) -> None:
        """Set a spin to -1."""
        self._assign(spin, -1)

    def shrink(self) -> None:
        """Minimise over spins, those of few neighbours first, until none can go."""
        self._waiting = [(len(near), i) for i, near in self.near.items()]
        heapify(self._waiting)
        while self._waiting:
            degree, i = heappop(self._waiting)
            if i in self.near and len(self.near[i]) == degree:
                self._minimise(i)

    def _minimise(self, i: int) -> None:
        """Take a spin out if what it leaves is quadratic."""
        field, near = self.fields[i], self.near[i]
        sizes = sum(map(abs, near.values()))
        step = self._removal(i)
        if abs(field) >= sizes:
            value = step.low if field == 0 else -_sign(field)
            if not self.ordered or abs(field) > sizes or value == step.low:
                self.steps.append(step)
                self._assign(i, value)
                return
        else:
            k = max(near, key=lambda j: abs(near[j]))
            rest = abs(field) + sizes - 2 * abs(near[k])
            if rest < 0 or (rest == 0 and self._is_lowest(i)):
                self.steps.append(step)
                self._tie(i, k, -_sign(near[k]), strictly=rest < 0)
                return
        if len(near) + (field != 0) <= _MOST_NEAR and self._is_lowest(i):
            self._quadratic(i, step)

    def _is_lowest(self, i: int) -> bool:
        """Whether the order of states is that of the spins that it depends on."""
        mine = self.places[i].position
        return not self.ordered or all(self.places[j].position > mine for j in self.near[i])

    def _removal(self, i: int) -> Removal:
        place = self.places[i]
        near = tuple(self.near[i].items())
        return Removal(place, None, self.fields[i], near, -place.up)

    def _assign(self, i: int, value: int) -> None:
        """Fix a spin."""
        self.offset += value * self.fields[i]
        for j, x in self._without(i).items():
            self.fields[j] += value * x

    def _tie(self, i: int, k: int, sign: int, strictly: bool = True) -> None:
        """Spin i goes by `sign` times spin k; with its bit where the order of states is kept."""
        one, other = self.places[i], self.places[k]
        step = self.steps[-1]
        assert not isinstance(step, Persistent)
        self.steps[-1] = step.with_partner(other)
        if strictly and one.position > other.position:
            self.places[k] = Place(k, one.position, one.up * sign)
        field = self.fields[i]
        near = self._without(i)
        self.offset += sign * near.pop(k, 0)
        self.fields[k] += sign * field
        for j, x in near.items():
            self._add(k, j, sign * x)

    def _quadratic(self, i: int, step: Removal) -> None:
        """Add the least value of what a spin of few neighbours adds, minus the size of its field."""
        near = list(self.near[i].items())
        if step.field:
            near.append((-1, step.field))
        form = least(tuple(x for _, x in near))
        if form is None:
            return
        self.steps.append(step)
        self._without(i)
        constant, pairs = form
        self.offset += constant
        for (a, b), x in pairs:
            j, k = near[a][0], near[b][0]
            if k == -1:
                self.fields[j] += x
            else:
                self._add(j, k, x)

    def _without(self, i: int) -> dict[int, int]:
        """Forget a spin; its couplings."""
        near = self.near.pop(i)
        for j in near:
            del self.near[j][i]
            self._waiting_again(j)
        del self.fields[i], self.places[i]
        return near

    def _add(self, j: int, k: int, x: int) -> None:
        total = self.near[j].get(k, 0) + x
        if total:
            self.near[j][k] = self.near[k][j] = total
        elif k in self.near[j]:
            del self.near[j][k], self.near[k][j]
        self._waiting_again(j)
        self._waiting_again(k)

    def _waiting_again(self, i: int) -> None:
        heappush(self._waiting, (len(self.near[i]), i))

    def set_persistent(self) -> bool:
        """Give spins the value that they have in all ground states; whether there were such."""
        spins = list(self.near)
        number = {i: k for k, i in enumerate(spins)}
        pairs = [
            (number[i], number[j], x)
            for i, near in self.near.items()
            for j, x in near.items()
            if number[i] < number[j]
        ]
        fields, couplings = [self.fields[i] for i in spins], [x for _, _, x in pairs]
        total = sum(map(abs, fields)) + sum(map(abs, couplings))
        if not any(fields) or total.bit_length() > _FLOW_BITS:
            return False
        row, col = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in (0, 1))
        looks = _LOOKS * (len(spins) + len(pairs))
        values = native.core.ising.persistent(
            to_limbs(fields, 2), row, col, to_limbs(couplings, 2), looks
        )
        chosen = [(i, value) for i, value in zip(spins, values.tolist(), strict=True) if value]
        for i, value in chosen:
            self.steps.append(Persistent(self.places[i], value))
            self._assign(i, value)
        return bool(chosen)

    def merge_twins(self) -> bool:
        """Let one of two spins that feel all others alike go by the other; whether there were such."""
        merged = False
        for i, j in self._alike():
            if i in self.near and j in self.near:
                merged |= self._merge(i, j)
        return merged

    def _alike(self) -> list[tuple[int, int]]:
        """Pairs whose couplings to all others, fields included, seem to be in proportion."""
        spins = list(self.near)
        if not 1 < len(spins) <= _MOST_WITH_TWINS:
            return []
        number = {i: k for k, i in enumerate(spins)}
        largest = max([1, *map(abs, self.fields.values())])
        largest = max([largest, *(abs(x) for near in self.near.values() for x in near.values())])
        matrix = np.zeros((len(spins), len(spins) + 1))
        for i, k in number.items():
            matrix[k, -1] = self.fields[i] / largest
            for j, x in self.near[i].items():
                matrix[k, number[j]] = x / largest
        first, second = np.nonzero(alike(matrix))
        return [(spins[i], spins[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]

    def _merge(self, i: int, j: int) -> bool:
        one, other = ({-1: self.fields[x], **self.near[x]} for x in (i, j))
        coupling = one.pop(j, 0)
        other.pop(i, None)
        one, other = ({k: x for k, x in both.items() if x} for both in (one, other))
        if one.keys() != other.keys() or not one:
            return False
        first = next(iter(one))
        if any(one[k] * other[first] != other[k] * one[first] for k in one):
            return False
        sign = _sign(one[first]) * _sign(other[first])
        aligned = sign * self.places[i].up * self.places[j].up == 1
        if sign * coupling > 0 or (self.ordered and not coupling and not aligned):
            return False
        mine, gone = self.places[i], self.places[j]
        highest = Place(i, gone.position, gone.up * sign)
        low = -(highest if gone.position > mine.position else mine).up
        forms = [(both.pop(-1, 0), tuple(both.items())) for both in (one, other)]
        self.steps.append(Twins(gone, mine, forms[0], forms[1], sign, abs(coupling), low))
        self._tie(j, i, sign)
        return True


def least(near: tuple[int, ...]) -> tuple[int, list[tuple[tuple[int, int], int]]] | None:
    """The least of ``sum_k near[k] y_k s`` over s as a quadratic form of y; None if it is not of integers."""
    if len(near) <= 2:
        sizes = sorted(map(abs, near))
        if len(near) < 2:
            return -sum(sizes), []
        return -sizes[1], [((0, 1), -sizes[0] * _sign(near[0]) * _sign(near[1]))]
    a, b, c = near
    whole, one, two, three = abs(a + b + c), abs(b + c - a), abs(a + c - b), abs(a + b - c)
    four = {
        (0, 1): whole - one - two + three,
        (0, 2): whole - one + two - three,
        (1, 2): whole + one - two - three,
    }
    constant = whole + one + two + three
    if any(x % 4 for x in (constant, *four.values())):
        return None
    return -(constant // 4), [(pair, -(x // 4)) for pair, x in four.items() if x]


def _sign(x: int) -> int:
    return 1 if x > 0 else -1
