# make demo [A=one.tif B=two.tif]   compare two images: in a window, or headless to demo.png
# make test [ARGS="-k word"]         run the tests
# make lint                          style, types and the order of the packages
# make docs                         build the documents into docs/_build/html
# make clean                         remove the environment and everything made

SHELL := /bin/sh
VENV := .venv
PYTHON := $(VENV)/bin/python

.PHONY: demo test lint docs clean
.DEFAULT_GOAL := test

# Through the environment a file name may hold any sign.
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

# -E: a build on top of an earlier one loses the glossary from the index of the search.
docs: $(VENV)/ready
	$(PYTHON) -m pip install --quiet --group docs
	$(PYTHON) -m sphinx -W --keep-going -q -b html -E docs docs/_build/html

$(VENV)/ready: pyproject.toml tools/setup.sh
	@sh tools/setup.sh

clean:
	rm -rf $(VENV) build dist docs/_build mutants demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
