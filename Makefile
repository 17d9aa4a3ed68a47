# Short names for what CI does; each works in an environment made by `make install`.
PYTHON ?= python

.PHONY: install test lint types contracts bench docs ci lock

install:  ## everything that developing needs
	$(PYTHON) -m pip install -e ".[dev]"

test:  ## the test suite, in parallel
	$(PYTHON) -m pytest -n auto

lint:  ## style, and that files are formatted
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types:  ## strict types
	$(PYTHON) -m mypy

contracts:  ## which room may import which
	lint-imports

bench:  ## beside LangGraph; needs: pip install -r benchmarks/requirements.txt
	$(PYTHON) -m benchmarks

docs:  ## links resolve, code blocks run and print what they say
	$(PYTHON) -m pytest tests/test_docs.py tests/test_examples.py

ci:  ## what CI runs, in fresh environments
	bash .ci/run

lock:  ## refresh requirements-dev.lock from a fresh environment
	bash scripts/lock
