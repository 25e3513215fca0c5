"""Well-formedness of Relax modules (levels R0 and R1), beyond what MLIR's verifier checks op by op.

The invariants; errors and tests cite their numbers:

 1. A Relax function returns exactly one value (a tuple for several).
 2. Names of parameters are distinct within a function.
 3. Every symbol is defined before it is used: by a dimension, or entry of a shape, of a parameter that is the
    symbol alone or linear in it (``2*n``, or ``n*m`` where n is defined), or by an entry of the pattern of an
    earlier `match_shape` that is the symbol alone. A symbol that a branch of a conditional defines is visible in
    that branch only.
 4. `relax.dataflow` contains pure ops without control flow and ends in `relax.output`; a function that is called in it
    has no effects: it contains no `call_packed`, `assert_op`, `print` or `invoke_closure`, and calls no function that
    does (see `relax_mlir.analysis.call_graph`).
 5. The types of the operands of a tuple agree with the types of its fields.
 6. The callee of `relax.call` is a Relax function of the module; the arguments fit its parameters, and the
    result is its result with the callee's symbols substituted.
 7. The callee of `relax.call_tir` is a prim func of the module; it takes the arguments, one tensor per result,
    and an index per tir_var, and their dtypes, ranks and static sizes agree with the call's. Sizes that can never
    be those that the prim func declares (`relax.params`) are errors; those not proved are checked at run time. The
    callee of `relax.call_tir_inplace` takes no tensor for a result that is in the memory of an argument.
 8. A prim func is private, contains no Relax op, and has no symbolic shapes in its types; its parameters define the
    symbols of their declared shapes, as in invariant 3, or are integers of that name; on tensors it returns one tensor
    per destination; its ``relax.pattern``, if it has one, is one of those of TVM (`attributes.PATTERNS`),
    the ``relax.loop`` of a loop one of `attributes.LOOP_KINDS`, the ``relax.dtype`` of an allocation its dtype.
 9. Names of functions do not end in ``.shapes``, do not begin with ``relax.`` or ``__``, and do not contain
    ``__tvm_ffi_``: these are reserved for the lowering. No symbol of the module has an empty name.
10. Relax ops are inside Relax functions.
11. Values that a dataflow block computes are used in that block; `relax.output` lets a value leave it.
12. The callee of `relax.make_closure` is a Relax function of the module; its last parameters take the captured values,
    and the closure's type follows from the others. A function value whose type is pure has no effects.
13. The callee of `relax.call_prim` and `relax.vm_call_tir_dyn` is a prim func of the module that takes the arguments
    (output buffers included), and an index per entry of the shape `tir_vars`, as in invariant 7.
14. `relax.symbol_bounds` gives a lower and an upper bound to symbols that the function's parameters define: integers
    with 0 <= lower <= upper, or ``unit`` for no upper bound.
15. Functions have no attributes of the lowering (``relax.check``, ``relax.signature``, ``passthrough``, …), and have
    a body: external functions are called by `call_packed`, `call_pure_packed` or `call_dps_packed`. The
    ``relax.by_size`` of a conditional is the name of an op.
16. A loop (`scf.for`) counts upwards, in ``i64`` or ``index``: its step, if it is known, is positive, and the
    induction variable does not exceed 64 bits.
17. A type with symbolic dimensions has as many as its rank; each is an expression whose constants fit 64 bits, and is
    not a negative number; a static size is the same in the type and its encoding. `!relax.shape_value` has a list of
    dimensions or ``unit``, `!relax.callable` types of Relax values or ``unit``. The invariant holds for all types
    and every `#relax.shape`, in attributes as well, at all levels, and is checked when a module is read.
18. No symbol of a module that is compiled has a NUL character in its name: linkers and LLVM end names there. `build`
    checks this; `verify` does not, since modules that are only read, printed and saved may have such names.
"""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.analysis.call_graph import acts, impure_functions
from relax_mlir.analysis.invariants import (
    PrimCall,
    is_lowered,
    is_reserved_name,
    prim_violations,
    reserved_attributes,
    unusable_name,
    wrong_dtypes,
)
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import PARAM_NAME, PRIM_FUNC
from relax_mlir.dialects.base import dim_attributes, implies
from relax_mlir.dialects.calls import inplace_indices, passed_results
from relax_mlir.dialects.closures import closure_info
from relax_mlir.dialects.control import counts_upwards, known_integer, surely_ends
from relax_mlir.dialects.dialect import CallableType, ShapeAttr, ShapeValueType
from relax_mlir.dialects.prim_funcs import against_attributes
from relax_mlir.dialects.structure import TUPLE, is_pure
from relax_mlir.dialects.symbols import parameter_symbols, read_bounds
from relax_mlir.dialects.types import (
    TYPE_INVARIANT,
    Callable,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_from_attr,
    remembered_types,
    struct_info,
)
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, Diagnostic, RelaxError, VerifyError
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Bounds, Dim


def check(module: ir.Module) -> list[Diagnostic]:
    """The violations of invariants in `module`, one diagnostic each; below level R1, only names are checked."""
    tops = list(module.body.operations)
    found = [
        _violation(top, 9, f"the name of {top.operation.name} is empty") for top, name in _symbols(tops) if not name
    ]
    if not is_lowered(tops):
        with module.context:
            found += invalid_types(module) or _check_all(tops)
    return found


def invalid_types(module: ir.Module) -> list[Diagnostic]:
    """The violations of invariant 17 in a module of any level; each type is reported at the first op that has it."""
    with module.context, remembered_types():
        search = _TypeSearch()
        for op in ops_of(module.operation):
            search.visit(op)
    return search.found


def verify_linkable(module: ir.Module) -> None:
    """Raise `VerifyError` unless the symbols of a module are valid in object files (invariant 18)."""
    found = [
        _violation(top, 18, f"{name!r}, the name of {top.operation.name}, {why}")
        for top, name in _symbols(module.body.operations)
        if (why := unusable_name(name))
    ]
    if found:
        raise VerifyError("the module cannot be compiled", found)


def _symbols(tops: Iterable[ir.OpView]) -> Iterator[tuple[ir.OpView, str]]:
    for top in tops:
        if "sym_name" in top.attributes:
            yield top, ir.StringAttr(top.attributes["sym_name"]).value


def _check_all(tops: Sequence[ir.OpView]) -> list[Diagnostic]:
    functions = {op.name.value: op for op in tops if isinstance(op, func.FuncOp)}
    impure = impure_functions(functions)
    found: list[Diagnostic] = []
    for top in tops:
        if not isinstance(top, func.FuncOp):
            found += _stray_ops(top)
            continue
        found += _check_function(top)
        if PRIM_FUNC in top.attributes:
            found += [_violation(op, 8, message) for op, message in prim_violations(top)]
        elif not top.is_external:
            found += _FunctionCheck(functions, impure).run(top)
    return found


def escapes(module: ir.Module) -> list[Diagnostic]:
    """Uses of values of a dataflow block outside of it (invariant 11); `module` need not be valid otherwise."""
    found: list[Diagnostic] = []
    for op in ops_of(module.operation):
        if op.name != "relax.dataflow" or len(op.regions) != 1:
            continue
        for inner in ops_of(op):
            if inner == op:
                continue
            found += [
                _violation(
                    use.owner,
                    11,
                    f"{use.owner.operation.name} uses a value of the dataflow block at {location_text(op.location)}, "
                    f"made by {inner.name} at {location_text(inner.location)}, outside of it: output it",
                )
                for result in inner.results
                for use in result.uses
                if not _is_inside(use.owner.operation, op)
            ]
    return found


def _is_inside(op: ir.Operation, ancestor: ir.Operation) -> bool:
    current: ir.Operation | None = op
    while current is not None and current != ancestor:
        parent = current.parent
        current = None if parent is None else parent.operation
    return current is not None


@dataclass
class _TypeSearch:
    """The types of a module, and those nested in types and attributes, each visited once."""

    found: list[Diagnostic] = field(default_factory=list)
    seen: set[ir.Type | ir.Attribute] = field(default_factory=set)

    def visit(self, op: ir.Operation) -> None:
        for result in op.results:
            self._see(op, result.type)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    self._see(op, argument.type)
        attributes = op.attributes
        for index in range(len(attributes)):
            self._see(op, attributes[index].attr)

    def _see(self, op: ir.Operation, item: ir.Type | ir.Attribute) -> None:
        if item in self.seen:
            return
        self.seen.add(item)
        if isinstance(item, ShapeAttr):
            self._check(op, item, lambda: dims_from_attr(item.dims))
        elif isinstance(item, ir.Type) and _is_checked(item):
            self._check(op, item, lambda: struct_info(item))
        else:
            for inner in _parts_of(item):
                self._see(op, inner)

    def _check(self, op: ir.Operation, item: ir.Type | ir.Attribute, read: Function[[], object]) -> None:
        try:
            read()
        except RelaxError as error:
            message = str(error).splitlines()[0].removesuffix(TYPE_INVARIANT)
            self.found.append(_violation(op, 17, message))


def _is_checked(item: ir.Type) -> bool:
    """True for types of the dialect, and for tensors with its encoding."""
    if isinstance(item, ir.RankedTensorType):
        return isinstance(item.encoding, ShapeAttr)
    return isinstance(item, ShapeValueType | CallableType)


def _parts_of(item: ir.Type | ir.Attribute) -> Iterator[ir.Type | ir.Attribute]:
    """The components of a type or an attribute that may contain types."""
    if isinstance(item, ir.TypeAttr):
        yield item.value
    elif isinstance(item, ir.FunctionType):
        yield from (*item.inputs, *item.results)
    elif isinstance(item, ir.TupleType):
        yield from (item.get_type(index) for index in range(item.num_types))
    elif isinstance(item, ir.ArrayAttr):
        yield from item
    elif isinstance(item, ir.DictAttr):
        yield from (item[index].attr for index in range(len(item)))
    elif isinstance(item, ir.Attribute) and not isinstance(item, ir.StringAttr):
        yield item.type


def verify(module: ir.Module) -> None:
    """Raise `VerifyError` with all violations unless `module` is well-formed."""
    found = check(module)
    if found:
        raise VerifyError("the module is not well-formed", found)


def _violation(op: ir.Operation | ir.OpView, number: int, message: str) -> Diagnostic:
    return Diagnostic("error", location_text(op.location), f"{message} [invariant {number}]")


def _stray_ops(top: ir.OpView) -> Iterator[Diagnostic]:
    for op in ops_of(top.operation):
        if op.name.startswith("relax."):
            yield _violation(op, 10, f"{op.name} stands outside of a Relax function")


def _check_function(op: func.FuncOp) -> Iterator[Diagnostic]:
    """Check the invariants of all functions: names and attributes."""
    name = op.name.value
    if is_reserved_name(name):
        yield _violation(op, 9, f"function name {name!r} is reserved for the lowering")
    for attribute in reserved_attributes(op):
        yield _violation(
            op, 15, f"function '{name}' has the attribute {attribute}, which the lowering makes: leave it out"
        )
    if op.is_external and PRIM_FUNC not in op.attributes:
        yield _violation(op, 15, f"function '{name}' has no body: call a packed function by its name instead")


@dataclass
class _FunctionCheck:
    functions: dict[str, func.FuncOp]
    impure: set[str]
    found: list[Diagnostic] = field(default_factory=list)
    wrong_types: set[ir.Type] = field(default_factory=set)

    def run(self, op: func.FuncOp) -> list[Diagnostic]:
        self._check_parameter_names(op)
        if len(op.type.results) != 1:
            self._report(op, 1, f"function '{op.name.value}' has {len(op.type.results)} results, expected one")
        defined = self._parameter_symbols(op)
        for type_ in op.type.results:
            self._info(op, type_)
        with symbolic.assuming(self._bounds(op, defined)):
            for block in op.regions[0].blocks:
                self._check_block(block, defined)
        return self.found

    def _bounds(self, op: func.FuncOp, defined: set[str]) -> Bounds:
        try:
            bounds = read_bounds(op)
        except ArgumentError as error:
            self._report(op, 14, str(error))
            return {}
        for symbol in bounds:
            if symbol not in defined:
                self._report(
                    op,
                    14,
                    f"function '{op.name.value}' gives bounds of symbol '{symbol}', which no parameter defines",
                )
        return bounds

    def _report(self, op: ir.Operation | ir.OpView, number: int, message: str) -> None:
        self.found.append(_violation(op, number, message))

    def _check_parameter_names(self, op: func.FuncOp) -> None:
        name = op.name.value
        names = parameter_names(op)
        for parameter in sorted({n for n in names if names.count(n) > 1}):
            self._report(op, 2, f"function '{name}' has two parameters called '{parameter}'")

    def _parameter_symbols(self, op: func.FuncOp) -> set[str]:
        infos = [info for t in op.type.inputs if (info := self._info(op, t)) is not None]
        defined = set(parameter_symbols(infos))
        for name, info in zip(parameter_names(op), infos, strict=False):
            for symbol in dict.fromkeys(info.symbols()):
                if symbol not in defined:
                    self._report(
                        op,
                        3,
                        f"function '{op.name.value}': parameter '{name}: {info}' uses symbol '{symbol}', "
                        "which no dimension of a parameter defines, by being the symbol alone or a linear "
                        f'expression of it; add a parameter Shape(("{symbol}",))',
                    )
                    defined.add(symbol)
        return defined

    def _info(self, op: ir.Operation | ir.OpView, type_: ir.Type) -> StructInfo | None:
        """The struct info of a type; None for upstream types (index, i1, …) and invalid ones, which are reported."""
        try:
            return struct_info(type_)
        except RelaxError as error:
            if _has_dimensions(type_) and type_ not in self.wrong_types:
                self.wrong_types.add(type_)
                self._report(op, 17, str(error).splitlines()[0].removesuffix(TYPE_INVARIANT))
            return None

    def _check_block(self, block: ir.Block, defined: set[str]) -> None:
        for view in block.operations:
            op = view.operation
            self._check_op(op, defined)
            if wrong := against_attributes(op):
                self._report(op, 15, wrong)
            for region in op.regions:
                inner = defined if op.name == "relax.dataflow" else set(defined)
                for nested in region.blocks:
                    for argument in nested.arguments:
                        info = self._info(op, argument.type)
                        inner.update(() if info is None else defining_symbols(info))
                    self._check_block(nested, inner)

    def _check_op(self, op: ir.Operation, defined: set[str]) -> None:
        if op.name == "relax.match_shape":
            pattern = dims_from_attr(op.attributes["pattern"])
            defined.update(_bare(pattern))
            self._check_symbols(op, "its pattern", [d for d in pattern if d is not None], defined)
        elif op.name == "relax.dataflow":
            self._check_dataflow(op)
        elif op.name == TUPLE:
            self._check_tuple(op)
        elif op.name == "scf.for":
            self._check_loop(op)
        elif op.name == "relax.call":
            self._check_call(op)
        elif op.name == "relax.make_closure":
            self._check_closure(op)
        elif op.name == "relax.lambda":
            self._check_lambda(op)
        elif op.name in ("relax.call_tir", "relax.call_tir_inplace"):
            self._check_call_tir(op)
        elif op.name in ("relax.call_prim", "relax.vm_call_tir_dyn"):
            given = [info for operand in op.operands for info in _flat(struct_info(operand.type))]
            self._check_prim_arguments(op, 13, given)
        for name, dims in dim_attributes(op):
            if op.name != "relax.match_shape":
                self._check_symbols(op, f"attribute '{name}'", [d for d in dims if d is not None], defined)
        for index, result in enumerate(op.results):
            if op.name == "relax.dataflow":
                continue  # its body, checked next, may define the symbols
            info = self._info(op, result.type)
            if info is not None:
                self._check_names(op, f"result {index}, {info},", info.symbols(), defined)

    def _check_symbols(self, op: ir.Operation, what: str, dims: Sequence[Dim], defined: set[str]) -> None:
        self._check_names(op, what, (s for d in dims for s in symbolic.symbols(d)), defined)

    def _check_names(self, op: ir.Operation, what: str, names: Iterator[str], defined: set[str]) -> None:
        for name in dict.fromkeys(names):
            if name not in defined:
                self._report(op, 3, f"{op.name}: {what} uses symbol '{name}', which is not defined here")

    def _check_dataflow(self, op: ir.Operation) -> None:
        for view in entry_block(op).operations:
            inner = view.operation
            if inner.name != "relax.output" and not is_pure(inner):
                self._report(inner, 4, f"{inner.name} is not pure, but stands in a dataflow block")
            elif inner.name == "relax.call" and callee_of(inner) in self.impure:
                name = callee_of(inner)
                self._report(inner, 4, f"'{name}' has effects, but is called in a dataflow block")

    def _check_loop(self, op: ir.Operation) -> None:
        counter = op.operands[0].type
        if self._info(op, counter) is None:
            self._report(op, 16, f"the loop counts in {counter}, but loops of Relax functions do in i64 or index")
            return
        _, upper, step = (known_integer(Value(operand)) for operand in list(op.operands)[:3])
        if isinstance(step, int) and not counts_upwards(op):
            self._report(op, 16, f"the loop has the step {step}; loops count upwards")
        elif isinstance(step, int) and isinstance(upper, int) and not surely_ends(op):
            self._report(op, 16, f"the loop ends at {upper}: in steps of {step} its variable would pass 64 bits")

    def _check_tuple(self, op: ir.Operation) -> None:
        if len(op.results) != 1 or not isinstance(op.results[0].type, ir.TupleType):
            self._report(op, 5, f"{op.name} makes tuples only, not {op.results[0].type}")
            return
        made = op.results[0].type
        fields = [made.get_type(i) for i in range(made.num_types)]
        if fields != [operand.type for operand in op.operands]:
            self._report(op, 5, f"the fields of {made} are not the types of the {len(op.operands)} operands")

    def _callee(self, op: ir.Operation, number: int, prim: bool) -> func.FuncOp | None:
        name = callee_of(op)
        callee = self.functions.get(name)
        if callee is None:
            shown = f"'{name}'" if name else str(op.attributes["callee"])
            self._report(op, number, f"{op.name}: the module has no function {shown}")
        elif (PRIM_FUNC in callee.attributes) != prim:
            kind = "a prim func" if prim else "a Relax function"
            self._report(op, number, f"{op.name}: '{name}' is not {kind}")
            callee = None
        return callee

    def _check_call(self, op: ir.Operation) -> None:
        callee = self._callee(op, 6, prim=False)
        if callee is None:
            return
        arguments = struct_info(op.operands[0].type)
        assert isinstance(arguments, Tuple)
        try:
            expected = infer_call(callee.name.value, callee, arguments.fields)
        except RelaxError as error:
            self._report(op, 6, str(error))
            return
        found = struct_info(op.results[0].type)
        if not implies(expected, found):
            self._report(op, 6, f"call of '{callee.name.value}': its result is {expected}, not {found}")

    def _check_closure(self, op: ir.Operation) -> None:
        callee = self._callee(op, 12, prim=False)
        if callee is None:
            return
        name = callee.name.value
        captured, found = struct_info(op.operands[0].type), struct_info(op.results[0].type)
        assert isinstance(captured, Tuple)
        if len(callee.type.results) != 1:
            return  # invariant 1
        params = [struct_info(type_) for type_ in callee.type.inputs]
        result = struct_info(callee.type.results[0])
        try:
            expected = closure_info(params, result, captured.fields, name not in self.impure)
        except RelaxError as error:
            self._report(op, 12, str(error))
            return
        if not implies(expected, found):
            self._report(op, 12, f"make_closure of '{name}': it is {expected}, not {found}")

    def _check_lambda(self, op: ir.Operation) -> None:
        names = [ir.StringAttr(name).value for name in ir.ArrayAttr(op.attributes["names"])]
        for name in sorted({n for n in names if names.count(n) > 1}):
            self._report(op, 2, f"lambda: two parameters are called '{name}'")
        info = struct_info(op.results[0].type)
        found = acts(op, self.impure)
        if isinstance(info, Callable) and info.pure and found is not None:
            self._report(found, 12, f"{found.name} has effects, but stands in a function whose type is pure")

    def _check_call_tir(self, op: ir.Operation) -> None:
        given: list[StructInfo] = [*_flat(struct_info(op.operands[0].type)), *passed_results(op)]
        given += [Prim()] * len(dims_from_attr(op.attributes["tir_vars"]))
        callee = self._check_prim_arguments(op, 7, given)
        if callee is None:
            return
        name, count = callee.name.value, len(callee.type.results)
        written, what = len(inplace_indices(op)), f"{op.name.removeprefix('relax.')} of '{name}'"
        if count and count != written:
            self._report(op, 7, f"{what}: {written} destinations, but it writes {count}")
        declared = PrimCall.of(op, callee)
        sizes = [] if declared is None else [item.message for item in declared.unproved() if item.is_wrong]
        for message in (*sizes, *wrong_dtypes(callee, given)):
            self._report(op, 7, f"{what}: {message}")

    def _check_prim_arguments(self, op: ir.Operation, number: int, given: Sequence[StructInfo]) -> func.FuncOp | None:
        """Check number and types of a prim func's arguments; None if checking cannot continue."""
        callee = self._callee(op, number, prim=True)
        if callee is None:
            return None
        name, inputs = callee.name.value, list(callee.type.inputs)
        what = f"{op.name.removeprefix('relax.')} of '{name}'"
        if len(given) != len(inputs):
            self._report(
                op,
                number,
                f"{what}: {len(given)} arguments (destinations and tir_vars included), but it takes {len(inputs)}",
            )
            return None
        for index, (info, wanted) in enumerate(zip(given, inputs, strict=True)):
            if not _fits(info, wanted):
                self._report(op, number, f"{what}: argument {index} is {info}, but it takes {wanted}")
        return callee


def _flat(info: StructInfo) -> Iterator[StructInfo]:
    if isinstance(info, Tuple):
        for item in info.fields:
            yield from _flat(item)
    elif isinstance(info, Shape):
        yield from [Prim()] * (info.ndim or 0)
    else:
        yield info


def _fits(info: StructInfo, wanted: ir.Type) -> bool:
    """True if a value of struct info `info` can be passed as `wanted` (a type of level T or M)."""
    if not isinstance(info, Tensor):
        return isinstance(wanted, ir.IndexType | ir.IntegerType)
    if not isinstance(wanted, ir.RankedTensorType | ir.MemRefType):
        return False
    if info.shape is None or info.dtype is None:
        return True  # legalisation requires more
    if wanted.rank != len(info.shape) or wanted.element_type != info.dtype.storage_type():
        return False
    return all(
        wanted.is_dynamic_dim(axis) or not isinstance(dim, int) or dim == wanted.get_dim_size(axis)
        for axis, dim in enumerate(info.shape)
    )


def _bare(dims: Sequence[Dim | None]) -> Iterator[str]:
    for dim in dims:
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None:
            yield name


def _has_dimensions(type_: ir.Type) -> bool:
    """True if a type, or a nested one, is that of a Relax value with symbolic dimensions."""
    if isinstance(type_, ir.TupleType):
        return any(_has_dimensions(type_.get_type(i)) for i in range(type_.num_types))
    if isinstance(type_, ir.RankedTensorType):
        return type_.encoding is not None
    return isinstance(type_, ShapeValueType | CallableType)


def defining_symbols(info: StructInfo) -> Iterator[str]:
    """The symbols that are dimensions of `info` by themselves."""
    if isinstance(info, Tensor):
        yield from _bare(info.shape or ())
    elif isinstance(info, Shape):
        yield from _bare(info.values or ())
    elif isinstance(info, Tuple):
        for item in info.fields:
            yield from defining_symbols(item)


def parameter_names(op: func.FuncOp) -> list[str]:
    """Names of a function's parameters; unnamed ones are called arg0, arg1, …

    Raises:
        VerifyError: a name is not a string.
    """
    names = []
    given = list(ir.ArrayAttr(op.attributes["arg_attrs"])) if "arg_attrs" in op.attributes else []
    for index in range(len(op.type.inputs)):
        attributes = ir.DictAttr(given[index]) if index < len(given) else ir.DictAttr.get({}, op.context)
        name = attributes[PARAM_NAME] if PARAM_NAME in attributes else ir.StringAttr.get(f"arg{index}", op.context)
        if not isinstance(name, ir.StringAttr):
            message = f"{op.name.value}: parameter {index}: {PARAM_NAME} is {name}, not a string"
            raise VerifyError("the module is not well-formed", [_violation(op, 2, message)])
        names.append(name.value)
    return names
