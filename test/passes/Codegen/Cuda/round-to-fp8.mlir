// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --mpc-lower-gpu-kernels=features=sm_80,sm_89,sm_90 -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mpc-translate --kernels-to-ptx --arch=sm_90 %t.mlir | FileCheck %s --check-prefixes=PTX,SM90
// RUN: mpc-translate --kernels-to-ptx --arch=sm_89 %t.mlir | FileCheck %s --check-prefixes=PTX,SM89
// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --mpc-lower-gpu-kernels="features=sm_80,sm_89 simulate" | FileCheck %s --check-prefix=SIM
// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --mpc-lower-gpu-kernels=features=sm_80 | FileCheck %s --check-prefix=OLD

// Clamped values are rounded by an instruction, two elements at a time, the first in
// the lower byte; eight elements are stored at once.
// CHECK-LABEL: llvm.func @quantize
// CHECK-COUNT-4: nvvm.convert.f32x2.to.f8x2 %{{.*}}, %{{.*}} {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK:         llvm.store %{{.*}} {alignment = 8 : i64} : vector<8xi8>
// CHECK-NOT:     llvm.trunc
// SM90:          .version 7.8
// SM89:          .version 8.1
// PTX-LABEL:     .entry quantize(
// PTX-COUNT-4:   cvt.rn.satfinite.e4m3x2.f32
// PTX:           st.global.v4.b16
// PTX-LABEL:     .entry cast(
// PTX-NOT:       cvt.rn.satfinite
// SIM-LABEL:     llvm.func @quantize
// SIM-COUNT-4:   llvm.call @mpc_sim_round_to_fp8(%{{.*}}, %{{.*}}, %{{.*}}) : (i32, f32, f32) -> i16
// OLD-LABEL:     llvm.func @quantize
// OLD-NOT:       nvvm.convert
// OLD:           llvm.trunc %{{.*}} : vector<8xi32> to vector<8xi8>
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func private @quantize(%x: tensor<4096xbf16>, %s: tensor<f32>) -> tensor<4096xf8E4M3FN> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<4096xf8E4M3FN>
  %0 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %s : tensor<4096xbf16>, tensor<f32>) outs(%empty : tensor<4096xf8E4M3FN>) {
  ^bb0(%in: bf16, %scale: f32, %out: f8E4M3FN):
    %most = arith.constant 4.480000e+02 : f32
    %least = arith.constant -4.480000e+02 : f32
    %zero = arith.constant 0.0 : f32
    %1 = arith.extf %in : bf16 to f32
    %2 = arith.mulf %1, %scale : f32
    %3 = arith.minnumf %2, %most : f32
    %4 = arith.maxnumf %3, %least : f32
    %5 = arith.mulf %1, %zero : f32
    %6 = arith.addf %4, %5 : f32
    %7 = arith.truncf %6 : f32 to f8E4M3FN
    linalg.yield %7 : f8E4M3FN
  } -> tensor<4096xf8E4M3FN>
  return %0 : tensor<4096xf8E4M3FN>
}

// The instruction saturates, which a plain cast does not.
// CHECK-LABEL: llvm.func @cast
// CHECK-NOT:     nvvm.convert
// CHECK:         llvm.trunc %{{.*}} : vector<8xi32> to vector<8xi8>
func.func private @cast(%x: tensor<4096xbf16>) -> tensor<4096xf8E5M2> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<4096xf8E5M2>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4096xbf16>) outs(%empty : tensor<4096xf8E5M2>) {
  ^bb0(%in: bf16, %out: f8E5M2):
    %1 = arith.extf %in : bf16 to f32
    %2 = arith.truncf %1 : f32 to f8E5M2
    linalg.yield %2 : f8E5M2
  } -> tensor<4096xf8E5M2>
  return %0 : tensor<4096xf8E5M2>
}
