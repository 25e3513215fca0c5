"""A failing mutant as a Python file that runs by itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from worker_pool import Answer

HERE = Path(__file__).resolve().parent
TEMPLATE = '''"""{title}

Mutant {number} of seed {seed} ({origin}; {steps}).
"""

import numpy as np
import tvm_ffi

import relax_mlir as rx
from relax_mlir.script import parse as parse_script
from relax_mlir.transform import parse_pipeline

{draws}

TEXT = {text!r}

module = {read}
module.verify()
{passes}executable = rx.build(module, cache=False)
{calls}'''


def write_repro(folder: Path, seed: int, number: int, mutant: dict[str, Any], answer: Answer) -> Path:
    """Write the file of a mutant; gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{answer.kind}-{number}.py"
    source = (HERE / "draws.py").read_text(encoding="utf-8")
    read = "rx.IRModule.parse(TEXT)" if mutant["language"] == "ir" else "parse_script(TEXT)"
    passes = f'parse_pipeline("{",".join(mutant["passes"])}")(module.mlir)\n' if mutant["passes"] else ""
    content = TEMPLATE.format(
        title=answer.failure[:1500].replace("\\", "/").replace('"""', "'''"),
        number=number,
        seed=seed,
        origin=mutant["origin"],
        steps=", ".join(name for name, _ in mutant["steps"]),
        draws=source.partition("import numpy as np\n")[2].strip().replace("import ml_dtypes\n", ""),
        text="",
        read=read,
        passes=passes,
        calls=_calls(answer),
    )
    content = content.replace(
        "import numpy as np\n", "from typing import Any\n\nimport ml_dtypes\nimport numpy as np\n", 1
    )
    text = mutant["text"].replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    path.write_text(
        content.replace("TEXT = ''", f'TEXT = """\n{text}"""'), encoding="utf-8", errors="replace"
    )
    return path


def _calls(answer: Answer) -> str:
    """The calls that were made, up to the one that failed."""
    lines = []
    for stage in answer.stages:
        found = re.fullmatch(r"call ([^(]*)\((.*)\)", stage)
        if found:
            lines.append("arguments = []\nsame = arguments.__getitem__")
            lines += [f"arguments.append({text})" for text in _split(found[2])]
            lines.append(f'print(executable["{found[1]}"](*arguments))')
    return "\n".join(lines[-60:]) + "\n"


def _split(text: str) -> list[str]:
    from generic_text import split_list

    return split_list(text)
