"""`lower-checks`: failing functions return a status, and every exit releases acquired resources."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import ClassVar

from relax_mlir.diagnostics import all_places, where
from relax_mlir.dialects.attributes import CHECK, MAY_FAIL, PATTERN, PRIM_FUNC, SAYS_PLACE
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.base.errors import Check, Raisers
from relax_mlir.lowering.base.module_parts import is_support
from relax_mlir.lowering.base.runtime_declarations import DEFER, LEAVE, STATUS_OF
from relax_mlir.lowering.base.signature import ENTRY_PREFIX
from relax_mlir.mlir import arith, cf, func, ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

# The source locations that error exits append to messages of native code.
#
# Ops with equal code share a prim func, and all modules share the support functions, so these cannot name the location
# of an error. The error exit of a call appends it to the message: ``(at file:line:column)`` for prim funcs of ops and
# for support functions, ``(called at …)`` for prim funcs of users, ``(in f)`` for calls made by the entry point of
# ``f``.


def added_place(caller: func.FuncOp, call: ir.OpView, callee: func.FuncOp | None, entry_prefix: str) -> str:
    """The text that the error exit of a call appends to the message; "" if the message already has its location."""
    if callee is None or PRIM_FUNC in caller.attributes or is_support(caller) or SAYS_PLACE in callee.attributes:
        return ""
    if PRIM_FUNC in callee.attributes:
        word = "at" if PATTERN in callee.attributes else "called at"
    elif MAY_FAIL in callee.attributes:
        word = "at"
    else:
        return ""
    name = str(caller.name.value)
    if name.startswith(entry_prefix):
        return f" (in {name.removeprefix(entry_prefix)})"
    known = ", ".join(all_places(call.operation.location))
    return f" ({word} {known})" if known else ""


PROPAGATE = "relax.propagate"
ASSERT = "cf.assert"
OK, FAILED = 0, -1
UNLIKELY = [2000, 1]


def callee(op: ir.OpView) -> str:
    """The name of the function that an operation calls directly, or ""."""
    return str(op.callee.value) if isinstance(op, func.CallOp) else ""


def _leaving(op: ir.OpView) -> str:
    """The callee, or ASSERT, by which control may leave the function at `op`."""
    return ASSERT if isinstance(op, cf.AssertOp) else callee(op)


def _calls(function: func.FuncOp) -> list[ir.OpView]:
    """The calls and asserts in a function."""
    return [op.opview for op in ops_of(function.operation, "func.call", ASSERT)]


class _Failing:
    """The functions of a module that may fail, and the other rewrites that it needs."""

    def __init__(self, table: dict[str, func.FuncOp]) -> None:
        self.table = table
        self.checks = {name for name, op in table.items() if CHECK in op.attributes}
        self.asserts: list[cf.AssertOp] = []
        self.deferring: set[str] = set()
        """Functions with clean-up."""
        self.leaving: set[str] = set()
        """Functions that may leave early without an error."""
        self.asking: set[str] = set()
        """Functions that read the status of a call."""
        self.declared = {name for name, op in table.items() if MAY_FAIL in op.attributes and is_declaration(op)}
        """Functions that another compilation unit defines."""
        status = {name for name, op in table.items() if STATUS_OF in op.attributes}
        self.places: set[str] = set()
        """The locations that error exits of calls append to messages."""
        calls: dict[str, set[str]] = {}
        found_in: dict[str, list[ir.OpView]] = {}
        for name, function in table.items():
            if is_declaration(function):
                continue
            found = found_in[name] = _calls(function)
            calls[name] = set(map(_leaving, found))
            self.asserts += [op for op in found if isinstance(op, cf.AssertOp)]
            if any(DEFER in op.attributes for op in found):
                self.deferring.add(name)
            if LEAVE in calls[name]:
                self.leaving.add(name)
            if calls[name] & status:
                self.asking.add(name)
        self.functions = self.declared | {
            name
            for name, called in calls.items()
            if called & (self.checks | {PROPAGATE, ASSERT})
            or name.startswith(ENTRY_PREFIX)
            or MAY_FAIL in table[name].attributes
        }
        while more := {n for n, called in calls.items() if n not in self.functions and called & self.functions}:
            self.functions |= more
        self.places |= {self.place(table[name], op) for name, found in found_in.items() for op in found} - {""}

    def place(self, caller: func.FuncOp, op: ir.OpView) -> str:
        """The text that the error exit of a call appends to the message, or ""."""
        name = _leaving(op)
        if name not in self.functions:
            return ""
        return added_place(caller, op, self.table.get(name), ENTRY_PREFIX)

    def at(self, op: ir.OpView) -> bool:
        """True if control may leave the function at `op`."""
        name = _leaving(op)
        return name in (PROPAGATE, ASSERT, LEAVE) or name in self.checks or name in self.functions


class LowerChecks(ModulePass):
    """Lower checks, asserts and failing calls to branches to exits that release everything and return -1."""

    name: ClassVar[str] = "lower-checks"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        failing = _Failing(table)
        bodies = [op for op in table.values() if not is_declaration(op)]
        checks = {
            name: (Check.of(op.operation), len(op.type.inputs) - 1)
            for name, op in table.items()
            if name in failing.checks
        }
        asserted = [(_asserted(op), 0) for op in failing.asserts]
        raisers = Raisers([*checks.values(), *asserted], sorted(failing.places), table)
        raisers.fragment.splice(module)
        known = {name: check for name, (check, _) in checks.items()}
        changing = failing.functions | failing.deferring | failing.leaving
        for function in bodies:
            if function.name.value in changing:
                _Exits(function, failing, known, raisers).lower()
        for name in failing.declared:
            _add_status(table[name])
        for name in failing.asking:
            _ask_for_status(table[name], failing, table)
        for name in failing.checks | ({PROPAGATE, LEAVE} & table.keys()):
            table[name].operation.erase()


def _add_status(function: func.FuncOp) -> None:
    """Add the leading i32 status to the results of a function's type."""
    type = ir.FunctionType.get(function.type.inputs, [ir.IntegerType.get_signless(32), *function.type.results])
    function.attributes["function_type"] = ir.TypeAttr.get(type)


def _ask_for_status(function: func.FuncOp, failing: _Failing, table: dict[str, func.FuncOp]) -> None:
    """Replace calls of declarations with `relax.status_of` by calls of the functions that these name."""
    for op in _calls(function):
        declared = table.get(callee(op))
        if declared is None or STATUS_OF not in declared.attributes:
            continue
        name = ir.FlatSymbolRefAttr(declared.attributes[STATUS_OF]).value
        status = ir.IntegerType.get_signless(32)
        with ir.InsertionPoint(op), op.location:
            if name in failing.functions:
                result = func.CallOp([status], name, list(op.operands)).results[0]
            else:
                func.CallOp([], name, list(op.operands))
                result = arith.ConstantOp(status, OK).result
        op.results[0].replace_all_uses_with(result)
        op.operation.erase()


def _asserted(op: cf.AssertOp) -> Check:
    """The check of an assertion, which shows no values; asserts of legalised ops have no location, their callers do."""
    place = where(op.operation)
    head = f"assertion failed at {place}: " if place != "unknown" else ""
    return Check("CheckError", head + op.msg.value, literal=True)


class _Exits:
    """Rewrites one function."""

    def __init__(self, function: func.FuncOp, failing: _Failing, checks: dict[str, Check], raisers: Raisers) -> None:
        self.function, self.failing, self.checks, self.raisers = function, failing, checks, raisers
        self.results = list(function.type.results)
        self.may_fail = function.name.value in failing.functions
        self.status = ir.IntegerType.get_signless(32)
        self.exits: dict[tuple[str, int], ir.Block] = {}
        """The shared exits of calls whose callee raises the error, by the location to append and the clean-up count."""

    def lower(self) -> None:
        deferred: list[ir.OpView] = []
        blocks = []
        for block in self.function.body:
            entries = []
            for op in block.operations:
                if DEFER in op.attributes:
                    deferred.append(op)
                entries.append((op, tuple(deferred)))
            blocks.append((block, entries))
        for block, entries in blocks:
            self.lower_block(block, entries)
        for op in deferred:
            op.operation.erase()
        if self.may_fail:
            _add_status(self.function)

    def lower_block(self, block: ir.Block, entries: Sequence[tuple[ir.OpView, tuple[ir.OpView, ...]]]) -> None:
        """Split a block, from its end, at each op where control may leave; `behind` is the rewritten rest."""
        behind: deque[ir.OpView] = deque()
        for op, active in reversed(entries):
            if isinstance(op, func.ReturnOp):
                behind.extendleft(reversed(self.leave(op, active)))
            elif self.failing.at(op):
                behind = deque(self.branch(op, block, behind, active))
            else:
                behind.appendleft(op)

    def leave(self, op: func.ReturnOp, active: Sequence[ir.OpView]) -> list[ir.OpView]:
        """Rewrite a return without error; return the operations that replace it."""
        with ir.InsertionPoint(op), op.location:
            written = self.clean_up(active, on_error=False)
            if not self.may_fail:
                return [*written, op]
            status = arith.ConstantOp(self.status, OK)
            back = func.ReturnOp([status.result, *op.operands])
        op.operation.erase()
        return [*written, status, back]

    def branch(
        self, op: ir.OpView, block: ir.Block, behind: Iterable[ir.OpView], active: Sequence[ir.OpView]
    ) -> list[ir.OpView]:
        """Branch to the code after `op` on success, otherwise to an exit; return the operations that replace `op`."""
        rest = block.create_after()
        for later in behind:
            rest.append(later)
        with op.location:
            with ir.InsertionPoint(op):
                well, written = self.condition(op)
            exit = self.exit(op, block, active)
            op.operation.erase()
            with ir.InsertionPoint(block):
                written.append(cf.CondBranchOp(well, [], [], rest, exit, branch_weights=UNLIKELY))
        return written

    def exit(self, op: ir.OpView, block: ir.Block, active: Sequence[ir.OpView]) -> ir.Block:
        """The block that control goes to if it leaves at `op` in `block`.

        Calls whose callee raises the error share an exit if the clean-up and the location are the same.
        """
        if callee(op) == LEAVE:
            left = block.create_after()
            with ir.InsertionPoint(left):
                self.leave(func.ReturnOp([]), active)
            return left
        place = self.failing.place(self.function, op)
        raises = isinstance(op, cf.AssertOp) or callee(op) in self.checks
        found = None if raises else self.exits.get((place, len(active)))
        if found is None:
            found = block.create_after()
            with ir.InsertionPoint(found):
                self.fail(op, place, active)
            if not raises:
                self.exits[place, len(active)] = found
        return found

    def fail(self, op: ir.OpView, place: str, active: Sequence[ir.OpView]) -> None:
        """Leave with the error of `op`, with `place` appended to the message."""
        self.raise_error(op)
        if place:
            self.raisers.add_place(place)
        self.clean_up(active, on_error=True)
        status = arith.ConstantOp(self.status, FAILED)
        func.ReturnOp([status.result, *(_nothing(type) for type in self.results)])

    def condition(self, op: ir.OpView) -> tuple[ir.Value, list[ir.OpView]]:
        """Return an i1, true if control continues, and the operations that compute it; replaces failing calls."""
        if isinstance(op, cf.AssertOp) or callee(op) in self.failing.checks:
            return op.operands[0], []
        if callee(op) == LEAVE:
            yes = arith.ConstantOp(ir.IntegerType.get_signless(1), 1)
            stays = arith.XOrIOp(op.operands[0], yes.result)
            return stays.result, [yes, stays]
        written: list[ir.OpView] = []
        if callee(op) == PROPAGATE:
            status = op.operands[0]
        else:
            call = func.CallOp([self.status, *(r.type for r in op.results)], callee(op), list(op.operands))
            written.append(call)
            status = call.results[0]
            for old, new in zip(op.results, list(call.results)[1:], strict=True):
                old.replace_all_uses_with(new)
        ok = arith.ConstantOp(self.status, OK)
        well = arith.CmpIOp(arith.CmpIPredicate.eq, status, ok.result)
        return well.result, [*written, ok, well]

    def raise_error(self, op: ir.OpView) -> None:
        """Set the error of a check or assert; a failing callee has already set its own."""
        if isinstance(op, cf.AssertOp):
            self.raisers.raise_error(_asserted(op), [])
        elif callee(op) in self.checks:
            self.raisers.raise_error(self.checks[callee(op)], list(op.operands)[1:])

    def clean_up(self, active: Sequence[ir.OpView], on_error: bool) -> list[ir.OpView]:
        """Run the deferred calls; return the operations that were emitted."""
        written: list[ir.OpView] = []
        for op in reversed(active):
            when = ir.StringAttr(op.attributes[DEFER]).value
            if when not in ("always", "error"):
                raise CompileError(f'{DEFER} is "always" or "error", not {when!r}: {op}')
            if when == "always" or on_error:
                copy = op.operation.clone(ir.InsertionPoint.current).opview
                del copy.attributes[DEFER]
                written.append(copy)
        return written


def _nothing(type: ir.Type) -> ir.Value:
    """A poison value of `type`, which is never used."""
    return ir.Operation.create("ub.poison", results=[type]).result
