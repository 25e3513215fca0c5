"""The options of ``relax-opt``, as data."""

from __future__ import annotations

from dataclasses import dataclass

EMITTED = ("bytecode", "llvm-ir", "asm", "obj")
"""Forms of code that ``--emit`` writes."""
SHELLS = ("bash", "zsh", "fish")
TRUSTED_HELP = "the input is from a trusted source: a .pt2 file may run code"


@dataclass(frozen=True)
class Flag:
    """One option.

    `kind`: bool, int, str, list (comma-separated, may be repeated) or tuple (a path, may be repeated). `value`: the
    placeholder for the value in help, "" for a bool; `choices`: the allowed values.
    """

    name: str
    kind: type
    group: str
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """The option in the form of the command line."""
        return f"-{self.name}" if len(self.name) == 1 else f"--{self.name}"

    @property
    def usage(self) -> str:
        """The option with its value."""
        if not self.value:
            return self.option
        return f"{self.option}{' ' if len(self.name) == 1 else '='}<{self.value}>"


_HELP: dict[str, dict[str, str]] = {
    "General": {
        "help": "show this help (also -h)",
        "version": "show the versions of relax-mlir and of the MLIR bindings",
        "show-passes": "list all passes and named pipelines",
        "show-dialects": "list all dialects",
        "cache-info": "show where the cache of compiled modules is, and its size",
        "cache-clear": "remove everything from that cache",
        "print-target": "show what code is generated for: the host, or the CPU of --target",
        "print-completion=<shell>": (
            "print a script that completes options, passes and files in a shell: bash, zsh or fish"
        ),
        "color": "use colours (default: on terminals, unless NO_COLOR is set; --color=0 switches them off)",
    },
    "Input and output": {
        "o=<file>": "write the output there (default: stdout); its folder must exist",
        "split-input-file": "take the input apart at '// -----' lines, process each part alone",
        "verify-diagnostics": "check the diagnostics against expected-error, -warning, -note comments",
        "verify-roundtrip": "check that the input, printed as text and as MLIR bytecode and read again, is the same",
        "allow-unregistered-dialect": "accept ops of dialects that are not known",
        "trusted": TRUSTED_HELP,
        "irdl-file=<file>": "register the dialects of this IRDL file before the input is read",
        "load-pass-plugin=<file.py>": (
            "run this Python file first: its passes can be used like those of relax-mlir, and so can ops that it "
            "registers (may be repeated)"
        ),
    },
    "Passes": {
        "pass-pipeline=<text>": "the passes to run, as text: 'builtin.module(...)'",
        "run-reproducer": "run the passes that the input, a reproducer, asks for",
        "dump-pass-pipeline": "print the passes that will be run, as --pass-pipeline takes them",
        "verify-each": "verify after each pass (default: on; --verify-each=0 switches it off)",
        "target=<text>": (
            "the machine for --emit, --print-target and passes without a target of their own, as 'cpu -mcpu=haswell "
            "-num-threads=4' (default: the host)"
        ),
        "tuned=<file>": (
            "take the values of knobs that relax-tune has found (tuned.json); --load-pass-plugin runs files of "
            "strategies"
        ),
        "opt-level=<n>": "skip passes of a higher level (default: 2)",
        "disable-pass=<names>": "skip these passes",
        "mlir-disable-threading": "let MLIR's passes run on one thread",
    },
    "Printing": {
        "emit=<form>": (
            "write code: bytecode of the virtual machine (of the module as it is), or, running --relax-to-llvm if no "
            "pass is given, llvm-ir, asm or obj (asm and obj need the extra 'asm'). --relax-to-llvm alone links the "
            "kernels, too"
        ),
        "emit-bytecode": "write MLIR's bytecode, which relax-opt and mlir-opt read, in place of text",
        "print-script": "print Relax functions as script, the readable form",
        "elide-kernels": (
            "print kernels of the library, epilogues and support functions as one line each, without their bodies"
        ),
        "memory-plan": (
            "print how plan-memory places the temporaries of each function, as formulas of its symbols, instead of "
            "the module; without passes, --relax-to-memrefs is run"
        ),
        "bind=<values>": "values of symbols for --memory-plan, as n=128,m=4",
        "mlir-use-nameloc-as-prefix": (
            "call values by the names of the source (default: on; --mlir-use-nameloc-as-prefix=0 prints numbers)"
        ),
        "mlir-print-debuginfo": "print locations",
        "mlir-print-op-generic": "print the generic form of ops",
        "mlir-print-local-scope": "print without aliases",
        "mlir-elide-elementsattrs-if-larger=<n>": "elide dense constants of more elements",
    },
    "Watching passes": {
        "mlir-print-ir-before=<names>": "print the module before these passes",
        "mlir-print-ir-after=<names>": "print the module after these passes",
        "mlir-print-ir-before-all": "print the module before each pass",
        "mlir-print-ir-after-all": "print the module after each pass",
        "mlir-print-ir-after-change": "print after a pass only if the pass changed the module",
        "mlir-print-ir-module-scope": (
            "print the whole module also around passes on functions, of which only the functions are printed otherwise"
        ),
        "mlir-print-ir-tree-dir=<directory>": (
            "write what the options --mlir-print-ir-* print to files there, one per pass, in folders per function"
        ),
        "mlir-timing": "show the time of each pass, as a tree",
        "mlir-pass-statistics": "show the number of ops around each pass",
        "explain-strategy": (
            "show for each call which implementations legalize-ops considered, which it took, and why"
        ),
        "explain-fusion": "show what fuse-ops fused, what it left apart, and why",
        "explain-loops": "show which loops of prim funcs run as their kind says, and why others do not",
        "dump-stages=<directory>": "write the module after each pass to a numbered file there",
        "dump-failures=<directory>": "write a reproducer of a pass that fails there: the module as it was before it",
        "check-well-formed": "check the invariants of Relax after each pass",
    },
}
"""The help of each option by group; the placeholder of a value says what it may be."""

KINDS: dict[str, type] = {"": bool, "file.py": tuple, "n": int, "names": list, "values": list}
"""The kinds of values by placeholder; others are strings."""
CHOICES = {"form": EMITTED, "shell": SHELLS}


def _flag(group: str, usage: str, help: str) -> Flag:
    name, _, value = usage.rstrip(">").partition("=<")
    return Flag(name, KINDS.get(value, str), group, help, value, CHOICES.get(value, ()))


FLAGS = tuple(_flag(group, *row) for group, rows in _HELP.items() for row in rows.items())
ALIASES = {"h": "help"}
BY_NAME = {flag.name: flag for flag in FLAGS}
