# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install postgres demo test crash lint bench bench-study bonus figures frontier clean

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BIN)/duelist warm
	touch $(STAMP)

demo: install
	$(BIN)/duelist demo --out out/demo

# The tests of studies run on a PostgreSQL server of their own.
postgres:
	scripts/install-postgres

test: install postgres
	$(BIN)/python -m pytest -n 2 --dist loadscope

# What `make test` does for seconds, for minutes: 200 kills, and 16 processes for a minute, on each database.
crash: install postgres
	DUELIST_KILLS=200 DUELIST_CROWD_SECONDS=60 $(BIN)/python -m pytest tests/study/test_busy.py tests/study/test_owned.py -v -rP

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

figures: install
	$(BIN)/duelist reproduce all --out out/figures --docs docs/reproduction.md

frontier: install
	$(BIN)/duelist reproduce frontier --out out/frontier --docs docs/frontier.md
	cp out/frontier/frontier/relative.png docs/frontier.png

bench: install
	$(BIN)/python -m benchmarks

# Against Optuna, which nothing else here needs.
bench-study: install
	$(BIN)/python -m pip install --quiet optuna
	$(BIN)/python -m benchmarks.study --page docs/benchmarks-study.md

# Which bonus LocalPairUCB should have: a small program of its own, some seven minutes.
bonus: install
	$(BIN)/python -m benchmarks.bonus

clean:
	rm -rf out build dist
	find src -name '*.nb[ic]' -delete
