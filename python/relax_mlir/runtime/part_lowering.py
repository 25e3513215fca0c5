"""Parts of a module go from level V or F to level L without the GIL, so that several threads lower at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TypeAlias

from relax_mlir.capi import PassPipeline, parse_module
from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.text import symbol_name
from relax_mlir.lowering.bfloat16_bits import BFloat16Bits
from relax_mlir.lowering.llvm import kernels_to_flat, to_llvm_dialect
from relax_mlir.lowering.module_parts import Part
from relax_mlir.mlir import ir, llvm
from relax_mlir.spare_context import spare_context
from relax_mlir.transform import MLIRPass, Pass, PassContext

BODY = "__body."
"""Before the name of a function whose own name is an alias of it (see `_hide_behind_aliases`); no other begins so."""

_Managers: TypeAlias = tuple[PassPipeline, PassPipeline]
"""For the passes before and after `BFloat16Bits`."""

_free: dict[tuple[bool, bool], list[_Managers]] = {}
"""Pass managers that nobody uses, for the values of `is_flat` and `all_vectors` of parts."""
_lock = Lock()


def lowered_part(part: Part, half_floats: bool) -> ir.Module:
    """A part as a module of level L in the spare context.

    Args:
        part: of level V, F or L.
        half_floats: whether f16 or bf16 may occur in it.

    Raises CompileError if a pass fails (MLIR's message is on stderr), or an op is left over that is not LLVM's.
    """
    module = parse_module(part.source, spare_context())
    with _managers(part) as (before, after):
        _run(before, module)
        if half_floats:
            with module.context, ir.Location.unknown():
                BFloat16Bits().run(module, PassContext())
        _run(after, module)
    if part.group is None:  # the generators of kernels that modules share write nothing else
        _require_llvm(module)
    _hide_behind_aliases(module, part.exported)
    return module


def _new_managers(is_flat: bool, all_vectors: bool) -> _Managers:
    """Pass managers that have run: they load the dialects that they need, which threads must not do at a time."""
    steps = to_llvm_dialect(all_vectors=all_vectors)
    bits = next(number for number, step in enumerate(steps) if isinstance(step, BFloat16Bits))
    first = [] if is_flat else kernels_to_flat()
    return _new_manager([*first, *steps[:bits]]), _new_manager(steps[bits + 1 :])


def _new_manager(steps: Sequence[Pass]) -> PassPipeline:
    assert all(isinstance(step, MLIRPass) for step in steps)
    texts = [each.text for step in steps if isinstance(step, MLIRPass) for each in step.passes]
    return PassPipeline(",".join(texts), spare_context())


@contextmanager
def _managers(part: Part) -> Iterator[_Managers]:
    """Pass managers for one thread: to make them takes as long as to run them on a small part."""
    kind = part.is_flat, part.all_vectors
    with _lock:
        free = _free.setdefault(kind, [])
        managers = free.pop() if free else _new_managers(*kind)
    yield managers
    with _lock:
        free.append(managers)


def _run(passes: PassPipeline, module: ir.Module) -> None:
    if not passes.run(module):
        raise CompileError(
            "a part of the module cannot be lowered to the LLVM dialect (MLIR's message is on stderr)"
        )


def _require_llvm(module: ir.Module) -> None:
    """Raise CompileError for ops that are not LLVM's: those may crash the translation to LLVM IR."""
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.add(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    left = sorted(name for name in names if not name.startswith("llvm.") and name != "builtin.module")
    if left:
        raise CompileError(
            f"a part of the module cannot be lowered to the LLVM dialect: {', '.join(left)} is left over"
        )


def _hide_behind_aliases(module: ir.Module, exported: Sequence[str]) -> None:
    """Let other parts call the private functions of a part by aliases.

    The execution engine makes a function `_mlir_f(void**)` of every function f that is not internal, which only entry
    points need: it would be a tenth of all code.
    """
    functions = {symbol_name(op): op for op in module.body.operations}
    with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
        for name in exported:
            op = functions[name]
            if "sym_visibility" not in op.attributes:
                continue
            ir.SymbolTable.replace_all_symbol_uses(name, BODY + name, module.operation)
            op.attributes["sym_name"] = ir.StringAttr.get(BODY + name)
            op.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
            _make_alias(name)


def _make_alias(name: str) -> None:
    """The name of a function that is called so, behind `BODY`; LLVM takes the type from the function."""
    linkage = ir.Attribute.parse("#llvm.linkage<external>")
    alias = llvm.AliasOp(ir.Type.parse("!llvm.func<void ()>"), name, linkage)
    with ir.InsertionPoint(alias.regions[0].blocks.append()):
        llvm.ReturnOp(arg=llvm.AddressOfOp(ir.Type.parse("!llvm.ptr"), BODY + name).result)
