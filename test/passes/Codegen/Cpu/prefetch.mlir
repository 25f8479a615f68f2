// RUN: mpc-opt %s --mpc-emit-kernels --split-input-file | FileCheck %s

// A strip of columns is summed down the rows. Each of its cache lines is prefetched 8
// rows ahead: at 8 * 1024 * 4 bytes. There are 16 vectors of 16 columns.
// CHECK-LABEL:    func.func private @far
// CHECK-COUNT-16: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
// CHECK-NOT:      prefetch
// CHECK:         return
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func private @far(%x: tensor<64x1024xf32>) -> tensor<1024xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x1024xf32>) outs(%init : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// A cache line has two vectors of bf16.
// CHECK-LABEL:    func.func private @narrow
// CHECK-COUNT-8:  llvm.intr.prefetch
// CHECK-NOT:      prefetch
// CHECK:         return
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func private @narrow(%x: tensor<64x1024xbf16>) -> tensor<1024xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x1024xbf16>) outs(%init : tensor<1024xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %wide = arith.extf %in : bf16 to f32
    %1 = arith.addf %out, %wide : f32
    linalg.yield %1 : f32
  } -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// The hardware prefetches rows that are near.
// CHECK-LABEL: func.func private @near
// CHECK-NOT:   prefetch
// CHECK:       return
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func private @near(%x: tensor<64x128xf32>) -> tensor<128xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128xf32>) -> tensor<128xf32>
  %0 = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%init : tensor<128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<128xf32>
  return %0 : tensor<128xf32>
}
