# Every path is relative and quoted, so that the path of the checkout may contain spaces.

PYTHON ?= python3
# An index of CPU builds of torch, for machines whose default index serves CUDA builds.
TORCH_INDEX ?=
# Processes of the suite and of the audits: one a core. Each needs up to 3 GiB.
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# SHARD=2/3 runs the second of three parts of the suite.
SHARD ?=
SEED ?=
DEVICE ?= gpu
ARGS ?=
SAMPLED := $(patsubst %,cases/%,autograd backward control_flow freezing grad_modes higher_order none_or_zero surrogate)

# What is installed, and where: the matrix and the check of a release install other things elsewhere.
CONSTRAINTS := constraints.txt
EXTRAS := notebooks,dev
PACKAGE := .
VENV := .venv
BIN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
# As an environment variable, the constraints also apply to the build of the package.
PIP := PIP_CONSTRAINT="$(CONSTRAINTS)" "$(BIN)" -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help parity behaviours test test-all bench bench-prove bits fuzz operator operators scripts mutants mutants-sample kill-table kill-sample kill-pairs goldens goldens-prove goldens-port port-collection port-kill-table port-speed port-torchax deltas exports device lint matrix release-check notebooks pages docs docs-test clean

help: ## show this list
	@echo "make TARGET [ARGS='...'] [PYTHON=python3.12] [TORCH_INDEX=https://...] [WORKERS=2] [SHARD=1/3]"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 20

parity: $(STAMP) ## compare every behaviour with torch; ARGS='hooks --durations' goes to the runner
	@"$(BIN)" -m parity_tests $(ARGS)

behaviours: $(STAMP) ## run every behaviour and write the tables in docs/behaviours.md and README.md
	@"$(BIN)" -m parity_tests --markdown docs/behaviours.md --markdown README.md $(ARGS)

# Each worker gets one torch thread: more threads would compete for the same cores. Tests that follow
# each other stay in one worker, which has compiled the programs that they share.
SPLIT := -n $(WORKERS) --dist worksteal
test: $(STAMP) ## run the test suite; ARGS='-k clip' goes to pytest
	@SHARD=$(SHARD) OMP_NUM_THREADS=1 "$(BIN)" -m pytest $(SPLIT) $(ARGS)

test-all: $(STAMP) ## run the test suite with every drawn call, configuration and bug, in optimized programs
	@TEST_ALL=1 SHARD=$(SHARD) OMP_NUM_THREADS=1 "$(BIN)" -m pytest $(SPLIT) $(ARGS)

bench: $(STAMP) ## run the benchmarks and write benchmarks/RESULTS.md; ARGS='training growth' runs some
	@"$(BIN)" -m benchmarks $(ARGS)

bench-prove: $(STAMP) ## measure what a proof costs beside what it needs: benchmarks/RESULTS.md; ARGS='--rows GPT-2' for some
	@OMP_NUM_THREADS=1 "$(BIN)" -m benchmarks proof $(ARGS)

bits: $(STAMP) ## compare the bits of `exact=True` with this machine's torch: benchmarks/OPTIM_BITS.md
	@OMP_NUM_THREADS=1 "$(BIN)" -m benchmarks.optim_bits --markdown benchmarks/OPTIM_BITS.md

fuzz: $(STAMP) ## fuzz 300 optimizer configurations (N=... for more); the expensive optimizers get N/10 each
	@OMP_NUM_THREADS=1 OPTIM_FUZZ=$(or $(N),300) "$(BIN)" -m pytest -n $(WORKERS) tests/jaxgrad/optim -k drawn $(ARGS)

operator: $(STAMP) ## run one operator's record and update the tables of its gradients: NAME=linalg.lu
	@test -n "$(NAME)" || { echo "name an operator, as in make operator NAME=linalg.lu" >&2; exit 1; }
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests --conventions '$(NAME)' --markdown docs/operators.md
	@OMP_NUM_THREADS=1 OPERATOR_SEED= "$(BIN)" -m pytest -q tests/jaxgrad/functional tests/parity_tests/operators/test_conventions.py -k 'test_operator[$(NAME)] or test_functional_records or test_conventions' $(ARGS)

operators: $(STAMP) ## compare every operator with torch; SEED=7 draws other calls
	@OMP_NUM_THREADS=1 OPERATOR_SEED=$(SEED) "$(BIN)" -m pytest -n $(WORKERS) tests/jaxgrad/functional -k test_operator $(ARGS)

scripts: $(STAMP) ## run the programs of the README, the docs and the docstrings with what is installed
	@TEST_ALL=1 OMP_NUM_THREADS=1 "$(BIN)" -m pytest -n $(WORKERS) jaxgrad tests/test_readme.py tests/parity_tests/site/test_printed.py tests/parity_tests/site/cheat_sheet tests/parity_tests/site/traps tests/parity_tests/notebook/test_assessment.py $(ARGS)

mutants: $(STAMP) ## remove each piece of the code in turn; a test must fail
	@"$(BIN)" -m parity_tests.audits.mutants $(ARGS)

# The sample mutates cases alone: a mutant of a helper may need the whole suite.
mutants-sample: $(STAMP) ## do the same for a fixed sample of 20
	@"$(BIN)" -m parity_tests.audits.mutants --sample 20 $(SAMPLED)

kill-table: $(STAMP) ## run `prove` and common checks on planted porting bugs: benchmarks/KILL_TABLE.md
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.planted_bugs --workers $(WORKERS) --markdown benchmarks/KILL_TABLE.md $(ARGS)

kill-sample: $(STAMP) ## do the same for a fixed sample of 12
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.planted_bugs --sample 12 --no-checks

kill-pairs: $(STAMP) ## plant two bugs at once, in 200 drawn pairs: benchmarks/KILL_PAIRS.md
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.planted_bugs --pairs 200 --workers $(WORKERS) --markdown benchmarks/KILL_PAIRS.md $(ARGS)

goldens: goldens-prove goldens-port ## write the goldens of `prove` and `port` again: tests/goldens

goldens-prove: $(STAMP) ## write the report on each planted bug again: tests/goldens/prove
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.planted_bugs --goldens --no-checks --workers $(WORKERS) $(ARGS)

goldens-port: $(STAMP) ## write what `port` writes again: tests/goldens/port; ARGS=--check compares, ARGS=llama takes some
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.port_goldens --workers $(WORKERS) $(ARGS)

port-collection: $(STAMP) ## port and prove a collection of torch modules: benchmarks/PORT_COLLECTION.md
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.port_collection --workers $(WORKERS) --markdown benchmarks/PORT_COLLECTION.md $(ARGS)

port-kill-table: $(STAMP) ## plant faults in the emitter of `port`: benchmarks/PORT_KILL_TABLE.md
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.port_behaviours --workers $(WORKERS)
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.emitter_kill_table --workers $(WORKERS) --markdown benchmarks/PORT_KILL_TABLE.md $(ARGS)

port-speed: $(STAMP) ## count the flops and bytes of ports beside programs by hand: benchmarks/PORT_SPEED.md
	@OMP_NUM_THREADS=1 "$(BIN)" -m benchmarks.ports --markdown benchmarks/PORT_SPEED.md $(ARGS)

# torchax 0.0.13 cannot be imported with torch 2.12 or newer.
port-torchax: ## time ports beside what torchax extracts, in an environment of its own: benchmarks/PORT_TORCHAX.md
	@"$(PYTHON)" -m venv .cache/torchax
	@.cache/torchax/bin/python -m pip install --quiet $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") torch==2.11.0 torchax==0.0.13 pytest equinox -e '.[nnx]'
	@OMP_NUM_THREADS=1 .cache/torchax/bin/python -m benchmarks.beside_torchax --markdown benchmarks/PORT_TORCHAX.md $(ARGS)

lint: $(STAMP) ## run ruff and pyright
	@"$(BIN)" -m ruff check
	@"$(BIN)" -m ruff format --check
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 "$(BIN)" -m pyright

deltas: $(STAMP) ## measure how far the obvious optax choice is from each torch optimizer; ARGS=adagrad measures some, and writes no page
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.audits.optax_deltas $(if $(ARGS),$(ARGS),--markdown benchmarks/OPTIM_DELTAS.md)

exports: $(STAMP) ## lower every public function for CUDA and TPU: docs/accelerators.md; ARGS=fft lowers some
	@OMP_NUM_THREADS=1 "$(BIN)" -m parity_tests.devices.exports $(ARGS)

# `pip install 'jax[cuda13]'` keeps the version of JAX that the constraints pin.
device: $(STAMP) ## on a machine with a GPU, or DEVICE=tpu: run what compares JAX with torch there, and the benchmarks
	@$(PIP) 'jax[$(if $(filter tpu,$(DEVICE)),tpu,cuda13)]'
	@"$(BIN)" -m parity_tests.devices.record $(DEVICE) $(ARGS)

notebooks: $(STAMP) ## run the notebooks and write the reading copies; ARGS='hooks' runs one
	@"$(BIN)" notebooks/build.py $(ARGS)

pages: $(STAMP) ## run the programs of the cheat sheet, the traps and other pages, and write the samples of reports
	@"$(BIN)" -m parity_tests.site.cheat_sheet.page
	@"$(BIN)" -m parity_tests.site.traps.page
	@"$(BIN)" -m parity_tests.notebook.teachers
	@"$(BIN)" -m parity_tests.notebook.worksheet
	@"$(BIN)" -m parity_tests.notebook.assessment
	@"$(BIN)" -m parity_tests.site.one_lesson
	@"$(BIN)" -m parity_tests.notebook.paper
	@"$(BIN)" -m parity_tests.site.slides
	@"$(BIN)" -m parity_tests.site.hero
	@"$(BIN)" -m parity_tests.site.chain_figure
	@"$(BIN)" -m parity_tests.site.kink_figure
	@"$(BIN)" -m parity_tests.site.fan_out
	@"$(BIN)" -m parity_tests.site.stepper.page
	@"$(BIN)" -m parity_tests.site.sample_proof
	@"$(BIN)" -m parity_tests grad_modes none_or_zero --html docs/_static/report.html
	@"$(BIN)" -m parity_tests.site.printed docs/one_lesson.md docs/tape_or_transform.md docs/prove.md docs/read_a_report.md docs/no_cause.md docs/prove_special.md docs/training_step.md docs/worked_port.md docs/real_questions.md docs/kinks.md docs/weights.md
	@"$(BIN)" -m parity_tests.site.session_slides

docs: $(VENV)/.docs ## build the site in docs/_build; a warning is an error
	@"$(BIN)" -m sphinx --quiet --fail-on-warning --keep-going --builder html docs docs/_build
	@echo "The site is docs/_build/index.html"

docs-test: docs ## open the built site in a browser: widths, contrast, errors, filters
	@SITE=docs/_build "$(BIN)" -m pytest -q tests/test_built_site.py $(ARGS)

# Only the standard library is used here; each entry gets an environment under .cache/matrix.
matrix: ## run the cells and operators on every supported version: docs/versions.md; ARGS=floor runs one
	@"$(PYTHON)" -m parity_tests.audits.version_matrix --torch-index '$(TORCH_INDEX)' $(ARGS); status=$$?; \
	"$(PYTHON)" -m parity_tests.site.versions && exit $$status

release-check: ## build the sdist and the wheel in dist/, install each in an empty environment, and use it
	@"$(PYTHON)" -m parity_tests.audits.release_check --torch-index '$(TORCH_INDEX)'

clean: ## delete the environment and every cache
	rm -rf "$(VENV)" .cache .hypothesis .pytest_cache .ruff_cache build dist docs/_build docs/jupyter_execute

# torch is installed first and alone, so that only torch comes from its own index.
$(STAMP): pyproject.toml $(CONSTRAINTS)
	@command -v "$(PYTHON)" >/dev/null || { echo "There is no '$(PYTHON)': install Python 3.11 or newer, or name it, as in make parity PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "jaxgrad needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1): name a newer one, as in make parity PYTHON=python3.12." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' has no venv module: install it (Debian, Ubuntu: apt install python3-venv) or name another Python with PYTHON=." >&2; exit 1; }
	@echo "Installing into $(VENV). This happens once, and again when pyproject.toml or $(CONSTRAINTS) change."
	@"$(PYTHON)" -m venv "$(VENV)"
	@$(PIP) --no-deps --retries 2 --timeout 15 $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") torch
	@$(PIP) $(if $(filter .,$(PACKAGE)),-e) '$(PACKAGE)[$(EXTRAS)]'
	@touch "$@"

# The suite needs nothing of this extra.
$(VENV)/.docs: $(STAMP)
	@$(PIP) -e '.[docs]'
	@touch "$@"
