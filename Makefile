# Two commands do everything on a fresh machine: `make run` and `make test`.

SWIFT ?= swift
export SWIFT
# A target imports the modules that Package.swift gives it and nothing else.
STRICT = --explicit-target-dependency-import-check error
# Quiet, and alike in a terminal and out of one.
BUILD = Scripts/build.py $(STRICT)
# In a folder of its own, so that it can be built beside the tests; .build/release leads there.
OPTIMISED = --scratch-path .build/optimised -c release --static-swift-stdlib
RELEASE = .build/release/routerd
DEBUG = .build/debug/routerd
PREFIX ?= /usr/local
# At most 32 tests at once: without a bound the tests of a process start together and hold 4,000 threads and 9,000 descriptors.
WIDTH = --experimental-maximum-parallelization-width
# A crash prints the thread that crashed, not each of them.
# The bundle itself: `swift test` locks the folder of the build, and others would wait for it.
TEST = SWIFT_BACKTRACE=threads=crashed,color=no .build/debug/routerdPackageTests.xctest --testing-library swift-testing
# Tests of the binary, tests of the transport, and tests that take five seconds of processor time or more in a debug build, run
# in processes of their own. A test that computes holds one of the few threads that all tests of a process share: beside it a
# client of a socket would run out of its time. Tests of the transport open thousands of connections, beside which others run
# out of their time to connect.
BINARY = ^AcceptanceTests\.
TRANSPORT = ^DeliveryCurlTests\.
COMPUTING = \.(HangingTests|NodeStoreTests|HostileSetTests|ExplanationTests|SabotageTests|SessionRegistryTests|SimulationTests)/|theSuiteFindsAFlaw
# The binary under test, and the configuration that `make run` starts it with.
ROUTERD ?= $(RELEASE)
# Built first, unless another binary is named.
UNDER_TEST = $(if $(filter $(RELEASE),$(ROUTERD)),release)
CONFIG ?= routerd.yaml
SIZES ?= 1,1000,100000
# A release build, as that of the daemon, whose modules it shares; the targets of Benchmarks/ are there only when asked for.
BUILD_BENCHMARK = ROUTERD_BENCHMARKS=1 $(BUILD) $(OPTIMISED) --product
# Texts are hashed alike in every run, so that counts are the same too.
BENCHMARKS = SWIFT_DETERMINISTIC_HASHING=1 .build/optimised/release/router-benchmarks

.PHONY: benchmark build-benchmarks build-tests chaos check check-apns check-benchmarks check-built check-chaos check-clients check-console check-deb check-example check-frames check-hostile check-metrics check-openapi check-packaging check-pairs check-readme check-scenes check-sources check-upgrade count-instructions deb debug demo docs fuzz hostile install measure measure-accepts measure-decisions measure-lanes measure-load measure-log measure-rules measure-streams million race release run setup setup-checks soak sweep-stories test test-binary test-computing test-fast test-long test-transport test-units uninstall verify-decisions verify-index wrk help

help:  ## Show what there is to make.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

setup:
	@Scripts/setup.sh

# Without optimisation, so that a first build is there sooner.
debug: setup
	@$(BUILD) --product routerd

# The Swift libraries are part of the binary, so that it runs where there is no toolchain.
release: setup
	@$(BUILD) $(OPTIMISED) --product routerd
	@ln -sfn optimised/release .build/release

install: release  ## Install the binary, stripped, its unit, man page and completions under PREFIX=/usr/local.
	@Scripts/install.sh $(RELEASE) "$(DESTDIR)$(PREFIX)" "$(PREFIX)"

deb: release  ## Make a Debian package in .build/deb.
	@Scripts/deb.sh $(RELEASE) .build/deb

check-deb: deb  ## Check the Debian package: lintian, the unit, an installation in an overlay; needs root.
	@Scripts/setup.sh lintian
	Scripts/check-deb.sh .build/deb/routerd_*.deb

uninstall:  ## Remove what `make install` has put under PREFIX=/usr/local.
	@Scripts/install.sh --remove "$(DESTDIR)$(PREFIX)"

run: debug  ## Start the daemon on the embedded store, with routerd.yaml; a debug build, which is there sooner.
	@exec $(DEBUG) serve --config $(CONFIG)

test-fast: check build-tests test-units test-transport  ## Check the style, then run the tests that stay within the process.

test-units:
	$(TEST) --skip "$(BINARY)|$(COMPUTING)|$(TRANSPORT)" $(WIDTH) 16

test-computing:
	$(TEST) --filter "$(COMPUTING)"

test-transport:
	$(TEST) --filter "$(TRANSPORT)" $(WIDTH) 32

test-binary: $(UNDER_TEST)
	ROUTERD=$(abspath $(ROUTERD)) $(TEST) --filter "$(BINARY)" $(WIDTH) 8

test: setup  ## Everything that a change must pass, two steps at a time: style, units, the binary, README, senders, chaos, allocations.
	@python3 Scripts/test.py $(STEPS)

# The packages that the steps of `make test` need beyond those of a build, in one installation.
setup-checks:
	@Scripts/setup.sh curl jq openssl binutils chromium python3-venv
	@command -v node >/dev/null || Scripts/setup.sh nodejs
	@Scripts/promtool.sh >/dev/null

test-long:  ## Everything that takes long: thread sanitizer, many seeds, crash points of the stories, fuzzing, chaos.
	$(MAKE) race
	$(MAKE) soak
	$(MAKE) verify-index
	$(MAKE) verify-decisions
	$(MAKE) sweep-stories
	$(MAKE) fuzz
	$(MAKE) chaos
	$(MAKE) hostile
	$(MAKE) check-openapi
	$(MAKE) check-deb

build-tests: setup
	@$(BUILD) --build-tests

docs: build-tests  ## Make the documentation of the library products in .build/docs, a site of static files.
	@python3 Scripts/docs.py

check: setup  ## Check the style: formatter's rules, then the project's own.
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Fuzzing Examples Benchmarks
	python3 Scripts/tidy.py
	python3 -m unittest discover -s Tests/scripts -q

benchmark: build-benchmarks  ## Print what decisions and changes take: time, allocations, reference counting.
	@$(BENCHMARKS)

check-benchmarks: build-benchmarks  ## Check allocations and retains against Benchmarks/thresholds.json.
	@$(BENCHMARKS) --check < Benchmarks/thresholds.json

build-benchmarks:
	@$(BUILD_BENCHMARK) router-benchmarks

race: setup  ## Exercise the types that threads share, under the thread sanitizer.
	python3 Scripts/race.py

demo: debug  ## Play the photo gallery: routing, retry, kill -9, recovery; ARGUMENTS=--slow or --keep.
	@python3 Scripts/demo.py --routerd $(DEBUG) $(ARGUMENTS)

check-readme: $(UNDER_TEST)  ## Run the shell blocks of README.md, docs/GUIDE.md and four more pages of docs, and check their promises.
	@Scripts/setup.sh curl jq openssl binutils
	@command -v node >/dev/null || Scripts/setup.sh nodejs
	python3 Tests/readme/run.py --routerd $(ROUTERD) --direct

check-built:  ## Check that `make run` in a terminal compiles nothing after `make test`; nothing is built before it.
	python3 Tests/readme/run.py --routerd $(RELEASE) built

check-example: release  ## Make the project of Examples/third-party-rule, run its tests, and check that its daemon uses its rule.
	python3 Tests/example/run.py

check-scenes: $(UNDER_TEST)  ## Run the programs of Examples/windows-and-gates and the requests of docs/SCENES.md against the daemon.
	@Scripts/setup.sh curl jq openssl
	python3 -m unittest discover -s Tests/scenes -q
	python3 Tests/scenes/run.py --routerd $(ROUTERD)

check-clients: $(UNDER_TEST)  ## Play the clients of Clients against the daemon: tabs and a passkey in headless Chromium, the Python client, WebSockets, outages, and receivers while the daemon is killed (KILLS=10 RECEIVERS=16).
	@Scripts/setup.sh chromium python3-venv openssl
	python3 Tests/streams/clients.py $(ROUTERD)
	python3 Tests/streams/presence.py $(ROUTERD)
	python3 Tests/streams/windows.py $(ROUTERD)
	python3 Tests/streams/passkeys.py $(ROUTERD)
	python3 Tests/streams/storm.py $(ROUTERD) --kills $(or $(KILLS),10) --receivers $(or $(RECEIVERS),16)

soak:  ## Run many seeds of the simulator, optimised; SEEDS=10000 FIRST=0 TICKS=100 SECONDS=1800 are the bounds.
	@$(BUILD_BENCHMARK) simulation-soak
	@.build/optimised/release/simulation-soak $(or $(SEEDS),10000) $(or $(FIRST),0) $(or $(TICKS),100) \
		$(or $(SECONDS),1800)

verify-index:  ## Compare the index with brute force over many seeds, and run all rounds of the fuzz-like tests; SEEDS=2000 says how many.
	ROUTERD_FUZZ_ALL=1 ROUTERD_INDEX_SEEDS=$(or $(SEEDS),2000) $(SWIFT) test --no-color-diagnostics $(STRICT) \
		--filter 'SessionRegistryTests|PredicateIndexTests|CrowdTests|PayloadEvaluationTests|FuzzTests|SimulationTests|SabotageTests'

chaos: $(UNDER_TEST)  ## Break things around the daemon for some twenty minutes and judge what came of it; docs/CHAOS.md.
	python3 Tests/chaos/run.py --routerd $(ROUTERD) $(if $(SEED),--seed $(SEED)) $(SCENARIOS)

check-chaos: setup $(UNDER_TEST)  ## The short form: the verdict's own tests, the zoo, raw requests, some kills, a deletion, a few crash points.
	python3 -m unittest discover -s Tests/chaos -q
	python3 Tests/chaos/run.py zoo raw storm model deletion sweep --kills 3 --cycles 3 --points 1 --short --without-open --routerd $(ROUTERD)

check-sources: $(UNDER_TEST)  ## Run the curl lines of docs/SOURCES.md and the SDKs of senders, from PyPI, against the daemon.
	@Scripts/setup.sh python3-venv curl openssl jq
	python3 Tests/sources/run.py --routerd $(ROUTERD)

check-apns: $(UNDER_TEST)  ## Push by provider libraries of APNs, from PyPI, to the daemon and to apns-sandbox.
	@Scripts/setup.sh python3-venv curl
	python3 Tests/apns/run.py --routerd $(ROUTERD)

check-console: $(UNDER_TEST)  ## Open every page of the console in a headless Chromium; pictures go to .build/console.
	@Scripts/setup.sh python3-venv chromium
	python3 Tests/console/run.py --routerd $(ROUTERD)

check-metrics: $(UNDER_TEST)  ## Compare alert rules, dashboard and documentation with the metrics that the daemon serves.
	python3 Tests/metrics/run.py --routerd $(ROUTERD) --promtool "$$(Scripts/promtool.sh)"

check-packaging: $(UNDER_TEST)  ## Check that the image, the manifests and the units fit together, as far as that can be done without an engine.
	@Scripts/setup.sh python3-venv
	python3 Tests/packaging/run.py --routerd $(ROUTERD)

check-openapi: $(UNDER_TEST)  ## Send requests that schemathesis, from PyPI, makes of /openapi.json; SECONDS=240 says how long.
	@Scripts/setup.sh python3-venv
	python3 Tests/openapi/run.py --routerd $(ROUTERD) --seconds $(or $(SECONDS),240)

check-pairs: $(UNDER_TEST)  ## Play every ordered pair of operations on one connection, with bodies at once and late, a third of them with a client that leaves.
	@Scripts/setup.sh python3-venv
	python3 Tests/openapi/pairs.py --routerd $(ROUTERD)

check-hostile: $(UNDER_TEST)  ## Play each operation in its most costly form beside a quiet tenant, a moment each.
	@Scripts/setup.sh python3-venv
	python3 Tests/openapi/hostile.py --routerd $(ROUTERD) $(if $(ONLY),--only '$(ONLY)')

hostile: $(UNDER_TEST)  ## Play each operation in all hostile forms beside a quiet tenant; ONLY=listSources plays one.
	@Scripts/setup.sh python3-venv
	python3 Tests/openapi/hostile.py --whole --routerd $(ROUTERD) $(if $(ONLY),--only '$(ONLY)')

check-frames: $(UNDER_TEST)  ## Check the binary for async functions with too small a frame (swiftlang/swift#91639).
	python3 Tests/frames/run.py --routerd $(ROUTERD)

sweep-stories: setup release  ## Kill the daemon within the steps of the stories; POINTS=25 says at how many calls of each kind.
	@$(BUILD) --build-tests
	ROUTERD_TEST_MINUTES=60 ROUTERD_STORY_POINTS=$(or $(POINTS),25) $(SWIFT) test --skip-build --no-color-diagnostics --filter StoryCrashTests

fuzz: setup  ## Give parsers, index, templates and sources bytes from libFuzzer; SECONDS=60 says how long each.
	python3 Scripts/fuzz.py --seconds $(or $(SECONDS),60)

measure: release wrk  ## Measure CPU per notification; docs/PERFORMANCE.md explains this one and the next three.
	@Scripts/setup.sh nginx-light
	python3 Scripts/measure.py --routerd $(RELEASE)

measure-accepts: release wrk  ## Measure durable accepts a second beside one transaction a request.
	python3 Scripts/accepts.py --routerd $(RELEASE) $(if $(FLUSH_MS),--flush-ms $(FLUSH_MS))

measure-lanes: release  ## Give LANES=10000 lanes an endpoint and a connection each, and load at RATE=1000 a second.
	python3 Scripts/lanes.py --routerd $(RELEASE) --lanes $(or $(LANES),10000) --rate $(or $(RATE),1000)

measure-streams: release  ## Open STREAMS=10000 streams beside webhooks: memory, idle, and times at RATE=200 a second.
	python3 Scripts/streams.py --routerd $(RELEASE) --streams $(or $(STREAMS),10000) --rate $(or $(RATE),200)

measure-load: release  ## Run bench load at several rates against a daemon; RATES=100,500,1000,2000.
	python3 Scripts/rates.py --routerd $(RELEASE) $(if $(RATES),--rates $(RATES))

measure-log: setup  ## Count the bytes of log that a notification adds, by table and index; docs/PERFORMANCE.md has the figures.
	ROUTERD_LOG_PROFILE=1 $(SWIFT) test --no-color-diagnostics $(STRICT) --filter LogVolumeTests

check-upgrade: setup  ## Upgrade a database of the schema before step 20; NOTIFICATIONS=100000 says how many it has.
	ROUTERD_UPGRADE_NOTIFICATIONS=$(or $(NOTIFICATIONS),100000) $(SWIFT) test --no-color-diagnostics $(STRICT) \
		--filter UpgradeTests

million: release  ## Register a million sessions over HTTP, route among them while they change, start anew.
	python3 Scripts/million.py --routerd $(RELEASE)

measure-decisions: release  ## Measure the decision alone; SIZES=1,1000 sessions, MIXES=mixed,uikit, COLD=1, SUBJECTS=1000 VERIFY=1.
	python3 Scripts/decisions.py --routerd $(RELEASE) --sizes $(SIZES) $(if $(MIXES),--mixes $(MIXES)) \
		$(if $(SUBJECTS),--subjects $(SUBJECTS)) $(if $(COLD),--cold) $(if $(VERIFY),--verify)

verify-decisions: release  ## Compare decisions with brute force: all mixes of predicates, and hostile ones, among 1 to 1,000 sessions.
	python3 Scripts/decisions.py --routerd $(RELEASE) --verify --sizes 1,1000 --subjects 150 --repeat 2 \
		--mixes exact,prefix,wild,contains,mixed,shared,true,uikit,events,range,order
	python3 Scripts/decisions.py --routerd $(RELEASE) --verify --sizes 1,20 --subjects 10 --repeat 2 --mixes hostile

measure-rules: release  ## Measure a decision under 0, 1, 5 and 20 rules of each rung.
	python3 Scripts/rungs.py --routerd $(RELEASE)

count-instructions:  ## Count instructions and misses of a decision with valgrind; SIZES=1000,1000000 MIXES=mixed,uikit.
	@Scripts/setup.sh valgrind binutils
	@$(BUILD_BENCHMARK) decision-count
	python3 Scripts/instructions.py --counter .build/optimised/release/decision-count --sizes $(SIZES) \
		$(if $(MIXES),--mixes $(MIXES))

wrk:
	@command -v wrk >/dev/null || Scripts/setup.sh wrk
