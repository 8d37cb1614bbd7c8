# Every target does the set-up that it needs; what is there already is found and left alone.

VENV := .venv
BIN := $(VENV)/bin
# What set-up remembers and fetches; ignored by git.
STATE := .esac-ag

.DEFAULT_GOAL := help
.PHONY: help setup python engine images proofs registry browser npm demo test check bench clean

help: ## show the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r name words; do printf '%-14s%s\n' "$$name" "$$words"; done

setup: python engine images proofs ## virtual environment, dependencies, Docker engine, images, proofs of the tasks

demo: setup ## run the demonstration study and report on it
	@$(BIN)/esac-ag demo

# The longest first: whoever is done with these helps with the unit tests.
TESTS := tests/docker tests/contract tests/unit tests/architecture

test: python engine images registry browser npm ## run all tests, those in Docker and in a browser included
	@$(BIN)/pytest $(TESTS) --numprocesses=auto --dist=loadfile --no-loadscope-reorder --durations=25

check: python ## lint, types, layers, schemas
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/esac-ag schema --check
	@if command -v shellcheck >/dev/null; then shellcheck -x scripts/* .ci/run runner/images/prepare.sh; fi

bench: python engine images ## measure overhead, memory and start-up against their limits
	@for program in $$(grep -l __main__ benchmarks/*.py); do \
		name=benchmarks.$$(basename "$$program" .py); echo "== $$name"; $(BIN)/python -m "$$name" || exit 1; \
	done

clean: ## remove this workspace's leftover containers, and caches
	@if [ -x $(BIN)/esac-ag ]; then $(BIN)/esac-ag clean || echo "containers were not looked for" >&2; fi
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage dist
	@find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

python: $(VENV)/esac-ag.stamp

$(VENV)/esac-ag.stamp: requirements.lock pyproject.toml hatch_build.py scripts/ensure-python
	@scripts/ensure-python $(VENV)
	@touch $@

engine: python
	@scripts/ensure-engine $(BIN)/python $(STATE)/dockerd.log

images: engine
	@$(BIN)/esac-ag images build

# Proofs are kept by content: what was proved of the same bytes is not proved again.
proofs: images
	@$(BIN)/esac-ag task check --repeats 1 >/dev/null

registry:
	@scripts/ensure-registry $(STATE)/tools

browser:
	@scripts/ensure-browser

npm:
	@scripts/ensure-npm
