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


def check_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Check extents X, ..., T: two to five integers of 2 or more, no more sites than fit a machine."""
    try:
        extents = tuple(shape)
    except TypeError:
        extents = ()
    whole = [isinstance(x, int | np.integer) and not isinstance(x, bool) for x in extents]
    if len(extents) not in layouts.NAMES or not all(whole) or min(extents) < 2:
        raise InputError(
            f"shape={shape!r}; two to five extents of 2 or more, X, Y, Z, T, the last one time, are accepted"
        )
    found = tuple(int(i) for i in extents)
    volume = math.prod(found)
    if volume > _MAX_SITES:
        size = len(found) * 144 * volume / 1e9
        raise InputError(
            f"shape={shape!r} has {volume} sites, {size:.3g} GB of SU(3) links in double; "
            f"at most {_MAX_SITES} sites are accepted"
        )
    return found


def require_links(shape: Sequence[int], nc: int, times: float, kind: Any = np.complex128) -> None:
    """Refuse, with a BudgetError, links that memory does not hold so many times at once."""
    a_site = times * len(shape) * nc * nc * np.dtype(kind).itemsize
    size = int(a_site * math.prod(shape))
    what = f"a lattice of {'x'.join(map(str, shape))} with SU({nc})"
    try:
        memory.require(size, what)
    except BudgetError as error:
        fitting = 2 * int((memory.available() / a_site) ** (1 / len(shape)) / 2)
        raise BudgetError(f"{error}, which hold {'x'.join(len(shape) * [str(fitting)])}") from None


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
    other = layouts.pyquda_layout(array.shape)
    if not layouts.fits_ours(array.shape):
        ours = "(T, Z, Y, X, 4, Nc, Nc), or of two, three or five dimensions,"
        hint = f"; {other!r} would fit: GaugeField.from_pyquda takes it" if other else ""
        raise InputError(f"links have shape {array.shape}; {ours} is needed, Nc = 2 to 8{hint}")
    group(array.shape[-1])
    check_shape(array.shape[-4::-1])
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
    if layout is None:
        _refuse_others(array, other)
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


def _refuse_others(array: Any, other: str | None) -> None:
    """Refuse arrays that are in another layout, or may be."""
    if array.ndim == 7:
        _refuse_better(array, other)
    if other is None:
        return
    views = [array, layouts.laid_out(array, other)]
    winner, highest, second = layouts.best(views)
    if winner == 0 and highest - second > layouts.STANDS_OUT:
        return
    order = layouts.ours(array.shape[-3])
    told = (
        f"the plaquette speaks for {other!r}"
        if winner == 1 and highest - second > layouts.STANDS_OUT
        else "the plaquette does not tell"
    )
    raise InputError(
        f"links of shape {array.shape} are {order!r} or {other!r} (as PyQUDA has them), and {told}; "
        f"say which by layout={order!r} or GaugeField.from_pyquda"
    )


def _refuse_better(array: Any, other: str | None) -> None:
    """Refuse an array whose plaquette stands out in an order of axes that is neither ours nor the other one."""
    better = layouts.better_layout(array, layouts.OURS)
    if better not in (None, other):
        raise InputError(
            f"links of shape {array.shape} are {layouts.OURS!r} or {better!r}, and the plaquette speaks for "
            f"the second; say which by layout={better!r} or layout={layouts.OURS!r}"
        )
