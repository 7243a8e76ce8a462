# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := CMakeLists.txt $(shell find native -type f)

.PHONY: install postgres demo test test-torch test-cluster test-consumers test-pages screenshots crash off-policy cluster-evidence bench-scale lint bench bench-study bench-raters bench-readings bench-own-terms bench-files intervals bonus figures frontier street jobs-best jobs-rank classic clean

# What running needs, and the engine, compiled; again, in seconds, whenever a source of the engine changes.
install: $(VENV)/.installed

$(VENV)/.tools: scripts/compiler
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=1.0" "nanobind>=3.0" cmake ninja
	scripts/compiler $(VENV) > $@

$(VENV)/.installed: pyproject.toml $(NATIVE) $(VENV)/.tools
	scripts/build $(VENV)
	touch $@

# What experiments need on top: results in Parquet files.
$(VENV)/.experimented: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet "pyarrow>=18"
	touch $@

demo: install
	$(BIN)/duelist demo --out out/demo

# What tests and linters need on top.
$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.linted: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

$(VENV)/.torched: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --group torch
	touch $@

# The tests of studies run on a PostgreSQL server of their own.
postgres:
	scripts/install-postgres

# Two processes, one core each: linear algebra that starts threads of its own would have them wait for each other.
test: $(VENV)/.tested postgres
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadscope

# The searches with PyTorch, which is large and which nothing else needs.
test-torch: $(VENV)/.torched
	$(BIN)/python -m pytest -o addopts="--doctest-modules --strict-markers -ra" tests/gpu src/duelist/gpu

# A Dask cluster whose processes are killed; `make cluster-evidence` is its long form.
test-cluster: $(VENV)/.tested
	$(BIN)/python -m pytest -o addopts="--strict-markers -ra" tests/research/experiments/test_cluster.py

$(VENV)/.consumed: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --group consumers
	touch $@

# What we write, opened by those who read it, who are large, and whom nothing else needs. Without the folder of tests on the path, where a
# folder named datasets would hide the package.
test-consumers: $(VENV)/.consumed
	$(BIN)/python -m pytest -o addopts="--strict-markers -ra" -o pythonpath= tests/consumers

$(VENV)/.paged: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --group pages
	touch $@

# The pages in a real Chromium, which is large; axe-core from the npm registry looks at them too. Two processes, each with a server and a browser of its own.
test-pages: $(VENV)/.paged
	scripts/install-chromium
	scripts/install-axe $(VENV)/axe
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -o addopts="--strict-markers --strict-config -ra" -n 2 --dist loadfile tests/server/pages

# The pictures of the README and of docs/pages.md, from a running server.
screenshots: $(VENV)/.paged
	scripts/install-chromium
	PYTHONPATH=. $(BIN)/python -m tests.server.pages.screenshots docs/images

# What `make test` does for seconds, for some twenty minutes: 500 kills of each kind, and 16 processes for a minute, on each database.
crash: $(VENV)/.tested postgres
	DUELIST_KILLS=500 DUELIST_CROWD_SECONDS=60 $(BIN)/python -m pytest tests/study/storage/test_kills.py tests/study/storage/test_killed_owners.py -v -rP

# How often off-policy intervals hold the truth, in 1,000 simulated logs instead of 60: some three minutes.
off-policy: $(VENV)/.tested
	DUELIST_LOGS=1000 $(BIN)/python -m pytest tests/study/analysis/test_off_policy.py -rP

# 2,000 cells on a Dask cluster whose workers and scheduler are killed; what engines cost; some ten minutes.
cluster-evidence: $(VENV)/.tested
	$(BIN)/python -m benchmarks.cluster --page docs/benchmarks-cluster.md

# How fast one PostgreSQL takes votes, and what grows with what.
bench-scale: $(VENV)/.tested postgres
	$(BIN)/python -m benchmarks.scale --page docs/benchmarks-scale.md

lint: $(VENV)/.linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

figures: $(VENV)/.experimented
	$(BIN)/duelist reproduce all --out out/figures --docs docs/reproduction.md

frontier: $(VENV)/.experimented
	$(BIN)/duelist reproduce frontier --out out/frontier --docs docs/frontier.md
	cp out/frontier/frontier/relative.png docs/frontier.png

bench: install
	$(BIN)/python -m benchmarks

# Against Optuna, which nothing else here needs.
bench-study: install
	$(BIN)/python -m pip install --quiet optuna
	$(BIN)/python -m benchmarks.study --page docs/benchmarks-study.md

# Readings of a large log, beside evalica, which nothing else here needs.
bench-readings: install
	$(BIN)/python -m pip install --quiet evalica
	$(BIN)/python -m benchmarks.readings --page docs/benchmarks-readings.md

# Arms without features and with terms of their own: what they cost and what they are worth.
bench-own-terms: install
	$(BIN)/python -m benchmarks.own_terms --page docs/own-terms.md

# How often the leaderboard's intervals hold the truth: some fifteen minutes.
intervals: install
	$(BIN)/python -m benchmarks.intervals --page docs/intervals.md

# 100,000 votes into files and out of them: time and memory.
bench-files: install
	$(BIN)/python -m benchmarks.files

# How long raters wait, with SQLite and with PostgreSQL, some ten minutes on an idle machine.
bench-raters: install postgres
	$(BIN)/python -m benchmarks.raters --page docs/benchmarks-raters.md

# What the policies that people look for by name are good at: some minutes.
.PHONY: cited
cited: install
	$(BIN)/python -m benchmarks.cited $(CITED)

# Which bonus LocalPairUCB should have: a small program of its own, some seven minutes, with Numba, which nothing else needs.
bonus: install
	$(BIN)/python -m pip install --quiet numba
	$(BIN)/python -m benchmarks.bonus

# Wrong announcements, regret, delays and held-out loss on raw features: hours with all its runs, see `--runs`.
street: install
	$(BIN)/python -m benchmarks.street $(STREET)

# Which policy names the best arm, after how many votes: an hour on two cores; public votes in the folder that DUELIST_PUBLIC names.
jobs-best: install
	$(BIN)/python -m benchmarks.jobs.best $(JOBS)

# Which policy orders the arms, after how many votes: half an hour on one core; ASAP, if its checkout is named in DUELIST_ASAP, needs networkx.
jobs-rank: install
	$(BIN)/python -m pip install --quiet networkx
	$(BIN)/python -m benchmarks.jobs.rank $(JOBS)

# What designed batches are worth for learning a reward: an hour of one core with all its runs, see `--runs`. $$DUELIST_PUBLIC names a folder of public votes.
.PHONY: jobs-learn
jobs-learn: $(VENV)/.tested
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.jobs.learn $(LEARN)

# The algorithms that count wins, on real and made tables: some minutes.
classic: install
	$(BIN)/python -m benchmarks.classic

clean:
	rm -rf out build dist

# The engine's tests with AddressSanitizer and UndefinedBehaviorSanitizer; and the same bits on emulated processors.
.PHONY: sanitize machines
sanitize: install
	scripts/sanitize $(BIN)/python

machines: install
	scripts/check-machines
	scripts/check-aarch64-python $(BIN)/python

# A study server with a study that lives: real answers to compare, made-up raters who vote. Ctrl-C stops it.
.PHONY: demo-server test-server test-api crash-server bench-server
$(VENV)/.served: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group server
	touch $@

demo-server: $(VENV)/.served
	$(BIN)/duelist demo-server

$(VENV)/.tried: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --group api
	touch $@

# The server as people run it, a process of its own: some two minutes.
SERVER_TESTS := $(BIN)/python -m pytest -o addopts="--strict-markers --strict-config -ra"
test-server: $(VENV)/.tried postgres
	$(SERVER_TESTS) -n 2 --dist loadfile tests/server --ignore=tests/server/pages --ignore=tests/server/proxy

# Two server processes behind a real nginx with the file of deploy/.
.PHONY: test-proxy
test-proxy: $(VENV)/.tried postgres
	scripts/install-nginx
	$(SERVER_TESTS) tests/server/proxy

# Every endpoint with many made-up requests; `make test-server` tries a few.
test-api: $(VENV)/.tried
	DUELIST_API_EXAMPLES=60 $(SERVER_TESTS) tests/server/test_openapi.py

# A server that is killed under load, 100 times on each database.
crash-server: $(VENV)/.tried postgres
	DUELIST_SERVER_KILLS=100 $(SERVER_TESTS) tests/server/test_kills.py -v -rP

# How long raters wait for the server, with dashboards open and without; and its memory over an hour's worth of requests. An idle machine, please.
bench-server: $(VENV)/.tested postgres
	$(BIN)/python -m benchmarks.server --requests 144000 --page docs/benchmarks-server.md

# How long an owner waits for the dashboard of 800 arms and 100,000 votes, in Chromium: some five minutes.
.PHONY: bench-pages
bench-pages: $(VENV)/.paged
	scripts/install-chromium
	PYTHONPATH=. $(BIN)/python -m benchmarks.pages --page docs/benchmarks-pages.md
