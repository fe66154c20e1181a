"""Files of MAX-SAT formulas: DIMACS CNF and WCNF, read and written.

==========  ========  ==================================================================
format      suffix    clauses
==========  ========  ==================================================================
CNF         .cnf      ``p cnf n m``, then literals, 0 after each clause; all soft, weight 1
WCNF        .wcnf     since 2022: no header, each line ``h`` or a weight, literals, 0
old WCNF    .wcnf     ``p wcnf n m top``, each line a weight (``top``: hard), literals, 0
==========  ========  ==================================================================

The content tells the format, not the name. A further suffix .gz or .xz stands for compression.
Lines that start with ``c`` are comments, anywhere. Clauses may go over several lines, and in CNF files
several may share one; a line ``%`` ends the file, as in SATLIB. Old WCNF headers without ``top``
have only soft clauses. Where a header disagrees with the clauses, the clauses count, and a
`FormatWarning` says so.
"""

from __future__ import annotations

import gzip
import os
import secrets
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from hardscape import native
from hardscape.errors import FormatError, InputError
from hardscape.maxsat.formula import Formula

__all__ = ["MAX_BYTES", "FormatWarning", "read", "store", "write"]

#: Most bytes read from one file, counted after decompression.
MAX_BYTES = 2**32


class FormatWarning(UserWarning):
    """A file's header disagrees with its clauses."""


def read(path: str | Path) -> Formula:
    """Read a CNF or WCNF file.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Formula
        The clauses in the file's order, as they stand there.

    Raises
    ------
    FormatError
        If the file is missing, unreadable or malformed; with path and line.

    Warns
    -----
    FormatWarning
        If the header announces other numbers than the file holds.

    Notes
    -----
    Some 100 MB/s; cost O(size of the file).
    """
    place = _path_of(path)
    found = native.core().parse_wcnf(_load(place))
    if len(found) == 2:
        line, reason = found
        raise FormatError(place, line or None, reason)
    variables, literals, offsets, weights, hard, doubts = found
    for doubt in doubts:
        warnings.warn(f"{place}:{doubt}", FormatWarning, stacklevel=2)
    return Formula(variables, literals, offsets, weights, hard.view(np.bool_))


def write(formula: Formula, path: str | Path) -> None:
    """Write a formula so that :func:`read` gives the same clauses back in the same order.

    Parameters
    ----------
    formula : Formula
    path : str or Path
        Ends in .cnf, for soft clauses of weight 1 alone, or in .wcnf, which is written in the format
        of 2022 with a comment ``c variables n``; then perhaps in .gz or .xz. The number of variables
        is only kept as far as they occur, except in .cnf.

    Raises
    ------
    InputError
        If the suffix is another one, the format cannot hold the formula, or the file cannot be
        written. A file that was there before is then still there.
    """
    place = _path_of(path)
    kind = _plain_suffix(place)
    if kind == ".cnf":
        if formula.num_hard or (formula.weights != 1).any():
            raise InputError(f"{place}: a .cnf file holds soft clauses of weight 1; write .wcnf")
        head = f"p cnf {formula.num_variables} {formula.num_clauses}\n"
        marks = [""] * formula.num_clauses
    elif kind == ".wcnf":
        head = f"c variables {formula.num_variables}\n"
        marks = [
            "h " if firm else f"{weight} "
            for firm, weight in zip(formula.hard.tolist(), formula.weights.tolist(), strict=True)
        ]
    else:
        raise InputError(f"{place} ends neither in .cnf nor in .wcnf, with .gz or .xz or without")
    literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
    lines = [head]
    for mark, begin, end in zip(marks, offsets, offsets[1:], strict=False):
        lines.append(f"{mark}{' '.join(map(str, [*literals[begin:end], 0]))}\n")
    store(place, "".join(lines).encode())


def _path_of(path: Any) -> Path:
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise InputError(f"path is {path!r}; a string or Path without null characters is accepted")
    return Path(path)


def _plain_suffix(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz").removesuffix(".xz")
    return Path(name).suffix


def _load(path: Path) -> bytes:
    try:
        data = _content(path)
    except (EOFError, zlib.error, MemoryError) as error:
        raise FormatError(path, None, f"is damaged or cut off: {error}") from None
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise FormatError(path, None, f"holds more than {MAX_BYTES} bytes, the most that is read")
    return data


def _content(path: Path) -> bytes:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    if suffix == ".xz":
        import lzma

        try:
            with lzma.open(path, "rb") as packed:
                return packed.read(MAX_BYTES + 1)
        except lzma.LZMAError as error:
            raise EOFError(error) from None
    with path.open("rb") as plain:
        return plain.read(MAX_BYTES + 1)


def store(path: Path, data: bytes) -> None:
    """Replace a file as a whole, compressed as its suffix says.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".hardscape-{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(_compressed(path, data))
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if temporary.exists():
            temporary.unlink()


def _compressed(path: Path, data: bytes) -> bytes:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    if suffix == ".xz":
        import lzma

        return lzma.compress(data)
    return data
