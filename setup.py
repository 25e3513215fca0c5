"""The description of the package on an index: README.md, with links that work there.

Links to files of this repository become links to its public address, ``Repository`` of ``[project.urls]`` in
``pyproject.toml``. As long as there is none, they become plain text, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:)([^)\s]+)\)")
_REPOSITORY = re.compile(r'^Repository = "([^"]+)"$', re.MULTILINE)


def description(text: str, repository: str | None) -> str:
    """The text with links to files of `repository` (an address without a slash at the end), or without such links."""

    def absolute(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if repository is None:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository}/{kind}/main/{target})"

    return _LINK.sub(absolute, text)


def repository(project: str) -> str | None:
    """The address in the text of a ``pyproject.toml``."""
    found = _REPOSITORY.search(project)
    return found[1].rstrip("/") if found else None


if __name__ == "__main__":
    from setuptools import setup

    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    setup(
        long_description=description((ROOT / "README.md").read_text(encoding="utf-8"), repository(project)),
        long_description_content_type="text/markdown",
    )
