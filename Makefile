# The two commands of the README. Each does all its set-up.
.PHONY: run test peers lint setup

CARGO ?= cargo

# Builds, runs the main scenario, prints the table, leaves the record in runs/.
run: setup
	$(CARGO) build --release --locked -p tickpath
	sync # or the kernel writes the build back to disk on the measured cores
	./target/release/tickpath run $(SCENARIO)

# Builds and tests everything.
test: setup peers
	@./scripts/setup tests
	$(CARGO) test --workspace --locked

# Java's rings and queue, for scenarios/peers: built and tested.
peers:
	@./scripts/setup java
	mvn --batch-mode --no-transfer-progress --file clients/java-ipc/pom.xml package

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

setup:
	@./scripts/setup
