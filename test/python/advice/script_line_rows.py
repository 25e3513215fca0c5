"""More lines of scripts: calls, conditions, sizes and effects; what follows the advice is built as one module."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi
from advice_rows import ScriptCase, ScriptRows
from programs import register
from script_rows import FUNCTION, PARAMETERS, arguments, first

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def prim(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32")):
        n = T.int64()
        for j in range(n):
            b[j] = a[j] + T.float32(1)

    @T.prim_func
    def early(b: T.Buffer(("n",), "float32"), a: T.Buffer(("n",), "float32")):
        n = T.int64()
        for j in range(n):
            b[j] = a[j] + T.float32(1)

    @R.function(private=True)
    def helper(a: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        return a + 1.0

{functions}
"""
DEF = "def f(a: R.Tensor((n, m), 'float32')):\n            return a + 1.0\n        z = "


@register("advice.same")
def _same(x: Any) -> Any:
    return x


@register("advice.shape")
def _shape(x: Any) -> Any:
    return tvm_ffi.Shape(x.shape)


@register("advice.add_number")
def _add_number(x: Any, number: int, out: Any) -> None:
    np.from_dlpack(out)[...] = np.from_dlpack(x) + np.float32(number)


CASES: dict[str, ScriptCase] = {
    "entry_of_unknown_shape": ("z = R.zeros((o.shape[0],), 'float32')", "R.match_shape gives it names"),
    "unpacked_unknown_shape": (
        "a, b = o.shape\n        z = R.zeros((b, a), 'float32')",
        "R.match_shape gives it names",
    ),
    "called_shape": (
        "z = R.zeros(x.shape(), 'float32')",
        "'x.shape' is no function; leave the parentheses out",
    ),
    "global_symbol": (
        "R.func_attr({'global_symbol': 'other'})\n        z = x + 1.0",
        "the function is exported as 'main': give it that name",
    ),
    "shape_of_result": (
        "z = R.call_tir(x, 'advice.double', [x])",
        "its shape is x.shape",
        "z = R.call_tir(x.shape, 'advice.double', [x])",
        lambda x: 2 * x,
    ),
    "registered_tir_vars": (
        "z = R.call_tir((n, m), 'advice.add_number', [x], tir_vars=(n,))",
        "a registered function takes no tir_vars; give them as arguments",
        "z = R.call_tir((n, m), 'advice.add_number', [x, n])",
        lambda x: x + len(x),
    ),
    "registered_in_place": (
        "z = R.call_tir_inplace('advice.double', [x], [0], R.Tensor((n, m), 'float32'))",
        r"calls a prim func of the module: write cls.f.*\(R.call_dps_packed calls registered functions\)",
    ),
    "tuple_in_place": (
        "w = (v, R.exp(v))\n        z = R.call_tir_inplace(cls.prim, w, [1], R.Tensor((n,), 'float32'))",
        r"the tuple 'w': write the values, \(x, y\), or \(\*w,\)",
    ),
    "vdevice": (
        "z: R.Tensor((n, m), 'float32', vdevice='cuda') = x",
        "there is one device, the CPU: leave vdevice out",
    ),
    "annotation": ("z: float = x", "expected an annotation: R.Tensor"),
    "callable": (
        "f: R.Callable((R.Object(),)) = cls.helper",
        r"R.Callable\(\(R.Object\(\),\), R.Object\(\)\)",
    ),
    "shape_of_unknown": (
        "w = R.call_pure_packed('advice.same', x, out=R.Tensor(dtype='float32'))\n"
        "        z = R.match_shape(v, (w.shape[0],))",
        "R.match_shape gives it names",
    ),
    "dps_list": (
        "z = R.call_dps_packed('advice.double', 'x', R.Tensor((n, m), 'float32'))",
        r"write \[x\] for one",
    ),
    "dataflow_call": ("z = R.dataflow()", r"write `with R.dataflow\(\):`"),
    "if_then_else": ("z = R.if_then_else(c, x, y)", "write `if c: … else: …`, or `a if c else b`"),
    "const_of_value": ("z = R.const(x)", "this is a value already", "z = x"),
    "op_attribute": (
        "z = R.op('relax.sum', x, attributes={'axis': 1, 'keepdims': False})",
        r"write I.attribute\(\"…\"\)",
    ),
    "op_attributes": ("z = R.op('relax.sum', x)", r'takes attributes=\{"\w+": I.attribute\("…"\)'),
    "op_without_rule": (
        "z = R.op('relax.call_pure_packed', R.tuple(x), attributes={'func': I.attribute('\"advice.same\"'), "
        "'arg_spec': I.attribute('[unit]')})",
        "do not follow from its operands; call the op's own function",
    ),
    "prim_value": ("z = cls.prim", "call it by R.call_tir"),
    "inner_private": (f"@R.function(private=True)\n        {DEF}f(x)", "leave `private` out"),
    "closure_arguments": (
        f"{DEF}R.invoke_pure_closure(f, x, R.Tensor((n, m), 'float32'))",
        r"write \(x,\) for one",
    ),
    "bound_in_branch": (
        "if c:\n            w = x + 1.0\n        z = w",
        "bind it in both branches, or before the `if`",
    ),
    "integer_condition": ("if i:\n            x = y", "compare it, as in `i != 0`"),
    "shape_matched": (
        "s = R.call_pure_packed('advice.shape', x, out=R.Shape())\n        z = R.match_shape(x, s)",
        r"declare it, R.Shape\(ndim=…\), or match_shape it",
        "s = R.match_shape(R.call_pure_packed('advice.shape', x, out=R.Shape()), (p, q))\n"
        "        z = R.match_shape(x, s)",
        first,
    ),
    "shape_of_another": ("z = R.reshape(o, (-1,))", "match_shape it first"),
    "dimension_dtype": ("z = R.zeros((T.Cast('float32', n),), 'int8')", r'write T.Cast\("int64", n\)'),
    "dimension_narrow": ("z = R.zeros((T.Cast('int32', n),), 'int8')", r"write T.int64\(n\)"),
    "integer_in_shape": (
        "z = R.match_shape(v, (i + 1,))",
        r"R.match_shape\(i, \(m,\)\) gives it the symbol m",
    ),
    "one_symbol": ("z = R.match_shape(v, n)", r"a shape of one dimension is \(n,\)"),
    "assert_message": ("assert c, x", r'R.assert_op\(c, x, format="x is \{\}"\)'),
    "assert_argument": ("R.assert_op(c, message='text')", "the message is `format`"),
    "generator": ("z = (yield x)", "return a tuple"),
    "generator_from": ("z = (yield from x)", "return a tuple"),
    "integer_and_float": (
        "z = i + 1.5",
        r"make a tensor of the integer, R.prim_to_tensor\(…\)",
        "z = R.astype(R.prim_to_tensor(i), 'float64') + 1.5",
    ),
    "op_as_value": ("z = R.exp", "is not a value; call it"),
    "loop_in_dataflow": (
        "with R.dataflow():\n            for q in R.range(3):\n                x = x + 1.0",
        "close it before the loop",
    ),
    "carried_number": (
        "z = 1.0\n        for q in R.range(3):\n            z = z * 2.0",
        r'write R.const\(1.0, "float32"\)',
    ),
    "bound_in_loop": (
        "for q in R.range(3):\n            w = x + 1.0\n        z = w",
        "bind it before the loop",
    ),
    "packed_argument": (
        "R.call_packed('advice.same', x, type_args=R.Object)",
        "`out` says what it returns|takes no argument",
    ),
    "float": ("z = x.float()", r'R.astype\(x, "float32"\)'),
    "int": ("z = x.int()", r'R.astype\(x, "int32"\)'),
    "dot": ("z = x.dot(y)", "R.dot|R.matmul"),
    "transpose": ("z = x.transpose()", r"R.permute_dims\(x\)"),
    "tolist": ("z = x.tolist()", "write x", "z = x"),
    "repr": ("z = repr(x)", "R.print shows values"),
    "shape_first_dtype": (
        "z = R.call_tir((n, m), 'advice.double', ())",
        r"write call_tir\(f, args, R.Tensor\(...\)\)|dtype of the result",
    ),
    "coroutine_inside": ("async def f(a: R.Tensor((n, m), 'float32')):\n            return a", "write `def`"),
    "class_inside": ("class A:\n            pass", "write another module"),
    "raise": ("raise ValueError('n')", "R.match_shape checks"),
    "nonlocal": (
        f"{DEF.replace('return', 'nonlocal x; return')}f(x)",
        "pass the value as a parameter and return it",
    ),
    "async_for": (
        "async for q in R.range(3):\n            x = x + 1.0",
        r"write `for i in R.range\(...\)`|async",
    ),
    "unused": ("x + 1.0", "bind it to a name, or leave it out"),
    "named_block": (
        "with R.dataflow() as d:\n            z = x + 1.0\n            R.output(z)",
        "R.output says what leaves it",
    ),
    "symbol_dtype": ("q = T.int32()\n        z = R.match_shape(o, (q, m))", r"write q = T.int64\(\)"),
    "direct_call": (
        "w = R.memory.alloc_storage(R.shape([n * 4]))\n        cls.early(v, v)",
        r"R.call_prim\(cls.early, args, outputs=…\)",
        "z = R.call_tir(cls.prim, (v,), R.Tensor((n,), 'float32'))",
        lambda x, v: v + 1,
    ),
}


def case_arguments(name: str) -> dict[str, Any]:
    return arguments(name)


TABLE = ScriptRows(MODULE, FUNCTION, PARAMETERS, CASES, case_arguments)
