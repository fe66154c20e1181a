"""Command lines from functions: options from annotations, help from docstrings, parsed by argparse.

A command is a function. Its positional parameters are arguments of the command line, its keywords are options;
a keyword whose type is a class made by :func:`option_group` stands for all fields of that class. What
`Annotated` types say besides is a :class:`Parameter`.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from hardscape.errors import InputError

Command = Callable[..., int | None]
_Options = TypeVar("_Options")
_AnyCommand = TypeVar("_AnyCommand", bound=Command)
#: What a value that is not one of its type should have been.
_ACCEPTED = {int: "an integer", float: "a number"}
#: How usage shows an argument, by whether it takes many values and is required.
_ARGUMENTS = {(True, False): " [{}...]", (False, True): " {}", (False, False): " [{}]"}
#: What asks for help.
HELP = frozenset(("-h", "--help"))
_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+)\n((?:    .+(?:\n|$))+)", re.MULTILINE)


@dataclass(frozen=True)
class Group:
    """A heading in the help, and its place."""

    name: str
    sort_key: int = 5


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What an option says beside its type.

    Attributes
    ----------
    names
        Instead of that of the parameter, with dashes.
    help
        Instead of what the docstring says; a function where that is not known without work.
    negated
        Whether a flag has a ``--no-``.
    group
        Its heading in the help.
    """

    names: tuple[str, ...] = ()
    help: str | Callable[[], str] | None = None
    negated: bool = True
    group: Group | None = None


@dataclass(frozen=True)
class Program:
    """A command that is made of others."""

    name: str
    help: str
    commands: dict[str, Command] = field(default_factory=dict)

    def command(self, function: _AnyCommand, name: str = "") -> _AnyCommand:
        """Add a command, by default under its function's name."""
        self.commands[name or function.__name__] = function
        return function


@dataclass(frozen=True)
class Option:
    """One argument or option of a command.

    Attributes
    ----------
    name
        That of the parameter or field.
    names
        What is typed; one without dashes for an argument.
    type
        Of one value: bool for flags.
    choices
        The values of a Literal.
    default
        ``inspect.Parameter.empty`` where there is none.
    many
        Whether an argument takes any number of values.
    told
        What the docstring says.
    holder
        Parameter of the function, where the option is a field of its class.
    """

    name: str
    names: tuple[str, ...]
    type: Any
    choices: tuple[str, ...]
    default: Any
    said: Parameter
    told: str
    many: bool = False
    holder: str = ""

    @property
    def argument(self) -> bool:
        """Whether it is known by its place, not by a name."""
        return not self.names[0].startswith("-")

    @property
    def help(self) -> str:
        """What it is for, by its annotation or the docstring."""
        return self.said.help() if callable(self.said.help) else self.said.help or self.told

    @property
    def heading(self) -> Group:
        """Where the help shows it."""
        return Group("Arguments", -1) if self.argument else self.said.group or Group("Options", 0)

    @property
    def place(self) -> str:
        """Where the parser keeps the value."""
        return f"{self.holder}.{self.name}" if self.holder else self.name

    @property
    def flag(self) -> bool:
        """Whether it takes no value."""
        return self.type is bool

    @property
    def required(self) -> bool:
        """Whether it cannot be left out."""
        return self.default is inspect.Parameter.empty and not self.many


@dataclass_transform(frozen_default=True, kw_only_default=True)
def option_group(group: Group) -> Callable[[type[_Options]], type[_Options]]:
    """Make a frozen dataclass of a class; help shows its fields as options under `group`."""

    def made(fields: type[_Options]) -> type[_Options]:
        options = dataclass(frozen=True, kw_only=True)(fields)
        options.group = group  # type: ignore[attr-defined]
        return options

    return made


def invoke(command: Command | Program, name: str, words: Sequence[str]) -> int:
    """Call `command`, whose name is `name`, with what the words after it say; its exit code.

    Raises
    ------
    InputError
        If the words are at fault.
    """
    if not isinstance(command, Program):
        return _call(command, name, words)
    if not words or words[0] in HELP:
        told = {name: _summary(function) for name, function in sorted(command.commands.items())}
        print(overview(f"hardscape {name} COMMAND [OPTIONS]", command.help, told), end="")
        return 0
    chosen = picked(words[0], command.commands)
    return invoke(command.commands[chosen], f"{name} {chosen}", words[1:])


def picked(word: str, known: Iterable[str]) -> str:
    """The word, or an error if it is not one of those known."""
    if word not in known:
        raise InputError(f"there is no command {word!r}; {_nearest(word, known)}")
    return word


def _nearest(word: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean {near[0]}?" if near else "--help lists them"


def _call(command: Command, name: str, words: Sequence[str]) -> int:
    known = list(options(command))
    if not HELP.isdisjoint(words):
        print(_parser(command, name, known, told=True).format_help(), end="")
        return 0
    parser = _parser(command, name, known, told=False)
    given, unknown = parser.parse_known_intermixed_args(_joined(words, known))
    if unknown:
        _refuse(unknown, known)
    # argparse forgets, between arguments and options, that what is left out has no value.
    values = {
        place: value for place, value in vars(given).items() if str(value) != argparse.SUPPRESS
    }
    arguments: list[Any] = []
    keywords: dict[str, Any] = {}
    held: dict[str, dict[str, Any]] = {}
    for option in known:
        place = option.place
        if option.argument:
            arguments += (
                values.get(place, []) if option.many else [values.get(place, option.default)]
            )
        elif option.holder:
            fields = held.setdefault(option.holder, {})
            if place in values:
                fields[option.name] = values[place]
        elif place in values:
            keywords[place] = values[place]
    hints = get_type_hints(command)
    keywords |= {holder: hints[holder](**fields) for holder, fields in held.items()}
    return command(*arguments, **keywords) or 0


def options(command: Command) -> Iterator[Option]:
    """All arguments and options of a command."""
    hints = get_type_hints(command, include_extras=True)
    told = _described(command)
    for name, parameter in inspect.signature(command).parameters.items():
        hint = hints[name]
        if dataclasses.is_dataclass(hint):
            yield from _fields(name, hint)
        else:
            positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
            many = parameter.kind is parameter.VAR_POSITIONAL
            default = parameter.default
            found = _option(name, hint, default, told.get(name, ""), positional=positional)
            yield dataclasses.replace(found, many=many)


def _summary(command: Command) -> str:
    return inspect.cleandoc(command.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def overview(usage: str, about: str, commands: dict[str, str]) -> str:
    """The help of a command that is made of others."""
    from textwrap import TextWrapper

    wide = max(map(len, commands)) + 4
    wrapper = TextWrapper(width=_columns(), subsequent_indent=" " * wide)
    lines = [
        wrapper.fill(f"  {name}".ljust(wide) + _sentence(text)) for name, text in commands.items()
    ]
    return "\n".join([f"usage: {usage}", "", about, "", "Commands:", *lines, ""])


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _columns() -> int:
    from shutil import get_terminal_size

    return min(get_terminal_size().columns - 2, 110)


def _fields(holder: str, kind: Any) -> Iterator[Option]:
    hints = get_type_hints(kind, include_extras=True)
    told: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        told |= _described(base)
    for item in dataclasses.fields(kind):
        default = inspect.Parameter.empty if item.default is dataclasses.MISSING else item.default
        found = _option(item.name, hints[item.name], default, told.get(item.name, ""))
        said = dataclasses.replace(found.said, group=found.said.group or kind.group)
        yield dataclasses.replace(found, holder=holder, said=said)


def _option(name: str, hint: Any, default: Any, told: str, *, positional: bool = False) -> Option:
    said: dict[str, Any] = {}
    while get_origin(hint) is Annotated or type(None) in get_args(hint):
        hint, *more = (x for x in get_args(hint) if x is not type(None))
        for each in more:
            said |= {x: y for x, y in vars(each).items() if y != getattr(Parameter, x)}
    literal = get_origin(hint) is Literal
    choices = get_args(hint) if literal else ()
    names = (name if positional else f"--{name.replace('_', '-')}",)
    return Option(
        name,
        said.get("names", names),
        str if literal else hint,
        choices,
        default,
        Parameter(**said),
        told,
    )


def _described(described: Any) -> dict[str, str]:
    """What a docstring says of each parameter or attribute."""
    parts = _SECTION.split(inspect.cleandoc(described.__doc__ or ""))
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall("\n".join(parts[1:]))}


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message.removeprefix("argument "))


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=_columns())

    def _split_lines(self, text: str, width: int) -> list[str]:
        from textwrap import wrap

        return wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _parser(command: Command, name: str, known: Sequence[Option], *, told: bool) -> _Parser:
    arguments = "".join(
        _ARGUMENTS[x.many, x.required].format(x.names[0].upper()) for x in known if x.argument
    )
    parser = _Parser(
        prog=f"hardscape {name}",
        usage=f"hardscape {name}{arguments} [OPTIONS]",
        description=_about(command).replace("%", "%%"),
        add_help=False,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
        formatter_class=_Formatter,
    )
    headings = {x.heading for x in known} | {Group("Help", 10)}
    groups = {
        heading: parser.add_argument_group(heading.name)
        for heading in sorted(headings, key=lambda x: (x.sort_key, x.name))
    }
    for option in known:
        _add(groups[option.heading], option, option.help if told else "")
    groups[Group("Help", 10)].add_argument(
        "-h", "--help", action="store_const", const=True, help="Show this and stop."
    )
    return parser


def _about(command: Command) -> str:
    return _SECTION.split(inspect.cleandoc(command.__doc__ or ""))[0].strip()


def _add(group: Any, option: Option, told: str) -> None:
    """Give an option to the parser."""
    told = told.replace("%", "%%")
    if told and not all(choice in told for choice in option.choices):
        told += f" [choices: {', '.join(option.choices)}]"
    place = option.place
    if option.flag:
        how: dict[str, Any] = {"action": "store_const", "const": True}
        if option.said.negated:
            how = {"action": argparse.BooleanOptionalAction}
        group.add_argument(*option.names, dest=place, help=told, **how)
        return
    if option.default not in (inspect.Parameter.empty, None):
        told += f" [default: {option.default}]"
    if option.argument:
        more = {"nargs": "*"} if option.many else {} if option.required else {"nargs": "?"}
        shown = option.names[0].upper()
        group.add_argument(place, metavar=shown, type=_value(option.type), help=told, **more)
        return
    if option.required:
        told += " [required]"
    metavar = "CHOICE" if option.choices else getattr(option.type, "__name__", "VALUE").upper()
    group.add_argument(
        *option.names,
        dest=place,
        type=_value(option.type),
        metavar=metavar,
        choices=option.choices or None,
        required=option.required,
        help=told,
    )


def _value(kind: Any) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            refusal = f"{text!r}; {_ACCEPTED.get(kind, 'another value')} is accepted"
            raise argparse.ArgumentTypeError(refusal) from None

    return read


def _joined(words: Sequence[str], known: Sequence[Option]) -> list[str]:
    """The words, negative numbers joined to their options: argparse takes -1e-3 for an option."""
    taking = {name for option in known if not option.flag for name in option.names}
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in taking and re.match(r"-[0-9.]", word):
            joined[-1] += f"={word}" if joined[-1].startswith("--") else word
        else:
            joined.append(word)
    return joined


def _refuse(unknown: Sequence[str], known: Sequence[Option]) -> NoReturn:
    names = [name for option in known if not option.argument for name in option.names]
    wrong = next((x.partition("=")[0] for x in unknown if x.startswith("-")), None)
    if wrong is None:
        raise InputError(f"{unknown[0]!r} is one argument too many")
    raise InputError(f"there is no option {wrong}; {_nearest(wrong, names)}")
