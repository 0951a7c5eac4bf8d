# make demo: set up, then the main job on real input.   make test: set up, then the tests.
# make demo SERVE=1: pages with a made history of 60 commits, without measuring.
# make site: the documentation as a site, in build/site/site.
# make screenshots: pictures of all pages of that history, in docs/pages.
# make test-pythons: the quick tests on every other Python that is installed here.
# make check: format, lint, types, import contracts.    make bench: ratios, no gate.
# make requirements: the locked requirements with hashes, after a change of pyproject.toml or constraints.txt.
# make sbom: what the service and a runner are installed from, as CycloneDX, in build/sbom.
# make migration NAME="owners of uploads": the migration that a change of the store's tables needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?= -n auto --dist worksteal
EXTRAS := service,postgres,gpu,torch,jax,numba,review,parquet,dev
# A process uses what another one compiled: without this, each would rewrite a thousand test files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo screenshots test test-pythons check bench docs site format requirements sbom migration clean

demo: $(VENV)/.ready-demo
	$(BIN)/python examples/demo.py $(if $(SERVE),--history)

screenshots: $(VENV)/.ready-dev
	$(BIN)/python examples/demo.py --history --screenshots docs/pages

test: $(VENV)/.ready-dev
	$(BIN)/pytest $(PYTEST_ARGS)

test-pythons: $(VENV)/.ready-dev
	.ci/test-pythons

check: $(VENV)/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: $(VENV)/.ready-demo
	$(BIN)/python -m perfledger_service.cli.reference docs/reference/commands
	$(BIN)/python -m perfledger_service.web.reference docs/reference/service
	$(BIN)/python -m perfledger_service.settings.reference docs/reference/settings.md

site: $(VENV)/.ready-dev
	$(BIN)/python docs/build_site.py build/site

bench: $(VENV)/.ready-dev
	$(BIN)/python benchmarks/timing/harness_overhead.py
	$(BIN)/python benchmarks/service/help_start.py
	$(BIN)/python benchmarks/service/upload.py
	$(BIN)/python benchmarks/checks/runner_queue.py
	$(BIN)/python benchmarks/baselines/judge_error_rates.py
	$(BIN)/python benchmarks/baselines/judge_peers.py
	$(BIN)/python benchmarks/baselines/history_detectors.py
	$(BIN)/python benchmarks/baselines/history_speed.py
	$(BIN)/python benchmarks/baselines/history_two_tiers.py
	$(BIN)/python benchmarks/baselines/judge_error_rates.py --history
	$(BIN)/python benchmarks/baselines/judge_kinds.py
	$(BIN)/python benchmarks/baselines/share_scales.py
	$(BIN)/python benchmarks/baselines/gate_advice.py
	$(BIN)/python benchmarks/profiles/trace_reading.py
	$(BIN)/python benchmarks/fuzzing/trace_fuzzing.py
	$(BIN)/python benchmarks/profiles/planted_causes.py
	$(BIN)/python benchmarks/cost_models/projection.py
	$(BIN)/python benchmarks/cost_models/cost_comparison.py
	$(BIN)/python benchmarks/cost_models/queueing.py
	$(BIN)/python benchmarks/cost_models/scheduling.py
	$(BIN)/python benchmarks/cost_models/forecast.py
	$(BIN)/python benchmarks/cost_models/rightsizing.py --each 6
	$(BIN)/python benchmarks/cost_models/allocation.py
	$(BIN)/python benchmarks/service/review_store.py

format: $(VENV)/.ready-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Of what runs for long and holds secrets: the service, and a runner's machine. torch and jax are the user's own.
LOCK := $(BIN)/uv pip compile pyproject.toml - -c constraints.txt --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --no-header --no-annotate --quiet
requirements: $(VENV)/.ready-dev
	echo hatchling | $(LOCK) --extra service --extra postgres --extra review -o service/requirements.txt
	echo hatchling | $(LOCK) --extra gpu -o runners/requirements.txt

SBOM := $(BIN)/uv tool run --from cyclonedx-bom==7.5.0 cyclonedx-py requirements --pyproject pyproject.toml \
	--output-reproducible --output-format JSON
sbom: $(VENV)/.ready-dev
	mkdir -p build/sbom
	$(SBOM) --output-file build/sbom/service.cdx.json service/requirements.txt
	$(SBOM) --output-file build/sbom/runner.cdx.json runners/requirements.txt

migration: $(VENV)/.ready-dev
	$(BIN)/python -m perfledger_service.store.new_migration "$$NAME"

clean:
	rm -rf $(VENV) .venvs .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("perfledger needs Python 3.11 or newer: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready-demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -c constraints.txt -e '.[service,torch,jax]'
	touch $@

$(VENV)/.ready-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@
