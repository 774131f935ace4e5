# Two words do everything: `make bench` and `make test`. The others are for daily work.
PYTHON := .venv/bin/python
export CARGO_TARGET_DIR ?= $(CURDIR)/native/target

.PHONY: bench test setup setup-test lint format native docs check-native check-java check-python clean

bench: setup  ## a short benchmark on the built-in server, ending with its score card
	.venv/bin/telemark run scalagent/multi-publisher --qos 0 --server loopback --size quick

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
	@if cargo clippy --version >/dev/null 2>&1; then cd native && cargo clippy --quiet --workspace --all-targets -- -D warnings; \
	else echo 'lint: this Rust has no clippy; Rust code was not linted' >&2; fi

check-native:
	cd native && cargo test --quiet --workspace

check-java:
	@if command -v mvn >/dev/null; then mvn -B -q -f jms/pom.xml test; \
	else echo 'check-java: there is no Maven; the JMS consumer was not tested' >&2; fi

# Two at a time, as most tests wait for servers most of the time; those that time messages want the machine alone.
check-python:
	$(PYTHON) -m pytest -m 'not alone' -n 2 --dist loadfile --no-loadscope-reorder
	$(PYTHON) -m pytest -m alone

format:
	.venv/bin/ruff check --fix
	.venv/bin/ruff format
	cd native && cargo fmt --all

native:  ## rebuild the native module after a change of Rust code
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet

docs:  ## regenerate docs/reference from the code
	$(PYTHON) docs/generate.py

clean:
	rm -rf native/target jms/target .venv
