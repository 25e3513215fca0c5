"""The passes that a pass requires, in the order in which they run before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.error import RelaxError

if TYPE_CHECKING:
    from relax_mlir.transform.info import PassInfo
    from relax_mlir.transform.pass_base import Pass


def required_passes(info: PassInfo) -> list[Pass]:
    """The passes that must run before, each after the passes that it requires.

    Raises:
        UnknownNameError: a required name that is not registered.
        RelaxError: passes that require one another.
    """
    order: dict[str, Pass] = {}
    _collect(info, (info.name,), order)
    return list(order.values())


def _collect(info: PassInfo, path: tuple[str, ...], order: dict[str, Pass]) -> None:
    from relax_mlir.transform.pass_pipeline import get_pass

    for name in info.required:
        if name in path:
            raise RelaxError(f"passes require each other: {' -> '.join((*path, name))}")
        if name in order:
            continue
        needed = get_pass(name)
        _collect(needed.info, (*path, name), order)
        order[name] = needed
