"""MLIR's own passes as passes of this project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from relax_mlir.cached import cached_property
from relax_mlir.error import ParseError
from relax_mlir.mlir import PassManager, ir
from relax_mlir.spare_context import spare_context
from relax_mlir.transform.config import VERIFY_EACH
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.failure import guarded
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.native_pipeline import run_native
from relax_mlir.transform.native_stderr import captured_stderr
from relax_mlir.transform.pass_base import Pass
from relax_mlir.transform.pipeline_parser import Element, parse_elements
from relax_mlir.transform.registry import unknown_pass
from relax_mlir.transform.sequential import run_sequence
from relax_mlir.transform.upstream_names import PIPELINES

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

    def __init__(
        self, pipeline: str, opt_level: int = 0, name: str = "mlir-pipeline", *, check: bool = True
    ) -> None:
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
        elif element.name in PIPELINES:
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
