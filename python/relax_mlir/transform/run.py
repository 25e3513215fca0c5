"""Run a pass: its history, the restoration of the module on failure, errors, and reproducers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sysconfig
import tempfile
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from relax_mlir.capi import changed
from relax_mlir.diagnostics import collect, of_error, report, with_frames
from relax_mlir.dialects.types import remembered_types
from relax_mlir.error import Diagnostic, OutOfMemoryError, ParseError, PassError, RelaxError, VerifyError
from relax_mlir.ir_module import IRModule, remove
from relax_mlir.ir_queries import entry_block
from relax_mlir.memory_left import require_for
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import quoted, unquoted
from relax_mlir.module_file import PrintOptions, file_name, module_text, write_atomically
from relax_mlir.transform import registry
from relax_mlir.transform.context import DUMP_DIR, REPRODUCERS, VERIFY_EACH, PassContext
from relax_mlir.transform.pipeline_text import Element, parse_elements
from relax_mlir.transform.registry import PLUGINS, PassInfo


@dataclass
class Run:
    """The state of an outermost call: the names of the passes that have run, in order."""

    mod: IRModule
    """The module that instruments and users' passes get."""
    original: ir.Operation
    """The module before the run: the source of the copy `mod`, or a copy of `mod`."""
    pipeline: str
    """The outermost pass as text."""
    history: list[str] = field(default_factory=list)

    def just_run(self, names: frozenset[str]) -> set[str]:
        """Those of `names` that ran last, with no other pass after them."""
        recent: set[str] = set()
        for name in reversed(self.history):
            if name not in names:
                break
            recent.add(name)
        return recent


class _ThreadState(threading.local):
    """The active runs of this thread, outermost first (a pass may run passes on a second module)."""

    def __init__(self) -> None:
        self.runs: list[Run] = []


_state = _ThreadState()


@contextmanager
def run_on_copy(mod: IRModule, ctx: PassContext, pipeline: str) -> Iterator[Run]:
    """A run on a copy of `mod`; `mod` is unchanged and is used in reproducers."""
    if ctx.option(VERIFY_EACH):
        verify_input(mod.mlir)
    require_for(pipeline, mod.mlir)
    with _entered(Run(mod.clone(), mod.operation, pipeline)) as run:
        yield run


@contextmanager
def run_in_place(mod: IRModule, ctx: PassContext, pipeline: str) -> Iterator[Run]:
    """The active run on `mod`, or a new one, which restores `mod` on failure."""
    if _state.runs and _state.runs[-1].mod.mlir == mod.mlir:
        yield _state.runs[-1]
        return
    if ctx.option(VERIFY_EACH):
        verify_input(mod.mlir)
    require_for(pipeline, mod.mlir)
    backup = mod.operation.clone(ip=False)
    with _entered(Run(mod, backup, pipeline)) as run:
        try:
            yield run
        except BaseException:
            _restore(mod.mlir, backup)
            changed(mod.operation)
            raise


@contextmanager
def _entered(run: Run) -> Iterator[Run]:
    _state.runs.append(run)
    try:
        with remembered_types():
            yield run
    finally:
        _state.runs.pop()


def current_run() -> Run:
    """The innermost run of this thread."""
    return _state.runs[-1]


def current_module(module: ir.Module) -> IRModule:
    """`module` as the object that the instruments of its run get."""
    if _state.runs and _state.runs[-1].mod.mlir == module:
        return _state.runs[-1].mod
    return IRModule(module)


def verify_input(module: ir.Module) -> None:
    """Raise `VerifyError` with the diagnostics unless the input `module` of passes is valid MLIR."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise VerifyError("the module is invalid before the first pass", of_error(error)) from None


def _restore(module: ir.Module, backup: ir.Operation) -> None:
    """Restore the contents of `module` from `backup`, if they have changed."""
    if _fingerprint(module.operation) == _fingerprint(backup):
        return
    for op in list(module.body.operations):
        remove(module, op)
    for op in list(entry_block(backup).operations):
        module.body.append(op)
    attributes = module.operation.attributes
    for name in list(attributes):
        del attributes[name]
    for name in list(backup.attributes):
        attributes[name] = backup.attributes[name]


def _fingerprint(op: ir.Operation) -> str:
    """The text of an op, which may be invalid, with names for weights, since no pass changes these in place."""
    text: str = op.get_asm(print_generic_op_form=True, enable_debug_info=True, use_local_scope=True)
    return text


# The location in a user's Python file where an exception was raised, for messages.

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def place_in(error: BaseException, file: str) -> str | None:
    """``file:line:0`` of the innermost call in `file` in the traceback of an exception or of its causes.

    None if no call is in `file`.
    """
    found = None
    cause: BaseException | None = error
    while cause is not None:
        for frame in traceback.extract_tb(cause.__traceback__):
            if frame.filename == file:
                found = f"{file}:{frame.lineno}:0"
        cause = cause.__cause__
    return found


def user_place(error: BaseException) -> str | None:
    """``file:line:0`` of the innermost call in code that belongs neither to this project nor to a library."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name, file = str(frame.f_globals.get("__name__", "")), frame.f_code.co_filename
        is_own = name == "relax_mlir" or name.startswith("relax_mlir.")
        if not is_own and not file.startswith(("<", *_LIBRARIES)):
            found = f"{file}:{line}:0"
    return found


# Parser of the section after the module in MLIR text, ``{-# external_resources: { … } #-}``.
#
# The grammar is MLIR's::
#
#     section := "{-#" entries "#-}"
#     entries := [entry ("," entry)*]
#     entry   := key ":" value
#     value   := "{" entries "}" | string | word

_LANDMARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|\{-#')
_TOKEN = re.compile(r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[\w.$/+-]+)|(?P<mark>#-\}|[{}:,]))', re.DOTALL)

EXTERNAL = "external_resources"


class Span(NamedTuple):
    """The start and end of an entry of a section in the text."""

    start: int
    end: int


class _Section:
    """One section: its entries, and the spans of the outermost ones."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.start, self.position = text, start, start + len("{-#")
        self.spans: dict[str, Span] = {}
        self.entries = self._entries("#-}", outermost=True)
        self.end = self.position

    def _entries(self, end: str, outermost: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (token := self._next())[1] != end:
            kind, key = token
            begin = self.position - len(key)
            if kind == "mark":
                raise self._wrong(key)
            self._expect(":")
            found[key] = self._value()
            if outermost:
                self.spans[key] = Span(begin, self.position)
            kind, mark = self._next()
            if mark == end:
                return found
            if mark != ",":
                raise self._wrong(mark)
        return found

    def _value(self) -> Any:  # noqa: ANN401 - a text, a word, or entries
        kind, token = self._next()
        if token == "{":
            return self._entries("}")
        if kind == "mark":
            raise self._wrong(token)
        return unquoted(token) if kind == "text" else token

    def _expect(self, mark: str) -> None:
        token = self._next()[1]
        if token != mark:
            raise self._wrong(token)

    def _next(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.position)
        if found is None or found.lastgroup is None:
            raise self._wrong(self.text[self.position : self.position + 10].strip())
        self.position = found.end()
        return found.lastgroup, found[found.lastgroup]

    def _wrong(self, token: str) -> ParseError:
        line = self.text.count("\n", 0, self.position) + 1
        return ParseError(f"line {line}: unexpected {token!r} in the resources of the module")


def take_external_resources(text: str) -> tuple[dict[str, Any], str]:
    """The external resources of a module's text by name, and the text without them, with unchanged line numbers.

    Raises ParseError: text that does not follow the grammar.
    """
    found: dict[str, Any] = {}
    position = 0
    while landmark := _LANDMARK.search(text, position):
        position = landmark.end()
        if landmark[0] != "{-#":
            continue
        section = _Section(text, landmark.start())
        position = section.end
        external = section.entries.get(EXTERNAL)
        if isinstance(external, dict):
            found |= external
            text = _without(text, section)
    return found, text


def _without(text: str, section: _Section) -> str:
    """The text with the section's external resources blanked out, or the whole section if it has no other entries."""
    span = section.spans[EXTERNAL]
    start, end = span if len(section.spans) > 1 else (section.start, section.end)
    if len(section.spans) > 1:  # also remove the comma that separates them from their neighbour
        following = re.compile(r"\s*,").match(text, end)
        if following is not None:
            end = following.end()
        else:
            start = text.rindex(",", section.start, start)
    blank = re.sub(r"[^\n]", " ", text[start:end])
    return text[:start] + blank + text[end:]


# Reproducers: a module, the passes to run on it and the options of the context, in one file.
#
# The format is MLIR's: the module's text, then ``{-# external_resources: { mlir_reproducer: { pipeline: … } } #-}``.
# ``relax-opt --run-reproducer`` replays it, and so does ``mlir-opt`` if the passes are MLIR's. Settings that
# ``mlir-opt`` does not know are stored in the entry ``relax_reproducer``, which it skips.

_COMMAND = "relax-opt --run-reproducer"
OF_MLIR, OWN = "mlir_reproducer", "relax_reproducer"


@dataclass(frozen=True)
class Recipe:
    """The contents of a reproducer except its module."""

    pipeline: str
    unregistered: bool = False
    opt_level: int = 2
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, pipeline: str, ctx: PassContext, unregistered: bool) -> Recipe:
        """The recipe for passes that run in a context; names of passes that are not registered are omitted."""
        config = {key: value for key, value in ctx.config.items() if key != DUMP_DIR}
        disabled, required = (
            tuple(sorted(filter(_is_known, names))) for names in (ctx.disabled_pass, ctx.required_pass)
        )
        return cls(f"builtin.module({pipeline})", unregistered, ctx.opt_level, disabled, required, config)

    def text(self) -> str:
        """The section at the end of a reproducer."""
        of_mlir = {
            "pipeline": quoted(self.pipeline),
            "disable_threading": "true",
            "verify_each": "true" if self.config.get("pass.verify_each", True) else "false",
        }
        own = {
            "allow_unregistered_dialect": "true" if self.unregistered else "false",
            "opt_level": quoted(str(self.opt_level)),
            "disabled_pass": quoted(",".join(self.disabled)),
            "required_pass": quoted(",".join(self.required)),
            "config": quoted(json.dumps(self.config)),
        }
        groups = ",\n".join(
            f"    {name}: {{\n" + ",\n".join(f"      {key}: {value}" for key, value in group.items()) + "\n    }"
            for name, group in ((OF_MLIR, of_mlir), (OWN, own))
        )
        return f"{{-#\n  {EXTERNAL}: {{\n{groups}\n  }}\n#-}}\n"


def read_recipe(text: str, source: str) -> tuple[Recipe, str]:
    """The recipe in a reproducer's text, and the module's text with unchanged line numbers.

    Raises:
        ParseError: there is none.
    """
    try:
        resources, rest = take_external_resources(text)
    except ParseError as error:
        raise ParseError(f"'{source}': {error}") from None
    entries = {**_group(resources, OWN), **_group(resources, OF_MLIR)}
    if "pipeline" not in entries:
        raise ParseError(
            f"'{source}' is no reproducer: it does not end in "
            '{-# external_resources: { mlir_reproducer: { pipeline: "..." } } #-}'
        )

    def names(key: str) -> tuple[str, ...]:
        return tuple(filter(None, entries.get(key, "").split(",")))

    try:
        config, level = json.loads(entries.get("config", "{}")), int(entries.get("opt_level", "2"))
    except ValueError as error:
        raise ParseError(f"'{source}': the reproducer's options cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise ParseError(f"'{source}': the reproducer's options cannot be read: config is no object")
    if entries.get("verify_each") == "false":
        config["pass.verify_each"] = False
    recipe = Recipe(
        entries["pipeline"],
        entries.get("allow_unregistered_dialect") == "true",
        level,
        names("disabled_pass"),
        names("required_pass"),
        config,
    )
    return recipe, rest


def _group(resources: dict[str, Any], name: str) -> dict[str, str]:
    """The entries of a group that are strings or words."""
    group = resources.get(name)
    return {key: value for key, value in group.items() if isinstance(value, str)} if isinstance(group, dict) else {}


def write_reproducer(module: ir.Module | ir.Operation, recipe: Recipe, name: str, folder: str) -> Path:
    """Write a reproducer for the failure of pass `name` into `folder`, or into the user's folder for temporary files.

    Raises:
        OSError: it cannot be written.
    """
    text = module_text(module, PrintOptions(debug_info=True)) + "\n" + recipe.text()
    path = _numbered(Path(folder), name) if folder else _hashed(text, name)
    write_atomically(path, text)
    return path


def command(path: Path, recipe: Recipe) -> str | None:
    """The command that replays a reproducer; None if its passes are not registered by name."""
    try:
        known = _are_known(parse_elements(recipe.pipeline))
    except RelaxError:
        return None
    plugins = "".join(f" --load-pass-plugin={shlex.quote(plugin)}" for plugin in registry.PLUGINS)
    return f"{_COMMAND}{plugins} {shlex.quote(str(path))}" if known else None


def _are_known(elements: Iterable[Element]) -> bool:
    return all(
        _are_known(element.children) if element.children is not None else _is_known(element.name)
        for element in elements
    )


def _is_known(name: str) -> bool:
    """True if a pass of that name is available when the reproducer is replayed."""
    return registry.is_known(name) or registry.is_upstream(name)


def _numbered(folder: Path, name: str) -> Path:
    for number in count():
        path = folder / f"failed-{file_name(name)}-{number}.mlir"
        if not path.exists():
            break
    return path


def _hashed(text: str, name: str) -> Path:
    """A path named after a hash of the contents: a repeated failure leaves one file."""
    folder = Path(tempfile.gettempdir()) / f"relax-mlir-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        folder = Path(tempfile.mkdtemp(prefix="relax-mlir-"))
    return folder / f"failed-{file_name(name)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlir"


# Failures of passes as errors with the pass, the source location, and a reproducer.

DUMP_VARIABLE = "RELAX_MLIR_DUMP_DIR"
"""Environment variable that is used if the config option ``pass.dump_dir`` is not set."""
REPRODUCERS_VARIABLE = "RELAX_MLIR_REPRODUCERS"
"""Environment variable: 0 disables reproducers in the folder for temporary files."""


@contextmanager
def guarded(module: ir.Module, info: PassInfo, ctx: PassContext, verify: bool | None = None) -> Iterator[None]:
    """Run one pass in the context: verify the module after it, and convert its failure to an error of the project.

    `verify` overrules the context's option. Exceptions of instruments propagate unchanged. A `RelaxError` keeps its
    type and gets the pass's name and the hints. Anything else becomes a `PassError`. If the pass succeeds, its warnings
    are passed on.
    """
    folder = ctx.option(DUMP_DIR) or os.environ.get(DUMP_VARIABLE, "")
    before = module.operation.clone(ip=False) if folder else None
    seen: list[Diagnostic] = []
    earlier = len(ctx.reported_errors)
    try:
        with collect(module.context, seen.append):
            yield
            if errors := ctx.reported_errors[earlier:]:
                raise _Reported(errors)
            if ctx.option(VERIFY_EACH) if verify is None else verify:
                module.operation.verify()
    except Exception as error:
        if error is ctx.instrument_error or getattr(error, "pass_name", None) is not None:
            raise
        failure = _failure(error, info, seen)
        errors = _errors_of(failure)
        _keep(ctx, [*(diagnostic for diagnostic in seen if diagnostic not in errors), *errors])
        failure.args = (with_frames(str(failure)),)
        _leave_reproducer(failure, info, ctx, module, before, folder)
        if failure is error:
            raise
        raise failure from (None if isinstance(error, ir.MLIRError | _Reported) else error)
    finally:
        del ctx.reported_errors[earlier:]
    if not _keep(ctx, seen):
        for diagnostic in seen:
            report(diagnostic)


class _Reported(Exception):
    """The pass has ended after reporting errors."""

    def __init__(self, errors: list[Diagnostic]) -> None:
        self.errors = errors
        super().__init__("1 error was reported" if len(errors) == 1 else f"{len(errors)} errors were reported")


def _keep(ctx: PassContext, diagnostics: list[Diagnostic]) -> bool:
    """Add diagnostics to the context's own collection; false if it has none."""
    if ctx.diag_ctx is None:
        return False
    for diagnostic in diagnostics:
        ctx.diag_ctx.emit(diagnostic)
    return True


def _errors_of(failure: RelaxError) -> list[Diagnostic]:
    """The error diagnostics of a failure."""
    found = [d for d in getattr(failure, "diagnostics", ()) if d.severity == "error"]
    return found or [Diagnostic("error", "unknown", str(failure).partition("\n")[0])]


def _failure(error: Exception, info: PassInfo, seen: list[Diagnostic]) -> RelaxError:
    if isinstance(error, MemoryError) and not isinstance(error, RelaxError):
        error = OutOfMemoryError(f"no memory is left ({error})" if str(error) else "no memory is left")
    if isinstance(error, RelaxError):
        error.pass_name = info.name
        error.add_hint(f"in pass '{info.text}'")
        for file in PLUGINS:
            if (place := place_in(error, file)) is not None:
                error.add_hint(f"{place}: here")
        return error
    if isinstance(error, _Reported):
        return PassError(info.name, str(error), seen + error.errors)
    if not isinstance(error, ir.MLIRError):
        raised_at = user_place(error)
        where = "" if raised_at is None else f"\n  {raised_at}: here"
        return PassError(info.name, f"internal error: {type(error).__name__}: {error}{where}", seen)
    diagnostics = seen + of_error(error)
    errors = [d.message for d in diagnostics if d.severity == "error"]
    return PassError(info.name, errors[0] if errors else "MLIR gave no reason", diagnostics)


def _leave_reproducer(
    failure: RelaxError,
    info: PassInfo,
    ctx: PassContext,
    module: ir.Module,
    before: ir.Operation | None,
    folder: str,
) -> None:
    """Write a reproducer and add its path to the message.

    With `folder`, it is that of the failing pass; otherwise of the outermost pass, whose input module is available.
    """
    if not ctx.option(REPRODUCERS) or (not folder and os.environ.get(REPRODUCERS_VARIABLE) == "0"):
        return
    run = current_run()
    source, pipeline = (run.original, run.pipeline) if before is None else (before, info.text)
    recipe = Recipe.of(pipeline, ctx, module.context.allow_unregistered_dialects)
    try:
        path = write_reproducer(source, recipe, info.name, folder)
    except OSError as error:
        failure.add_hint(f"no reproducer could be written: {error}")
        return
    replay = command(path, recipe)
    if isinstance(failure, PassError):
        failure.dump, failure.reproducer = path, replay
    if replay is not None:
        failure.add_hint(f"to reproduce: {replay}")
    else:
        failure.add_hint(f"the module before the pass: {path} (the pass is not registered by name)")
