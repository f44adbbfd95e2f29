#!/usr/bin/env bash
# Installs a build, moves what was installed elsewhere, builds the examples and the programs of
# docs/library.md against it there and runs them: install.sh BUILD EXAMPLES COMPILER PAGE.
build=$(realpath "$1") examples=$(realpath "$2") compiler=$3 page=$(realpath "$4")
warnings="-Wall -Wextra -Wpedantic -Wshadow -Werror"
source "$(dirname "$0")/../scratch.sh"
unset DESTDIR

cmake --install "$build" --prefix "$folder/first" > out.install
mv first moved
duet=moved/bin/duet

# Libraries are looked for beside what needs them. An empty entry would be the current folder.
for file in "$build"/{duet,libduet.so,modules/*.so,tests/*_test} $duet moved/*/libduet.so moved/*/duet/*.so; do
  [[ -f $file ]] || continue
  path=$(readelf -d "$file" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p')
  [[ -z $path || :$path: =~ ^(:(\$ORIGIN|/)[^:]*)+:$ ]] || fail "$file: its search path is '$path'"
done

# Nothing of the build or of the first place is needed or named.
ldd "$duet" > out.ldd
says out.ldd "libduet.*$folder/moved/"
! grep -rlE "$build|$folder/first" moved/include "$(dirname moved/*/cmake)"/cmake || fail "paths"
[[ $("$duet" --version) == $("$build/duet" --version) ]] || fail "--version"
# The same devices and libraries as the build has, from its own modules.
"$build/duet" info > info.build
"$duet" info > info.moved
diff <(sed 's/[0-9]//g' info.build) <(sed 's/[0-9]//g' info.moved) || fail "duet info"
[[ $(ls "$build"/modules/*.so | xargs -n 1 basename) == \
   $(ls moved/*/duet/*.so | xargs -n 1 basename) ]] || fail "modules"

# The drop-in for NCCL, and the words that name it.
if [[ -e $build/nccl_shim/libduet-nccl.so ]]; then
  shim=$(echo moved/*/duet/nccl_shim)
  cmp "$shim/libduet-nccl.so" "$build/nccl_shim/libduet-nccl.so" || fail "libduet-nccl.so"
  cmp "$shim/replacement/libnccl.so.2" "$build/nccl_shim/replacement/libnccl.so.2" || fail "libnccl.so.2"
  "$duet" nccl-env --gpus 2 --model X > out.words 2> err.words || fail "duet nccl-env: exit $?"
  says out.words "^env LD_PRELOAD=$folder/$shim/libduet-nccl.so$"
fi

# Written by the program, for shells and man.
diff moved/share/bash-completion/completions/duet <("$duet" completion bash) || fail "completion of bash"
diff moved/share/zsh/site-functions/_duet <("$duet" completion zsh) || fail "completion of zsh"
diff moved/share/fish/vendor_completions.d/duet.fish <("$duet" completion fish) || fail "completion of fish"
diff moved/share/man/man1/duet.1 <("$duet" docs man) || fail "the manual page"

# Every page that README and the pages link to, journals of results apart, is there.
docs=moved/share/doc/duet
for file in "$docs"/README.md "$docs"/docs/*.md; do
  for link in $(grep -oE '\]\([^)#:]+\.(md|png)' "$file" | sed 's/^](//'); do
    [[ $link == */results/* || $link == results/* || -e $(dirname "$file")/$link ]] || fail "$file: $link is not installed"
  done
done
[[ $(ls "$docs"/docs/*.md | wc -l) -gt 10 ]] || fail "docs: $(ls "$docs")"

cmake -S "$examples" -B built -DCMAKE_PREFIX_PATH="$folder/moved" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$warnings" > out.configure
cmake --build built > out.build

for device in host:4 sim:h200-4 host:1; do
  timeout 60 built/all_gather "$device" > out.run 2> err.run || fail "$device: exit $?"
  says out.run "ranks have each other's"
done
for device in host:2 sim:h200-4; do
  timeout 60 built/overlap "$device" > out.run 2> err.run || fail "overlap on $device: exit $?"
  says out.run "ranks: serial .* us, dma .* us"
done
code=0
timeout 60 built/overlap host:2 zero-cta > out.run 2> err.run || code=$?
[[ $code == 2 && $(wc -l < err.run) == 1 ]] || fail "a policy without its engine: exit $code"
code=0
timeout 60 built/all_gather host:4 warp > out.run 2> err.run || code=$?
[[ $code == 2 && $(wc -l < err.run) == 1 ]] || fail "an engine that is not there: exit $code"

# Two processes of two ranks each.
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2
RANK=1 timeout 60 built/all_gather host:2 > out.1 2> err.1 & other=$!
RANK=0 timeout 60 built/all_gather host:2 > out.0 2> err.0 || fail "process 0: exit $?"
wait $other || fail "process 1: exit $?"
says out.0 "4 ranks have each other's"
unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT

# The page's code is whole files, which are named in their first lines: none is left out.
mkdir page
awk '
  /^```(cpp|cmake)$/ { within = 1; next }
  /^```/ { within = 0; file = ""; next }
  within && file == "" {
    if ($0 !~ /^(\/\/|#) [A-Za-z_]+\.(cc|txt)(:.*)?$/) { print "no file name: " $0; exit 1 }
    file = "page/" $2; sub(/:$/, "", file)
    print $2
  }
  within { print > file }
' "$page" > out.page || fail "$page: a block that does not begin with its file name"
for file in CMakeLists.txt gather.cc gather_cuda.cc beside.cc rows.cc experts.cc groups.cc; do
  [[ -s page/$file ]] || fail "$page: no $file"
done
if [[ $failures == 0 ]]; then
  cat >> page/CMakeLists.txt << 'end'
add_executable(beside beside.cc)
target_link_libraries(beside PRIVATE duet::duet)
add_executable(rows rows.cc)
target_link_libraries(rows PRIVATE duet::duet)
add_executable(experts experts.cc)
target_link_libraries(experts PRIVATE duet::duet)
add_executable(groups groups.cc)
target_link_libraries(groups PRIVATE duet::duet)
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND)
  add_executable(gather_cuda gather_cuda.cc)
  target_link_libraries(gather_cuda PRIVATE duet::duet CUDA::cudart)
endif()
end
  cmake -S page -B page/built -DCMAKE_PREFIX_PATH="$folder/moved" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$warnings" > out.configure
  cmake --build page/built > out.build || fail "the programs of $page do not compile"
  timeout 60 page/built/gather > out.run 2> err.run || fail "gather: exit $?"
  says out.run "rank 3 of 4 received 1 2 3 4"
  timeout 60 page/built/groups > out.run 2> err.run || fail "groups: exit $?"
  says out.run "rank 3: its row has 5, its column 4"
  for device in host:2 sim:h200-4; do
    timeout 60 page/built/beside "$device" > out.run 2> err.run || fail "beside on $device: exit $?"
    says out.run "both are done"
    timeout 60 page/built/rows "$device" > out.run 2> err.run || fail "rows on $device: exit $?"
    says out.run "rows multiplied in 1 ranges"
  done
  for device in host:3 sim:h200:devices=3; do
    timeout 60 page/built/experts "$device" > out.run 2> err.run || fail "experts on $device: exit $?"
    says out.run "rank 1: its experts had 0 rows, its tokens are 2"
    says out.run "rank 2: its experts had 9 rows, its tokens are 3"
  done
fi

# The page of the C interface, and the Python package.
mkdir c
awk '
  /^```c$/ { within = 1; file = ""; next }
  /^```/ { within = 0; next }
  within && file == "" { file = "c/" $2 }
  within { print > file }
' "$(dirname "$page")/c.md"
pc=$(dirname "$(find moved -name duet.pc)")
for each in gather beside; do
  [[ -s c/$each.c ]] || { fail "c.md: no $each.c"; continue; }
  # shellcheck disable=SC2046
  cc -std=c99 -Wall -Wextra -Wpedantic -Werror "c/$each.c" -o "c/$each" \
    $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs duet) || fail "c.md: $each.c does not compile"
done
lib=$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir duet)
LD_LIBRARY_PATH=$lib timeout 60 c/gather > out.run 2> err.run || fail "c.md: gather: exit $?"
says out.run "rank 0 of 1: the first number is 1"
for device in host:2 sim:h200-4; do
  LD_LIBRARY_PATH=$lib timeout 60 c/beside "$device" > out.run 2> err.run || fail "c.md: beside on $device: exit $?"
  says out.run "both are done on [24] ranks"
done
PYTHONPATH=moved/lib/python3/dist-packages timeout 60 python3 -c '
import duet
print(duet.version(), len(duet.run("gemm", device="sim:h200", shapes="512x512x512")))' > out.run 2> err.run || fail "python: exit $?"
says out.run "^0\.[0-9.]* 1$"
finish
