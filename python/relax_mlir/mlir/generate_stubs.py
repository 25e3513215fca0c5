"""Write the type stubs of the upstream dialects in use: ``python -m relax_mlir.mlir.generate_stubs``.

Each dialect's stub declares the classes, functions and enumerations that the project uses, with the signatures of the
installed bindings. ``ir.pyi``, ``ext.pyi`` and ``passmanager.pyi`` are maintained by hand.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

from relax_mlir import mlir
from relax_mlir.mlir import DIALECTS, ir

HERE = Path(__file__).resolve().parent
BY_HAND = frozenset({"ext", "ir", "passmanager", "execution_engine"})
SOURCES = ("dialects", "lowering", "passes", "python")
"""Folders of a checkout whose modules are searched for names in use."""
BINDINGS = "relax_mlir.mlir"
"""The package of the dialects."""


def stub_text(dialect: str, names: set[str]) -> str:
    """The stub of `dialect` with `names`; names that the bindings lack are omitted, so that mypy reports them."""
    module = getattr(mlir, dialect)
    found = {name: getattr(module, name) for name in sorted(names) if hasattr(module, name)}
    body = "".join(_definition(name, value) for name, value in found.items())
    head = f'"""Types of the bindings of `{dialect}` in use. Made by `relax_mlir.mlir.generate_stubs`."""\n\n'
    imports = _imports(body, "collections.abc", "Callable", "Sequence") + _imports(body, "typing", "Any", "Literal")
    if "enum." in body:
        imports = "import enum\n" + imports
    bindings = "from relax_mlir.mlir import ir\n\n" if "ir." in body else ""
    return f"{head}{imports}\n{bindings}{body}"


def _imports(body: str, module: str, *names: str) -> str:
    """The line that imports those of `names` from `module` that occur in `body`."""
    used = [name for name in names if re.search(rf"\b{name}\b", body)]
    return f"from {module} import {', '.join(used)}\n" if used else ""


def names_in_use(root: Path) -> dict[str, set[str]]:
    """For each dialect, the names that modules below `root` take from it."""
    names: dict[str, set[str]] = {dialect: set() for dialect in DIALECTS}
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if f"from {BINDINGS} import" not in text:
                continue
            for dialect, name in _names(ast.parse(text)):
                names[dialect].add(name)
    return names


def _names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Pairs of a dialect and a name taken from it, such as ``arith.addf`` or ``mlir.arith.addf``."""
    local: dict[str, str] = {}
    taken: list[tuple[str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == BINDINGS:
            local |= {each.asname or each.name: each.name for each in node.names if each.name in DIALECTS}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken.append((node.value.id, node.attr))
    return ((local[name], attribute) for name, attribute in taken if name in local)


def _definition(name: str, value: object) -> str:
    if isinstance(value, enum.EnumMeta):
        return _enumeration(name, value)
    if isinstance(value, type):
        return _class(name, value)
    if isinstance(value, types.FunctionType):
        return _function(name, value)
    return f"{name}: Any\n"


def _enumeration(name: str, value: enum.EnumMeta) -> str:
    base = next(base for base in value.__mro__ if base.__module__ == "enum")
    members = "".join(f"    {key} = {member.value!r}\n" for key, member in _members(value))
    return f"class {name}(enum.{base.__name__}):\n{members}\n"


def _members(value: enum.EnumMeta) -> list[tuple[str, enum.Enum]]:
    return list(value.__members__.items())


def _class(name: str, value: type) -> str:
    """The class, with the members that Python code of the bindings defines in it and in its bases below ``OpView``."""
    members: dict[str, object] = {}
    for base in reversed(value.__mro__):
        if ".dialects." in base.__module__:
            members |= {key: entry for key, entry in vars(base).items() if _is_public(key)}
    lines = "".join(_member(f"{name}.{key}", members[key]) for key in members)
    base = next(base for base in value.__mro__ if ".dialects." not in base.__module__)
    return f"class {name}({_text(base)}):\n{lines or '    ...'}\n"


def _is_public(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def _member(path: str, value: object) -> str:
    name = path.rpartition(".")[2]
    if isinstance(value, property) and value.fget is not None:
        setter = ""
        if value.fset is not None:
            setter = f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n"
        returned = UNTYPED.get(path) or _returned(value.fget)
        ignore = "  # type: ignore[override]  # not what the base means by it" if name == "name" else ""
        return f"    @property\n    def {name}(self) -> {returned}: ...{ignore}\n{setter}"
    if isinstance(value, (classmethod, staticmethod)):
        kind = type(value).__name__
        return f"    @{kind}\n    {_function(name, value.__func__)}"
    if isinstance(value, types.FunctionType):
        return f"    {_function(name, value)}"
    return ""


def _function(name: str, function: Callable[..., object]) -> str:
    hints = _hints(function)
    parts: list[str] = []
    keyword_only = False
    for parameter in inspect.signature(function).parameters.values():
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        star = "**" if parameter.kind is parameter.VAR_KEYWORD else star
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
        keyword_only = keyword_only or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        default = "" if parameter.default is parameter.empty else " = ..."
        if parameter.name in ("self", "cls") and not parts:
            parts.append(parameter.name)
        else:
            hint = hints.get(parameter.name, _PLACES.get(parameter.name, "Any"))
            parts.append(f"{star}{parameter.name}: {hint}{default}")
    returned = "None" if name == "__init__" else _returned(function)
    return f"def {name}({', '.join(parts)}) -> {returned}: ...\n"


UNTYPED = {
    "FuncOp.arguments": "ir.BlockArgumentList",
    "FuncOp.body": "ir.Region",
    "FuncOp.entry_block": "ir.Block",
    "FuncOp.is_external": "bool",
    "FuncOp.type": "ir.FunctionType",
    "ForOp.body": "ir.Block",
    "ForOp.induction_variable": "ir.BlockArgument",
    "ForOp.inner_iter_args": "list[ir.BlockArgument]",
    "IfOp.then_block": "ir.Block",
    "IfOp.else_block": "ir.Block",
}
"""Types of properties that the bindings do not annotate."""

_PLACES = {"loc": "ir.Location | None", "ip": "ir.InsertionPoint | Literal[False] | None"}
"""Parameters of all builders, which some of the bindings do not annotate."""


def _returned(function: Callable[..., object]) -> str:
    """The return type; `Any` if the number of results decides between one value, a list, and the op."""
    text = _hints(function).get("return", "Any")
    return "Any" if "ir.OpResultList |" in text or "| ir.OpResultList" in text else text


def _hints(function: Callable[..., object]) -> dict[str, str]:
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    return {name: _evaluated(hint, scope) for name, hint in inspect.get_annotations(function).items()}


def _evaluated(hint: object, scope: dict[str, object]) -> str:
    if not isinstance(hint, str):
        return _text(hint)
    try:
        return _text(eval(hint, scope))
    except (NameError, TypeError, AttributeError):  # annotations for type checkers only
        return "Any"


def _text(hint: object) -> str:
    """`hint` in the form of a stub. Types of values are omitted: operands are `ir.Value`."""
    if hint is None or hint is type(None):
        return "None"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or origin is types.UnionType:
        return " | ".join(sorted({_text(argument) for argument in arguments}, key=lambda text: (text == "None", text)))
    if isinstance(origin, type) and arguments and origin.__module__ in ("builtins", "collections.abc"):
        return f"{origin.__name__}[{', '.join(map(_argument, arguments))}]"
    kind = origin or hint
    if not isinstance(kind, type):
        return "Any"
    if kind.__module__ == "builtins":
        return {"list": "list[Any]", "dict": "dict[str, Any]"}.get(kind.__name__, kind.__name__)
    if issubclass(kind, ir.OpView):
        return "ir.OpView"
    return f"ir.{kind.__qualname__}" if kind.__module__.endswith("._mlir.ir") else "Any"


def _argument(hint: object) -> str:
    if isinstance(hint, list):
        return f"[{', '.join(map(_text, hint))}]"
    return "..." if hint is Ellipsis else _text(hint)


def stubs(root: Path) -> dict[str, str]:
    """The text of each generated stub, by the name of its dialect."""
    return {
        dialect: stub_text(dialect, names) for dialect, names in names_in_use(root).items() if dialect not in BY_HAND
    }


def main() -> None:
    for dialect, text in stubs(HERE.parents[2]).items():
        (HERE / f"{dialect}.pyi").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
