# The two commands of the README. Each does all its set-up.
.PHONY: run test peers feed codecs lint setup

CARGO ?= cargo

# Builds, runs the main scenario, prints the table, leaves the record in runs/.
run: setup
	$(CARGO) build --release --locked -p tickpath
	sync # or the kernel writes the build back to disk on the measured cores
	./target/release/tickpath run $(SCENARIO)

# Builds and tests everything.
test: setup peers feed
	@./scripts/setup tests
	$(CARGO) test --workspace --locked

# Java's rings and queue, for scenarios/peers: built and tested.
peers:
	@./scripts/setup java
	mvn --batch-mode --no-transfer-progress --file clients/java-ipc/pom.xml package

# The feed's codecs for Java and C++, built and tested, and a look whether Rust's are those of the schema.
feed: setup
	@./scripts/setup java
	@./scripts/setup cpp
	@./scripts/codecs check
	mvn --batch-mode --no-transfer-progress --file clients/feed/pom.xml test
	cmake -S clients/feed/cpp -B clients/feed/target/cpp-build
	cmake --build clients/feed/target/cpp-build
	ctest --test-dir clients/feed/target/cpp-build --output-on-failure

# After a change of clients/feed/tickpath-feed.xml.
codecs: setup
	@./scripts/setup java
	@./scripts/codecs

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

setup:
	@./scripts/setup
