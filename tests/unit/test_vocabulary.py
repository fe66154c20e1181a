"""The same thing has one name everywhere: what docs/reference/vocabulary.md says is so."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hardscape import gauge, ising, maxsat, permanents, xorsat
from hardscape.cli import main, program
from hardscape.engine import RunArguments
from hardscape.errors import FormatError
from helpers.results import results

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "vocabulary.md"
FAMILIES = ("gauge", "ising", "maxsat", "permanents", "xorsat")
COMMANDS = (
    "approximate",
    "bosons",
    "demo",
    "density",
    "devices",
    "examples",
    "gauge",
    "jobs",
    "maxsat",
    "merge",
    "permanent",
    "resume",
    "run",
    "show",
    "spectrum",
    "xorsat",
)
ROW = re.compile(r"^\| (`.+) \| .+ \| (.+) \|$", re.MULTILINE)
#: Words whose default is each family's own, as the page says.
OWN = set(re.findall(r"`(\w+)`", PAGE.read_text().partition("(but ")[2].partition(")")[0]))
#: What only the command line has.
COMMAND_ONLY = {"chain", "table", "no_cut", "here", "transformation", "source_format", "work"}
COMMAND_ONLY |= {"temperature", "spinodal_temperature", "magnetization"}  # of xorsat theory
COMMAND_ONLY |= {
    "input_precision",
    "byte_order",
}  # of a file that is read, where `precision` is taken


def words(column: int) -> set[str]:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {word for row in rows for word in re.findall(r"`(\w+)`", row[column])}


LISTED, NEVER = words(0), words(1)


def public(family: str) -> Iterator[tuple[str, Any]]:
    module = import_module(f"hardscape.{family}")
    for name in module.__all__:
        if name != "ExactSampler":
            yield name, getattr(module, name)


def functions(family: str) -> Iterator[Callable[..., Any]]:
    for _, thing in public(family):
        if not inspect.isclass(thing):
            if inspect.isfunction(thing):
                yield thing
            continue
        if not dataclasses.is_dataclass(thing):
            yield thing.__init__
        for attribute in vars(thing):
            found = getattr(thing, attribute)
            if not attribute.startswith("_") and (
                inspect.isfunction(found) or inspect.ismethod(found)
            ):
                yield found


def parameters() -> dict[str, list[tuple[str, inspect.Parameter]]]:
    """Every argument of everything public, with the family that has it."""
    found = defaultdict(list)
    for family in FAMILIES:
        for function in functions(family):
            for parameter in inspect.signature(function).parameters.values():
                variable = (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
                if parameter.name != "self" and parameter.kind not in variable:
                    found[parameter.name].append((family, parameter))
    return found


def attributes() -> set[str]:
    """Fields and properties of everything public."""
    found = set()
    for family in FAMILIES:
        for _, thing in public(family):
            if inspect.isclass(thing):
                kinds = (property, cached_property)
                found |= {x for x, y in inspect.getmembers(thing) if isinstance(y, kinds)}
            if dataclasses.is_dataclass(thing):
                found |= {field.name for field in dataclasses.fields(thing)}
    return found


@cache
def option_names() -> dict[str, set[str]]:
    """Options and arguments of all commands as Python has them, with the families that have them."""
    found = defaultdict(set)
    made = program()
    for name in COMMANDS:
        whole = made[name]
        for part in (whole, *(whole[x] for x in whole if not x.startswith("-"))):
            for argument in part.assemble_argument_collection() if part.default_command else ():
                if argument.show and argument.name != "*":
                    found[argument.name.strip("-").lower().replace("-", "_")].add(name)
    return found


@cache
def keys() -> dict[str, set[str]]:
    """Keys of the plain data of every result, with the families that have them."""
    found = defaultdict(set)
    for kind, result in results().items():
        family = kind.__module__.split(".")[1]
        for key in result.to_dict() if family in FAMILIES else ():
            found[key].add(family)
    return found


PARAMETERS = parameters()


@cache
def everywhere() -> set[str]:
    """All names that there are."""
    names = {*PARAMETERS, *option_names(), *keys()}
    return names | attributes() | RunArguments.__annotations__.keys()


def test_what_families_share_is_listed() -> None:
    shared = {name for name, used in PARAMETERS.items() if len({x for x, _ in used}) > 1}
    shared |= {name for name, used in (option_names() | keys()).items() if len(used) > 1}
    own = {"field", "fields"}  # of a magnet and of a lattice: what physics calls both
    assert shared - own - LISTED == set()


def test_what_is_listed_is_used() -> None:
    methods = {function.__name__ for family in FAMILIES for function in functions(family)}
    assert LISTED - everywhere() - methods == set()
    assert len(LISTED) > 50


def test_what_is_never_said() -> None:
    assert len(NEVER) > 50
    assert set() == NEVER & everywhere()


def test_options_are_called_as_in_python() -> None:
    negated = {name.removeprefix("no_") for name in option_names()}
    known = {*PARAMETERS, *LISTED, *attributes(), *RunArguments.__annotations__, *COMMAND_ONLY}
    methods = {function.__name__ for family in FAMILIES for function in functions(family)}
    assert negated - known - methods - {x.removeprefix("no_") for x in COMMAND_ONLY} == set()


def test_one_default() -> None:
    for name, shared in PARAMETERS.items():
        used = [parameter for _, parameter in shared]
        defaults = {repr(x.default) for x in used if x.default is not x.empty}
        assert len(defaults) <= 1 or name in OWN, name
        if name in RunArguments.__annotations__:
            types = {str(x.annotation) for x in used if x.default is not x.empty}
            assert types <= {str(RunArguments.__annotations__[name].__forward_arg__)}, name


@pytest.mark.parametrize("family", FAMILIES)
def test_who_runs_takes_all_that_running_takes(family: str) -> None:
    for function in functions(family):
        taken = inspect.signature(function).parameters
        if "time_limit" in taken:
            assert {"checkpoint", "executor", "workers", "progress"} <= taken.keys()
        if "run" in taken and taken["run"].kind is inspect.Parameter.VAR_KEYWORD:
            assert not taken.keys() & RunArguments.__annotations__.keys()


def test_every_file_has_a_path() -> None:
    for family in FAMILIES:
        for function in functions(family):
            taken = inspect.signature(function).parameters
            if "format" in taken and "path" in taken:
                assert taken["format"].kind is inspect.Parameter.KEYWORD_ONLY
                assert taken["format"].default is None


FOLDER = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize(
    ("call", "file"),
    [
        (ising.spectrum, "sk24.txt"),
        (ising.density_of_states, "torus30.rudy"),
        (lambda path: ising.estimate(path, sample_seconds=0.01), "sk24.txt"),
        (lambda path: ising.mps_spectrum(path, 1, bond_dimension=8), "sk24.txt"),
        (permanents.permanent, "dodecahedron.mtx"),
        (permanents.plan, "dodecahedron.mtx"),
        (permanents.minors, "dodecahedron.mtx"),
        (xorsat.solve, "regular64.cnf"),
        (xorsat.eliminate, "regular64.cnf"),
        (xorsat.quadratize, "regular64.cnf"),
        (lambda path: xorsat.quasi_greedy(path, max_sweeps=16), "regular64.cnf"),
        (lambda path: xorsat.time_to_solution(path, 1, 0.1), "regular64.cnf"),
        (lambda path: xorsat.scan_w1(path, [0.05], 1, 0.1), "regular64.cnf"),
        (xorsat.QuasiGreedyRunner, "regular64.cnf"),
        (maxsat.solve, "cover.wcnf"),
        (maxsat.cellular_search, "cover.wcnf"),
        (gauge.fix, "hot4.nersc"),
        (lambda path: gauge.gluon_propagator(path, theta=None), "hot4.nersc"),
        (lambda path: gauge.gluon_propagator([path], theta=None), "hot4.nersc"),
        (lambda path: gauge.scan(path, omegas=[1.5], theta=1.0), "hot4.nersc"),
        (lambda path: gauge.WilsonChain(path, 6.0).run(1), "hot4.nersc"),
        (gauge.inspect, "hot4.nersc"),
    ],
)
def test_who_takes_a_problem_takes_its_file(
    call: Callable[[Any], Any], file: str, kind: type[Any]
) -> None:
    assert call(kind(FOLDER / file)) is not None
    with pytest.raises(FormatError):
        call(kind(FOLDER / "nowhere" / file))


#: A run of every command whose answer is JSON; {folder} is for what they write.
RUNS = (
    "approximate dodecahedron.mtx",
    "density torus30.rudy",
    "examples {folder}/examples",
    "gauge info hot4.nersc",
    "gauge convert hot4.nersc {folder}/hot4.ildg",
    "gauge fix hot4.nersc -o {folder}/fixed.nersc --theta 1",
    "gauge generate --shape 2,2,2,2 --beta 6 --sweeps 1 -o {folder}/new.nersc",
    "gauge propagator hot4.nersc --theta 1e9",
    "gauge scan hot4.nersc --omegas 1.5 --theta 1",
    "maxsat cover.wcnf --method weighting --max-flips 100",
    "permanent dodecahedron.mtx",
    "permanent dodecahedron.mtx --estimate",
    "spectrum sk24.txt",
    "spectrum sk24.txt --estimate",
    "xorsat solve regular64.cnf",
    "xorsat generate --num-variables 12 -o {folder}/new.cnf",
    "xorsat tts regular64.cnf --runs 2 --timeout 1",
    "xorsat scan regular64.cnf --values 0.05,0.06,0.07 --runs 1 --timeout 1",
    "xorsat theory",
)


def nested(content: Any) -> Iterator[str]:
    """Keys of JSON, those of objects inside too."""
    if isinstance(content, dict):
        yield from content
    for value in content.values() if isinstance(content, dict) else content:
        if isinstance(value, (dict, list)):
            yield from nested(value)


@pytest.mark.parametrize("run", RUNS)
def test_keys_of_json(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER)
    main([*run.format(folder=tmp_path).split(), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert run.startswith(found.pop("command"))
    told = {key for key in nested(found) if key.isidentifier() and key.islower()}
    assert told
    assert told & NEVER == set()
    assert told - everywhere() - LISTED - COMMAND_ONLY == set()
