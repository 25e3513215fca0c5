"""The kinds of pass that are written in Python, and the decorators that create them from plain functions.

A pass with options is a frozen dataclass. Its fields are its options, and its docstring is its help::

    @dataclass(frozen=True)
    class FuseOps(ModulePass):
        \"\"\"Group ops into kernels.\"\"\"

        name: ClassVar[str] = "fuse-ops"
        max_depth: int = 4

        def run(self, module: ir.Module, ctx: PassContext) -> None: ...
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from relax_mlir.cached import cached_property
from relax_mlir.dialects.attributes import PRIM_ATTRS, PRIM_FUNC, SKIP_OPTIMIZATION
from relax_mlir.dialects.bounds import read_bounds
from relax_mlir.error import PassError
from relax_mlir.mlir import func, ir
from relax_mlir.module_functions import functions_of
from relax_mlir.symbolic import assuming
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.failure import guarded
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.options import check_options, format_options
from relax_mlir.transform.pass_base import Pass

DATAFLOW = "relax.dataflow"


class PythonPass(Pass):
    """A pass written in Python. Subclasses set `name`, and override `opt_level` and `required` if needed."""

    name: ClassVar[str]
    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str, ...]] = ()
    always_verified: ClassVar[bool] = False
    """True if the module is verified after the pass even when the context disables verification."""
    on_functions: ClassVar[bool] = False
    """True if the pass runs on one function at a time."""

    @cached_property
    def info(self) -> PassInfo:
        check_options(self)
        text = self.name + format_options(self)
        return PassInfo(self.name, self.opt_level, self.required, text, on_functions=self.on_functions)

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        with (
            guarded(module, self.info, ctx, self.always_verified or None),
            module.context,
            ir.Location.unknown(module.context),
        ):
            self.transform(module, ctx)

    @abstractmethod
    def transform(self, module: ir.Module, ctx: PassContext) -> None:
        """Transform `module`, whose context is current."""


class ModulePass(PythonPass):
    """A pass on the whole module: functions may be added, removed and replaced."""

    def transform(self, module: ir.Module, ctx: PassContext) -> None:
        self.run(module, ctx)

    @abstractmethod
    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Transform `module` in place."""


class FunctionPass(PythonPass):
    """A pass on each Relax function except those marked ``SkipOptimization``. It must not add or delete functions."""

    on_functions: ClassVar[bool] = True
    lowers: ClassVar[bool] = False
    """True for a step of the lowering, which also runs on functions marked ``SkipOptimization``."""

    def functions(self, module: ir.Module) -> list[func.FuncOp]:
        """The functions that the pass runs on."""
        return relax_functions(module) if self.lowers else optimized_functions(module)

    def transform(self, module: ir.Module, ctx: PassContext) -> None:
        before = _names(module)
        for function in self.functions(module):
            with assuming(read_bounds(function)):
                self.run_on_function(function, module, ctx)
        self._require_same(before, _names(module))

    def _require_same(self, before: set[str], after: set[str]) -> None:
        changes = [
            f"{what} {', '.join(repr(name) for name in sorted(names))}"
            for what, names in (("added", after - before), ("deleted", before - after))
            if names
        ]
        if changes:
            raise PassError(
                self.name,
                f"a pass on functions must not add or delete any, but it {' and '.join(changes)}; "
                "a module pass may",
            )

    @abstractmethod
    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        """Transform one function in place."""


class PrimFuncPass(FunctionPass):
    """A pass on each prim func except those marked ``SkipOptimization``. It must not add or delete functions."""

    def functions(self, module: ir.Module) -> list[func.FuncOp]:
        return [
            function for function in prim_funcs(module) if self.lowers or not skips_optimization(function)
        ]


class DataflowBlockPass(PythonPass):
    """A pass on each dataflow block of each Relax function except those marked ``SkipOptimization``.

    It must not change anything outside its block.
    """

    on_functions: ClassVar[bool] = True

    def transform(self, module: ir.Module, ctx: PassContext) -> None:
        for function in optimized_functions(module):
            with assuming(read_bounds(function)):
                for block in dataflow_blocks(function):
                    self.run_on_block(block, module, ctx)

    @abstractmethod
    def run_on_block(self, block: ir.Operation, module: ir.Module, ctx: PassContext) -> None:
        """Transform one ``relax.dataflow`` op in place."""


def relax_functions(module: ir.Module) -> list[func.FuncOp]:
    """The Relax functions of a module: those with a body that are not prim funcs."""
    return [op for op in functions_of(module) if PRIM_FUNC not in op.attributes and not op.is_external]


def optimized_functions(module: ir.Module) -> list[func.FuncOp]:
    """The Relax functions that optimisations may change: those that are not marked ``SkipOptimization``."""
    return [function for function in relax_functions(module) if not skips_optimization(function)]


def prim_funcs(module: ir.Module) -> list[func.FuncOp]:
    """The prim funcs of a module that have a body."""
    return [op for op in functions_of(module) if PRIM_FUNC in op.attributes and not op.is_external]


def skips_optimization(function: func.FuncOp) -> bool:
    """True if ``R.func_attr`` or ``T.func_attr`` sets ``SkipOptimization`` to a value other than 0."""
    of_user: ir.DictAttr | ir.OpAttributeMap = function.attributes
    if PRIM_ATTRS in function.attributes:
        of_user = ir.DictAttr(function.attributes[PRIM_ATTRS])
    return SKIP_OPTIMIZATION in of_user and getattr(of_user[SKIP_OPTIMIZATION], "value", 1) != 0


def _names(module: ir.Module) -> set[str]:
    return {op.name.value for op in functions_of(module)}


def dataflow_blocks(function: func.FuncOp) -> list[ir.Operation]:
    """The ``relax.dataflow`` ops of a function, in order, including those inside branches."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == DATAFLOW:
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
