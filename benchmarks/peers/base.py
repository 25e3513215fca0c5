"""The interface of a peer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

from benchmarks.ops import Array
from benchmarks.workloads import Workload


@dataclass(frozen=True)
class Bound:
    """A workload with bound inputs: ``call`` is timed, ``to_numpy`` reads its result."""

    call: Callable[[], Any]
    to_numpy: Callable[[Any], Array]


Prepared = Callable[[Sequence[Array]], Bound]
"""A workload prepared once for all sizes; it binds the inputs of one size, converted beforehand."""


class Peer(ABC):
    """A system that computes workloads."""

    name: ClassVar[str]
    distribution: ClassVar[str]

    def available(self) -> str | None:
        """The installed version, or None."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None

    @abstractmethod
    def prepare(self, workload: Workload) -> Prepared:
        """Convert the constants, build and compile: all work that does not depend on the size."""
