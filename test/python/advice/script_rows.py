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
    "min": ("z = min(x, y)", "R.min is that .* R.minimum"),
    "sum": ("z = sum([x, y])", r"R.sum adds .* \+ adds"),
    "any": ("z = any(x > 0.0)", "R.max of a bool tensor"),
    "all": ("z = all(x > 0.0)", "R.min of a bool tensor"),
    "len": ("z = len(x)", r"x.shape\[0\]"),
    "int": ("z = int(x)", r"R.astype\(x, \"int64\"\)"),
    "bool": ("z = bool(x)", r"R.astype\(x, \"bool\"\)"),
    "float": ("z = float(x)", r"R.astype\(x, dtype\)"),
    "divmod": ("z = divmod(x, 2.0)", "x // y and x % y", "z = x // 2.0, x % 2.0"),
    "pow": ("z = pow(x, 2)", r"x \*\* y"),
    "range": ("z = range(i)", "for i in range"),
    "str": ("z = str(x)", "R.print shows"),
    "abs": ("z = abs(x)", "the op is R.abs"),
    "round": ("z = round(x)", "the op is R.round"),
    "print": ("print(x)", "the op is R.print"),
    "transposed": ("z = x.T", r"R.permute_dims\(x\)", "z = R.permute_dims(x)"),
    "last_transposed": ("z = x.mT", r"R.permute_dims\(x, axes\)"),
    "size": ("z = x.size", r"R.size\(x, …\)"),
    "to": ('z = x.to("float16")', r"R.astype\(x, …\)"),
    "view": ("z = x.view(-1)", r"R.reshape\(x, …\)"),
    "item": ("z = x.item()", "write x"),
    "numpy": ("z = x.numpy()", "write x"),
    "method": ("z = x.exp()", r"R.exp\(x, …\)"),
    "dimension": ("z = x.shape[9]", "no dimension 9: the rank is 2"),
    "attribute": ("z = x.foo", r"tensors have shape, dtype, ndim; .* R.exp\(x\)"),
    "quotient": (
        "z = R.zeros((n / 2,), 'int8')",
        "write // for a quotient",
        "z = R.zeros((n // 2, -(-n // 3)), 'int8')",
    ),
    "power": ("z = R.zeros((n ** 2,), 'int8')", r"n \* n"),
    "divide": ("z = i / 2", r"R.prim_to_tensor .* R.astype\(tensor"),
    "integer_power": ("z = i ** 2", "R.prim_to_tensor"),
    "integer_exp": ("z = R.exp(i)", "R.prim_to_tensor makes one"),
    "shape_operand": (
        "z = R.negative(R.shape_of(x))",
        "R.shape_to_tensor makes one",
        "z = R.negative(R.shape_to_tensor(R.shape_of(x)))",
    ),
    "dtype_of_constant": ("z = R.where(c, 1.5, 2.5)", r"R.const\(1.5, dtype\)"),
    "list_operand": ("z = x * [1.0]", r"R.const\(numpy.array"),
    "bool_operand": ("z = x * True", r'R.const\(True, "bool"\)'),
    "dtypes": ("z = v[0] + j", "convert one of them with astype"),
    "unequal": ("z = v + u", "match_shape one of the tensors"),
    "summed": ("z = x @ y", "match_shape one of the tensors"),
    "scalar_product": ("z = x @ 2.0", "use multiply"),
    "one_dimension": ("z = R.zeros(n, 'int8')", "a list or tuple of dimensions"),
    "chain": ("z = 0.0 < x < 1.0", "R.logical_and for elements", "z = R.logical_and(x > 0.0, x < 1.0)"),
    "shift": ("z = j << 1", "R.left_shift or R.right_shift"),
    "set": ("x[0] = 1.0", "R.where or R.concat"),
    "attribute_set": ("x.foo = y", "to a name"),
    "delete": ("del x", "leave the `del` out"),
    "index_tensor": ("z = x[j]", "R.take takes"),
    "index_list": ("z = x[[0, 1]]", "an integer, a slice"),
    "index_integer": ("z = x[i]", r"R.match_shape\(i, \(i,\)\)"),
    "integer_dimension": ("z = R.zeros((i,), 'int8')", "R.match_shape"),
    "comprehension": ("z = [a for a in (x, y)]", "write the elements out"),
    "set_display": ("z = {x, y}", "write a tuple"),
    "walrus": ("z = (w := x)", "on a line of its own", "w = x\n        z = w"),
    "lambda": ("f = lambda: x", r"write `def f\(x: R.Tensor"),
    "annotation_of_parameter": ("def f(a):\n            return a", r"such as R.Tensor\(\(n,\)"),
    "formatted": ('z = f"{x}"', "write the string out"),
    "starred": ("a, *b = x, y, v", r"name every field, or take t\[0\]"),
    "two_targets": ("a = b = x", "one assignment binds one target"),
    "match": ("match x:\n            case _: pass", "`if`, `elif` and `else`"),
    "try": (
        "try:\n            z = x\n        except ValueError:\n            pass",
        "R.match_shape checks",
        "z = R.match_shape(o, (n, m))",
    ),
    "with": ("with x:\n            pass", r"with R.dataflow\(\):"),
    "global": ("global q", "as a parameter and return it"),
    "loop_over": ("for q in x:\n            pass", r"for i in R.range\(n\):"),
    "loop_step": ("for q in range(0, 9, -1):\n            x = x + 1.0", "by a positive int"),
    "break": (
        "while c:\n            break",
        "`while going and …:`",
        "going = c\n        while going and i > 3:\n            going = c",
    ),
    "continue": ("while c:\n            continue", "into an `if`"),
    "loop_else": (
        "for q in range(3):\n            x = x + 1.0\n        else:\n            x = y",
        "write it after the loop",
    ),
    "loop_variable": ("z = x\n        for z in range(3):\n            x = x + 1.0", "another name"),
    "loop_return": ("for q in range(3):\n            return x", "return it after the block"),
    "carried_type": (
        "s = x\n        for q in range(3):\n            s = R.concat([s, x])",
        "let it begin with unknown dimensions",
    ),
    "carried_dtype": (
        "s = x\n        for q in range(3):\n            s = R.astype(s, 'float64')",
        "astype it",
    ),
    "branches": ("if c:\n            z = x\n        else:\n            z = v", "match_shape or astype"),
    "condition": ("if x > 0.0:\n            x = y", "bool tensor of rank 0"),
    "prim_call": ("z = cls.prim(v)", r"R.call_tir\(cls.prim, args, out\)"),
    "packed_prim": (
        "z = R.call_dps_packed(cls.prim, (v,), R.Tensor((n,), 'float32'))",
        "name of a registered|string|R.call_tir",
    ),
    "closure": ("f = R.make_closure(helper, ())", "write cls.f|unknown name"),
    "output_outside": ("R.output(x)", "ends with `return`", "pass"),
    "no_output": ("with R.dataflow():\n            z = x", "ends with what leaves it"),
    "output_of_value": ("with R.dataflow():\n            R.output(x + 1.0)", "bind the value to one first"),
    "control_flow_in_dataflow": ("with R.dataflow():\n            if c: x = y", "close it before the `if`"),
    "annotated": ('z: R.Tensor((3, 4), "float32") = x', "R.match_shape asserts at run time"),
    "reshape": ("z = R.reshape(o, (-1,))", "match_shape"),
    "squeeze": ("z = R.squeeze(x, 0)", "match_shape it first"),
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
