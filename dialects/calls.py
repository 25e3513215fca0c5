"""Calls of Relax functions, of prim funcs (destination-passing, in place), and of packed functions (shape rules)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, implies
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.closures import ExternFunc, function_name
from relax_mlir.dialects.number_attributes import ints_attr
from relax_mlir.dialects.structure import make_tuple, prim_value
from relax_mlir.dialects.symbols import contains_unknown
from relax_mlir.dialects.traits import (
    EVERY_FORM,
    CallsFunction,
    CallsPacked,
    CapturesTensors,
    HasDestination,
    HasEffect,
    IsStatement,
    IsTransparent,
    KeptAtR1,
    ListsArguments,
    OutsideDataflow,
    PassesOn,
    TakesOwnership,
)
from relax_mlir.dialects.types import (
    DimLike,
    StructInfo,
    Tensor,
    Tuple,
    as_dim,
    dims_attr,
    dims_from_attr,
    struct_info,
)
from relax_mlir.dialects.value import Value, create, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, expect
from relax_mlir.mlir import ext, func, ir
from relax_mlir.symbolic import Expr

InferRule = Callable[..., StructInfo]
"""``rule(*args)``: a `StructInfo` per value and a Python literal per literal, in call order."""

_RULES: dict[str, InferRule] = {}


@exported()
def register_infer(name: str, rule: InferRule | None = None, *, override: bool = False) -> Any:  # noqa: ANN401 - the rule, or a decorator
    """Register the shape rule of the packed function `name`; also a decorator.

    Calls of the function (`call_packed`, `call_dps_packed`, …) need no ``out``: the builder deduces it, the verifier
    checks it, and ``refine-shapes`` deduces it again from refined arguments.

    >>> @register_infer("my.pad")
    ... def pad(x, amount):
    ...     return Tensor((x.shape[0] + 2 * amount,), x.dtype)

    Args:
        name: name of the packed function.
        rule: ``rule(*args)`` takes a `StructInfo` per value and a Python literal per literal, in call order, and
            returns the `StructInfo` of the result. It raises `ShapeError`, `DTypeError` or `ArgumentError` for invalid
            arguments; the name of the rule is prepended to the message.
        override: replace a rule that is registered already.

    Raises:
        ArgumentError: `name` has a rule already.
    """
    expect("register_infer: 'name'", name, str, "the name of a packed function")
    if rule is None:
        return lambda function: register_infer(name, function, override=override)
    if not callable(rule):
        raise ArgumentError(f"register_infer: the rule of '{name}' is {rule!r}, expected a function")
    if name in _RULES and not override:
        raise ArgumentError(f"register_infer: '{name}' has a rule already; override=True replaces it")
    _RULES[name] = rule
    return rule


@exported()
def unregister_infer(name: str) -> None:
    """Remove the rule of the packed function `name`, if it has one."""
    expect("unregister_infer: 'name'", name, str, "the name of a packed function")
    _RULES.pop(name, None)


def has_rule(name: str) -> bool:
    """True if the packed function `name` has a rule."""
    return name in _RULES


def rule_of(name: str) -> InferRule | None:
    """The rule of the packed function `name`, if it has one."""
    return _RULES.get(name)


def deduced(args: OpArgs) -> StructInfo | None:
    """Struct info of the result of a packed call by the rule of its function; None without a rule.

    Raises the errors of the rule, with its name, and `ArgumentError` for other exceptions and for results that are not
    a `StructInfo`.
    """
    name = args.str_attr("func")
    rule = _RULES.get(name)
    if rule is None:
        return None
    given = _arguments(args)
    what = f"{args.op}: the shape rule registered for '{name}'"
    try:
        result = rule(*given)
    except RelaxError as error:
        raise _same_kind(error)(f"{what}: {error}") from error
    except Exception as error:
        shown = ", ".join(map(str, given))
        raise ArgumentError(f"{what} raised {type(error).__name__} on ({shown}): {error}") from error
    if not isinstance(result, StructInfo):
        raise ArgumentError(f"{what} returned {result!r} ({type(result).__name__}), expected a StructInfo")
    return result


def check_rule(args: OpArgs, result: StructInfo) -> None:
    """Raise `ShapeError` unless the result of a packed call follows from the rule of its function, if it has one.

    A call for its effect alone, with the empty tuple as result, is always valid.
    """
    expected = None if result == Tuple() else _expected(args)
    if expected is not None and not implies(expected, result):
        name = args.str_attr("func")
        raise ShapeError(
            f"{args.op}: the result of '{name}' is {result}, but its registered shape rule gives {expected}"
        )


def _expected(args: OpArgs) -> StructInfo | None:
    """The result of the rule; None if it fails because sizes are unknown, as they all are in the virtual machine."""
    try:
        return deduced(args)
    except ArgumentError as error:
        failed = error.__cause__ is not None and not isinstance(error.__cause__, RelaxError)
        if failed and any(map(contains_unknown, args.tuple(0).fields)):
            return None
        raise


def _arguments(args: OpArgs) -> list[Any]:
    fields = list(args.tuple(0).fields)
    return [
        fields.pop(0) if isinstance(item, ir.UnitAttr) else item.value for item in ir.ArrayAttr(args.attrs["arg_spec"])
    ]


def _same_kind(error: RelaxError) -> type[RelaxError]:
    """The error class to raise for a rule's error: `ShapeError` or `DTypeError` unchanged, else `ArgumentError`."""
    return next((kind for kind in (ShapeError, DTypeError) if isinstance(error, kind)), ArgumentError)


StaticArg = str | int | float | bool


class CallOp(RelaxOp, name="call", traits=[CallsFunction, *EVERY_FORM]):
    """Call of a Relax function of the module. The result has the callee's result type with its symbols substituted.

    `args` is a tuple. `relax_mlir.analysis.well_formed`, which sees the whole module, checks the call against the
    callee's signature. The op is not pure, since the callee may call packed functions: upstream passes neither drop nor
    merge calls. Dataflow blocks hold only calls of functions without effects.
    """

    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        """Check only that `args` is a tuple; the signature is checked where the module is available."""
        args.tuple(0)


class CallTirOp(
    RelaxOp,
    name="call_tir",
    traits=[ext.Pure, CallsFunction, HasDestination, IsTransparent, KeptAtR1, TakesOwnership],
):
    """Destination-passing call of a prim func: allocate the result, call, return it.

    `args` is a tuple; the result is a tensor or a tuple of tensors. The callee takes the arguments, then one tensor per
    result, then an ``index`` per entry of `tir_vars` (symbolic integers that no tensor shape determines), and returns
    the results.
    """

    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    tir_vars: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("tir_vars",)

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        dims_from_attr(args.attrs["tir_vars"])
        args.tuple(0)
        require_destinations(args.op, results[0])


class CallDpsPackedOp(
    RelaxOp,
    name="call_dps_packed",
    traits=[ext.Pure, HasDestination, IsTransparent, KeptAtR1, ListsArguments],
):
    """Destination-passing call of a registered packed function, which takes the arguments and then the results to fill.

    `arg_spec` has an entry per argument: ``unit`` for the next operand, else the literal (string, int, float, bool).
    """

    args: ext.Operand[Any]
    func: ir.StringAttr
    arg_spec: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        check_arg_spec(args)
        args.tuple(0)
        require_destinations(args.op, results[0])
        check_rule(args, results[0])


class CallPackedOp(
    RelaxOp,
    name="call_packed",
    traits=[*EVERY_FORM, CallsPacked, CapturesTensors, HasEffect, IsStatement, ListsArguments],
):
    """Call of a registered packed function that may have any effect; it allocates what it returns.

    It may change its tensor arguments in place: later uses of the same values see the change. Values computed from them
    before, including views and tuples, keep the old elements; so do constants, and the arrays that callers pass in.

    `arg_spec` is that of `call_dps_packed`. The result is an empty tuple if the function is called only for its effect.
    """

    args: ext.Operand[Any]
    func: ir.StringAttr
    arg_spec: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        check_arg_spec(args)
        check_rule(args, results[0])


class CallPurePackedOp(
    RelaxOp,
    name="call_pure_packed",
    traits=[ext.Pure, *EVERY_FORM, CallsPacked, CapturesTensors, ListsArguments],
):
    """Call of a registered packed function without effects; it allocates what it returns.

    The function must neither change its arguments nor depend on other state: calls may be removed, merged and moved,
    and may be in dataflow blocks. `arg_spec` is that of `call_dps_packed`.
    """

    args: ext.Operand[Any]
    func: ir.StringAttr
    arg_spec: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        check_arg_spec(args)
        if results[0] == Tuple():
            raise ArgumentError(f"{args.op}: a call without effects gives a value, but its result is an empty tuple")
        check_rule(args, results[0])


class UpdatedOp(RelaxOp, name="updated", traits=[*EVERY_FORM, HasEffect, PassesOn, TakesOwnership]):
    """`input` after the preceding `call_packed` may have changed it; created by the pass ``explicit-effects``."""

    input: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return args.tensor(0)


class DistinctOp(RelaxOp, name="distinct", traits=[*EVERY_FORM, OutsideDataflow, PassesOn, TakesOwnership]):
    """A copy of `input` in separate memory; created by the pass ``explicit-effects``.

    If a `call_packed` changes one of two tensors, the other must not change, even if CSE has merged the equal
    expressions that define them.
    """

    input: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return args.tensor(0)


def check_arg_spec(args: OpArgs) -> None:
    """Raise `ArgumentError` unless `arg_spec` has one ``unit`` per operand."""
    spec = list(ir.ArrayAttr(args.attrs["arg_spec"]))
    units = sum(isinstance(item, ir.UnitAttr) for item in spec)
    operands = args.tuple(0).fields
    if units != len(operands):
        raise ArgumentError(f"{args.op}: arg_spec has {units} operands, the op {len(operands)}")
    for item in spec:
        if not isinstance(item, ir.UnitAttr | ir.StringAttr | ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr):
            raise ArgumentError(f"{args.op}: arg_spec entry {item} is no literal (string, int, float, bool) or unit")


def require_destinations(op: str, result: StructInfo) -> None:
    """Raise `ShapeError` unless `result` is a tensor, or a tuple of tensors, of a size known before the call."""
    for index, info in enumerate(destinations(result)):
        if not isinstance(info, Tensor) or info.known_shape is None or info.dtype is None:
            raise ShapeError(
                f"{op}: result {index} is {info}; destination passing needs a tensor of known shape and dtype "
                "(use call_packed and match_shape otherwise)"
            )


def destinations(result: StructInfo) -> Sequence[StructInfo]:
    """The struct infos of the destinations of a call: the fields of a tuple, or the single tensor."""
    return result.fields if isinstance(result, Tuple) else [result]


Callee: TypeAlias = str | func.FuncOp
"""A function of the module: its name, or the function itself."""


def callee_name(op: str, callee: Callee) -> str:
    """The name of `callee`; `op` is the builder, for messages."""
    expect(f"{op}: 'callee'", callee, str | func.FuncOp, "a prim func of the module, or its name")
    return callee if isinstance(callee, str) else callee.name.value


def tir_vars_attr(op: str, tir_vars: Sequence[DimLike]) -> ir.ArrayAttr:
    """The attribute `tir_vars` of the builder `op`; raises `ShapeError` for an unknown one."""
    expect(f"{op}: 'tir_vars'", tir_vars, list | tuple, "a list of expressions")
    dims = [as_dim(v) for v in tir_vars]
    if None in dims:
        raise ShapeError(f"{op}: a tir_var is unknown ('?'); give an expression of the symbols in scope")
    return dims_attr(dims)


def call_tir(
    callee: Callee | ExternFunc,
    args: Sequence[Value | StaticArg],
    out: Tensor | Sequence[Tensor],
    tir_vars: Sequence[DimLike] = (),
) -> Value:
    """`relax_mlir.op.call_tir` with the callee first."""
    if isinstance(callee, ExternFunc):
        _refuse_tir_vars("call_tir", callee.global_symbol, tir_vars)
        return call_dps_packed(callee, args, out)
    expect("call_tir: 'args'", args, list | tuple | Value, "a list of values, or a tuple")
    name, target = resolved("call_tir", callee, tir_vars)
    if target is None and is_registered(name):
        return call_dps_packed(name, args, out)
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "tir_vars": tir_vars_attr("call_tir", tir_vars),
    }
    return create(CallTirOp, [make_tuple(*args)], attributes, [result_info(out)])[0]  # type: ignore[arg-type]  # make_tuple refuses literals


def resolved(op: str, callee: Callee | ExternFunc, tir_vars: Sequence[DimLike]) -> tuple[str, func.FuncOp | None]:
    """The name of a callee, and its function in the module under construction, or None.

    Raises `ArgumentError` for `tir_vars` of a registered function.
    """
    point = require_insertion_point(op)
    if isinstance(callee, ExternFunc):
        _refuse_tir_vars(op, callee.global_symbol, tir_vars)
        return callee.global_symbol, None
    name = callee_name(op, callee)
    target = _symbol(point, name)
    if target is None and tir_vars and is_registered(name):
        _refuse_tir_vars(op, name, tir_vars)
    return name, target


def is_registered(name: str) -> bool:
    """True if a packed function is registered under this name."""
    import tvm_ffi  # it imports torch if installed; tools that only read modules need neither

    return tvm_ffi.get_global_func(name, allow_missing=True) is not None


def _refuse_tir_vars(op: str, name: str, tir_vars: Sequence[DimLike]) -> None:
    if tir_vars:
        raise ArgumentError(f"{op}: the packed function '{name}' takes no tir_vars; give them as arguments")


def _symbol(point: ir.InsertionPoint, name: str) -> func.FuncOp | None:
    """The function `name` of the module under construction, or None."""
    op = point.block.owner.operation
    while op.parent is not None:
        op = op.parent
    for region in op.regions:
        for block in region.blocks:
            for top in block.operations:
                if isinstance(top, func.FuncOp) and top.name.value == name:
                    return top
    return None


@exported()
def call_dps_packed(
    func: str | ExternFunc,
    args: Sequence[Value | StaticArg],
    out: Tensor | Sequence[Tensor] | None = None,
) -> Value:
    """Call the packed function registered as `func` with `args`, then the allocated results, which the function fills.

    `out` is optional if `register_infer` has a rule for `func`.
    """
    func = function_name("call_dps_packed", func)
    operands, spec = arg_spec_of("call_dps_packed", args)
    attributes = {"func": ir.StringAttr.get(func), "arg_spec": spec}
    packed = make_tuple(*operands)
    result = ruled("call_dps_packed", packed, attributes) if out is None else result_info(out)
    if result is None:
        raise ArgumentError(
            f"call_dps_packed: '{func}' has no registered shape rule, so that 'out' must say what it fills"
        )
    return create(CallDpsPackedOp, [packed], attributes, [result])[0]


@exported()
def call_packed(func: str | ExternFunc, *args: Value | StaticArg, out: StructInfo | None = None) -> Value | None:
    """Call the packed function registered as `func`; it may have any effect.

    `out` is the struct info of the result (for instance ``Tensor(ndim=1)``, then `match_shape`). If it is None, the
    rule of `register_infer` for `func` applies; without a rule the result is unused, and this function returns None.
    """
    func = function_name("call_packed", func)
    operands, spec = arg_spec_of("call_packed", args)
    attributes = {"func": ir.StringAttr.get(func), "arg_spec": spec}
    packed = make_tuple(*operands)
    out = ruled("call_packed", packed, attributes) if out is None else out
    result = create(CallPackedOp, [packed], attributes, [Tuple() if out is None else out])[0]
    return None if out is None else result


@exported()
def call_pure_packed(func: str | ExternFunc, *args: Value | StaticArg, out: StructInfo | None = None) -> Value:
    """Call the packed function registered as `func`, which has no effects and allocates its result, `out`.

    `out` is optional if `register_infer` has a rule for `func`.
    """
    func = function_name("call_pure_packed", func)
    operands, spec = arg_spec_of("call_pure_packed", args)
    attributes = {"func": ir.StringAttr.get(func), "arg_spec": spec}
    packed = make_tuple(*operands)
    result = ruled("call_pure_packed", packed, attributes) if out is None else out
    if result is None:
        raise ArgumentError(
            f"call_pure_packed: '{func}' has no registered shape rule, so that 'out' must say what it returns"
        )
    return create(CallPurePackedOp, [packed], attributes, [result])[0]


def call(callee: str, args: Sequence[Value], result: StructInfo) -> Value:
    """Call the Relax function `callee`; `BlockBuilder.call` deduces `result` from its signature."""
    require_insertion_point("call")
    expect("call: 'args'", args, list | tuple | Value, "a list of values, or a tuple")
    attributes = {"callee": ir.FlatSymbolRefAttr.get(callee)}
    return create(CallOp, [make_tuple(*args)], attributes, [result])[0]


def ruled(op: str, packed: Value, attributes: Mapping[str, ir.Attribute]) -> StructInfo | None:
    """The result of the shape rule of a packed function for a call with the tuple `packed`; None without a rule."""
    return deduced(OpArgs(op, ("args",), (packed.struct_info,), attributes))


def result_info(out: Tensor | Sequence[Tensor]) -> StructInfo:
    """Struct info of the result of a destination-passing call: a tensor, or a tuple of tensors."""
    if isinstance(out, Tensor):
        return out
    expect("the parameter 'out' of the call", out, list | tuple, "a Tensor, or a list of Tensors")
    for item in out:
        expect("an entry of the parameter 'out' of the call", item, Tensor, "a Tensor")
    return Tuple(out)


def arg_spec_of(op: str, args: Sequence[Value | StaticArg]) -> tuple[list[Value], ir.ArrayAttr]:
    """Operands of a call of a packed function, and its attribute ``arg_spec`` with the literals."""
    require_insertion_point(op)
    expect(f"{op}: 'args'", args, list | tuple | Value, "a list of values and literals, or a tuple")
    operands: list[Value] = []
    spec: list[ir.Attribute] = []
    for given in args:
        arg = prim_value(given) if isinstance(given, Expr) else given
        if isinstance(arg, Value):
            operands.append(arg)
            spec.append(ir.UnitAttr.get())
        else:
            spec.append(_literal(op, arg))
    return operands, ir.ArrayAttr.get(spec)


def _literal(op: str, arg: StaticArg) -> ir.Attribute:
    if isinstance(arg, bool):
        return ir.BoolAttr.get(arg)
    if isinstance(arg, int):
        if not -(2**63) <= arg < 2**63:
            raise ArgumentError(f"{op}: argument {arg} does not fit int64")
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), arg)
    if isinstance(arg, float):
        return ir.FloatAttr.get(ir.F64Type.get(), arg)
    if isinstance(arg, str):
        return ir.StringAttr.get(arg)
    raise ArgumentError(f"{op}: argument {arg!r} ({type(arg).__name__}) is neither a Relax value nor a literal")


FRESH = -1
"""Entry of `inplace_indices` for a result in new memory."""


class CallTirInplaceOp(
    RelaxOp,
    name="call_tir_inplace",
    traits=[ext.Pure, CallsFunction, HasDestination, KeptAtR1, TakesOwnership],
):
    """Call of a prim func that stores results in the memory of its arguments.

    `inplace_indices` has an entry per result: the index of the argument (a field of the tuple `args`) whose memory the
    result reuses, or -1 for new memory. The callee takes the arguments, then one tensor per result in new memory, then
    an ``index`` per entry of `tir_vars`; with tensor semantics it returns all results, in order.

    Values are immutable: if the old elements of an argument are still needed (it has other uses, or is a parameter or a
    constant), the callee gets a copy.
    """

    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    inplace_indices: ir.ArrayAttr
    tir_vars: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("tir_vars",)

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        dims_from_attr(args.attrs["tir_vars"])
        require_destinations(args.op, results[0])
        outs, fields = destinations(results[0]), args.tuple(0).fields
        indices = args.ints_attr("inplace_indices")
        if len(indices) != len(outs):
            raise ArgumentError(f"{args.op}: {len(indices)} inplace_indices for {len(outs)} results")
        taken = [index for index in indices if index != FRESH]
        if not taken:
            raise ArgumentError(f"{args.op}: no result is in place; that is a call_tir")
        for number, index in enumerate(indices):
            if index == FRESH:
                continue
            if not 0 <= index < len(fields):
                raise ArgumentError(
                    f"{args.op}: result {number} takes argument {index}, but there are {len(fields)} arguments"
                )
            if taken.count(index) > 1:
                raise ArgumentError(f"{args.op}: two results take argument {index}")
            given, out = fields[index], outs[number]
            if not (implies(given, out) and implies(out, given)):
                raise ShapeError(f"{args.op}: result {number} is {out}, but argument {index} is {given}")


def passed_results(op: ir.Operation) -> list[StructInfo]:
    """The results of a `relax.call_tir` or `relax.call_tir_inplace` that are passed to the callee as destinations."""
    outs = list(destinations(struct_info(op.results[0].type)))
    if op.name != CallTirInplaceOp.OPERATION_NAME:
        return outs
    return [out for out, index in zip(outs, inplace_indices(op), strict=True) if index == FRESH]


def inplace_indices(op: ir.Operation) -> list[int]:
    """For each result of a call, the index of the argument whose memory it reuses, or `FRESH`."""
    if op.name != CallTirInplaceOp.OPERATION_NAME:
        return [FRESH] * len(destinations(struct_info(op.results[0].type)))
    return [int(ir.IntegerAttr(item).value) for item in ir.ArrayAttr(op.attributes["inplace_indices"])]


@exported()
def call_tir_inplace(
    callee: Callee,
    args: Sequence[Value],
    inplace_indices: int | Sequence[int],
    out: Tensor | Sequence[Tensor],
    tir_vars: Sequence[DimLike] = (),
) -> Value:
    """Call the prim func `callee` on `args`; its results reuse the memory of arguments.

    `inplace_indices`: for each result, the index of the argument whose memory it reuses, or -1 for new memory. `out`:
    shape and dtype of the result or results; an in-place result has those of its argument. The arguments keep their
    elements for all other uses: elements that are needed later are copied.
    """
    require_insertion_point("call_tir_inplace")
    expect("call_tir_inplace: 'args'", args, list | tuple | Value, "a list of values, or a tuple")
    return inplace_call(callee, make_tuple(*args), inplace_indices, result_info(out), tir_vars)


def inplace_call(
    callee: Callee,
    args: Value,
    inplace_indices: int | Sequence[int],
    result: StructInfo,
    tir_vars: Sequence[DimLike] = (),
) -> Value:
    """`call_tir_inplace` of one tuple of arguments, with the struct info of its result."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(callee_name("call_tir_inplace", callee)),
        "inplace_indices": ints_attr(inplace_indices, "call_tir_inplace: 'inplace_indices'"),
        "tir_vars": tir_vars_attr("call_tir_inplace", tir_vars),
    }
    return create(CallTirInplaceOp, [args], attributes, [result])[0]
