"""Every builder of an op, with hostile operands: all errors are those of this package."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.error import RelaxError

ROOMS = (op,)
BUILDERS = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in ROOMS
    for name in room.__all__
    if inspect.isfunction(getattr(room, name))
}
HOSTILE = (
    *(None, 10**22, -1, 2.5, True, "", "é\n\0", b"\0", object(), int, [], {}, (None,), ["x", 3], ("n", -1)),
    *(float("nan"), np.array([{}], dtype=object)),
)
PARTS = 8
OF_PYTHON = ("required positional", "required keyword-only", "positional argument", "takes no arguments")


def calls(build: Callable[..., object], x: rx.Var) -> list[tuple[object, ...]]:
    """The arguments of the calls: all hostile, or one among tensors."""
    parameters = inspect.signature(build).parameters.values()
    ordered = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    needed = sum(each.default is each.empty for each in ordered)
    places = range(min(len(ordered), 5))
    return [
        each
        for value in HOSTILE
        for each in (
            (value,) * needed,
            *((x,) * place + (value,) + (x,) * (needed - place - 1) for place in places),
        )
    ]


@pytest.mark.parametrize("part", range(PARTS if sweep.ALL else 1))
def test_hostile_operands(part: int) -> None:
    found = []
    for name, build in list(BUILDERS.items())[part::PARTS]:
        builder, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 8), "float32"))
        with builder.function("main", [x]):
            for arguments in calls(build, x):
                try:
                    build(*arguments)
                except RelaxError as error:
                    if "internal error" in str(error):
                        found.append(f"{name}{arguments}: {error}")
                except Exception as error:
                    if not (isinstance(error, TypeError) and any(text in str(error) for text in OF_PYTHON)):
                        found.append(f"{name}{arguments}: {type(error).__name__}: {error}")
            builder.emit_func_output(x)
    assert not found, "\n".join(found)
