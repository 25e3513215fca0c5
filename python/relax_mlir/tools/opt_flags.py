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
    placeholder for the value in help; `choices`: the allowed values.
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


GENERAL, INPUT, RUNNING, PRINTING, WATCHING = (
    "General",
    "Input and output",
    "Passes",
    "Printing",
    "Watching passes",
)

FLAGS: tuple[Flag, ...] = (
    Flag("help", bool, GENERAL, "show this help (also -h)"),
    Flag("version", bool, GENERAL, "show the versions of relax-mlir and of the MLIR bindings"),
    Flag("show-passes", bool, GENERAL, "list all passes and named pipelines"),
    Flag("show-dialects", bool, GENERAL, "list all dialects"),
    Flag("cache-info", bool, GENERAL, "show where the cache of compiled modules is, and its size"),
    Flag("cache-clear", bool, GENERAL, "remove everything from that cache"),
    Flag("print-target", bool, GENERAL, "show what code is generated for: the host, or the CPU of --target"),
    Flag(
        "print-completion",
        str,
        GENERAL,
        "print a script that completes options, passes and files in a shell: bash, zsh or fish",
        "shell",
        SHELLS,
    ),
    Flag(
        "color",
        bool,
        GENERAL,
        "use colours (default: on terminals, unless NO_COLOR is set; --color=0 switches them off)",
    ),
    Flag("o", str, INPUT, "write the output there (default: stdout); its folder must exist", "file"),
    Flag(
        "split-input-file", bool, INPUT, "take the input apart at '// -----' lines, process each part alone"
    ),
    Flag(
        "verify-diagnostics",
        bool,
        INPUT,
        "check the diagnostics against expected-error, -warning, -note comments",
    ),
    Flag(
        "verify-roundtrip",
        bool,
        INPUT,
        "check that the input, printed as text and as MLIR bytecode and read again, is the same",
    ),
    Flag("allow-unregistered-dialect", bool, INPUT, "accept ops of dialects that are not known"),
    Flag("trusted", bool, INPUT, TRUSTED_HELP),
    Flag("irdl-file", str, INPUT, "register the dialects of this IRDL file before the input is read", "file"),
    Flag(
        "load-pass-plugin",
        tuple,
        INPUT,
        "run this Python file first: its passes can be used like those of relax-mlir, and so can ops that it registers "
        "(may be repeated)",
        "file.py",
    ),
    Flag("pass-pipeline", str, RUNNING, "the passes to run, as text: 'builtin.module(...)'", "text"),
    Flag("run-reproducer", bool, RUNNING, "run the passes that the input, a reproducer, asks for"),
    Flag(
        "dump-pass-pipeline",
        bool,
        RUNNING,
        "print the passes that will be run, as --pass-pipeline takes them",
    ),
    Flag(
        "verify-each", bool, RUNNING, "verify after each pass (default: on; --verify-each=0 switches it off)"
    ),
    Flag(
        "target",
        str,
        RUNNING,
        "the machine for --emit, --print-target and passes without a target of their own, as 'cpu -mcpu=haswell "
        "-num-threads=4' (default: the host)",
        "text",
    ),
    Flag(
        "tuned",
        str,
        RUNNING,
        "take the values of knobs that relax-tune has found (tuned.json); --load-pass-plugin runs files of strategies",
        "file",
    ),
    Flag("opt-level", int, RUNNING, "skip passes of a higher level (default: 2)", "n"),
    Flag("disable-pass", list, RUNNING, "skip these passes", "names"),
    Flag("mlir-disable-threading", bool, RUNNING, "let MLIR's passes run on one thread"),
    Flag(
        "emit",
        str,
        PRINTING,
        "write code: bytecode of the virtual machine (of the module as it is), or, running --relax-to-llvm if no pass "
        "is given, llvm-ir, asm or obj (asm and obj need the extra 'asm')",
        "form",
        EMITTED,
    ),
    Flag(
        "emit-bytecode",
        bool,
        PRINTING,
        "write MLIR's bytecode, which relax-opt and mlir-opt read, in place of text",
    ),
    Flag("print-script", bool, PRINTING, "print Relax functions as script, the readable form"),
    Flag(
        "elide-kernels",
        bool,
        PRINTING,
        "print kernels of the library, epilogues and support functions as one line each, without their bodies",
    ),
    Flag(
        "memory-plan",
        bool,
        PRINTING,
        "print how plan-memory places the temporaries of each function, as formulas of its symbols, instead of the "
        "module; without passes, --relax-to-memrefs is run",
    ),
    Flag("bind", list, PRINTING, "values of symbols for --memory-plan, as n=128,m=4", "values"),
    Flag(
        "mlir-use-nameloc-as-prefix",
        bool,
        PRINTING,
        "call values by the names of the source (default: on; --mlir-use-nameloc-as-prefix=0 prints numbers)",
    ),
    Flag("mlir-print-debuginfo", bool, PRINTING, "print locations"),
    Flag("mlir-print-op-generic", bool, PRINTING, "print the generic form of ops"),
    Flag("mlir-print-local-scope", bool, PRINTING, "print without aliases"),
    Flag("mlir-elide-elementsattrs-if-larger", int, PRINTING, "elide dense constants of more elements", "n"),
    Flag("mlir-print-ir-before", list, WATCHING, "print the module before these passes", "names"),
    Flag("mlir-print-ir-after", list, WATCHING, "print the module after these passes", "names"),
    Flag("mlir-print-ir-before-all", bool, WATCHING, "print the module before each pass"),
    Flag("mlir-print-ir-after-all", bool, WATCHING, "print the module after each pass"),
    Flag(
        "mlir-print-ir-after-change", bool, WATCHING, "print after a pass only if the pass changed the module"
    ),
    Flag(
        "mlir-print-ir-module-scope",
        bool,
        WATCHING,
        "print the whole module also around passes on functions, of which only the functions are printed otherwise",
    ),
    Flag(
        "mlir-print-ir-tree-dir",
        str,
        WATCHING,
        "write what the options --mlir-print-ir-* print to files there, one per pass, in folders per function",
        "directory",
    ),
    Flag("mlir-timing", bool, WATCHING, "show the time of each pass, as a tree"),
    Flag("mlir-pass-statistics", bool, WATCHING, "show the number of ops around each pass"),
    Flag(
        "explain-strategy",
        bool,
        WATCHING,
        "show for each call which implementations legalize-ops considered, which it took, and why",
    ),
    Flag("explain-fusion", bool, WATCHING, "show what fuse-ops fused, what it left apart, and why"),
    Flag(
        "explain-loops",
        bool,
        WATCHING,
        "show which loops of prim funcs run as their kind says, and why others do not",
    ),
    Flag(
        "dump-stages", str, WATCHING, "write the module after each pass to a numbered file there", "directory"
    ),
    Flag(
        "dump-failures",
        str,
        WATCHING,
        "write a reproducer of a pass that fails there: the module as it was before it",
        "directory",
    ),
    Flag("check-well-formed", bool, WATCHING, "check the invariants of Relax after each pass"),
)

ALIASES = {"h": "help"}
BY_NAME = {flag.name: flag for flag in FLAGS}
