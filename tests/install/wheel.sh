#!/usr/bin/env bash
# The wheel, unpacked as pip does it, with program, library and modules of its own: wheel.sh BUILD.
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$(dirname "$0")/../..")
/usr/bin/python3 -c 'import wheel' 2> /dev/null || { echo "skipped: needs python3-wheel"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$source/scripts/wheel.sh" "$build" "$folder/dist" > "$folder/out"
mkdir "$folder/site"
unzip=(/usr/bin/python3 -m wheel unpack)
"${unzip[@]}" -d "$folder/site" "$folder"/dist/duet-*.whl > "$folder/out"
mv "$folder"/site/duet-* "$folder/moved"
# pip sets what the archive says, `wheel unpack` does not.
/usr/bin/python3 -c '
import sys, zipfile
bits = zipfile.ZipFile(sys.argv[1]).getinfo("duet/_installed/bin/duet").external_attr >> 16
sys.exit(0 if bits & 0o111 else "the program cannot be run")' "$folder"/dist/duet-*.whl
chmod +x "$folder/moved/duet/_installed/bin/duet"
cd "$folder"
unset DUET_LIBRARY DUET_PROGRAM LD_LIBRARY_PATH
PYTHONPATH=$folder/moved timeout 120 /usr/bin/python3 -c '
import duet
import duet.library
import duet.program
assert duet.program.program().startswith(duet.__path__[0]), duet.program.program()
assert duet.library._path().startswith(duet.__path__[0]), duet.library._path()
journal = duet.run("gemm", device=["host", "sim:h200"], shapes="256x256x256", engine=["onednn", "model"])
assert {record["outcome"] for record in journal} == {"measured"}, list(journal)
with duet.Communicator("host:1") as comm:
    assert comm.size == 1
'
for file in py.typed torch/__init__.py; do
  [[ -e moved/duet/$file ]] || { echo "the wheel has no $file" >&2; exit 1; }
done
[[ -z $(find moved -type l) ]] || { echo "the wheel has links" >&2; exit 1; }
[[ $(PYTHONPATH=moved /usr/bin/python3 -m duet --version) == "$("$build/duet" --version)" ]]
