# Every target sets up .venv by itself; a second run is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USABLE := $(VENV)/.usable
READY := $(VENV)/.ready
COMPLETE := $(VENV)/.complete
WRITTEN := $(VENV)/.written

unexport PYTHONDONTWRITEBYTECODE  # workers and hundreds of short processes import the same modules

.PHONY: demo test test-all check quick slow bench-check bench docs audit mutations clean

$(USABLE): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plots]"
	@touch $(USABLE)

$(READY): $(USABLE)
	@echo "Setting up $(VENV) for tests (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $(READY)

$(COMPLETE): $(READY)
	@echo "Setting up $(VENV) for all tests (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev-all]"
	@touch $(COMPLETE)

demo: $(USABLE)  ## the main job from end to end: a plan, a release, answers, a picture
	@$(BIN)/milepost demo --output demo.png

test: check quick  ## lint, types and the quick tests

test-all: slow bench-check  ## statistics and benchmark checks

quick: $(READY)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" --durations=10

slow: $(COMPLETE)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "slow or hypothesis" --hypothesis-profile=long --durations=10

bench-check: $(COMPLETE)
	@$(BIN)/python -m bench --check

check: $(READY)  ## format, lint, types
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary

bench: $(COMPLETE)  ## every benchmark at full size
	@set -e; for name in $$($(BIN)/python -m bench); do $(BIN)/python -m bench.$$name; done

$(WRITTEN): $(USABLE)
	@echo "Setting up $(VENV) for the documentation (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $(WRITTEN)

docs: $(WRITTEN)  ## the documentation, at docs/_build/html/index.html; a warning is an error
	@$(BIN)/python -m sphinx -W --keep-going -n -q -c docs -d docs/_build/doctrees -b html . docs/_build/html
	@echo "docs/_build/html/index.html"

SAMPLES ?= 1000000

audit: $(COMPLETE)  ## the long audit: every claim, up to a million samples of each table; and what is known to be wrong
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.auditing --samples $(SAMPLES) --plot audit.png

mutations: $(COMPLETE)  ## break the privacy-critical code in many ways, one at a time; the quick tests must notice
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutations

clean:
	rm -rf $(VENV) .venv-peers docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
