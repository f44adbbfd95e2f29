#!/usr/bin/env bash
# The packages that cpack makes: unpacked into a folder, the program runs there and a program compiles
# and links against them by pkg-config alone: cpack.sh BUILD EXAMPLES COMPILER.
build=$(realpath "$1") examples=$(realpath "$2") compiler=$3
for each in cpack dpkg-deb dpkg-shlibdeps pkg-config; do
  command -v $each > /dev/null || { echo "skipped: needs $each"; exit 77; }
done
source "$(dirname "$0")/../scratch.sh"
unset DESTDIR PKG_CONFIG_PATH LD_LIBRARY_PATH

# has_drop_in ROOT: as the build has one, and the program below ROOT names it there.
has_drop_in() {
  [[ -e $build/nccl_shim/libduet-nccl.so ]] || return 0
  local file words
  for file in libduet-nccl.so replacement/libnccl.so.2; do
    [[ -s $(echo "$1"/lib*/duet/nccl_shim/$file) ]] || fail "$1: no $file"
  done
  words=$("$1/bin/duet" nccl-env --gpus 2 --model X 2> /dev/null) || fail "$1: duet nccl-env: exit $?"
  [[ $words == "env LD_PRELOAD=$(realpath "$1"/lib*/duet/nccl_shim/libduet-nccl.so)" ]] || fail "$1: $words"
  [[ $($words sh -c 'echo started; true' 2>&1) == started ]] || fail "$1: the drop-in cannot be preloaded"
}

# works ROOT: the program, and the example built against the library, which is below ROOT.
works() {
  local root=$1 pc
  [[ $("$root/bin/duet" --version) == $("$build/duet" --version) ]] || fail "$root: --version"
  "$root/bin/duet" copy --device sim:h200-4 --sizes 1M --matrix 0 --quiet || fail "$root: duet copy: exit $?"
  has_drop_in "$root"
  "$root/bin/duet" info > info.out || fail "$root: duet info: exit $?"
  diff <("$build/duet" info | grep -E '^ *(onednn|openblas|mpi|libfabric) ') <(grep -E '^ *(onednn|openblas|mpi|libfabric) ' info.out) ||
    fail "$root: other modules than in the build"
  pc=$(dirname "$(find "$root" -name duet.pc)")
  [[ $(PKG_CONFIG_PATH=$pc pkg-config --modversion duet) == $("$build/duet" --version | cut -d ' ' -f 2) ]] ||
    fail "$root: pkg-config's version"
  # shellcheck disable=SC2046
  "$compiler" -std=c++17 -Wall -Wextra -Werror "$examples/all_gather.cc" -o example \
    $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs duet) -Wl,-rpath,"$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir duet)" ||
    { fail "$root: the example does not compile"; return; }
  timeout 60 ./example host:2 > example.out || fail "$root: the example: exit $?"
  grep -q "ranks have each other's" example.out || fail "$root: the example: $(cat example.out)"
}

# What cpack writes beside the packages belongs to this folder as well.
(cd "$build" && cpack -G DEB -B "$folder/deb") > cpack.out 2>&1 || fail "cpack -G DEB: $(tail -n 20 cpack.out)"
(cd "$build" && cpack -G TGZ -B "$folder/tgz") > cpack.out 2>&1 || fail "cpack -G TGZ: $(tail -n 20 cpack.out)"

for package in duet duet-modules libduet-dev python3-duet; do
  file=$(echo deb/${package}_*.deb)
  [[ -f $file ]] || { fail "no package $package: $(ls deb)"; continue; }
  [[ $(dpkg-deb -f "$file" Package) == "$package" ]] || fail "$file: another name"
  dpkg-deb -x "$file" root
done
dpkg-deb -f deb/duet_*.deb Depends > depends
grep -q 'libfmt' depends && grep -q 'libc6 (>= ' depends || fail "duet depends on: $(cat depends)"
! grep -qiE 'cuda|cublas|nccl|openmpi|fabric' depends || fail "duet depends on a module's library: $(cat depends)"
[[ $(dpkg-deb --ctrl-tarfile deb/duet_*.deb | tar -xO ./shlibs | cut -d ' ' -f 1-3) == "libduet 0.2 duet" ]] ||
  fail "duet's shlibs name other libraries than libduet"
dpkg-deb -f deb/duet-modules_*.deb Depends | grep -q '^duet (= ' || fail "duet-modules does not need its duet"
for file in bin/duet share/man/man1/duet.1.gz share/bash-completion/completions/duet share/duet/slurm/health.sh; do
  [[ -e root/usr/$file ]] || fail "the package has no $file"
done
grep -q '^License: Apache-2.0$' root/usr/share/doc/{duet,duet-modules,libduet-dev,python3-duet}/copyright ||
  fail "the packages state no licence"
for licence in ECharts CUDA; do
  grep -q "$licence" root/usr/share/doc/duet/third-party-licences.txt || fail "no licence of $licence"
done
# A commit without a tag is before the version, and later than the commits before it.
version=$(dpkg-deb -f deb/duet_*.deb Version)
release=$("$build/duet" --version | cut -d ' ' -f 2)
if [[ $version == *git* ]]; then
  dpkg --compare-versions "$version" gt "$release~git20260101000000.0-1" || fail "$version sorts too low"
  [[ $version == *+git* ]] || dpkg --compare-versions "$version" lt "$release-1" || fail "$version sorts too high"
fi
for file in include/duet.h lib/python3/dist-packages/duet/{__init__.py,py.typed,torch/__init__.py}; do
  [[ -e root/usr/$file ]] || fail "the packages have no $file"
done
mv root moved
works "$folder/moved/usr"

mkdir elsewhere
tar -xzf tgz/duet-*.tar.gz -C elsewhere --strip-components=1 || fail "no archive: $(ls tgz)"
works "$folder/elsewhere"

if command -v lintian > /dev/null; then
  # The address is that of who packs. `lintian` complains to root that it is root.
  lintian --tag-display-limit 0 --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
    --fail-on error,warning deb/*.deb > lintian.out 2>&1 || fail "lintian: $(grep '^[EW]:' lintian.out)"
else
  echo "packages not checked by lintian, which is not installed"
fi
finish
