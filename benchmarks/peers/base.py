"""What a contestant is."""

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
    """A workload with its inputs in place: ``call`` is what is timed, ``to_numpy`` reads its result."""

    call: Callable[[], Any]
    to_numpy: Callable[[Any], Array]


Prepared = Callable[[Sequence[Array]], Bound]
"""A workload made ready once for all sizes; it binds the inputs of one size, converted beforehand."""


class Peer(ABC):
    """A way to compute a workload."""

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
        """Convert the constants, build and compile: everything that does not depend on the size."""
