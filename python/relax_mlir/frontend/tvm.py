"""Import live modules of TVM: parse the text that TVM prints, and take constants from the objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from relax_mlir.error import ArgumentError
from relax_mlir.ir_module import IRModule
from relax_mlir.script import parse

__all__ = ["from_tvm"]

FILE = "<tvm>"
"""The file name of the printed text in messages and locations."""
_CONSTANT = re.compile(r'metadata\["(?P<kind>[^"]+)"\]\[(?P<number>\d+)\]')
_FUNCTION = re.compile(r"^ {4}def (?P<name>\w+)\(", re.MULTILINE)
_CONSTANTS = ("Constant", "GenericConst")
"""Classes of TVM whose objects are constants."""
_PARTS: dict[str, tuple[str, ...]] = {
    "Function": ("body",),
    "SeqExpr": ("blocks", "body"),
    "BindingBlock": ("bindings",),
    "DataflowBlock": ("bindings",),
    "VarBinding": ("value",),
    "MatchCast": ("value",),
    "Call": ("op", "args"),
    "Tuple": ("fields",),
    "TupleGetItem": ("tuple_value",),
    "If": ("cond", "true_branch", "false_branch"),
}
"""The fields of TVM's objects in printing order, by class name."""


def from_tvm(mod: Any) -> IRModule:  # noqa: ANN401 - a tvm.IRModule, which need not be installed
    """Import a TVM module with Relax functions and prim funcs.

    TVM prints `mod`, and the script parser reads that text (the page *From TVM* in the docs describes what is
    supported). TVM itself is not imported. Constants become constants, without a copy if TVM shares its memory.

    Raises:
        ScriptError: unsupported text, with the line of TVM's text.
        UnsupportedError: a known construct that is not supported.
        ArgumentError: `mod` does not print itself as a module, or its constants cannot be matched to the text.
    """
    if not callable(getattr(mod, "script", None)):
        raise ArgumentError(f"from_tvm takes a module of TVM, not {type(mod).__name__}: it has no script()")
    text = mod.script()
    if not isinstance(text, str) or "class " not in text:
        raise ArgumentError(
            f"from_tvm takes a module of TVM, whose script() is a class; {type(mod).__name__} prints something "
            "else: put a function into a module first"
        )
    return parse(text, name=FILE, metadata=_metadata(mod, text))


def _metadata(mod: Any, text: str) -> dict[str, list[Any]]:  # noqa: ANN401 - a module of TVM
    """Return the arrays that TVM prints as ``metadata["kind"][number]``, by kind and number.

    TVM numbers constants in printing order. The functions of the module hold them in the same order, repetitions
    included, so that each occurrence in the text matches one object. (TVM 0.27 crashes if it prints them itself.)
    """
    found: dict[str, dict[int, Any]] = {}
    for name, places in _places(text):
        constants = list(_constants(_function(mod, name)))
        if len(constants) != len(places):
            raise ArgumentError(
                f"from_tvm: TVM prints {len(places)} constants in '{name}', but the function holds {len(constants)}"
            )
        for (kind, number), constant in zip(places, constants, strict=True):
            numbered = found.setdefault(kind, {})
            if numbered.setdefault(number, constant) is not constant and not _equal(numbered[number], constant):
                raise ArgumentError(f"from_tvm: TVM prints two constants of '{name}' as number {number}")
    return {
        kind: [_array(numbered.get(number)) for number in range(max(numbered) + 1)] for kind, numbered in found.items()
    }


def _places(text: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield the functions whose text references constants, with kind and number of each, in order."""
    heads = list(_FUNCTION.finditer(text))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        places = [(m["kind"], int(m["number"])) for m in _CONSTANT.finditer(text, head.start(), end)]
        if places:
            yield head["name"], places


def _function(mod: Any, name: str) -> Any:  # noqa: ANN401 - objects of TVM
    for variable in mod.get_global_vars():
        if variable.name_hint == name:
            return mod[variable]
    raise ArgumentError(f"from_tvm: TVM prints a function '{name}', which the module does not have")


def _constants(node: Any) -> Iterator[Any]:  # noqa: ANN401 - objects of TVM
    """Yield the constants of an expression that TVM prints by number, in printing order."""
    waiting = [node]
    while waiting:
        item = waiting.pop()
        kind = type(item).__name__
        if kind in _CONSTANTS:
            if _array(item).ndim:
                yield item  # numbers are printed literally
            continue
        parts: list[Any] = []
        for name in _PARTS.get(kind, ()):
            part = getattr(item, name)
            parts += list(part) if name in ("blocks", "bindings", "args", "fields") else [part]
        waiting += reversed(parts)


def _array(constant: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - an object of TVM, or None
    """Return the elements of a constant; a scalar for None, a number that does not occur in the text."""
    if constant is None:
        return np.zeros(())
    tensor = constant.data if hasattr(constant, "data") else constant.value
    return np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)


def _equal(one: Any, other: Any) -> bool:  # noqa: ANN401 - constants of TVM
    first, second = _array(one), _array(other)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
