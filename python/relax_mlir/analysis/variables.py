"""Definitions and uses of values and symbols."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir import symbolic
from relax_mlir.analysis.well_formed import defining_symbols, parameter_names
from relax_mlir.dialects.base import dim_attributes
from relax_mlir.dialects.dialect import NAMESPACE
from relax_mlir.dialects.structure import TUPLE, is_pure
from relax_mlir.dialects.symbols import parameter_symbols
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.types import (
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_from_attr,
    info_or_none,
    struct_info,
)
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, UnknownNameError, expect
from relax_mlir.ir_queries import ancestors, defining_op, enclosing_function, entry_block, ops_of
from relax_mlir.mlir import func, ir

# Definitions and uses of the values of a function, and the ops that can be computed at compile time.


@dataclass(frozen=True)
class Use:
    """One use of a value: the op, the index of the operand, and the path of regions around the op.

    `path` lists the ops around it from the outside in, with the index of the region: ``("scf.if", 1)`` is the else
    branch. Uses by a terminator (`func.return`, `relax.output`, `scf.yield`) mean that the value leaves its block.
    """

    op: ir.Operation
    operand: int
    path: tuple[tuple[str, int], ...]

    @property
    def leaves(self) -> bool:
        """True if the value leaves its block by this use."""
        return has_trait(self.op, EndsBlock)


@dataclass(frozen=True)
class UseDef:
    """The definitions of a function with their uses, in program order.

    `definitions` has an entry per parameter and per result of an op, in order of definition: the values in a region
    come after the values before the region's op, and before the results of that op.
    """

    definitions: Mapping[ir.Value, tuple[Use, ...]]
    names: Mapping[str, tuple[ir.Value, ...]]
    """The values by their names in the program; several values may share one."""

    def uses(self, value: ir.Value) -> tuple[Use, ...]:
        """The uses of `value`, in program order; empty for a value of another function."""
        return self.definitions.get(value, ())

    def unused(self) -> list[ir.Value]:
        """The values without uses, parameters included."""
        return [value for value, uses in self.definitions.items() if not uses]

    def named(self, name: str) -> ir.Value:
        """The one value called `name`; raises `UnknownNameError` if there is none, or more than one."""
        found = self.names.get(name, ())
        if len(found) != 1:
            hint = f"{len(found)} values have this name" if found else ""
            raise UnknownNameError("value", name, self.names, hint)
        return found[0]


def use_def(function: func.FuncOp) -> UseDef:
    """The definitions and uses of all values of `function`, also in branches and dataflow blocks."""
    expect("use_def: 'function'", function, func.FuncOp, "a function of a module")
    uses: dict[ir.Value, list[Use]] = {}
    names: dict[str, list[ir.Value]] = {}
    if not function.is_external:
        arguments = entry_block(function).arguments
        for name, argument in zip(parameter_names(function), arguments, strict=True):
            uses[argument] = []
            names.setdefault(name, []).append(argument)
        _collect(function.operation, (), uses, names)
    return UseDef(
        {value: tuple(found) for value, found in uses.items()},
        {name: tuple(values) for name, values in names.items()},
    )


def _collect(
    parent: ir.Operation,
    path: tuple[tuple[str, int], ...],
    uses: dict[ir.Value, list[Use]],
    names: dict[str, list[ir.Value]],
) -> None:
    for number, region in enumerate(parent.regions):
        inner = path if parent.name == "func.func" else (*path, (parent.name, number))
        for block in region.blocks:
            for argument in block.arguments:
                uses.setdefault(argument, [])
            for view in block.operations:
                op = view.operation
                for index, operand in enumerate(op.operands):
                    uses.setdefault(operand, []).append(Use(op, index, inner))
                _collect(op, inner, uses, names)
                location = ir.Location.from_attr(op.location.attr, op.context)
                for result in op.results:
                    uses.setdefault(result, [])
                    if isinstance(location, ir.NameLoc):
                        names.setdefault(location.name_str, []).append(result)


def name_to_binding(function: func.FuncOp) -> dict[str, list[ir.Operation]]:
    """The ops of `function` by the names of their results in the program, in program order."""
    found: dict[str, list[ir.Operation]] = {}
    for name, values in use_def(function).names.items():
        made = [value.owner.operation for value in values if not isinstance(value.owner, ir.Block)]
        if made:
            found[name] = made
    return found


def compile_time_computable(function: func.FuncOp, params: Iterable[str | int] = ()) -> list[ir.Operation]:
    """The bindings of `function` whose values only depend on constants, in program order.

    Args:
        function: a Relax function; branches are skipped, since it is unknown whether they run.
        params: names or indices of parameters that will also be known, for instance weights. A tensor parameter
            whose shape has symbols defines these; any other op whose result has further symbols is not computable.

    Calls of functions and of packed functions are not computable, and neither are ops with effects. A dataflow block
    is computable if all its outputs are.

    Raises:
        UnknownNameError: `params` names no parameter.
    """
    expect("compile_time_computable: 'function'", function, func.FuncOp, "a function of a module")
    if function.is_external:
        return []
    names = parameter_names(function)
    arguments = list(entry_block(function).arguments)
    known: set[ir.Value] = set()
    symbols: set[str] = set()
    for param in params:
        index = names.index(param) if param in names else param
        if not isinstance(index, int) or not 0 <= index < len(names):
            raise UnknownNameError(f"parameter of '{function.name.value}'", str(param), names)
        known.add(arguments[index])
        symbols.update(struct_info(arguments[index].type).symbols())
    return list(_computable(function.operation, known, symbols))


def _computable(parent: ir.Operation, known: set[ir.Value], symbols: set[str]) -> Iterator[ir.Operation]:
    for view in entry_block(parent).operations:
        op = view.operation
        if op.name == "relax.dataflow":
            yield from _computable(op, known, symbols)
            end = entry_block(op).operations[-1].operation
            if not all(operand in known for operand in end.operands):
                continue
        elif not _may_be_computed(op, symbols) or not all(operand in known for operand in op.operands):
            continue
        known.update(op.results)
        yield op


def _may_be_computed(op: ir.Operation, symbols: set[str]) -> bool:
    is_value = op.name == TUPLE or (op.name.startswith(f"{NAMESPACE}.") and is_pure(op))
    if not is_value or len(op.regions) or "callee" in op.attributes or "func" in op.attributes:
        return False
    for result in op.results:
        try:
            info = struct_info(result.type)
        except RelaxError:
            return False  # a value of another dialect
        if isinstance(info, Prim) and not _is_number(op):
            return False
        if isinstance(info, Tensor | Shape) and not set(info.symbols()) <= symbols:
            return False
    return True


def _is_number(op: ir.Operation) -> bool:
    return "value" in op.attributes and isinstance(op.attributes["value"], ir.IntegerAttr)


# The symbols of a function, a value, or a struct info: all, defined and free ones.
#
# A symbol is *defined* where it gets its value: by a dimension of a parameter that is the symbol alone or linear in
# it, or by an entry of the pattern of a `match_shape` that is the symbol alone. It is *bound* in a subject that
# defines it, and *free* in one that only uses it. The lists have no duplicates and are in order of appearance.

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
    expect(f"{what}: 'subject'", subject, func.FuncOp | Value | StructInfo, "a function, a value or a StructInfo")


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
        for op in ops_of(subject.operation):
            if op.name == "relax.match_shape":
                yield from _pattern_symbols(op)


def _first_definitions(match: ir.Operation) -> Iterator[str]:
    """The symbols that `match` defines, without those that it only checks."""
    function = enclosing_function(match) or [match, *ancestors(match)][-1]
    earlier: set[str] = set()
    if isinstance(function.opview, func.FuncOp):
        earlier.update(parameter_symbols(_infos(function.opview.type.inputs)))
    for op in ops_of(function):
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
        for op in ops_of(subject.operation):
            yield from _attribute_symbols(op)
            for info in _infos([result.type for result in op.results]):
                yield from info.symbols()


def _attribute_symbols(op: ir.Operation) -> Iterator[str]:
    for _, dims in dim_attributes(op):
        for dim in dims:
            yield from () if dim is None else symbolic.symbols(dim)


def _infos(types: Sequence[ir.Type]) -> list[StructInfo]:
    """The struct infos of types; one without symbols for a type of MLIR's own."""
    return [info_or_none(type_) or Tuple() for type_ in types]


# The order in which `match_shape` ops can bind the symbols of several struct infos.


def binding_order(infos: Sequence[StructInfo], known: Collection[str]) -> list[int] | None:
    """The indices of `infos` in an order in which each symbol is bound before an expression uses it.

    A `match_shape` binds a symbol where a dimension is the symbol alone. `known`: the symbols that are already bound.
    None if there is no such order: a symbol only occurs in larger expressions.
    """
    bound = set(known)
    left = list(range(len(infos)))
    order: list[int] = []
    while left:
        for place in left:
            own = set(defining_symbols(infos[place]))
            if {*free_symbols(infos[place]), *defined_symbols(infos[place])} <= bound | own:
                bound |= own
                order.append(place)
                left.remove(place)
                break
        else:
            return None
    return order
