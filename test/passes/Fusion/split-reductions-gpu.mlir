// RUN: mpc-opt %s --mpc-split-reductions=device=cuda --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-split-reductions --split-input-file | FileCheck %s --check-prefix=CPU

// Partial sums of a prime number of rows are summed in 256 blocks, the last of
// which ends early. On a CPU the sum stays whole.
// CHECK-LABEL: func.func @of_rows
// CHECK:         %[[PARTIAL:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} {{.*}} outs(%{{.*}} : tensor<121523xf32>)
// CHECK:         %[[BLOCKS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} outs(%{{.*}} : tensor<256x475xf32>)
// CHECK:           %[[BLOCK:.*]] = linalg.index 0
// CHECK-DAG:       %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c475
// CHECK-DAG:       %[[REST:.*]] = linalg.index 1
// CHECK:           %[[PLACE:.*]] = arith.addi %[[FIRST]], %[[REST]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[PLACE]], %c121523
// CHECK:           scf.if %[[EXISTS]] -> (f32)
// CHECK:             tensor.extract %[[PARTIAL]][%[[PLACE]]]
// CHECK:           else
// CHECK:             scf.yield %cst
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[BLOCKS]] {{.*}} outs(%{{.*}} : tensor<256xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]} {{.*}} outs(%{{.*}} : tensor<f32>)
// CPU-LABEL: func.func @of_rows
// CPU-COUNT-1: linalg.generic
// CPU-NOT:     linalg.generic
#all = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
func.func @of_rows(%x: tensor<121523x1024xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<121523x1024xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The same applies to a number with divisors: even blocks would become the grid of
// the kernel that computes the partial sums.
// CHECK-LABEL: func.func @of_even_rows
// CPU-LABEL: func.func @of_even_rows
// CHECK-NOT:     tensor.expand_shape
// CHECK:         outs(%{{.*}} : tensor<256x512xf32>)
// CHECK:           tensor.extract
#all = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
func.func @of_even_rows(%x: tensor<131072x1024xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<131072x1024xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A single long row is split evenly if that gives enough blocks.
// CHECK-LABEL: func.func @even
// CHECK:         tensor.expand_shape {{.*}} output_shape [256, 512]
// CHECK-NOT:     tensor.extract
#one = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @even(%x: tensor<131072xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<131072xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Otherwise it is split unevenly, with the whole body in the first step; operands
// that do not vary along the row remain operands.
// CHECK-LABEL: func.func @uneven
// CHECK-SAME:    (%[[X:.*]]: tensor<3x65537xbf16>, %[[S:.*]]: tensor<3xf32>)
// CHECK:         %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[S]] : tensor<3xf32>) outs(%{{.*}} : tensor<3x256x257xf32>)
// CHECK:           %[[ROW:.*]] = linalg.index 0
// CHECK:           scf.if
// CHECK:             %[[IN:.*]] = tensor.extract %[[X]][%[[ROW]], %{{.*}}]
// CHECK:             %[[WIDE:.*]] = arith.extf %[[IN]]
// CHECK:             arith.mulf %[[WIDE]],
// CHECK:           else
// CHECK:             scf.yield %[[LOW]]
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<3x256xf32>)
// CHECK:           arith.maximumf
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<3xf32>)
// CHECK:           arith.maximumf
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @uneven(%x: tensor<3x65537xbf16>, %s: tensor<3xf32>) -> tensor<3xf32> {
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<3xf32>
  %init = linalg.fill ins(%low : f32) outs(%empty : tensor<3xf32>) -> tensor<3xf32>
  %0 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<3x65537xbf16>, tensor<3xf32>) outs(%init : tensor<3xf32>) {
  ^bb0(%in: bf16, %scale: f32, %out: f32):
    %1 = arith.extf %in : bf16 to f32
    %2 = arith.mulf %1, %scale : f32
    %3 = arith.maximumf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// A few rows are processed by one block.
// CHECK-LABEL: func.func @few_rows
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<16383xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<16383xf32>)
#all = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
func.func @few_rows(%x: tensor<16383x1024xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<16383x1024xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Sums down a prime number of rows are split into blocks of rows. The last block is
// shorter; operands that vary only along columns remain operands.
// CHECK-LABEL: func.func @columns
// CHECK-SAME:    (%[[X:.*]]: tensor<10007x96xbf16>, %[[S:.*]]: tensor<96xf32>)
// CHECK:         %[[BLOCKS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[S]] : tensor<96xf32>) outs(%{{.*}} : tensor<251x40x96xf32>)
// CHECK:           %[[BLOCK:.*]] = linalg.index 0
// CHECK-DAG:       %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c40
// CHECK-DAG:       %[[REST:.*]] = linalg.index 1
// CHECK:           %[[PLACE:.*]] = arith.addi %[[FIRST]], %[[REST]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[PLACE]], %c10007
// CHECK:           %[[COLUMN:.*]] = linalg.index 2
// CHECK:           scf.if %[[EXISTS]] -> (f32)
// CHECK:             tensor.extract %[[X]][%[[PLACE]], %[[COLUMN]]]
// CHECK:           else
// CHECK:             scf.yield %cst
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[BLOCKS]] {{.*}} outs(%{{.*}} : tensor<251x96xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} {{.*}} outs(%{{.*}} : tensor<96xf32>)
// CPU-LABEL: func.func @columns
// CPU-COUNT-1: linalg.generic
// CPU-NOT:     linalg.generic
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @columns(%x: tensor<10007x96xbf16>, %s: tensor<96xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96xf32>) -> tensor<96xf32>
  %0 = linalg.generic {indexing_maps = [#all, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %s : tensor<10007x96xbf16>, tensor<96xf32>) outs(%init : tensor<96xf32>) {
  ^bb0(%in: bf16, %scale: f32, %out: f32):
    %1 = arith.extf %in : bf16 to f32
    %2 = arith.mulf %1, %scale : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<96xf32>
  return %0 : tensor<96xf32>
}

// -----

// So are those with few divisors; a block has at least eight rows. 1024 rows are split
// evenly, so that the ops that compute them can be fused.
// CHECK-LABEL: func.func @two_primes
// CPU-LABEL: func.func @two_primes
// CHECK:         outs(%{{.*}} : tensor<253x8x96xf32>)
// CHECK:         tensor.expand_shape {{.*}} output_shape [256, 4, 96]
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @two_primes(%x: tensor<2018x96xf32>, %y: tensor<1024x96xf32>) -> (tensor<96xf32>, tensor<96xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96xf32>) -> tensor<96xf32>
  %0 = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<2018x96xf32>) outs(%init : tensor<96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<96xf32>
  %2 = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<1024x96xf32>) outs(%init : tensor<96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<96xf32>
  return %0, %2 : tensor<96xf32>, tensor<96xf32>
}

// -----

// A batch of two does not give enough blocks: all rows are split together.
// CHECK-LABEL: func.func @batch
// CHECK-SAME:    (%[[X:.*]]: tensor<2x10007x96xf32>)
// CHECK:         outs(%{{.*}} : tensor<254x79x96xf32>)
// CHECK:           %[[PLACE:.*]] = arith.addi
// CHECK:           arith.cmpi ult, %[[PLACE]], %c20014
// CHECK:           %[[COLUMN:.*]] = linalg.index 2
// CHECK:           %[[ROW:.*]] = arith.remui %[[PLACE]], %c10007
// CHECK:           %[[IMAGE:.*]] = arith.divui %[[PLACE]], %c10007
// CHECK:             tensor.extract %[[X]][%[[IMAGE]], %[[ROW]], %[[COLUMN]]]
// CPU-LABEL: func.func @batch
// CPU-COUNT-1: linalg.generic
// CPU-NOT:     linalg.generic
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#column = affine_map<(d0, d1, d2) -> (d2)>
func.func @batch(%x: tensor<2x10007x96xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96xf32>) -> tensor<96xf32>
  %0 = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x : tensor<2x10007x96xf32>) outs(%init : tensor<96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<96xf32>
  return %0 : tensor<96xf32>
}
