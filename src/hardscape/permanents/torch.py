"""Permanents that torch differentiates. Torch itself is imported by the first call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from hardscape.errors import InputError, needed
from hardscape.permanents.derivatives.gradient import value_and_grad
from hardscape.permanents.permanent import permanent as find_permanent


def permanent(
    a: Any, *, rows: Sequence[int] | None = None, cols: Sequence[int] | None = None
) -> Any:
    r"""Permanent of a torch tensor, which ``backward()`` goes through.

    Parameters
    ----------
    a : torch.Tensor, shape (n, n), (batch, n, n), or (m, n) with `rows` and `cols`
        Of a floating or complex dtype.
    rows, cols : sequence of int, optional
        As for :func:`hardscape.permanent`.

    Returns
    -------
    torch.Tensor, shape () or (batch,)
        Of the dtype of `a`, on its device: found in float64, and rounded once for float32.

    Raises
    ------
    InputError
        If `a` is no floating or complex tensor.
    MissingDependencyError
        If torch is not installed.

    Notes
    -----
    The gradient is that of :func:`hardscape.permanents.value_and_grad`, found on the CPU with the value where
    `a` requires it. For complex entries it is torch's: the conjugate of the holomorphic derivative.

    Examples
    --------
    .. code-block:: python

        import torch
        from hardscape.permanents.torch import permanent

        a = torch.rand(8, 8, requires_grad=True)
        permanent(a).backward()
        a.grad  # all minors
    """
    torch = needed("torch", "torch", "torch", "hardscape.permanents.torch")
    if not isinstance(a, torch.Tensor) or not (a.is_floating_point() or a.is_complex()):
        raise InputError(
            "a is no floating or complex torch tensor; hardscape.permanent takes all else"
        )
    return _function().apply(a, rows, cols)


@cache
def _function() -> Any:
    import torch

    class Permanent(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any, rows: Any, cols: Any) -> Any:
            given = a.detach()
            if ctx.needs_input_grad[0]:
                value, gradient = value_and_grad(given, rows=rows, cols=cols)
                ctx.save_for_backward(gradient.to(a.dtype))
            else:
                value = find_permanent(given, rows=rows, cols=cols)
            return torch.as_tensor(value, dtype=a.dtype, device=a.device)

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, upstream: Any) -> Any:
            (gradient,) = ctx.saved_tensors
            return upstream[..., None, None] * gradient.conj(), None, None

    return Permanent
