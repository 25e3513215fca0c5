"""The named pipelines of `relax_mlir.lowering.pipeline` as passes for the registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import UnknownNameError
from relax_mlir.lowering.legality import CheckLegality
from relax_mlir.lowering.pipeline import PIPELINES, pipeline_phases
from relax_mlir.target import Target
from relax_mlir.transform import Pass, PipelinePass


@dataclass(frozen=True)
class NamedPipeline(PipelinePass):
    """The phases up to and including one.

    `target` describes the machine. `start` is the level of the module if it is not Relax: only later phases run.
    """

    target: str = "cpu"
    start: str = ""

    def passes(self) -> Sequence[Pass]:
        """The phases as passes.

        Raises:
            UnknownNameError: `start` is no level before the end of this pipeline, or the target is unknown.
            ParseError: `target` is not a valid target description.
        """
        every = pipeline_phases(self.name, str(Target.parse(self.target)))
        if not self.start:
            return [phase.as_pass() for phase in every]
        names = [phase.name for phase in every[:-1]]
        if self.start not in names:
            raise UnknownNameError(f"level from which '{self.name}' starts", self.start, names)
        rest = every[names.index(self.start) + 1 :]
        return [CheckLegality(self.start), *(phase.as_pass() for phase in rest)]


def _named(name: str, summary: str) -> type[NamedPipeline]:
    """The class of the pipeline called `name`, as `relax_mlir.transform.registry` refers to it."""
    members = {"name": name, "__doc__": f"{summary[0].upper()}{summary[1:]}.", "__module__": __name__}
    return type(name.title().replace("-", ""), (NamedPipeline,), members)


CLASSES = {name: _named(name, summary) for name, summary in PIPELINES.items()}
"""The pass of each named pipeline."""
globals().update({cls.__name__: cls for cls in CLASSES.values()})
