"""A failing mutant as a Python file that runs by itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from generic_text import split_list
from worker_pool import Answer

HERE = Path(__file__).resolve().parent
TEMPLATE = '''"""{title}

Mutant {number} of seed {seed} ({origin}; {steps}).
"""

from typing import Any

import ml_dtypes
import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir.script import parse as parse_script
from relax_mlir.transform import parse_pipeline

{draws}


TEXT = """
{text}"""

module = {read}
module.verify()
{passes}executable = rx.build(module, opt_level={level}, cache=False)
{calls}'''


def write_repro(folder: Path, seed: int, number: int, mutant: dict[str, Any], answer: Answer) -> Path:
    """Write the file of a mutant; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{answer.kind}-{number}.py"
    source = (HERE / "draws.py").read_text(encoding="utf-8")
    pipeline = ",".join(mutant["passes"])
    content = TEMPLATE.format(
        title=_literal(answer.failure[:1500]),
        number=number,
        seed=seed,
        origin=mutant["origin"],
        steps=", ".join(name for name, _ in mutant["steps"]),
        draws=source.partition("import numpy as np\n")[2].strip(),
        text=_literal(mutant["text"]),
        read="rx.IRModule.parse(TEXT)" if mutant["language"] == "ir" else "parse_script(TEXT)",
        level=mutant["opt_level"],
        passes=f'parse_pipeline("{pipeline}")(module.mlir)\n' if pipeline else "",
        calls=_calls(answer),
    )
    path.write_text(content, encoding="utf-8", errors="replace")
    return path


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _calls(answer: Answer) -> str:
    """The calls that were made, up to the one that failed."""
    lines = []
    for stage in answer.stages:
        found = re.fullmatch(r"call ([^(]*)\((.*)\)", stage)
        if found:
            lines.append("arguments = []\nsame = arguments.__getitem__")
            lines += [f"arguments.append({text})" for text in split_list(found[2])]
            lines.append(f'print(executable["{found[1]}"](*arguments))')
    return "\n".join(lines[-60:]) + "\n"
