# Shortcuts. The build itself is meson.build; packages are installed when something is missing.
PREFIX ?= /usr/local

# build/: gcc, optimised. build-sanitize/: clang with the address and undefined-behaviour sanitizers.
SANITIZE = -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized \
           -Dc_args=-fno-sanitize-recover=all
configure = if [ -f $(1)/build.ninja ]; then verb=configure; else verb=setup; fi; \
            out=$$(meson $$verb $(1) $(2)) || { echo "$$out"; exit 1; }
compile = out=$$(ninja -C $(1) --quiet 2>&1) || { echo "$$out"; exit 1; }
check = meson test -C $(1) --no-rebuild --print-errorlogs

.NOTPARALLEL:
.PHONY: all demo test test-plain test-sanitize verified coverage storm fuzz mutants chaos bench failover deps deps-test deps-bench install format clean

all: deps
	@$(call configure,build,)
	@$(call compile,build)

deps: ; @tools/deps build
deps-test: ; @tools/deps test
deps-bench: ; @tools/deps bench

demo: all
	@build/elect demo

test: test-plain test-sanitize

test-plain: deps-test
	@$(call configure,build,-Dtests=true -Dwerror=true)
	@$(call compile,build)
	@$(call check,build)

test-sanitize: deps-test
	@CC=clang; export CC; $(call configure,build-sanitize,$(SANITIZE) -Dtests=true -Dwerror=true)
	@$(call compile,build-sanitize)
	@$(call check,build-sanitize)

# build-coverage/: without assertions, whose other branch is never taken. Everything but what looks at the build itself.
coverage: deps-test
	@$(call configure,build-coverage,-Db_coverage=true -Db_ndebug=true -Dbuildtype=debug -Dtests=true)
	@$(call compile,build-coverage)
	@find build-coverage -name '*.gcda' -delete
	@meson test -C build-coverage --list | sed 's/.* \/ //' | grep -v -e mutants -e verified -e tidy -e symbols -e hardened -e faults | \
		tr '\n' '\0' | COVERAGE=yes xargs -0 $(call check,build-coverage)
	@tools/coverage build-coverage

# docs/verified.md, all of it: some minutes
verified: all
	@tools/verified build/elect --all

# 0.1 years within the assumptions, and some of it beyond them
storm: all
	@build/elect sim --mandate majority --storm --days 37 --processes 5
	@build/elect sim --mandate majority --storm --days 10 --processes 3 --seed 1000 --algorithm ring
	@build/elect sim --mandate majority --storm --days 10 --processes 5 --seed 4000 --algorithm active-ring
	@build/elect sim --mandate majority --storm --days 10 --processes 5 --seed 5000 --algorithm chang-roberts
	@build/elect sim --mandate majority --storm --days 10 --processes 5 --seed 2000 --beyond clocks
	@build/elect sim --mandate majority --storm --days 10 --processes 5 --seed 3000 --beyond disks

# every decoder, for a minute each: FUZZ=600 make fuzz
fuzz: deps-test
	@tools/fuzz $(FUZZ)

# real daemons and a random nemesis, for some seconds: CHAOS=3600 SEED=1 make chaos
CHAOS ?= 300
chaos: all deps-test
	@tools/chaos $(CHAOS) $(SEED)

# seeded faults, and who notices them
mutants: deps-test
	@$(call configure,build,-Dtests=true -Dwerror=true)
	@$(call compile,build)
	@tools/mutants build

bench: deps-bench
	@$(call configure,build,-Dbench=true)
	@$(call compile,build)
	@build/bench_lab
	@bench/verify/run 8
	@bench/daemon build/elect build/flood

# how long nobody leads, beside etcd, ZooKeeper, keepalived and corosync, as root: most of an hour
failover: deps-bench
	@$(call configure,build,-Dbench=true)
	@$(call compile,build)
	@bench/failover build --json build/failover.json

install: deps
	@$(call configure,build,-Dprefix=$(abspath $(PREFIX)))
	@$(call compile,build)
	@meson install -C build --no-rebuild

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf build build-sanitize build-coverage
