"""``--load-pass-plugin``: Python files with users' passes and ops.

All passes that a file defines are available: classes and decorated functions. The file may also register passes and ops
itself (`register_pass`, `register_op_attr`, …).
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from relax_mlir.diagnostics import with_frames
from relax_mlir.error import ArgumentError, ParseError, RelaxError
from relax_mlir.files import read_text
from relax_mlir.transform import Pass, registry
from relax_mlir.transform.run import place_in


def load_plugin(path: str) -> None:
    """Run a file, and register the passes that it defines; once per file.

    Raises:
        ParseError: it cannot be read, or is not Python.
        ArgumentError: it fails, or a pass has a name that is taken; the message begins with file and line.
    """
    try:
        file = Path(path).resolve(strict=True)
        source = read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ParseError(f"cannot read plugin '{path}': {reason}") from None
    if str(file) in registry.PLUGINS:
        return
    _require_python(source, path)
    module = _run(file, path)
    for variable, cls in _passes(module):
        _register(cls, f"{path}:{_line(source, variable)}:0")
    registry.PLUGINS.append(str(file))


def _require_python(source: str, path: str) -> None:
    try:
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f"{path}:{error.lineno or 1}:{error.offset or 0}"
        raise ParseError(with_frames(f"plugin '{path}' is no Python\n{place}: {error.msg}")) from None
    except ValueError as error:  # null bytes
        raise ParseError(f"plugin '{path}' is no Python: {error}") from None


def _run(file: Path, path: str) -> ModuleType:
    name = f"relax_opt_plugin_{len(registry.PLUGINS)}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ParseError(f"plugin '{path}' is no Python file: its name does not end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        place = place_in(error, str(file)) or f"{path}:1:0"
        what = str(error) if isinstance(error, RelaxError) else f"{type(error).__name__}: {error}"
        raise ArgumentError(with_frames(f"plugin '{path}' fails\n{place}: {what}")) from error
    finally:
        sys.path.remove(str(file.parent))
    return module


def _passes(module: ModuleType) -> Iterator[tuple[str, type[Pass]]]:
    """The passes that a file defines, each with its variable name."""
    for variable, value in vars(module).items():
        cls = value if isinstance(value, type) else type(value)
        own = issubclass(cls, Pass) and cls.__module__ == module.__name__
        if own and not inspect.isabstract(cls) and isinstance(getattr(cls, "name", None), str):
            yield variable, cls


def _register(cls: type[Pass], place: str) -> None:
    name: str = getattr(cls, "name", "")
    if registry.is_known(name) and registry.pass_class(name) is cls:
        return
    if registry.is_known(name) or registry.is_upstream(name):
        owner = "relax-mlir or of another plugin" if registry.is_known(name) else "MLIR"
        message = f"pass '{name}' has the name of a pass of {owner}: give it another one"
        raise ArgumentError(with_frames(f"{place}: {message}"))
    registry.register_pass(name, cls)


def _line(source: str, variable: str) -> int:
    """The line that defines a variable of a file."""
    for node in ast.parse(source).body:
        names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if variable in names:
            return node.lineno
    return 1
