"""The exhaustive search as a ``dimod.Sampler``; dimod is imported when it is first used."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import as_spins
from hardscape.engine import RunArguments
from hardscape.errors import InputError, needed
from hardscape.ising.model import Ising
from hardscape.ising.spectrum import MAX_STATES, spectrum

if TYPE_CHECKING:
    ExactSampler: Any


class _ExactSampling:
    """The methods of `ExactSampler`, without dimod's base class."""

    def __init__(self, **run: Unpack[RunArguments]) -> None:
        for name in run.keys() - RunArguments.__annotations__.keys():
            raise InputError(
                f"ExactSampler takes no {name!r}; {', '.join(RunArguments.__annotations__)} are "
                "accepted there, and all arguments of hardscape.spectrum by its methods"
            )
        self._run = run

    @property
    def parameters(self) -> dict[str, list[str]]:
        """Keyword arguments of `sample`, each with the properties that limit it."""
        return {
            "num_reads": ["max_num_states"],
            "num_states": ["max_num_states"],
            "window": [],
            "cutoff": [],
            "initial_states": [],
            "method": [],
            "prune": [],
            **{name: [] for name in RunArguments.__annotations__},
        }

    @property
    def properties(self) -> dict[str, Any]:
        """Limits: the most states listed."""
        return {"max_num_states": MAX_STATES}

    def sample(
        self,
        bqm: Any,
        *,
        num_reads: int | None = None,
        num_states: int | None = None,
        window: float | None = None,
        cutoff: float | None = None,
        initial_states: Any = None,
        method: str = "auto",
        prune: bool = True,
        **kwargs: Any,
    ) -> Any:
        r"""List the states of lowest energy of a binary quadratic model.

        Parameters
        ----------
        bqm : dimod.BinaryQuadraticModel
            Of either vartype, and of a size that a method of :func:`hardscape.spectrum` takes.
        num_reads, num_states : int, optional
            How many states to list: two names, dimod's and hardscape's, for one number. By default
            100, or with `window` as many as it holds.
        window, cutoff, method, prune
            As in :func:`hardscape.spectrum`.
        initial_states : samples, optional
            States that are known, as dimod takes samples: with labels, of either vartype, spins or 0 and 1.
        **kwargs
            How it is run: see :class:`hardscape.engine.RunArguments`; what is not said is as the sampler
            was made. Unknown arguments are dropped with dimod's warning.

        Returns
        -------
        dimod.SampleSet
            Distinct states in order of energy, of the vartype and with the labels of `bqm`, int8.
            Energies are exact sums rounded once to float64. ``info["certified"]`` tells whether
            they are proven to be the lowest; only a `time_limit` makes it False, and no state has an
            energy below ``info["lower_bound"]``. A model without variables has one state.

        Raises
        ------
        InputError
            For a model that no method takes, arguments out of range, or `num_reads` and `num_states`
            that differ.
        BudgetError
            If more than 2**24 states lie within `window`.
        Interrupted
            On Ctrl-C or SIGTERM; its `result` is a `Spectrum`, the best so far.

        Notes
        -----
        Time and memory are those of :func:`hardscape.spectrum`.
        """
        run = {**self._run, **self.remove_unknown_kwargs(**kwargs)}  # type: ignore[attr-defined]
        if None not in (num_reads, num_states) and num_reads != num_states:
            raise InputError(
                f"num_reads={num_reads!r} and num_states={num_states!r} are one number under two "
                "names; give one of them"
            )
        model = Ising.from_bqm(bqm)
        found = spectrum(
            model,
            num_reads if num_states is None else num_states,
            window=window,
            cutoff=cutoff,
            initial_states=None if initial_states is None else _spins(initial_states, model),
            method=method,
            prune=prune,
            **run,
        )
        return found.to_dimod().change_vartype(bqm.vartype)


def _spins(samples: Any, model: Ising) -> NDArray[np.int8]:
    """States in the order of the model's spins, -1 and +1."""
    dimod = needed("dimod", "dimod", "dimod", "hardscape.ising.ExactSampler")
    states, labels = dimod.as_samples(samples)
    column = {label: i for i, label in enumerate(labels)}
    for kind, names in (
        ("no", {*model.labels} - column.keys()),
        ("the unknown", column.keys() - {*model.labels}),
    ):
        if names:
            raise InputError(f"initial_states have {kind} variable {sorted(map(repr, names))[0]}")
    ordered = states[:, [column[label] for label in model.labels]]
    binary = (
        getattr(getattr(samples, "vartype", None), "name", "") == "BINARY" or (ordered == 0).any()
    )
    return (
        np.where(ordered > 0, 1, -1).astype(np.int8)
        if binary
        else as_spins(ordered, model.num_spins)
    )


@cache
def _exact_sampler() -> type:
    dimod = needed("dimod", "dimod", "dimod", "hardscape.ising.ExactSampler")
    body = {
        "__module__": __name__,
        "__doc__": """dimod sampler that lists the states of lowest energy, with a certificate.

        Parameters
        ----------
        **run
            How its calls are run, such as ``time_limit=3``, where they do not say: see
            :class:`hardscape.engine.RunArguments`.

        Examples
        --------
        >>> from hardscape.ising import ExactSampler
        >>> samples = ExactSampler().sample_ising({"a": 0.5}, {("a", "b"): -1.0}, num_reads=2)
        >>> samples.first.energy
        -1.5
        """,
    }
    # The base class decides at creation which of the three sample methods are still missing.
    made: type = type(dimod.Sampler)("ExactSampler", (_ExactSampling, dimod.Sampler), body)
    return made


def __getattr__(name: str) -> Any:
    if name == "ExactSampler":
        return _exact_sampler()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
