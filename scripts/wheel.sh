#!/usr/bin/env bash
# Makes a wheel of a build, with program, library, modules and drop-in, without a network:
#   wheel.sh BUILD FOLDER     FOLDER/duet-VERSION-py3-none-linux_x86_64.whl
# It is for systems like this one: libraries of others, such as fmt, hwloc and OpenSSL, are the system's.
# Needs python3-wheel.
set -euo pipefail
build=$(realpath "${1:?usage: wheel.sh BUILD FOLDER}") to=${2:?usage: wheel.sh BUILD FOLDER}
source=$(realpath "$(dirname "$0")/..")
python=python3
"$python" -c 'import wheel' 2> /dev/null || python=/usr/bin/python3
"$python" -c 'import wheel' 2> /dev/null || { echo "wheel.sh needs python3-wheel" >&2; exit 1; }
mkdir -p "$to"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

version=$(sed -n 's/^project(duet VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
info=$stage/duet-$version.dist-info
for component in duet modules; do
  cmake --install "$build" --prefix "$stage/duet/_installed" --component $component --strip > /dev/null
done
mkdir "$info"
cp "$stage"/duet/_installed/share/doc/duet/{LICENSE,third-party-licences.txt} "$info/"
rm -rf "$stage"/duet/_installed/share
(cd "$source/src/bindings/python" && find duet -name '*.py' -exec cp --parents {} "$stage" \;)
cp "$source"/src/bindings/python/duet/py.typed "$stage/duet/"
# A wheel has no links: of a library's names the one that programs load stays.
for link in $(find "$stage" -type l); do
  file=$(readlink -f "$link")
  rm "$link"
  [[ $link != *.so.${version%.*} ]] || mv "$file" "$link"
done

printf 'Wheel-Version: 1.0\nGenerator: duet\nRoot-Is-Purelib: false\nTag: py3-none-linux_%s\n' "$(uname -m)" > "$info/WHEEL"
printf '[console_scripts]\nduet = duet.__main__:main\n' > "$info/entry_points.txt"
cat > "$info/METADATA" << end
Metadata-Version: 2.1
Name: duet
Version: $version
Summary: Compute and communication on GPU machines: journals, the program, collectives
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
end
"$python" -m wheel pack "$stage" -d "$to"
