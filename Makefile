PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: help demo live test test-slow kafka test-kafka test-delta check bench reproduce results clean
.DEFAULT_GOAL := help

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@echo "Setting up $(VENV) (some minutes, once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ecmsketch needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# numba notices changes in a kernel's own file only, so any change recompiles all kernels.
$(VENV)/kernels: $(READY) $(shell find src -name '*.py')
	@find src -name '*.nb[ic]' -delete
	@touch $@

demo: $(VENV)/kernels ## Generate a World Cup day on 33 servers, sketch it on Spark, merge, ask, compare with the truth
	@$(BIN)/python examples/demo.py

live: $(VENV)/kernels ## Play a generated log with floods through Spark, watch it, and show it on a live page until Ctrl-C
	@$(BIN)/python examples/live.py

WITH_SPARK := tests/spark tests/cli

# Both processes and Spark's workers would compile the same kernels at the same time, for minutes.
test: $(VENV)/kernels ## Run the tests (some minutes): those with Spark in a process beside the others
	@$(BIN)/python tests/compile_kernels.py cells & $(BIN)/python tests/compile_kernels.py slices; wait
	@$(BIN)/python -m pytest -q $(WITH_SPARK) >$(VENV)/tests-with-spark.log 2>&1 & beside=$$!; \
	$(BIN)/python -m pytest -q $(WITH_SPARK:%=--ignore=%); others=$$?; \
	wait $$beside; spark=$$?; cat $(VENV)/tests-with-spark.log; exit $$((others + spark))

test-slow: $(VENV)/kernels ## Run the long tests too: fuzzing, many trials
	@$(BIN)/python -m pytest -q -m 'not maven'

kafka: $(READY) ## Fetch Apache Kafka and Spark's connector with mvn, for test-kafka and `ecmsketch stream --kafka`
	@PYTHONPATH=tests $(BIN)/python tests/kafka/kafka_artifacts.py >$(VENV)/kafka-archives

test-kafka: $(VENV)/kernels kafka ## Run the tests with a real broker of Kafka (some minutes)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[kafka-tests]'
	@$(BIN)/python -m pytest -q -m maven tests/kafka

test-delta: $(VENV)/kernels ## Run the tests with the packages of Delta and Iceberg: they install the versions of Spark that these are built for
	@$(BIN)/python -m pytest -q -m maven tests/maven

check: $(READY) ## Lint, check types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/kernels ## Measure speed, memory and accuracy against peers in one run
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m benchmarks

SCALE ?= small
LOCKED := $(VENV)/locked
REPRODUCE := $(LOCKED)/bin/ecmsketch reproduce

$(LOCKED)/ready: requirements-reproduce.txt pyproject.toml
	@echo "Setting up $(LOCKED) with locked versions (some minutes and 1.6 GB, once) ..."
	@$(PYTHON) -m venv $(LOCKED)
	@$(LOCKED)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-reproduce.txt
	@$(LOCKED)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(LOCKED)/kernels: $(LOCKED)/ready $(shell find src -name '*.py')
	@find src -name '*.nb[ic]' -delete
	@touch $@

# Sites are merged in one process, without Java; SPARK=yes merges them on Spark. What is there already is not run again.
reproduce: $(LOCKED)/kernels ## Run the paper's experiments (SCALE=small, default or paper); small is compared with the kept numbers
	@$(REPRODUCE) all --scale $(SCALE) $(if $(SPARK),,--no-spark) $(DATA:%=--data '%') \
	    $(if $(filter small,$(SCALE)),$(if $(wildcard docs/results/small),--compare docs/results/small))

results: $(LOCKED)/kernels ## Make docs/results.md and its figures from the tables in docs/results alone
	@$(REPRODUCE) --only-report --out docs/results --docs docs

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
