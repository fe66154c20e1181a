"""The links of a lattice gauge configuration, and what can be said about them without a gauge."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np

from hardscape import memory, native
from hardscape.arguments import checked_seed
from hardscape.arrays import array_namespace, as_number_array, current, to_device
from hardscape.engine import split, team
from hardscape.engine.machine import cpu_count
from hardscape.errors import InputError
from hardscape.gauge.groups import (
    dagger,
    group,
    group_distance,
    project_to_group,
    random_group_elements,
)

R = TypeVar("R")

#: Largest deviation from the group that counts as rounding, for links of any origin: files often
#: hold links that were single precision once.
UNITARITY_TOLERANCE = 1e-4
#: Most sites of a field; more is a slip of the pen, not a lattice that fits a machine.
_MAX_SITES = 2**30
#: Entries of matrices in the group are at most 1; products of these do not overflow.
_MAX_ENTRY = 1e6
#: Planes mu < nu of x, y, z, t.
_PLANES = tuple((mu, nu) for mu in range(4) for nu in range(mu + 1, 4))
#: Sites from which several threads are worth starting.
_WORTH_THREADS = 2**13


class GaugeField:
    """Links U_mu(x) of SU(2) or SU(3) on a periodic four-dimensional lattice.

    Parameters
    ----------
    links : array, shape (T, Z, Y, X, 4, Nc, Nc), complex64 or complex128
        NumPy or CuPy. Direction mu counts x, y, z, t; the last two axes are row and column. The array
        is kept, not copied, where its memory is in this order; other memory orders are copied. Every
        extent is 2 or more: on an extent of 1 a link would be its own neighbour.

    Raises
    ------
    InputError
        If the shape, the dtype or an extent is another one, or a number is not finite or absurdly large.

    Notes
    -----
    The gauge transformation g(x) acts as U'_mu(x) = g(x) U_mu(x) g(x+mu)^dagger. No method changes
    the links in place.

    Examples
    --------
    >>> field = GaugeField.identity((4, 4, 4, 8), nc=2)
    >>> field.shape, field.plaquette(), field.link_trace()
    ((4, 4, 4, 8), 1.0, 1.0)
    """

    __slots__ = ("links", "seed")

    #: With which the field was drawn; None for others. No part of what is compared or written.
    seed: int | None

    def __init__(self, links: Any) -> None:
        self.links = _intake(links)
        self.seed = None

    @classmethod
    def identity(cls, shape: Sequence[int], nc: int = 3, *, dtype: Any = np.complex128) -> Self:
        """Links that are all the identity: the classical vacuum, "cold".

        Parameters
        ----------
        shape : 4 int
            Extents X, Y, Z, T, each 2 or more.
        nc : {2, 3}
        dtype : complex64 or complex128
        """
        x, y, z, t = check_shape(shape)
        group(nc)
        kind = check_dtype(dtype)
        require_links(shape, nc, 1, kind)
        links = np.zeros((t, z, y, x, 4, nc, nc), dtype=kind)
        links[...] = np.eye(nc)
        return cls(links)

    @classmethod
    def random(
        cls,
        shape: Sequence[int],
        nc: int = 3,
        *,
        seed: int | None = None,
        dtype: Any = np.complex128,
    ) -> Self:
        """Independent links from the Haar measure: infinite temperature, "hot".

        Parameters
        ----------
        shape : 4 int
            Extents X, Y, Z, T, each 2 or more.
        nc : {2, 3}
        seed : int, optional
            From 0 to 2**64 - 1; drawn where none is given. One seed gives one field.
        dtype : complex64 or complex128
        """
        x, y, z, t = check_shape(shape)
        kind = check_dtype(dtype)
        group(nc)
        require_links(shape, nc, 1)
        chosen = checked_seed(seed)
        links = random_group_elements(4 * x * y * z * t, nc, chosen).astype(kind, copy=False)
        field = cls(links.reshape(t, z, y, x, 4, nc, nc))
        field.seed = chosen
        return field

    @classmethod
    def from_file(
        cls, path: str | Path, *, format: str | None = None, ignore_checksum: bool = False
    ) -> Self:
        """Read a configuration, and check its checksum, plaquette and link trace where the file has them.

        Parameters
        ----------
        path : str or Path
            Compressed or not; ``-`` is standard input.
        format : str, optional
            Its name, where the content does not tell; see :mod:`hardscape.gauge.formats`.
        ignore_checksum : bool
            Only warn where the links contradict checksum or header.

        Returns
        -------
        GaugeField
            In the file's precision, in NumPy.

        Raises
        ------
        ChecksumError
            If the links are not what checksum, plaquette or link trace say.
        FormatError
            If the file cannot be read, is truncated, or does not follow its format.
        InputError
            If `format` is unknown.
        """
        found: Self = _formats().read(path, format=format, ignore_checksum=ignore_checksum)
        return found

    def to_file(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        precision: Literal["single", "double"] | None = None,
        byteorder: Literal["big", "little"] | None = None,
        rows: int | None = None,
        checksum: bool = True,
        header: Mapping[str, str] | None = None,
    ) -> None:
        """Write the configuration; a file that is there is replaced as a whole.

        Parameters
        ----------
        path : str or Path
            Its suffix tells the format; ``-`` is standard output.
        format : str, optional
            Its name, where the suffix does not tell.
        precision : {"single", "double"}, optional
            By default the links' own, or the only one that the format has.
        byteorder : {"big", "little"}, optional
            By default the format's custom.
        rows : int, optional
            Nc, or (nersc) Nc - 1: the reader rebuilds the last row.
        checksum : bool
            Whether to write the checksum, where the format leaves the choice.
        header : mapping, optional
            Text to carry along, as a `FileReport.header` has it.

        Raises
        ------
        InputError
            If the format cannot hold what is asked for, or the file cannot be written.
        MissingDependencyError
            If the format needs a package that is not installed.
        """
        choices = {"precision": precision, "byteorder": byteorder, "rows": rows}
        kept = {"checksum": None if checksum else False, "header": header or None}
        _formats().FORMATS.write(self.to("cpu"), path, format=format, **choices, **kept)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Extents X, Y, Z, T: the order of mu, the reverse of the array's axes."""
        t, z, y, x = self.links.shape[:4]
        return x, y, z, t

    @property
    def nc(self) -> int:
        """Number of colours, 2 or 3."""
        return int(self.links.shape[-1])

    @property
    def volume(self) -> int:
        """Number of sites."""
        return math.prod(self.links.shape[:4])

    @property
    def dtype(self) -> np.dtype[Any]:
        """complex64 or complex128."""
        kind: np.dtype[Any] = self.links.dtype
        return kind

    def plaquette(self) -> float:
        """Mean of Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^dagger U_nu(x)^dagger / Nc over x and mu < nu.

        Gauge invariant. Computed in double on the host, in the links' precision on a GPU.
        """
        return math.fsum(self.plaquettes().values()) / 6

    def plaquettes(self) -> dict[tuple[int, int], float]:
        """Means of the plaquette over the sites for each plane (mu, nu), mu < nu, of x, y, z, t."""
        xp = array_namespace(self.links)
        if xp is np:
            slices = self.links.shape[0]
            parts = self._in_parts(
                slices, lambda i, j: native.vector.gauge.plaquette_traces(self.links, i, j)
            )
            traces = np.concatenate(parts).sum(axis=0)
        else:
            traces = np.array([self._plane_trace(xp, mu, nu) for mu, nu in _PLANES])
        means = traces / (self.nc * self.volume)
        return dict(zip(_PLANES, means.tolist(), strict=True))

    def _plane_trace(self, xp: Any, mu: int, nu: int) -> float:
        up = self.links[..., mu, :, :] @ self._forward(xp, nu, mu)
        over = self.links[..., nu, :, :] @ self._forward(xp, mu, nu)
        return float(xp.sum(up.real * over.real + up.imag * over.imag, dtype=np.float64))

    def _forward(self, xp: Any, mu: int, nu: int) -> Any:
        """Links U_mu(x+nu), shape (T, Z, Y, X, Nc, Nc)."""
        return xp.roll(self.links[..., mu, :, :], -1, axis=3 - nu)

    def link_trace(self) -> float:
        """Mean of Re tr U_mu(x) / Nc over all links; it depends on the gauge."""
        xp = array_namespace(self.links)
        diagonal = xp.diagonal(self.links, axis1=-2, axis2=-1).real
        return float(xp.sum(diagonal, dtype=np.float64)) / (4 * self.nc * self.volume)

    def transform(self, g: Any) -> Self:
        """Return the field U'_mu(x) = g(x) U_mu(x) g(x+mu)^dagger; this one stays as it is.

        Parameters
        ----------
        g : array, shape (T, Z, Y, X, Nc, Nc)
            On the device of the links. The result has the links' dtype.

        Raises
        ------
        InputError
            If the shape does not fit.
        """
        xp = array_namespace(self.links)
        rotation = xp.asarray(g)
        wanted = (*self.links.shape[:4], self.nc, self.nc)
        if rotation.shape != wanted:
            raise InputError(f"g has shape {rotation.shape}; {wanted} is needed")
        rotated = xp.empty_like(self.links)
        for mu in range(4):
            neighbour = xp.roll(rotation, -1, axis=3 - mu)
            rotated[..., mu, :, :] = rotation @ self.links[..., mu, :, :] @ dagger(neighbour)
        return type(self)(rotated)

    def unitarity(self) -> float:
        """Largest entry of abs(U U^dagger - 1) and abs(det U - 1) over all links: 0 up to rounding."""
        return self._worst_link()[0]

    def require_unitary(self, tolerance: float = UNITARITY_TOLERANCE) -> float:
        """Check that every link is in the group; returns :meth:`unitarity`.

        Raises
        ------
        InputError
            If :meth:`unitarity` is above `tolerance`; the message names the worst link.
        """
        deviation, place = self._worst_link()
        if not deviation <= tolerance:
            t, z, y, x, mu = (int(i) for i in np.unravel_index(place, self.links.shape[:5]))
            raise InputError(
                f"link mu={mu} at (x, y, z, t) = ({x}, {y}, {z}, {t}) is {deviation:.3g} away from "
                f"SU({self.nc}); at most {tolerance:g} is accepted; GaugeField.reproject() "
                "(hardscape gauge convert --reproject) brings it back"
            )
        return deviation

    def _worst_link(self) -> tuple[float, int]:
        """Distance of the link that is farthest from the group, and its number."""
        if array_namespace(self.links) is np:
            links = 4 * self.volume
            parts = self._in_parts(
                links, lambda i, j: native.vector.gauge.worst_matrix(self.links, i, j)
            )
            # The first of the largest; a NaN is larger than any number.
            worst: tuple[float, int] = max(
                parts, key=lambda part: math.inf if math.isnan(part[0]) else part[0]
            )
            return worst
        distance = group_distance(self.links).ravel()
        place = int(distance.argmax())
        return float(distance[place]), place

    def _in_parts(self, count: int, function: Callable[[int, int], R]) -> list[R]:
        """What `function` gives for ranges that together are 0 to `count`, in order."""
        if self.volume < _WORTH_THREADS:
            return [function(0, count)]
        with team(cpu_count()) as lanes:
            ranges = split(count, lanes.size)
            return lanes.map(lambda part: function(part.start, part.stop), ranges)

    def reproject(self) -> Self:
        """Return the field with every link brought back to the group.

        SU(3): Gram-Schmidt over the first two rows, the third is their conjugate cross product.
        SU(2): the nearest element, the quaternion part over its norm.

        Raises
        ------
        InputError
            If a link is too far from the group to tell which element it meant.
        """
        return type(self)(project_to_group(self.links))

    def astype(self, dtype: Any) -> Self:
        """Return the field in complex64 or complex128; itself where nothing changes."""
        kind = check_dtype(dtype)
        return self if kind == self.dtype else type(self)(self.links.astype(kind))

    def to(self, device: str) -> Self:
        """Return the field on "cpu" (NumPy) or "cuda" (CuPy, its current device).

        Raises
        ------
        DeviceError
            If "cuda" cannot be used.
        MissingDependencyError
            If CuPy is not installed.
        """
        moved = to_device(self.links, device)
        return self if moved is self.links else type(self)(moved)

    @property
    def device(self) -> str:
        """Where the links are: "cpu" or "cuda"."""
        return "cpu" if array_namespace(self.links) is np else "cuda"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GaugeField):
            return NotImplemented
        alike = self.links.shape == other.links.shape and self.device == other.device
        return alike and bool((self.links == other.links).all())

    def __hash__(self) -> int:
        return hash((self.shape, self.nc))

    def __repr__(self) -> str:
        extents = "x".join(map(str, self.shape))
        return f"<GaugeField: SU({self.nc}), {extents} (x, y, z, t), {self.dtype}, {self.device}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.links,), (None, {"seed": self.seed})


def checked_field(value: Any) -> GaugeField:
    """The argument of a function that takes a field: one, the path of a file of one, or an array of links."""
    if isinstance(value, str | Path):
        return GaugeField.from_file(value)
    return value if isinstance(value, GaugeField) else GaugeField(value)


def _formats() -> Any:
    """The formats, known by name: they stand on this module."""
    return import_module("hardscape.gauge.formats")


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
        memory = 4 * 144 * x * y * z * t / 2**30
        raise InputError(
            f"shape={shape!r} has {x * y * z * t} sites, {memory:.3g} GiB of SU(3) links in double; "
            f"at most {_MAX_SITES} sites are accepted"
        )
    return x, y, z, t


def require_links(shape: Sequence[int], nc: int, times: float, kind: Any = np.complex128) -> None:
    """Refuse, with a BudgetError, links that memory does not hold so many times at once."""
    size = int(times * 4 * nc * nc * np.dtype(kind).itemsize * math.prod(shape))
    memory.require(size, f"a lattice of {'x'.join(map(str, shape))} with SU({nc})")


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Check that `dtype` is complex64 or complex128."""
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.complex64, np.complex128):
        raise InputError(f"dtype={dtype!r}; complex64 and complex128 are accepted")
    return kind


def _intake(links: Any) -> Any:
    xp = array_namespace(links)
    array = as_number_array(links, "links") if xp is np else links
    if array.ndim != 7 or array.shape[4] != 4 or array.shape[5] != array.shape[6]:
        raise InputError(
            f"links have shape {array.shape}; (T, Z, Y, X, 4, Nc, Nc) is needed, Nc = 2 or 3"
        )
    group(array.shape[6])
    check_shape(array.shape[3::-1])
    check_dtype(array.dtype)
    with current(array):
        array = xp.ascontiguousarray(array)
        flat = array.view(array.real.dtype)
        # A NaN is the maximum of whatever it is in, and fails the comparison.
        fits = float(xp.maximum(flat.max(), -flat.min())) <= _MAX_ENTRY
    if not fits:
        position = [int(i) for i in xp.argwhere(~(xp.abs(array) <= _MAX_ENTRY))[0]]
        raise InputError(
            f"links{position} is {complex(array[tuple(position)])}; matrices near SU(Nc) are "
            f"accepted, with finite entries of at most {_MAX_ENTRY:g}"
        )
    return array
