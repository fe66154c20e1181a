"""Orders in which arrays and files without a header hold links.

A layout names the axes from the slowest to the fastest: ``t z y x``, ``mu`` the direction, ``a`` and ``b``
row and column, ``eo`` the parity x + y + z + t mod 2 of a site, beside which ``x`` counts the pairs of
neighbours in x. Directions run x, y, z, t; ``mu[txyz]`` is another order of them. Lattices of two, three and
five dimensions have the axes ``t x``, ``t y x`` and ``t w z y x``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace, to_device
from hardscape.errors import InputError
from hardscape.gauge.groups import dagger, group

#: Names of the directions in each number of dimensions, in their order.
NAMES = {2: "xt", 3: "xyt", 4: "xyzt", 5: "xyzwt"}
#: The order of axes of a field's array, for those of four dimensions and standing for that of all.
OURS = "t z y x mu a b"
#: Those of PyQUDA, with sites by parity or not.
PYQUDA = {True: "mu eo t z y x a b", False: "mu t z y x a b"}
_MU = re.compile(r"mu(?:\[([xyzwt]{2,5})\])?")
#: Sites by parity, as codes for GPUs have them.
BY_PARITY = tuple(
    f"{order} {matrix}"
    for matrix in ("a b", "b a")
    for order in ("mu eo t z y x", "eo t z y x mu", "eo mu t z y x")
)
#: Orders that arrays of four dimensions have in other packages, the more usual first.
_OF_ARRAYS = tuple(
    text.replace("sites", sites).replace("mu", mu)
    for sites, mu in (
        ("t z y x", "mu"),
        ("x y z t", "mu"),
        ("t x y z", "mu[txyz]"),
        ("t x y z", "mu"),
        ("x y z t", "mu[txyz]"),
    )
    for text in ("sites mu a b", "mu sites a b", "mu a b sites", "a b mu sites", "a b sites mu")
)
#: Sites that are looked at: at first, and of those layouts that are left.
_FEW, _SOME, _MANY = 64, 256, 1024
#: Sites of a close look.
MOST = 4096
#: By how much a plaquette must stand out for links to be taken as being in order; what is left of it in
#: the wrong one is at most a third, and noise of `_MANY` sites 0.01.
STANDS_OUT = 0.05


@dataclass(frozen=True)
class Layout:
    """An order of axes."""

    axes: tuple[str, ...]
    directions: str = "xyzt"

    @classmethod
    def parse(cls, text: str) -> Layout:
        """Read the names of the axes, slowest first."""
        words, directions = [], ""
        for word in text.split():
            found = _MU.fullmatch(word)
            directions = (found and found[1]) or directions
            words.append("mu" if found else word)
        plain = sorted(word for word in words if word != "eo")
        names = NAMES.get(len(plain) - 3, "")
        directions = directions or names
        parities = words.count("eo") <= (names == "xyzt")
        if (
            plain != sorted(ours(len(names)).split())
            or sorted(directions) != sorted(names)
            or not parities
        ):
            raise InputError(
                f"layout={text!r}; t, z, y, x, mu, a and b are accepted, each once, and eo, "
                f"slowest first: {OURS!r}, 'mu eo t z y x a b', 't x y z mu[txyz] a b'"
            )
        return cls(tuple(words), directions)

    def __str__(self) -> str:
        mu = "mu" if self.directions == self.names else f"mu[{self.directions}]"
        return " ".join(mu if axis == "mu" else axis for axis in self.axes)

    @property
    def names(self) -> str:
        """Of the directions, in the order of a field."""
        return NAMES[len(self.directions)]

    def sizes(self, shape: Sequence[int], nc: int, rows: int) -> dict[str, int]:
        """The length of each axis, for extents X, Y, Z, T."""
        if len(shape) != len(self.names):
            raise InputError(
                f"layout='{self}' is of {len(self.names)} dimensions; shape={tuple(shape)}"
            )
        sizes = dict(zip(self.names, shape, strict=True)) | {"mu": len(shape), "a": rows, "b": nc}
        if "eo" in self.axes:
            if sizes["x"] % 2:
                raise InputError(f"layout='{self}' needs an even extent in x; it is {sizes['x']}")
            sizes |= {"eo": 2, "x": sizes["x"] // 2}
        return sizes

    def view(self, numbers: Any, shape: Sequence[int], nc: int, rows: int | None = None) -> Any:
        """Links of shape (T, Z, Y, X, 4, rows, Nc) from numbers in this order: a view, without ``eo``."""
        sizes = self.sizes(shape, nc, nc if rows is None else rows)
        array = numbers.reshape([sizes[axis] for axis in self.axes])
        if "eo" in self.axes:
            array = array.transpose([self.axes.index(axis) for axis in ("eo", *OURS.split())])
            links = lexicographic(array)
        else:
            names = ours(len(self.names)).split()
            links = array.transpose([self.axes.index(axis) for axis in names])
        order = [self.directions.index(axis) for axis in self.names]
        return links if self.directions == self.names else links[..., order, :, :]

    def numbers(self, links: Any) -> Any:
        """The numbers of links, shape (T, Z, Y, X, 4, rows, Nc), in this order."""
        if links.shape[-3] != len(self.names):
            raise InputError(
                f"layout='{self}' is of {len(self.names)} dimensions, the field of {links.shape[-3]}"
            )
        array = links[..., [self.names.index(axis) for axis in self.directions], :, :]
        names = ours(len(self.names)).split()
        if "eo" in self.axes:
            array, names = even_odd(array), ["eo", *names]
        return array.transpose([names.index(axis) for axis in self.axes])


def lexicographic(array: Any) -> Any:
    """Sites in their order, shape (T, Z, Y, X, ...), from those of each parity, (2, T, Z, Y, X / 2, ...)."""
    _, t, z, y, half, *rest = array.shape
    links = np.empty((t, z, y, 2 * half, *rest), dtype=array.dtype)
    # Along x even and odd sites take turns; rows of odd y + z + t begin with an odd one.
    odd = np.indices((t, z, y)).sum(axis=0) % 2 == 1
    for parity in (0, 1):
        links[~odd, parity::2] = array[parity][~odd]
        links[odd, parity::2] = array[1 - parity][odd]
    return links


def even_odd(links: Any) -> Any:
    """The opposite of `lexicographic`."""
    t, z, y, x, *rest = links.shape
    if x % 2:
        raise InputError(f"sites by parity need an even extent in x; it is {x}")
    array = np.empty((2, t, z, y, x // 2, *rest), dtype=links.dtype)
    odd = np.indices((t, z, y)).sum(axis=0) % 2 == 1
    for parity in (0, 1):
        array[parity][~odd] = links[~odd, parity::2]
        array[1 - parity][odd] = links[odd, parity::2]
    return array


def laid_out(array: Any, layout: str) -> Any:
    """Links of shape (T, Z, Y, X, 4, Nc, Nc) from an array whose axes are those of a layout."""
    if layout == OURS and fits_ours(array.shape):
        return array
    order = Layout.parse(layout)
    if array.ndim != len(order.axes):
        raise InputError(
            f"links have shape {array.shape}; layout={layout!r} has {len(order.axes)} axes"
        )
    sizes = dict(zip(order.axes, array.shape, strict=True))
    if (sizes["mu"], sizes["a"], sizes.get("eo", 2)) != (len(order.names), sizes["b"], 2):
        raise InputError(f"links have shape {array.shape}, which layout={layout!r} does not fit")
    shape = [sizes[axis] for axis in order.names]
    shape[0] *= sizes.get("eo", 1)
    return order.view(array, shape, sizes["b"])


def ours(dimensions: int) -> str:
    """The order of axes of a field's array; nothing for other dimensions."""
    return f"{' '.join(NAMES[dimensions][::-1])} mu a b" if dimensions in NAMES else ""


def extents(shape: Sequence[int]) -> str:
    """Extents in words: 4x4x8 (x, y, t)."""
    return f"{'x'.join(map(str, shape))} ({', '.join(NAMES[len(shape)])})"


def fits_ours(shape: Sequence[int]) -> bool:
    """Whether a shape is (T, ..., X, dimensions, Nc, Nc)."""
    dimensions = len(shape) - 3
    return dimensions in NAMES and shape[-3] == dimensions and shape[-1] == shape[-2]


def pyquda_layout(shape: Sequence[int]) -> str | None:
    """The layout of PyQUDA that a shape fits."""
    if len(shape) not in (7, 8) or shape[0] != 4 or shape[-1] != shape[-2]:
        return None
    if len(shape) == 8 and shape[1] != 2:
        return None
    return PYQUDA[len(shape) == 8]


def from_pyquda(gauge: Any) -> tuple[NDArray[Any], str]:
    """The array of a field or an array of PyQUDA, and its layout."""
    held = getattr(gauge, "data", gauge) if hasattr(gauge, "latt_info") else gauge
    array = np.asarray(to_device(held, "cpu"))
    layout = pyquda_layout(array.shape)
    if layout is None:
        raise InputError(
            f"links have shape {array.shape}; (4, 2, T, Z, Y, X / 2, Nc, Nc) and "
            "(4, T, Z, Y, X, Nc, Nc) are accepted"
        )
    return array, layout


def to_pyquda(links: NDArray[Any], *, even_odd: bool) -> NDArray[Any]:
    """Links of four dimensions as PyQUDA has them."""
    return np.ascontiguousarray(Layout.parse(PYQUDA[even_odd]).numbers(links))


def from_gpt(lattices: Sequence[Any]) -> NDArray[Any]:
    """Links of shape (T, Z, Y, X, 4, Nc, Nc) from four lattices, whose sites run with x fastest."""
    shape = _gpt_shape(lattices)
    parts = [np.asarray(lattice[:]) for lattice in lattices]
    links = np.stack([part.reshape(*shape[::-1], *part.shape[-2:]) for part in parts], axis=4)
    return np.ascontiguousarray(links)


def to_gpt(links: NDArray[Any], lattices: Sequence[Any]) -> Sequence[Any]:
    """Fill four lattices with links."""
    shape = _gpt_shape(lattices)
    if shape != list(links.shape[-4::-1]):
        raise InputError(f"lattices have extents {shape}; {list(links.shape[-4::-1])} are needed")
    for mu, lattice in enumerate(lattices):
        lattice[:] = np.ascontiguousarray(links[..., mu, :, :]).reshape(-1, *links.shape[-2:])
    return lattices


def _gpt_shape(lattices: Sequence[Any]) -> list[int]:
    found = [list(x.grid.fdimensions) for x in lattices if hasattr(x, "grid")]
    if len(found) != 4 or len(lattices) != 4 or any(len(x) != 4 or x != found[0] for x in found):
        raise InputError(
            f"{len(lattices)} lattices are given; four of gpt, of one grid of four dimensions, are accepted"
        )
    return found[0]


# -- which layout it is -----------------------------------------------------------------------


def plausible(shape: Sequence[int]) -> Iterator[Layout]:
    """Layouts that codes have, the usual first.

    Those that differ by no more than the names of axes of one extent are told by nothing: one of them comes.
    """
    names = NAMES[len(shape)]
    same = [
        dict(zip(names, others, strict=True))
        for others in itertools.permutations(names)
        if [shape[names.index(name)] for name in others] == list(shape)
    ]
    seen: set[tuple[tuple[str, ...], str]] = set()
    last = len(names)
    places = [(matrix, i) for matrix in ("ab", "ba") for i in (last, *range(last))]
    places += [(matrix, place) for matrix in ("ab", "ba") for place in (-1, -2)]
    # Orders of the directions that codes have.
    orders = (names, "t" + names[:-1], names[::-1], names[-2::-1] + "t")
    for directions in dict.fromkeys(orders):
        for sites in itertools.permutations(names[::-1]):
            for matrix, place in places:
                if (
                    place < 0
                ):  # sites are the fastest, as in arrays U(x, y, z, t, mu, a, b) of Fortran
                    axes = (*((*matrix, "mu") if place == -1 else ("mu", *matrix)), *sites)
                else:
                    axes = (*sites[:place], "mu", *sites[place:], *matrix)
                alike = {
                    (
                        tuple(other.get(axis, axis) for axis in axes),
                        "".join(other[axis] for axis in directions),
                    )
                    for other in same
                }
                if not alike & seen:
                    seen.add((axes, directions))
                    yield Layout(axes, directions)


def sampled(links: Any, sites: int = _MANY) -> float:
    """The plaquette of links, shape (T, Z, Y, X, 4, rows, Nc) in any memory, of some sites alone."""
    dimensions = len(links.shape[:-3])
    with np.errstate(all="ignore"):
        pairs = _corners(links, sites)
        total = sum(
            float(np.einsum("nij,nij->n", up, over.conj()).real.mean()) for up, over in pairs
        )
    mean = total / (math.comb(dimensions, 2) * links.shape[-1])
    return float(mean) if math.isfinite(mean) else -2.0  # less than any plaquette


def _corners(links: Any, sites: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Of each plane the two ways from corner to corner of plaquettes, at some sites."""
    extents = links.shape[:-3]
    dimensions = len(extents)
    at = list(np.unravel_index(_chosen(math.prod(extents), sites), extents))
    here = _matrices(links, at)
    ahead = []
    for axis in reversed(range(dimensions)):
        place = list(at)
        place[axis] = (place[axis] + 1) % extents[axis]
        ahead.append(_matrices(links, place))
    for mu, nu in itertools.combinations(range(dimensions), 2):
        yield here[:, mu] @ ahead[mu][:, nu], here[:, nu] @ ahead[nu][:, mu]


def in_order(links: Any, sites: int, deviations: float) -> bool:
    """Whether in each plane plaquettes stand out from those of ways of different sites, as in no other order.

    By so many standard deviations. Disordered links may be in order all the same.
    """
    with np.errstate(all="ignore"):  # of numbers that are none it is not so
        for up, over in _corners(links, sites):
            paired = np.einsum("nij,nij->n", up, over.conj()).real
            other = np.einsum("nij,nij->n", up, np.roll(over, 1, axis=0).conj()).real
            ahead = paired - other
            if not ahead.mean() > deviations * ahead.std() / math.sqrt(len(ahead)):
                return False
    return True


def _chosen(volume: int, sites: int) -> NDArray[np.int64]:
    """Some sites by their number; all of a small lattice."""
    if volume <= sites:
        return np.arange(volume)
    return np.random.default_rng(1).integers(volume, size=sites)


def _matrices(links: Any, at: Sequence[NDArray[np.int64]]) -> NDArray[np.complex128]:
    xp = array_namespace(links)
    found = to_device(links[tuple(xp.asarray(i) for i in at)], "cpu").astype(np.complex128)
    rows, nc = found.shape[-2:]
    if rows == nc:
        return np.asarray(found)
    return np.concatenate([found, group(nc).last_row(found)[..., None, :]], axis=-2)


def may_be_unitary(stored: NDArray[Any], nc: int) -> bool:
    """Whether numbers in any order may be those of rows of unit length, most of them at least."""
    some = stored.reshape(-1)[_chosen(stored.size, _MANY)]
    with np.errstate(all="ignore"):
        squares = np.abs(some.astype(np.complex128)) ** 2
    fits = squares < 1.01  # false of what is not finite
    # Half of the rows at the least bring 1 / Nc a number.
    return bool(fits.mean() > 0.4 and squares[fits].sum() * nc > 0.4 * len(squares))


def orthonormal(links: Any) -> bool:
    """Whether some matrices of links, shape (T, Z, Y, X, 4, rows, Nc), are near the group."""
    extents = links.shape[:-3]
    volume = math.prod(extents)
    with np.errstate(all="ignore"):
        found = _matrices(links, np.unravel_index(_chosen(volume, _FEW), extents))
        unit = found @ dagger(found)
        near = np.abs(unit - np.eye(found.shape[-1])).max(axis=(-1, -2)) < 1e-3
        near &= np.abs(np.linalg.det(np.where(np.isfinite(found), found, 0)) - 1) < 1e-3
    # Links in t of the last timeslice may be zero.
    return bool(near.mean() > 0.5)


def best(links: Sequence[Any]) -> tuple[int, float, float]:
    """The number of the links with the largest plaquette, that plaquette, and the next one; -2 without one."""
    first = [sampled(x, _FEW) for x in links]
    left = np.argsort(first)[::-1][:12]
    second = {int(i): sampled(links[int(i)]) for i in left}
    order = sorted(second, key=lambda i: -second[i])
    # Layouts may hold the very same links: the first of them stands for all.
    winner = min(i for i in order if second[i] == second[order[0]])
    rest = [second[i] for i in order if second[i] != second[winner]]
    return winner, second[winner], max(rest, default=-2.0)


def noise(nc: int, extents: Sequence[int]) -> float:
    """By what the largest of hundreds of plaquettes of shuffled links hardly exceeds the next: 3 deviations.

    Re tr / Nc of a random matrix deviates by 1/2 for SU(2) and 1 / (Nc sqrt 2) for others.
    """
    planes = len(extents) * (len(extents) - 1) // 2
    return 3 / math.sqrt((4 if nc == 2 else 2 * nc * nc) * planes * math.prod(extents))


def better_layout(array: Any, assumed: str | None) -> str | None:
    """The layout in which links of an array of seven axes are in order, if in the assumed one they are not.

    Its plaquette stands out, too: links that were fixed to a gauge are like their neighbours in any order. Of
    layouts that differ by the names of axes alone, which nothing tells, it is the one with equal extents in
    space, or the more usual one.
    """
    if assumed is not None and in_order(laid_out(array, assumed), _SOME, 5.0):
        return None
    views = {x: laid_out(array, x) for x in _OF_ARRAYS if _fits(array.shape, x)}
    found = [
        name
        for name, view in views.items()
        if orthonormal(view) and in_order(view, _SOME, 1.0) and in_order(view, MOST, 5.0)
    ]
    if assumed in found:
        return None
    if assumed is not None:
        stated = sampled(laid_out(array, assumed))
        found = [name for name in found if sampled(views[name]) > stated + STANDS_OUT]
    if not found:
        return None
    return min(found, key=lambda name: len({*views[name].shape[1:4]}) > 1)


def _fits(shape: Sequence[int], layout: str) -> bool:
    """Whether an array of this shape may have a layout."""
    axes = Layout.parse(layout).axes
    sizes = dict(zip(axes, shape, strict=False))
    return len(axes) == len(shape) and sizes["mu"] == 4 and sizes["a"] == sizes["b"] > 1


def other_orders(links: Any) -> tuple[str, ...]:
    """What tells that extents were given in another order than links, shape (T, Z, Y, X, ...), have them."""
    extents = links.shape[-4::-1]
    orders = sorted(set(itertools.permutations(extents)), key=lambda order: order != extents)
    views = [links.reshape(*order[::-1], *links.shape[-3:]) for order in orders]
    stated, (winner, highest, _) = sampled(links), best(views)
    if winner == 0 or highest - stated <= STANDS_OUT:
        return ()
    return (
        f"as {orders[winner]} the plaquette is {highest:.3g}, as {extents} {stated:.3g}: shape (--shape) "
        "seems to have the extents in another order",
    )
