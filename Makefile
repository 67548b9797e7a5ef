# Each target is complete on a fresh machine with Python 3.11 or newer: it makes the virtual environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test check bench reproduce clean

help:
	@echo "make demo    a million rows, sampled exactly in seconds: table and picture in demo/"
	@echo "make test    the test suite"
	@echo "make check   linters, types, import rules"
	@echo "make reproduce   the paper's figures and tables, 40 minutes; OPTIONS=--quick: two minutes"
	@echo "make bench   nanoseconds per row against the machine's own limit"

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tunamh needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(VENV)/installed
	$(BIN)/tunamh demo

test: $(VENV)/installed
	$(BIN)/python -m pytest -n 2

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

reproduce: $(VENV)/installed
	$(BIN)/tunamh reproduce all $(OPTIONS)

bench: $(VENV)/installed
	$(BIN)/python benchmarks/rows_per_second.py
	$(BIN)/python benchmarks/methods.py

clean:
	rm -rf $(VENV) demo reproduction
	find src -name __pycache__ -exec rm -rf {} +
