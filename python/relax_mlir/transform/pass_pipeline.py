"""From names and text to passes: the only module that knows both this project's passes and MLIR's."""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir.error import ParseError, expect
from relax_mlir.transform import registry
from relax_mlir.transform.info import known_name
from relax_mlir.transform.options import create
from relax_mlir.transform.pass_base import Pass
from relax_mlir.transform.passes import FunctionPass
from relax_mlir.transform.pipeline_parser import Element, parse_elements
from relax_mlir.transform.sequential import PipelinePass, Sequential
from relax_mlir.transform.upstream import ROOT, MLIRPass, upstream_passes

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
