"""MLIR's pass managers, created once per context: creating `canonicalize` collects the patterns of all dialects."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from relax_mlir.mlir import PassManager, ir

_managers: WeakKeyDictionary[ir.Context, dict[tuple[str, bool], PassManager]] = WeakKeyDictionary()


def run_native(pipeline: str, module: ir.Module | ir.Operation, verify: bool = True) -> None:
    """Run a pipeline of MLIR's passes on a module, or on a function in one.

    Args:
        pipeline: its text, including the op that it runs on: ``builtin.module(cse)``.
        module: the module or function.
        verify: verify the IR after each pass.

    Raises ValueError if MLIR rejects the pipeline, `ir.MLIRError` if a pass fails.
    """
    managers = _managers.setdefault(module.context, {})
    manager = managers.get((pipeline, verify))
    if manager is None:
        manager = PassManager.parse(pipeline, module.context)
        manager.enable_verifier(verify)
        managers[pipeline, verify] = manager
    manager.run(module if isinstance(module, ir.Operation) else module.operation)
