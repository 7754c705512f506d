# Every target works from a clean clone with Python 3.10+, make and a C compiler; each creates .venv as it needs it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FUZZ_INPUTS ?= 1000000
# What is drawn anew is drawn from this seed; it is printed, and given again it repeats a find.
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
TEST_EXTRAS ?= test,tvm,onnx,torch,openblas,modernize,dask
BENCH_EXTRAS ?= bench,tvm,onnx,torch
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Each apache-tvm with the apache-tvm-ffi that it really needs; 0.27 is what the extra `tvm` installs.
TVM_0.25 := "apache-tvm==0.25.*" "apache-tvm-ffi==0.1.12"
TVM_0.26 := "apache-tvm==0.26.*" "apache-tvm-ffi>=0.1.13.post2,<0.1.15"
TVM_0.27 := ".[tvm]"

.PHONY: demo dev setup lint test test-all test-install test-optimised test-random test-tvm check imports types house profile-import bench docs fuzz format golden
.PHONY: clean help test-legacy test-cuda zoo torch-operators

help:  ## Show this list.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras. The install is editable: what runs is the file that is edited.
$(VENV)/.installed: $(BIN)/python pyproject.toml setup.py
	$(PIP) install --editable .
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) install --editable ".[$(TEST_EXTRAS)]"
	touch $@

$(VENV)/.check: $(VENV)/.installed
	$(PIP) install --editable ".[check,test]"
	touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(PIP) install --editable ".[$(BENCH_EXTRAS)]"
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) install --editable ".[docs]"
	touch $@

# Each call of pip builds the package anew and asks for all that is there.
setup: $(BIN)/python  ## Set up what checks and tests need, at once.
	$(PIP) install --editable ".[$(TEST_EXTRAS),check]"
	touch $(VENV)/.installed && touch $(VENV)/.test $(VENV)/.check

dev: $(VENV)/.test $(VENV)/.check  ## Set up what the other targets need, and the hooks of pre-commit.
	git rev-parse --git-dir > /dev/null 2>&1 && $(BIN)/pre-commit install || true

demo: $(VENV)/.installed  ## Set up, then convert the dynamic-batch MLP both ways, run it everywhere and compare.
	$(BIN)/relay2relax demo

# Sets are ordered alike in every run; `test-random` orders them by its seed. Bytecode is kept, even where the
# environment says otherwise: each process of the tests, and there are many, would compile all it imports.
TESTED := PYTHONDONTWRITEBYTECODE= PYTHONHASHSEED

# Each process begins with half of the tests in their order, so that what those of a file share is made once; who is
# done first takes over from the other.
test: $(VENV)/.test  ## Set up, then pass a sample of the tests, in five minutes on two cores.
	$(TESTED)=0 $(BIN)/pytest -n 2 --dist worksteal $(PYTEST_ARGS)

test-all: $(VENV)/.test  ## Set up, then pass all tests.
	$(TESTED)=0 RELAY2RELAX_SWEEP=all $(BIN)/pytest -n 2 --dist worksteal $(PYTEST_ARGS)

# Python leaves out asserts of the package; those of the tests are rewritten by pytest, and run.
test-optimised: $(VENV)/.test  ## Set up, then pass the tests of what builds and runs under python -O.
	$(TESTED)=0 $(BIN)/python -O -m pytest -n 2 --dist worksteal -W ignore::pytest.PytestConfigWarning tests/backends/c tests/backends/vm tests/cli $(PYTEST_ARGS)

test-random: $(VENV)/.test  ## Set up, then pass the tests that draw examples, on other ones (SEED=… repeats a run).
	@echo "drawn from seed $(SEED); the same again: make test-random SEED=$(SEED)"
	$(TESTED)=$(SEED) $(BIN)/pytest -n 2 -m "hypothesis or drawn" --hypothesis-seed=$(SEED) $(PYTEST_ARGS)

test-tvm: test-tvm-0.25 test-tvm-0.26 test-tvm-0.27  ## Run the scripts of every recorded model in TVM 0.25, 0.26 and 0.27.

test-tvm-%: pyproject.toml setup.py
	test -d $(VENV)-tvm-$* || $(PYTHON) -m venv $(VENV)-tvm-$*
	$(VENV)-tvm-$*/bin/python -m pip --quiet install --editable ".[test]" $(TVM_$*)
	$(VENV)-tvm-$*/bin/pytest -n 2 tests/translator tests/backends/scheduled/test_scheduled.py -k apache_tvm

# Nothing of this needs a GPU: apache-tvm writes sources, nvrtc compiles them, kernels run on numpy.
test-cuda: $(VENV)/.test  ## Set up, then build recorded models and operators for GPUs, and check all kernels.
	$(PIP) install --editable ".[cuda]"
	$(TESTED)=0 RELAY2RELAX_SWEEP=all $(BIN)/pytest -n 2 --dist worksteal tests/backends/gpu tests/backends/numpy/test_kernels.py $(PYTEST_ARGS)

# From the sources to a wheel by way of the source distribution, into an empty environment, outside of the checkout.
test-install: test-install-3.10 test-install-3.11 test-install-3.12 test-install-3.13  ## Install the wheel and run the demo on Python 3.10 to 3.13.

test-install-%: $(BIN)/python
	$(PIP) install build
	rm -rf $(VENV)-install-$* && python$* -m venv $(VENV)-install-$*
	$(BIN)/python -m build --outdir $(VENV)-install-$*/dist .
	$(VENV)-install-$*/bin/python -m pip --quiet install $(VENV)-install-$*/dist/*.whl
	cd $(VENV)-install-$* && bin/relay2relax demo > demo.txt && tail -1 demo.txt

check: lint types  ## Set up, then lint, check types, imports, limits and start-up.

lint: $(VENV)/.check house imports profile-import  ## Set up, then check all but types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint --deny-warnings viewer/page

# Tools that read files see the packages where they are imported: in a tree of links to what is edited.
$(VENV)/tree: $(VENV)/.check tools/source_tree.py $(wildcard */__init__.py)
	$(BIN)/python tools/source_tree.py $@
	touch $@

imports: $(VENV)/tree
	cd $(VENV)/tree && PYTHONPATH=. ../bin/lint-imports --config ../../pyproject.toml

types: $(VENV)/tree
	cd $(VENV)/tree && MYPYPATH=.:scripts ../bin/mypy --config-file ../../pyproject.toml --explicit-package-bases relay2relax tests scripts

house: $(VENV)/.check
	$(BIN)/python tools/house.py

profile-import: $(VENV)/.installed  ## Set up, then measure the import of all public packages.
	$(BIN)/python tools/profile_import.py

# TVM's own tests are taken from its repository, and kept nowhere: give a folder that holds tests/python/relay of v0.18.0.
torch-operators: $(VENV)/.test  ## Set up, then run PyTorch's samples of operators that the file STATE=… does not have yet.
	$(BIN)/python tools/torch_operators_page.py $(STATE)
	$(BIN)/python tools/torch_operators_page.py --page $(STATE)

zoo: $(VENV)/.test  ## Set up, then run models of others that the file STATE=… does not have yet; writes their page.
	$(PIP) install torchvision timm transformers onnxscript
	PYTHONPATH=tools $(BIN)/python -m zoo.run $(STATE)
	PYTHONPATH=tools $(BIN)/python -m zoo.run --page $(STATE)

test-legacy: $(VENV)/.test  ## Set up, then run TVM 0.18's tests of Relay in the folder TVM=… on the facade.
	$(PIP) install --editable ".[legacy]"
	$(BIN)/python tools/legacy_tests.py $(TVM) $(FILES)

bench: $(VENV)/.bench  ## Set up, then measure stages, translation, memory and speed against peers; writes docs/benchmarks.md.
	$(BIN)/python benchmarks/run.py --page docs/benchmarks.md

bench-gpu: $(VENV)/.bench  ## Set up, then measure the recorded models on the GPU of this machine (BENCH_ARGS="--models mlp").
	$(PIP) install --editable ".[cuda]"
	$(BIN)/python benchmarks/gpu/gpu_bench.py $(BENCH_ARGS)

# Coverage guides a part of the inputs where atheris has a build for this Python.
fuzz: $(VENV)/.test  ## Set up, then read a million damaged texts, and 200,000 files of each format (FUZZ_INPUTS=… SEED=…).
	-$(PIP) install --only-binary :all: atheris
	$(BIN)/python tests/fuzz/run.py --inputs $(FUZZ_INPUTS) --seed $(SEED)

format: $(VENV)/.check  ## Format the sources.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs  ## Set up, then build the documentation as a site in site/; broken links fail.
	$(BIN)/mkdocs build --strict --quiet

golden: $(VENV)/.test  ## Rewrite golden text files; review the difference.
	RELAY2RELAX_SWEEP=all $(BIN)/pytest --update-golden $(PYTEST_ARGS)

clean:  ## Remove everything that the other targets made.
	rm -rf $(VENV) $(VENV)-tvm-* $(VENV)-install-* build site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
