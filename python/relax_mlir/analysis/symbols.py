"""The symbols of a function, a value, or a struct info: all, defined and free ones.

A symbol is *defined* where it gets its value: by a dimension of a parameter that is the symbol alone or linear in
it, or by an entry of the pattern of a `match_shape` that is the symbol alone. It is *bound* in a subject that
defines it, and *free* in one that only uses it. The lists have no duplicates and are in order of appearance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.symbolic_attributes import dim_attributes
from relax_mlir.dialects.type_queries import parameter_symbols
from relax_mlir.dialects.types import StructInfo, Tuple, dims_from_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, expect
from relax_mlir.ir_queries import ancestors, defining_op, enclosing_function
from relax_mlir.mlir import func, ir

Subject: TypeAlias = func.FuncOp | Value | StructInfo


def defined_symbols(subject: Subject) -> list[str]:
    """The symbols that `subject` defines.

    Of a function: those of its parameters, then those of its `match_shape` ops. Of a value: those that its
    `match_shape` defines, or, for a parameter, its dimensions. Of a struct info: those that a parameter with this
    info would define.
    """
    _check("defined_symbols", subject)
    return _once(_defined(subject))


def free_symbols(subject: Subject) -> list[str]:
    """The symbols that `subject` uses and does not define; none for a well-formed function."""
    _check("free_symbols", subject)
    defined = set(_defined(subject))
    return _once(name for name in _used(subject) if name not in defined)


def bound_symbols(subject: Subject) -> list[str]:
    """The symbols that `subject` uses and defines, which can be renamed without changing its semantics."""
    _check("bound_symbols", subject)
    defined = set(_defined(subject))
    return _once(name for name in _used(subject) if name in defined)


def _check(what: str, subject: object) -> None:
    expect(
        f"{what}: 'subject'", subject, func.FuncOp | Value | StructInfo, "a function, a value or a StructInfo"
    )


def _once(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _defined(subject: Subject) -> Iterator[str]:
    if isinstance(subject, StructInfo):
        yield from parameter_symbols([subject])
    elif isinstance(subject, Value):
        defining = defining_op(subject.ssa)
        if defining is None:
            yield from parameter_symbols([subject.struct_info])
        elif defining.name == "relax.match_shape":
            yield from _first_definitions(defining)
    else:
        yield from parameter_symbols(_infos(subject.type.inputs))
        for op in _ops(subject.operation):
            if op.name == "relax.match_shape":
                yield from _pattern_symbols(op)


def _first_definitions(match: ir.Operation) -> Iterator[str]:
    """The symbols that `match` defines, without those that it only checks."""
    function = enclosing_function(match) or [match, *ancestors(match)][-1]
    earlier: set[str] = set()
    if isinstance(function.opview, func.FuncOp):
        earlier.update(parameter_symbols(_infos(function.opview.type.inputs)))
    for op in _ops(function):
        if op == match:
            break
        if op.name == "relax.match_shape":
            earlier.update(_pattern_symbols(op))
    yield from (name for name in _pattern_symbols(match) if name not in earlier)


def _pattern_symbols(match: ir.Operation) -> Iterator[str]:
    for dim in dims_from_attr(match.attributes["pattern"]):
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None:
            yield name


def _used(subject: Subject) -> Iterator[str]:
    if isinstance(subject, StructInfo):
        yield from subject.symbols()
    elif isinstance(subject, Value):
        defining = defining_op(subject.ssa)
        yield from subject.struct_info.symbols()
        if defining is not None:
            yield from _attribute_symbols(defining)
    else:
        for info in _infos(subject.type.inputs):
            yield from info.symbols()
        for op in _ops(subject.operation):
            yield from _attribute_symbols(op)
            for info in _infos([result.type for result in op.results]):
                yield from info.symbols()


def _attribute_symbols(op: ir.Operation) -> Iterator[str]:
    for _, dims in dim_attributes(op):
        for dim in dims:
            yield from () if dim is None else symbolic.symbols(dim)


def _infos(types: Sequence[ir.Type]) -> list[StructInfo]:
    infos = []
    for type_ in types:
        try:
            infos.append(struct_info(type_))
        except RelaxError:
            infos.append(Tuple())  # the type of an upstream op: no symbols
    return infos


def _ops(parent: ir.Operation) -> Iterator[ir.Operation]:
    """All ops inside `parent`, in program order."""
    for region in parent.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _ops(view.operation)
