"""The classes of passes that are written in Python, and the decorators that create them from plain functions.

A pass with options is a frozen dataclass. Its fields are its options, and its docstring is its help::

    @dataclass(frozen=True)
    class FuseOps(ModulePass):
        '''Group ops into kernels.'''

        name: ClassVar[str] = "fuse-ops"
        max_depth: int = 4

        def run(self, module: ir.Module, ctx: PassContext) -> None: ..."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from relax_mlir.capi import changed
from relax_mlir.dialects.attributes import PRIM_ATTRS, SKIP_OPTIMIZATION
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.error import ArgumentError, PassError, RelaxError, expect
from relax_mlir.fork_safety import cached_property
from relax_mlir.ir_module import (
    IRModule,
    as_function,
    functions_of,
    kept,
    prim_funcs,
    put,
    relax_functions,
    remove,
)
from relax_mlir.mlir import func, ir
from relax_mlir.module_file import attribute_in, copied
from relax_mlir.symbolic import assuming
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.pipeline_text import check_options, format_options
from relax_mlir.transform.registry import PassInfo, level, pass_names, remember
from relax_mlir.transform.run import Run, current_module, guarded, run_in_place, run_on_copy

if TYPE_CHECKING:
    from relax_mlir.transform.registry import PassInfo


# The passes that a pass requires, in the order in which they run before it.


def required_passes(info: PassInfo) -> list[Pass]:
    """The passes that must run before, each after the passes that it requires.

    Raises:
        UnknownNameError: a required name that is not registered.
        RelaxError: passes that require one another.
    """
    order: dict[str, Pass] = {}
    _collect(info, (info.name,), order)
    return list(order.values())


def _collect(info: PassInfo, path: tuple[str, ...], order: dict[str, Pass]) -> None:
    from relax_mlir.transform.pipeline import get_pass

    for name in info.required:
        if name in path:
            raise RelaxError(f"passes require each other: {' -> '.join((*path, name))}")
        if name in order:
            continue
        needed = get_pass(name)
        _collect(needed.info, (*path, name), order)
        order[name] = needed


# `Pass`: the interface of every pass, and how a pass is run.

ModuleT = TypeVar("ModuleT", IRModule, ir.Module)


class Pass(ABC):
    """A transformation of a module.

    Calling a pass returns a new module and leaves the argument unchanged; `apply_` changes a module in place. Both run
    the pass under the current context and call its instruments.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if isinstance(name := cls.__dict__.get("name"), str):
            remember(name)

    @property
    @abstractmethod
    def info(self) -> PassInfo:
        """Name, level, required passes, textual form."""

    @abstractmethod
    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        """Transform `module` in place, without calling instruments."""

    def __call__(self, module: ModuleT, ctx: PassContext | None = None) -> ModuleT:
        """Return the transformed `module`, an `IRModule` or the MLIR module in one.

        The result is a new module in the same context, which shares the weights, even if the pass changes nothing or an
        instrument skips it. The argument is unchanged, also when the pass fails, and references to its ops and values
        stay valid. Instruments get the new module.

        Args:
            module: the module, valid IR.
            ctx: the context, by default the current one of this thread.

        Raises:
            VerifyError: the module is invalid before the outermost pass.
            PassError: the pass failed, or left an invalid module.
            RelaxError: an error of the pass itself, with the pass's name added.
        """
        mod, ctx = self._checked(module), PassContext.current() if ctx is None else ctx
        with run_on_copy(mod, ctx, self.info.text) as run:
            self._run(run, ctx)
        return run.mod if isinstance(module, IRModule) else run.mod.mlir

    def apply_(self, module: ModuleT, ctx: PassContext | None = None) -> ModuleT:
        """Run on `module` in place and return it; arguments and errors are those of a call.

        If the pass fails, the module is restored to its state before the outermost pass; the caller's references to its
        ops are then stale.
        """
        mod, ctx = self._checked(module), PassContext.current() if ctx is None else ctx
        with run_in_place(mod, ctx, self.info.text) as run:
            self._run(run, ctx)
        return module

    def _checked(self, module: IRModule | ir.Module) -> IRModule:
        expect(f"pass '{self.info.name}': the module", module, IRModule | ir.Module, "an IRModule")
        return module if isinstance(module, IRModule) else IRModule(module)

    def _run(self, run: Run, ctx: PassContext, ask: bool = True) -> None:
        """Run on the module of `run`; `ask` is false for a pass that another pass requires."""
        info = self.info
        if ask:
            self._run_required(run, ctx)
        if not ctx.before_pass(run.mod, info, ask):
            return
        try:
            self.execute(run.mod.mlir, ctx)
        finally:
            changed(run.mod.operation)
        if not info.composite:
            run.history.append(info.name)
        ctx.after_pass(run.mod, info)

    def _run_required(self, run: Run, ctx: PassContext) -> None:
        needed = required_passes(self.info)
        fresh = run.just_run(frozenset(other.info.name for other in needed))
        for other in needed:
            if other.info.name not in fresh:
                other._run(run, ctx, ask=False)


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
                f"a pass on functions must not add or delete any, but it {' and '.join(changes)}; a module pass may",
            )

    @abstractmethod
    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        """Transform one function in place."""


class PrimFuncPass(FunctionPass):
    """A pass on each prim func except those marked ``SkipOptimization``. It must not add or delete functions."""

    def functions(self, module: ir.Module) -> list[func.FuncOp]:
        return [function for function in prim_funcs(module) if self.lowers or not skips_optimization(function)]


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


def optimized_functions(module: ir.Module) -> list[func.FuncOp]:
    """The Relax functions that optimisations may change: those that are not marked ``SkipOptimization``."""
    return [function for function in relax_functions(module) if not skips_optimization(function)]


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


# Store the results of users' passes in their modules; see `relax_mlir.transform.passes`.

VISIBILITY = "sym_visibility"


def works_in_place(function: Callable[..., Any]) -> bool:
    """True if a function is annotated ``-> None``: it changes its argument in place."""
    return getattr(function, "__annotations__", {}).get("return", ...) in (None, "None")


def take_module(what: str, mod: IRModule, result: object, in_place: bool) -> None:
    """Replace the contents of `mod` by those of the module `result`, which may be `mod` itself.

    Raises:
        ArgumentError: `result` is no module; begins with `what`, the pass.
    """
    if result is None and in_place:
        return
    if isinstance(result, ir.Module):
        result = IRModule(result)
    if not isinstance(result, IRModule):
        raise ArgumentError(_fault(what, result, "an IRModule: the one that it was given, or a new one"))
    if result.mlir == mod.mlir:
        return
    new = [copied(op.operation, mod.context) for op in result.body.operations]
    for old in list(mod.body.operations):
        remove(mod.mlir, old)
    with mod.context, ir.Location.unknown():
        for op in new:
            mod.body.append(op)
        attributes = mod.operation.attributes
        for name in list(attributes):
            del attributes[name]
        for name in list(result.operation.attributes):
            attributes[name] = attribute_in(result.operation.attributes[name], mod.context)


def take_function(what: str, mod: IRModule, function: func.FuncOp, result: object, in_place: bool) -> None:
    """Replace `function` by the function `result`, which may be `function` itself; name and visibility stay.

    Raises:
        ArgumentError: `result` is no function; begins with `what`, the pass.
    """
    if result is None and in_place:
        return
    name = function.name.value
    if not isinstance(result, func.FuncOp | IRModule):
        raise ArgumentError(_fault(what, result, f"a function: '{name}', or a new one in its place"))
    new = as_function(f"{what} returned a wrong value", result)
    if new.operation == function.operation:
        return
    public = VISIBILITY not in function.attributes
    visibility = None if public else function.attributes[VISIBILITY]
    made = put(mod.mlir, name, new)
    if visibility is not None:
        made.attributes[VISIBILITY] = visibility
    elif VISIBILITY in made.attributes:
        del made.attributes[VISIBILITY]


def take_block(what: str, block: ir.Operation, result: object, in_place: bool) -> None:
    """Check that `result` is the dataflow block itself, which is changed in place.

    Raises:
        ArgumentError: it is something else; begins with `what`, the pass.
    """
    if not (result is None and in_place) and result is not block:
        raise ArgumentError(_fault(what, result, "the block that it was given, changed in place"))


def _fault(what: str, result: object, expected: str) -> str:
    if result is None:
        return (
            f"{what} returned None, expected {expected}. A function that changes what it is given, in place, and "
            "returns nothing says so: '-> None'"
        )
    return f"{what} returned {type(result).__name__}, expected {expected}"


# `module_pass`, `function_pass`, `prim_func_pass`, `dataflowblock_pass`: passes of plain functions and plain classes.
#
# A decorated function becomes a pass; a decorated class with ``transform_module`` (``transform_function``,
# ``transform_dataflowblock``) becomes a pass class. Functions take ``(mod, ctx)``, or ``(function, mod, ctx)`` and
# ``(block, mod, ctx)``, where `mod` is an `IRModule`. They return a module (a function): either their argument, changed
# in place, or a new one, whose contents replace the old ones. A function that only works in place may be annotated
# ``-> None`` and return nothing::
#
#     @module_pass(opt_level=2)
#     def transform(mod, ctx):
#         new = rx.IRModule({"abs": f})
#         new.update(mod)
#         return new


def module_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `ModulePass` from ``f(mod, ctx)`` or from a class with ``transform_module``."""
    return _decorate(target, ModulePass, opt_level, name, required)


def function_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `FunctionPass` from ``f(function, mod, ctx)`` or from a class with ``transform_function``."""
    return _decorate(target, FunctionPass, opt_level, name, required)


def prim_func_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `PrimFuncPass` from ``f(function, mod, ctx)`` or from a class with ``transform_function``."""
    return _decorate(target, PrimFuncPass, opt_level, name, required)


def dataflowblock_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `DataflowBlockPass` from ``f(block, mod, ctx)`` or from a class with ``transform_dataflowblock``."""
    return _decorate(target, DataflowBlockPass, opt_level, name, required)


def _decorate(
    target: Any,  # noqa: ANN401 - a function or a class
    base: type,
    opt_level: int,
    name: str | None,
    required: Iterable[str] | None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    method, user_method, adapt = _METHODS[base]

    def make(target: Any) -> Any:  # noqa: ANN401 - a function or a class
        if not callable(target):
            raise ArgumentError(f"a pass is made of a function or a class, not of {target!r}")
        expect("a pass: 'name'", name, str | None, "a string")
        called = name or target.__name__
        settings = {
            "name": called,
            "opt_level": level(f"pass '{called}': 'opt_level'", opt_level),
            "required": pass_names(f"pass '{called}': 'required'", required),
            "__doc__": target.__doc__,
            "__module__": target.__module__,
        }
        if not inspect.isclass(target):
            work = adapt(lambda _, *arguments: target(*arguments), works_in_place(target))
            return type(target.__name__, (base,), {**settings, method: work})()
        if not hasattr(target, user_method):
            raise ArgumentError(f"class {target.__name__} has no method {user_method}")
        of_user = getattr(target, user_method)
        return type(target.__name__, (target, base), {**settings, method: adapt(of_user, works_in_place(of_user))})

    return make if target is None else make(target)


def _on_module(function: Callable[..., Any], in_place: bool) -> Callable[..., None]:
    def run(self: ModulePass, module: ir.Module, ctx: PassContext) -> None:
        mod = current_module(module)
        take_module(f"pass '{self.name}'", mod, function(self, mod, ctx), in_place)

    return run


def _on_function(function: Callable[..., Any], in_place: bool) -> Callable[..., None]:
    def run(self: FunctionPass, target: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        mod = current_module(module)
        result = function(self, kept(module, target), mod, ctx)
        take_function(f"pass '{self.name}'", mod, target, result, in_place)

    return run


def _on_block(function: Callable[..., Any], in_place: bool) -> Callable[..., None]:
    def run(self: DataflowBlockPass, block: ir.Operation, module: ir.Module, ctx: PassContext) -> None:
        take_block(f"pass '{self.name}'", block, function(self, block, current_module(module), ctx), in_place)

    return run


_METHODS: dict[Any, tuple[str, str, Callable[[Callable[..., Any], bool], Callable[..., None]]]] = {
    ModulePass: ("run", "transform_module", _on_module),
    FunctionPass: ("run_on_function", "transform_function", _on_function),
    PrimFuncPass: ("run_on_function", "transform_function", _on_function),
    DataflowBlockPass: ("run_on_block", "transform_dataflowblock", _on_block),
}
"""The method of each kind of pass, the one that users' classes define, and the adapter of functions."""
