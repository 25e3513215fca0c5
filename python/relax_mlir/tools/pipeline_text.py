"""``--dump-pass-pipeline``: the passes of a pipeline, in the syntax of ``--pass-pipeline``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relax_mlir.transform import MLIRPass, Pass, PassContext, PipelinePass, Sequential


def pipeline_text(passes: Iterable[Pass], ctx: PassContext) -> str:
    """The passes that run in a context, one per line, with named pipelines expanded."""
    texts = [each.info.text for each in _leaves(passes, ctx)]
    head = f"Pass Manager with {len(texts)} passes:"  # "1 passes", as in mlir-opt
    inside = ",\n".join(f"  {text}" for text in texts)
    if not texts:
        return f"{head}\nbuiltin.module()\n"
    return f"{head}\nbuiltin.module(\n{inside}\n)\n"


def _leaves(passes: Iterable[Pass], ctx: PassContext) -> Iterator[Pass]:
    for each in passes:
        if not ctx.pass_enabled(each.info):
            continue
        if isinstance(each, PipelinePass):
            yield from _leaves(each.passes(), ctx)
        elif isinstance(each, Sequential) or (isinstance(each, MLIRPass) and len(each.passes) != 1):
            yield from _leaves(each.passes, ctx)
        else:
            yield each
