"""One ill-formed module per invariant of `relax_mlir.analysis.well_formed`, and a well-formed one."""

import re
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir.analysis import well_formed
from relax_mlir.dialects import dialect
from relax_mlir.error import ParseError, RelaxError, ScriptError, VerifyError
from relax_mlir.mlir import ir
from relax_mlir.script import parse

N = 'tensor<?xf32, #relax.shape<["n"]>>'
K = 'tensor<?xf32, #relax.shape<["k"]>>'
PRIM = """
func.func private @prim(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
"""
CAST = "builtin.unrealized_conversion_cast"

CASES = {
    "two results": (1, f"func.func @f(%x: {N}) -> ({N}, {N}) {{ return %x, %x : {N}, {N} }}"),
    "no result": (1, f"func.func @f(%x: {N}) {{ return }}"),
    "equal parameter names": (
        2,
        f'func.func @f(%x: {N} {{relax.name = "a"}}, %y: {N} {{relax.name = "a"}}) -> {N} {{ return %x : {N} }}',
    ),
    "symbol of a parameter that none defines": (
        3,
        'func.func @f(%x: tensor<?xf32, #relax.shape<["n // 2"]>>) -> tensor<?xf32, #relax.shape<["n // 2"]>> {\n'
        '  return %x : tensor<?xf32, #relax.shape<["n // 2"]>>\n}',
    ),
    "undefined symbol in a shape": (
        3,
        f'func.func @f(%x: {N}) -> !relax.shape_value<["k"]> {{\n'
        '  %0 = "relax.shape_expr"() {values = ["k"]} : () -> !relax.shape_value<["k"]>\n'
        '  return %0 : !relax.shape_value<["k"]>\n}',
    ),
    "undefined symbol in a pattern": (
        3,
        f'func.func @f(%x: {N}) -> tensor<?xf32, #relax.shape<["2*k"]>> {{\n'
        f'  %0 = "relax.match_shape"(%x) {{pattern = ["2*k"], result_dtype}} : ({N})'
        ' -> tensor<?xf32, #relax.shape<["2*k"]>>\n'
        '  return %0 : tensor<?xf32, #relax.shape<["2*k"]>>\n}',
    ),
    "symbol defined in a branch": (
        3,
        f"func.func @f(%x: {N}, %c: i1) -> {N} {{\n"
        f"  %0 = scf.if %c -> ({N}) {{\n"
        f'    %1 = "relax.match_shape"(%x) {{pattern = ["k"], result_dtype}} : ({N}) -> {K}\n'
        f"    scf.yield %x : {N}\n  }} else {{\n    scf.yield %x : {N}\n  }}\n"
        '  %2 = "relax.shape_expr"() {values = ["k"]} : () -> !relax.shape_value<["k"]>\n'
        f"  return %0 : {N}\n}}",
    ),
    "tuple of other fields": (
        5,
        f"func.func @f(%x: {N}) -> tuple<f32> {{\n  %0 = {CAST} %x : {N} to tuple<f32>\n  return %0 : tuple<f32>\n}}",
    ),
    "call of a missing function": (
        6,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} %x : {N} to tuple<{N}>\n"
        f'  %1 = "relax.call"(%0) {{callee = @g}} : (tuple<{N}>) -> {N}\n  return %1 : {N}\n}}',
    ),
    "call whose result is not the callee's": (
        6,
        f"func.func @f(%x: {N}, %y: {K}) -> {K} {{\n  %0 = {CAST} %x : {N} to tuple<{N}>\n"
        f'  %1 = "relax.call"(%0) {{callee = @g}} : (tuple<{N}>) -> {K}\n  return %1 : {K}\n}}\n'
        f"func.func @g(%x: {K}) -> {K} {{ return %x : {K} }}",
    ),
    "call_tir of a Relax function": (
        7,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} %x : {N} to tuple<{N}>\n"
        f'  %1 = "relax.call_tir"(%0) {{callee = @f, tir_vars = []}} : (tuple<{N}>) -> {N}\n  return %1 : {N}\n}}',
    ),
    "call_tir with an argument too many": (
        7,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} %x, %x : {N}, {N} to tuple<{N}, {N}>\n"
        f'  %1 = "relax.call_tir"(%0) {{callee = @prim, tir_vars = []}} : (tuple<{N}, {N}>) -> {N}\n'
        f"  return %1 : {N}\n}}" + PRIM,
    ),
    "call in place with a tensor for its result": (
        7,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} %x : {N} to tuple<{N}>\n"
        '  %1 = "relax.call_tir_inplace"(%0) {callee = @prim, inplace_indices = [0], tir_vars = []}'
        f" : (tuple<{N}>) -> {N}\n  return %1 : {N}\n}}" + PRIM,
    ),
    "asserted symbol that nothing defines": (
        3,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} to tuple<>\n"
        '  "relax.assert_op"(%0) {relation = "==", values = ["k", 1], message = ""} : (tuple<>) -> ()\n'
        f"  return %x : {N}\n}}",
    ),
    "call of a function with effects in a dataflow block": (
        4,
        f"func.func @f(%x: {N}) -> {N} {{\n"
        f'  %0 = "relax.dataflow"() ({{\n    %1 = {CAST} %x : {N} to tuple<{N}>\n'
        f'    %2 = "relax.call"(%1) {{callee = @g}} : (tuple<{N}>) -> {N}\n'
        f'    "relax.output"(%2) : ({N}) -> ()\n  }}) : () -> {N}\n  return %0 : {N}\n}}\n'
        f"func.func private @g(%x: {N}) -> {N} {{\n  %0 = {CAST} to tuple<>\n"
        f'  "relax.print"(%0) {{format = "g", arg_spec = []}} : (tuple<>) -> ()\n  return %x : {N}\n}}',
    ),
    "closure of a missing function": (
        12,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} to tuple<>\n"
        '  %1 = "relax.make_closure"(%0) {callee = @g} : (tuple<>) -> !relax.callable<unit, unit, false>\n'
        f"  return %x : {N}\n}}",
    ),
    "closure of another type": (
        12,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} to tuple<>\n"
        f'  %1 = "relax.make_closure"(%0) {{callee = @f}} : (tuple<>) -> !relax.callable<[{N}], tensor<f32>, true>\n'
        f"  return %x : {N}\n}}",
    ),
    "closure that captures too much": (
        12,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} %x, %x : {N}, {N} to tuple<{N}, {N}>\n"
        f'  %1 = "relax.make_closure"(%0) {{callee = @f}} : (tuple<{N}, {N}>) -> !relax.callable<unit, unit, false>\n'
        f"  return %x : {N}\n}}",
    ),
    "function with effects of a pure type": (
        12,
        f"func.func @f(%x: {N}) -> {N} {{\n"
        f'  %0 = "relax.lambda"() ({{\n    %1 = {CAST} to tuple<>\n'
        '    "relax.print"(%1) {format = "g", arg_spec = []} : (tuple<>) -> ()\n'
        f'    "relax.lambda_return"(%x) : ({N}) -> ()\n'
        f"  }}) {{names = []}} : () -> !relax.callable<[], {N}, true>\n  return %x : {N}\n}}",
    ),
    "public prim func": (8, PRIM.replace("private ", "")),
    "unknown pattern": (8, PRIM.replace("relax.prim_func", 'relax.prim_func, relax.pattern = "fast"')),
    "pattern that is no string": (8, PRIM.replace("relax.prim_func", "relax.prim_func, relax.pattern = 1")),
    "prim func whose sizes do not define a symbol": (
        8,
        PRIM.replace(
            "relax.prim_func",
            'relax.prim_func, relax.params = [{name = "x", shape = ["n // 2"], dtype = "float32"}, '
            '{name = "out", shape = ["n // 2"], dtype = "float32"}]',
        ),
    ),
    "prim func with a Relax op": (
        8,
        PRIM.replace("return", '%0 = "relax.shape_of"(%x) : (tensor<?xf32>) -> !relax.shape_value<["?"]>\n  return', 1),
    ),
    "reserved name": (9, f"func.func @f.shapes(%x: {N}) -> {N} {{ return %x : {N} }}"),
    "bounds that are no dictionary": (
        14,
        f"func.func @f(%x: {N}) -> {N} attributes {{relax.symbol_bounds = [1, 2]}} {{ return %x : {N} }}",
    ),
    "bounds that are no integers": (
        14,
        f'func.func @f(%x: {N}) -> {N} attributes {{relax.symbol_bounds = {{n = ["1", 2]}}}} {{ return %x : {N} }}',
    ),
    "bounds without a value between them": (
        14,
        f"func.func @f(%x: {N}) -> {N} attributes {{relax.symbol_bounds = {{n = [3, 2]}}}} {{ return %x : {N} }}",
    ),
    "bounds of an unknown symbol": (
        14,
        f"func.func @f(%x: {N}) -> {N} attributes {{relax.symbol_bounds = {{k = [3, 4]}}}} {{ return %x : {N} }}",
    ),
    "a product of two unknown symbols": (
        3,
        'func.func @f(%x: tensor<?xf32, #relax.shape<["k*n"]>>) -> f32 {\n'
        "  %0 = arith.constant 1.0 : f32\n  return %0 : f32\n}",
    ),
    "stray op": (10, '"relax.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>'),
    "call on memory of a missing prim func": (
        13,
        f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} %x : {N} to tuple<{N}>\n"
        f'  "relax.call_prim"(%0) {{callee = @g, outputs = 1 : i64}} : (tuple<{N}>) -> ()\n  return %x : {N}\n}}',
    ),
    "call on memory without its output": (
        13,
        PRIM + f"func.func @f(%x: {N}) -> {N} {{\n  %0 = {CAST} %x : {N} to tuple<{N}>\n"
        f'  "relax.call_prim"(%0) {{callee = @prim, outputs = 1 : i64}} : (tuple<{N}>) -> ()\n  return %x : {N}\n}}',
    ),
    "dynamic call with an integer too many": (
        13,
        PRIM + f"func.func @f(%x: {N}, %y: {N}) -> {N} {{\n  %0 = {CAST} %x, %y : {N}, {N} to tuple<{N}, {N}>\n"
        '  %1 = "relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>\n'
        '  "relax.vm_call_tir_dyn"(%0, %1) {callee = @prim, outputs = 1 : i64}'
        f' : (tuple<{N}, {N}>, !relax.shape_value<["n"]>) -> ()\n  return %x : {N}\n}}',
    ),
    **{
        f"signature with {kind}": (17, f"func.func @f(%x: {N}, %y: {type_}) -> {N} {{ return %x : {N} }}")
        for kind, type_ in (
            ("a size beyond 64 bits", f'tensor<?xf32, #relax.shape<["{2**63}"]>>'),
            ("a term beyond 64 bits", f'tensor<?xf32, #relax.shape<["n + {2**64}"]>>'),
            ("a factor beyond 64 bits", f'tensor<?xf32, #relax.shape<["n*{2**63 - 1}*2"]>>'),
            ("an entry of a shape beyond 64 bits", f'!relax.shape_value<["n", "{2**63}"]>'),
            ("a field beyond 64 bits", f'tuple<{N}, tensor<?xf32, #relax.shape<["{2**63}"]>>>'),
            ("a negative size", 'tensor<?xf32, #relax.shape<["-5"]>>'),
            ("a dimension too many", 'tensor<?xf32, #relax.shape<["n", "n"]>>'),
            ("no expression", 'tensor<?xf32, #relax.shape<["n +"]>>'),
            ("another size", "tensor<4xf32, #relax.shape<[5]>>"),
        )
    },
}


def unchecked(text: str) -> rx.IRModule:
    """A module as the bindings read it."""
    with dialect.context():
        return rx.IRModule(ir.Module.parse(text))


@pytest.mark.parametrize("case", CASES)
def test_each_invariant_is_checked(case: str) -> None:
    number, text = CASES[case]
    found = well_formed.check(unchecked(text).mlir)
    assert found, "nothing was found"
    assert all(f"[invariant {number}]" in d.message for d in found), [str(d) for d in found]
    assert all(":" in d.location for d in found), "violations carry locations"


@pytest.mark.parametrize("case", [case for case, (number, _) in CASES.items() if number == 17])
def test_normalize_says_the_same_of_a_type(case: str) -> None:
    module = unchecked(CASES[case][1])
    (found,) = well_formed.check(module.mlir)
    with pytest.raises(RelaxError) as error:
        rx.transform.Normalize().apply_(module)
    assert str(error.value).splitlines()[0] == found.message
    assert found.location == "-:1:1"


def test_readers_refuse_such_types(tmp_path: Path) -> None:
    """Text, files of it, bytecode, saved modules, and the MLIR in a script."""
    text = CASES["signature with a dimension too many"][1]
    message = "1:1: error: type .*: rank 1, but its encoding has 2 dimensions .invariant 17."
    plain, code, saved = (tmp_path / name for name in ("a.mlir", "a.mlirbc", "a.zip"))
    plain.write_text(text)
    with code.open("wb") as stream:
        unchecked(text).mlir.operation.write_bytecode(stream)
    unchecked(text).save(saved)
    readers = {
        "<string>": lambda: rx.IRModule.parse(text),
        str(plain): lambda: rx.IRModule.read(plain),
        "-": lambda: rx.load(code),
        str(saved): lambda: rx.IRModule.load(saved),
    }
    for name, read in readers.items():
        with pytest.raises(ParseError, match=f"{re.escape(name)}:{message}"):
            read()
    script = f"@I.ir_module\nclass Module:\n    I.mlir({text!r})\n"
    with pytest.raises(ScriptError, match="its encoding has 2 dimensions"):
        parse(script)


def test_the_largest_size_is_one() -> None:
    size = f'tensor<?xf32, #relax.shape<["{2**63 - 1}*n"]>>'
    text = f"func.func @f(%n: {N}, %x: {size}) -> {size} {{ return %x : {size} }}"
    rx.IRModule.parse(text).verify()


def test_a_well_formed_module() -> None:
    text = f"""
    func.func @f(%x: {N}) -> {N} {{
      %0 = {CAST} %x : {N} to tuple<{N}>
      %1 = "relax.call_tir"(%0) {{callee = @prim, tir_vars = []}} : (tuple<{N}>) -> {N}
      %2 = "relax.match_shape"(%1) {{pattern = ["k"], result_dtype}} : ({N}) -> {K}
      %3 = {CAST} %2 : {K} to tuple<{K}>
      %4 = "relax.call"(%3) {{callee = @g}} : (tuple<{K}>) -> {K}
      return %x : {N}
    }}
    func.func private @g(%x: {N}) -> {N} {{ return %x : {N} }}
    {PRIM}"""
    module = rx.IRModule.parse(text)
    assert well_formed.check(module.mlir) == []
    module.verify()


def test_verify_raises_all_violations() -> None:
    with pytest.raises(VerifyError, match=r"(?s)invariant 9.*invariant 1\]"):
        rx.IRModule.parse(f"func.func @f.shapes(%x: {N}) {{ return }}").verify()


def test_modules_below_r1_are_not_relax() -> None:
    text = 'func.func private @relax.check.0(i1) attributes {relax.check = {kind = "E", message = "m"}}'
    assert well_formed.check(rx.IRModule.parse(text).mlir) == []
