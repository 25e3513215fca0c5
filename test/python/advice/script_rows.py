"""Advice in messages of scripts: the wrong line, its message, and the line that follows it, which builds.

All lines that follow the advice are built as one module."""

from __future__ import annotations

from typing import Any

import numpy as np
from advice_rows import ScriptCase, ScriptRows
from programs import register

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def prim(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32")):
        n = T.int64()
        for j in range(n):
            b[j] = a[j] + T.float32(1)

    @R.function(private=True)
    def helper(a: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        return a + 1.0

{functions}
"""
FUNCTION = """
    @R.function
    def {name}({parameters}):
        n, m, k = T.int64(), T.int64(), T.int64()
        {line}
        return {result}
"""
PARAMETERS = {
    "x": 'R.Tensor(("n", "m"), "float32")',
    "y": 'R.Tensor(("n", "m"), "float32")',
    "v": 'R.Tensor(("n",), "float32")',
    "u": 'R.Tensor(("k",), "float32")',
    "c": 'R.Tensor((), "bool")',
    "j": 'R.Tensor((4,), "int64")',
    "i": 'R.Prim("int64")',
    "o": 'R.Tensor(ndim=2, dtype="float32")',
}


@register("advice.double")
def _double(x: Any, out: Any) -> None:
    np.from_dlpack(out)[...] = 2 * np.from_dlpack(x)


def first(x: Any, **_: Any) -> Any:
    return x


CASES: dict[str, ScriptCase] = {
    "max": ("z = max(x, y)", "R.max is that .* R.maximum", "z = R.maximum(x, y), R.max(x)"),
    "min": ("z = min(x, y)", "R.min is that .* R.minimum", "z = R.minimum(x, y), R.min(x)"),
    "sum": ("z = sum([x, y])", r"R.sum adds .* \+ adds", "z = R.sum(x), x + y"),
    "any": ("z = any(x > 0.0)", "R.max of a bool tensor", "z = R.max(x > 0.0)"),
    "all": ("z = all(x > 0.0)", "R.min of a bool tensor", "z = R.min(x > 0.0)"),
    "len": ("z = len(x)", r"x.shape\[0\]", "z = R.zeros((x.shape[0],), 'float32')"),
    "int": ("z = int(x)", r"R.astype\(x, \"int64\"\)", 'z = R.astype(x, "int64")'),
    "bool": ("z = bool(x)", r"R.astype\(x, \"bool\"\)", 'z = R.astype(x, "bool")'),
    "float": ("z = float(x)", r"R.astype\(x, dtype\)", 'z = R.astype(x, "float64")'),
    "divmod": ("z = divmod(x, 2.0)", "x // y and x % y", "z = x // 2.0, x % 2.0"),
    "pow": ("z = pow(x, 2)", r"x \*\* y", "z = x ** 2"),
    "range": ("z = range(i)", "for i in range", "for q in range(i):\n            x = x + 1.0"),
    "str": ("z = str(x)", "R.print shows", 'R.print(x, format="{}")', first),
    "abs": ("z = abs(x)", "the op is R.abs", "z = R.abs(x)"),
    "round": ("z = round(x)", "the op is R.round", "z = R.round(x)"),
    "print": ("print(x)", "the op is R.print", "R.print(x)", first),
    "transposed": ("z = x.T", r"R.permute_dims\(x\)", "z = R.permute_dims(x)"),
    "last_transposed": ("z = x.mT", r"R.permute_dims\(x, axes\)", "z = R.permute_dims(x, (1, 0))"),
    "size": ("z = x.size", r"R.size\(x, …\)", "z = R.size(x)"),
    "to": ('z = x.to("float16")', r"R.astype\(x, …\)", 'z = R.astype(x, "float16")'),
    "view": ("z = x.view(-1)", r"R.reshape\(x, …\)", "z = R.reshape(x, (-1,))"),
    "item": ("z = x.item()", "write x", "z = x"),
    "numpy": ("z = x.numpy()", "write x", "z = x"),
    "method": ("z = x.exp()", r"R.exp\(x, …\)", "z = R.exp(x)"),
    "dimension": ("z = x.shape[9]", "no dimension 9: the rank is 2", "z = R.zeros((x.shape[1],), 'int8')"),
    "attribute": (
        "z = x.foo",
        r"tensors have shape, dtype, ndim; .* R.exp\(x\)",
        "z = R.exp(x), R.zeros(x.shape, x.dtype)",
    ),
    "quotient": (
        "z = R.zeros((n / 2,), 'int8')",
        "write // for a quotient",
        "z = R.zeros((n // 2, -(-n // 3)), 'int8')",
    ),
    "power": ("z = R.zeros((n ** 2,), 'int8')", r"n \* n", "z = R.zeros((n * n,), 'int8')"),
    "divide": (
        "z = i / 2",
        r"R.prim_to_tensor .* R.astype\(tensor",
        'z = R.astype(R.prim_to_tensor(i), "float64") / 2.0',
    ),
    "integer_power": ("z = i ** 2", "R.prim_to_tensor", "z = R.prim_to_tensor(i) ** 2"),
    "integer_exp": (
        "z = R.exp(i)",
        "R.prim_to_tensor makes one",
        'z = R.exp(R.astype(R.prim_to_tensor(i), "float32"))',
    ),
    "shape_operand": (
        "z = R.negative(R.shape_of(x))",
        "R.shape_to_tensor makes one",
        "z = R.negative(R.shape_to_tensor(R.shape_of(x)))",
    ),
    "dtype_of_constant": (
        "z = R.where(c, 1.5, 2.5)",
        r"R.const\(1.5, dtype\)",
        'z = R.where(c, R.const(1.5, "float32"), R.const(2.5, "float32"))',
    ),
    "list_operand": ("z = x * [1.0]", r"R.const\(numpy.array", 'z = x * R.const([1.0], "float32")'),
    "bool_operand": (
        "z = x * True",
        r'R.const\(True, "bool"\)',
        'z = R.logical_and(x > 0.0, R.const(True, "bool"))',
    ),
    "dtypes": ("z = v[0] + j", "convert one of them with astype", 'z = v[0] + R.astype(j, "float32")'),
    "unequal": ("z = v + u", "match_shape one of the tensors", "z = v + R.match_shape(u, (n,))"),
    "summed": (
        "z = x @ y",
        "match_shape one of the tensors",
        "w = R.match_shape(y, (m, n))\n        z = x @ w",
    ),
    "scalar_product": ("z = x @ 2.0", "use multiply", "z = R.multiply(x, 2.0)"),
    "one_dimension": ("z = R.zeros(n, 'int8')", "a list or tuple of dimensions", "z = R.zeros((n,), 'int8')"),
    "chain": ("z = 0.0 < x < 1.0", "R.logical_and for elements", "z = R.logical_and(x > 0.0, x < 1.0)"),
    "shift": ("z = j << 1", "R.left_shift or R.right_shift", "z = R.left_shift(j, 1), R.right_shift(j, 1)"),
    "set": ("x[0] = 1.0", "R.where or R.concat", "z = R.where(x > 0.0, x, y), R.concat([x, y])"),
    "attribute_set": ("x.foo = y", "to a name", "foo = y"),
    "delete": ("del x", "leave the `del` out", "pass"),
    "index_tensor": ("z = x[j]", "R.take takes", "z = R.take(x, j, 0)"),
    "index_list": ("z = x[[0, 1]]", "an integer, a slice", "z = x[0], x[0:2], x[..., 0], x[None]"),
    "index_integer": ("z = x[i]", r"R.match_shape\(i, \(i,\)\)", "R.match_shape(i, (q,))\n        z = x[q]"),
    "integer_dimension": (
        "z = R.zeros((i,), 'int8')",
        "R.match_shape",
        "R.match_shape(i, (q,))\n        z = R.zeros((q,), 'int8')",
    ),
    "comprehension": ("z = [a for a in (x, y)]", "write the elements out", "z = [x, y]"),
    "set_display": ("z = {x, y}", "write a tuple", "z = (x, y)"),
    "walrus": ("z = (w := x)", "on a line of its own", "w = x\n        z = w"),
    "lambda": (
        "f = lambda: x",
        r"write `def f\(x: R.Tensor",
        "def f(a: R.Tensor((n, m), 'float32')):\n            return a\n        z = f(x)",
        first,
    ),
    "annotation_of_parameter": (
        "def f(a):\n            return a",
        r"such as R.Tensor\(\(n,\)",
        'def f(a: R.Tensor((n,), "float32")):\n            return a\n        z = f(v)',
        lambda v, **_: v,
    ),
    "formatted": ('z = f"{x}"', "write the string out", 'R.print(x, format="x: {}")', first),
    "starred": (
        "a, *b = x, y, v",
        r"name every field, or take t\[0\]",
        "t = (x, y, v)\n        a = t[0]\n        b, d, e = t",
    ),
    "two_targets": ("a = b = x", "one assignment binds one target", "a = x\n        b = x"),
    "match": (
        "match x:\n            case _: pass",
        "`if`, `elif` and `else`",
        "if c:\n            z = x\n        elif i > 2:\n            z = y\n        else:\n            z = x",
    ),
    "try": (
        "try:\n            z = x\n        except ValueError:\n            pass",
        "R.match_shape checks",
        "z = R.match_shape(o, (n, m))",
    ),
    "with": (
        "with x:\n            pass",
        r"with R.dataflow\(\):",
        "with R.dataflow():\n            z = x + 1.0\n            R.output(z)",
    ),
    "global": ("global q", "as a parameter and return it", "pass"),
    "loop_over": (
        "for q in x:\n            pass",
        r"for i in R.range\(n\):",
        "for q in R.range(n):\n            x = x + 1.0\n        for w in R.range(1, n, 2):\n            x = x + 1.0",
    ),
    "loop_step": (
        "for q in range(0, 9, -1):\n            x = x + 1.0",
        "by a positive int",
        "for q in range(0, 9, 2):\n            x = x + 1.0",
    ),
    "break": (
        "while c:\n            break",
        "`while going and …:`",
        "going = c\n        while going and i > 3:\n            going = c",
    ),
    "continue": (
        "while c:\n            continue",
        "into an `if`",
        "while c:\n            if i > 3:\n                x = x + 1.0\n            c = R.logical_not(c)",
    ),
    "loop_else": (
        "for q in range(3):\n            x = x + 1.0\n        else:\n            x = y",
        "write it after the loop",
        "for q in range(3):\n            x = x + 1.0\n        x = y",
    ),
    "loop_variable": (
        "z = x\n        for z in range(3):\n            x = x + 1.0",
        "another name",
        "z = x\n        for q in range(3):\n            x = x + 1.0",
    ),
    "loop_return": (
        "for q in range(3):\n            return x",
        "return it after the block",
        "for q in range(3):\n            x = x + 1.0",
    ),
    "carried_type": (
        "s = x\n        for q in range(3):\n            s = R.concat([s, x])",
        "let it begin with unknown dimensions",
        "s = R.match_shape(x, (q, m))\n        for w in range(3):\n            s = s + 1.0",
    ),
    "carried_dtype": (
        "s = x\n        for q in range(3):\n            s = R.astype(s, 'float64')",
        "astype it",
        "s = x\n        for q in range(3):\n            s = R.astype(R.astype(s, 'float64'), 'float32')",
    ),
    "branches": (
        "if c:\n            z = x\n        else:\n            z = v",
        "match_shape or astype",
        "if c:\n            z = x\n        else:\n            z = R.match_shape(o, (n, m))",
    ),
    "condition": (
        "if x > 0.0:\n            x = y",
        "bool tensor of rank 0",
        "if R.max(x) > 0.0:\n            x = y",
    ),
    "prim_call": (
        "z = cls.prim(v)",
        r"R.call_tir\(cls.prim, args, out\)",
        "z = R.call_tir(cls.prim, (v,), R.Tensor((n,), 'float32'))",
        lambda v, **_: v + 1,
    ),
    "packed_prim": (
        "z = R.call_dps_packed(cls.prim, (v,), R.Tensor((n,), 'float32'))",
        "name of a registered|string|R.call_tir",
        "z = R.call_dps_packed('advice.double', (v,), R.Tensor((n,), 'float32'))",
        lambda v, **_: 2 * v,
    ),
    "closure": (
        "f = R.make_closure(helper, ())",
        "write cls.f|unknown name",
        "f = R.make_closure(cls.helper, ())\n        z = R.invoke_pure_closure(f, (x,), R.Tensor((n, m), 'float32'))",
    ),
    "output_outside": ("R.output(x)", "ends with `return`", "pass"),
    "no_output": (
        "with R.dataflow():\n            z = x",
        "ends with what leaves it",
        "with R.dataflow():\n            z = x + 1.0\n            R.output(z)",
    ),
    "output_of_value": (
        "with R.dataflow():\n            R.output(x + 1.0)",
        "bind the value to one first",
        "with R.dataflow():\n            z = x + 1.0\n            R.output(z)",
    ),
    "control_flow_in_dataflow": (
        "with R.dataflow():\n            if c: x = y",
        "close it before the `if`",
        "with R.dataflow():\n            z = x + 1.0\n            R.output(z)\n        if c: x = y",
    ),
    "annotated": (
        'z: R.Tensor((3, 4), "float32") = x',
        "R.match_shape asserts at run time",
        "z: R.Tensor((3, 4), 'float32') = R.match_shape(x, (3, 4))",
    ),
    "reshape": ("z = R.reshape(o, (-1,))", "match_shape", "z = R.reshape(R.match_shape(o, (n, m)), (-1,))"),
    "squeeze": ("z = R.squeeze(x, 0)", "match_shape it first", "z = R.squeeze(R.match_shape(x, (1, m)), 0)"),
}


def arguments(name: str) -> dict[str, Any]:
    """Arguments of sizes for which the assertions of the right line hold."""
    n, m = {"squeeze": (1, 3), "annotated": (3, 4)}.get(name, (3, 3))
    x, y = np.random.default_rng(0).uniform(0.25, 2.0, (2, n, m)).astype(np.float32)
    return {
        "x": x,
        "y": y,
        "v": x[:, 0].copy(),
        "u": y[:, 1].copy(),
        "c": np.array(name != "continue"),
        "j": np.array([2, 0, 1, 2]),
        "i": 2,
        "o": x + y,
    }


TABLE = ScriptRows(MODULE, FUNCTION, PARAMETERS, CASES, arguments)
