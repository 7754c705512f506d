# Every target works from a clean clone with Python 3.10+, make and a C compiler; each creates .venv as it needs it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find relay2relax core tir ops relay_ir relax_ir graph backends translator cli -name '*.py')
FUZZ_INPUTS ?= 1000000
TEST_EXTRAS ?= test,tvm,onnx,torch,openblas
BENCH_EXTRAS ?= bench,tvm,onnx,torch
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Each apache-tvm with the apache-tvm-ffi that it really needs; 0.27 is what the extra `tvm` installs.
TVM_0.25 := "apache-tvm==0.25.*" "apache-tvm-ffi==0.1.12"
TVM_0.26 := "apache-tvm==0.26.*" "apache-tvm-ffi>=0.1.13.post2,<0.1.15"
TVM_0.27 := ".[tvm]"

.PHONY: demo test test-tvm check bench docs fuzz format golden clean help

help:  ## Show this list.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras; a changed source file is installed anew.
$(VENV)/.installed: $(BIN)/python pyproject.toml $(SOURCES)
	rm -rf build
	$(PIP) install .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) install ".[$(TEST_EXTRAS)]"
	touch $@

$(VENV)/.check: $(VENV)/.installed
	$(PIP) install ".[check]"
	touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(PIP) install ".[$(BENCH_EXTRAS)]"
	touch $@

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(PIP) install ".[docs]"
	touch $@

demo: $(VENV)/.installed  ## Set up, then convert the dynamic-batch MLP both ways, run it everywhere and compare.
	$(BIN)/relay2relax demo

test: $(VENV)/.test  ## Set up, then pass the tests.
	$(BIN)/pytest -n 2 $(PYTEST_ARGS)

test-tvm: test-tvm-0.25 test-tvm-0.26 test-tvm-0.27  ## Run the scripts of every recorded model in TVM 0.25, 0.26 and 0.27.

test-tvm-%: pyproject.toml $(SOURCES)
	test -d $(VENV)-tvm-$* || $(PYTHON) -m venv $(VENV)-tvm-$*
	rm -rf build
	$(VENV)-tvm-$*/bin/python -m pip --quiet install ".[test]" $(TVM_$*)
	$(VENV)-tvm-$*/bin/pytest -n 2 tests/translator tests/backends/test_scheduled.py -k apache_tvm

# The tools look at the installed package: at the root, the folders would be mistaken for top-level packages.
check: $(VENV)/.check  ## Set up, then lint, check types and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(VENV) && bin/lint-imports --config ../pyproject.toml
	cd $(VENV) && bin/mypy --config-file ../pyproject.toml -p relay2relax

bench: $(VENV)/.bench  ## Set up, then measure stages, translation, memory and speed against peers; writes docs/benchmarks.md.
	$(BIN)/python benchmarks/run.py --page docs/benchmarks.md

# Coverage guides a part of the inputs where atheris has a build for this Python.
fuzz: $(VENV)/.test  ## Set up, then read a million damaged texts, JSON documents and parameter files (FUZZ_INPUTS=…).
	-$(PIP) install --only-binary :all: atheris
	$(BIN)/python tests/fuzz/run.py --inputs $(FUZZ_INPUTS)

format: $(VENV)/.check  ## Format the sources.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs  ## Set up, then build the documentation as a site in site/; broken links fail.
	$(BIN)/mkdocs build --strict --quiet

golden: $(VENV)/.test  ## Rewrite golden text files; review the difference.
	$(BIN)/pytest --update-golden $(PYTEST_ARGS)

clean:  ## Remove everything that the other targets made.
	rm -rf $(VENV) $(VENV)-tvm-* build site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
