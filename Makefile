# `make run` and `make test` are all that a newcomer needs; `make help` lists the rest.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# What would change which Python code runs, or have each of the many processes that tests start compile it anew.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE VIRTUAL_ENV

BIN := .venv/bin
Q := How many kilometres is a 26.2 mile marathon?
ARGS :=
TESTS := tests
# Taken literally, so that a question may hold a dollar sign; it reaches the command as a variable, so that it may hold quotes.
override Q := $(value Q)
export Q

# An environment knows the path it was made at, and the Python it was made with: without either it is made anew.
HERE := $(shell pwd -P)
ifneq ($(HERE),$(shell test -x $(BIN)/python && cat .venv/.made-at 2>/dev/null))
$(shell rm -rf .venv/.stamp .venv/.stamp-dev)
endif

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

# Stamps are written last, so that what was interrupted is done again. Running the agent does not wait for the tools of
# development, which are added to the same environment.
SETUP_INPUTS := pyproject.toml constraints.txt scripts/dev/venv.sh

.venv/.stamp: $(SETUP_INPUTS)
	@scripts/dev/venv.sh sandbox
	@pwd -P > .venv/.made-at
	@touch $@

.venv/.stamp-dev: $(SETUP_INPUTS)
	@scripts/dev/venv.sh dev,sandbox
	@pwd -P > .venv/.made-at
	@touch .venv/.stamp $@

.PHONY: run
run: .venv/.stamp ## ask the quickstart agent a question: make run Q="..." ARGS="--json"
	@$(BIN)/assemble run conf=quickstart runner.isolation=prefer -i "$$Q" $(ARGS)

.PHONY: test
test: lint types .venv/.stamp-dev ## check everything: style, floors, types and every test (TESTS=tests/skills for a part)
	$(BIN)/python -m pytest -n auto --dist worksteal $(TESTS) $(ARGS)

.PHONY: lint
lint: .venv/.stamp-dev ## style, format and the floors that imports go down
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

.PHONY: types
types: .venv/.stamp-dev ## pyright, strict on src/
	$(BIN)/pyright

.PHONY: fmt
fmt: .venv/.stamp-dev ## format, and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: bench
bench: .venv/.stamp-dev ## measure against the floors in bench/
	$(BIN)/python -m bench $(ARGS)

.PHONY: docs
docs: .venv/.stamp-dev ## write the pages of docs/ that are made from the code
	$(BIN)/python scripts/dev/docs.py

.PHONY: wheel
wheel: .venv/.stamp-dev ## build dist/*.whl
	$(BIN)/python -m build --wheel

.PHONY: pins
pins: .venv/.stamp-dev ## write constraints.txt anew with the newest versions that pyproject.toml allows
	scripts/dev/pins.sh

.PHONY: clean
clean: ## remove .venv and all that was built
	rm -rf .venv build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
