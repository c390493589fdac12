# Each target sets up what it needs by itself, in .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test matrix bench check format pages docs clean

## Run preflight on its own broken job; succeeds exactly when the verdict is NO-GO.
demo: .venv/installed
	@$(BIN)/preflight demo; code=$$?; test $$code -eq 1

# Thousands of processes import preflight: each would compile its sources anew where an image of a
# container says that nothing compiled is to be kept.
test bench: export PYTHONDONTWRITEBYTECODE :=

## Run all tests. None of them asserts how fast something is: a busy machine fails none.
test: .venv/installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not benchmark"

## Run all tests on each Python from 3.10 to 3.13, with the newest torch, and with the lowest
## versions that are promised. Takes an hour, and gigabytes; `nox --list` names the parts.
matrix: .venv/installed-matrix
	$(BIN)/python -m nox

## Measure times and memory, and show each figure beside its bound; for a quiet machine.
bench: .venv/installed-test
	$(BIN)/python -m pytest -m benchmark -p no:randomly -q

## What a contributor runs before a commit.
check: .venv/installed-dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(MAKE) test

## Bring the code into the project's form.
format: .venv/installed-dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

## Write the generated parts of README.md and docs/ anew.
pages: .venv/installed
	$(BIN)/python docs/generate.py

## Build the site of docs/ in site/.
docs: .venv/installed-test
	$(BIN)/python -m mkdocs build --strict

clean:
	rm -rf .venv .nox build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache

.venv/python: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed; say make PYTHON=python3.12")'
	@echo "Setting up .venv (torch is large: this takes a minute the first time) ..."
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: .venv/python
	@$(PIP) --editable .
	@touch $@

# By uv, which takes half of the time; by pip where that cannot be had. Compiled by all processors,
# and not what nothing here imports. What pip is told by its environment, uv is told as well.
.venv/installed-test: export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
.venv/installed-test: export UV_NATIVE_TLS ?= 1
.venv/installed-test: .venv/python
	@$(PIP) uv && $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt \
		--editable '.[test]' || $(PIP) --no-compile --editable '.[test]'
	@$(BIN)/python -m compileall -qq -j 0 -x '/(tests?|models|_inductor|lexers|physics|pip)/' .venv/lib || true
	@touch .venv/installed $@

.venv/installed-matrix: .venv/installed
	@$(PIP) --editable '.[matrix]'
	@touch $@

.venv/installed-dev: .venv/installed
	@$(PIP) --editable '.[dev]'
	@touch $@ .venv/installed-test
