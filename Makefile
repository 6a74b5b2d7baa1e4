# The two commands: `make run` opens the window, `make test` runs every test.
SHELL := bash
PY := .venv/bin/python
BIN := .venv/bin
OLD_PYTHON_FILES := resources/rank_agent/rank_agent.py resources/preflight/preflight.py \
  resources/measurement/measurement.py resources/edge/metal_facts.py resources/edge/torch_worker.py \
  resources/edge/mlx_worker.py resources/edge/export_pte.py

.PHONY: help run demo test bench fuzz check lint format types imports dead-code old-python wheel clean distclean
.PHONY: setup setup-test

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:
	@PYTHON="$(PYTHON)" ./setup.sh run

setup-test:
	@PYTHON="$(PYTHON)" ./setup.sh test

run: setup ## Open the window (ARGS="FILE ..." opens files)
	@$(PY) main.py $(ARGS)

demo: setup ## The main job without a window: 4 ranks in the terminal, then pictures of the pages
	@$(PY) main.py demo $(ARGS)

# Files are spread over processes, at most four: more ranks and windows at a time than that wait for each other.
test: setup-test ## Every test, those with a real window included (ARGS="-k name" for some)
	@$(PY) -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile $(ARGS)

bench: setup-test ## Measure: a table of medians and ratios, takes minutes
	@$(PY) tests/benchmarks/run_all.py $(ARGS)

fuzz: setup-test ## Damage 100,000 traces and as many reports, takes hours (ARGS="--seed 2", REPORT_ARGS)
	@$(PY) -m tests.fuzz.growth
	@$(PY) -m tests.fuzz.fuzz_traces $(ARGS)
	@$(PY) -m tests.fuzz.fuzz_reports $(REPORT_ARGS)

check: lint format types imports dead-code old-python ## Everything that reads the code without running it

lint: setup-test
	@echo "== ruff check" && $(PY) -m ruff check

format: setup-test
	@echo "== ruff format" && $(PY) -m ruff format --check

types: setup-test
	@echo "== mypy --strict" && $(PY) -m mypy

imports: setup-test
	@echo "== import-linter" && $(BIN)/lint-imports

dead-code: setup-test
	@echo "== vulture" && $(PY) -m vulture

old-python: setup-test
	@echo "== vermin (Python 3.9)" && $(BIN)/vermin --quiet --no-tips --violations -t=3.9- $(OLD_PYTHON_FILES)

wheel: setup-test ## Build dist/ridgeline-*.whl
	@$(PY) -m hatchling build -t wheel

clean: ## Remove what builds and tools left behind
	rm -rf dist build demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## Also remove the environment
	rm -rf .venv
