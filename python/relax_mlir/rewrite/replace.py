"""`Replacer`: inserts replacements, updates types after them, removes unused ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir import symbolic
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.capi import pointer
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.base import RelaxOp, as_sequence, implies, op_class
from relax_mlir.dialects.calls import CallPackedOp, UpdatedOp
from relax_mlir.dialects.closures import LambdaOp
from relax_mlir.dialects.structure import (
    TUPLE,
    MatchShapeOp,
    is_pure,
    make_tuple,
    match_shape,
    tuple_get_item,
)
from relax_mlir.dialects.symbols import contains_unknown
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.types import Callable, Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, UnknownNameError
from relax_mlir.ir_queries import (
    callee_of,
    defining_op,
    enclosing_function,
    entry_block,
    function_of,
    is_used,
    next_op,
    ops_of,
)
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

# Types after a rewrite: results are deduced again, and values are fitted to fixed types.

Functions = Mapping[str, func.FuncOp]


def deduce(op: ir.Operation, functions: Functions) -> Sequence[StructInfo] | None:
    """Infos of the results of `op` for its current operands; None if its types are fixed.

    Raises the errors of the shape rule if the operands are no longer valid.
    """
    if op.name == TUPLE:
        return [Tuple([struct_info(operand.type) for operand in op.operands])]
    if op.name == "relax.dataflow":
        return [struct_info(entry_block(op).operations[-1].operation.operands[0].type)]
    if op.name == "relax.call":
        return [_deduce_call(op, functions)]
    cls = op_class(op)
    if cls is None:
        return None
    args = cls.args_of(op)
    if cls.infer.__func__ is not RelaxOp.infer.__func__:  # type: ignore[attr-defined]  # classmethods
        return as_sequence(cls.infer(args))
    cls.check(args, [struct_info(result.type) for result in op.results])
    return None


def _deduce_call(op: ir.Operation, functions: Functions) -> StructInfo:
    name = callee_of(op)
    if name not in functions:
        raise UnknownNameError("function", name, functions)
    arguments = struct_info(op.operands[0].type)
    assert isinstance(arguments, Tuple)
    return infer_call(name, functions[name], arguments.fields)


def fit(value: Value, wanted: StructInfo, what: str) -> Value:
    """`value` as a value of the type `wanted`, by a `match_shape` if needed; `what` names the declaration in errors.

    Properties that cannot be proved are checked at run time. Emits at the insertion point.

    Raises:
        ShapeError, DTypeError, ArgumentError: `value` cannot have that type.
    """
    given = value.struct_info
    if given == wanted:
        return value
    if isinstance(given, Tuple) and isinstance(wanted, Tuple) and len(given.fields) == len(wanted.fields):
        fields = [tuple_get_item(value, index) for index in range(len(given.fields))]
        return make_tuple(
            *(fit(f, w, f"{what}, field {i}") for i, (f, w) in enumerate(zip(fields, wanted.fields, strict=True)))
        )
    if isinstance(given, Tensor) and isinstance(wanted, Tensor):
        return _fit_tensor(value, given, wanted, what)
    if isinstance(given, Shape) and isinstance(wanted, Shape) and wanted.values is not None:
        _check_dims(what, given, given.values, wanted, wanted.values)
        return match_shape(value, wanted.values)
    raise ArgumentError(f"{what} is declared as {wanted}, but is {given} after the rewrite")


def _fit_tensor(value: Value, given: Tensor, wanted: Tensor, what: str) -> Value:
    if wanted.dtype != given.dtype and (wanted.dtype is None or given.dtype is not None):
        raise DTypeError(f"{what} is declared as {wanted}, but is {given} after the rewrite; astype it")
    if wanted.shape is None:
        raise ShapeError(
            f"{what} is declared as {wanted}, of unknown rank, but is {given} after the rewrite, and "
            "match_shape cannot forget a rank; give the declaration the rank"
        )
    _check_dims(what, given, given.shape, wanted, wanted.shape)
    return match_shape(value, wanted.shape, None if wanted.dtype is None else wanted.dtype.name)


def _check_dims(
    what: str,
    given: StructInfo,
    have: tuple[Dim | None, ...] | None,
    wanted: StructInfo,
    want: tuple[Dim | None, ...],
) -> None:
    if have is None:
        return
    differ = len(have) != len(want) or any(
        isinstance(h, int) and isinstance(w, int) and symbolic.prove_not_equal(h, w)
        for h, w in zip(have, want, strict=True)
    )
    if differ:
        raise ShapeError(f"{what} is declared as {wanted}, but is {given} after the rewrite")


def better(first: StructInfo, second: StructInfo) -> bool:
    """True if `first` is as precise as `second` or more, and may be used where `second` is declared."""
    return implies(first, second) and (contains_unknown(second) or implies(second, first))


class Replacer:
    """The state of one walk over one function. Ops are erased only at its end, so that views of them stay valid."""

    def __init__(self, functions: Functions, scratch: ir.Operation, scratch_block: ir.Block) -> None:
        self.functions = functions
        self.scratch, self.scratch_block = scratch, scratch_block
        self.count = 0
        self._changed: set[ir.Value] = set()
        """Values whose type has changed for some of their users."""
        self._replaced: set[ir.Value] = set()
        self._unused: list[ir.Operation] = []
        self._removed: dict[int, ir.Operation] = {}
        """Ops without results to be removed, by address: the hash of an op changes with its operands."""
        self._dead: set[ir.Value] | None = None
        """The first results of dead ops; computed on first use, then kept up to date."""

    def emitted(self) -> list[ir.Operation]:
        """The ops in the scratch block."""
        return [view.operation for view in self.scratch_block.operations]

    def place(self, op: ir.Operation, emitted: Sequence[ir.Operation], result: Value | None) -> None:
        """Move `emitted` before `op`, and replace its first result by `result`, if given.

        If the emitted ops use that result themselves, they go after `op`, which is kept.
        """
        last = None if result is None else defining_op(result.ssa)
        location = op.location
        exact = ir.Location.from_attr(location.attr, location.context)
        inner = exact.child_loc if isinstance(exact, ir.NameLoc) else location
        old, new = op.results[0] if len(op.results) else None, None if result is None else result.ssa
        uses = [(use.owner.operation, use.operand_number) for use in old.uses] if old is not None else []
        outer = [(user, number) for user, number in uses if not self._is_scratch(user)]
        wraps = new is not None and len(outer) < len(uses)
        previous = op
        for item in emitted:
            if wraps:
                item.move_after(previous)
                previous = item
            else:
                item.move_before(op)
            item.location = location if last is not None and item == last else inner
            self._unused.append(item)
            self._keep_operands(item)
        if new is not None and new != old:
            self._replace(op, new, outer, wraps)
        for item in reversed(emitted):
            self._bury([item])

    def _replace(self, op: ir.Operation, new: ir.Value, uses: Sequence[tuple[ir.Operation, int]], wraps: bool) -> None:
        old = op.results[0]
        self.count += 1
        for user, number in uses:
            user.operands[number] = new
        self._keep(new)
        if not wraps:
            self._replaced.add(old)
            if op.name == CallPackedOp.OPERATION_NAME:
                self._drop_updates(op)
            self._bury([op])
        self._unused.append(op)
        if new.type != old.type:
            self._announce(new, old.type)

    def exchange(self, op: ir.Operation, index: int, value: ir.Value) -> None:
        """Replace operand `index` of `op` by `value`."""
        old = op.operands[index]
        op.operands[index] = value
        self._keep(value)
        defining = defining_op(old)
        if defining is not None:
            self._unused.append(defining)
            self._bury([defining])
        if value.type != old.type:
            self._announce(value, old.type)

    def remove(self, op: ir.Operation) -> None:
        """Remove an op without results at the end of the walk."""
        self.count += 1
        self._removed[pointer(op)] = op
        self._release(op)

    def _is_scratch(self, op: ir.Operation) -> bool:
        return bool(enclosing_function(op) == self.scratch)

    def _drop_updates(self, call: ir.Operation) -> None:
        """Replace the updated arguments of a removed call by the original ones."""
        following = next_op(call)
        while following is not None and following.name == UpdatedOp.OPERATION_NAME:
            following.results[0].replace_all_uses_with(following.operands[0])
            self._keep(following.operands[0])
            self._replaced.add(following.results[0])
            self._unused.append(following)
            self._bury([following])
            following = next_op(following)

    def _announce(self, value: ir.Value, old_type: ir.Type) -> None:
        """Record that the users of `value` need new types; ops of other dialects get a value of the old type."""
        self._changed.add(value)
        for use in list(value.uses):
            user = use.owner.operation
            if user.name.startswith("relax.") or user.name == TUPLE or has_trait(user, EndsBlock):
                continue
            user.operands[use.operand_number] = self._fitted(value, old_type, user, f"the operand of {user.name}")

    def refresh(self, op: ir.Operation) -> None:
        """Deduce the types of `op` again if the types of its operands have changed."""
        if not any(operand in self._changed for operand in op.operands) or self._is_replaced(op):
            return
        if op.name == "func.return":
            self._return(op)
        elif not has_trait(op, EndsBlock):
            self.refresh_results(op)

    def refresh_results(self, op: ir.Operation) -> None:
        """Set the types of the results of `op` from its operands, or from the terminators of its regions."""
        if op.name == "scf.if":
            infos: Sequence[StructInfo] | None = self._branches(op)
        elif op.name != "relax.dataflow" and len(op.regions):
            self._keep_yields(op)
            return
        else:
            infos = self._deduced(op)
        for result, info in zip(op.results, infos or (), strict=False):
            wanted = info.to_type()
            if wanted != result.type:
                old_type = result.type
                result.set_type(wanted)
                self._announce(result, old_type)

    def _deduced(self, op: ir.Operation) -> Sequence[StructInfo] | None:
        try:
            return deduce(op, self.functions)
        except RelaxError as error:
            error.add_hint(
                f"a rewrite has changed the type of an operand of {op.name.removeprefix('relax.')} "
                f"at {location_text(op.location)}"
            )
            raise

    def _branches(self, op: ir.Operation) -> Sequence[StructInfo]:
        """Infos of a conditional: the common info of the branches, else the declared one, to which they are fitted."""
        yields = [region.blocks[0].operations[-1].operation for region in op.regions if len(region.blocks)]
        infos = []
        for index, result in enumerate(op.results):
            given = [struct_info(end.operands[index].type) for end in yields]
            agreed = given[0] if all(info == given[0] for info in given) else struct_info(result.type)
            for end in yields:
                end.operands[index] = self._fitted(end.operands[index], agreed.to_type(), end, "the result of a branch")
            infos.append(agreed)
        return infos

    def _keep_yields(self, op: ir.Operation) -> None:
        if op.name == LambdaOp.OPERATION_NAME:
            self._keep_result(op)
            return
        # The body of `scf.while` yields the operands of its condition region, which may differ from the results.
        carried = entry_block(op).arguments if op.name == "scf.while" else op.results
        types = [value.type for value in carried]
        for region in op.regions:
            for block in region.blocks:
                end = block.operations[-1].operation
                if end.name != "scf.yield":
                    continue
                for index, type_ in enumerate(types):
                    end.operands[index] = self._fitted(end.operands[index], type_, end, f"what {op.name} carries on")

    def _keep_result(self, op: ir.Operation) -> None:
        """Fit the result of a nested function to its declared type, on which its callers rely."""
        declared, end = struct_info(op.results[0].type), entry_block(op).operations[-1].operation
        assert isinstance(declared, Callable)
        assert declared.result is not None
        if not implies(struct_info(end.operands[0].type), declared.result):
            end.operands[0] = self._fitted(
                end.operands[0], declared.result.to_type(), end, "the result of the function inside"
            )

    def _return(self, op: ir.Operation) -> None:
        function = op.parent.operation.opview
        assert isinstance(function, func.FuncOp)
        results = []
        for index, declared in enumerate(function.type.results):
            value = op.operands[index]
            if not implies(struct_info(value.type), struct_info(declared)):
                what = f"the result of function '{function.name.value}'"
                op.operands[index] = self._fitted(value, declared, op, what)
            results.append(op.operands[index].type)
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(function.type.inputs), results))

    @staticmethod
    def _fitted(value: ir.Value, wanted: ir.Type, user: ir.Operation, what: str) -> ir.Value:
        if value.type == wanted:
            return value
        with ir.InsertionPoint(user):
            fitted = fit(Value(value), struct_info(wanted), what).ssa
        defining = defining_op(fitted)
        if defining is not None:
            defining.location = user.location
        return fitted

    # -- unused ops

    def _is_replaced(self, op: ir.Operation) -> bool:
        return any(result in self._replaced for result in op.results)

    def is_dead(self, op: ir.Operation) -> bool:
        """True if `op` will be removed: it has been replaced, or is pure and used only by dead ops."""
        if not len(op.results):
            return pointer(op) in self._removed
        if self._dead is None:
            self._dead = set()
            for inside in reversed(ops_of(function_of(op))):
                self._bury([inside])
        emitted = self.emitted()
        for item in reversed(emitted):  # ops that the method has emitted so far
            if not self._is_needless(item):
                self._keep_operands(item)
            elif len(item.results):
                self._dead.add(item.results[0])
        return op.results[0] in self._dead

    def _is_needless(self, op: ir.Operation) -> bool:
        """True if `op` is dead, given the known dead ops among its users."""
        if not len(op.results):
            return pointer(op) in self._removed
        if self._is_replaced(op):
            return True
        if has_trait(op, EndsBlock) or not removable(op):
            return False
        return all(self._is_known_dead(use.owner.operation) for result in op.results for use in result.uses)

    def _is_known_dead(self, op: ir.Operation) -> bool:
        if not len(op.results):
            return pointer(op) in self._removed
        return self._dead is not None and op.results[0] in self._dead

    def _bury(self, waiting: list[ir.Operation]) -> None:
        """Record which of the ops `waiting` are dead, and which of their operands' ops become dead."""
        if self._dead is None:
            return
        while waiting:
            op = waiting.pop()
            if not len(op.results) or op.results[0] in self._dead or not self._is_needless(op):
                continue
            self._dead.add(op.results[0])
            waiting += [defining for operand in op.operands if (defining := defining_op(operand)) is not None]

    def _release(self, op: ir.Operation) -> None:
        """Record the ops that become dead when `op`, which has no results, is removed."""
        self._bury([defining for operand in op.operands if (defining := defining_op(operand)) is not None])

    def _keep(self, value: ir.Value) -> None:
        """Record that `value`, which has new uses, is live if one of these is."""
        waiting = [value]
        while waiting and self._dead:
            op = defining_op(waiting.pop())
            if op is None or op.results[0] not in self._dead or self._is_needless(op):
                continue
            self._dead.remove(op.results[0])
            waiting += op.operands

    def _keep_operands(self, op: ir.Operation) -> None:
        if not self._is_known_dead(op):
            for operand in op.operands:
                self._keep(operand)

    def sweep(self) -> None:
        """Erase the ops that replacements have left unused, and the ops that only they used."""
        waiting: list[ir.Value] = [op.results[0] for op in self._unused if len(op.results)]
        gone: set[ir.Value] = set()
        for op in self._removed.values():
            waiting += [operand for operand in op.operands if defining_op(operand) is not None]
            op.erase()
        waiting.reverse()
        while waiting:
            value = waiting.pop()
            if value in gone:
                continue
            op = value.owner.operation
            used = any(is_used(result) for result in op.results)
            if used or not (self._is_replaced(op) or removable(op)):
                continue
            operands = [operand for operand in _operands_inside(op) if defining_op(operand) is not None]
            gone.add(value)
            op.erase()
            waiting += reversed(operands)  # immediately: an enclosing op may be next


def removable(op: ir.Operation) -> bool:
    """True if `op` may be removed when it is unused: it is pure, and neither checks nor defines a symbol."""
    if op.name == "relax.dataflow":
        return all(removable(view.operation) for view in list(entry_block(op).operations)[:-1])
    if op.name == MatchShapeOp.OPERATION_NAME:
        return False
    if op.name == "relax.call":
        return op.parent is not None and op.parent.operation.name == "relax.dataflow"
    return is_pure(op)


def _operands_inside(op: ir.Operation) -> list[ir.Value]:
    """The operands of `op`, including the values from outside that its regions use."""
    found = list(op.operands)
    inside: set[ir.Value] = set()
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                found += _operands_inside(view.operation)
                inside.update(view.operation.results)
    return [value for value in found if value not in inside]
