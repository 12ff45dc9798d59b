# Every target sets up what it needs, on a machine with Python 3.11 or later and make.
# A C++ compiler makes the kernels fast; without one, the NumPy kernels serve.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
BUILD_REQUIREMENTS := 'scikit-build-core>=0.11' 'nanobind>=2.2'

SOURCES   := pyproject.toml CMakeLists.txt $(wildcard cpp/*)
INSTALLED := $(VENV)/.installed
MODULES   := $(VENV)/.modules

.PHONY: demo test lint bench papers docs build clean help FORCE
.DELETE_ON_ERROR:

help:
	@echo "make demo    a tour on planted errors"
	@echo "make test    the tests, the doctests and the README"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make bench   the benchmarks"
	@echo "make papers  the papers' tables beside ours"
	@echo "make docs    the documentation, into docs/_build/html"
	@echo "make build   compile the kernels after a change in cpp/"
	@echo "make clean   remove everything that make has made"

demo: $(INSTALLED)
	$(BIN)/misnomer demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

papers: $(INSTALLED)
	$(BIN)/python -m papers

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Unlike the other targets, this one fails where the C++ does.
build: export MISNOMER_REQUIRE_COMPILED := 1
build: | $(BIN)/python
	$(install)
	@$(BIN)/python -c "import misnomer.kernels._compiled"

# Debian may ship venv without ensurepip; then pip installs itself from outside.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --quiet --python $(BIN)/python install pip; }
	$(PIP) install --upgrade pip

# An editable install of misnomer with the extras named by the argument.
# Without build isolation, cmake keeps its state and rebuilds only what changed.
# Where cmake and ninja have no wheel the system's serve; without any, only Python is installed.
define editable
@test -x $(BIN)/cmake || command -v cmake >/dev/null || export MISNOMER_PURE_PYTHON=1; \
  $(PIP) install --no-build-isolation --editable '.[$(1)]'
endef

define install
$(PIP) install $(BUILD_REQUIREMENTS)
$(PIP) install cmake ninja || echo "cmake and ninja could not be installed"
$(call editable,dev)
@$(BIN)/python -c "import misnomer.kernels._compiled" 2>/dev/null || \
  echo "The C++ kernels were not built, the NumPy kernels serve; 'make build' shows why."
@touch $(INSTALLED)
endef

$(INSTALLED): $(SOURCES) $(MODULES) | $(BIN)/python
	$(install)

# An editable install remembers which modules there were: refresh it when they change.
$(MODULES): FORCE | $(BIN)/python
	@find src -name '*.py' | sort | cmp -s - $@ || find src -name '*.py' | sort > $@

$(VENV)/.bench: $(INSTALLED)
	$(call editable,bench)
	@touch $@

$(VENV)/.docs: $(INSTALLED)
	$(call editable,docs)
	@touch $@

clean:
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache \
	  .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
