#!/usr/bin/env bash
# Makes what a release has, from a clean clone: the sources, the .deb, the archive, the wheel, and
# checksums of all.
#   release.sh [FOLDER] [CMAKE OPTION...]     FOLDER: dist; it must not exist or be empty
# A commit without the tag of its version gets a version that sorts below it (cmake/package.cmake).
# Needs what scripts/packages.sh installs, python3-wheel and dpkg-dev.
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
to=$(realpath -m "${1:-$root/dist}")
shift $(($# > 0))
fail() {
  echo "release.sh: $*" >&2
  exit 2
}
[[ -z $(ls -A "$to" 2> /dev/null) ]] || fail "$to has files: expected an empty folder"
cd "$root"
[[ -z $(git status --porcelain) ]] || fail "the tree has changes: expected a clean clone"
revision=$(git rev-parse --short=8 HEAD)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

# Of a clone, in which nothing lies that the commit lacks.
git clone -q --no-hardlinks . "$build/source"
cmake -S "$build/source" -B "$build/build" --preset release -DDUET_TESTS=OFF "$@"
cmake --build "$build/build"
mkdir -p "$to"
(cd "$build/build" && cpack -G DEB -B "$build/deb" && cpack -G TGZ -B "$build/tgz")
cp "$build"/deb/*.deb "$build"/tgz/*.tar.gz "$to/"
"$build/source/scripts/wheel.sh" "$build/build" "$to"
version=$(sed -n 's/^project(duet VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
git archive --prefix="duet-$version/" -o "$to/duet-$version-$revision-source.tar.gz" HEAD
(cd "$to" && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
