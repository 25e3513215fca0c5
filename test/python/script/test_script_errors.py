"""The exact error messages for invalid scripts."""
# ruff: noqa: E501 - messages are quoted verbatim

from __future__ import annotations

import pytest
from relax_mlir.error import ScriptError
from relax_mlir.script import parse

HEAD = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
"""

MISTAKES = {
    "unknown_op": (
        "y = R.ad(x, x)\nreturn y",
        [
            "1 mistake in the script",
            "<script>:5:13: UnknownNameError: unknown op 'R.ad'; did you mean 'R.add' or 'R.tan' or 'R.std'?",
            "    5 |         y = R.ad(x, x)",
            "      |             ^^^^",
        ],
    ),
    "unknown_name": (
        "y = R.add(x, z)\nreturn y",
        [
            "1 mistake in the script",
            "<script>:5:22: UnknownNameError: unknown name 'z'; known: c, constants, n, x",
            "    5 |         y = R.add(x, z)",
            "      |                      ^",
        ],
    ),
    "unknown_attribute": (
        "y = R.nn.sofmax(x)\nreturn y",
        [
            "1 mistake in the script",
            "<script>:5:13: UnknownNameError: unknown op 'R.nn.sofmax'; did you mean 'R.nn.softmax' or 'R.nn.log_softmax' or 'R.nn.lstm'?",
            "    5 |         y = R.nn.sofmax(x)",
            "      |             ^^^^^^^^^^^",
        ],
    ),
    "shape": (
        'y = R.add(x, R.zeros((3, 5), "float32"))\nreturn y',
        [
            "1 mistake in the script",
            "<script>:5:13: ShapeError: add: shapes (n, 4) and (3, 5), dimension -2: cannot tell whether n equals 3; match_shape one of the tensors first",
            '    5 |         y = R.add(x, R.zeros((3, 5), "float32"))',
            "      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "annotation": (
        'y: R.Tensor(("n", 5), "float32") = R.exp(x)\nreturn y',
        [
            "1 mistake in the script",
            '<script>:5:12: ShapeError: \'y\' is annotated as Tensor((n, 5), "float32"), but its value is Tensor((n, 4), "float32"); R.match_shape asserts at run time what is not known here',
            '    5 |         y: R.Tensor(("n", 5), "float32") = R.exp(x)',
            "      |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "several": (
        "y = R.ad(x, x)\nz = y + 1.0\nw = R.exp(q)\nreturn w",
        [
            "2 mistakes in the script",
            "<script>:5:13: UnknownNameError: unknown op 'R.ad'; did you mean 'R.add' or 'R.tan' or 'R.std'?",
            "    5 |         y = R.ad(x, x)",
            "      |             ^^^^",
            "<script>:7:19: UnknownNameError: unknown name 'q'; known: c, constants, n, x, y, z",
            "    7 |         w = R.exp(q)",
            "      |                   ^",
        ],
    ),
    "keyword": (
        "y = R.sum(x, axes=1)\nreturn y",
        [
            "1 mistake in the script",
            "<script>:5:22: ArgumentError: unknown argument of R.sum 'axes'; did you mean 'axis'?",
            "    5 |         y = R.sum(x, axes=1)",
            "      |                      ^^^^^^",
        ],
    ),
    "missing": (
        "y = R.add(x)\nreturn y",
        [
            "1 mistake in the script",
            "<script>:5:13: ArgumentError: R.add: missing a required argument: 'x2'; it takes (x1, x2)",
            "    5 |         y = R.add(x)",
            "      |             ^^^^^^^^",
        ],
    ),
    "noreturn": (
        "y = R.exp(x)",
        [
            "1 mistake in the script",
            "<script>:4:5: ScriptError: function 'main' has no `return`",
            '    4 |     def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):',
            "      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "result": (
        "return R.sum(x)",
        [
            "1 mistake in the script",
            '<script>:4:76: ShapeError: \'main\' is annotated to return Tensor((n, 4), "float32"), but returns Tensor((), "float32"); R.match_shape asserts at run time what is not known here',
            '    4 |     def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):',
            "      |                                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "nocallee": (
        "return cls.helper(x)",
        [
            "1 mistake in the script",
            "<script>:5:16: UnknownNameError: unknown function of the module 'helper'; known: main",
            "    5 |         return cls.helper(x)",
            "      |                ^^^^^^^^^^",
        ],
    ),
    "condition": (
        "if x:\n    y = x\nelse:\n    y = R.exp(x)\nreturn y",
        [
            "1 mistake in the script",
            '<script>:5:12: ArgumentError: the condition is Tensor((n, 4), "float32"), expected a bool tensor of rank 0',
            "    5 |         if x:",
            "      |            ^",
        ],
    ),
    "branches": (
        "if c:\n    y = x\nelse:\n    y = R.sum(x)\nreturn y",
        [
            "1 mistake in the script",
            '<script>:5:12: ShapeError: the branches give \'y\' different types: Tensor((n, 4), "float32") and Tensor((), "float32"); match_shape or astype one of them',
            "    5 |         if c:",
            "      |            ^",
        ],
    ),
    "dataflow": (
        "with R.dataflow():\n    y = R.exp(x)\nreturn y",
        [
            "1 mistake in the script",
            "<script>:5:9: ScriptError: the dataflow block has no R.output(...): it ends with what leaves it",
            "    5 |         with R.dataflow():",
            "      |         ^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "hidden": (
        "with R.dataflow():\n    a = R.exp(x)\n    y = R.exp(a)\n    R.output(y)\nreturn a",
        [
            "1 mistake in the script",
            "<script>:9:16: UnknownNameError: unknown name 'a'; known: c, constants, n, x, y",
            "    9 |         return a",
            "      |                ^",
        ],
    ),
    "method": (
        "return x.exp()",
        [
            "1 mistake in the script",
            "<script>:5:16: ScriptError: a value has no attribute 'exp' in a script; the ops are functions: R.exp(x, …)",
            "    5 |         return x.exp()",
            "      |                ^^^^^",
        ],
    ),
    "python": (
        "return print(x)",
        [
            "1 mistake in the script",
            "<script>:5:16: UnknownNameError: unknown function 'print'; the op is R.print (a script calls the ops R.…, and the functions of its module as cls.…)",
            "    5 |         return print(x)",
            "      |                ^^^^^",
        ],
    ),
    "symbol": (
        'return R.reshape(x, ("q", 4))',
        [
            "1 mistake in the script",
            '<script>:4:76: ShapeError: \'main\' is annotated to return Tensor((n, 4), "float32"), but returns Tensor((q, 4), "float32"); R.match_shape asserts at run time what is not known here',
            '    4 |     def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):',
            "      |                                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "effect": (
        'with R.dataflow():\n    R.call_packed("f", x)\n    y = R.exp(x)\n    R.output(y)\nreturn y',
        [
            "1 mistake in the script",
            "<script>:5:9: VerifyError: dataflow: relax.call_packed is not pure; dataflow blocks hold pure ops without control flow [invariant 4]",
            "    5 |         with R.dataflow():",
            "      |         ^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "constants": (
        'w = constants["w"]\nreturn x + w',
        [
            "1 mistake in the script",
            "<script>:5:13: ScriptError: constants has no entry 'w'; it has none: give them, parse(text, "
            "constants=script_constants(mod)), or keep the module with IRModule.save",
            '    5 |         w = constants["w"]',
            "      |             ^^^^^^^^^^^^^^",
        ],
    ),
    "dtype": (
        'return R.astype(x, "float33")',
        [
            "1 mistake in the script",
            "<script>:5:16: UnknownNameError: unknown dtype 'float33'; did you mean 'float32' or 'float64' or 'float16'?",
            '    5 |         return R.astype(x, "float33")',
            "      |                ^^^^^^^^^^^^^^^^^^^^^^",
        ],
    ),
    "syntax": (
        "return (x",
        [
            "1 mistake in the script",
            "<script>:5:16: SyntaxError: '(' was never closed",
            "    5 |         return (x",
            "      |                ^",
        ],
    ),
    "tuple": (
        "a, b = (x, x, x)\nreturn a",
        [
            "1 mistake in the script",
            "<script>:5:9: ScriptError: 2 names for 3 values",
            "    5 |         a, b = (x, x, x)",
            "      |         ^^^^",
        ],
    ),
    "index": (
        "return (x, x)[2]",
        [
            "1 mistake in the script",
            "<script>:5:16: ArgumentError: tuple index out of range",
            "    5 |         return (x, x)[2]",
            "      |                ^^^^^^^^^",
        ],
    ),
    "prim": (
        'return R.call_tir(x, (x,), R.Tensor(("n", 4), "float32"))',
        [
            "1 mistake in the script",
            "<script>:5:27: ScriptError: call_tir calls a prim func of the module: write cls.f (R.call_dps_packed calls registered functions)",
            '    5 |         return R.call_tir(x, (x,), R.Tensor(("n", 4), "float32"))',
            "      |                           ^",
        ],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    body, expected = MISTAKES[name]
    text = HEAD + "".join(f"        {line}\n" for line in body.split("\n"))
    with pytest.raises(ScriptError) as caught:
        parse(text)
    assert str(caught.value).split("\n") == expected
    assert len(caught.value.diagnostics) == int(expected[0].split()[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x = 1\n",
            "<script>:1:1: ScriptError: a script is a class with @I.ir_module, or functions with @R.function",
        ),
        ("", "<script>:1:1: ScriptError: the script has neither a class nor a function"),
        (
            "@R.function\ndef main(x):\n    return x\n",
            '<script>:2:10: ScriptError: parameter \'x\' needs an annotation, such as R.Tensor(("n", 4), "float32")',
        ),
        (
            '@R.function\ndef main(x: R.Tensr((2,), "f32")):\n    return x\n',
            "<script>:2:13: UnknownNameError: unknown annotation 'R.Tensr'; did you mean 'R.Tensor' or 'R.Tuple'?",
        ),
        (
            '@R.function\ndef main(x: R.Tensor(4, "f32")):\n    return x\n',
            "<script>:2:22: ScriptError: expected a shape: a tuple such as (n, 4), or (n,) with one dimension",
        ),
        (
            '@I.ir_module\nclass M:\n    I.mlir("""\n    func.func private @f(%x: tensor<4xf32>) {\n      retrn\n    }\n    """)\n',
            "<script>:5:7: ParseError: custom op 'retrn' is unknown (tried 'func.retrn' as well)",
        ),
        (
            "def f(x: R.Object()):\n    return x\n",
            "<script>:1:1: ScriptError: function 'f' needs the decorator @R.function or @T.prim_func",
        ),
    ],
)
def test_mistakes_outside_of_bodies(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(text)
    assert str(caught.value).split("\n")[1] == message


def test_a_prim_func_with_an_unmatched_handle() -> None:
    text = "@I.ir_module\nclass M:\n    @T.prim_func\n    def f(a: T.handle):\n        pass\n"
    with pytest.raises(ScriptError, match=r"<script>:4:11: .*handle 'a' needs its T.match_buffer"):
        parse(text)
