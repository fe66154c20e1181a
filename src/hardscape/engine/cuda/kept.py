"""A look into compiled kernels: ``HARDSCAPE_KERNELS=folder`` keeps what each of them was made of.

Each kernel gets a folder ``<name>-<arch>-<key>``: the source with its headers, as compiled, with line
info that points to these very files (for Nsight Compute and the like); the cubin; and
``kernel.json`` with what the assembler reports of each entry point: registers of a thread, bytes of
its stack and of spilled registers, static shared memory of a block, barriers.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from hardscape.errors import InputError
from hardscape.files import store

#: Options of NVRTC that a kept kernel is compiled with besides its own.
OPTIONS = ("-lineinfo", "--ptxas-options=-v")

#: What ptxas says of an entry point, and the words it uses.
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_COUNTS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "shared": re.compile(r"(\d+) bytes smem"),
    "barriers": re.compile(r"used (\d+) barriers"),
}


@dataclass(frozen=True)
class Entry:
    """What the assembler says of an entry point: counts, and bytes of a thread or block."""

    name: str
    registers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    barriers: int = 0


def read_report(log: str) -> list[Entry]:
    """The entry points in a log of ``ptxas -v``."""
    pieces = _ENTRY.split(log)[1:]
    return [
        Entry(
            name,
            **{
                count: int(found[1])
                for count, words in _COUNTS.items()
                if (found := words.search(text))
            },
        )
        for name, text in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def kept_folder() -> Path | None:
    """The folder that ``HARDSCAPE_KERNELS`` names, or None."""
    named = os.environ.get("HARDSCAPE_KERNELS")
    return Path(named).absolute() if named else None


@dataclass(frozen=True)
class KeptKernel:
    """The folder of one kernel."""

    folder: Path
    name: str

    @property
    def source(self) -> Path:
        """Where the source is kept: the name it is compiled under."""
        return self.folder / f"{self.name}.cu"

    def keep_sources(self, source: str, headers: tuple[tuple[str, str], ...]) -> None:
        """Write the source and its headers.

        Raises
        ------
        InputError
            If the folder cannot be written.
        """
        for place, text in ((self.source, source), *((self.folder / n, t) for n, t in headers)):
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"HARDSCAPE_KERNELS: {place.parent} cannot be made: {error.strerror}"
                ) from None
            store(place, text.encode())

    def keep_results(self, cubin: bytes, log: str, arch: str) -> None:
        """Write the cubin and what the assembler said."""
        entries = [vars(entry) for entry in read_report(log)]
        facts = {"kernel": self.name, "arch": arch, "entries": entries}
        store(self.folder / f"{self.name}.cubin", cubin)
        store(self.folder / "kernel.json", (json.dumps(facts, indent=2) + "\n").encode())
