# Each target is complete on a fresh machine with Python 3.11 or newer: it makes the virtual environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := benchmarks/.peers-venv

.PHONY: help demo test test-long test-fast exactness check shape docs package bench reproduce clean

help:
	@echo "make demo    a million rows, sampled exactly in seconds: table and picture in demo/"
	@echo "make test    the test suite"
	@echo "make test-long  further tests: calibration over many data sets, compiling from nothing, killed processes"
	@echo "make test-fast  the quick tests of the suite"
	@echo "make exactness  every family in every kernel, an hour: the tables of docs/exact.md;"
	@echo "                POSTERIORDB=path: also against the reference draws in that copy of posteriordb"
	@echo "make check   linters, types, import rules"
	@echo "make shape   the shape of the code: modules, layers, index arithmetic, files that a row crosses"
	@echo "make docs    the documentation, its pages run: docs/_build/html"
	@echo "make package wheel and sdist, installed in fresh environments and tried"
	@echo "make reproduce  the paper's figures and tables, 40 minutes; OPTIONS=--quick: two minutes"
	@echo "make bench   speed: against the machine's own limit, method by method, as rows grow, against peers (hours)"

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tunamh needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[plot,sklearn,parquet,dask]' --group dev
	@touch $@

demo: $(VENV)/installed
	$(BIN)/tunamh demo

test: $(VENV)/installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long"

test-long: $(VENV)/installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long

test-fast: $(VENV)/installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

exactness: $(VENV)/installed
	$(BIN)/python tests/invariance/run.py --points 3000 --processes 2 --defects --page docs/exact.md
ifdef POSTERIORDB
	$(BIN)/python tests/posteriordb/run.py --posteriordb $(POSTERIORDB) --page docs/exact.md
endif

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

shape: $(VENV)/installed
	$(BIN)/python benchmarks/shape.py

$(VENV)/docs-installed: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[plot,sklearn]' --group docs
	@touch $@

docs: $(VENV)/docs-installed
	rm -rf docs/_build
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

package:
	.ci/package

reproduce: $(VENV)/installed
	$(BIN)/python -m paper all $(OPTIONS)

$(PEERS)/installed: benchmarks/peers-requirements.txt
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade pip
	@grep -v '^#' $< | while read -r line; do \
		echo "installing $$line"; \
		$(PEERS)/bin/python -m pip install --quiet $$line || echo "could not install $$line: its rows will say so"; \
	done
	@touch $@

bench: $(VENV)/installed $(PEERS)/installed
	$(BIN)/python benchmarks/rows_per_second.py
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/rows_from_disk.py --folder benchmarks/.cache
	$(BIN)/python benchmarks/laplace.py
	$(BIN)/python benchmarks/laplace_psis.py
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/point_fits.py
	$(BIN)/python benchmarks/first_minute.py
	$(BIN)/python benchmarks/census.py
	$(BIN)/python benchmarks/census_posterior.py
	$(BIN)/python benchmarks/thin_levels.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/rare_events.py
	$(BIN)/python benchmarks/real_models.py
	$(BIN)/python benchmarks/horseshoe.py
	$(BIN)/python benchmarks/groups.py
	$(BIN)/python benchmarks/real_groups.py
	$(BIN)/python benchmarks/group_fits.py
	$(BIN)/python benchmarks/tables.py

clean:
	rm -rf $(VENV) $(PEERS) benchmarks/.cache demo reproduction docs/_build dist
	find src -name __pycache__ -exec rm -rf {} +
