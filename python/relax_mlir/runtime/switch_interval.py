"""Shorten the GIL switch interval, since compiling threads need the GIL only briefly between LLVM calls."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from relax_mlir.fork_safety import Order, SharedChange

SECONDS = 0.0003
"""Python's default is 0.005: a thread would wait that long, ten times per unit, while another one lowers the rest."""

_ROUNDED = 0.5e-6
"""The interpreter truncates the interval to microseconds."""


def _shorten() -> Callable[[], None]:
    before = sys.getswitchinterval()
    _set(min(SECONDS, before))
    return functools.partial(_set, before)


def _set(seconds: float) -> None:
    sys.setswitchinterval(seconds + _ROUNDED)


_change = SharedChange(Order.SWITCH_INTERVAL, _shorten)


def short_switch_interval() -> AbstractContextManager[None]:
    """A context in which the interpreter switches between threads more often, in whatever thread."""
    return _change.made()
