"""Stock ``mlir-opt`` reads every Relax module of the corpus with the generated IRDL file (where it is installed)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import relax_mlir as rx
from fuzz_corpus import corpus
from relax_mlir.error import ParseError, VerifyError
from relax_mlir.isolation import crash_of
from relax_mlir.module_text import PrintOptions, module_text
from relax_mlir.transform import create_pass

IRDL = Path(__file__).resolve().parents[3] / "dialects" / "relax.irdl.mlir"
MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
SEPARATOR = "\n// -----\n"

pytestmark = pytest.mark.skipif(MLIR_OPT is None, reason="no mlir-opt; Debian's mlir-22-tools has one")


def _readable(text: str) -> bool:
    try:
        rx.IRModule.parse(text, trusted=True)
    except (ParseError, VerifyError):
        return False
    return True


def relax_modules() -> list[rx.IRModule]:
    """The modules of the corpus that are valid and have a Relax op."""
    found = []
    texts = [text for text in corpus(most_lines=10_000) if "relax." in text]
    trusted = crash_of(lambda: [_readable(text) for text in texts]) is None  # one child process for all texts
    for text in texts:
        try:
            module = rx.IRModule.parse(text, trusted=trusted)
            module.verify()
        except (ParseError, VerifyError):
            continue  # a text that tests a message
        found.append(module)
    return found


def generic(module: rx.IRModule) -> str:
    return module_text(module.mlir, PrintOptions(generic=True))


def mlir_opt(texts: list[str], *flags: str) -> str:
    """The output of ``mlir-opt`` on all texts, which it must accept."""
    assert MLIR_OPT is not None
    command = [MLIR_OPT, f"--irdl-file={IRDL}", "--split-input-file", "--mlir-print-op-generic", *flags, "-"]
    done = subprocess.run(
        command, input=SEPARATOR.join(texts), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    return done.stdout


def op_names(text: str) -> list[str]:
    return re.findall(r'"([a-z_]+\.[a-zA-Z_0-9.]+)"\(', text)


def test_reads_every_module() -> None:
    """Parsed as it is, and verified without dataflow blocks.

    IRDL cannot say that ``relax.output`` and ``relax.lambda_return`` are terminators, so that stock tools miss one at
    the end of dataflow blocks and of functions inside functions: those are parsed without the verifier.
    """
    modules = relax_modules()
    texts = [generic(module) for module in modules]
    assert len(texts) > 60
    printed = mlir_opt(
        texts, "--mlir-very-unsafe-disable-verifier-on-parsing", "--mlir-print-assume-verified"
    )
    assert sorted(op_names(printed)) == sorted(name for text in texts for name in op_names(text))
    for module in modules:
        create_pass("to-non-dataflow").execute(module.mlir, rx.transform.PassContext())
    flat = [generic(module) for module in modules]
    flat = [text for text in flat if "relax.lambda_return" not in text]
    assert len(flat) > len(texts) - 10
    mlir_opt(flat)


def test_rejects_what_the_file_forbids() -> None:
    """The constraints of the IRDL file are in force."""
    with pytest.raises(AssertionError, match="expects exactly 2 operands"):
        mlir_opt(
            [
                '%0 = "tensor.empty"() : () -> tensor<2xf32>\n"relax.add"(%0) : (tensor<2xf32>) -> tensor<2xf32>'
            ]
        )
