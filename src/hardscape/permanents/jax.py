"""Permanents that JAX differentiates and compiles around. JAX itself is imported by the first call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import needed
from hardscape.permanents.derivatives.gradient import value_and_grad
from hardscape.permanents.permanent import permanent as find_permanent


def permanent(
    a: Any, *, rows: Sequence[int] | None = None, cols: Sequence[int] | None = None
) -> Any:
    r"""Permanent of a JAX array, for ``jax.grad``, ``jax.jit`` and ``jax.vmap``.

    Parameters
    ----------
    a : jax.Array, shape (n, n), (batch, n, n), or (m, n) with `rows` and `cols`
        Others become one; integers become floats.
    rows, cols : sequence of int, optional
        As for :func:`hardscape.permanent`; known when JAX traces.

    Returns
    -------
    jax.Array, shape () or (batch,)
        Of the dtype of `a`: found in float64, and rounded once for float32.

    Raises
    ------
    MissingDependencyError
        If JAX is not installed.

    Notes
    -----
    A ``jax.custom_vjp`` around calls back to the CPU. The gradient is that of
    :func:`hardscape.permanents.value_and_grad`, holomorphic for complex entries; there are no second
    derivatives.

    Examples
    --------
    .. code-block:: python

        import jax
        from hardscape.permanents.jax import permanent

        jax.grad(permanent)(jax.numpy.ones((4, 4)))  # all minors
    """
    jnp = needed("jax", "jax", "jax", "hardscape.permanents.jax").numpy
    given = jnp.asarray(a)
    if not jnp.issubdtype(given.dtype, jnp.inexact):
        given = given.astype(float)
    return _function(*(None if x is None else tuple(map(int, x)) for x in (rows, cols)))(given)


@cache
def _function(rows: tuple[int, ...] | None, cols: tuple[int, ...] | None) -> Any:
    import jax

    def shapes(a: Any) -> tuple[Any, Any]:
        value = jax.ShapeDtypeStruct(a.shape[:-2], a.dtype)
        return value, jax.ShapeDtypeStruct(a.shape, a.dtype)

    def call(function: Any, a: Any, of: Any) -> Any:
        return jax.pure_callback(function, of, a, vmap_method="expand_dims")

    def both(a: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        found = [value_and_grad(x, rows=rows, cols=cols) for x in _flat(a, rows, cols)]
        values, gradients = (_joined(x, a) for x in zip(*found, strict=True))
        return values.reshape(a.shape[:-2]), gradients.reshape(a.shape)

    def value(a: Any) -> NDArray[Any]:
        found = [find_permanent(x, rows=rows, cols=cols) for x in _flat(a, rows, cols)]
        return _joined(found, a).reshape(a.shape[:-2])

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def permanent(a: Any) -> Any:
        return call(value, a, shapes(a)[0])

    def forward(a: Any) -> tuple[Any, Any]:
        return call(both, a, shapes(a))  # type: ignore[no-any-return]

    def backward(gradient: Any, upstream: Any) -> tuple[Any]:
        return (upstream[..., None, None] * gradient,)

    permanent.defvjp(forward, backward)
    return permanent


def _flat(a: Any, rows: Any, cols: Any) -> list[NDArray[Any]]:
    """One matrix, or batches and matrices one after the other."""
    entries = np.asarray(a)
    if entries.ndim <= 2:
        return [entries]
    whole = entries.reshape(-1, *entries.shape[-2:])
    return [whole] if rows is None and cols is None else list(whole)


def _joined(found: Sequence[Any], a: Any) -> NDArray[Any]:
    return np.concatenate([np.ravel(x) for x in found]).astype(a.dtype)
