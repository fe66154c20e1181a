r"""Fourier-accelerated conjugate gradient towards Landau and Coulomb gauge.

Near a maximum the functional is a quadratic form whose eigenvalues go from about
:math:`p^2_{min}` to :math:`p^2_{max}`, and relaxation needs as many sweeps as their ratio says. Divided
by p^2 in momentum space the gradient sees a form of narrow spectrum, and the conjugate gradient
(Polak-Ribière) needs a number of steps that hardly grows with the lattice.

C. T. H. Davies et al., Phys. Rev. D 37, 1581 (1988); R. J. Hudspith, Comput. Phys. Commun. 187, 115
(2015).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace
from hardscape.gauge.groups import Group
from hardscape.gauge.options import FixOptions

#: A line search ends where the slope fell to this part of what it was.
_FLAT = 0.25
#: Factors by which one correction may change a step.
_SHORTEST, _LONGEST = -0.9, 2.0


class Moved(Protocol):
    """What moves along its gradient: lattices, or a slab of timeslices of one that is cut."""

    group: Group
    live: NDArray[np.bool_]

    def gradient(self) -> Any:
        """See `Lattices.gradient`."""

    def move(self, direction: Any, step: Any) -> None:
        """See `Lattices.move`."""


class Whole:
    """Fields (copies, components, T, Z, ..., X) that lie whole in one place; in 2D a row Z is a site."""

    def extents(self, here: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the lattice, T first, where a field has those `here`."""
        return here

    def own_rows(self, factor: Any) -> Any:
        """Of a factor of all momenta in space, shape (T, Z, ...), the rows that are here."""
        return factor

    def slice_sums(self, by_row: Any) -> Any:
        """Sums over all rows, shape (copies, T), from those that are here, (copies, T, Z)."""
        return by_row.sum(axis=2)

    def gathered(self, by_slice: Any) -> Any:
        """Numbers of all slices, shape (copies, T), from those of the slices that are here."""
        return by_slice

    def anywhere(self, flags: Any) -> bool:
        """Whether a flag is set, on whichever slice."""
        return bool(flags.any())

    def in_space(self, field: Any, *, back: bool = False) -> Any:
        """The transform in space, or the inverse one."""
        xp = array_namespace(field)
        axes = tuple(range(3, field.ndim))
        return (xp.fft.ifftn if back else xp.fft.fftn)(field, axes=axes)

    def in_time(self, field: Any, factor: Any) -> Any:
        """To momenta in time, there times a factor, shape (T, Z, ..., X), and back."""
        xp = array_namespace(field)
        return xp.fft.ifft(xp.fft.fft(field, axis=2) * factor, axis=2)

    def filtered(self, field: Any, factor: Any, *, sliced: bool) -> Any:
        """A field with a factor on its momenta: those in space alone where it is `sliced`."""
        momentum = self.in_space(field)
        if sliced:
            momentum *= self.own_rows(factor)
        else:
            momentum = self.in_time(momentum, factor)
        return self.in_space(momentum, back=True)


class FourierSteps:
    """The conjugate gradient over all copies of some lattices at once.

    Sums run over a timeslice for Coulomb gauge, each of which is a problem of its own, else over the
    lattice; either way they are kept by copy and slice, shape (copies, T).
    """

    def __init__(self, lattices: Moved, options: FixOptions, over: Whole | None = None) -> None:
        self._lattices = lattices
        self._over = over or Whole()
        self._above = lattices.group.above
        self._sliced = options.sliced
        residual = lattices.gradient()
        self._xp = array_namespace(residual)
        self._fixed = self._xp.asarray(~lattices.live)
        residual = self._free(residual)
        extents = self._over.extents(residual.shape[2:])
        self._filter, highest = self._preconditioner(extents, options)
        self._residual = residual
        self._smooth = self._filtered(residual)
        self._direction = -self._smooth
        self._norm = self._inner(residual, self._smooth)
        # The step that is right for a constant field whose links have a mean trace of 0.85.
        self._step = self._xp.full(self._norm.shape, 1 / (2 * 0.85 * highest))

    def advance(self, active: NDArray[np.bool_]) -> None:
        """Do one iteration where active, shape (copies, T): a line search, then a new direction.

        The slope at the end of a trial step tells how far to go. Where that is far from it, the gradient is
        computed again there, else it is taken to be linear along the way.
        """
        xp = self._xp
        mask = xp.asarray(active)
        slope = -self._inner(self._residual, self._direction)
        uphill = slope > 0
        self._direction = xp.where(self._spread(uphill), self._direction, -self._smooth)
        slope = xp.where(uphill, slope, self._norm)
        self._lattices.move(self._direction, self._step * mask)
        residual = self._free(self._lattices.gradient())
        after = -self._inner(residual, self._direction)
        wrong = (xp.abs(after) > _FLAT * xp.abs(slope)) & mask
        # Regula falsi; a slope that did not fall asks for the longest step.
        falls = slope - after > 0
        part = after / xp.where(falls, slope - after, 1.0)
        part = xp.where(falls, xp.clip(part, _SHORTEST, _LONGEST), _LONGEST) * mask
        self._lattices.move(self._direction, part * self._step)
        linear = residual + self._spread(part) * (residual - self._residual)
        if self._over.anywhere(wrong):
            fresh = self._free(self._lattices.gradient())
            linear = xp.where(self._spread(wrong), fresh, linear)
        self._turn(linear)
        self._step = xp.where(mask, self._step * (1 + part), self._step)

    def _turn(self, residual: Any) -> None:
        """Take the next direction after Polak and Ribière."""
        xp = self._xp
        smooth = self._filtered(residual)
        change = self._inner(residual, smooth) - self._inner(self._residual, smooth)
        beta = xp.maximum(change / xp.where(self._norm > 0, self._norm, 1.0), 0.0)
        self._direction = self._spread(beta) * self._direction - smooth
        self._residual, self._smooth = residual, smooth
        self._norm = self._inner(residual, smooth)

    def _free(self, gradient: Any) -> Any:
        """The gradient where the gauge is free: steps are zero on other timeslices."""
        if not self._lattices.live.all():
            gradient[:, :, self._fixed] = 0
        return gradient

    # -- sums and transforms -------------------------------------------------------------------

    def _preconditioner(self, shape: tuple[int, ...], options: FixOptions) -> tuple[Any, float]:
        """Highest p^2 over p^2 for each momentum, shape (T, Z, Y, X); and that highest p^2."""
        total = np.zeros(shape if not self._sliced else (1, *shape[1:]))
        for mu in range(options.directions):
            axis = len(shape) - 1 - mu
            extent = shape[axis]
            squares = 4 * np.sin(np.pi * np.arange(extent) / extent) ** 2
            along = [1] * len(shape)
            along[axis] = extent
            total = total + options.weights[mu] * squares.reshape(along)
        highest = float(total.max())
        # The gradient has no part at p = 0: a constant transformation changes nothing.
        factor = highest / np.where(total > 0, total, np.inf)
        return self._xp.asarray(factor), highest

    def _filtered(self, field: Any) -> Any:
        return self._over.filtered(field, self._filter, sliced=self._sliced)

    def _by_slice(self, a: Any, b: Any) -> Any:
        """tr(a b^dagger) of each slice, for packed fields: rows first, wherever they are."""
        xp = self._xp
        inside = tuple(range(4, a.ndim))
        products = xp.sum(a.real * b.real, axis=inside) + xp.sum(a.imag * b.imag, axis=inside)
        above, diagonal = slice(None, self._above), slice(self._above, None)
        total = 2 * products[:, above].sum(axis=1) + products[:, diagonal].sum(axis=1)
        # The last entry of the diagonal is minus the sum of the others.
        last_a, last_b = ((x.real + x.imag).sum(axis=1) for x in (a[:, diagonal], b[:, diagonal]))
        total = total + xp.sum(last_a * last_b, axis=tuple(range(3, last_a.ndim)))
        return self._over.slice_sums(total)

    def _inner(self, a: Any, b: Any) -> Any:
        """tr(a b^dagger) over what belongs together, shape (copies, T)."""
        by_slice = self._by_slice(a, b)
        if self._sliced:
            return by_slice
        whole = self._over.gathered(by_slice).sum(axis=1, keepdims=True)
        return self._xp.repeat(whole, by_slice.shape[1], axis=1)

    def _spread(self, values: Any) -> Any:
        return values[(slice(None), None, slice(None), *(None,) * (self._residual.ndim - 3))]
