"""Find lit files whose checks cannot fail: ``python test/python/support/check_lines.py [--captures] [FILE ...]``.

A file has a fault if

- a prefix has directives but no RUN line uses it, or a RUN line uses one that has none;
- a RUN line checks nothing and leaves no file that a later one reads;
- the text of a ``-NOT`` is in the function's source, but only before the match of the previous directive or after the
  match of the next one: a pass that does not remove it would not be noticed;
- the text of a ``-NOT`` can only be on the rest of one line, since ``-NEXT`` or ``-EMPTY`` follows;
- nothing ends a captured name: at the end of a line, ``%[[S]]`` that is ``%storage`` also matches ``%storage_0``;
- a ``-NOT`` names an op that exists neither in the project nor in MLIR, nor in any input.

With ``--captures``, anonymous ``%{{.*}}`` operands are also counted: they cannot distinguish operands.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from relax_mlir.mlir import libraries

ROOT = Path(__file__).resolve().parents[3]
LIT = ROOT / "test" / "lit"
SUFFIXES = (".mlir", ".test")
KEYWORDS = frozenset({"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE", "TODO", "NOTE", "FIXME"})
DIRECTIVE = re.compile(
    r"(?://|\#)\s*(?P<prefix>[A-Z][A-Z0-9_]*(?:-[A-Z0-9_]+)*?)"
    r"(?:-(?P<kind>NOT|NEXT|SAME|DAG|LABEL|EMPTY|COUNT-\d+))?(?P<literal>\{LITERAL\})?:(?P<text>.*)"
)
RUN = re.compile(r"(?://|\#)\s*RUN:\s*(?P<command>.*)")
PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ](\S+)")
OP_NAME = re.compile(r'^"?([a-z]\w*\.[a-z]\w*)"?\(?$')
FUNCTION = re.compile(r"^(?:func\.func|llvm\.func)\b", re.MULTILINE)
CHECKS = (
    "filecheck",
    "%roundtrip",
    "--verify-roundtrip",
    "not ls ",
    "--verify-diagnostics",
    "not relax-opt",
    "diff ",
)
OUTPUT = re.compile(r"%t[\w.-]*")
OPEN_NAME = re.compile(r"\[\[\w+\]\](?:$|\{\{(?!\$|\\b))")
CAPTURE = re.compile(r"%\{\{\.\*\}\}")


@dataclass(frozen=True)
class Directive:
    """One line of checks."""

    line: int
    prefix: str
    kind: str
    text: str

    def pattern(self) -> re.Pattern[str]:
        """As a regular expression; variables match anything."""
        pieces = re.split(r"(\{\{.*?\}\}|\[\[.*?\]\])", self.text)
        return re.compile("".join(map(_piece, pieces)))


def _piece(text: str) -> str:
    if text.startswith("{{"):
        return f"(?:{text[2:-2]})"
    if text.startswith("[["):
        name, colon, pattern = text[2:-2].partition(":")
        return f"(?:{pattern})" if colon and not name.startswith("#") else ".*?"
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


@dataclass
class LitFile:
    """The parts of one file."""

    path: Path
    runs: list[tuple[int, str]] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    source: str = ""
    """All other lines; those of comments are empty."""

    @classmethod
    def read(cls, path: Path) -> LitFile:
        """Sort the lines of a file."""
        found = cls(path)
        lines = []
        continued = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            run = RUN.search(line)
            directive = None if run else DIRECTIVE.search(line)
            code = line
            if run:
                command = run["command"].strip()
                if continued:
                    first, before = found.runs.pop()
                    found.runs.append((first, before.removesuffix("\\") + command))
                else:
                    found.runs.append((number, command))
                continued = command.endswith("\\")
            elif directive and directive["prefix"] not in KEYWORDS:
                found.directives.append(
                    Directive(number, directive["prefix"], directive["kind"] or "", directive["text"].strip())
                )
            if line.lstrip().startswith(("//", "#")) and not line.startswith("#"):
                code = ""
            lines.append("" if run or directive else code)
        found.source = "\n".join(lines)
        return found

    def used_prefixes(self) -> set[str]:
        """Prefixes that RUN lines look for."""
        used: set[str] = set()
        for _, command in self.runs:
            for check in re.findall(r"filecheck[^|&]*|%roundtrip\S*[^|&]*", command):
                named = [p for group in PREFIXES.findall(check) for p in group.strip("'\"").split(",")]
                used.update(named or ["CHECK"])
        return used


def faults(path: Path, known: str) -> Iterator[str]:
    """The faults of a file, one text each; `known` is text with all known names of ops."""
    file = LitFile.read(path)
    yield from _prefix_faults(file)
    yield from _run_faults(file)
    by_prefix: dict[str, list[Directive]] = {}
    for directive in file.directives:
        by_prefix.setdefault(directive.prefix, []).append(directive)
    for directives in by_prefix.values():
        yield from _empty_regions(directives)
        yield from _misplaced(file, directives)
        for directive in directives:
            if OPEN_NAME.search(directive.text):
                yield f"{directive.line}: this also matches longer names: add what follows the name, or {{{{$}}}}"
            name = OP_NAME.match(directive.text)
            if directive.kind == "NOT" and name and name[1] not in known:
                yield f"{directive.line}: no op is called {name[1]!r}, so this cannot fail"


def _prefix_faults(file: LitFile) -> Iterator[str]:
    used = file.used_prefixes()
    own: dict[str, int] = {}
    for directive in file.directives:
        own.setdefault(directive.prefix, directive.line)
    for prefix, line in own.items():
        if prefix not in used:
            yield f"{line}: no RUN line uses the prefix {prefix}"
    for prefix in sorted(used - own.keys()):
        yield f"{file.runs[0][0]}: a RUN line uses the prefix {prefix}, which has no directive"


def _run_faults(file: LitFile) -> Iterator[str]:
    for index, (line, command) in enumerate(file.runs):
        if any(word in command for word in CHECKS):
            continue
        later = " ".join(text for _, text in file.runs[index + 1 :])
        if not any(name in later for name in OUTPUT.findall(command)):
            yield f"{line}: the RUN line checks nothing"


def _empty_regions(directives: list[Directive]) -> Iterator[str]:
    for index, directive in enumerate(directives):
        following = next((d for d in directives[index:] if d.kind != "NOT"), None)
        if directive.kind == "NOT" and following is not None and following.kind in ("NEXT", "EMPTY"):
            yield f"{directive.line}: -{following.kind} follows, so there is no line on which this could fail"


def _misplaced(file: LitFile, directives: list[Directive]) -> Iterator[str]:
    """A ``-NOT`` whose text is in the source of its function, but outside of the directive's region.

    If the previous directive matches nothing in the source, the region is unknown.
    """
    for start, end, block in _blocks(file.source, directives):
        seen: set[str] = set()
        missed: dict[str, int] = {}
        position, sure = start, True
        for index, directive in enumerate(block):
            if directive.kind in ("LABEL", "DAG"):
                continue
            if directive.kind != "NOT":
                found = directive.pattern().search(file.source, position, end)
                position, sure = (found.end(), True) if found else (position, False)
                continue
            limit = _next_match(file.source, position, end, block[index:])
            pattern = directive.pattern()
            if not sure or pattern.search(file.source, position, limit):
                seen.add(directive.text)
            elif pattern.search(file.source, start, end):
                missed.setdefault(directive.text, directive.line)
        for text, line in missed.items():
            if text not in seen:
                yield f"{line}: {text!r} is in the source, but not where this looks for it"


def _next_match(source: str, position: int, end: int, rest: list[Directive]) -> int:
    """The next match, which ends the region; unknown if a directive matches nothing in the source."""
    following = next((d for d in rest if d.kind not in ("NOT", "DAG")), None)
    found = following.pattern().search(source, position, end) if following else None
    return found.start() if found else end


def _blocks(source: str, directives: list[Directive]) -> Iterator[tuple[int, int, list[Directive]]]:
    """From a label to the next one, or to the end of the function: the part of the source, and the directives."""
    block: list[Directive] = []
    start, position = -1, 0
    for directive in [*directives, Directive(0, "", "LABEL", "")]:
        if directive.kind == "LABEL":
            if block and start >= 0:
                following = FUNCTION.search(source, start)
                yield start, following.start() if following else len(source), block
            found = directive.pattern().search(source, position)
            start = position = found.end() if found else position
            start = start if found else -1
            block = []
        block.append(directive)


def captures(path: Path) -> int:
    """The number of anonymous operands."""
    return sum(len(CAPTURE.findall(d.text)) for d in LitFile.read(path).directives if d.kind != "NOT")


def lit_files() -> list[Path]:
    """All lit files of the project."""
    return sorted(p for p in LIT.rglob("*") if p.suffix in SUFFIXES and "Inputs" not in p.parts)


def known_names(files: Iterable[Path]) -> str:
    """Text with the name of every op: the sources, MLIR's own ops, and the inputs of passes."""
    folders = [ROOT / name for name in ("dialects", "lowering", "passes", "python")]
    sources = [p.read_text() for folder in folders for p in folder.rglob("*.py")]
    upstream = (Path(libraries.__path__[0]).parent / "dialects").glob("_*_ops_gen.py")
    texts = [*sources, *(LitFile.read(p).source for p in files)]
    for path in upstream:  # tens of megabytes, of which only the names are kept
        texts += re.findall(r'OPERATION_NAME = "([\w.]+)"', path.read_text())
    return "\n".join(texts)


def all_faults(files: Iterable[Path]) -> Mapping[Path, list[str]]:
    """The faults of each file that has some."""
    known = known_names(lit_files())
    found = {path: list(faults(path, known)) for path in files}
    return {path: texts for path, texts in found.items() if texts}


def main(arguments: list[str]) -> int:
    """Print the faults; 1 if there are any."""
    files = [Path(a).resolve() for a in arguments if not a.startswith("--")] or lit_files()
    found = all_faults(files)
    for path, texts in found.items():
        for text in texts:
            print(f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{text}")
    if "--captures" in arguments:
        counts = {path: captures(path) for path in files}
        print(f"{sum(counts.values())} anonymous operands in {sum(map(bool, counts.values()))} files")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
