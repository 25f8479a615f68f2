// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --mpc-lower-gpu-kernels -o %t.mlir
// RUN: mpc-translate --kernels-to-ptx --arch=sm_90 %t.mlir -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx

// A block transposes 64 x 64 bytes, with rows that are two longer: 16 bytes are one
// access on either side.
// CHECK:         llvm.mlir.global internal @bytes_tile0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<4224 x i8>
// CHECK-LABEL: func.func private @bytes(
// CHECK-SAME:    mpc.threads = 256 : i32
// CHECK:         llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<16xi8>
// CHECK-COUNT-8: llvm.store %{{.*}} : i16, !llvm.ptr
// CHECK:         nvvm.barrier0
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr -> i8
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<16xi8>, !llvm.ptr
// CHECK:         return
// PTX-LABEL:     .entry bytes(
// PTX-NOT:       ld.global.b8
// PTX:           ld.global.v4.b32
// PTX-NOT:       st.global.b8
// PTX:           st.global.v4.b32
// PTX:           ret;
#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
func.func private @bytes(%x: tensor<32768x768xf8E4M3FN>) -> tensor<768x32768xf8E4M3FN> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<768x32768xf8E4M3FN>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32768x768xf8E4M3FN>) outs(%empty : tensor<768x32768xf8E4M3FN>) {
  ^bb0(%in: f8E4M3FN, %out: f8E4M3FN):
    linalg.yield %in : f8E4M3FN
  } -> tensor<768x32768xf8E4M3FN>
  return %0 : tensor<768x32768xf8E4M3FN>
}

// Extents that are divisible by 4 but not by 8.
// CHECK-LABEL: func.func private @fours(
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xi8>
// CHECK:         llvm.store %{{.*}} {alignment = 4 : i64} : vector<4xi8>, !llvm.ptr
func.func private @fours(%x: tensor<20x36xf8E4M3FN>) -> tensor<36x20xf8E4M3FN> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<36x20xf8E4M3FN>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<20x36xf8E4M3FN>) outs(%empty : tensor<36x20xf8E4M3FN>) {
  ^bb0(%in: f8E4M3FN, %out: f8E4M3FN):
    linalg.yield %in : f8E4M3FN
  } -> tensor<36x20xf8E4M3FN>
  return %0 : tensor<36x20xf8E4M3FN>
}

// Without whole vectors, elements are transposed one by one.
// CHECK-LABEL: func.func private @odd(
// CHECK:         llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<1xbf16>
// CHECK:         nvvm.barrier0
// CHECK:         llvm.store %{{.*}} {alignment = 2 : i64} : vector<1xbf16>, !llvm.ptr
func.func private @odd(%x: tensor<33x64xbf16>) -> tensor<64x33xbf16> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<64x33xbf16>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<33x64xbf16>) outs(%empty : tensor<64x33xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<64x33xbf16>
  return %0 : tensor<64x33xbf16>
}
