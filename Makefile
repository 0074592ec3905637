# make demo [A=one.tif B=two.tif]   compare two images: in a window, or headless to demo.png
# make test [ARGS="-k word"]         run the tests
# make lint                          check style, types and layering
# make docs                          build the documentation into docs/_build/html
# make clean                         remove the environment and all generated files

SHELL := /bin/sh
VENV := .venv
PYTHON := $(VENV)/bin/python

.PHONY: demo test lint docs clean
.DEFAULT_GOAL := test

# Passed through the environment, a file name may contain any character.
export ONE := $(value A)
export TWO := $(value B)

demo: $(VENV)/ready
	@sh tools/run.sh demo "$$ONE" "$$TWO"

test: $(VENV)/ready
	@sh tools/run.sh test $(ARGS)

lint: $(VENV)/ready
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	$(VENV)/bin/lint-imports

# -E: incremental builds lose the glossary from the search index.
docs: $(VENV)/ready
	$(PYTHON) -m pip install --quiet --group docs
	$(PYTHON) -m sphinx -W --keep-going -q -b html -E docs docs/_build/html

$(VENV)/ready: pyproject.toml tools/setup.sh
	@sh tools/setup.sh

clean:
	rm -rf $(VENV) build dist docs/_build mutants demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
