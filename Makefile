# The two commands of the README. Each does all its set-up.
.PHONY: run install test cloud demo-cloud peers cluster cluster-jar feed clients dpdk jmh codecs dist lint setup

CARGO ?= cargo
# A test that fails is run once more, and named if it passes then; it is a defect all the same.
MVN = mvn --batch-mode --no-transfer-progress -Dsurefire.rerunFailingTestsCount=1
CTEST = ctest --output-on-failure --repeat until-pass:2

# Builds, runs the main scenario, prints the table, leaves the record in runs/.
run: setup
	$(CARGO) build --release --locked -p tickpath
	sync # or the kernel writes the build back to disk on the measured cores
	@./scripts/run ./target/release/tickpath run $(SCENARIO)

# Puts tickpath into ~/.cargo/bin, which the Rust installer adds to the PATH.
install: setup
	$(CARGO) install --locked --path crates/tickpath

# Builds and tests everything. Tests that can't run on this machine are counted at the end, by what
# they need; for a need that is listed in MUST_RUN that is a failure. With CLOUD_APART=1 without the
# control plane.
test: setup
	@CARGO="$(CARGO)" CLOUD_APART="$(CLOUD_APART)" ./scripts/test

# The control plane's tests: simulation, a fake AWS, hosts in network namespaces (root).
cloud: setup
	@./scripts/setup python
	@# With one of its tests, or dependencies have other features than in `make test`, and all of
	@# them, and all that uses them, is built once more.
	$(CARGO) build --locked --workspace --bin tickpath --test tune_rights
	@./scripts/cloud

# A hunt for the best placement in a fake AWS with simulated hosts.
demo-cloud:
	@./scripts/setup python
	@cd cloud && .venv/bin/python -m fake_aws.demo

# Java's rings and queue, for scenarios/peers: built and tested.
peers:
	@./scripts/setup java
	$(MVN) --file clients/java-ipc/pom.xml package
	$(MVN) --file clients/java-fix/pom.xml package

# A member of an Aeron Cluster with the engine as a library: built and tested. CLUSTER_ROUNDS is how
# often the tests kill or hold up a member.
cluster: setup
	$(CARGO) build --release --locked -p engine-abi
	@$(MAKE) --no-print-directory cluster-jar

# The same with a library that is built already. With CLUSTER_PHASE='package -DskipProcesses=true'
# without the tests that start and kill clusters, which take a minute.
CLUSTER_LIBRARY ?= target/release/libengine_abi.so
CLUSTER_PHASE ?= package
CLUSTER_ROUNDS ?= 2
cluster-jar:
	@./scripts/setup java
	$(MVN) --file clients/java-cluster/pom.xml -Dengine=$(abspath $(CLUSTER_LIBRARY)) \
	  -Drounds=$(CLUSTER_ROUNDS) $(CLUSTER_PHASE)
	cp $(CLUSTER_LIBRARY) clients/java-cluster/target/

# The feed's codecs for Java and C++: built and tested; and a check that Rust's match the schema.
feed: setup
	@./scripts/setup java
	@./scripts/setup cpp
	@./scripts/codecs check
	$(MVN) --file clients/feed/pom.xml test
	cmake -S clients/feed/cpp -B clients/feed/target/cpp-build
	cmake --build clients/feed/target/cpp-build
	$(CTEST) --test-dir clients/feed/target/cpp-build

# The clients in other languages: built and tested.
clients:
	@./scripts/setup cpp
	@./scripts/setup cpp-client
	@./scripts/setup java
	$(MVN) --file clients/feed/pom.xml generate-sources
	cmake -S clients/cpp -B clients/cpp/target/build
	cmake --build clients/cpp/target/build --parallel
	$(CTEST) --test-dir clients/cpp/target/build
	$(MVN) --file clients/java/pom.xml package

# Benchmarks of the Java client's codec; JMH="…" replaces the arguments.
JMH ?= -prof gc
jmh:
	@./scripts/setup java
	mvn --batch-mode --no-transfer-progress --quiet --file clients/java/pom.xml --activate-profiles jmh \
	  -Djmh.arguments="$(JMH)" test-compile exec:exec

# After a change of clients/feed/tickpath-feed.xml.
codecs: setup
	@./scripts/setup java
	@./scripts/codecs

# Static binaries, checksums and a bill of materials in target/dist.
dist: setup
	@./scripts/dist

lint: setup
	@./scripts/setup python
	@./.ci/prose
	cd cloud && .venv/bin/ruff check . ../clients && .venv/bin/ruff format --check . ../clients
	cd cloud && .venv/bin/mypy
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

setup:
	@./scripts/setup

# With the backend dpdk: builds against the distribution's DPDK, and tests it over veth as root.
# Beside the default build, so that neither builds the other's crates anew.
dpdk:
	@./scripts/setup dpdk
	$(CARGO) build --release --locked -p tickpath --features dpdk --target-dir target/dpdk
	for driver in net_af_xdp net_af_packet; do TICKPATH_DPDK_DRIVER=$$driver \
	  $(CARGO) test --locked -p bypass -p fanout --features bypass/dpdk,fanout/dpdk \
	  --target-dir target/dpdk --test dpdk || exit 1; done
	$(CARGO) test --locked -p tickpath --features dpdk --target-dir target/dpdk --test it -- below:: over_dpdk
	@echo "target/dpdk/release/tickpath has the backend dpdk"
