"""Sequences of passes, MLIR's own passes, and pipelines from names and text."""

from __future__ import annotations

import os
import re
import tempfile
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import IO, ClassVar
from weakref import WeakKeyDictionary

from relax_mlir.capi import spare_context
from relax_mlir.error import ArgumentError, ParseError, expect
from relax_mlir.fork_safety import Order, cached_property, process_lock
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import PassManager, ir
from relax_mlir.transform import registry
from relax_mlir.transform.context import VERIFY_EACH, PassContext
from relax_mlir.transform.passes import FunctionPass, Pass
from relax_mlir.transform.pipeline_text import Element, create, format_options, parse_elements
from relax_mlir.transform.registry import MLIR_PIPELINES, PassInfo, known_name, pass_names, unknown_pass
from relax_mlir.transform.run import guarded

# `Sequential`: passes one after the other, with TVM's rules on which of them run.
#
# 1. A pass that the context disables is skipped; else one that it requires runs; else one of at most its level.
# 2. Before a pass that runs, in a sequence or by itself, the passes that it requires run, after those that they
#    require. The context and the instruments' ``should_run`` cannot skip them. They do not run again if no pass other
#    than these required ones has run since.


class Sequential(Pass):
    """Runs `passes` in order."""

    def __init__(
        self,
        passes: Iterable[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[str] | None = None,
    ) -> None:
        """Create a sequence; `required` are names of passes that run before it.

        Raises:
            ArgumentError: an argument of another kind.
        """
        expect("Sequential: 'passes'", passes, Iterable | None, "a list of passes")
        if isinstance(passes, str):
            raise ArgumentError(
                f"Sequential: 'passes' is the string {passes!r}, expected a list of passes; "
                "transform.parse_pipeline reads text"
            )
        self.passes = tuple(_checked(index, each) for index, each in enumerate(passes or ()))
        text = ",".join(p.info.text for p in self.passes)
        self._info = PassInfo(name, opt_level, pass_names(f"pass '{name}': 'required'", required), text, composite=True)

    @property
    def info(self) -> PassInfo:
        return self._info

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        run_sequence(self.passes, module, ctx)


class PipelinePass(Pass):
    """A named pipeline: a frozen dataclass whose fields are its options; `passes` may depend on them."""

    name: ClassVar[str]
    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str, ...]] = ()

    @property
    def info(self) -> PassInfo:
        text = self.name + format_options(self)
        return PassInfo(self.name, self.opt_level, self.required, text, composite=True)

    @abstractmethod
    def passes(self) -> Sequence[Pass]:
        """The passes of the pipeline, in order."""

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        run_sequence(self.passes(), module, ctx)


def run_sequence(passes: Sequence[Pass], module: ir.Module, ctx: PassContext) -> None:
    """Run those of `passes` that the context enables, each after the passes that it requires."""
    for each in passes:
        if ctx.pass_enabled(each.info):
            each.apply_(module, ctx)


def _checked(index: int, given: object) -> Pass:
    if isinstance(given, Pass):
        return given
    hint = ""
    if isinstance(given, str):
        hint = f"; write transform.get_pass({given!r})"
    elif isinstance(given, type) and issubclass(given, Pass):
        hint = f"; write {given.__name__}()"
    raise ArgumentError(f"Sequential: pass {index} is {given!r}, expected a Pass{hint}")


# MLIR's pass managers, created once per context: creating `canonicalize` collects the patterns of all dialects.

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


# Capture the output of C++ to file descriptor 2: MLIR reports some option errors only there.

_lock = process_lock(Order.STANDARD_ERROR)


class Captured:
    """The text written so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def text(self) -> str:
        self._file.seek(0)
        return self._file.read().decode(errors="replace").strip()


@contextmanager
def captured_stderr() -> Iterator[Captured]:
    """Redirect descriptor 2 of this process to a file, for the microseconds that a parse takes.

    The descriptor is shared by the whole process: use it in one thread at a time, for short calls only.
    """
    with _lock, tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield Captured(file)
        finally:
            os.dup2(saved, 2)
            os.close(saved)


# MLIR's own passes as passes of this project.

ROOT = "builtin.module"
_UNKNOWN = re.compile(r"'([^']*)' does not refer to a registered pass")
_RESTRICTED = re.compile(r"restricted to '([^']*)' on a PassManager intended to run on '([^']*)'")


@dataclass(frozen=True)
class UpstreamPass(Pass):
    """One pass of MLIR, on the ops that its anchors name (``("func.func",)``: every function)."""

    element: Element
    anchors: tuple[str, ...] = ()
    opt_level: int = 0

    @property
    def text(self) -> str:
        """The textual form of the pass inside its anchors."""
        return "".join(f"{a}(" for a in self.anchors) + str(self.element) + ")" * len(self.anchors)

    @cached_property
    def info(self) -> PassInfo:
        on_functions = "func.func" in self.anchors
        return PassInfo(self.element.name, self.opt_level, (), self.text, on_functions=on_functions)

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        with guarded(module, self.info, ctx, verify=False):
            run_native(f"{ROOT}({self.text})", module, bool(ctx.option(VERIFY_EACH)))


class MLIRPass(Pass):
    """A pass of MLIR, or a whole pipeline of them: ``"cse"``, ``"func.func(canonicalize,cse),symbol-dce"``.

    A pipeline is split into its passes, so that instruments see, and the context can disable, each of them. A pass that
    runs on functions only is put inside ``func.func(...)``, as in ``mlir-opt``. Without `check`, MLIR does not validate
    each pass (see `known_passes`).

    Raises:
        UnknownNameError: a name that MLIR does not know, with near matches.
        ParseError: text or options that MLIR does not accept.
    """

    def __init__(self, pipeline: str, opt_level: int = 0, name: str = "mlir-pipeline", *, check: bool = True) -> None:
        elements = parse_elements(pipeline)
        if len(elements) == 1 and elements[0].name == ROOT and elements[0].children is not None:
            elements = elements[0].children
        self.passes = tuple(upstream_passes(elements, check=check))
        if len(self.passes) == 1:
            self._info = replace(self.passes[0].info, opt_level=opt_level)
        else:
            text = ",".join(p.text for p in self.passes)
            self._info = PassInfo(name, opt_level, (), text, composite=True)

    @property
    def info(self) -> PassInfo:
        return self._info

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        if len(self.passes) == 1:
            self.passes[0].execute(module, ctx)
        else:
            run_sequence(self.passes, module, ctx)


@cache
def known_passes(pipeline: str, opt_level: int = 0, name: str = "mlir-pipeline") -> MLIRPass:
    """Passes of MLIR whose text is known to be valid, such as that of this project's own pipelines.

    Validation by MLIR takes a millisecond per pass. Equal calls return the same object: passes are immutable.
    """
    return MLIRPass(pipeline, opt_level, name, check=False)


def upstream_passes(
    elements: tuple[Element, ...], anchors: tuple[str, ...] = (), check: bool = True
) -> Iterator[UpstreamPass]:
    """The single passes of a pipeline, in execution order, validated if `check`."""
    for element in elements:
        if element.children is not None:
            yield from upstream_passes(element.children, (*anchors, element.name), check)
        elif element.name in MLIR_PIPELINES:
            yield from _expand(element, anchors)
        else:
            yield check_upstream(element, anchors) if check else UpstreamPass(element, anchors)


def check_upstream(element: Element, anchors: tuple[str, ...] = (), implicit: bool = True) -> UpstreamPass:
    """The pass, after MLIR has accepted its name, options and anchors.

    Args:
        element: name and options.
        anchors: the ops that contain it.
        implicit: put a pass that is restricted to another op inside that op's name, if it has no anchor yet.
    """
    result = UpstreamPass(element, anchors)
    message = _parse_problem(f"{ROOT}({result.text})")
    if not message:
        return result
    unknown = _UNKNOWN.search(message)
    if unknown:
        raise unknown_pass(unknown.group(1))
    restricted = _RESTRICTED.search(message)
    if restricted and implicit and not anchors and restricted.group(1) != ROOT:
        return check_upstream(element, (restricted.group(1),), implicit=False)
    if restricted:
        needs, stands = restricted.groups()
        raise ParseError(f"pass '{element.name}' runs on '{needs}' and cannot stand inside '{stands}'")
    raise ParseError(f"pass '{element.name}': {' '.join(message.split())}")


@lru_cache(maxsize=1024)
def _parse_problem(pipeline: str) -> str:
    """MLIR's objection to a pipeline; '' if it accepts it. Some option errors are reported on stderr only."""
    with captured_stderr() as output:
        try:
            PassManager.parse(pipeline, spare_context())
        except (ValueError, ir.MLIRError) as error:
            return f"{output.text()} {error}".strip()
    return ""


def _expand(element: Element, anchors: tuple[str, ...]) -> Iterator[UpstreamPass]:
    """The passes of one of MLIR's named pipelines."""
    if anchors:
        raise ParseError(f"pipeline '{element.name}' runs on the whole module, not inside '{anchors[-1]}'")
    problem = _parse_problem(f"{ROOT}({element})")
    if problem:
        raise ParseError(f"pipeline '{element.name}': {' '.join(problem.split())}")
    text = str(PassManager.parse(f"{ROOT}({element})", spare_context()))
    for inner in parse_elements(text)[0].children or ():
        yield from upstream_passes((inner,))


# From names and text to passes: the only module that knows both this project's passes and MLIR's.

FUNCTION_ANCHORS = ("func.func", "any")


def create_pass(name: str, options: str = "") -> Pass:
    """A pass of this project or of MLIR by name.

    Raises:
        UnknownNameError: an unknown name; lists near matches.
        ParseError: options that the pass does not accept.
    """
    expect("create_pass: 'name'", name, str, "a name")
    if registry.is_known(name):
        result = create(registry.pass_class(name), name, options)
        if isinstance(result, PipelinePass):
            result.passes()  # checks its options now, not when it runs
        return result
    return MLIRPass(str(Element(name, options)))


def get_pass(name: str) -> Pass:
    """A pass by its name (``fuse-ops``), by its class name (``FuseOps``), or one of MLIR's (``cse``).

    Its options have their defaults; `create_pass` accepts other values.

    Raises:
        UnknownNameError: an unknown name; lists near matches.
        ParseError: it has options without default.
    """
    expect("get_pass: 'name'", name, str, "the name of a pass")
    return create_pass(name if registry.is_known(name) or registry.is_upstream(name) else known_name(name))


def parse_pipeline(text: str, name: str = "pipeline") -> Sequential:
    """The passes of a textual pipeline, this project's and MLIR's mixed; every name and option is checked.

    The outermost ``builtin.module(...)`` may be omitted.

    Raises:
        UnknownNameError: a pass or option that does not exist; lists near matches.
        ParseError: text that does not follow the grammar, or values of the wrong type.
    """
    elements = parse_elements(text)
    if len(elements) == 1 and elements[0].name == ROOT and elements[0].children is not None:
        elements = elements[0].children
    return Sequential(passes_of(elements), name=name)


def passes_of(elements: tuple[Element, ...], anchors: tuple[str, ...] = ()) -> Iterator[Pass]:
    """The passes that the elements of a pipeline denote, checked, inside the given anchors."""
    for element in elements:
        if element.children is not None:
            yield from passes_of(element.children, (*anchors, element.name))
        elif registry.is_known(element.name):
            yield _own_pass(element, anchors)
        else:
            yield from upstream_passes((element,), anchors)


def _own_pass(element: Element, anchors: tuple[str, ...]) -> Pass:
    result = create_pass(element.name, element.options)
    if anchors and not (isinstance(result, FunctionPass) and anchors[-1] in FUNCTION_ANCHORS):
        raise ParseError(f"pass '{element.name}' runs on the module and cannot stand inside '{anchors[-1]}'")
    return result


def apply_in_place(mod: IRModule, passes: Pass | Iterable[Pass], ctx: PassContext | None) -> IRModule:
    """Run a pass, or a list of passes as a `Sequential`, on `mod` in place; see `IRModule.apply_`."""
    if not isinstance(passes, Pass):
        passes = Sequential(passes if isinstance(passes, Iterable) else [passes])
    return passes.apply_(mod, ctx)
