PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: help build demo live test test-slow kafka test-kafka test-delta check sanitize mutants wheels bench reproduce results clean
.DEFAULT_GOAL := help

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@echo "Setting up $(VENV) (some minutes, once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ecmsketch needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'setuptools>=77' 'cython>=3.1' 'numpy>=2.0'
	@$(COMPILER) $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[dev]'
	@touch $@

# Without a C compiler, one that is a package of PyPI is installed beside. tools/compiler.sh says which to use.
COMPILER = CC="$$(tools/compiler.sh $(VENV))"

SOURCES := $(shell grep -rlE '^import cython$$' --include='*.py' src) $(shell find src -name '*.pyx' -o -name '*.pxd') setup.py

$(VENV)/built: $(READY) $(SOURCES)
	@tools/build.sh $(VENV)
	@touch $@

build: $(VENV)/built ## Compile what has changed

demo: $(VENV)/built ## Generate a World Cup day on 33 servers, sketch it on Spark, merge, ask, compare with the truth
	@$(BIN)/python examples/demo.py

live: $(VENV)/built ## Play a generated log with floods through Spark, watch it, and show it on a live page until Ctrl-C
	@$(BIN)/python examples/live.py

WITH_SPARK := tests/spark tests/cli

test: $(VENV)/built ## Run the tests (some minutes): those with Spark in a process beside the others
	@$(BIN)/python -m pytest -q $(WITH_SPARK) >$(VENV)/tests-with-spark.log 2>&1 & beside=$$!; \
	$(BIN)/python -m pytest -q $(WITH_SPARK:%=--ignore=%); others=$$?; \
	wait $$beside; spark=$$?; cat $(VENV)/tests-with-spark.log; exit $$((others + spark))

test-slow: $(VENV)/built ## Run the long tests too: fuzzing, many trials
	@$(BIN)/python -m pytest -q -m 'not maven'

kafka: $(READY) ## Fetch Apache Kafka and Spark's connector with mvn, for test-kafka and `ecmsketch stream --kafka`
	@PYTHONPATH=tests $(BIN)/python tests/kafka/kafka_artifacts.py >$(VENV)/kafka-archives

test-kafka: $(VENV)/built kafka ## Run the tests with a real broker of Kafka (some minutes)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'confluent-kafka>=2.6'
	@$(BIN)/python -m pytest -q -m maven tests/kafka

test-delta: $(VENV)/built ## Run the tests with the packages of Delta and Iceberg: they install the versions of Spark that these are built for
	@$(BIN)/python -m pytest -q -m maven tests/maven

check: $(READY) ## Lint, check types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

sanitize: $(READY) ## Feed hostile bytes to a build with AddressSanitizer and UndefinedBehaviorSanitizer (FUZZ=60 seconds, TESTS=none)
	@tools/sanitize.sh $(VENV) $(or $(FUZZ),60) $(TESTS)

SEED ?= 1
NUMBER ?= 40
IN ?= kernels engines sketch

mutants: $(VENV)/built ## Put small bugs into a copy of the core, one at a time, and run the tests that should notice (SEED, NUMBER, IN)
	@$(BIN)/python tools/mutants --seed $(SEED) --number $(NUMBER) $(IN)

wheels: ## Make wheels in dist/ for Linux on x86-64 and aarch64, and try those of this machine
	@tools/wheels.sh

bench: $(VENV)/built ## Measure speed, memory and accuracy against peers in one run
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'probstructs>=0.2.8'
	@$(BIN)/python -m benchmarks

SCALE ?= small
LOCKED := $(VENV)/locked
REPRODUCE := $(LOCKED)/bin/ecmsketch reproduce

$(LOCKED)/ready: requirements-reproduce.txt pyproject.toml $(VENV)/built
	@echo "Setting up $(LOCKED) with locked versions (some minutes and 1.6 GB, once) ..."
	@$(PYTHON) -m venv $(LOCKED)
	@$(LOCKED)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-reproduce.txt 'setuptools>=77' 'cython>=3.1'
	@$(COMPILER) $(LOCKED)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

# Sites are merged in one process, without Java; SPARK=yes merges them on Spark. What is there already is not run again.
reproduce: $(LOCKED)/ready ## Run the paper's experiments (SCALE=small, default or paper); small is compared with the kept numbers
	@$(REPRODUCE) all --scale $(SCALE) $(if $(SPARK),,--no-spark) $(DATA:%=--data '%') \
	    $(if $(filter small,$(SCALE)),$(if $(wildcard docs/results/small),--compare docs/results/small))

results: $(LOCKED)/ready ## Make docs/results.md and its figures from the tables in docs/results alone
	@$(REPRODUCE) --only-report --out docs/results --docs docs

clean: ## Remove the virtual environment and caches
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
