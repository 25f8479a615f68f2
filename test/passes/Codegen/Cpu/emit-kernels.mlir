// RUN: mpc-opt %s --mpc-emit-kernels --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-emit-kernels=lanes=1 --split-input-file | FileCheck %s --check-prefix=SCALAR

// A flat kernel: an item is 4096 elements; whole vectors, then a masked tail.
// CHECK-LABEL: func.func private @flat
// CHECK-SAME:    (%[[OPERANDS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) attributes {mpc.kernel}
// CHECK:         %[[SLOT:.*]] = llvm.getelementptr %[[OPERANDS]][1]
// CHECK:         llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK:           %[[Y:.*]] = arith.mulf %[[X]], %[[X]] : vector<16xf32>
// CHECK:           llvm.store %[[Y]]
// CHECK:         scf.if
// CHECK:           llvm.intr.masked.load
// CHECK:           llvm.intr.masked.store
// CHECK-NOT:     linalg
// SCALAR-LABEL: func.func private @flat
// SCALAR:         arith.mulf {{.*}} : vector<1xf32>
// SCALAR-NOT:     masked
// SCALAR:         return
#id = affine_map<(d0) -> (d0)>
func.func private @flat(%x: tensor<1000xf32>) -> tensor<1000xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<1000xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1000xf32>) outs(%empty : tensor<1000xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %in : f32
    linalg.yield %1 : f32
  } -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

// -----

// A tail of one element is stored as a scalar: LLVM 22 writes out of bounds when it
// narrows a masked store.
// CHECK-LABEL: func.func private @one_left
// CHECK:         scf.if
// CHECK-NOT:       masked.store
// CHECK:           %[[LAST:.*]] = vector.extract %{{.*}}[0] : bf16 from vector<16xbf16>
// CHECK-NEXT:      llvm.store %[[LAST]], %{{.*}} : bf16
// CHECK-NOT:     masked.store
#id = affine_map<(d0) -> (d0)>
func.func private @one_left(%x: tensor<1009xf32>) -> tensor<1009xbf16> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<1009xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1009xf32>) outs(%empty : tensor<1009xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %1 = arith.truncf %in : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<1009xbf16>
  return %0 : tensor<1009xbf16>
}

// -----

// Without a tail nothing is masked. Booleans are bytes in memory.
// CHECK-LABEL: func.func private @bytes
// CHECK-NOT:     masked
// CHECK:         llvm.load %{{.*}} : !llvm.ptr -> vector<16xi8>
// CHECK:         arith.cmpi ne, %{{.*}} : vector<16xi8>
// CHECK:         arith.select %{{.*}} : vector<16xi1>, vector<16xbf16>
// CHECK-NOT:     masked
#id = affine_map<(d0) -> (d0)>
func.func private @bytes(%c: tensor<64xi1>, %x: tensor<64xbf16>, %y: tensor<64xbf16>) -> tensor<64xbf16> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<64xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%c, %x, %y : tensor<64xi1>, tensor<64xbf16>, tensor<64xbf16>) outs(%empty : tensor<64xbf16>) {
  ^bb0(%in: i1, %in_0: bf16, %in_1: bf16, %out: bf16):
    %1 = arith.select %in, %in_0, %in_1 : bf16
    linalg.yield %1 : bf16
  } -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}

// -----

// Short rows take short vectors: three columns are four lanes, joined by
// halves.
// CHECK-LABEL: func.func private @short
// CHECK:         llvm.intr.masked.load {{.*}} -> vector<4xf32>
// CHECK:         vector.extract_strided_slice %{{.*}} : vector<4xf32> to vector<2xf32>
// CHECK:         vector.extract_strided_slice %{{.*}} : vector<2xf32> to vector<1xf32>
// CHECK:         vector.extract %{{.*}}[0] : f32 from vector<1xf32>
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @short(%x: tensor<5x3xf32>) -> tensor<5xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5xf32>) -> tensor<5xf32>
  %0 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x3xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// A sum down the rows keeps a vector of sums and adds whole rows to it.
// CHECK-LABEL: func.func private @down
// CHECK:         scf.for
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[OLD:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:             arith.addf %[[OLD]], %{{.*}} : vector<16xf32>
// CHECK:           llvm.store %[[SUM]]
#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
func.func private @down(%x: tensor<5x16xf32>) -> tensor<16xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16xf32>) -> tensor<16xf32>
  %0 = linalg.generic {indexing_maps = [#all, #last], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<5x16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// Lanes that are not contiguous are gathered.
// CHECK-LABEL: func.func private @transposed
// CHECK:         llvm.intr.masked.gather
// CHECK:         llvm.store
#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
func.func private @transposed(%x: tensor<16x32xf32>) -> tensor<32x16xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<32x16xf32>
  %0 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x32xf32>) outs(%empty : tensor<32x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}

// -----

// A sum that only selects the column of a label reads only that column.
// CHECK-LABEL: func.func private @picked
// CHECK:         scf.for
// CHECK:           %[[LABEL:.*]] = llvm.load %{{.*}} -> i64
// CHECK:           %[[NARROW:.*]] = arith.trunci %[[LABEL]] : i64 to i32
// CHECK:           %[[COLUMN:.*]] = arith.extsi %[[NARROW]] : i32 to i64
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[COLUMN]],
// CHECK:           %[[AT:.*]] = arith.select %[[EXISTS]], %[[COLUMN]],
// CHECK:           llvm.getelementptr %{{.*}}[%[[AT]]]
// CHECK-NOT:       scf.for
// CHECK:           llvm.load %{{.*}} -> vector<1xf32>
// CHECK-NOT:       scf.for
// CHECK:           llvm.store %{{.*}} : f32
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @picked(%x: tensor<4x640xf32>, %labels: tensor<4xi64>) -> tensor<4xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %labels : tensor<4x640xf32>, tensor<4xi64>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %label: i64, %out: f32):
    %1 = linalg.index 1 : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.trunci %label : i64 to i32
    %4 = arith.cmpi eq, %2, %3 : i32
    %5 = arith.select %4, %in, %zero : f32
    %6 = arith.addf %out, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The largest number of a row: NaN is never larger. Rows that are walked twice
// ask for the next one on the last walk.
// CHECK-LABEL: func.func private @less_max
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             %[[LARGER:.*]] = arith.cmpf ogt, %[[NEW:.*]], %[[OLD:.*]] : vector<16xf32>
// CHECK-NEXT:        arith.select %[[LARGER]], %[[NEW]], %[[OLD]]
// CHECK-NOT:         llvm.intr.prefetch
// CHECK:           scf.for
// CHECK:             llvm.intr.prefetch
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @less_max(%x: tensor<4x640xf32>) -> tensor<4x640xf32> attributes {mpc.kernel} {
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%low : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x640xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.maxnumf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %result = tensor.empty() : tensor<4x640xf32>
  %0 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<4x640xf32>, tensor<4xf32>) outs(%result : tensor<4x640xf32>) {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %1 = arith.subf %in, %most : f32
    linalg.yield %1 : f32
  } -> tensor<4x640xf32>
  return %0 : tensor<4x640xf32>
}

// -----

// Functions that are not kernels stay.
// CHECK-LABEL: func.func @other
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
// CHECK:         linalg.generic
#id = affine_map<(d0) -> (d0)>
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Rows kept on the stack are limited to 512 KiB in total: the exponentials of one
// input are computed twice.
// CHECK-LABEL:   func.func private @long_rows(
// CHECK-COUNT-2: llvm.alloca %{{.*}} x f32
// CHECK-NOT:     llvm.alloca
// CHECK:         return
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @long_rows(%x0: tensor<4x65536xf32>, %x1: tensor<4x65536xf32>, %x2: tensor<4x65536xf32>) -> (tensor<4x65536xf32>, tensor<4x65536xf32>, tensor<4x65536xf32>) attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %r = tensor.empty() : tensor<4xf32>
  %m = tensor.empty() : tensor<4x65536xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %e0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x0 : tensor<4x65536xf32>) outs(%m : tensor<4x65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp2 %in : f32
    linalg.yield %1 : f32
  } -> tensor<4x65536xf32>
  %s0 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e0 : tensor<4x65536xf32>) outs(%i0 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %y0 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%e0, %s0 : tensor<4x65536xf32>, tensor<4xf32>) outs(%m : tensor<4x65536xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %1 = arith.mulf %in, %sum : f32
    linalg.yield %1 : f32
  } -> tensor<4x65536xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %e1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x1 : tensor<4x65536xf32>) outs(%m : tensor<4x65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp2 %in : f32
    linalg.yield %1 : f32
  } -> tensor<4x65536xf32>
  %s1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e1 : tensor<4x65536xf32>) outs(%i1 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %y1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%e1, %s1 : tensor<4x65536xf32>, tensor<4xf32>) outs(%m : tensor<4x65536xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %1 = arith.mulf %in, %sum : f32
    linalg.yield %1 : f32
  } -> tensor<4x65536xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %e2 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x2 : tensor<4x65536xf32>) outs(%m : tensor<4x65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp2 %in : f32
    linalg.yield %1 : f32
  } -> tensor<4x65536xf32>
  %s2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e2 : tensor<4x65536xf32>) outs(%i2 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %y2 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%e2, %s2 : tensor<4x65536xf32>, tensor<4xf32>) outs(%m : tensor<4x65536xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %1 = arith.mulf %in, %sum : f32
    linalg.yield %1 : f32
  } -> tensor<4x65536xf32>
  return %y0, %y1, %y2 : tensor<4x65536xf32>, tensor<4x65536xf32>, tensor<4x65536xf32>
}
