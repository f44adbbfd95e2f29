#!/usr/bin/env bash
# Compiles the rails by libfabric against the headers of libfabric 2.1, which have efa's extension
# and dmabufs: Debian trixie's, unpacked beside and not installed. check_efa.sh FOLDER
set -euo pipefail
folder=$(realpath -m "${1:?a folder for the headers}")
sources=$(realpath "$(dirname "$0")/../src")

if [[ ! -e $folder/usr/include/rdma/fi_ext_efa.h ]]; then
  mkdir -p "$folder/lists/partial"
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "${archive:?apt names no archive of Debian} trixie main" > "$folder/sources.list"
  apt=(-qq -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$folder/lists" -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" update
  (cd "$folder" && apt-get "${apt[@]}" download libfabric-dev && dpkg -x libfabric-dev_*.deb .)
fi

for source in "$sources"/fabric/libfabric/*.cc; do
  g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$sources" -isystem "$folder/usr/include" \
    "$source"
done
echo "compiled against libfabric $(sed -n 's/^Version: //p' "$folder/usr/lib/"*/pkgconfig/libfabric.pc)"
