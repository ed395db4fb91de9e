# Every path is relative and quoted, so that the checkout may lie in a path with spaces.

PYTHON ?= python3
# Where CPU builds of torch are, when the default indexes would bring CUDA.
TORCH_INDEX ?=
WORKERS ?= 2
SEED ?=
ARGS ?=
SAMPLED := $(patsubst %,cases/%,autograd backward control_flow freezing grad_modes higher_order none_or_zero surrogate)

VENV := .venv
BIN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
# As an environment variable the constraints also hold for what builds the package.
PIP := PIP_CONSTRAINT=constraints.txt "$(BIN)" -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help parity behaviours test test-all bench bits fuzz operators mutants mutants-sample kill-table kill-sample deltas lint notebooks docs clean

help: ## this list
	@echo "make TARGET [ARGS='...'] [PYTHON=python3.12] [TORCH_INDEX=https://...] [WORKERS=2]"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 20

parity: $(STAMP) ## does every behaviour hold here? ARGS='hooks --durations' goes to the runner
	@"$(BIN)" -m parity_tests $(ARGS)

behaviours: $(STAMP) ## run every behaviour and write its verdict into docs/behaviours.md and README.md
	@"$(BIN)" -m parity_tests --markdown docs/behaviours.md --markdown README.md $(ARGS)

# One thread of torch a worker: more would only fight over the same cores.
test: $(STAMP) ## the whole test suite; ARGS='-k clip' goes to pytest
	@OMP_NUM_THREADS=1 "$(BIN)" -m pytest -n $(WORKERS) $(ARGS)

test-all: $(STAMP) ## the same, with every configuration and every bug of every twin
	@TEST_ALL=1 OMP_NUM_THREADS=1 "$(BIN)" -m pytest -n $(WORKERS) $(ARGS)

bench: $(STAMP) ## what everything costs: benchmarks/RESULTS.md and a page; ARGS='training growth' for some of it
	@"$(BIN)" -m benchmarks $(ARGS)

bits: $(STAMP) ## which bits `exact=True` shares with the torch of this machine: benchmarks/OPTIM_BITS.md
	@OMP_NUM_THREADS=1 "$(BIN)" -m benchmarks.optim_bits --markdown benchmarks/OPTIM_BITS.md

fuzz: $(STAMP) ## N optimizers with options drawn at random, 300 unless said, and a tenth of it of each larger one
	@OMP_NUM_THREADS=1 OPTIM_FUZZ=$(or $(N),300) "$(BIN)" -m pytest -n $(WORKERS) tests/jaxgrad/optim/test_optim.py tests/jaxgrad/optim/test_optim_matrix.py -k drawn $(ARGS)

operators: $(STAMP) ## every operator against torch; SEED=7 draws other calls, of every kind
	@OMP_NUM_THREADS=1 OPERATOR_SEED=$(SEED) "$(BIN)" -m pytest -n $(WORKERS) tests/jaxgrad/functional/test_operators.py -k test_operator $(ARGS)

mutants: $(STAMP) ## take every piece away, one at a time: the suite must go red
	@"$(BIN)" -m parity_tests.audits.mutants $(ARGS)

# Of the cases: a helper's mutant may need the whole suite, which is what `make mutants` is for.
mutants-sample: $(STAMP) ## the same for a fixed sample of 20
	@"$(BIN)" -m parity_tests.audits.mutants --sample 20 $(SAMPLED)

kill-table: $(STAMP) ## planted porting bugs: what `prove` finds, and the checks that people use
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.planted_bugs --markdown benchmarks/KILL_TABLE.md $(ARGS)

kill-sample: $(STAMP) ## the same for a fixed sample of 12
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.planted_bugs --sample 12 --no-usual

lint: $(STAMP) ## ruff and pyright
	@"$(BIN)" -m ruff check
	@"$(BIN)" -m ruff format --check
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 "$(BIN)" -m pyright

deltas: $(STAMP) ## how far the obvious optax choice is from each of torch's optimizers
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.optax_deltas --markdown benchmarks/OPTIM_DELTAS.md $(ARGS)

notebooks: $(STAMP) ## run them and write the reading copies; ARGS='hooks' for one
	@"$(BIN)" notebooks/build.py $(ARGS)

docs: $(VENV)/.docs ## the site, in docs/_build; a warning is an error
	@"$(BIN)" -m sphinx --quiet --fail-on-warning --keep-going --builder html docs docs/_build
	@echo "The site is docs/_build/index.html"

clean: ## forget the environment and every cache
	rm -rf "$(VENV)" .cache .hypothesis .pytest_cache .ruff_cache build dist docs/_build docs/jupyter_execute

# torch first and alone: only torch comes from its index, what it needs comes with the rest.
$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { echo "No '$(PYTHON)' here: install Python 3.11 or newer, or name it, as in make parity PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "jaxgrad needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1): name a newer one, as in make parity PYTHON=python3.12." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' has no venv module: install it (Debian, Ubuntu: apt install python3-venv) or name another Python with PYTHON=." >&2; exit 1; }
	@echo "Installing into $(VENV); once, and again when pyproject.toml or constraints.txt change."
	@"$(PYTHON)" -m venv "$(VENV)"
	@$(PIP) --no-deps --retries 2 --timeout 15 $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") torch
	@$(PIP) -e '.[notebooks,dev]'
	@touch "$@"

# An extra of its own: the suite needs none of it.
$(VENV)/.docs: $(STAMP)
	@$(PIP) -e '.[docs]'
	@touch "$@"
