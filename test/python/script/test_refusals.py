"""Every Python construct that a script does not support is refused at its location, with advice."""
# ruff: noqa: E501 - messages are quoted verbatim

from __future__ import annotations

import pytest
from relax_mlir.error import ScriptError
from relax_mlir.script import parse

HEAD = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), k: R.Prim("int64")) -> R.Tensor(("n", 4), "float32"):
"""

REFUSED = {
    "for else": (
        "for i in R.range(3):\n    x = x + x\nelse:\n    x = x\nreturn x",
        "x = x",
        "the `else` of a loop has no meaning without `break`: write it after the loop",
    ),
    "for over a tensor": (
        "for i in x:\n    x = x + x\nreturn x",
        "x",
        "loops run over a range: `for i in R.range(n):`, or `for i in R.range(begin, end, step):`",
    ),
    "for over enumerate": (
        "for i, j in R.range(3):\n    x = x + x\nreturn x",
        "i, j",
        "the variable of a loop is one name",
    ),
    "range of a tensor": (
        "for i in R.range(x):\n    x = x + x\nreturn x",
        "x",
        '`x` is Tensor((n, 4), "float32"); a range takes ints, symbols and integers',
    ),
    "range down": (
        "for i in R.range(3, 0, -1):\n    x = x + x\nreturn x",
        "R.range(3, 0, -1)",
        "for_loop: the step is -1; loops count upwards, by a positive int",
    ),
    "range from below": (
        "for i in R.range(-1, 3):\n    x = x + x\nreturn x",
        "R.range(-1, 3)",
        "for_loop: the loop begins at -1; it counts from 0 or more, so subtract in the body",
    ),
    "loop variable taken": (
        "for x in R.range(3):\n    y = c\nreturn x",
        "x",
        "'x' is a value already; give the loop variable another name",
    ),
    "carried shape": (
        "y = x\nfor i in R.range(3):\n    y = R.concat([y, x])\nreturn x",
        "y = R.concat([y, x])",
        'the loop changes \'y\' from Tensor((n, 4), "float32") to Tensor((2*n, 4), "float32"); a carried value keeps its type: match_shape it, or let it begin with unknown dimensions, as in match_shape(y, (None, None))',
    ),
    "carried dtype": (
        "y = x\nwhile R.sum(y) < 3.0:\n    if c:\n        y = y\n    y = R.astype(y, 'float64')\nreturn x",
        "y = R.astype(y, 'float64')",
        'the loop changes \'y\' from Tensor((n, 4), "float32") to Tensor((n, 4), "float64"); a carried value keeps its dtype: astype it',
    ),
    "carried number": (
        "y = 0.0\nfor i in R.range(3):\n    y = y + R.sum(x)\nreturn x",
        "R.range(3)",
        "the loop carries 'y', which is a Python number: write R.const(0.0, \"float32\")",
    ),
    "bound in the loop": (
        "for i in R.range(3):\n    y = x + x\nreturn y",
        "y",
        "'y' is bound in the loop only; bind it before the loop, so that the loop carries it",
    ),
    "loop variable after": (
        "for i in R.range(3):\n    y = x + x\nreturn x * i",
        "i",
        "'i' is the variable of a loop that has ended",
    ),
    "bound in a branch": (
        "if c:\n    y = x + x\nreturn y",
        "y",
        "'y' is bound in a branch only; bind it in both branches, or before the `if`",
    ),
    "while true": (
        "while True:\n    x = x + x\nreturn x",
        "True",
        "the condition is True in every round: the loop never ends",
    ),
    "break": (
        "while c:\n    break\nreturn x",
        "break",
        "loops end by their condition only: write `while going and …:`, with a bool tensor `going`",
    ),
    "continue": (
        "while c:\n    continue\nreturn x",
        "continue",
        "a round has no early end; put the rest of it into an `if`",
    ),
    "return in a loop": (
        "while c:\n    return x\nreturn x",
        "return x",
        "a loop or a dataflow block has no `return`: bind the value, and return it after the block",
    ),
    "loop in dataflow": (
        "with R.dataflow():\n    for i in R.range(3):\n        x = x + x\n    R.output(x)\nreturn x",
        "for i in R.range(3):",
        "a dataflow block has no control flow; close it before the loop",
    ),
    "one branch returns": (
        "if c:\n    return x",
        "if c:",
        "one branch returns and the other does not; a function ends with a `return` on every way",
    ),
    "both branches return": (
        "if c:\n    return x\nelse:\n    return x + x\ny = x\nreturn y",
        "y = x",
        "nothing may follow the end of the function: both branches return",
    ),
    "results differ": (
        "if c:\n    return x\nreturn R.sum(x)",
        "c",
        'the branches give the result different types: Tensor((n, 4), "float32") and Tensor((), "float32"); match_shape or astype one of them',
    ),
    "if of an integer": (
        "if k:\n    y = x\nreturn x",
        "k",
        'the condition is Prim("int64"), expected a bool tensor of rank 0; compare it, as in `k != 0`',
    ),
    "and of elements": (
        "return R.where(x > 0.0 and x < 1.0, x, x)",
        "x > 0.0 and x < 1.0",
        '`and` takes bool tensors of rank 0, this is Tensor((n, 4), "bool"); write R.logical_and for elements',
    ),
    "not of elements": (
        "return R.where(not (x > 0.0), x, x)",
        "not (x > 0.0)",
        '`not` takes bool tensors of rank 0, this is Tensor((n, 4), "bool"); write R.logical_not for elements',
    ),
    "chain of elements": (
        "return R.where(0.0 < x < 1.0, x, x)",
        "0.0 < x < 1.0",
        'chains of comparisons take bool tensors of rank 0, this is Tensor((n, 4), "bool"); write R.logical_and for elements',
    ),
    "in": ("return R.where(x in x, x, x)", "x in x", "`in` and `is` have no meaning for tensors"),
    "starred target": (
        "a, *b = (x, x, x)\nreturn a",
        "*b",
        "a starred name has no type; name every field, or take t[0], t[1], …",
    ),
    "element assigned": (
        "x[0] = x\nreturn x",
        "x[0]",
        "values do not change: `x[0] = …` makes no sense; R.where or R.concat make a new value",
    ),
    "attribute assigned": (
        "x.y = x\nreturn x",
        "x.y",
        "values have no attributes to set: bind `x.y` to a name",
    ),
    "f-string": (
        "R.call_packed(f'f{c}', x)\nreturn x",
        "f'f{c}'",
        "expected a string",
    ),
    "comprehension": (
        "y = [x for _ in (1, 2)]\nreturn x",
        "[x for _ in (1, 2)]",
        "comprehensions are not unrolled: write the elements out, or a loop that carries a value",
    ),
    "try": (
        "try:\n    y = x\nexcept ValueError:\n    y = x\nreturn x",
        "try:",
        "exceptions have no meaning in a script; R.match_shape checks shapes at run time",
    ),
    "raise": (
        "raise ValueError\nreturn x",
        "raise ValueError",
        "exceptions have no meaning in a script; R.match_shape checks shapes at run time",
    ),
    "del": (
        "del x\nreturn c",
        "del x",
        "values do not end: leave the `del` out, memory is planned by the compiler",
    ),
    "global": (
        "global g\nreturn x",
        "global g",
        "a function has no global state; pass the value as a parameter and return it",
    ),
    "walrus": ("return (y := x)", "y := x", "`:=` hides a binding: write `y = …` on a line of its own"),
    "await": ("return (await x)", "await x", "a script has no coroutines; the call runs where it stands"),
    "yield": ("yield x\nreturn x", "yield x", "a script has no generators; return a tuple"),
    "set": ("y = {x}\nreturn x", "{x}", "a script has no sets; write a tuple"),
    "too many indices": ("return x[0, 0, 0]", "0, 0, 0", "3 indices for a tensor of rank 2"),
    "index by a value": (
        "return x[k]",
        "k",
        "`k` is known at run time only; R.match_shape(k, (i,)) gives it a symbol",
    ),
    "index by a tensor": (
        "return x[c]",
        "c",
        "an index is an integer; R.take takes the elements that a tensor of indices says",
    ),
    "integer as a dimension": (
        "return R.reshape(x, R.shape([k, 4]))",
        "k",
        "'k' is an integer known at run time only; R.match_shape(k, (m,)) gives it the symbol m",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    body, underlined, expected = REFUSED[name]
    text = HEAD + "".join(f"        {line}\n" for line in body.split("\n"))
    with pytest.raises(ScriptError) as caught:
        parse(text)
    _, head, line, carets = str(caught.value).split("\n")
    _, _, _, _, message = head.split(":", 4)
    assert message.strip() == expected
    begin, end = carets.index("^"), carets.rindex("^") + 1
    assert line[begin:end] == underlined
