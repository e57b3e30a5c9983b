# make demo   trace a real job, find its best node; run a job on Spark; survey the paper's jobs
# make setup  installs Spark, and as root on Debian the programs that tests use
# make test   every test, after setup
# make check  layers, options, reference, types and layout, in under two minutes
# make build  leaves .venv/bin/gordon
# make lint   formatting and lints, all errors
# make bench  speed and operation counts
# make torture  power cuts, kills, crashes and damage, and all cases of the slow tests, about 15 minutes
#             on 2 cores; GORDON_POWER_HISTORIES, GORDON_POWER_REQUESTS, STORE_SEEDS, CACHE_KILLS and
#             PROPTEST_CASES say how many
# make fuzz   what clients of devices and of the HTTP server say, mangled images and caches, keys of
#             sorts, FUZZ_SECONDS each; wants a nightly Rust and cargo-fuzz
# make miri   the simulators in an interpreter that catches what the compiler cannot; wants Miri
# make golden  runs commands of every engine and compares each value of their results with the recorded one
# make guide  runs the commands of README.md, the tutorials and the guide and compares their output with the pages
# make notebooks  runs docs/notebooks and compares what their cells print with what they hold
# make wheel  builds the wheel, installs it into an empty environment, and times the first answer
# make site   builds the site of docs/, with the reference of crates, into build/site
# make crates  packs the crates that stand alone as for crates.io, and builds each from its package
# make reference  writes docs/REFERENCE.md, docs/API.md and the manual pages in man
# make recording  runs a session and writes it as docs/session.svg
# make third-party  writes THIRD-PARTY.txt, the licences of what the wheel carries of others
# make results  writes the types of reports, of keywords and of the keys of results
# make machines  writes the spaces ec2, gcp, azure and modern from the tables of scripts/catalogue/machines
# make figures  writes the pages of docs/design that have computed tables
# make pages  makes one report of each kind and pictures of it in build/pages; wants chromium
# make sort-live WORK=DIR  measures sorts on a served device for docs/design/sort-tuning.md; as root
#             with nbdfuse, 15 minutes, 2 GB in DIR
# make validate  predicts three jobs on three targets, runs them there and writes docs/validation/here.md;
#             as root on Linux with two cores, quiet, 15 minutes
# make validate-cluster  runs the seven jobs on local nodes, predicts each from the others and writes
#             docs/validation/cluster.md; runs are kept there, so only missing ones are measured; as
#             root on Linux with Java and PySpark, quiet, 2.5 minutes a run; JOBS=sort,ngram
#             measures some jobs, REPEATS=1 one run of each configuration
# make validate-ec2 DATA=DIR  writes docs/validation/ec2.md from published traces and times of EC2 machines
# make bundle RUNS=DIR  makes the bundled traces from runs DIR/JOB/N of `gordon workload run`
# make bundle-log LOG=FILE  makes the bundled event log from that of a sort

PYTHON ?= python3
export PATH := $(CURDIR)/.venv/bin:$(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
VENV := .venv/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: demo spark setup test test-built test-rust test-python check build lint bench torture fuzz miri golden guide notebooks recording third-party site crates wheel reference \
	results machines figures pages sort-live validate validate-cluster validate-ec2 bundle bundle-log clean
build: .venv/installed .venv/built

.venv/maturin: pyproject.toml requirements.lock
	scripts/build/need.sh
	$(PYTHON) -m venv .venv
	$(VENV)/pip install -q --disable-pip-version-check $$(grep ^maturin= requirements.lock)
	touch $@

# Packages are installed while the core is built.
MAKEFLAGS += --jobs=2
.venv/installed: .venv/maturin
	$(VENV)/pip install -q --disable-pip-version-check -r requirements.lock
	$(VENV)/python scripts/build/plotly_js.py || echo "warning: reports will have all of plotly.js" >&2
	touch $@

.venv/built: .venv/maturin $(RUST)
	$(VENV)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(VENV)/python -m compileall -q python/gordon
	touch $@

# Beside the build of the core: it waits for downloads.
spark: .venv/installed
	scripts/build/spark.sh

demo: build spark
	$(VENV)/python demo/demo.py

setup: build spark
	scripts/build/test_tools.sh

test: test-rust test-python

# Built with all cores before any test runs.
test-built: setup
	cargo test --workspace --locked --no-run
	$(call pingora,cargo test,--no-run)

# At the same time as those in Python, many of which wait. The output comes when the last one ended.
test-rust: test-built
	mkdir -p build
	{ cargo test --workspace --locked && $(call pingora,cargo test); } > build/test-rust.log 2>&1; \
		status=$$?; cat build/test-rust.log; exit $$status

test-python: test-built
	$(VENV)/python -m pytest tests/python --numprocesses 3 --dist loadfile --no-loadscope-reorder

# A workspace of its own, with the builds of this one. It needs CMake.
pingora = if command -v cmake > /dev/null; \
	then MAKEFLAGS= $(1) --manifest-path crates/pingora/Cargo.toml --target-dir target --locked $(2); \
	else echo "not installed: cmake; crates/pingora is left out" >&2; fi

# What most changes break, in under two minutes.
CHECKED := architecture options outputs reference reports tidy
check: build
	$(VENV)/ruff format --check .
	$(VENV)/ruff check .
	$(VENV)/mypy
	$(VENV)/python -m pytest $(CHECKED:%=tests/python/test_%.py)

lint: build
	cargo fmt --check
	cargo fmt --check --manifest-path crates/pingora/Cargo.toml
	cargo metadata --manifest-path fuzz/Cargo.toml --locked --format-version 1 > /dev/null
	cargo clippy --workspace --all-targets --locked
	$(call pingora,cargo clippy,--all-targets)
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	$(VENV)/ruff format --check .
	$(VENV)/ruff check .
	$(VENV)/mypy
	$(VENV)/python scripts/build/website.py

bench: build
	$(VENV)/python bench/start.py
	$(VENV)/python bench/survey.py
	$(VENV)/python bench/designs.py
	$(VENV)/python bench/survey_job.py
	$(VENV)/python bench/tasks.py
	$(VENV)/python bench/bills.py
	$(VENV)/python bench/flash.py
	$(VENV)/python bench/disk.py
	$(VENV)/python bench/disk_fit.py
	$(VENV)/python bench/flash_fit.py
	$(VENV)/python bench/cache.py
	$(VENV)/python bench/serve.py
	cargo run -q --release --manifest-path bench/hybrid/Cargo.toml
	$(VENV)/python bench/storage.py
	$(VENV)/python bench/capture.py
	$(VENV)/python bench/workload.py
	$(VENV)/python bench/sort.py
	cargo build -q --release -p gordon-nbd --example memory
	$(VENV)/python bench/nbd.py
	$(VENV)/python bench/block.py
	cargo run -q --release -p gordon-ssd --example ssd_rate
	cargo run -q --release -p gordon-hdd --example disk_rate
	cargo run -q --release -p gordon-cache --example cache_rate
	cargo run -q --release -p gordon-replay --example replay_rate
	cargo run -q --release -p gordon-capture --example capture_cost
	cargo run -q --release -p gordon-trace --example formats_rate
	cargo run -q --release -p gordon-cluster --example designs_rate

GORDON_POWER_HISTORIES ?= 5000
GORDON_POWER_REQUESTS ?= 5000000
STORE_SEEDS ?= 5000
CACHE_KILLS ?= 200
PROPTEST_CASES ?= 100000
PROPTEST_RNG_SEED ?= $(shell date +%s)
torture: export GORDON_POWER_HISTORIES := $(GORDON_POWER_HISTORIES)
torture: export GORDON_POWER_REQUESTS := $(GORDON_POWER_REQUESTS)
torture: export STORE_SEEDS := $(STORE_SEEDS)
torture: export CACHE_KILLS := $(CACHE_KILLS)
torture: export PROPTEST_CASES := $(PROPTEST_CASES)
torture: export PROPTEST_RNG_SEED := $(PROPTEST_RNG_SEED)
torture: build
	@echo "PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED PROPTEST_CASES=$$PROPTEST_CASES"
	cargo test --profile torture --locked -p gordon-ftl --test properties
	cargo test --profile torture --locked -p gordon-ftl --test power
	cargo test --profile torture --locked -p gordon-store --test histories --test damage
	CACHE_RUNS=20 cargo test --profile torture --locked -p gordon-objectcache
	GORDON_ALL_CASES=1 $(VENV)/python -m pytest tests/python -m sampled
	$(VENV)/python -m pytest tests/python/test_cache_serve_flash.py \
		tests/python/test_cache_serve_sets.py -k kills

# No sanitizer: they look for what only unsafe code does, and are slow.
FUZZ_SECONDS ?= 300
FUZZ := cargo +nightly fuzz run -s none
fuzz:
	$(FUZZ) nbd -- -dict=fuzz/nbd.dict -max_total_time=$(FUZZ_SECONDS)
	$(FUZZ) image -- -max_len=385 -max_total_time=$(FUZZ_SECONDS)
	$(FUZZ) keys -- -max_len=400 -max_total_time=$(FUZZ_SECONDS)
	$(FUZZ) segment -- -max_len=4096 -max_total_time=$(FUZZ_SECONDS)
	mkdir -p fuzz/corpus/requests
	$(FUZZ) requests fuzz/corpus/requests fuzz/seeds/requests -- -max_len=2048 -max_total_time=$(FUZZ_SECONDS)

# For RISC-V, where no library of ours has assembly, which Miri does not run. Lints are `make lint`'s.
MIRI := RUSTFLAGS=--cap-lints=warn MIRIFLAGS=-Zmiri-disable-isolation \
	cargo +nightly miri test --locked --target riscv64gc-unknown-linux-gnu
miri:
	$(MIRI) -p gordon-ssd --test small
	$(MIRI) -p gordon-sim -p gordon-ftl --lib -- slot_scheduler timeline packed write_point

golden: build
	$(VENV)/python scripts/build/golden.py

guide: build
	$(VENV)/python scripts/build/guide.py

notebooks: build
	$(VENV)/python scripts/build/notebooks.py

recording: build
	$(VENV)/python scripts/pages/recording.py

third-party: build
	$(VENV)/python scripts/build/third_party.py

wheel: build
	$(VENV)/python scripts/build/wheel.py

site: build
	$(VENV)/python scripts/build/website.py

# Each after those that it uses. Cargo takes packages that are not on crates.io from those it made.
CRATES := units nand blockio sys ftl cache nbd sort store objectcache
crates:
	cargo publish --dry-run --locked --allow-dirty $(CRATES:%=-p gordon-%)

reference: build
	$(VENV)/python scripts/build/reference.py
	$(VENV)/python scripts/build/man.py
	$(VENV)/python scripts/build/api.py

results: build
	$(VENV)/python scripts/build/results.py
	$(VENV)/python scripts/build/keywords.py
	$(VENV)/python scripts/build/fields.py

machines: build
	$(VENV)/python scripts/catalogue/machines.py

figures: build
	cargo run -q --release -p gordon-replay --example wa_table > docs/design/write-amplification.md
	cargo run -q --release -p gordon-replay --example paper_figures > docs/design/paper-flash.md
	$(VENV)/python scripts/pages/joulesort_systems.py > docs/design/joulesort-systems.md
	$(VENV)/python scripts/pages/sort_tuning.py > docs/design/sort-tuning.md
	$(VENV)/python scripts/pages/web_server.py > docs/design/web-server.md
	$(VENV)/python scripts/pages/flashcache_served.py > docs/design/flashcache-served.md
	$(VENV)/python scripts/pages/paper_jobs.py > docs/design/paper-jobs.md
	$(VENV)/python scripts/pages/cost.py > docs/design/cost.md
	$(VENV)/python scripts/pages/total_cost.py > docs/design/total-cost.md

pages: build
	$(VENV)/python scripts/pages/screenshots.py

sort-live: build
	mkdir -p build
	$(VENV)/python scripts/validation/sort_live.py $(or $(WORK),$(error WORK=DIR is missing)) > build/sort-live.json
	mv build/sort-live.json docs/design/sort-live.json

validate: build
	$(VENV)/python scripts/validation/validate_here.py

validate-cluster: build
	sh scripts/build/spark.sh
	$(VENV)/python scripts/validation/validate_cluster.py $(JOBS:%=--jobs %) $(REPEATS:%=--runs %)

validate-ec2: build
	$(VENV)/python scripts/validation/validate_ec2.py $(or $(DATA),$(error DATA=DIR is missing))

bundle: build
	$(VENV)/python scripts/build/bundle.py $(or $(RUNS),$(error RUNS=DIR is missing)) python/gordon/bundled

bundle-log: build
	$(VENV)/python scripts/build/bundle_log.py $(or $(LOG),$(error LOG=FILE is missing)) python/gordon/bundled/spark-sort.gz

clean:
	rm -rf build target .venv
