"""TVM's pipelines by name: ``relax.get_pipeline("zero")``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from relax_mlir.error import ArgumentError, UnknownNameError, UnsupportedError
from relax_mlir.transform import Pass, RelaxToCalls, RelaxToRelax

Make: TypeAlias = Callable[..., Pass]
"""Creates a pipeline; takes the options of `get_pipeline`."""


def _zero() -> Pass:
    return RelaxToCalls()


def _optimised() -> Pass:
    return RelaxToRelax()


def _tuning(**options: Any) -> Pass:  # noqa: ANN401 - the options of TVM's
    raise UnsupportedError("get_pipeline: 'static_shape_tuning' is not available: relax_mlir.tuning tunes schedules")


_pipelines: dict[str, Make] = {
    "zero": _zero,
    "default": _optimised,
    "default_build": _optimised,
    "static_shape_tuning": _tuning,
}


def get_pipeline(name: str = "zero", **kwargs: Any) -> Pass:  # noqa: ANN401 - the options of a registered pipeline
    """A pipeline by name: ``zero`` lowers ops to fused prim funcs, ``default`` optimises on the level of Relax.

    Raises:
        UnknownNameError: no such pipeline. UnsupportedError: one of TVM that does not exist here.
    """
    if name not in _pipelines:
        raise UnknownNameError("pipeline", name, _pipelines)
    return _pipelines[name](**kwargs)


def register_pipeline(name: str) -> Callable[[Make], Make]:
    """Register a function that creates a pipeline, as a decorator; raises `ArgumentError` if the name is taken."""
    if name in _pipelines:
        raise ArgumentError(f"register_pipeline: '{name}' is registered already")

    def register(make: Make) -> Make:
        _pipelines[name] = make
        return make

    return register


def get_default_pipeline(target: object = None) -> Pass:
    """The optimisations of Relax, ``get_pipeline("default")``; `target` is accepted for TVM."""
    return get_pipeline("default")


def zero_pipeline() -> Pass:
    """``get_pipeline("zero")``."""
    return _zero()
