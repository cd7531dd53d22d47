#!/bin/bash
# Compiles the programs of this directory by nvcc, for GPUs from $ARCH (by default sm_80) on.
#   build.sh DIR    writes them into DIR: vectors, vectors_static (the runtime linked in), products, reductions
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
out="$1"
nvcc="${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}"
mkdir -p "$out"
flags=(-O2 -arch "${ARCH:-sm_80}" -Wno-deprecated-gpu-targets)
"$nvcc" "${flags[@]}" -cudart shared "$here/vectors.cu" -o "$out/vectors" &
"$nvcc" "${flags[@]}" -cudart static "$here/vectors.cu" -o "$out/vectors_static" &
wait -n && wait -n
"$nvcc" "${flags[@]}" -cudart shared "$here/products.cu" -lcublas -o "$out/products" &
"$nvcc" "${flags[@]}" -cudart shared "$here/reductions.cu" ${NCCL:+-I "$NCCL/include" -L "$NCCL/lib"} -l:libnccl.so.2 -o "$out/reductions" &
wait -n && wait -n
