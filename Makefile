# Every target sets up what it needs, on a machine with Python 3.11 or later and make.
# A C++ compiler makes the kernels fast; without one, the NumPy kernels serve.

PYTHON ?= python3
comma  := ,
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
BUILD_REQUIREMENTS := 'scikit-build-core>=0.11' 'nanobind>=2.2' 'hatch-fancy-pypi-readme>=24'

SOURCES   := pyproject.toml CMakeLists.txt $(wildcard cpp/*)
INSTALLED := $(VENV)/.installed
MODULES   := $(VENV)/.modules

.PHONY: demo test lint bench papers papers-full docs pictures wheels lowest build fuzz kills asan tsan clean help FORCE
.DELETE_ON_ERROR:

help:
	@echo "make demo    a tour on planted errors"
	@echo "make test    the tests, the doctests and the README"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make bench   the benchmarks"
	@echo "make papers  the papers, quickly: compared with the stored tables, no page is changed"
	@echo "make papers-full  all draws of the papers, about half an hour: rewrites their pages"
	@echo "make docs    the documentation, into docs/_build/html"
	@echo "make pictures  take the pictures of the documentation anew"
	@echo "make wheels  wheels for this platform, tested, into dist/"
	@echo "make lowest  the tests with every dependency at its lower bound"
	@echo "make build   compile the kernels after a change in cpp/"
	@echo "make fuzz    damaged inputs for a minute (SECONDS=3600: an hour) and some kills"
	@echo "make asan    the kernels' tests under the address and undefined-behavior sanitizers"
	@echo "make tsan    the kernels' tests under the thread sanitizer"
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

papers-full: $(INSTALLED)
	$(BIN)/python -m papers --full

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

pictures: $(INSTALLED)
	MISNOMER_PICTURES=docs/pictures $(BIN)/python -m pytest -q tests/test_hour.py

wheels: $(VENV)/.wheels
	$(BIN)/python -m cibuildwheel --output-dir dist

# Every dependency at the lower bound that pyproject.toml states, in an environment of its own.
# What those old versions deprecate among themselves is not for us to repair: warnings are shown.
LOWEST := build/lowest
lowest: $(BIN)/python
	rm -rf $(LOWEST)
	$(BIN)/python .ci/lowest.py $(LOWEST)
	PYTHONPATH=.:src $(LOWEST)/bin/python -m misnomer demo
	PYTHONPATH=.:src $(LOWEST)/bin/python -m pytest -q -W default -p no:cacheprovider tests/test_public.py \
	  tests/cli/test_cli.py tests/cli/test_predict.py tests/audit/test_audit.py tests/rows tests/families tests/reports \
	  tests/test_plots.py tests/store/test_store.py tests/store tests/classifiers/test_base.py tests/audit/test_cluster.py

# Unlike the other targets, this one fails where the C++ does.
build: export MISNOMER_REQUIRE_COMPILED := 1
build: | $(BIN)/python
	$(install)
	@$(BIN)/python -c "import misnomer.kernels._compiled"

# New damage, another one with every SEED; what was found once is tried by the tests.
SECONDS ?= 60
SEED    ?= 0
KILLS   ?= --server 20 --audit 3 --folder 20
fuzz: $(INSTALLED)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)
	$(BIN)/python -m tests.fuzz.kills $(KILLS) --seed $(SEED)

kills: $(INSTALLED)
	$(BIN)/python -m tests.fuzz.kills --server 1000 --audit 100 --folder 1000 --seed $(SEED)

# A compiled module of its own for each sanitizer, and the tests of the kernels with it.
# Python itself is not built so: leaks are not looked for, and the sanitizer is loaded first.
define sanitized
rm -rf build/$(1) && mkdir -p build/$(1)
CXXFLAGS="-fsanitize=$(2) -fno-omit-frame-pointer -g -O1" LDFLAGS="-fsanitize=$(2)" \
  MISNOMER_REQUIRE_COMPILED=1 $(PIP) install --no-build-isolation --no-deps \
  --target build/$(1)/site -C build-dir=build/$(1)/make .
cp -r tests build/$(1)/
cd build/$(1) && LD_PRELOAD="$$(g++ -print-file-name=$(3)) $$(g++ -print-file-name=libstdc++.so.6)" \
  ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1 \
  TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1 PYTHONPATH=site:. \
  $(abspath $(BIN))/python -m pytest -q -p no:cacheprovider -W ignore tests/kernels tests/attacks/test_memory.py \
  -k "not process"
endef

asan: $(INSTALLED)
	$(call sanitized,asan,address$(comma)undefined,libasan.so)

tsan: $(INSTALLED)
	$(call sanitized,tsan,thread,libtsan.so)


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

$(VENV)/.wheels: $(INSTALLED)
	$(PIP) install cibuildwheel
	@touch $@

$(VENV)/.docs: $(INSTALLED)
	$(call editable,docs)
	@touch $@

clean:
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache \
	  .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
