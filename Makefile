# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install demo test lint bench figures clean

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BIN)/duelist warm
	touch $(STAMP)

demo: install
	$(BIN)/duelist demo --out out/demo

test: install
	$(BIN)/python -m pytest -n 2 --dist loadscope

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

figures: install
	$(BIN)/duelist reproduce all --out out/figures --docs docs/reproduction.md

bench: install
	$(BIN)/python -m benchmarks

clean:
	rm -rf out build dist
	find src -name '*.nb[ic]' -delete
