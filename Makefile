# One entry for every chore, the same that .ci/run uses. `make demo` needs Python 3.11 to 3.13,
# about 2.5 GB of disk and, once, a network.

PYTHON ?= python3
TORCH := 2.13.0
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Nothing in the working directory may hide what is installed: the folder shiyi/ is only one part
# of the package shiyi.
export PYTHONSAFEPATH := 1
# Byte code is kept: many of the processes that tests start would otherwise compile all of it anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test slow lint types gate associations bench docs-check generate clean

help:
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(READY) ## import the sample, search it, say why
	@$(BIN)/python tools/demo.py

test: $(READY) ## the tests, without the slow ones
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

slow: $(READY) ## the crash, scale and packaging loops, and many more examples
	$(BIN)/python -m pytest -m "slow or hypothesis" --hypothesis-profile thorough

lint: $(READY) ## style, form, and one version everywhere
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tools/check_version.py

types: $(READY) ## strict types
	$(BIN)/python tools/link_types.py
	$(BIN)/mypy

gate: $(READY) ## hold the search to the figures in eval/baselines
	$(BIN)/python tools/gate.py

associations: $(READY) ## how many labelled associations of the sample are found
	$(BIN)/python tools/associations.py

bench: $(READY) ## speed and memory beside peers; BENCH=--quick takes a minute
	$(BIN)/python benchmarks/run.py $(BENCH)

docs-check: $(READY) ## generated files, commands and links in the documents
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/kinds.py --check
	$(BIN)/python tools/check_docs.py

generate: $(READY) ## the Python client and the command reference, from the table
	$(BIN)/python tools/generate.py
	$(BIN)/python tools/kinds.py

clean: ## everything that was made, but not .venv
	rm -rf build dist .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

# PyTorch comes first and by its exact version, since whatever needs it would otherwise take the
# newest build, which may bring gigabytes of accelerator libraries.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info[:2] <= (3, 13) else \
	  "Shiyi needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is %d.%d. Name another one: make PYTHON=python3.12 …" \
	  % sys.version_info[:2])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "torch==$(TORCH)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,embedded]"
	@touch $(READY)
