"""torch-mlir's own lowering of PyTorch's ops, which the bindings of the provider ``torch_mlir`` include.

`torch_text` writes a PyTorch graph in MLIR's dialect ``torch``. ``python -m relax_mlir.mlir.torch_lowering`` is a child
process that reads such a text and prints it lowered to loops and linalg on buffers: for unexpected ops, passes of
torch-mlir may crash their process, or not terminate.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from relax_mlir.mlir import PassManager, extension, ir

_TO_LINALG = (
    "builtin.module(torchdynamo-export-to-torch-backend-pipeline{extra-library= },"
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true})"
)
_TO_BUFFERS = (
    "builtin.module(func.func(tm-tensor-bufferize),one-shot-bufferize{allow-return-allocs-from-loops=true "
    "bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map copy-before-write=true},"
    "buffer-results-to-out-params{modify-public-functions=true},func.func(tm-tensor-to-loops),canonicalize,cse)"
)
"""Results become trailing parameters; no other parameter is written."""


def torch_text(graph: Any) -> str:  # noqa: ANN401 - a torch.fx.Graph
    """A graph of ``torch.fx``, of functional ATen ops, as the function ``main`` in MLIR's dialect ``torch``.

    Raises:
        ImportError: the bindings are not those of torch-mlir.
        Exception: of any kind, from torch-mlir's importer, for unsupported constructs.
    """
    importer_class = extension("extras.fx_importer").FxImporter
    with _context():
        importer = importer_class(context=ir.Context.current)
        importer.import_stateless_graph(graph, func_name="main")
        return str(importer.module.operation.get_asm())


def lowered(text: str) -> str:
    """The result of `torch_text` lowered to buffers, in generic form. Raises MLIRError."""
    with _context():
        module = ir.Module.parse(text)
        for pipeline in (_TO_LINALG, _TO_BUFFERS):
            PassManager.parse(pipeline).run(module.operation)
        return str(module.operation.get_asm(print_generic_op_form=True))


@contextlib.contextmanager
def _context() -> Any:  # noqa: ANN401 - an iterator
    context = ir.Context()
    context.enable_multithreading(False)
    extension("dialects.torch").register_dialect(context)
    with context:
        yield


def main() -> int:
    """The child process: reads the text from stdin, prints the lowered text to stdout, and errors to stderr."""
    try:
        found = lowered(sys.stdin.read())
    except ir.MLIRError as error:
        print(next((d.message for d in error.error_diagnostics), str(error)), file=sys.stderr)
        return 1
    sys.stdout.write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
