#!/bin/sh
# Builds the runtime, the kernels and their tests in CONTENT/built from the sources
# that check.sh packed. Needs CMake, Ninja, a C++ compiler and, for the kernels,
# nvcc; everything else was packed.
#
# usage: build.sh CONTENT
set -eu
content=$1
usr=$content/deps/usr
libraries=$usr/lib/x86_64-linux-gnu

# Link to libraries of the packed programs under the names that the linker needs.
for name in dnnl zip; do
  ln -sf "$(ls "$content"/lib/lib$name.so.* | head -n 1)" "$libraries/lib$name.so"
done
# The header of the schema was generated before packing; this copies it.
cat > "$content/deps/flatc" << END
#!/bin/sh
while [ "\$1" != -o ]; do shift; done
exec cp "$content/deps/program_generated.h" "\$2/"
END
chmod +x "$content/deps/flatc"

include="-isystem $usr/include -isystem $usr/include/x86_64-linux-gnu"
link="-Wl,-rpath-link,$content/lib -Wl,-rpath,$content/lib -Wl,--disable-new-dtags"
cmake -S "$content" -B "$content/built" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DMPC_BUILD_COMPILER=OFF -DMPC_FLATC="$content/deps/flatc" \
  -DCMAKE_PREFIX_PATH="$usr" -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu \
  -DCMAKE_C_FLAGS="$include" -DCMAKE_CXX_FLAGS="$include" \
  -DCMAKE_EXE_LINKER_FLAGS="$link" -DCMAKE_SHARED_LINKER_FLAGS="$link"
# shellcheck disable=SC2046 # One word for each program.
cmake --build "$content/built" --target mpc mpc-gpu-bench $(cat "$content/suite.txt")
