"""Every reader takes any bytes, or refuses them in its own way; `python tests/fuzz.py` goes on for longer."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.readers import FAMILIES, TOKENS, readers

tokens = st.sampled_from(TOKENS)
pieces = st.one_of(tokens, st.binary(min_size=1, max_size=1))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readers") / "file"


@st.composite
def mutations(draw: st.DrawFn, corpus: tuple[bytes, ...]) -> bytes:
    """A valid file with a few bytes replaced, inserted, removed or doubled, or cut off."""
    data = bytearray(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 12)))
        new = st.one_of(
            st.lists(pieces, max_size=6).map(b"".join), st.just(bytes(data[start:stop]) * 2)
        )
        data[start:stop] = draw(new)
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


@pytest.mark.parametrize("name", [x for x in readers() if x not in FAMILIES])
def test_the_corpus_is_read(name: str, path: Path) -> None:
    reader = readers()[name]
    assert all(reader.takes(data, path) for data in reader.corpus)


@pytest.mark.parametrize("name", readers())
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_damaged_files_are_read_or_refused(name: str, path: Path, data: st.DataObject) -> None:
    reader = readers()[name]
    reader.takes(data.draw(mutations(reader.corpus)), path)


@pytest.mark.parametrize("name", readers())
@settings(max_examples=12, deadline=None)
@given(data=st.one_of(st.binary(max_size=60), st.lists(tokens, max_size=25).map(b"".join)))
def test_any_bytes_are_read_or_refused(name: str, path: Path, data: bytes) -> None:
    readers()[name].takes(data, path)
