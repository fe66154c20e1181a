"""What a file says about itself, and whether it is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hardscape.gauge.field import UNITARITY_TOLERANCE, GaugeField
from hardscape.gauge.formats.content import Content
from hardscape.gauge.layouts import extents
from hardscape.plain import Plain


@dataclass(frozen=True, eq=False)
class FileReport(Plain):
    """The check of a file of links.

    Attributes
    ----------
    path, format : str
    shape : 4 int
        Extents x, y, z, t.
    nc : int
    precision : {"single", "double"}
    plaquette, link_trace : float
        Of the links: Re tr / Nc averaged.
    unitarity : float
        Largest entry of abs(U U^dagger - 1) and abs(det U - 1) over the links.
    checksum_ok : bool or None
        None if the file states no checksum.
    checksum_stated, checksum_found : str or None
    plaquette_stated, link_trace_stated : float or None
        As the header has them; of open lattices, whose plaquette codes divide by different numbers, with the
        header's difference from the links put to `plaquette`.
    plaquette_ok, link_trace_ok : bool or None
        Whether they agree with the links to the digits given; None where nothing is stated.
    boundary : {"periodic", "open", "sf", "open-sf"}
    notes : tuple of str
        What must be known before it is used: what was guessed, left out, or found beside the links.
    header : mapping
        What else the file says, as text.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gauge.GaugeField.identity((4, 4, 4, 4)).to_file(f"{folder}/unit.nersc")
    ...     field, report = gauge.inspect(f"{folder}/unit.nersc")
    >>> report.ok, report.format, report.shape, report.plaquette
    (True, 'nersc', (4, 4, 4, 4), 1.0)
    """

    path: str
    format: str
    shape: tuple[int, ...]
    nc: int
    precision: str
    plaquette: float
    link_trace: float
    unitarity: float
    checksum_ok: bool | None
    checksum_stated: str | None
    checksum_found: str | None
    plaquette_stated: float | None
    plaquette_ok: bool | None
    link_trace_stated: float | None
    link_trace_ok: bool | None
    boundary: str
    notes: tuple[str, ...]
    header: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether nothing stated is wrong and all links are in the group up to rounding."""
        return not self.contradictions() and self.unitarity <= UNITARITY_TOLERANCE

    def contradictions(self) -> list[str]:
        """What the file states and its links do not bear out, a sentence each."""
        found = []
        if self.checksum_ok is False:
            found.append(
                f"the checksum is stated as {self.checksum_stated}, "
                f"the links have {self.checksum_found}"
            )
        for name, ok, stated, average in (
            ("plaquette", self.plaquette_ok, self.plaquette_stated, self.plaquette),
            ("link trace", self.link_trace_ok, self.link_trace_stated, self.link_trace),
        ):
            if ok is False:
                found.append(
                    f"the {name} is stated as {stated:.12g}, the links have {average:.12g}, "
                    f"{average - (stated or 0):+.3g} from it"
                )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``to_json`` writes."""
        facts = {name: value for name, value in vars(self).items() if name != "path"}
        lists = {
            "shape": list(self.shape),
            "notes": list(self.notes),
            "header": dict(self.header),
        }
        return {"file": self.path} | facts | lists | {"ok": self.ok}

    def __repr__(self) -> str:
        return (
            f"<FileReport: {self.format}, SU({self.nc}), {extents(self.shape)}, {self.precision}, "
            f"ok={self.ok}>"
        )


def make_report(path: str, name: str, field: GaugeField, content: Content) -> FileReport:
    """Compare what `content` states with its links."""
    averages: dict[str, Any] = {"plaquette": field.plaquette(), "link_trace": field.link_trace()}
    for key, claim in (("plaquette", content.plaquette), ("link_trace", content.link_trace)):
        averages[f"{key}_stated"] = None if claim is None else claim.stated_for(averages[key])
        averages[f"{key}_ok"] = None if claim is None else claim.holds(averages[key])
    stated = content.checksum
    return FileReport(
        path=path,
        format=name,
        shape=field.shape,
        nc=field.nc,
        precision="single" if field.dtype.itemsize == 8 else "double",
        unitarity=field.unitarity(),
        checksum_ok=None if stated is None else stated.ok,
        checksum_stated=None if stated is None else stated.stated,
        checksum_found=None if stated is None else stated.found,
        boundary=field.boundary,
        notes=content.notes,
        header=dict(content.header),
        **averages,
    )
