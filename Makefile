# Everything runs in .venv, which these targets make: Python 3.11 and make are enough.
PYTHON ?= python3
BIN := .venv/bin
RUN := PYTHONHASHSEED=0 $(BIN)/python
# Byte code of all packages would take longer than their installation; Python makes what it needs.
PIP := $(BIN)/python -m pip install --quiet --no-compile

.PHONY: demo docs test lint bench accuracy league clean

demo: .venv/ready
	$(BIN)/locallinear demo

# Draws the pictures of the documentation, and checks the code, names and links of its pages.
docs: .venv/ready-test
	for example in examples/plot_*.py; do $(RUN) $$example --out docs/images || exit 1; done
	$(RUN) -m pytest -q tests/test_readme.py

# A file's tests stay in one process, so that what they share is made once.
test: .venv/ready-test
	$(RUN) -m pytest -q -n auto --dist loadfile

lint: .venv/ready-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready-bench
	$(RUN) -m benchmarks

# An hour; goes on where it was stopped.
accuracy: .venv/ready-bench
	$(RUN) -m benchmarks accuracy

# A day; goes on where it was stopped.
league: .venv/ready-bench
	$(RUN) -m benchmarks league

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "locallinear needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

.venv/ready: pyproject.toml | .venv/bin/python
	$(PIP) --editable ".[all]"
	touch $@

.venv/ready-%: pyproject.toml .venv/ready
	$(PIP) --group $*
	touch $@
