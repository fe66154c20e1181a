"""The links of a lattice gauge configuration, and what can be said about them without a gauge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import checked_seed
from hardscape.arrays import array_namespace, to_device
from hardscape.errors import InputError
from hardscape.gauge import boundary as boundaries
from hardscape.gauge import layouts
from hardscape.gauge.boundary import Boundary
from hardscape.gauge.fixed.links import (
    farthest,
    link_trace,
    plaquette_means,
    plaquette_traces,
    reprojected,
    transformed,
)
from hardscape.gauge.groups import group, random_group_elements
from hardscape.gauge.intake import check_dtype, check_shape, checked_links, require_links

#: Largest deviation from the group that counts as rounding, for links of any origin: files often
#: hold links that were single precision once.
UNITARITY_TOLERANCE = 1e-4


class GaugeField:
    """Links U_mu(x) of SU(N), N = 2 to 8, on a lattice of two to five dimensions.

    Parameters
    ----------
    links : array, shape (T, Z, Y, X, 4, Nc, Nc), complex64 or complex128
        NumPy or CuPy, of any byte order. Direction mu counts x, y, z, t; the last two axes are row and
        column. In other dimensions time is the slowest axis and the last direction too: (T, X, 2, Nc, Nc),
        (T, Y, X, 3, Nc, Nc), (T, W, Z, Y, X, 5, Nc, Nc). The array is kept, not copied, where its memory is in
        this order; other memory orders are copied. Every extent is 2 or more: on an extent of 1 a link would
        be its own neighbour.
    boundary : {"periodic", "open", "sf", "open-sf"}
        In time. "open": the last timeslice does not border on the first, its links in t are zero. "sf", the
        Schroedinger functional: beside that the links in space of the first and of the last timeslice are
        fixed, the same diagonal matrix everywhere for each direction; "open-sf": of the last one alone.
    layout : str, optional
        The order of axes, slowest first, where it is another one ("mu t z y x a b"), or where the shape
        fits two: "t z y x mu a b" is the one above.

    Raises
    ------
    InputError
        If the shape, the dtype or an extent is another one, a number is not finite or absurdly large, the
        links do not have the boundary, or shape and links could be those of two layouts.

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

    __slots__ = ("boundary", "links", "seed")

    boundary: Boundary
    #: With which the field was drawn; None for others. No part of what is compared or written.
    seed: int | None

    def __init__(
        self, links: Any, *, boundary: Boundary = "periodic", layout: str | None = None
    ) -> None:
        self.links = checked_links(links, layout)
        self.boundary = boundaries.checked(boundary, self.links)
        self.seed = None

    def _with(self, links: Any) -> Self:
        """A field of other links with this boundary."""
        return type(self)(links, boundary=self.boundary, layout=layouts.OURS)

    @classmethod
    def _of(cls, links: Any, boundary: Boundary) -> Self:
        """A field of links that were checked before, or come from such ones."""
        made = cls.__new__(cls)
        made.links, made.boundary, made.seed = links, boundary, None
        return made

    @classmethod
    def identity(cls, shape: Sequence[int], nc: int = 3, *, dtype: Any = np.complex128) -> Self:
        """Links that are all the identity: the classical vacuum, "cold".

        Parameters
        ----------
        shape : 2 to 5 int
            Extents X, Y, Z, T, each 2 or more; the last one is that of time.
        nc : {2, 3, 4, 5, 6, 7, 8}
        dtype : complex64 or complex128
        """
        extents = check_shape(shape)
        group(nc)
        kind = check_dtype(dtype)
        require_links(shape, nc, 1, kind)
        links = np.zeros((*extents[::-1], len(extents), nc, nc), dtype=kind)
        links[...] = np.eye(nc)
        return cls(links, layout=layouts.OURS)

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
        shape : 2 to 5 int
            Extents X, Y, Z, T, each 2 or more; the last one is that of time.
        nc : {2, 3, 4, 5, 6, 7, 8}
        seed : int, optional
            From 0 to 2**64 - 1; drawn where none is given. One seed gives one field.
        dtype : complex64 or complex128
        """
        extents = check_shape(shape)
        kind = check_dtype(dtype)
        group(nc)
        require_links(shape, nc, 1)
        chosen = checked_seed(seed)
        count = len(extents) * math.prod(extents)
        links = random_group_elements(count, nc, chosen).astype(kind, copy=False)
        links = links.reshape(*extents[::-1], len(extents), nc, nc)
        field = cls(links, layout=layouts.OURS)
        field.seed = chosen
        return field

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        format: str | None = None,
        ignore_checksum: bool = False,
        shape: Sequence[int] | None = None,
        layout: str | None = None,
        precision: Literal["single", "double"] | None = None,
        byteorder: Literal["big", "little"] | None = None,
        skip: int | None = None,
        angles: Sequence[float] | None = None,
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
        shape : sequence of int, optional
            Extents X, Y, Z, T, of a file that does not say them: "raw", and "ildg" without ``ildg-format``.
        layout : str, optional
            "raw" and "npy": the order of the axes, slowest first: "t z y x mu a b".
        precision : {"single", "double"}, optional
        byteorder : {"big", "little"}, optional
        skip : int, optional
            "raw": of the numbers, and the bytes before them. What is left out is found by trying.
        angles : sequence of float, optional
            "openqcd": phi' of the boundary of a Schroedinger functional, Nc numbers.

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
            If `format` is unknown, or takes no such option.

        Warns
        -----
        UserWarning
            Of what was guessed, left out, or found beside the links.
        """
        said: dict[str, Any] = {"shape": shape, "layout": layout, "precision": precision}
        said |= {"byteorder": byteorder, "skip": skip, "angles": angles}
        found: Self = _formats().read(path, format=format, ignore_checksum=ignore_checksum, **said)
        return found

    def to_file(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        precision: Literal["single", "double"] | None = None,
        byteorder: Literal["big", "little"] | None = None,
        rows: int | None = None,
        layout: str | None = None,
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
        layout : str, optional
            The order of the axes, where the format leaves the choice ("raw", "npy").
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
        choices = {"precision": precision, "byteorder": byteorder, "rows": rows, "layout": layout}
        kept = {"checksum": None if checksum else False, "header": header or None}
        _formats().FORMATS.write(self.to("cpu"), path, format=format, **choices, **kept)

    @classmethod
    def from_pyquda(cls, gauge: Any) -> Self:
        """Take the links of PyQUDA: sites by parity, or in their order, the direction slowest.

        Parameters
        ----------
        gauge : pyquda.field.LatticeGauge or array
            Shape (4, 2, T, Z, Y, X / 2, Nc, Nc) or (4, T, Z, Y, X, Nc, Nc).

        Raises
        ------
        InputError
            If the shape is another one.
        """
        links, layout = layouts.from_pyquda(gauge)
        return cls(links, layout=layout)

    def to_pyquda(self, *, even_odd: bool = True) -> NDArray[Any]:
        """Return the links as ``pyquda.field.LatticeGauge(latt_info, array)`` takes them.

        Parameters
        ----------
        even_odd : bool
            Sites by parity, shape (4, 2, T, Z, Y, X / 2, Nc, Nc), for which X must be even; else in their
            order, shape (4, T, Z, Y, X, Nc, Nc).
        """
        return layouts.to_pyquda(to_device(self.links, "cpu"), even_odd=even_odd)

    @classmethod
    def from_gpt(cls, lattices: Sequence[Any]) -> Self:
        """Take the links of GPT, a lattice of matrices for each of the directions x, y, z, t.

        Parameters
        ----------
        lattices : sequence of 4 gpt.lattice
            On one rank: whole lattices.

        Raises
        ------
        InputError
            If there are not four lattices of four dimensions.
        """
        return cls(layouts.from_gpt(lattices), layout=layouts.OURS)

    def to_gpt(self, lattices: Sequence[Any]) -> Sequence[Any]:
        """Fill the lattices of GPT, one for each direction, with the links; returns them.

        Parameters
        ----------
        lattices : sequence of 4 gpt.lattice
            Of this shape, as ``gpt.qcd.gauge.unit(grid)`` makes them.

        Raises
        ------
        InputError
            If there are not four lattices, or their extents are others.
        """
        return layouts.to_gpt(to_device(self.links, "cpu"), lattices)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents X, Y, Z, T: the order of mu, the reverse of the array's axes."""
        return tuple(self.links.shape[-4::-1])

    @property
    def dimensions(self) -> int:
        """Number of directions, 2 to 5; the last one is time."""
        return int(self.links.shape[-3])

    @property
    def nc(self) -> int:
        """Number of colours, 2 to 8."""
        return int(self.links.shape[-1])

    @property
    def volume(self) -> int:
        """Number of sites."""
        return math.prod(self.links.shape[:-3])

    @property
    def dtype(self) -> np.dtype[Any]:
        """complex64 or complex128."""
        kind: np.dtype[Any] = self.links.dtype
        return kind

    def plaquette(self) -> float:
        """Mean of Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^dagger U_nu(x)^dagger / Nc over x and mu < nu.

        Gauge invariant. Computed in double on the host, in the links' precision on a GPU. With a boundary the
        plaquettes in space of the first and of the last timeslice count half, those in time end there, and the
        sum is divided by 6 (T - 1) V_3: openQCD's normalisation.
        """
        planes = self.plaquettes()
        return math.fsum(planes.values()) / len(planes)

    def plaquette_space(self) -> float:
        """Mean of the plaquette over the planes without time; NaN in two dimensions."""
        return self._mean_of_planes(in_time=False)

    def plaquette_time(self) -> float:
        """Mean of the plaquette over the planes with time: another one at an anisotropic coupling."""
        return self._mean_of_planes(in_time=True)

    def _mean_of_planes(self, *, in_time: bool) -> float:
        time = self.dimensions - 1
        chosen = [x for plane, x in self.plaquettes().items() if (time in plane) == in_time]
        return math.fsum(chosen) / len(chosen) if chosen else math.nan

    def plaquettes(self) -> dict[tuple[int, int], float]:
        """Means of the plaquette over the sites for each plane (mu, nu), mu < nu, of x, y, z, t."""
        return plaquette_means(self.plaquette_traces(), self.shape, self.nc, self.boundary)

    def plaquette_traces(self) -> NDArray[np.float64]:
        """Sums of Re tr of the plaquettes that start on each timeslice, (T, planes): xy, xz, xt, yz, yt, zt."""
        return plaquette_traces(self.links)

    def link_trace(self) -> float:
        """Mean of Re tr U_mu(x) / Nc over the links that there are; it depends on the gauge."""
        return link_trace(self.links, self.boundary)

    def transform(self, g: Any) -> Self:
        """Return the field U'_mu(x) = g(x) U_mu(x) g(x+mu)^dagger; this one stays as it is.

        Parameters
        ----------
        g : array, shape (T, Z, Y, X, Nc, Nc)
            On the device of the links. The result has the links' dtype; on the host it is computed in double.

        Raises
        ------
        InputError
            If the shape does not fit.
        """
        xp = array_namespace(self.links)
        rotation = xp.asarray(g)
        wanted = (*self.links.shape[:-3], self.nc, self.nc)
        if rotation.shape != wanted:
            raise InputError(f"g has shape {rotation.shape}; {wanted} is needed")
        return self._with(transformed(self.links, rotation))

    def unitarity(self) -> float:
        """Largest entry of abs(U U^dagger - 1) and abs(det U - 1) over all links: 0 up to rounding."""
        return farthest(self.links, self.boundary)[0]

    def require_unitary(self, tolerance: float = UNITARITY_TOLERANCE) -> float:
        """Check that every link is in the group; returns :meth:`unitarity`.

        Raises
        ------
        InputError
            If :meth:`unitarity` is above `tolerance`; the message names the worst link.
        """
        deviation, place = farthest(self.links, self.boundary)
        if not deviation <= tolerance:
            axes = ", ".join(layouts.NAMES[self.dimensions])
            *site, mu = (int(i) for i in np.unravel_index(place, self.links.shape[:-2]))
            if self.boundary == "periodic" and boundaries.ends(self.links):
                raise InputError(
                    "the links in t of the last timeslice are zero, which is an open boundary: "
                    "GaugeField(links, boundary='open'), or 'sf', is one"
                )
            raise InputError(
                f"link mu={mu} at ({axes}) = {tuple(site[::-1])} is {deviation:.3g} away from "
                f"SU({self.nc}); at most {tolerance:g} is accepted; GaugeField.reproject() "
                "(hardscape gauge convert --reproject) brings it back"
            )
        return deviation

    def reproject(self) -> Self:
        """Return the field with every link brought back to the group.

        SU(2): the nearest element, the quaternion part over its norm. SU(N) else: Gram-Schmidt over the
        first N - 1 rows, the last one is the conjugate of their cofactors.

        Raises
        ------
        InputError
            If a link is too far from the group to tell which element it meant.
        """
        return self._with(reprojected(self.links, self.boundary))

    def astype(self, dtype: Any) -> Self:
        """Return the field in complex64 or complex128; itself where nothing changes."""
        kind = check_dtype(dtype)
        return self if kind == self.dtype else self._with(self.links.astype(kind))

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
        return self if moved is self.links else self._with(moved)

    @property
    def device(self) -> str:
        """Where the links are: "cpu" or "cuda"."""
        return "cpu" if array_namespace(self.links) is np else "cuda"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GaugeField):
            return NotImplemented
        mine, others = ((x.links.shape, x.device, x.boundary) for x in (self, other))
        alike = mine == others
        return alike and bool((self.links == other.links).all())

    def __hash__(self) -> int:
        return hash((self.shape, self.nc))

    def __repr__(self) -> str:
        extents = layouts.extents(self.shape)
        edge = "" if self.boundary == "periodic" else f"{self.boundary} boundary, "
        return f"<GaugeField: SU({self.nc}), {extents}, {edge}{self.dtype}, {self.device}>"

    def __reduce__(self) -> tuple[Any, ...]:
        of_links = partial(type(self), boundary=self.boundary, layout=layouts.OURS)
        return of_links, (self.links,), (None, {"seed": self.seed})


def checked_field(value: Any) -> GaugeField:
    """The argument of a function that takes a field: one, the path of a file of one, or an array of links."""
    if isinstance(value, str | Path):
        return GaugeField.from_file(value)
    return value if isinstance(value, GaugeField) else GaugeField(value)


def _formats() -> Any:
    """The formats, known by name: they stand on this module."""
    return import_module("hardscape.gauge.formats")
