"""Builders of ops: derived from op classes, or functions marked by `exported`; `relax_mlir.op` shows both.

A builder emits its op at the current insertion point and returns its value. An op class whose fields are all declared
by `relax_mlir.dialects.fields` has a derived builder, whose parameters, defaults and docstring are those of the class.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from relax_mlir.dialects import dialect
from relax_mlir.dialects.base import Parameter, RelaxOp, Required, ir_fields, op_classes, parameters_of
from relax_mlir.dialects.value import Value, as_values, create, require_insertion_point
from relax_mlir.mlir import ir

Function = TypeVar("Function", bound=Callable[..., Any])

NAMESPACES = ("grad", "image", "memory", "nn", "random", "vision", "vm")
"""Modules of `relax_mlir.op`; the op ``nn_relu`` is written ``nn.relu``."""

ALIASES = {
    "all": "logical_all",
    "any": "logical_any",
    "call_tir_dyn": "call_tir",
    "const": "constant",
    "dot": "matmul",
    "match_cast": "match_shape",
}
"""Other names of builders."""

_exported: dict[tuple[str, str], Any] = {}


def exported(namespace: str = "") -> Callable[[Function], Function]:
    """Show a function or class in `relax_mlir.op`, or in a namespace of it, in place of a derived builder."""

    def mark(function: Function) -> Function:
        _exported[namespace, function.__name__] = function
        return function

    return mark


def written_name(op: str) -> str:
    """``nn.softmax`` for ``nn_softmax``."""
    namespace, _, rest = op.partition("_")
    return f"{namespace}.{rest}" if namespace in NAMESPACES else op


_derived: dict[type[RelaxOp], Callable[..., Any] | None] = {}


def derived(cls: type[RelaxOp]) -> Callable[..., Any] | None:
    """The builder derived from an op class; None if some fields declare no parameter."""
    if cls not in _derived:
        parameters = parameters_of(cls)
        _derived[cls] = None if parameters is None else _derive(cls, parameters)
    return _derived[cls]


def _derive(cls: type[RelaxOp], parameters: Mapping[str, Parameter]) -> Callable[..., Any]:
    namespace, _, name = written_name(cls.OPERATION_NAME.removeprefix("relax.")).rpartition(".")
    defaults = {key: p.default for key, p in parameters.items() if p.default is not Required}
    names, count, emit = tuple(parameters), len(parameters), _emitter(cls, name, parameters)

    def build(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as its signature says
        given = dict(zip(names, args, strict=False))
        if kwargs or len(args) != count:
            is_wrong = len(args) > count or any(key in given or key not in parameters for key in kwargs)
            given = {**defaults, **given, **kwargs}
            if is_wrong or len(given) != count:
                _refuse(name, build, args, kwargs)
        return emit(given)

    build.__name__ = build.__qualname__ = name
    build.__module__ = ".".join(filter(None, ["relax_mlir.op", namespace]))
    build.__doc__ = cls.__doc__
    build.__signature__ = _signature(cls, parameters)  # type: ignore[attr-defined]  # read by `inspect`
    build.op_class = cls  # type: ignore[attr-defined]  # for references
    return build


def build(cls: type[RelaxOp], *args: Any, **kwargs: Any) -> Value:  # noqa: ANN401 - arguments of the builder
    """The value of an op, by the builder derived from its class."""
    builder = derived(cls)
    assert builder is not None, f"{cls.__name__} has no derived builder"
    value: Value = builder(*args, **kwargs)
    return value


def attributes_of(cls: type[RelaxOp], **given: Any) -> dict[str, ir.Attribute]:  # noqa: ANN401 - arguments
    """The attributes of an op that is created without its builder; those that are not given have their defaults."""
    parameters = parameters_of(cls) or {}
    what = cls.OPERATION_NAME.removeprefix("relax.")
    return {
        name: parameters[name].convert(given.get(name, parameters[name].default), f"{what}: '{name}'")
        for name in ir_fields(cls)[1]
    }


def _emitter(
    cls: type[RelaxOp], name: str, parameters: Mapping[str, Parameter]
) -> Callable[[dict[str, Any]], Value | None]:
    """The function that emits an op with the given arguments by name."""
    operands, attributes, results, _ = ir_fields(cls)
    peers = [key for key in operands if parameters[key].is_peer]
    singles = [(key, parameters[key].convert, f"{name}: '{key}'") for key in operands if key not in peers]
    converters = [(key, parameters[key].convert, f"{name}: '{key}'") for key in attributes]
    written = written_name(cls.OPERATION_NAME.removeprefix("relax."))
    classes = cls.__mro__[: cls.__mro__.index(RelaxOp)]
    prepare = cls.prepare if any("prepare" in vars(each) for each in classes) else None

    def emit(given: dict[str, Any]) -> Value | None:
        require_insertion_point(written)
        if prepare is not None:
            prepare(name, given)
        if singles:
            for key, convert, what in singles:
                given[key] = convert(given[key], what)
            if peers:
                given.update(zip(peers, as_values(*[given[key] for key in peers], of=cls, names=peers), strict=True))
            values = [given[key] for key in operands]
        else:
            values = as_values(*[given[key] for key in operands], of=cls)
        made = {key: convert(given[key], what) for key, convert, what in converters}
        found = create(cls, values, made)
        return found[0] if results else None

    return emit


def _signature(cls: type[RelaxOp], parameters: Mapping[str, Parameter]) -> inspect.Signature:
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    given = [
        inspect.Parameter(key, kind, default=empty if p.default is Required else p.default, annotation=p.type)
        for key, p in parameters.items()
    ]
    return inspect.Signature(given, return_annotation=Value if ir_fields(cls)[2] else None)


def _refuse(name: str, builder: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `TypeError` for arguments that the signature does not take."""
    try:
        inspect.signature(builder).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None


def signature_text(cls: type[RelaxOp]) -> str:
    """The signature of a derived builder, as in a stub: ``(data: ValueLike, axis: int = -1) -> Value``."""
    parameters = parameters_of(cls)
    assert parameters is not None
    shown = [
        f"{key}: {p.text}" + ("" if p.default is Required else f" = {p.default!r}") for key, p in parameters.items()
    ]
    return f"({', '.join(shown)}) -> {'Value' if ir_fields(cls)[2] else 'None'}"


def builders(namespace: str = "") -> dict[str, Any]:
    """The names that ops export to a namespace of `relax_mlir.op`, in alphabetical order."""
    dialect.import_families()
    for name in ("call_forms", "control"):  # they have builders, but no ops
        importlib.import_module(f"relax_mlir.dialects.{name}")
    found: dict[str, Any] = {}
    for op, cls in op_classes().items():
        of, _, name = written_name(op.removeprefix("relax.")).rpartition(".")
        if of == namespace and (builder := derived(cls)) is not None:
            found[name] = builder
    found |= {name: function for (of, name), function in _exported.items() if of == namespace}
    if not namespace:
        found |= {alias: found[name] for alias, name in ALIASES.items() if name in found}
    return dict(sorted(found.items()))
