# make run: installs what is missing, builds, measures this machine in half a minute, and writes
# journal and report to results/; first CPUs and simulated machines, then GPUs if there are any.
# make test: installs what tests need as well, builds all, and runs every test, three at once, of
# which one mostly waits; at its end stands which were skipped and why.
# make build: only builds, to build/duet.
# make wheel: a wheel for Python of what is built, to dist/.
.PHONY: run test build wheel packages test-packages format clean
.NOTPARALLEL:

# Several files compiled as one, half the time on few cores, and what is not hot by -O1. Only where
# nothing is configured yet.
soon = -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=40 -DDUET_PLAIN_OPTIMISATION=-O1

run: packages build/build.ninja
	@scripts/quick.sh build results

test: test-packages build
	scripts/run_tests.sh build -j 3

build: build/build.ninja
	cmake --build build

wheel: build
	scripts/wheel.sh build dist

# Again when packages have come, which may be what an optional part waited for.
build/build.ninja: CMakePresets.json $(wildcard /var/lib/dpkg/status)
	cmake --preset default $(if $(wildcard build/CMakeCache.txt),,$(soon))

packages:
	@scripts/packages.sh

test-packages:
	@scripts/packages.sh tests

format:
	git ls-files 'src/*.h' 'src/*.cc' 'src/*.cu' 'tests/*.h' 'tests/*.cc' 'examples/*.cc' 'bench/*.cc' 'bench/*.cu' | xargs clang-format -i

clean:
	rm -rf build build-*
