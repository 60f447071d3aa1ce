# The two commands of the README are `run` and `test`; each prepares what it needs, once (.stamps), and is quick after that.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
export PYTHON ROOST_PURE

BIN := .venv/bin
PEERS := tests/interop/mqtt tests/interop/ndnts tests/interop/ndnts-2024 tests/web
SOURCES := $(shell find src -name '*.egg-info' -prune -o -name __pycache__ -prune -o -type f -print | LC_ALL=C sort)
# Two ways to import roost: from src, interpreted; or as installed in .venv, compiled.
INTERPRETED := PYTHONPATH=src
COMPILED := env -u PYTHONPATH
# Two at a time, but for those with Spark: they share one JVM, which takes both cores, and run once, as installed.
PYTEST := $(BIN)/pytest -n 2 --ignore tests/spark
# What starts programs and peers, and runs the pages, is run once too, as users run it.
LOGIC := tests/unit tests/property tests/contract tests/conformance tests/sim
PACKAGE := .stamps/package$(if $(filter-out 0,$(ROOST_PURE)),-pure)

.PHONY: run test check bench sim docs help

run: $(PACKAGE) .stamps/java  ## Run a campus of two buildings with its page until Ctrl-C; FOR=60s runs it unattended, breaks everything once and judges.
	@$(COMPILED) $(BIN)/roost demo $(if $(FOR),--for $(FOR) --check)

test: check $(PACKAGE) .stamps/java .stamps/peers  ## Check everything; run the tests of the logic interpreted from src, then all tests as installed, compiled, those with Spark at the end.
	@scripts/prepare compiled
	@echo "== tests of the logic, interpreted (src)"
	@ROOST_RUN=interpreted $(INTERPRETED) $(PYTEST) $(LOGIC)
	@echo "== tests, as installed (.venv, $(if $(filter-out 0,$(ROOST_PURE)),interpreted: ROOST_PURE is set,compiled))"
	@ROOST_RUN=$(if $(filter-out 0,$(ROOST_PURE)),installed,compiled) $(COMPILED) $(PYTEST) -p no:cacheprovider
	@echo "== tests with Spark, as installed"
	@$(COMPILED) $(BIN)/pytest -p no:cacheprovider tests/spark

check: .stamps/venv  ## Lint, formatting, types and the layers of the design; changes nothing.
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(INTERPRETED) $(BIN)/lint-imports --no-logo

bench: $(PACKAGE) .stamps/java  ## Measure beside peers in the same run, compiled; ONLY=<area> picks an area, INTERPRETED_SOURCE=1 measures src.
	@$(if $(INTERPRETED_SOURCE),$(INTERPRETED),$(COMPILED)) $(BIN)/python -m bench $(ONLY)

sim: $(PACKAGE)  ## Simulate N=<runs> worlds with faults from SEED=<number>; without N, replay that seed and show what happened. FAMILY=<name> picks a family.
	@$(COMPILED) $(BIN)/roost sim $(FAMILY) --seed $(or $(SEED),1) $(addprefix --runs ,$(or $(N),$(if $(SEED),,1000)))

docs: .stamps/venv  ## Build the documentation as a site, into build/site.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

help:  ## Say what the targets are.
	@echo "usage: make <target>"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target sentence; do printf '  %-7s %s\n' "$$target" "$$sentence"; done

.stamps/venv: constraints.txt pyproject.toml
	@scripts/prepare venv
	@mkdir -p .stamps && touch $@

# Changes only when a source file comes or goes, which modification times of files cannot tell.
.stamps/sources: FORCE
	@mkdir -p .stamps && printf '%s\n' $(SOURCES) | cmp -s - $@ || printf '%s\n' $(SOURCES) > $@

$(PACKAGE): .stamps/venv .stamps/sources $(SOURCES) pyproject.toml setup.py
	@scripts/prepare package
	@rm -f .stamps/package* && touch $@

.stamps/java: .stamps/venv src/roost/pipeline/training.py
	@scripts/prepare java
	@mkdir -p .stamps && touch $@

.stamps/peers: $(PEERS:=/package.json)
	@scripts/prepare peers
	@mkdir -p .stamps && touch $@

FORCE:
