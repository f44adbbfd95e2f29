# make run: installs what is missing, builds, measures this machine in under two minutes, and writes
# journal and report to results/.
# make test: the same set-up, then every test, three at once, of which one mostly waits.
# make build: only builds, to build/duet.
.PHONY: run test build packages format clean

run: packages build/build.ninja
	cmake --build build --target program
	@mkdir -p results
	build/duet run quick --json results/quick-$$(date -u +%Y%m%d-%H%M%S).jsonl \
	  $$(test -e build/src/report/page.html && echo --report)

test: packages build
	ctest --test-dir build --output-on-failure --timeout 300 -j 3

build: build/build.ninja
	cmake --build build

build/build.ninja: CMakePresets.json
	cmake --preset default

packages:
	@scripts/packages.sh

format:
	git ls-files 'src/*.h' 'src/*.cc' 'src/*.cu' 'tests/*.h' 'tests/*.cc' 'examples/*.cc' 'bench/*.cc' 'bench/*.cu' | xargs clang-format -i

clean:
	rm -rf build build-*
