"""Configuration files, read before Hydra reads them: measured, parsed, and without what is wrong in them."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import yaml

from assembler.config.cleaning import Cleaner
from assembler.config.measuring import MAX_LEVELS, measure
from assembler.config.yamlfile import CORE_TAG, LOADER, Document, empty, place
from assembler.errors import AssemblerError, Diagnostic, Where, problem

MAX_BYTES = 1024 * 1024
_yaml: Any = yaml  # its stubs leave streams untyped
_NOT_PRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What cannot stand in YAML: https://yaml.org/spec/1.1/#c-printable."""


def read(name: str, path: Path, shown: str) -> Document:
    """Reads a configuration file, which is measured before it is looked at.

    Args:
        name: As a defaults list names it.
        path: The file.
        shown: How to name it in messages.

    Returns:
        The file; what YAML allows and a configuration does not is taken out of it and told in ``problems``
        (``config/bad-yaml``).

    Raises:
        AssemblerError: It cannot be read, is not a mapping in YAML, or is larger or more entangled than any
            configuration (``config/unreadable``, ``config/bad-yaml``, ``config/not-a-mapping``, ``config/too-large``).
    """
    text = _text(path, shown)
    measure(text, shown)
    try:
        node = _yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        raise _not_yaml(error, text, shown) from error
    except RecursionError as error:
        raise problem("config/too-large", f"nested deeper than {MAX_LEVELS} levels", where=Where(shown)) from error
    if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == CORE_TAG + "null"):
        node = empty()
    if not isinstance(node, yaml.MappingNode):
        raise problem(
            "config/not-a-mapping", "a configuration file is a mapping of keys", where=place(shown, node.start_mark)
        )
    document = Document(name, path, shown, node, text)
    Cleaner(document).clean_root()
    return document


def read_package(document: Document) -> None:
    """Finds the package that an option's file names, also where Hydra would pass over the line without a word.

    What is wrong with the line is told among the file's problems (``config/bad-package``), and then followed as it is
    meant.
    """
    is_header = True
    for number, line in enumerate(document.head, 1):
        found = re.match(r"#\s*@package\b:?\s*(.*)", line)
        if found is not None:
            document.package = found[1].partition(" ")[0]
            message = _bad_package(line, found[1], is_header=is_header)
            if message:
                hint = f"# @package {document.package or '_global_'}"
                where = Where(document.shown, number, 1)
                document.problems.append(Diagnostic("config/bad-package", message, where=where, hint=hint))
                document.changed = True
                document.aside += [] if document.package else [()]
        elif re.match(r"#\s*@", line):
            document.changed = True  # Hydra would take it for a header of its own
        elif line:
            is_header = False


def _text(path: Path, shown: str) -> str:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise problem("config/unreadable", "not a file", where=Where(shown))
        if status.st_size > MAX_BYTES:
            raise problem(
                "config/too-large", f"{status.st_size} bytes; a file may have {MAX_BYTES}", where=Where(shown)
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise problem("config/unreadable", f"cannot be read: {error.strerror}", where=Where(shown)) from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8-sig").split("\n")
        where = Where(shown, len(before), len(before[-1]) + 1)
        raise problem("config/unreadable", "a byte that is not UTF-8", where=where, hint="save it as UTF-8") from error


def _bad_package(line: str, package: str, *, is_header: bool) -> str:
    """What is wrong with a `# @package` line; empty if nothing is."""
    if not re.fullmatch(r"\S+", package):
        return "`# @package` names one package"
    if not re.fullmatch(r"#\s*@package +\S+", line):
        return "`# @package` and the name of the package stand with nothing but a space between them"
    return "" if is_header else "`# @package` counts only above all other comments"


def _not_yaml(error: yaml.YAMLError, text: str, shown: str) -> AssemblerError:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        found = _NOT_PRINTABLE.search(text)
        before = text[: found.start() if found else 0].split("\n")
        told = "a character that no text has"
        return problem("config/bad-yaml", told, where=Where(shown, len(before), len(before[-1]) + 1))
    known: Any = error
    reason = ", ".join(str(part) for part in (known.context, known.problem) if part)
    line = next(iter(text.splitlines()[mark.line : mark.line + 1]), "")
    hint = "indent with spaces, not with tabs" if line[: mark.column + 1].strip(" ").startswith("\t") else ""
    if "mapping values are not allowed" in reason:
        hint = "quote a text that holds a colon and a space"
    return problem("config/bad-yaml", reason, where=place(shown, mark), hint=hint)
