"""Visitors, mutators and functions rebuilt from their parts, on all programs in the tests."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import relax_mlir as rx
from fuzz_corpus import relax_modules
from relax_mlir.analysis import assert_structural_equal, find_difference
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.error import RelaxError
from relax_mlir.expr import Call
from relax_mlir.expr_functor import PyExprMutator, PyExprVisitor
from relax_mlir.ir_queries import ops_of

pytestmark = pytest.mark.slow  # each kind of visitor and mutator also has separate tests


class Counting(PyExprVisitor):
    """Counts through methods with the older names."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def visit_function(self, function: Any) -> None:
        self.found["function"] += isinstance(function, rx.Function)
        self.found["lambda"] += isinstance(function, rx.LocalFunction)
        super().visit_function(function)

    def visit_binding_block(self, block: rx.BindingBlock) -> None:
        self.found["dataflow"] += isinstance(block, rx.DataflowBlock)
        super().visit_binding_block(block)

    def visit_var_binding(self, binding: rx.Binding) -> None:
        self.found["var binding"] += 1
        super().visit_var_binding(binding)

    def visit_match_shape(self, binding: rx.MatchCast) -> None:
        self.found["match"] += 1
        super().visit_match_shape(binding)

    def visit_call(self, call: Call) -> None:
        self.found["call"] += 1
        super().visit_call(call)

    def visit_if(self, conditional: rx.If) -> None:
        self.found["if"] += 1
        super().visit_if(conditional)

    def visit_loop(self, loop: rx.Loop) -> None:
        self.found["loop"] += 1
        super().visit_loop(loop)

    def visit_seq(self, seq: rx.SeqExpr) -> None:
        self.found["sequence"] += seq.block is not None
        super().visit_seq(seq)

    def visit_var(self, var: rx.Var) -> None:
        self.found["var"] += 1


LEAF_OPS = (
    "relax.constant",
    "relax.shape_expr",
    "relax.prim_value",
    "relax.tuple_get_item",
    "relax.extern_func",
)


def in_the_ir(module: rx.IRModule) -> Counter[str]:
    """The same counts, of ops."""
    found: Counter[str] = Counter()
    for function in module.functions():
        if not isinstance(function, rx.Function):
            continue
        found["function"] += 1
        found["sequence"] += 1
        for op in ops_of(function.operation):
            found["lambda"] += op.name == "relax.lambda"
            found["dataflow"] += op.name == "relax.dataflow"
            found["match"] += op.name == "relax.match_shape"
            found["if"] += op.name == "scf.if"
            found["loop"] += op.name in ("scf.for", "scf.while")
            blocks = sum(len(list(region.blocks)) for region in op.regions)
            found["sequence"] += blocks if op.name not in ("func.func", "relax.dataflow") else 0
            structure = op.name.startswith(("builtin.", "scf.")) or op.name in (
                *LEAF_OPS,
                *("func.func", "relax.dataflow", "relax.lambda", "relax.match_shape", "tensor.extract"),
            )
            found["call"] += not structure and not has_trait(op, EndsBlock)
    return found


@pytest.mark.slow
def test_counts_are_those_of_the_ir() -> None:
    """On all programs of the tests."""
    modules = relax_modules()
    assert len(modules) > 200
    checked: Counter[str] = Counter()
    for module in modules:
        counting = Counting()
        counting.visit(module)
        expected = in_the_ir(module)
        compared = set(expected) - {"var binding", "var"}
        assert {k: counting.found[k] for k in compared} == {k: expected[k] for k in compared}, str(module)
        checked += expected
    assert min(checked[kind] for kind in ("function", "lambda", "dataflow", "match", "if", "loop", "call")) >= 10


def test_a_visitor_that_does_nothing() -> None:
    for module in relax_modules():
        PyExprVisitor().visit(module)


class Rebuild(PyExprMutator):
    """Rebuilds every call."""

    calls = 0

    def visit_call_(self, call: Call) -> Any:
        results = call.operation.results
        if len(results) and not any(list(result.uses) for result in results):
            return call  # the new call is removed if it is unused
        call = super().visit_call_(call)
        type(self).calls += 1
        return Call(call.op, call.args, call.attrs, call.sinfo_args or ((call.struct_info,) if call.is_view else None))


def test_identity_on_all_programs() -> None:
    """Nothing is changed: the function is the same object, and the module equal."""
    for module in relax_modules():
        text = str(module)
        assert_structural_equal(PyExprMutator().visit_module(module), module)
        for function in module.functions():
            if isinstance(function, rx.Function):
                assert PyExprMutator().visit_expr(function) is function
        assert str(module) == text


@pytest.mark.slow
def test_all_calls_made_anew_on_all_programs() -> None:
    """Equal modules, except for programs with effects, those whose packed calls are lowered, and an early tuple."""
    different = []
    for module in relax_modules():
        text = str(module)
        if "relax.call_packed" in text or "@asserts(" in text or " @relax.packed." in text:
            continue
        try:
            made = Rebuild().visit_module(module)
        except RelaxError as error:
            different.append(f"{module!r}: {error}")
            continue
        difference = find_difference(module, made)
        if difference is not None:
            different.append(f"{module!r}: {difference}")
    assert Rebuild.calls > 500
    assert different == []


def test_all_programs_of_the_tests() -> None:
    """Every function, rebuilt from its parts, is the same function.

    Except for a few texts that no builder produces: equal tuples that are one value, a branch of a less precise type
    than its ops infer, an op between others that belongs to a later one.
    """
    same, loops, different = 0, 0, []
    for module in relax_modules():
        for function in module.functions():
            if not isinstance(function, rx.Function):
                continue  # below level R1
            name = function.name.value
            try:
                again = rx.Function(
                    function.params, function.body, function.ret_struct_info, attrs=function.attrs, name=name
                )
            except RelaxError as error:
                loops += "a loop cannot be made anew" in str(error)
                if not re.search("a loop|type i1 is not the type of a Relax value", str(error)):  # or a scalar
                    different.append(f"{name}: {error}")
                continue
            difference = find_difference(function, again)
            same += difference is None
            if difference is not None:
                different.append(f"{name}: {difference}")
    assert same > 400
    assert loops < 40
    assert len(different) * 40 <= same, "\n".join(different)
