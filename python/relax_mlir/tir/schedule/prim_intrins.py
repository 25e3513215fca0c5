"""`tir.TensorIntrin`: intrinsics that prim funcs describe."""

from __future__ import annotations

from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import func
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.schedule import tensor_intrin
from relax_mlir.te.schedule.intrin_text import only_function
from relax_mlir.te.schedule.tensor_intrin import PrimFunc
from relax_mlir.tir.schedule.lift import lift


class TensorIntrin:
    """Intrinsics for `Schedule.tensorize`, by name; includes those of `te.TensorIntrin`."""

    @staticmethod
    def register(
        name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False
    ) -> tensor_intrin.TensorIntrin:
        """Register an intrinsic.

        Args:
            name: the name for schedules.
            desc: the semantics: a prim func with one loop nest. With a `T.init` it computes a complete reduction; a
                reduction without one combines with the existing values, which the schedule's loops initialize.
            impl: the implementation: a prim func with the same parameters.
            override: replace the intrinsic of this name.

        Raises:
            ArgumentError: the prim funcs do not match, or the name is in use.
            UnsupportedError: `desc` is not a loop nest that fills a buffer.
        """
        what = f"TensorIntrin.register '{name}'"
        expect(f"{what}: 'desc'", desc, IRModule | func.FuncOp, 'a prim func: a module of one, or mod["f"]')
        function = only_function(f"{what}: 'desc'", desc) if isinstance(desc, IRModule) else desc
        with function.context:
            lifted = lift(function, continues=True)
        ops = list(dict.fromkeys(tensor.op for tensor in lifted.blocks.values()))
        if len(ops) != 1:
            raise ArgumentError(f"{what}: 'desc' has {len(ops)} loop nests, and an intrinsic is one")
        (op,) = ops
        assert isinstance(op, ComputeOp)
        parts = (None, None, impl) if lifted.continued else impl
        made = tensor_intrin.declare(what, name, op, lifted.inputs, lambda ins, outs: parts, {})
        return tensor_intrin.TensorIntrin.register(name, made, override)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> tensor_intrin.TensorIntrin | None:
        """The intrinsic `name`. Raises UnknownNameError if there is none; returns None with `allow_missing`."""
        try:
            return tensor_intrin.TensorIntrin.get(name)
        except UnknownNameError:
            if allow_missing:
                return None
            raise
