"""States in files: what the command line prints as JSON, or a line of spins each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source, load, shown

_SPINS = {"0": -1, "1": 1, "+1": 1, "-1": -1}


def read_states(path: str | Path, num_spins: int) -> NDArray[np.int8]:
    """Read states of a model.

    Parameters
    ----------
    path : str or Path
        JSON with ``states``, strings of 0 and 1, as ``hardscape spectrum --json`` prints and
        ``Spectrum.save("x.json")`` writes; or text with one state a line: N characters 0 and 1 (character i is
        spin i, 1 for +1), or N numbers -1 and +1, or 0 and 1, with spaces or commas between them.
    num_spins : int
        N.

    Returns
    -------
    int8, shape (k, N)
        Spins -1 and +1.

    Raises
    ------
    FormatError
        If the file is missing, or a line is no state of N spins; with path and line.
    """
    source = load(path)
    rows: list[tuple[int | None, str]]
    if source.raw[:4096].lstrip().startswith(b"{"):
        rows = [(None, text) for text in _listed(source)]
    else:
        rows = [(number, text) for number, text in source.lines() if text and text[0] != "#"]
    spins = [_spins(source, number, text, num_spins) for number, text in rows]
    return np.array(spins, dtype=np.int8).reshape(-1, num_spins)


def _listed(source: Source) -> list[str]:
    try:
        states = json.loads(source.data.decode())["states"]
    except (ValueError, KeyError, RecursionError) as error:
        raise source.error(None, f"is no JSON object with 'states': {error}") from None
    if not isinstance(states, list) or not all(isinstance(x, str) for x in states):
        raise source.error(None, "has 'states' that are no list of strings of 0 and 1")
    return states


def _spins(source: Source, number: int | None, text: str, num_spins: int) -> list[int]:
    words = text.replace(",", " ").split()
    if len(words) == 1 and num_spins != 1:
        words = list(words[0])
    if len(words) != num_spins:
        raise source.error(number, f"{len(words)} spins; the model has {num_spins}")
    for word in words:
        if word not in _SPINS:
            raise source.error(number, f"spin {shown(word)}; 0, 1, -1 and +1 are accepted")
    if "-1" in words and "0" in words:
        raise source.error(number, "spins 0 and -1 in one state; which of them is down?")
    return [_SPINS[word] for word in words]
