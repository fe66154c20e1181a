"""Many small cases of one test, some of them to a call: a call of pytest costs more than most of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

#: Cases that a call of pytest stands for.
TOGETHER = 20


def each_seed(seeds: Iterable[int]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each ``seed``, with patches of its own.

    The first that fails is named; those that are to be skipped are passed over.
    """
    every = list(seeds)
    blocks = [every[i : i + TOGETHER] for i in range(0, len(every), TOGETHER)]

    def some_of(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        own = {"seed", "monkeypatch"} & signature.parameters.keys()

        @functools.wraps(test)
        def run(*, _seeds: list[int], **others: Any) -> None:
            skipped = []
            for seed in _seeds:
                with pytest.MonkeyPatch.context() as patch:
                    given = {"seed": seed, "monkeypatch": patch}
                    try:
                        test(**{name: given[name] for name in own}, **others)
                    except pytest.skip.Exception as error:
                        skipped.append(error.msg)
                    except BaseException as error:
                        error.add_note(f"seed {seed}")
                        raise
            if len(skipped) == len(_seeds):
                pytest.skip(skipped[0])

        kept = [p for name, p in signature.parameters.items() if name not in own]
        kept.append(inspect.Parameter("_seeds", inspect.Parameter.KEYWORD_ONLY))
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        names = [f"{block[0]}-{block[-1]}" for block in blocks]
        return pytest.mark.parametrize("_seeds", blocks, ids=names)(run)

    return some_of
