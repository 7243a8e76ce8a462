# `make help` lists every target. `make demo` and `make test` need no other set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := CMakeLists.txt $(shell find native -type f)

# Extras that the tests import, and those of the demo server.
TEST_EXTRAS   := client,cluster,excel,experiments,pandas,plots,polars,postgres,server,study,text
SERVER_EXTRAS := client,server,text

# One thread per process for linear algebra: otherwise the processes of a test run compete for the same cores.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
# For tests outside the default run, whose folders the default options ignore.
PYTEST_OUTSIDE := $(PYTEST) -o addopts="--strict-markers --strict-config -ra"
# Tests that measure something for docs/evidence/security.md keep it here. KEEP=1 adds to earlier measurements of `make fuzz`
# and `make crash-server`, so that a long run can be done in pieces.
EVIDENCE := docs/evidence/records

# What `make attack` runs; the folders hold more tests, which attack nothing.
ATTACKS := tests/server/attacks tests/server/routes/test_session.py tests/server/test_deploy.py tests/fuzzing \
	tests/server/routes/test_analysis.py::test_an_archive_names_no_module \
	tests/study/test_untrusted_policies.py tests/study/storage/test_private_files.py \
	tests/study/asking/test_live.py tests/policies/engine/test_threads.py

.DEFAULT_GOAL := help
.PHONY: help
help: ## Show this help.
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  %-20s %s\n", $$1, $$2 }' Makefile

# The files named $(VENV)/.* record what is installed. Remove one to install that part again.
$(VENV)/.compiler: scripts/compiler
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=1.0" "nanobind>=3.0" cmake ninja
	scripts/compiler $(VENV) > $@

$(VENV)/.package: pyproject.toml $(NATIVE) scripts/build $(VENV)/.compiler
	scripts/build $(VENV) plots,study
	touch $@

$(VENV)/.server: pyproject.toml | $(VENV)/.package
	scripts/build $(VENV) $(SERVER_EXTRAS)
	touch $@

$(VENV)/.tests: pyproject.toml | $(VENV)/.package
	scripts/build $(VENV) $(TEST_EXTRAS)
	$(BIN)/python -m pip install --quiet --group test
	touch $@

# `$(VENV)/.group-lint` installs the dependency group `lint` of pyproject.toml, and so on.
$(VENV)/.group-%: pyproject.toml | $(VENV)/.tests
	$(BIN)/python -m pip install --quiet --group $*
	touch $@

.PHONY: for-tests
for-tests: $(VENV)/.package $(VENV)/.tests

##@ Use
.PHONY: install demo demo-server clean
install: $(VENV)/.package ## Build the engine and install duelist with plots and studies into .venv, from this folder.

demo: install ## Simulate five policies and write the chart to out/demo.
	$(BIN)/duelist demo --out out/demo

demo-server: $(VENV)/.package $(VENV)/.server ## Serve a demo study with simulated raters, until Ctrl-C.
	$(BIN)/duelist demo-server

clean: ## Delete builds and results; keep .venv.
	rm -rf out build dist

##@ Check
.PHONY: lint types docs-check docs site site-serve format tidy coverage
lint: for-tests $(VENV)/.group-lint ## Check style and imports: ruff, import-linter, shellcheck, clang-format, schemas.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	scripts/check-files $(BIN)

types: for-tests $(VENV)/.group-lint $(VENV)/.group-server $(VENV)/.group-pages ## Check the types of the package, its tests, and the snippets of the docs.
	$(BIN)/mypy
	$(BIN)/python scripts/check_snippets.py

format: for-tests $(VENV)/.group-lint ## Format Python and C++ in place.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files 'native/*.[ch]pp' | xargs $(BIN)/clang-format -i

tidy: for-tests $(VENV)/.group-lint ## Run clang-tidy over the C++ sources.
	scripts/tidy $(BIN)

docs: for-tests $(VENV)/.group-lint ## Draw the pictures of the documentation that are made by code, and the tree of the architecture page.
	$(BIN)/python scripts/draw_architecture.py
	$(BIN)/python scripts/site/draw_pictures.py

docs-check: for-tests $(VENV)/.group-lint site ## Fail if the architecture page is older than the code, or the site has a broken link.
	$(BIN)/python scripts/draw_architecture.py --check

site: for-tests $(VENV)/.group-docs ## Build the documentation site into out/site, and check its links.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python scripts/site/check_built.py out/site

site-serve: for-tests $(VENV)/.group-docs ## Serve the documentation site while you edit it.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

##@ Test
.PHONY: test test-install wheels test-wheels release-check test-lowest test-server attack test-proxy test-api test-pages test-examples test-cluster test-torch test-consumers postgres
test: for-tests postgres ## Run the tests of the library, the command line and studies.
	$(PYTEST) -n 2 --dist loadscope

coverage: for-tests postgres ## Run the same tests, measure coverage and fail below the floor.
	$(PYTEST) -n 2 --dist loadscope --cov --cov-report=html:out/coverage --cov-report=term:skip-covered

test-install: $(VENV)/.group-install ## Test every install line of docs/get-started/install.md in an empty environment.
	$(PYTEST_OUTSIDE) tests/install

wheels: $(VENV)/.group-release ## Build the source distribution and this machine's wheels into dist/ (5 minutes).
	scripts/build-wheels $(BIN)

test-wheels: $(VENV)/.group-install ## Test the wheels in dist/ with every Python of this machine, without a compiler.
	DUELIST_WHEELS=dist $(PYTEST_OUTSIDE) -rP tests/install/test_wheels.py

release-check: $(VENV)/.group-release ## Check that the sources and dist/ are ready to be published.
	$(BIN)/python scripts/release_check.py

test-lowest: postgres ## Run tests with the lowest versions that pyproject.toml allows, in build/lowest.
	scripts/test-lowest $(PYTHON)

test-server: for-tests $(VENV)/.group-server postgres ## Test the study server as a process of its own (2 minutes).
	$(PYTEST_OUTSIDE) -n 2 --dist loadfile tests/server --ignore=tests/server/pages --ignore=tests/server/proxy

attack: for-tests $(VENV)/.group-server postgres ## Repeat every attack that once worked: requests, sign-ins, archives, damaged files, settings of the deployment.
	$(PYTEST_OUTSIDE) -v $(ATTACKS)

test-proxy: for-tests $(VENV)/.group-server postgres ## Test two server processes behind nginx with the files of deploy/.
	scripts/install-nginx
	$(PYTEST_OUTSIDE) tests/server/proxy

test-api: for-tests $(VENV)/.group-server ## Test every endpoint with 60 valid and 60 invalid generated requests. Options: REQUESTS=...
	rm -f $(EVIDENCE)/test-api.jsonl
	DUELIST_EVIDENCE=$(EVIDENCE) DUELIST_API_EXAMPLES=$(or $(REQUESTS),60) $(PYTEST_OUTSIDE) tests/server/test_openapi.py

test-pages: for-tests $(VENV)/.group-pages ## Test the pages in Chromium, accessibility included.
	scripts/install-chromium
	scripts/install-axe $(VENV)/axe
	$(PYTEST_OUTSIDE) -n 2 --dist loadfile tests/server/pages

test-examples: for-tests $(VENV)/.group-examples ## Run every example as a script and as a notebook (1 minute).
	$(PYTEST_OUTSIDE) -n 2 tests/examples

test-cluster: for-tests ## Test experiments on a Dask cluster whose processes are killed.
	$(PYTEST_OUTSIDE) tests/research/experiments/test_cluster.py

test-torch: for-tests $(VENV)/.group-torch ## Test the device searches with PyTorch.
	$(BIN)/python -m pytest -o addopts="--doctest-modules --strict-markers -ra" tests/gpu src/duelist/gpu

test-consumers: for-tests $(VENV)/.group-consumers ## Open exported files with the programs that read them (installs PyTorch).
	$(PYTEST_OUTSIDE) tests/consumers

postgres: ## Install PostgreSQL if the tests would not find it.
	scripts/install-postgres

##@ Dependencies of the image
.PHONY: lock audit sbom
$(VENV)/.supply-chain: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group supply-chain
	touch $@

lock: $(VENV)/.supply-chain ## Lock the newest versions with their hashes in deploy/ (needs the network).
	scripts/lock $(BIN)

audit: $(VENV)/.supply-chain ## Compare the locked versions with published vulnerabilities (needs the network).
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r deploy/requirements.txt -r deploy/build-requirements.txt

sbom: $(VENV)/.supply-chain ## List the locked packages as CycloneDX in out/sbom.json.
	mkdir -p out
	$(BIN)/cyclonedx-py requirements --output-reproducible --of JSON -o out/sbom.json deploy/requirements.txt

# What long tests have measured is kept in $(EVIDENCE), so that with KEEP=1 a later run adds to it.
##@ Test for longer
.PHONY: crash crash-server power-cut failover fuzz slow-clients evidence evidence-check evidence-index off-policy sanitize machines
crash: for-tests postgres ## Kill studies 500 times in each way, and run 16 processes for a minute (20 minutes).
	DUELIST_KILLS=500 DUELIST_CROWD_SECONDS=60 $(BIN)/python -m pytest tests/study/storage/test_kills.py tests/study/storage/test_killed_owners.py -v -rP

crash-server: for-tests $(VENV)/.group-server postgres ## Kill a server under load 1,000 times on each database (1 hour). Options: KILLS=..., KEEP=1
	$(if $(KEEP),,rm -f $(EVIDENCE)/crash-server.jsonl)
	DUELIST_EVIDENCE=$(EVIDENCE) DUELIST_SERVER_KILLS=$(or $(KILLS),1000) $(PYTEST_OUTSIDE) tests/server/test_kills.py -v -rP

power-cut: for-tests ## Cut the power of a simulated disk 2,000 times under SQLite (10 minutes). Options: CUTS=...
	rm -f $(EVIDENCE)/power-cut.jsonl
	DUELIST_EVIDENCE=$(EVIDENCE) DUELIST_POWER_CUTS=$(or $(CUTS),2000) $(PYTEST) tests/study/storage/test_power_cut.py -v -rP

failover: for-tests $(VENV)/.group-server postgres ## Crash PostgreSQL 50 times under a busy server (5 minutes). Options: RESTARTS=...
	rm -f $(EVIDENCE)/failover.jsonl
	DUELIST_EVIDENCE=$(EVIDENCE) DUELIST_FAILOVERS=$(or $(RESTARTS),50) $(PYTEST_OUTSIDE) tests/server/test_failover.py -v -rP

fuzz: for-tests $(VENV)/.group-server $(VENV)/.group-pages ## Read a million damaged snapshots, archives, tables, plans and texts (3 hours). Options: CASES=..., KEEP=1
	$(if $(KEEP),,rm -f $(EVIDENCE)/fuzz.jsonl)
	DUELIST_EVIDENCE=$(EVIDENCE) DUELIST_FUZZ_CASES=$(or $(CASES),1000000) $(PYTEST) -n 2 tests/fuzzing -v -rP
	scripts/install-chromium
	DUELIST_EVIDENCE=$(EVIDENCE) DUELIST_FUZZ_CASES=$(or $(CASES),1000000) $(PYTEST_OUTSIDE) tests/server/pages/test_markdown.py -k random

slow-clients: for-tests $(VENV)/.group-server ## Measure how long raters wait during an attack of slow clients. Options: SECONDS=...
	rm -f $(EVIDENCE)/slow-clients.jsonl
	DUELIST_EVIDENCE=$(EVIDENCE) DUELIST_ATTACK_SECONDS=$(or $(SECONDS),60) $(PYTEST_OUTSIDE) tests/server/attacks/test_raters_under_attack.py

evidence: for-tests ## Write docs/evidence/security.md from what the long tests have recorded.
	$(BIN)/python -m tests.helpers.evidence_page $(EVIDENCE) docs/evidence/security.md

evidence-check: for-tests ## List the generated pages whose inputs have changed since they were made.
	$(BIN)/python -m benchmarks.evidence check

evidence-index: for-tests ## Write docs/evidence/index.md, the overview of the generated pages.
	$(BIN)/python -m benchmarks.evidence index

off-policy: for-tests ## Measure the coverage of off-policy intervals on 1,000 simulated logs (3 minutes).
	DUELIST_LOGS=1000 $(BIN)/python -m pytest tests/study/analysis/test_off_policy.py -rP

sanitize: for-tests ## Run the engine's tests with AddressSanitizer and UndefinedBehaviorSanitizer.
	scripts/sanitize $(BIN)/python

machines: for-tests ## Check that emulated processors compute the same bits as this one.
	scripts/check-machines
	scripts/check-aarch64-python $(BIN)/python

##@ Figures and pictures
.PHONY: figures frontier screenshots notebooks gallery
figures: for-tests ## Repeat the paper's experiments and write docs/evidence/reproduction.md.
	$(BIN)/duelist reproduce all --out out/figures --docs docs/evidence/reproduction.md

frontier: for-tests ## Compare policies beyond the paper and write docs/evidence/frontier.md.
	$(BIN)/duelist reproduce frontier --out out/frontier --docs docs/evidence/frontier.md
	cp out/frontier/frontier/relative.png docs/evidence/frontier.png

notebooks: for-tests $(VENV)/.group-examples ## Write the examples as notebooks with their results to out/notebooks.
	$(BIN)/python scripts/make_notebooks.py out/notebooks

gallery: for-tests ## Draw every kind of picture and write docs/evidence/gallery.md (2 minutes).
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.gallery

screenshots: for-tests $(VENV)/.group-pages ## Take the screenshots of the documentation from a running server.
	scripts/install-chromium
	PYTHONPATH=. $(BIN)/python -m tests.server.pages.screenshots docs/images

##@ Benchmarks of speed (use an idle machine)
.PHONY: bench bench-study bench-comparison bench-analyses bench-arena-log bench-files bench-raters bench-server bench-pages bench-phone bench-scale bench-cluster bench-solvers
bench: install ## Time policies and simulations.
	$(BIN)/python -m benchmarks

bench-study: for-tests ## Time ask and tell of a study beside Optuna.
	$(BIN)/python -m pip install --quiet optuna
	$(BIN)/python -m benchmarks.study --page docs/evidence/benchmarks-study.md

bench-comparison: for-tests build/peers/.installed ## Compare with other programs in features, agreement, speed and votes (20 minutes). Options: KEEP=1, RUNS=...
	$(BIN)/python -m benchmarks.comparison $(if $(KEEP),--keep) --runs $(or $(RUNS),10) --page docs/evidence/comparison.md

# The other programs have an environment of their own, because they need versions that conflict with ours.
build/peers/.installed: benchmarks/comparison/requirements.txt
	$(PYTHON) -m venv build/peers
	build/peers/bin/python -m pip install --quiet -r $<
	touch $@

bench-analyses: for-tests ## Time the analysis of a large log beside evalica. Options: ANALYSES="--repeats N"
	$(BIN)/python -m pip install --quiet evalica
	$(BIN)/python -m benchmarks.analyses $(ANALYSES) --page docs/evidence/benchmarks-analyses.md

bench-arena-log: for-tests ## Time the leaderboard of 1,000,000 votes (10 minutes).
	$(BIN)/python -m benchmarks.speed.arena_log --page docs/evidence/benchmarks-arena-log.md

bench-files: for-tests postgres ## Time import and export of 100,000 votes.
	$(BIN)/python -m benchmarks.files --page docs/evidence/benchmarks-files.md

bench-raters: for-tests postgres ## Measure how long raters wait, with SQLite and PostgreSQL (10 minutes).
	$(BIN)/python -m benchmarks.raters --page docs/evidence/benchmarks-raters.md

bench-server: for-tests postgres ## Measure how long raters wait for the server, and its memory over 144,000 requests. Options: SERVER="--seconds N"
	$(BIN)/python -m benchmarks.server --requests 144000 $(SERVER) --page docs/evidence/benchmarks-server.md

bench-pages: for-tests $(VENV)/.group-pages ## Measure how long the dashboard of 100,000 votes takes in Chromium (5 minutes).
	scripts/install-chromium
	PYTHONPATH=. $(BIN)/python -m benchmarks.pages --page docs/evidence/benchmarks-pages.md

bench-phone: for-tests $(VENV)/.group-pages ## Measure the rater page with a throttled processor and network (3 minutes).
	scripts/install-chromium
	PYTHONPATH=. $(BIN)/python -m benchmarks.phone --page docs/evidence/benchmarks-phone.md

bench-scale: for-tests postgres ## Measure votes per second on one PostgreSQL, and what grows with what.
	$(BIN)/python -m benchmarks.scale --page docs/evidence/benchmarks-scale.md

bench-cluster: for-tests ## Run 2,000 cells on a Dask cluster whose processes are killed (10 minutes).
	$(BIN)/python -m benchmarks.cluster --page docs/evidence/benchmarks-cluster.md

bench-solvers: for-tests ## Compare the solvers of fit_mle in time and accuracy.
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed.solvers --page docs/evidence/solvers.md

##@ Benchmarks of quality
.PHONY: bench-intervals bench-system-intervals bench-systems bench-arm-effects bench-cited bench-bonus bench-radius bench-horizons bench-variance bench-raw-features bench-jobs bench-rank bench-learn bench-classic bench-stopping bench-ties bench-careless-raters bench-planner bench-published-fits
bench-intervals: for-tests ## Measure the coverage of the leaderboard's intervals (15 minutes).
	$(BIN)/python -m benchmarks.quality.intervals --page docs/evidence/intervals.md

bench-system-intervals: for-tests ## Measure the coverage of intervals of systems on prompts (50 CPU minutes).
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.system_intervals --page docs/evidence/system-intervals.md

bench-systems: for-tests ## Compare ways to choose pairs and prompts in a study of systems (1 CPU hour).
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.systems --page docs/evidence/systems.md

bench-stopping: for-tests ## Count wrong decisions where features do not explain the votes (2 CPU hours). Options: STOPPING="--runs N --minutes M"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.stopping $(STOPPING)

bench-careless-raters: for-tests ## Measure what careless raters cost and who is flagged (15 CPU minutes). Options: CARELESS="--runs N"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.careless_raters $(CARELESS)

bench-published-fits: for-tests ## Compare fits with choix, evalica, arena-rank and leaderbot on llmfao.
	$(PYTHON) -m venv build/peer-fits
	build/peer-fits/bin/python -m pip install --quiet choix evalica leaderbot arena-rank
	$(BIN)/python -m benchmarks.quality.published_fits --python build/peer-fits/bin/python

bench-ties: for-tests ## Compare half a win, left out, and Davidson's model for ties (10 minutes). Options: TIES="--runs N"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.ties $(TIES)

bench-planner: for-tests ## Compare the planner's forecasts with 200 simulated studies (3 CPU minutes).
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.planner --page docs/evidence/planner.md

bench-arm-effects: for-tests ## Measure what arm effects cost and gain.
	$(BIN)/python -m benchmarks.quality.arm_effects --page docs/evidence/arm-effects.md

bench-cited: for-tests ## Compare the policies of cited papers. Options: CITED=...
	$(BIN)/python -m benchmarks.quality.cited $(CITED)

bench-bonus: for-tests ## Compare bonuses for LocalPairUCB with Numba (7 minutes).
	$(BIN)/python -m pip install --quiet numba
	$(BIN)/python -m benchmarks.quality.bonus

bench-radius: for-tests ## Measure coverage and size of the tight radius (40 CPU minutes). Options: RADIUS="--runs N"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.radius $(RADIUS) --page docs/evidence/radius-coverage.md

bench-horizons: for-tests ## Measure regret up to a million rounds (1 CPU hour). Options: HORIZONS="--runs N", or "--read FILE --write FILE" to continue
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.horizons $(HORIZONS) --page docs/evidence/long-horizons.md

bench-variance: for-tests ## Measure who profits where votes vary less (10 CPU minutes). Options: VARIANCE="--runs N"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.variance $(VARIANCE) --page docs/evidence/variance.md

bench-raw-features: for-tests ## Measure wrong recommendations and regret on raw features (hours). Options: RAW="--runs N"
	$(BIN)/python -m benchmarks.quality.raw_features $(RAW)

bench-jobs: for-tests ## Compare serve and best with their peers on tuning and held-out data (30 CPU minutes). Options: JOBS=...; reads DUELIST_PUBLIC.
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.jobs $(JOBS)

bench-rank: for-tests ## Count votes until policies rank the arms (30 minutes). Options: JOBS=...; reads DUELIST_ASAP.
	$(BIN)/python -m pip install --quiet networkx
	$(BIN)/python -m benchmarks.quality.goals.rank $(JOBS)

bench-learn: for-tests ## Measure what designed batches gain for reward models (1 hour). Options: LEARN="--runs N"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.goals.learn $(LEARN)

bench-classic: for-tests ## Compare the policies that count wins, on real and generated tables.
	$(BIN)/python -m benchmarks.quality.classic
