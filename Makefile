# Needs only make and Python 3.11 or newer (another one: `make test PYTHON=python3.12`).
# Every target builds .venv by itself, and again when pyproject.toml or constraints.txt change.

PYTHON ?= python3
BIN := .venv/bin
AS_USERS := $(BIN)/python -c 'import difsim, os; difsim.configure(cores=1); print(os.environ["XLA_FLAGS"])'

# The exact versions hold for the build back-end too; which of the two names pip reads depends on its age.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt

# The tests of `make test-full`: each file in a process of its own, and what has passed since the last change of a source
# stays, so that an interrupted run goes on.
SOURCES := $(shell find difsim inversion experiments tests -name '*.py')
RESULTS := $(patsubst tests/%.py,.tests/%.xml,$(wildcard tests/*/test_*.py))
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: agilkia test test-more test-full lint types docs clean

agilkia: .venv/.built
	$(BIN)/difsim agilkia $(ARGS)

test: .venv/.built
	$(PYTEST) tests/core $(ARGS)

test-more: .venv/.built
	$(PYTEST) tests/more $(ARGS)

test-full: .venv/.docs
	-XLA_FLAGS="$$($(AS_USERS))" $(MAKE) -j 2 -k $(RESULTS)
	@$(BIN)/python tests/table.py $(RESULTS)

.tests/%.xml: tests/%.py $(SOURCES)
	@mkdir -p $(@D)
	$(BIN)/python -m pytest -n 0 -q $< --junitxml=$(@:.xml=.new) $(ARGS) && mv $(@:.xml=.new) $@

lint: .venv/.built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=. $(BIN)/lint-imports --no-cache

types: .venv/.docs  # the extras too: what is not there has no types
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: .venv/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv site .tests .tutorials .pytest_cache .ruff_cache .hypothesis

.venv/.built: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; sys.exit(None if sys.version_info >= (3, 11) else "difsim needs Python 3.11 or newer, but $(PYTHON) is " + v + ". Name a newer one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e ".[studies,test]"
	@touch $@

.venv/.docs: .venv/.built
	$(BIN)/pip install -q -c constraints.txt -e ".[docs,all]"  # the tests of an extra that is not there skip
	@touch $@
