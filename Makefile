# Two words do everything: `make bench` and `make test`. The others are for daily work.
PYTHON := .venv/bin/python
export CARGO_TARGET_DIR ?= $(CURDIR)/native/target

.PHONY: bench test test-long setup setup-test lint format native wheel docs check-native check-java check-python audit fuzz clean

bench: setup  ## 20,000 messages a second on the built-in server and Mosquitto: one score card, one HTML report
	tools/bench

test: setup-test lint check-native check-java check-python  ## everything a change must pass

setup:
	tools/setup bench

setup-test:
	tools/setup test

lint:
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	@if cargo fmt --version >/dev/null 2>&1; then cd native && cargo fmt --all --check; \
	else echo 'lint: this Rust has no rustfmt; Rust formatting was not checked' >&2; fi
	@if cargo clippy --version >/dev/null 2>&1; then cd native && cargo clippy --locked --quiet --workspace --all-targets -- -D warnings; \
	else echo 'lint: this Rust has no clippy; Rust code was not linted' >&2; fi

check-native:
	cd native && cargo test --locked --quiet --workspace

check-java:
	mvn -B -q --strict-checksums -f jms/pom.xml test
	mvn -B -q --strict-checksums -f jms/pom.xml -P javax test

# Three at a time, as most tests wait for servers most of the time; those that time messages want the machine alone.
check-python:
	$(PYTHON) -m pytest -m 'not alone and not long' -n 3 --dist loadfile --no-loadscope-reorder --durations 15
	$(PYTHON) -m pytest -m 'alone and not long'

test-long: setup-test  ## proofs that take longer than `make test` may
	$(PYTHON) -m pytest -m long --timeout 900

audit:  ## known defects of all parts; ends with 3 when a source could not be asked
	$(PYTHON) tools/audit

fuzz:  ## a minute of random input for everything that reads bytes of strangers
	cd native && cargo run --locked --quiet --release -p telemark-fuzz -- --seconds 60
	$(PYTHON) -m tests.support.fuzz_documents 60

format:
	.venv/bin/ruff check --fix
	.venv/bin/ruff format
	cd native && cargo fmt --all

native:  ## rebuild the native module after a change of Rust code
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --locked --quiet

wheel: setup  ## one file with everything inside, for hosts without this checkout: dist/telemark-*.whl
	tools/wheel

docs:  ## regenerate docs/reference from the code
	$(PYTHON) docs/generate.py

clean:
	rm -rf native/target jms/target .venv
