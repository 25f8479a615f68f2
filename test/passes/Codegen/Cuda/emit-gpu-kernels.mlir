// RUN: mpc-opt %s --mpc-emit-gpu-kernels --cse --split-input-file | FileCheck %s

// A thread takes 8 elements: one access of 16 bytes. The last block is not full.
// CHECK-LABEL: func.func private @flat(
// CHECK-SAME:    %[[X:.*]]: !llvm.ptr, %[[Y:.*]]: !llvm.ptr) attributes {mpc.kernel, mpc.threads = 256 : i32}
// CHECK:         %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x : i32
// CHECK:         %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
// CHECK:         arith.cmpi ult
// CHECK:         scf.if
// CHECK:           llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK:           llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr
// CHECK-NOT:     masked
#id = affine_map<(d0) -> (d0)>
func.func private @flat(%x: tensor<10000xbf16>) -> tensor<10000xbf16> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<10000xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<10000xbf16>) outs(%empty : tensor<10000xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %1 = arith.mulf %in, %in : bf16
    linalg.yield %1 : bf16
  } -> tensor<10000xbf16>
  return %0 : tensor<10000xbf16>
}

// -----

// A warp processes a row of 256 elements: five shuffles sum it, and the values loaded
// for the sum are reused for the quotient. Four rows per block.
// CHECK-LABEL: func.func private @row(
// CHECK-SAME:    mpc.threads = 128 : i32
// CHECK:         %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<4xf32>
// CHECK:         %[[X2:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<4xf32>
// CHECK-NOT:     llvm.load
// CHECK:         nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c16_i32
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32
// CHECK-NOT:     nvvm
// CHECK-NOT:     llvm.load
// CHECK:         arith.divf %[[X]]
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>
// CHECK:         arith.divf %[[X2]]
// CHECK:         return
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @row(%x: tensor<65536x256xf32>) -> tensor<65536x256xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<65536xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<65536xf32>) -> tensor<65536xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<65536x256xf32>) outs(%init : tensor<65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<65536xf32>
  %e2 = tensor.empty() : tensor<65536x256xf32>
  %0 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<65536x256xf32>, tensor<65536xf32>) outs(%e2 : tensor<65536x256xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %1 = arith.divf %in, %s : f32
    linalg.yield %1 : f32
  } -> tensor<65536x256xf32>
  return %0 : tensor<65536x256xf32>
}

// -----

// Several warps per row: their sums are combined in shared memory.
// CHECK:       llvm.mlir.global internal @long_row0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<{{[0-9]+}} x i8>
// CHECK-LABEL: func.func private @long(
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         %[[G:.*]] = llvm.mlir.addressof @long_row0 : !llvm.ptr<3>
// CHECK:         llvm.addrspacecast %[[G]]
// CHECK:         scf.if
// CHECK:           llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK:         nvvm.barrier0
// CHECK:         llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK:         nvvm.shfl.sync bfly
// One thread writes the sum.
// CHECK:         scf.if
// CHECK-NEXT:      llvm.getelementptr
// CHECK-NEXT:      llvm.store %{{.*}} : f32, !llvm.ptr
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func private @long(%x: tensor<64x8192xf32>) -> tensor<64xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x8192xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}

// -----

// Down the rows: groups of threads take rows in turn and combine their sums, always
// in the same order.
// CHECK:       llvm.mlir.global internal @down_down() {addr_space = 3 : i32
// CHECK-LABEL: func.func private @down(
// CHECK-NOT:     atomic
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<4xf32>)
// CHECK:         nvvm.barrier0
// CHECK:         scf.if
// CHECK:         nvvm.barrier0
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func private @down(%x: tensor<1000x256xf32>) -> tensor<256xf32> attributes {mpc.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1000x256xf32>) outs(%init : tensor<256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<256xf32>
  return %sum : tensor<256xf32>
}

// -----

// A transpose goes through shared memory, whose rows are one element longer.
// CHECK:       llvm.mlir.global internal @turn_tile0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<2112 x i8>
// CHECK-LABEL: func.func private @turn(
// CHECK:         llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xbf16>
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr
// CHECK:         nvvm.barrier0
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> bf16
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr
// CHECK-NOT:     gather
// CHECK:         return
#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
func.func private @turn(%x: tensor<96x64xbf16>) -> tensor<64x96xbf16> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<64x96xbf16>
  %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<96x64xbf16>) outs(%empty : tensor<64x96xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<64x96xbf16>
  return %0 : tensor<64x96xbf16>
}

// -----

// As many tiles as a block has shared memory for, 48 KiB: what is left is read
// as it lies.
// CHECK-COUNT-11: llvm.mlir.global internal @many_tile{{[0-9]+}}() {{.*}} : !llvm.array<4224 x i8>
// CHECK-NOT:      llvm.mlir.global
// CHECK-LABEL:    func.func private @many(
#turned = affine_map<(d0, d1) -> (d1, d0)>
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func private @many(%x0: tensor<64x96xf32>, %x1: tensor<64x96xf32>, %x2: tensor<64x96xf32>, %x3: tensor<64x96xf32>, %x4: tensor<64x96xf32>, %x5: tensor<64x96xf32>, %x6: tensor<64x96xf32>, %x7: tensor<64x96xf32>, %x8: tensor<64x96xf32>, %x9: tensor<64x96xf32>, %x10: tensor<64x96xf32>, %x11: tensor<64x96xf32>) -> tensor<96x64xf32> attributes {mpc.kernel} {
  %e = tensor.empty() : tensor<96x64xf32>
  %0 = linalg.generic {indexing_maps = [#turned, #turned, #turned, #turned, #turned, #turned, #turned, #turned, #turned, #turned, #turned, #turned, #same], iterator_types = ["parallel", "parallel"]}
      ins(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11 : tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>) outs(%e : tensor<96x64xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32, %a5: f32, %a6: f32, %a7: f32, %a8: f32, %a9: f32, %a10: f32, %a11: f32, %out: f32):
    %s1 = arith.addf %a0, %a1 : f32
    %s2 = arith.addf %s1, %a2 : f32
    %s3 = arith.addf %s2, %a3 : f32
    %s4 = arith.addf %s3, %a4 : f32
    %s5 = arith.addf %s4, %a5 : f32
    %s6 = arith.addf %s5, %a6 : f32
    %s7 = arith.addf %s6, %a7 : f32
    %s8 = arith.addf %s7, %a8 : f32
    %s9 = arith.addf %s8, %a9 : f32
    %s10 = arith.addf %s9, %a10 : f32
    %s11 = arith.addf %s10, %a11 : f32
    linalg.yield %s11 : f32
  } -> tensor<96x64xf32>
  return %0 : tensor<96x64xf32>
}
