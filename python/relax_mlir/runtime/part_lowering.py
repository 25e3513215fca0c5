"""Lower compilation units from level V or F to level L without the GIL, so that threads lower in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir.capi import PassPipeline, parse_module
from relax_mlir.error import CompileError
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.lowering.base.module_parts import FunctionCpu, Part
from relax_mlir.lowering.llvm.to_llvm import kernels_to_flat, support_to_flat, to_llvm_dialect
from relax_mlir.mlir import ir, llvm
from relax_mlir.mlir_text import symbol_name
from relax_mlir.spare_context import spare_context
from relax_mlir.transform import MLIRPass, ModulePass, PassContext

BODY = "__body."
"""Name prefix of functions that are exported by an alias (see `_hide_behind_aliases`); no other name begins so."""

_Steps: TypeAlias = list[PassPipeline | ModulePass]
"""Pipelines of MLIR passes, alternating with Python passes."""


@dataclass(frozen=True)
class _Kind:
    """The properties of units that determine their pipelines: level F or L, else V; their contents (see `Part`)."""

    is_flat: bool = False
    has_checks: bool = False
    is_hot: bool = False
    all_vectors: bool = False
    has_math: bool = False
    low_precision: bool = False


_free: dict[_Kind, list[_Steps]] = {}
"""Pipelines that are not in use."""
_lock = process_lock(Order.MADE_STEPS)


def is_ready() -> bool:
    """True if this process has pipelines for any unit."""
    return bool(_free)


def prepare() -> None:
    """Create the pipelines for kernels, which are the first units of most modules."""
    with _steps(_Kind()):
        pass


def lowered_part(part: Part, low_precision: bool, cpu: FunctionCpu | None = None) -> ir.Module:
    """Lower a unit to level L in the spare context.

    Args:
        part: a unit of level V, F or L.
        low_precision: True if f16 or bf16 may occur in it.
        cpu: the CPU to compile for, if it is not the host's.

    Raises CompileError if a pass fails (MLIR's message is on stderr), or an op of another dialect is left over.
    """
    module = parse_module(part.source, spare_context())
    is_hot = part.has_checks and part.optimised
    kind = _Kind(part.is_flat, part.has_checks, is_hot, part.all_vectors, part.has_math, low_precision)
    with _steps(kind) as steps:
        for step in steps:
            if isinstance(step, PassPipeline):
                _run(step, module)
            else:
                with module.context, ir.Location.unknown():
                    step.run(module, PassContext())
    if part.group is None:  # shared kernels come from generators that emit only LLVM ops
        _require_llvm(module)
    _hide_behind_aliases(module, part.exported, part.used_within)
    if cpu is not None:
        _compile_for(cpu, module)
    return module


def _compile_for(cpu: FunctionCpu, module: ir.Module) -> None:
    """Set the target CPU of the functions of a module of level L, if it is not the host's."""
    with module.context, ir.Location.unknown():
        words = (("target-cpu", cpu.name), ("target-features", cpu.features))
        pairs = [ir.ArrayAttr.get([*map(ir.StringAttr.get, pair)]) for pair in words]
        for op in module.body.operations:
            if isinstance(op, llvm.LLVMFuncOp) and op.regions[0].blocks:
                given = list(op.attributes["passthrough"]) if "passthrough" in op.attributes else []
                op.attributes["passthrough"] = ir.ArrayAttr.get([*given, *pairs])


def _new_steps(kind: _Kind) -> _Steps:
    """Create pipelines; this loads the dialects that they need, which is not thread-safe."""
    to_flat = support_to_flat(kind.is_hot) if kind.has_checks else kernels_to_flat()
    first = [] if kind.is_flat else to_flat
    steps: _Steps = []
    texts: list[str] = []
    for step in [*first, *to_llvm_dialect(kind.low_precision, kind.all_vectors, kind.has_math)]:
        if isinstance(step, MLIRPass):
            texts += [each.text for each in step.passes]
            continue
        assert isinstance(step, ModulePass)
        steps += [PassPipeline(",".join(texts), spare_context()), step]
        texts = []
    return [*steps, PassPipeline(",".join(texts), spare_context())]


@contextmanager
def _steps(kind: _Kind) -> Iterator[_Steps]:
    """Borrow pipelines for one thread: creating them takes as long as running them on a small unit."""
    with _lock:
        free = _free.setdefault(kind, [])
        steps = free.pop() if free else _new_steps(kind)
    yield steps
    with _lock:
        free.append(steps)


def _run(passes: PassPipeline, module: ir.Module) -> None:
    if not passes.run(module):
        raise CompileError(
            "a part of the module cannot be lowered to the LLVM dialect (MLIR's message is on stderr)"
        )


def _require_llvm(module: ir.Module) -> None:
    """Raise CompileError for ops of other dialects, which may crash the translation to LLVM IR."""
    names: set[str] = set()
    add, go_on = names.add, ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        add(op.name)
        return go_on

    module.operation.walk(visit)
    left = sorted(name for name in names if not name.startswith("llvm.") and name != "builtin.module")
    if left:
        raise CompileError(
            f"a part of the module cannot be lowered to the LLVM dialect: {', '.join(left)} is left over"
        )


def _hide_behind_aliases(module: ir.Module, exported: Sequence[str], used: Sequence[str]) -> None:
    """Make a unit's functions internal and export aliases of them; calls of `used` within the unit stay direct.

    The execution engine adds a wrapper `_mlir_f(void**)` for every function f that is not internal. The wrappers are
    unused, and each takes LLVM a third of a millisecond.
    """
    functions = {symbol_name(op): op for op in module.body.operations}
    with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
        internal, external = (
            ir.Attribute.parse(f"#llvm.linkage<{kind}>") for kind in ("internal", "external")
        )
        # LLVM infers the type of an alias from the function.
        type_, pointer = ir.Type.parse("!llvm.func<void ()>"), ir.Type.parse("!llvm.ptr")
        for name in exported:
            op, body = functions[name], BODY + name
            if name in used:
                ir.SymbolTable.replace_all_symbol_uses(name, body, module.operation)
            op.attributes["sym_name"] = ir.StringAttr.get(body)
            op.attributes["linkage"] = internal
            alias = llvm.AliasOp(type_, name, external)
            with ir.InsertionPoint(alias.regions[0].blocks.append()):
                llvm.ReturnOp(arg=llvm.AddressOfOp(pointer, body).result)
