# Python >= 3.11 and make are enough: everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --quiet --disable-pip-version-check
RUN := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

.PHONY: help demo test lint bench clean

help:
	@echo "make demo    train a network on handwritten digits; the picture lies in out/"
	@echo "make test    run the tests on every backend that this machine has"
	@echo "make lint    check style and types"
	@echo "make bench   compare with NumPy by hand and other libraries; the table goes into docs/performance.md"
	@echo "make clean   remove .venv, .venv-bench, out and caches"
	@echo "PYTHON=...   the Python to use, at least 3.11 (default: $(PYTHON))"

demo: $(VENV)/examples-installed
	@$(VENV)/bin/python examples/digits.py

test: $(VENV)/test-installed
	@$(RUN) ci/test

lint: $(VENV)/dev-installed
	@$(RUN) ci/lint

# In an environment of its own: the peers take gigabytes.
bench:
	@$(MAKE) --no-print-directory VENV=.venv-bench .venv-bench/bench-installed
	@.venv-bench/bin/python benchmarks/compare.py --write $(BENCH)

clean:
	rm -rf $(VENV) .venv-bench out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "arraygrad needs Python 3.11 or later; say which: make PYTHON=...")'
	@echo "Making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# pip knows dependency groups since 25.1.
$(VENV)/pip-installed: | $(VENV)/bin/python
	@echo "Upgrading pip"
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/examples-installed: pyproject.toml $(VENV)/pip-installed
	@echo "Installing arraygrad and what the examples need"
	@$(PIP) install --editable '.[examples]'
	@touch $@

$(VENV)/%-installed: pyproject.toml $(VENV)/pip-installed
	@echo "Installing arraygrad and the dependency group $*"
	@$(PIP) install --editable . --group $*
	@touch $@
