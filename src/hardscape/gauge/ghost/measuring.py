"""Measuring the ghost propagator of one configuration: by plane waves, or by sources on sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace, to_device
from hardscape.engine import Context, Cuda, cuda_device, team
from hardscape.errors import InputError
from hardscape.gauge.ensembles.work import Configuration, Task
from hardscape.gauge.ghost.cuda import CudaFaddeevPopov
from hardscape.gauge.ghost.operator import CpuFaddeevPopov, FaddeevPopov, generators
from hardscape.gauge.measure import measured
from hardscape.gauge.options import FixOptions

#: Bytes of the fields that are inverted together: larger blocks load links less often, but leave caches.
_BLOCK = 2**27
#: The same on a GPU, where five times as much is taken.
_CUDA_BLOCK = 2**30


@dataclass(frozen=True)
class GhostTask(Task):
    """The propagator of one configuration."""

    name: ClassVar[str] = "ghost"
    revision: ClassVar[int] = 2
    goes_on: ClassVar[bool] = True

    momenta: tuple[tuple[int, ...], ...]
    residual: float
    max_iterations: int
    theta: float | None
    like: tuple[tuple[int, ...], int]
    xi: float = 1.0
    num_points: int = 0  # 0: plane waves

    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """G at each momentum; refuses fields that are not in the gauge."""
        violation = require_landau(configuration, self.like, self.theta, self.xi)
        found, most = [], 0
        with _operator(configuration, context, self.xi) as (operator, block):
            matrices = operator.volume * operator.nc**2 * 16
            at_once = max(1, block // (matrices * (operator.nc**2 - 1)))
            sites = _sites(configuration.seed, operator.volume, self.num_points)
            for begin in range(0, len(sites) or len(self.momenta), at_once):
                those = slice(begin, begin + at_once)
                part = (
                    self._of_points(operator, sites[those], context)
                    if self.num_points
                    else self._block(operator, self.momenta[those], context)
                )
                if part is None:
                    return None
                found.append(part[0])
                most = max(most, part[1])
        value = sum(found) / self.num_points if self.num_points else np.concatenate(found)
        return {"value": value, "iterations": np.int64(most), "theta": violation}

    def _of_points(
        self, operator: FaddeevPopov, sites: NDArray[np.int64], context: Context
    ) -> tuple[NDArray[np.float64], int] | None:
        """The sum over sites y of what sources there give at each momentum."""
        colours = generators(operator.nc)
        # (V, Nc, Nc, colours, points), without the constant part
        sources = np.zeros(
            (operator.volume, *colours.shape[1:], len(colours), len(sites)), np.complex128
        )
        sources[sites, ..., np.arange(len(sites))] = colours.transpose(1, 2, 0)
        sources -= colours.transpose(1, 2, 0)[..., None] / operator.volume
        sources = sources.reshape(*operator.shape, *colours.shape[1:], -1)
        if not isinstance(operator, CpuFaddeevPopov):
            import cupy

            sources, colours = cupy.asarray(sources), cupy.asarray(colours)
        solved = operator.solve(sources, self.residual, self.max_iterations, context)
        if solved is None:
            return None
        xp = array_namespace(sources)
        fields = solved[0].reshape(*operator.shape, *colours.shape[1:], len(colours), len(sites))
        # tr T^a T^a is 1/2
        components = 2 * xp.einsum("aij,...jiap->...p", colours, fields)
        turned = xp.fft.fftn(components, axes=range(len(operator.shape)))
        waves = np.stack([_wave(operator.shape, k).ravel()[sites] for k in self.momenta])
        places = [np.mod(k, operator.shape[::-1])[::-1] for k in self.momenta]
        picked = [to_device(turned[tuple(place)], "cpu") for place in places]
        return (waves * np.stack(picked)).sum(axis=1).real / len(colours), solved[1]

    def _block(
        self, operator: FaddeevPopov, momenta: Sequence[Sequence[int]], context: Context
    ) -> tuple[NDArray[np.float64], int] | None:
        colours = generators(operator.nc)
        waves = np.stack([_wave(operator.shape, k) for k in momenta], axis=-1)
        # (T, Z, Y, X, Nc, Nc, colours, momenta)
        spread = waves[..., None, None, None, :], colours.transpose(1, 2, 0)[..., None]
        if not isinstance(operator, CpuFaddeevPopov):
            import cupy

            spread = cupy.asarray(spread[0]), cupy.asarray(spread[1])
        product = (spread[0] * spread[1]).reshape(*operator.shape, *colours.shape[1:], -1)
        sources = array_namespace(product).ascontiguousarray(product)  # of one momentum it is not
        solved = operator.solve(sources, self.residual, self.max_iterations, context)
        if solved is None:
            return None
        # tr T^a T^a is 1/2
        products = 2 * operator.products(sources, solved[0]).reshape(len(colours), -1)
        return products.sum(axis=0) / (len(colours) * operator.volume), solved[1]


def _sites(seed: int, volume: int, points: int) -> NDArray[np.int64]:
    """The sites of sources, different ones."""
    found: NDArray[np.int64] = np.random.default_rng(seed).choice(volume, points, replace=False)
    return found


@contextmanager
def _operator(
    configuration: Configuration, context: Context, xi: float
) -> Iterator[tuple[FaddeevPopov, int]]:
    """The operator on the device of a shard, and how many bytes of fields it takes at once."""
    if isinstance(context.device, Cuda):
        with cuda_device(context.device.ordinal) as device:
            yield CudaFaddeevPopov(configuration.field, device, xi), _CUDA_BLOCK
    else:
        with team(configuration.threads, context.stop) as lanes:
            yield CpuFaddeevPopov(configuration.field, lanes, xi), _BLOCK


def require_landau(
    configuration: Configuration,
    like: tuple[tuple[int, ...], int],
    theta: float | None,
    xi: float = 1.0,
) -> float:
    """The violation of Landau gauge; refuses what is not in it, or not of this shape and Nc."""
    field = configuration.field
    if (field.shape, field.nc) != like or field.boundary != "periodic":
        raise InputError(
            f"{field!r}; periodic configurations of SU({like[1]}), {'x'.join(map(str, like[0]))} as the "
            "first that can be read, are accepted"
        )
    field.require_unitary()
    options = FixOptions(xi=xi, dimensions=field.dimensions)
    violation = float(measured(field, options).violation(options).max())
    if theta is not None and not violation <= theta:
        raise InputError(
            f"not in landau gauge: theta = {violation:.3g}, at most {theta:g} is accepted; fix it with "
            "hardscape.gauge.fix, or raise theta"
        )
    return violation


def _wave(shape: Sequence[int], k: Sequence[int]) -> NDArray[np.complex128]:
    phase = np.zeros(tuple(shape))
    for mu, number in enumerate(k):
        axis = len(shape) - 1 - mu
        along = [1] * len(shape)
        along[axis] = shape[axis]
        turns = np.arange(shape[axis]) * number / shape[axis]
        phase = phase + turns.reshape(along)
    waves: NDArray[np.complex128] = np.exp(2j * np.pi * phase)
    return waves
