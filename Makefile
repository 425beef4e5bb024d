# Every target sets up what it needs by itself; what it says while doing so goes to stderr.
# ARGS is handed on: make test ARGS="-k panes", make -s demo ARGS=--json

PYTHON_IN_VENV := .venv/bin/python
READY := .venv/.ready
PEERS := .venv/.peers
ARGS ?=

# A PYTHON that is named, and is another than the one in .venv, makes .venv again.
VERSION := -c 'import sys; print(sys.version)'
ifneq ($(PYTHON),)
ifneq ($(shell $(PYTHON) $(VERSION) 2>&1),$(shell $(PYTHON_IN_VENV) $(VERSION) 2>&1))
.PHONY: $(READY)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo test bench compare picture bars lint format lock clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with everything in it (Python 3.11 to 3.13; PYTHON=... takes another)

$(READY): requirements/dev.txt pyproject.toml tools/setup.sh
	@sh tools/setup.sh >&2

# Whom the benchmark compares with; nothing else needs them.
$(PEERS): requirements/bench.txt $(READY)
	@echo "setup: installing what requirements/bench.txt lists" >&2
	@$(PYTHON_IN_VENV) -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps -r $< >&2
	@touch $@

demo: $(READY) ## a flood, found and spread, in about a minute
	@.venv/bin/hotshard demo $(ARGS)

test: $(READY) ## all tests; installs Java, Maven and redis-server where it may
	@sh tools/programs.sh >&2
	@$(PYTHON_IN_VENV) -m pytest $(ARGS)

bench: $(READY) $(PEERS) ## speed, beside the usual clients, latency, memory; ARGS="--quick --json" is the short form
	@sh tools/programs.sh >&2
	@$(PYTHON_IN_VENV) -m tests.bench $(ARGS)

compare: $(READY) ## the README's table of placements: plain hash, PKG, D-Choices, W-Choices and ours
	@$(PYTHON_IN_VENV) -m tests.bench.compare_placement $(ARGS)

picture: $(READY) ## the pictures of the README: a run of the demo, and a scan
	@$(PYTHON_IN_VENV) -m hotshard.demo.scan_picture docs/scan.svg
	@$(PYTHON_IN_VENV) -m hotshard.demo.picture docs/demo.svg

bars: $(READY) ## the picture of the throughput comparison, from docs/bench.json
	@$(PYTHON_IN_VENV) -m tests.bench.picture $(ARGS)

lint: $(READY) ## ruff, its formatter, and mypy
	@$(PYTHON_IN_VENV) -m ruff check
	@$(PYTHON_IN_VENV) -m ruff format --check
	@$(PYTHON_IN_VENV) -m mypy

format: $(READY) ## put the code into its form
	@$(PYTHON_IN_VENV) -m ruff check --fix --exit-zero --quiet
	@$(PYTHON_IN_VENV) -m ruff format

lock: $(READY) ## make the lock again, with the newest versions that fit
	@sh tools/lock.sh >&2

clean: ## remove what the other targets made
	@rm -rf .venv .cache build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
