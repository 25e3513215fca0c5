"""``relax-tune`` and searches: what is refused, and what to do instead."""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from advice_rows import Rows
from relax_mlir import tuning
from relax_mlir.error import RelaxError
from relax_mlir.tools import tune_command

TASK = """
from relax_mlir import te, tuning

x = te.placeholder(("n", "m"), name="x")
y = te.compute(x.shape, lambda i, j: x[i, j] * 2.0, "y")


def schedule(outs):
    s = te.create_schedule(outs[0].op)
    tuning.get_config().define_knob("vectors", [True, False])
    if tuning.get_config()["vectors"].val:
        s[outs[0]].vectorize(outs[0].op.axis[1])
    return s


doubled = tuning.create_task(schedule, [x, y], "doubled")
"""
SPACE = {"a": [1, 2, 4], "b": ["x", "y"]}


def relax_tune(*arguments: str) -> list[tuning.Record]:
    """The measurement of one candidate by relax-tune; raises `RelaxError` with its message if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "tasks.py", Path(folder) / "t.json"
        source.write_text(TASK)
        given = [argument.format(out=out) for argument in arguments]
        said = io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            code = tune_command.run([str(source), "--trials", "1", *given])
        if code:
            raise RelaxError(said.getvalue())
        return tuning.Database(out).records


def measured(*sizes: str) -> None:
    record = relax_tune("--out", "{out}", *(word for each in sizes for word in ("--sizes", each)))[-1]
    assert not record.measurement.error
    wanted = [dict(item.split("=") for item in each.split(",")) for each in sizes]
    assert [{name: str(size) for name, size in each.items()} for each in record.sizes] == wanted


def without(module: str, kind: type[tuning.RandomSearch]) -> None:
    with mock.patch.dict(sys.modules, {module: None}):
        kind(SPACE)


TABLE = Rows(
    {
        "no-file": (
            lambda: relax_tune("--sizes", "n=2,m=3"),
            "give a file for what is measured: --out tuned.json",
        ),
        "sizes-twice": (lambda: measured("n=2,m=3,n=4"), "repeat the option for other sizes"),
        "a-symbol-too-few": (lambda: measured("n=2"), "task 'doubled' has a symbol 'm' too: give its size"),
        "xgboost": (lambda: without("xgboost", tuning.ModelSearch), r"pip install 'relax-mlir\[tuning\]'"),
        "optuna": (lambda: without("optuna", tuning.OptunaSearch), r"pip install 'relax-mlir\[tuning\]'"),
    }
)
