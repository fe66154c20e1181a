"""Fuzz the readers for longer than tests do, led by coverage: python tests/fuzz.py SECONDS [READER ...].

Needs Atheris (``pip install '.[fuzz]'``). Each reader gets so many seconds in a process of its own. What is
found is kept in ``build/fuzz``, where the next run begins: files that led to new code in ``READER``,
files that were neither read nor refused, took too long or too much memory in ``READER-crash-...``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOUND = Path(__file__).resolve().parents[1] / "build" / "fuzz"
#: Seconds and megabytes that no file of the corpus's size may take.
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=20000", "-len_control=0")


def fuzz(name: str, seconds: str) -> None:
    """Never returns: libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["hardscape"]):
        from helpers.readers import TOKENS, readers

        reader = readers()[name]
    known = FOUND / name
    known.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(reader.corpus):
        (known / f"ours-{number}").write_bytes(data)
    words = known.with_suffix(".words")
    words.write_text(
        "".join('"{}"\n'.format("".join(f"\\x{x:02x}" for x in token)) for token in TOKENS)
    )
    path = Path(tempfile.mkdtemp()) / "file"
    options = [*LIMITS, f"-max_total_time={seconds}", f"-dict={words}", "-print_final_stats=1"]
    places = [f"-artifact_prefix={FOUND}/{name}-", str(known)]
    atheris.Setup([sys.argv[0], *options, *places], lambda data: reader.takes(data, path))
    atheris.Fuzz()


def main(seconds: str, *names: str) -> int:
    """Fuzz readers one after the other; returns how many failed."""
    from helpers.readers import readers

    command = [sys.executable, __file__, "-", seconds]
    names = names or tuple(readers())
    failed = [name for name in names if subprocess.run([*command, name]).returncode]
    print("failed:", *failed or ["none"])
    return len(failed)


if __name__ == "__main__":
    os.nice(10)
    if sys.argv[1] == "-":
        fuzz(sys.argv[3], sys.argv[2])
    sys.exit(main(*sys.argv[1:]))
