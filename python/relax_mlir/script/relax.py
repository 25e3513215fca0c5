"""The script names in ``R``: annotations, statements, decorators and all ops.

``from relax_mlir.script import relax as R``. In a script these names are parsed, not called.
"""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Iterator, Mapping

from relax_mlir import op
from relax_mlir.script.decorators import function

func = function
"""An older name of `function`."""


class Annotation:
    """An annotation in a signature: ``R.Tensor((\"n\", 4), \"float32\")`` or ``R.Tensor[(n, 4), \"f32\"]``."""

    def __init__(self, *arguments: object, **named: object) -> None:
        self.arguments = arguments

    def __class_getitem__(cls, item: object) -> type[Annotation]:
        return cls


class Tensor(Annotation):
    """A tensor; shape and dtype are both optional."""


class Shape(Annotation):
    """A shape value."""


class Prim(Annotation):
    """A symbolic integer."""


class Tuple(Annotation):
    """A tuple of values."""


class Callable(Annotation):
    """A function as a value: ``R.Callable((R.Tensor(...),), R.Tensor(...), pure=True)``."""


class Object(Annotation):
    """An opaque object."""


Any = Object
"""TVM's name of `Object`."""


@contextlib.contextmanager
def dataflow() -> Iterator[None]:
    """``with R.dataflow():``: a block of pure ops, ended by `output`."""
    yield


def output(*values: object) -> None:
    """The values that leave a dataflow block."""


outputs = output


def range(*bounds: object) -> Iterator[typing.Any]:
    """``for i in R.range(begin, end, step):``; bounds are ints, symbols or integer values."""
    yield from ()


def func_attr(attributes: Mapping[str, typing.Any]) -> None:
    """Attributes of the function."""


def shape(values: typing.Any) -> typing.Any:  # noqa: ANN401 - read, not called
    """A shape value: ``R.shape([n, 4])``."""
    return op.shape_expr(values)


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401 - an op builder
    try:
        return getattr(op, name)
    except AttributeError:
        raise AttributeError(f"relax_mlir.script.relax has no op '{name}'") from None


__all__ = [
    "Annotation", "Any", "Callable", "Object", "Prim", "Shape", "Tensor", "Tuple", "dataflow", "func",
    "func_attr", "function", "output", "outputs", "range", "shape",
]  # fmt: skip
