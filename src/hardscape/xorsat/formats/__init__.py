r"""Files of XOR systems: reading, writing and telling the formats apart.

==========  ===========  ========================================================================
format      suffixes     content
==========  ===========  ========================================================================
xcnf        .cnf .xcnf   DIMACS CNF with lines ``x1 2 -3 0``, and groups of clauses that are a XOR
cnf                      the same, written as groups of ordinary clauses, for any SAT solver
qh          .qh          the 3-XORSAT challenge's 2-body Ising models, lines ``i j value``
npz         .npz         NumPy archive: num_variables, offsets, variables, parity
==========  ===========  ========================================================================

A further suffix .gz or .xz stands for compression.

xcnf, cnf
    ``p cnf variables clauses``, then clauses that end in 0, variables counted from 1. ``x1 2 -3 0``
    says that the XOR of its literals is true: x1 + x2 + (1 + x3) = 1. Ordinary clauses are accepted
    where they come in groups of 2^(k-1) over the same k variables that together exclude every
    assignment of one parity, which is a XOR; the group stands where its first clause stood. Comments
    start with ``c``; a line ``%`` ends the file, as in SATLIB's. A XOR that has cancelled
    to 0 = 0 or 0 = 1 is written ``x1 -1 0`` or ``x1 1 0``.
qh
    Spins counted from 1, fields at i = j, :math:`E = \sum J s s + \sum h s` with
    :math:`s = 1 - 2x`. The first half are the variables, the second half one ancilla a clause of
    three; a comment ``# hardscape variables=N clauses=M`` says otherwise. The clause of an ancilla
    are its three neighbours, and :math:`s_1 s_2 s_3 = -h_a J_a / 4`. Every field and coupling is
    checked (see :class:`hardscape.xorsat.QuadraticModel`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from hardscape.errors import FormatError, InputError
from hardscape.files import COMPRESSED, Source, load, path_of, plain_name, store
from hardscape.xorsat.formats import archive, dimacs, two_body
from hardscape.xorsat.system import XorSystem

__all__ = ["FORMATS", "Format", "read", "write"]


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        Names of files that are taken for this format.
    parse : callable
        From the text or bytes of a file to :class:`~hardscape.xorsat.XorSystem`.
    render : callable
        From :class:`~hardscape.xorsat.XorSystem` to bytes.
    """

    name: str
    suffixes: tuple[str, ...]
    parse: Callable[[Source], XorSystem]
    render: Callable[[XorSystem], bytes]


_ALL = (
    Format("xcnf", (".cnf", ".xcnf"), dimacs.parse, dimacs.render_xors),
    Format("cnf", (), dimacs.parse, dimacs.render_clauses),
    Format("qh", (".qh",), two_body.parse, two_body.render),
    Format("npz", (".npz",), archive.parse, archive.render),
)
#: The formats by name.
FORMATS = MappingProxyType({format.name: format for format in _ALL})
_BY_SUFFIX = {suffix: format for format in _ALL for suffix in format.suffixes}


def read(path: str | Path, *, format: str | None = None) -> XorSystem:
    """Read a system.

    Parameters
    ----------
    path : str or Path
    format : str, optional
        A name in `FORMATS`; by default what the suffix says.

    Raises
    ------
    FormatError
        If the file is missing, unreadable or not what it claims to be; with path and line.
    InputError
        If the format is not known.
    """
    chosen = _format(path, format)
    source = load(path)
    try:
        return chosen.parse(source)
    except FormatError:
        raise
    except InputError as error:  # what the system itself refuses
        raise FormatError(source.path, None, str(error)) from None


def write(system: XorSystem, path: str | Path, *, format: str | None = None) -> None:
    """Write a system so that :func:`read` gives an equal one back.

    The file appears whole or not at all; one that was there before is replaced.

    Parameters
    ----------
    system : XorSystem
    path : str or Path
    format : str, optional
        A name in `FORMATS`; by default what the suffix says.

    Raises
    ------
    InputError
        If the format cannot hold the system or is not known, or the file cannot be written.
    """
    if not isinstance(system, XorSystem):
        raise InputError(f"system is a {type(system).__name__}; a XorSystem is accepted")
    store(path, _format(path, format).render(system))


def _format(path: str | Path, name: str | None) -> Format:
    place = path_of(path)
    if name is not None:
        if name not in FORMATS:
            raise InputError(f"format={name!r}; {', '.join(FORMATS)} are accepted")
        return FORMATS[name]
    suffix = Path(plain_name(place)).suffix
    if suffix not in _BY_SUFFIX:
        raise InputError(
            f"{place}: suffix {suffix!r} is unknown; {', '.join(_BY_SUFFIX)} are accepted, also "
            f"with {' or '.join(COMPRESSED)}, or a format: {', '.join(FORMATS)}"
        )
    return _BY_SUFFIX[suffix]
