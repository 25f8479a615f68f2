// RUN: mpc-opt %s --mpc-emit-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU

// If the position advances with the columns, a read is one load, for any row: lane l
// reads element 40 * index + 8 + column + l.
// CHECK-LABEL: func.func private @moves
// CHECK-NOT:     gather
// CHECK:         %[[INDEX:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK:         %[[COLUMN:.*]] = arith.addi %{{.*}}, %c8_i64{{.*}} : i64
// CHECK:         %[[ROW:.*]] = arith.muli %[[INDEX]], %c40_i64{{.*}} : i64
// CHECK:         %[[AT:.*]] = arith.addi %[[COLUMN]], %[[ROW]] : i64
// CHECK:         %[[FROM:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CPU:           %[[X:.*]] = llvm.load %[[FROM]] {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// GPU:           %[[X:.*]] = llvm.load %[[FROM]] {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK:         llvm.store %[[X]]
// CHECK-NOT:     gather
// CHECK:         return
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @moves(%x: tensor<16x40xf32>, %i: tensor<16xi64>) -> tensor<16x32xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<16x32xf32>
  %0 = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<16xi64>) outs(%empty : tensor<16x32xf32>) {
  ^bb0(%in: i64, %out: f32):
    %c8 = arith.constant 8 : index
    %column = linalg.index 1 : index
    %row = arith.index_cast %in : i64 to index
    %at = arith.addi %column, %c8 : index
    %1 = tensor.extract %x[%row, %at] : tensor<16x40xf32>
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}

// -----

// If each lane has its own index from data, elements are gathered.
// CHECK-LABEL: func.func private @data
// CPU:           %[[INDEX:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<[[LANES:16]]xi32>
// GPU:           %[[INDEX:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<[[LANES:4]]xi32>
// CHECK:         %[[WIDE:.*]] = arith.extsi %[[INDEX]] : vector<[[LANES]]xi32> to vector<[[LANES]]xi64>
// CHECK:         %[[AT:.*]] = arith.addi %[[WIDE]], %{{.*}} : vector<[[LANES]]xi64>
// CHECK:         %[[FROM:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]] : (!llvm.ptr, vector<[[LANES]]xi64>) -> vector<[[LANES]]x!llvm.ptr>, f32
// CHECK:         %[[ALL:.*]] = arith.constant dense<true>
// CHECK:         llvm.intr.masked.gather %[[FROM]], %[[ALL]], %{{.*}} -> vector<[[LANES]]xf32>
#id = affine_map<(d0) -> (d0)>
func.func private @data(%x: tensor<100xf32>, %i: tensor<64xi32>) -> tensor<64xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%i : tensor<64xi32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%in: i32, %out: f32):
    %at = arith.index_cast %in : i32 to index
    %1 = tensor.extract %x[%at] : tensor<100xf32>
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A stride of three needs a gather, but no indices from memory.
// CHECK-LABEL: func.func private @strided
// CHECK:         %[[TIMES_3:.*]] = arith.muli %{{.*}}, %c3_i64{{.*}} : i64
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%[[TIMES_3]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         %[[STEPS:.*]] = arith.constant dense<[0, 3, 6, 9{{.*}}]>
// CHECK:         %[[FROM:.*]] = llvm.getelementptr %[[FIRST]][%[[STEPS]]]
// CHECK:         llvm.intr.masked.gather %[[FROM]]
#id = affine_map<(d0) -> (d0)>
func.func private @strided(%x: tensor<192xf32>) -> tensor<64xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<64xf32>) {
  ^bb0(%out: f32):
    %c3 = arith.constant 3 : index
    %own = linalg.index 0 : index
    %at = arith.muli %own, %c3 : index
    %1 = tensor.extract %x[%at] : tensor<192xf32>
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A condition that differs from lane to lane becomes the mask of the load; what
// the others yield is selected.
// CHECK-LABEL: func.func private @masked
// CHECK:         %[[AT:.*]] = arith.subi %{{.*}}, %c2_i64{{.*}} : i64
// CHECK:         %[[FIRST:.*]] = vector.broadcast %[[AT]]
// CHECK:         %[[PLACES:.*]] = arith.addi %[[FIRST]], %{{.*}} : vector<{{.*}}xi64>
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %[[PLACES]], %{{.*}} : vector<{{.*}}xi64>
// CHECK:         %[[FROM:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         %[[X:.*]] = llvm.intr.masked.load %[[FROM]], %[[INSIDE]],
// CHECK:         %[[OTHERWISE:.*]] = arith.constant dense<-1.000000e+00>
// CHECK:         %[[Y:.*]] = arith.select %[[INSIDE]], %[[X]], %[[OTHERWISE]]
// CHECK:         llvm.store %[[Y]]
#id = affine_map<(d0) -> (d0)>
func.func private @masked(%x: tensor<60xf32>) -> tensor<64xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<64xf32>) {
  ^bb0(%out: f32):
    %c2 = arith.constant 2 : index
    %c60 = arith.constant 60 : index
    %none = arith.constant -1.0 : f32
    %own = linalg.index 0 : index
    %at = arith.subi %own, %c2 : index
    %inside = arith.cmpi ult, %at, %c60 : index
    %1 = scf.if %inside -> (f32) {
      %2 = tensor.extract %x[%at] : tensor<60xf32>
      scf.yield %2 : f32
    } else {
      scf.yield %none : f32
    }
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// In the tail only existing lanes read, and only if their condition holds.
// CHECK-LABEL: func.func private @masked_tail
// CPU:           scf.for
// GPU:           scf.if
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}} : vector<{{.*}}xi64>
// CHECK:           llvm.intr.masked.load %{{.*}}, %[[INSIDE]],
// CHECK:           llvm.store
// CHECK:         scf.if
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}} : vector<{{.*}}xi64>
// CHECK:           %[[MAY:.*]] = arith.andi %{{.*}}, %[[INSIDE]] : vector<{{.*}}xi1>
// CHECK:           llvm.intr.masked.load %{{.*}}, %[[MAY]],
// CHECK:           llvm.intr.masked.store
#id = affine_map<(d0) -> (d0)>
func.func private @masked_tail(%x: tensor<1000xf32>) -> tensor<1007xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<1007xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<1007xf32>) {
  ^bb0(%out: f32):
    %c1000 = arith.constant 1000 : index
    %none = arith.constant 0.0 : f32
    %at = linalg.index 0 : index
    %inside = arith.cmpi ult, %at, %c1000 : index
    %1 = scf.if %inside -> (f32) {
      %2 = tensor.extract %x[%at] : tensor<1000xf32>
      scf.yield %2 : f32
    } else {
      scf.yield %none : f32
    }
    linalg.yield %1 : f32
  } -> tensor<1007xf32>
  return %0 : tensor<1007xf32>
}

// -----

// A condition that all lanes share is a branch, on a scalar.
// CHECK-LABEL: func.func private @shared
// CHECK-NOT:     masked
// CHECK:         %[[INDEX:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult, %[[INDEX]], %c7_i64{{.*}} : i64
// CPU:           %[[Y:.*]] = scf.if %[[EXISTS]] -> (vector<[[LANES:16]]xf32>) {
// GPU:           %[[Y:.*]] = scf.if %[[EXISTS]] -> (vector<[[LANES:4]]xf32>) {
// CHECK:           %[[X:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<[[LANES]]xf32>
// CHECK:           scf.yield %[[X]]
// CHECK:         } else {
// CHECK:           %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<[[LANES]]xf32>
// CHECK:           scf.yield %[[ZERO]]
// CHECK:         llvm.store %[[Y]]
// CHECK-NOT:     masked
// CHECK:         return
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @shared(%x: tensor<7x32xf32>, %i: tensor<16xi64>) -> tensor<16x32xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<16x32xf32>
  %0 = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<16xi64>) outs(%empty : tensor<16x32xf32>) {
  ^bb0(%in: i64, %out: f32):
    %zero = arith.constant 0.0 : f32
    %c7 = arith.constant 7 : index
    %column = linalg.index 1 : index
    %row = arith.index_cast %in : i64 to index
    %exists = arith.cmpi ult, %row, %c7 : index
    %1 = scf.if %exists -> (f32) {
      %2 = tensor.extract %x[%row, %column] : tensor<7x32xf32>
      scf.yield %2 : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}

// -----

// Lanes run through a loop together. A value that all of them read in an iteration is
// a scalar; a bool is a byte.
// CHECK-LABEL: func.func private @together
// CPU:           scf.for {{.*}} step %c16
// CHECK:         scf.for %[[TURN:.*]] = %c0{{.*}} to %c5{{.*}} step %c1{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<[[LANES:4|16]]xf32>)
// CHECK:           %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[TURN]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:           %[[BYTE:.*]] = llvm.load %[[AT]] {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK:           %[[BYTES:.*]] = vector.broadcast %[[BYTE]]
// CHECK:           %[[BOOLS:.*]] = arith.cmpi ne, %[[BYTES]], %{{.*}} : vector<[[LANES]]xi8>
// CHECK:           %[[MORE:.*]] = arith.addf %[[SUM]], %{{.*}} : vector<[[LANES]]xf32>
// CHECK:           %[[NEXT:.*]] = arith.select %[[BOOLS]], %[[MORE]], %[[SUM]]
// CHECK:           scf.yield %[[NEXT]]
#id = affine_map<(d0) -> (d0)>
func.func private @together(%c: tensor<5xi1>, %x: tensor<64xf32>) -> tensor<64xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %zero = arith.constant 0.0 : f32
    %1 = scf.for %turn = %c0 to %c5 step %c1 iter_args(%sum = %zero) -> (f32) {
      %2 = tensor.extract %c[%turn] : tensor<5xi1>
      %3 = arith.addf %sum, %in : f32
      %4 = arith.select %2, %3, %sum : f32
      scf.yield %4 : f32
    }
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
