"""Configuration of ``lit test/lit``: a folder per folder of the tree, tools from the running Python.

Tools are forked from a process that has imported them. ``lit -Dcold=1 test/lit`` starts an interpreter for each.
"""

import os
import sys

import lit.formats

config.name = "relax-mlir"  # noqa: F821 - lit provides `config`
if hasattr(os, "fork") and not lit_config.params.get("cold"):  # noqa: F821 - lit provides `lit_config`
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python", "support"))
    from warm_format import WarmShTest

    config.test_format = WarmShTest()  # noqa: F821
else:
    config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_exec_root = os.path.join(  # noqa: F821
    os.environ.get("RELAX_MLIR_LIT_OUTPUT", os.path.join(config.test_source_root, ".output"))  # noqa: F821
)
config.maxIndividualTestTime = 60  # noqa: F821

for variable in ("RELAX_MLIR_BINDINGS", "PYTHONPATH", "HOME", "LD_LIBRARY_PATH"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]  # noqa: F821


def tool(name: str, command: str) -> tuple[str, str]:
    """Replace the bare word `name`, but not where it is part of a path, an option or another word."""
    return rf"(?<![\w./-]){name}(?![\w./-])", command


python = sys.executable.replace("\\", "/")
config.substitutions += [  # noqa: F821
    # Both forms of an op survive printing and parsing: pretty, and generic.
    ("%roundtrip-generic", "relax-opt %s --mlir-print-op-generic | relax-opt | filecheck %s"),
    ("%roundtrip", "relax-opt %s | relax-opt | filecheck %s"),
    tool("relax-opt", f"{python} -m relax_mlir.tools.opt"),
    tool("filecheck", f"{python} -m filecheck"),
    tool("python", python),
]
