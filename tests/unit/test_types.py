"""Types of the public face, as type checkers of users see them: from outside the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hardscape

USES = Path(__file__).resolve().parents[1] / "helpers" / "typical_uses.py"
CHECKERS = {
    "mypy": ["--strict", "--cache-dir", os.devnull, "--python-executable", sys.executable],
    "basedpyright": ["--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_typical_uses_have_types(checker: str, tmp_path: Path) -> None:
    pytest.importorskip(checker)
    place = tmp_path / "site"
    place.mkdir()
    (place / "hardscape").symlink_to(Path(hardscape.__file__).parent)
    shutil.copy(USES, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    done = subprocess.run(
        [sys.executable, "-m", checker, *CHECKERS[checker], USES.name],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
