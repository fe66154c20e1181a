r"""Files of Ising models and QUBOs: reading, writing and telling the formats apart.

==========  ==========================  ===================================================
format      suffixes                    energy of the file
==========  ==========================  ===================================================
coo         .coo .qh                    lines ``i j value``; the diagonal holds fields
biqmac      .sparse                     :math:`q^T Q q`, Q symmetric, one line a pair
rudy        .rud .rudy .mc .gset, G1    minus the weight of the cut of a graph
qubo        .qubo                       qbsolv's :math:`\sum_{i \le j} Q_{ij} q_i q_j`
bqm-json    .json                       dimod's ``BQM.to_serializable()`` as JSON
npz         .npz                        hardscape's own, exact for every model
==========  ==========================  ===================================================

A further suffix .gz or .xz stands for compression. Text may hold blank lines, and comments that
start with ``#``, ``%`` or ``c``. Numbers are decimal; each is read as the nearest float64, except
that an integer that is not a float64 is an error. From there on nothing is rounded: QUBOs become
Ising models exactly (s = 2 q - 1), and a writer refuses a model that its format cannot hold
exactly.

coo
    :math:`E = \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i + c`, or with ``convention="ising"``
    minus the sums. Repeated and mirrored entries are summed. Indices count from 0 if an index is 0,
    else from 1, and the largest gives the number of spins. A comment
    ``# hardscape num_spins=N offset=c base=0 convention=dimod`` (each word optional) states
    what the entries leave open; the writer puts it first. A comment ``# vartype=SPIN`` or
    ``# vartype=BINARY``, which dimod's writer puts first, means counting from 0, and for BINARY
    that the entries are a QUBO's.
biqmac
    ``n m``, then m lines ``i j q`` counted from 1. Q[i, j] and Q[j, i] are given once and both
    count, so that a pair contributes :math:`2 q_{ij}` (Biq Mac Library, Wiegele 2007).
rudy
    ``n m``, then m lines ``i j weight`` counted from 1, the weight 1 if left out. With
    :math:`E = \sum_{ij} w_{ij} (s_i s_j - 1)/2` the ground energy is minus the maximum cut.
qubo
    ``p qubo topology maxNodes nNodes nCouplers``, then nNodes lines ``i i value`` and nCouplers
    lines ``i j value`` with i < j, counted from 0. A comment ``c hardscape offset=x`` keeps
    a constant.
bqm-json
    Labels are kept. Vectors are lists, or with ``use_bytes`` base64 text.
npz
    Labels are kept. See :mod:`hardscape.ising.formats.npz`.

The text formats number the spins 0 to N-1 and drop labels. Files with more than
`MAX_SPINS` spins or `MAX_BYTES` decompressed bytes are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from hardscape.errors import FormatError, InputError
from hardscape.files import COMPRESSED, MAX_BYTES, Source, load, path_of, plain_name, store
from hardscape.ising.formats import biqmac, bqm_json, coo, npz, qbsolv, rudy
from hardscape.ising.formats.options import MAX_SPINS, Options
from hardscape.ising.formats.text import Text
from hardscape.ising.model import Convention, Ising

__all__ = ["COMPRESSED", "FORMATS", "MAX_BYTES", "MAX_SPINS", "Format", "detect", "read", "write"]


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes
    ----------
    name : str
    description : str
        One line for a list of formats.
    suffixes : tuple of str
        Lower case, with the dot.
    parse : callable
        From a `Source` to a model.
    render : callable
        From a model to bytes.
    read_bases, write_bases : tuple of int
        First indices that ``base=`` may name.
    conventions : tuple of str
        Signs that ``convention=`` may name; most formats define the energy themselves.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    parse: Callable[[Source, Options], Ising]
    render: Callable[[Ising, Options], bytes]
    read_bases: tuple[int, ...] = ()
    write_bases: tuple[int, ...] = ()
    conventions: tuple[str, ...] = ("dimod",)

    def options(self, base: int | None, convention: Convention, bases: tuple[int, ...]) -> Options:
        """Check what the caller asks for against what the format leaves open."""
        if base is not None and (isinstance(base, bool) or base not in bases):
            accepted = " or ".join(map(str, bases)) or "only None"
            raise InputError(f"base is {base!r}; format {self.name!r} accepts {accepted} here")
        if convention not in self.conventions:
            accepted = " or ".join(map(repr, self.conventions))
            raise InputError(
                f"convention is {convention!r}; format {self.name!r} accepts {accepted}"
            )
        return Options(base, convention)


_ALL = (
    Format(
        "coo",
        "coordinate list 'i j value', fields on the diagonal",
        (".coo", ".qh"),
        coo.parse,
        coo.render,
        (0, 1),
        (0, 1),
        ("dimod", "ising"),
    ),
    Format(
        "biqmac",
        "Biq Mac QUBO 'n m', then 'i j q' of a symmetric matrix",
        (".sparse",),
        biqmac.parse,
        biqmac.render,
        (0, 1),
        (1,),
    ),
    Format(
        "rudy",
        "max-cut graph 'n m', then 'i j weight' (G-set)",
        (".rud", ".rudy", ".mc", ".gset"),
        rudy.parse,
        rudy.render,
        (0, 1),
        (1,),
    ),
    Format(
        "qubo",
        "qbsolv QUBO 'p qubo ...', then 'i j value'",
        (".qubo",),
        qbsolv.parse,
        qbsolv.render,
        (0, 1),
        (0,),
    ),
    Format(
        "bqm-json",
        "dimod binary quadratic model as JSON",
        (".json",),
        bqm_json.parse,
        bqm_json.render,
    ),
    Format("npz", "NumPy archive, exact for every model", (".npz",), npz.parse, npz.render),
)

#: The formats by name.
FORMATS = MappingProxyType({format.name: format for format in _ALL})

_BY_SUFFIX = {suffix: format.name for format in _ALL for suffix in format.suffixes}
_G_SET = re.compile(r"g[0-9]+")


def read(
    path: str | Path,
    *,
    format: str | None = None,
    base: int | None = None,
    convention: Convention = "dimod",
) -> Ising:
    """Read a model.

    Parameters
    ----------
    path : str or Path
        A file, compressed where its last suffix is .gz or .xz.
    format : str, optional
        A name in `FORMATS`; by default what :func:`detect` finds.
    base : {0, 1}, optional
        First index of a text format, where the file's differs from the format's.
    convention : {"dimod", "ising"}
        Sign of the entries of a coordinate list; the other formats define theirs.

    Returns
    -------
    Ising
        Exactly what the file says; cost O(size of the file).

    Raises
    ------
    FormatError
        If the file is missing, unreadable or does not follow its format; with path and line.
    InputError
        If `format`, `base` or `convention` has a value that is not accepted.
    """
    name = _by_name(path_of(path)) if format is None else format
    if name is None:
        source = load(path)
        chosen = FORMATS[_by_content(source)]
        options = chosen.options(base, convention, chosen.read_bases)
    else:
        chosen = _named(name)
        options = chosen.options(base, convention, chosen.read_bases)
        source = load(path)
    try:
        return chosen.parse(source, options)
    except FormatError:
        raise
    except InputError as error:  # coefficients that overflow, found by the model itself
        raise FormatError(path, None, str(error)) from None


def write(
    model: Ising,
    path: str | Path,
    *,
    format: str | None = None,
    base: int | None = None,
    convention: Convention = "dimod",
) -> None:
    """Write a model so that :func:`read` gives the same coefficients back, exactly.

    The file appears whole or not at all; one that was there before is replaced.

    Parameters
    ----------
    model : Ising
    path : str or Path
        A last suffix .gz or .xz compresses.
    format : str, optional
        A name in `FORMATS`; by default what the suffix says.
    base : int, optional
        First index: 0 or 1 for coordinate lists, the format's own for the others.
    convention : {"dimod", "ising"}
        Sign of the entries of a coordinate list.

    Raises
    ------
    InputError
        If the format cannot hold the model exactly, the suffix is unknown, an option is not
        accepted, or the file cannot be written.
    """
    if not isinstance(model, Ising):
        raise InputError(f"model is a {type(model).__name__}; Ising.from_any makes an Ising of it")
    name = _by_name(path_of(path)) if format is None else format
    if name is None:
        raise InputError(
            f"{path} has none of the suffixes {' '.join(_BY_SUFFIX)}; give a format: "
            + ", ".join(FORMATS)
        )
    chosen = _named(name)
    options = chosen.options(base, convention, chosen.write_bases)
    store(path, chosen.render(model, options))


def detect(path: str | Path) -> str:
    """Tell a file's format, by its suffix where that is known, else by its content.

    Raises
    ------
    FormatError
        If the file must be opened and cannot be read, or its content does not decide: the header
        ``n m`` starts both a graph (rudy) and a QUBO (biqmac).
    """
    return _by_name(path_of(path)) or _by_content(load(path))


def _named(name: str) -> Format:
    if not isinstance(name, str) or name not in FORMATS:
        raise InputError(f"format is {name!r}; {', '.join(FORMATS)} are accepted")
    return FORMATS[name]


def _by_name(path: Path) -> str | None:
    name = plain_name(path)
    if _G_SET.fullmatch(name):
        return "rudy"
    return _BY_SUFFIX.get(Path(name).suffix)


def _by_content(source: Source) -> str:
    if source.data.startswith(b"PK\x03\x04"):
        return "npz"
    if source.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "bqm-json"
    text = Text.of(source)
    if not text.rows:
        return "coo"  # comments alone may state a model without entries
    first = text.rows[0]
    if first.fields[:2] == ["p", "qubo"]:
        return "qubo"
    if len(first.fields) == 3:
        return "coo"
    if len(first.fields) == 2:
        raise first.error(
            "a header 'n m' starts both 'rudy' (max-cut) and 'biqmac' (QUBO) files, with different "
            "energies; say which by format= (--format on the command line)"
        )
    raise first.error(
        "the format is not recognised by suffix or content; say which by format= (--format on the "
        f"command line): {', '.join(FORMATS)}"
    )
