"""TVM's ``target``: descriptions of CPUs, as texts and contexts."""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import Any

from relax_mlir import target
from relax_mlir.error import UnsupportedError

_current: ContextVar[tuple[Target, ...]] = ContextVar("tvm_targets", default=())
CPUS = ("llvm", "c", "cpu")
"""The kinds of TVM that are CPUs."""


class Target(target.Target):
    """A target from TVM's text: ``Target("llvm -mcpu=haswell")``; in its context, the target of `compile`.

    Raises:
        UnsupportedError: a target that is no CPU.
    """

    def __init__(self, text: str | dict[str, Any] = "llvm", host: str | None = None) -> None:
        """`text` may also be a dictionary of ``kind`` and options; `host` is accepted for TVM."""
        if isinstance(text, dict):
            options = (f"-{key}={value}" for key, value in text.items() if key in ("mcpu", "mtriple", "num-threads"))
            text = " ".join([str(text.get("kind", "llvm")), *options])
        kind, _, options_text = str(text).strip().partition(" ")
        if kind.partition("/")[0] not in CPUS:
            raise UnsupportedError(f"Target: '{kind}' is not available; targets are CPUs: Target('llvm')")
        super().__init__(f"cpu {options_text}".strip())

    @staticmethod
    def of(given: str | target.Target) -> target.Target:
        """The target that `given` describes."""
        return given if isinstance(given, target.Target) else Target(given)

    @staticmethod
    def current(allow_none: bool = True) -> target.Target:
        """The target of the enclosing ``with``, else the host."""
        return _current.get()[-1] if _current.get() else target.Target.host()

    @staticmethod
    def from_device(device: object) -> Target:
        """The CPU of this machine; raises `UnsupportedError` for another device."""
        return Target(str(device).partition(":")[0])

    def __enter__(self) -> Target:
        _current.set((*_current.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.set(_current.get()[:-1])
