"""What an array of links must be: extents, numbers, layout; and the memory that it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from hardscape import memory, native
from hardscape.arrays import array_namespace, as_number_array, current
from hardscape.engine import split, team
from hardscape.engine.lanes import working_threads
from hardscape.errors import BudgetError, InputError
from hardscape.gauge import layouts
from hardscape.gauge.groups import group

R = TypeVar("R")

#: Most sites of a field; more is a slip of the pen, not a lattice that fits a machine.
_MAX_SITES = 2**30
#: Entries of matrices in the group are at most 1; products of these do not overflow.
_MAX_ENTRY = 1e6
#: Bytes of links from which several threads are worth starting, and that one takes at once.
_WORTH_THREADS, _PIECE = 2**22, 2**26


def check_shape(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """Check extents X, Y, Z, T: four integers of 2 or more, no more sites than fit a machine."""
    try:
        extents = tuple(shape)
    except TypeError:
        extents = ()
    whole = [isinstance(x, int | np.integer) and not isinstance(x, bool) for x in extents]
    if len(extents) != 4 or not all(whole) or min(extents) < 2:
        raise InputError(f"shape={shape!r}; four extents X, Y, Z, T of 2 or more are accepted")
    x, y, z, t = (int(i) for i in extents)
    if x * y * z * t > _MAX_SITES:
        size = 4 * 144 * x * y * z * t / 1e9
        raise InputError(
            f"shape={shape!r} has {x * y * z * t} sites, {size:.3g} GB of SU(3) links in double; "
            f"at most {_MAX_SITES} sites are accepted"
        )
    return x, y, z, t


def require_links(shape: Sequence[int], nc: int, times: float, kind: Any = np.complex128) -> None:
    """Refuse, with a BudgetError, links that memory does not hold so many times at once."""
    a_site = times * 4 * nc * nc * np.dtype(kind).itemsize
    size = int(a_site * math.prod(shape))
    what = f"a lattice of {'x'.join(map(str, shape))} with SU({nc})"
    try:
        memory.require(size, what)
    except BudgetError as error:
        fitting = 2 * int((memory.available() / a_site) ** 0.25 / 2)
        raise BudgetError(f"{error}, which hold {'x'.join(4 * [str(fitting)])}") from None


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Check that `dtype` is complex64 or complex128."""
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.complex64, np.complex128):
        raise InputError(f"dtype={dtype!r}; complex64 and complex128 are accepted")
    return kind


def checked_links(links: Any, layout: str | None) -> Any:
    """Links in our order of axes and memory and the machine's byte order; an InputError for what are none."""
    xp = array_namespace(links)
    array = as_number_array(links, "links") if xp is np else links
    if layout not in (None, layouts.OURS):
        array = layouts.laid_out(array, layout)
    _refuse_others(array, layout)
    group(array.shape[6])
    check_shape(array.shape[3::-1])
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    check_dtype(array.dtype)
    with current(array):
        array = xp.ascontiguousarray(array)
        # What is not finite fails the comparison.
        fits = _largest(array.view(array.real.dtype).reshape(-1)) <= _MAX_ENTRY
    if not fits:
        position = [int(i) for i in xp.argwhere(~(xp.abs(array) <= _MAX_ENTRY))[0]]
        raise InputError(
            f"links{position} is {complex(array[tuple(position)])}; matrices near SU(Nc) are "
            f"accepted, with finite entries of at most {_MAX_ENTRY:g}"
        )
    return array


def _largest(numbers: Any) -> float:
    """The largest absolute value; not finite where a number is not."""
    xp = array_namespace(numbers)
    if xp is not np:
        return float(xp.maximum(numbers.max(), -numbers.min()))
    largest = native.vector.gauge.largest_number
    found = in_parts(len(numbers), numbers.nbytes, lambda i, j: largest(numbers, i, j))
    return float(np.max(found))


def in_parts(count: int, size: int, function: Callable[[int, int], R]) -> list[R]:
    """What `function` gives for ranges that together are 0 to `count`, in order, for `size` bytes of them.

    On the threads that the call of the moment may take.
    """
    if size < _WORTH_THREADS:
        return [function(0, count)]
    with team(working_threads()) as lanes:
        ranges = split(count, max(lanes.size, -(-size // _PIECE)))
        return lanes.map(lambda part: function(part.start, part.stop), ranges)


def _refuse_others(array: Any, layout: str | None) -> None:
    """Refuse arrays that are in another layout, or may be."""
    ours = "(T, Z, Y, X, 4, Nc, Nc)"
    other = layouts.pyquda_layout(array.shape)
    fits = array.ndim == 7 and array.shape[4] == 4 and array.shape[5] == array.shape[6]
    if not fits:
        hint = f"; {other!r} would fit: GaugeField.from_pyquda takes it" if other else ""
        raise InputError(f"links have shape {array.shape}; {ours} is needed, Nc = 2 to 8{hint}")
    if other is None or layout is not None:
        return
    views = [array, layouts.Layout.parse(other).view(array, array.shape[4:0:-1], array.shape[6])]
    winner, highest, second = layouts.best(views)
    if winner == 0 and highest - second > layouts.STANDS_OUT:
        return
    told = (
        f"the plaquette speaks for {other!r}"
        if winner == 1 and highest - second > layouts.STANDS_OUT
        else "the plaquette does not tell"
    )
    raise InputError(
        f"links of shape {array.shape} are {layouts.OURS!r} or {other!r} (as PyQUDA has them), and {told}; "
        f"say which by layout={layouts.OURS!r} or GaugeField.from_pyquda"
    )
