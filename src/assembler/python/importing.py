"""Importing one object of one module that is trusted.

Who writes a configuration chooses the target, and not what the trusted module does. So the name is judged before
anything is imported, and the object afterwards, by the module that it says it is of: whatever a trusted module merely
imports for its own use (``os.system``, ``subprocess.Popen``, ``pathlib.Path``) is no way to it.

The rule protects against the configuration, not against the module. A trusted module has run by the time its object is
looked at, with all the rights of the process; it could have done anything, and among other things it can say of an
object whatever it likes: ``__module__`` is a text that code can set. Decorated functions are why that text is believed
rather than a function's globals: ``functools.wraps`` sets it to the module of the function that is decorated.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from threading import RLock
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from assembler.errors import AssemblerError, first_line, nearest, problem
from assembler.modules import top_level
from assembler.python.sources import read_sources_of

Trust = Callable[[str], bool]
"""Whether code that is named as ``package.module:Name`` may be imported and used."""

_LOCK = RLock()
"""Held while something is imported, so that what it finds is what was looked at."""


def import_object(target: str, is_trusted: Trust, expected: type | None = None) -> object:
    """The object that a target names, if it may be used.

    Args:
        target: ``package.module:Name``, already checked to be of that form.
        is_trusted: Asked about the target before anything is imported, and about the object's own module afterwards
            where that is of another top-level package.
        expected: An instance of this is wanted; the module of an instance's class does not matter then.

    Raises:
        AssemblerError: It is not trusted, and nothing was imported (``python/untrusted``); there is no such module
            (``python/no-such-module``) or it fails (``python/import-failed``); it has no such object
            (``python/no-such-object``), or only passes on what is another module's (``python/foreign-object``).
    """
    if not is_trusted(target):
        package = top_level(target)
        hint = f'`--trust-module {package}`, or `trust_modules=["{package}"]`, if you trust its code with your rights'
        raise problem("python/untrusted", f"`{target}` would import code that nobody trusts", hint=hint)
    module, _, name = target.partition(":")
    with _LOCK:
        read_sources_of(module)
        found = _attribute(_imported(module), module, name)
    _refuse_foreign(found, target, is_trusted, expected)
    return found


def _imported(name: str) -> object:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a module is foreign code
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise problem(
                "python/no-such-module",
                f"there is no module `{error.name}`",
                hint="it is looked for in the project's folder, and where Python finds what is installed",
            ) from error
        raise _failed(f"`{name}` cannot be imported", error) from error


def _attribute(module: object, module_name: str, name: str) -> object:
    try:
        return getattr(module, name)
    except AttributeError as error:
        near = nearest(name, [known for known in dir(module) if not known.startswith("_")])
        hint = f"did you mean `{near}`?" if near else ""
        raise problem("python/no-such-object", f"`{module_name}` has no `{name}`", hint=hint) from error
    except (Exception, SystemExit) as error:  # a module's `__getattr__` is foreign code, too
        raise _failed(f"`{name}` of `{module_name}` cannot be loaded", error) from error


def _failed(what: str, error: BaseException) -> AssemblerError:
    said = dict.fromkeys((what, type(error).__name__, first_line(error)))
    return problem("python/import-failed", ": ".join(said))


def _refuse_foreign(found: object, target: str, is_trusted: Trust, expected: type | None) -> None:
    """Raises unless an object is of the target's own top-level package, or of another module that is trusted."""
    if isinstance(found, ModuleType):
        hint = f"name an object of it: `{found.__name__}:Name`"
        raise problem("python/foreign-object", f"`{target}` is a module", hint=hint)
    if expected is not None and isinstance(found, expected):
        return
    # What wraps a function, as `functools.cache` does, says of itself what the function says.
    is_definition = isinstance(found, type | FunctionType | BuiltinFunctionType | MethodType) or hasattr(
        found, "__wrapped__"
    )
    definition = found if is_definition else type(found)
    module, name = getattr(definition, "__module__", None), getattr(definition, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)):
        raise problem("python/foreign-object", f"`{target}` does not say of which module it is")
    if top_level(module) == top_level(target) or is_trusted(f"{module}:{name}"):
        return
    what = "is" if is_definition else "is an instance of"
    raise problem(
        "python/foreign-object",
        f"`{target}` {what} `{module}:{name}`, which the module only imports",
        hint="name a function or class of its own that uses it",
    )
