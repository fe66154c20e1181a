"""What the shell completes: a script for bash, zsh or fish, made from the commands themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from hardscape.cli.program import Command, Program, options
from hardscape.errors import InputError
from hardscape.files import store

#: What is typed before the next word, and what that may be; files where nothing is known.
_Table = Mapping[str, Sequence[str]]


def install(words: Sequence[str], commands: Mapping[str, Command | Program]) -> None:
    """Write the script where the shell looks for it, and say what is left to do.

    Parameters
    ----------
    words : sequence of str
        The shell, bash, zsh or fish; by default what SHELL names.
    commands : mapping
        All commands by name.
    """
    shell = words[0] if words else Path(os.environ.get("SHELL", "")).name
    if len(words) > 1 or shell not in _SHELLS:
        known = ", ".join(_SHELLS)
        raise InputError(f"--install-completion {shell!r}; one of {known} is accepted")
    write, variable, folder, name = _SHELLS[shell]
    home = Path(os.environ.get(variable) or Path.home() / folder[0])
    place = home.joinpath(*folder[1:], name)
    place.parent.mkdir(parents=True, exist_ok=True)
    store(place, write(dict(_table(commands))).encode())
    print(place)
    if shell != "fish":
        print(f"source {place}  # this line in ~/.{shell}rc completes in every new shell")


def _table(commands: Mapping[str, Command | Program]) -> Iterator[tuple[str, Sequence[str]]]:
    first = ["help", "--help", "--version", "--install-completion"]
    yield "hardscape", [*commands, *first]
    yield "hardscape help", list(commands)
    yield "hardscape --install-completion", list(_SHELLS)
    for name, command in commands.items():
        if isinstance(command, Program):
            yield f"hardscape {name}", [*command.commands, "--help"]
            for part, function in command.commands.items():
                yield from _of_command(f"hardscape {name} {part}", function)
        else:
            yield from _of_command(f"hardscape {name}", command)


def _of_command(line: str, command: Command) -> Iterator[tuple[str, Sequence[str]]]:
    known = [option for option in options(command) if not option.argument]
    yield line, [*(name for option in known for name in option.names), "--help"]
    for option in known:
        if not option.flag:
            for name in option.names:
                yield f"{line} {name}", option.choices


def _bash(table: _Table) -> str:
    cases = "".join(
        f'    "{line}") words="{" ".join(words)}" ;;\n' for line, words in table.items()
    )
    return f"""# hardscape's completion for bash and zsh
[ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit
_hardscape_words() {{
  case "$1" in
{cases}    *) return 1 ;;
  esac
}}
_hardscape() {{
  local line=hardscape words="" here="${{COMP_WORDS[COMP_CWORD]}}" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
    -*) ;;
    *) _hardscape_words "$line ${{COMP_WORDS[i]}}" && line="$line ${{COMP_WORDS[i]}}" || break ;;
    esac
  done
  words=""
  _hardscape_words "$line ${{COMP_WORDS[COMP_CWORD - 1]}}" || _hardscape_words "$line"
  COMPREPLY=($(compgen -W "$words" -- "$here"))
  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$here"))
}}
complete -o filenames -F _hardscape hardscape
"""


def _fish(table: _Table) -> str:
    lines = []
    for line, words in table.items():
        before, dash, option = line.partition(" -")
        seen = f"{before} .*-{option} [^ ]*" if dash else f"{before} .*"
        if words:
            condition = f"string match -qr -- '^{seen}$' (commandline -cp)"
            lines.append(f'complete -c hardscape -n "{condition}" -a "{" ".join(words)}"')
    return "\n".join(lines) + "\n"


#: What writes the script; the variable that names the folder of such files, and its place without; the name.
_SHELLS: dict[str, tuple[Callable[[_Table], str], str, tuple[str, ...], str]] = {
    "bash": (
        _bash,
        "XDG_DATA_HOME",
        (".local/share", "bash-completion", "completions"),
        "hardscape",
    ),
    "zsh": (_bash, "XDG_DATA_HOME", (".local/share", "zsh", "site-functions"), "hardscape.zsh"),
    "fish": (_fish, "XDG_CONFIG_HOME", (".config", "fish", "completions"), "hardscape.fish"),
}
