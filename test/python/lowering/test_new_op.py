"""A new op has a definition, a lowering and a test: all else follows from the class."""

from __future__ import annotations

import importlib
from pathlib import Path

import cold_process
from relax_mlir.dialects.base import op_classes
from relax_mlir.dialects.dialect import families
from relax_mlir.lowering.legalize import rules

DEFINITION = '''
"""Multiples of tensors."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.fields import Float, Operand
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.mlir import ext


class ScaledOp(RelaxOp, name="nn_scaled", traits=[ext.Pure]):
    """Each element of `data` times `factor`. Example: ``[1.0]`` gives ``[2.0]``."""

    op_pattern = OpPatternKind.ELEMWISE

    data: Operand
    factor: Float = 2.0
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.is_float, "a float")
        return args.tensor(0)


class HalvedOp(RelaxOp, name="halved", traits=[ext.Pure]):
    """Half of each element of `data`, in a tensor of known rank. Example: ``[1.0]`` gives ``[0.5]``."""

    data: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return args.tensor(0)
'''

LOWERING = '''
"""Lowering of multiples of tensors."""

from relax_mlir import topi
from relax_mlir.dialects.multiples import HalvedOp, ScaledOp
from relax_mlir.lowering.legalize.prim_bodies import dtype_of, elementwise_prim
from relax_mlir.lowering.legalize.rules import expression, lower
from relax_mlir.scalars.arithmetic import const, multiply


@lower(ScaledOp)
def scaled(lz, op):
    dtype, factor = dtype_of(op.operands[0]), op.args.float_attr("factor")
    return elementwise_prim(lz, op, lambda x: multiply(dtype, x, const(dtype, factor)), key=(factor,))


def is_matrix(attrs, inputs, out_type):
    return inputs[0].ndim == 2 or "needs a matrix"


@expression(HalvedOp)
def halved(attrs, inputs, out_type):
    return topi.multiply(inputs[0], 0.5)


@expression(HalvedOp, name="by rows", when=is_matrix, priority=20)
def halved_rows(attrs, inputs, out_type):
    return topi.multiply(inputs[0], 0.5)
'''

TEST = """
import inspect, sys
import numpy as np
import relax_mlir.dialects, relax_mlir.lowering.legalize

relax_mlir.dialects.__path__.append(sys.argv[1] + "/dialects")
relax_mlir.lowering.legalize.__path__.append(sys.argv[1] + "/legalize")

import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.op.generate_stubs import stubs
from relax_mlir.strategy import explain_strategy

assert [*inspect.signature(R.nn.scaled).parameters] == ["data", "factor"]
assert "def scaled(data: ValueLike, factor: float = 2.0) -> Value: ..." in stubs()["nn"]
assert R.infer_rule("relax.nn.scaled")(rx.Tensor(("n", 4))) == rx.Tensor(("n", 4))
module = rx.script.parse('''
@R.function
def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(dtype="float32")):
    return R.nn.scaled(x, factor=3.0), R.halved(x), R.nn.scaled(y), R.halved(y)
''')
assert "R.nn.scaled(x, factor=3.0)" in module.script(), module.script()
with explain_strategy() as report:
    run = rx.build(module, cache=False)
assert "taken   by rows   20" in report.render(80), report.render(80)
x = np.arange(6, dtype=np.float32).reshape(2, 3)
for found, factor in zip(run["main"](x, x), (3, 0.5, 2, 0.5)):
    np.testing.assert_array_equal(np.asarray(found), factor * x)
try:
    R.nn.scaled(x, 1)
except rx.error.ArgumentError as error:
    print(error)
"""


def test_new_op_is_three_files(tmp_path: Path) -> None:
    for folder, text in (("dialects", DEFINITION), ("legalize", LOWERING)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "multiples.py").write_text(text)
    done = cold_process.run(["-c", TEST, str(tmp_path)])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nn.scaled: no function is being built")


def test_every_lowering_is_in_the_file_of_its_op() -> None:
    """The lowering of an op is found by the name of the file of its class."""
    for family in families():
        if importlib.util.find_spec(f"relax_mlir.lowering.legalize.{family}"):
            importlib.import_module(f"relax_mlir.lowering.legalize.{family}")
    known = {name: cls.__module__.rpartition(".")[2] for name, cls in op_classes().items()}
    functions = {
        **{name: [rule] for name, rule in rules._rules.items()},
        **{name: [rule] for name, rule in rules._runtime_rules.items()},
        **{name: [i.rule or i.compute for i in found] for name, found in rules._implementations.items()},
    }
    assert len(functions) > 150
    shared = {"prim_bodies", "rules"}  # functions that several families call: `by_topi` is in rules
    wrong = {
        name
        for name, found in functions.items()
        for function in found
        if (file := function.__module__.rpartition(".")[2]) != known[name] and file not in shared
    }
    assert wrong == set()
