"""`assemble completion`: what a shell needs to complete commands, roots, groups, options and keys.

Each shell asks `assemble complete` by its own means; the answer comes from file names, so that it is fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from assembler.cli.commands import COMMANDS, DONE
from assembler.cli.output import answer
from assembler.errors import did_you_mean, problem

SCRIPTS = {
    "bash": "complete -o nospace -C 'assemble complete' assemble\n",
    "zsh": """\
_assemble() {
  local -a found
  found=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT]}" assemble complete)}")
  compadd -Q -S '' -- $found
}
compdef _assemble assemble
""",
    "fish": "complete -c assemble -f -a '(env COMP_LINE=(commandline -cp | string collect) assemble complete)'\n",
}
"""What a shell evaluates, by its name."""

FLAGS = (
    "--chat",
    "--debug",
    "--file",
    "--help",
    "--input",
    "--json",
    "--revoke",
    "--session",
    "--show",
    "--trust",
    "--trust-module",
)
SUFFIX = ".yaml"


def main(arguments: Sequence[str]) -> int:
    """Prints the script of a shell."""
    asked = arguments[0] if arguments else ""
    if asked in {"-h", "--help"}:
        answer(_HELP)
        return DONE
    if asked not in SCRIPTS:
        raise problem("cli/no-such-shell", f"there is no completion for `{asked}`", hint=did_you_mean(asked, SCRIPTS))
    answer(SCRIPTS[asked], end="")
    return DONE


def complete(arguments: Sequence[str]) -> int:
    """Prints what the line in ``COMP_LINE`` could go on with, one candidate a line.

    Bash hands over its own idea of the current word, which it breaks at `=`; only what follows the break is printed.
    """
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT") or sys.maxsize)]
    token = "" if line[-1:].isspace() else line.split(" ")[-1]
    part = arguments[1] if len(arguments) > 1 else token
    broken = token[: len(token) - len(part)] if token.endswith(part) else ""
    for candidate in sorted(set(candidates(line))):
        answer(candidate.removeprefix(broken))
    return DONE


def candidates(line: str) -> Iterator[str]:
    """What could stand in place of a line's last word.

    Args:
        line: The line as far as it is typed.
    """
    *before, token = line.split(" ")
    words = [word for word in before if word]
    if len(words) == 1:
        found: Iterator[str] = iter(COMMANDS)
    elif words[1:] == ["skills"]:
        found = iter(["list"])
    elif words[1:] == ["sessions"]:
        found = iter(["delete", "list", "show"])
    elif words[1:] == ["completion"]:
        found = iter(SCRIPTS)
    elif token.startswith("-"):
        found = iter(FLAGS)
    elif "=" in token:
        found = _values(token)
    else:
        found = _keys(token, has_conf=any(word.startswith("conf=") for word in words))
    return (candidate for candidate in found if candidate.startswith(token))


def _values(token: str) -> Iterator[str]:
    """Roots for ``conf=``, options for a group; in a list, options for its last place."""
    key, _, value = token.partition("=")
    begun = value[: max(value.rfind("["), value.rfind(",")) + 1]
    folders = [folder / key for folder in _folders()] if key != "conf" else _conf_folders()
    for folder in folders:
        for file in sorted(folder.glob(f"*{SUFFIX}")):
            yield f"{key}={begun}{file.stem}"


def _keys(token: str, *, has_conf: bool) -> Iterator[str]:
    """Groups, and keys of the configuration as far as their names are typed."""
    if not has_conf:
        yield "conf="
    for folder in _folders():
        for group in sorted(folder.iterdir()):
            if group.is_dir() and any(group.glob(f"*{SUFFIX}")):
                yield f"{group.name}="
    from assembler.agent.config import AgentConfig
    from assembler.components import Config

    *path, _ = token.split(".")
    model: type[Config] | None = AgentConfig
    for step in path:
        known = model.model_fields.get(step) if model is not None else None
        inner = known.annotation if known is not None else None
        model = inner if isinstance(inner, type) and issubclass(inner, Config) else None
    if model is not None:
        for name, field in model.model_fields.items():
            has_more = isinstance(field.annotation, type) and issubclass(field.annotation, Config)
            yield ".".join([*path, name]) + ("." if has_more else "=")


def _conf_folders() -> list[Path]:
    """The ``conf`` folders here and above, up to the root of the repository."""
    found: list[Path] = []
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "conf").is_dir():
            found.append(folder / "conf")
        if (folder / ".git").exists():
            break
    return found


def _folders() -> list[Path]:
    """Where groups are: the project's, then the presets."""
    return [*_conf_folders(), Path(__file__).parents[1] / "presets"]


_HELP = """\
usage: assemble completion bash|zsh|fish

Prints what a shell needs to complete commands, roots, groups, options and keys.

examples:
  eval "$(assemble completion bash)"      in ~/.bashrc
  eval "$(assemble completion zsh)"       in ~/.zshrc, after compinit
  assemble completion fish | source       in ~/.config/fish/config.fish
"""
