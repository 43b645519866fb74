# This Makefile contains only shortcuts. meson.build describes the build, tools/deps installs missing packages, and tools/tier
# runs the tests.
PREFIX ?= /usr/local
SOAK ?= 3600
STORM ?= 15
FUZZ ?= 60
CHAOS ?= 300
VERIFIED ?= --all
COVERAGE ?= all
DESTDIR ?=
SEED ?= 0

# build/ is compiled with gcc and optimised. build-sanitize/ is compiled with clang and the address and undefined-behaviour
# sanitizers. build-coverage/ has no assertions, because their failing branches are never taken.
TESTS = -Dtests=true -Dwerror=true
SANITIZE = -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized \
           -Dc_args=-fno-sanitize-recover=all
INSTALLED = build/installed.txt

.NOTPARALLEL:
.PHONY: all help demo test check soak verified coverage storm fuzz mutants chaos bench failover \
        deps deps-test deps-check deps-failover install uninstall format clean

all: deps ## build build/elect and the libraries
	@tools/build build

help: ## list the targets
	@echo "usage: make [TARGET] [VARIABLE=VALUE ...]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

demo: all ## show five daemons on this machine and disturb them
	@build/elect demo

# ---- tests: CONTRIBUTING.md describes the tiers; tools/tier --list prints their contents ----

test: deps-test ## run the quick tests: a minute or two
	@tools/build build $(TESTS)
	@tools/tier test

check: deps-check ## run every other test that a change must pass: about ten minutes
	@tools/build build $(TESTS)
	@CC=clang tools/build build-sanitize $(SANITIZE) $(TESTS)
	@tools/tier check

soak: deps-check ## run storms, chaos, fuzzing and long fault matrices for SOAK seconds (3600)
	@tools/build build $(TESTS)
	@tools/tier soak $(SOAK)

mutants: deps-test ## build every mutant and run the test that must detect it
	@tools/build build $(TESTS)
	@tools/mutants build $(MUTANTS)

verified: all ## run every command of docs/verified.md: some minutes
	@tools/verified build/elect $(VERIFIED)

coverage: deps-test ## measure the lines and branches that the tests run; COVERAGE=core: only the core
	@tools/build build-coverage -Db_coverage=true -Db_ndebug=true -Dbuildtype=debug -Dtests=true
	@tools/coverage build-coverage $(COVERAGE)

storm: all ## simulate STORM days (15) of storms, six times
	@build/elect sim --mandate majority --storm --days $(STORM) --processes 5 --seed $$((1 + $(SEED)))
	@build/elect sim --mandate majority --storm --days $(STORM) --processes 3 --seed $$((1000 + $(SEED))) --algorithm ring
	@build/elect sim --mandate majority --storm --days $(STORM) --processes 5 --seed $$((4000 + $(SEED))) --algorithm active-ring
	@build/elect sim --mandate majority --storm --days $(STORM) --processes 5 --seed $$((5000 + $(SEED))) --algorithm chang-roberts
	@build/elect sim --mandate majority --storm --days $(STORM) --processes 5 --seed $$((2000 + $(SEED))) --beyond clocks
	@build/elect sim --mandate majority --storm --days $(STORM) --processes 5 --seed $$((3000 + $(SEED))) --beyond disks

fuzz: deps-test ## fuzz each decoder for FUZZ seconds (60), or with the inputs of SEED; KEEP=1: keep new inputs
	@tools/fuzz $(FUZZ)

chaos: all deps-test ## inject random faults into real daemons for CHAOS seconds (300), as root; SEED=N repeats a run
	@tools/chaos $(CHAOS) $(filter-out 0,$(SEED))

# ---- benchmarks ----

bench: deps-check ## measure the simulator, the checker beside SPIN, and the daemon; BENCH=small: a short run
	@tools/build build -Dbench=true
	@build/bench_lab $(if $(BENCH),1000 1)
	@bench/verify/run $(if $(BENCH),4,8)
	@bench/daemon build/elect build/flood $(if $(BENCH),--trials 1 --idle 1 --flood 2)

failover: $(if $(FAILOVER),deps-check,deps-failover) ## compare with etcd, ZooKeeper, keepalived, corosync, as root: most of an hour
	@tools/build build -Dbench=true
	@bench/failover build --json build/failover.json $(FAILOVER)

# ---- packages and installation ----

deps: ; @tools/deps build
deps-test: ; @tools/deps test
deps-check: ; @tools/deps check
deps-failover: ; @tools/deps failover

install: deps ## install below PREFIX (/usr/local), or below DESTDIR/PREFIX
	@tools/build build -Dprefix="$$(realpath -m -- "$(PREFIX)")"
	@DESTDIR="$(if $(DESTDIR),$$(realpath -m -- "$(DESTDIR)"))" meson install -C build --no-rebuild
	@grep -v '^#' build/meson-logs/install-log.txt | cat - $(wildcard $(INSTALLED)) | sort -u >$(INSTALLED).new
	@mv $(INSTALLED).new $(INSTALLED)

uninstall: ## remove the files that make install has installed from this tree
	@tools/uninstall $(INSTALLED)

format: ## format the C files
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean: ## remove the build folders
	@rm -rf build build-sanitize build-coverage build-fuzz
