# Shortcuts. The build itself is meson.build.
PREFIX ?= /usr/local
SANITIZE = -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized

.PHONY: all demo test test-plain test-sanitize bench deps deps-test install format clean

all: build/build.ninja
	@ninja -C build --quiet

build/build.ninja: meson.build meson_options.txt
	@tools/deps build
	@[ -f $@ ] && meson setup --reconfigure build >/dev/null || meson setup build >/dev/null
	@touch $@

deps: ; @tools/deps build
deps-test: ; @tools/deps test

demo: all
	@tools/demo build/elect

test: test-plain test-sanitize

# gcc, warnings are errors
test-plain: deps-test all
	@meson configure build -Dtests=true -Dwerror=true
	@ninja -C build --quiet
	@meson test -C build --print-errorlogs

# clang with the address and undefined-behaviour sanitizers
test-sanitize: deps-test
	@[ -f build-sanitize/build.ninja ] || CC=clang meson setup build-sanitize $(SANITIZE) -Dtests=true -Dwerror=true >/dev/null
	@ninja -C build-sanitize --quiet
	@meson test -C build-sanitize --print-errorlogs

bench: all
	@meson configure build -Dbench=true
	@ninja -C build --quiet
	@build/bench_lab

install: all
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	@meson install -C build

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf build build-sanitize
