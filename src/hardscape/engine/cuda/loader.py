"""The one loader of CUDA sources: files of the package, what they include, and what is generated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from posixpath import dirname, join, normpath

from hardscape.engine.cuda.jit import CSTDINT, Kernel
from hardscape.errors import InputError

_PACKAGE = Path(__file__).parents[2]
#: Lines that include a header of the package.
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def kernel(
    path: str,
    name: str,
    *,
    constants: Mapping[str, bool | int | float] | None = None,
    generated: Mapping[str, str] | None = None,
    options: tuple[str, ...] = (),
) -> Kernel:
    """A kernel of the package as data, with all that it includes.

    Parameters
    ----------
    path : str
        The source, from the package's root, for example "permanents/methods/glynn/glynn.cu".
    name : str
        Entry point, declared ``extern "C" __global__`` in it.
    constants : mapping, optional
        Name and value of constants that stand before the first line: bool, int (``long long`` where
        32 bits do not hold it) or double.
    generated : mapping, optional
        Name, as in ``#include "name"``, and text of headers that are made for this kernel.
    options : tuple of str
        Options of NVRTC besides architecture and language standard.

    Raises
    ------
    InputError
        If a file is neither generated nor part of the package, or a constant is no number.

    Notes
    -----
    A header is looked for in `generated`, beside the file that includes it, and from the package's
    root, as the C++ compiler does. ``#include <cstdint>`` is supplied.

    Examples
    --------
    >>> from hardscape.engine import kernel
    >>> source = "permanents/methods/glynn/glynn.cu"
    >>> kernel(source, "glynn_sum", constants={"kFactors": 20}).name
    'glynn_sum'
    """
    lines = "".join(_constant(*item) for item in (constants or {}).items())
    return _assembled(path, name, lines, tuple((generated or {}).items()), options)


@lru_cache(maxsize=64)  # many small launches of the same kernels follow one another
def _assembled(
    path: str,
    name: str,
    lines: str,
    generated: tuple[tuple[str, str], ...],
    options: tuple[str, ...],
) -> Kernel:
    headers: dict[str, str] = {}
    source = _linked(_text(path), dirname(path), dict(generated), headers)
    if "#include <cstdint>" in source + "".join(headers.values()):
        headers[CSTDINT[0]] = CSTDINT[1]
    return Kernel(name, lines + source, tuple(sorted(headers.items())), options)


def _linked(text: str, folder: str, generated: dict[str, str], headers: dict[str, str]) -> str:
    """`text` with every include by its one name; what is included goes into `headers`."""

    def link(match: re.Match[str]) -> str:
        asked = match[1]
        found = asked if asked in generated else _place(asked, folder)
        if found not in headers:
            headers[found] = ""  # a header that includes itself ends here
            content = generated[asked] if asked in generated else _text(found)
            headers[found] = _linked(content, dirname(found), generated, headers)
        return match[0].replace(f'"{asked}"', f'"{found}"')

    return _INCLUDE.sub(link, text)


@cache
def _place(name: str, folder: str) -> str:
    """Path of a header from the package's root."""
    beside = normpath(join(folder, name))
    for path in (beside, name):
        if _PACKAGE.joinpath(path).is_file():
            return path
    raise InputError(f'#include "{name}": neither {beside} nor {name} is part of the package')


@cache
def _text(path: str) -> str:
    try:
        return _PACKAGE.joinpath(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} is not part of the package: {error}") from None


def _constant(name: str, value: bool | int | float) -> str:
    if isinstance(value, bool):
        return f"constexpr bool {name} = {str(value).lower()};\n"
    if isinstance(value, int):
        if -(2**31) < value < 2**31:
            return f"constexpr int {name} = {value};\n"
        return f"constexpr long long {name} = {value}LL;\n"
    if isinstance(value, float):
        return f"constexpr double {name} = {value.hex()};\n"
    raise InputError(f"constant {name}={value!r}; bool, int and float are accepted")
