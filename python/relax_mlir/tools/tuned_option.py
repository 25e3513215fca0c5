"""``--strategies`` and ``--tuned``: users' registrations for ops, and the values found by ``relax-tune``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from relax_mlir.tools import colour
from relax_mlir.tools.command_line import completed

if TYPE_CHECKING:
    from relax_mlir.target import Target


def add_strategies(parser: ArgumentParser) -> None:
    """Add the option for files that register strategies."""
    strategies = parser.add_argument(
        "--strategies",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run a Python file that registers strategies first (may be repeated)",
    )
    completed(strategies)


def add_tuned(parser: ArgumentParser) -> None:
    """Add the options of tools that compile: files of strategies, and of measurements."""
    add_strategies(parser)
    tuned = parser.add_argument(
        "--tuned", metavar="FILE", help="take the values of knobs that relax-tune has found (tuned.json)"
    )
    completed(tuned)


def load_strategies(paths: Sequence[str]) -> None:
    """Run the files of ``--strategies``; raises ParseError, ArgumentError."""
    if paths:
        from relax_mlir.tools.plugins import load_plugin  # needed for this option only

        for path in paths:
            load_plugin(path)


def tuned_schedules(tool: str, path: str | None, target: Target | None) -> AbstractContextManager[None]:
    """Use the measured values of a file for schedules built in the context; without a path, their default values.

    A note reports that the file has measurements for other targets. `target` None: the target of each pass is used, and
    it is an error if a schedule was measured for other targets only.

    Raises:
        ParseError: the file does not exist, or is not a file of measurements.
    """
    if path is None:
        return nullcontext()
    from relax_mlir.tuning.database import (  # needed for this option only
        apply_history_best,
        existing_database,
    )

    database = existing_database(path)
    if target is None:
        return apply_history_best(database)
    if others := database.other_targets(target):
        print(colour.note_line(tool, f"{path}: {others}", sys.stderr), file=sys.stderr)
    return apply_history_best(database.for_target(target))
