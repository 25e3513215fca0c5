"""The error messages for invalid prim funcs."""

from __future__ import annotations

import pytest
from relax_mlir.error import ScriptError
from relax_mlir.script import parse

HEAD = """@T.prim_func
def k(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n",), "int32"), s: T.int64):
"""
MISTAKES = {
    "rank": (
        "B[0] = 1\nA[0] = 1.0",
        "<script>:4:5: ShapeError: 'A' has 2 dimensions, 1 indices given: write A[i, j]",
    ),
    "name": ("A[0, 0] = x", "<script>:3:15: UnknownNameError: unknown name 'x'"),
    "buffer": ("C[0] = 1", "<script>:3:5: UnknownNameError: unknown name 'C'"),
    "dtype": ("B[0] = A[0, 0]", "DTypeError: the value is float32, but 'B' holds int32; convert it"),
    "literal": ("B[0] = 1.5", "<script>:3:12: DTypeError: 1.5 is no value of dtype int32"),
    "literal range": ("B[0] = 2 ** 40", "DTypeError: 1099511627776 does not fit int32"),
    "mixed": ("A[0, 0] = A[0, 0] + B[0]", "add: operands are float32 and int32; convert one, as in T.cast"),
    "index and float": ("A[0, 0] = A[0, 0] * s", "multiply: operands are float32 and int64 (an index)"),
    "integer parameter": ("s[0] = 1", "<script>:3:5: ScriptError: `s` is no buffer"),
    "reassigned parameter": ("s = 1", "'s' has a value already"),
    "buffer as a value": ("A[0, 0] = A", "'A' is a buffer; read an element, as in A[i, j]"),
    "float index": (
        "A[0, A[0, 0]] = 1.0",
        "<script>:3:10: DTypeError: the index is float32, expected an integer",
    ),
    "condition": (
        "if s:\n    B[0] = 1",
        "<script>:3:8: DTypeError: the condition is int64 (an index), expected bool",
    ),
    "division": ("B[0] = B[0] / 2", "truediv has no meaning for int32; integers divide by //"),
    "function of integers": ("B[0] = T.exp(B[0])", "exp has no meaning for int32; convert to a float first"),
    "function": ("A[0, 0] = T.ex(1.0)", "unknown function 'T.ex'; did you mean 'T.exp'"),
    "arity": ("A[0, 0] = T.exp(A[0, 0], 1.0)", "ArgumentError: exp takes 1 arguments, 2 given"),
    "changed in a loop": (
        "x = 0\nfor i in range(n):\n    x = i",
        "<script>:5:9: ScriptError: 'x' has a value already, which a loop or branch cannot change",
    ),
    "loop": ("for i in [1, 2]:\n    B[i] = 1", "<script>:3:14: ScriptError: a loop runs over range(n)"),
    "loop variables": ("for i, j, k in T.grid(n, 4):\n    pass", "3 loop variables for 2 loops"),
    "break": ("for i in range(n):\n    break", "loops have no break or continue"),
    "return": ("return A", "a prim func returns nothing"),
    "with": ("with open(s):\n    pass", '`with` opens a T.block("name")'),
    "axes": (
        'for i in range(n):\n    with T.block("b"):\n        vi = T.axis.remap("SS", [i])',
        "1 axes, 2 kinds and 1 bindings must be as many",
    ),
    "slice": ("A[0:1, 0] = 1.0", "slices have no meaning here"),
    "matmul": ("A[0, 0] = A[0, 0] @ A[0, 0]", "a prim func has no matrix product"),
    "reads": ("T.reads(A[0])\nB[0] = 1", "'A' has 2 dimensions, 1 given"),
    "negative size": ("C = T.alloc_buffer((-1,))", "is negative"),
    "python": ("A[0, 0] = sum(A)", "`sum` is no function of a prim func"),
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(body: str, message: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    with pytest.raises(ScriptError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "^" in str(caught.value)


HEADS = {
    'A: T.Buffer(("n * 2",), "float32")': "symbol 'n' of 'A' is never determined: no dimension is 'n' alone",
    "A": "parameter 'A' needs an annotation",
    'A: R.Tensor((4,), "float32")': "expected T.Buffer(shape, dtype), T.handle or T.int64",
    'A: T.Buffer((4,), "float31")': "unknown dtype 'float31'",
    'A: T.Buffer((4,), "float32", strides=1)': "a buffer takes a shape and a dtype, not 'strides'",
    "a: T.handle": "handle 'a' needs its T.match_buffer(a, shape, dtype)",
    "n: T.int64": "prim func 'k' has no buffer to write its result to",
}


@pytest.mark.parametrize(("head", "message"), HEADS.items())
def test_mistakes_in_heads(head: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(f"@T.prim_func\ndef k({head}):\n    pass\n")
    assert message in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ScriptError) as caught:
        parse(HEAD + "    A[0, 0] = x\n    B[0] = y\n    for i in range(n):\n        B[i] = 1.5\n")
    assert str(caught.value).startswith("3 mistakes in the script")


def test_a_mistake_does_not_follow_its_names() -> None:
    with pytest.raises(ScriptError, match="1 mistake"):
        parse(HEAD + "    x = y\n    A[0, 0] = x\n")


@pytest.mark.parametrize(
    "call",
    [
        "T.thread_binding(n)",
        'T.thread_binding(n, thread="warp")',
        'T.thread_binding(n, thread="threadIdx.x", threads=4)',
        'T.thread_binding(0, n, 2, thread="threadIdx.x")',
    ],
)
def test_loops_are_bound_to_threads_of_known_names(call: str) -> None:
    with pytest.raises(ScriptError, match=r"with one of blockIdx\.x, blockIdx\.y"):
        parse(HEAD + f"    for i in {call}:\n        B[i] = 1\n")
