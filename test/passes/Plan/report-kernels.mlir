// RUN: mpc-opt %s --mpc-stage-fusion --mpc-plan-memory --mpc-report-kernels --split-input-file | FileCheck %s

// Two layers that share a kernel, in two entry points; the reported node is that of the
// first launch. Nothing is transposed.
// CHECK:       mpc.kernel_report = "{
// CHECK-SAME:  \22name\22:\22predict\22,\22sequence\22:[0]}
// CHECK-SAME:  \22name\22:\22step\22,\22sequence\22:[0,0]}
// CHECK-SAME:  \22kernels\22:[{\22bytes\22:65536,\22flops\22:{{[1-9][0-9]*}},\22launches\22:{\22predict\22:1,\22step\22:2},\22name\22:\22kernel_0\22,\22node\22:\22relu1\22}],
// CHECK-SAME:  \22transposes\22:[]}"
func.func @predict(%x: tensor<64x128xf32>) -> tensor<64x128xf32> attributes {train.entry = #train.entry<predict>} {
  %0 = train.relu %x : (tensor<64x128xf32>) -> tensor<64x128xf32> loc("relu1"("Relu"))
  return %0 : tensor<64x128xf32>
}
func.func @step(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) attributes {train.entry = #train.entry<step>} {
  %0 = train.relu %x : (tensor<64x128xf32>) -> tensor<64x128xf32> loc("relu2"("Relu"))
  %1 = train.relu %y : (tensor<64x128xf32>) -> tensor<64x128xf32> loc("relu3"("Relu"))
  return %0, %1 : tensor<64x128xf32>, tensor<64x128xf32>
}

// -----

// A separate transpose reads and writes its elements: transposes of the model are
// distinguished from those for channels-last layout. Casts are included.
// CHECK:       mpc.kernel_report
// CHECK-SAME:  \22transposes\22:[
// CHECK-SAME:  {\22bytes\22:768,\22function\22:\22step\22,\22kernel\22:\22kernel_{{[01]}}\22,\22node\22:\22turn\22,\22origin\22:\22model\22}
// CHECK-SAME:  {\22bytes\22:1536,\22function\22:\22step\22,\22kernel\22:\22kernel_{{[01]}}\22,\22node\22:\22conv1\22,\22origin\22:\22layout\22}]}
func.func @step(%x: tensor<8x16xf32>, %y: tensor<4x3x4x4xf32>) -> (tensor<16x8xbf16>, tensor<4x4x4x3xf32>) attributes {train.entry = #train.entry<step>} {
  %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32> loc("turn"("Transpose"))
  %1 = amp.cast %0 : tensor<16x8xf32> to tensor<16x8xbf16> loc("turn"("Transpose"))
  %2 = train.transpose %y {permutation = array<i64: 0, 2, 3, 1>} : (tensor<4x3x4x4xf32>) -> tensor<4x4x4x3xf32> loc("conv1"("Conv"))
  return %1, %2 : tensor<16x8xbf16>, tensor<4x4x4x3xf32>
}

// -----

// A kernel that also computes, or that keeps the order, is not a transpose: a sum that
// reads transposed, a broadcast, a slice.
// CHECK:       mpc.kernel_report
// CHECK-SAME:  \22transposes\22:[]}
func.func @step(%x: tensor<8x16xf32>, %y: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<8x8x16xf32>) attributes {train.entry = #train.entry<step>} {
  %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %1 = train.add %0, %y : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %2 = train.broadcast_to %x : (tensor<8x16xf32>) -> tensor<8x8x16xf32>
  return %1, %2 : tensor<16x8xf32>, tensor<8x8x16xf32>
}

// -----

// Arena usage, instruction by instruction: operands and results, and values that are
// still needed; memory shared by several buffers counts once.
// CHECK:       mpc.kernel_report = "{\22arena_bytes\22:{{[0-9]+}},
// CHECK-SAME:  \22entries\22:[{\22bytes\22:36864,\22bytes_16bit\22:0,\22bytes_required\22:4096,\22calls\22:3,\22launches\22:0,\22live_bytes\22:[8192,12288,12288],\22live_stride\22:1,\22name\22:\22predict\22,\22sequence\22:[0,0,0]}]
func.func @predict(%x: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {train.entry = #train.entry<predict>} {
  %0 = train.matmul %x, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = train.matmul %x, %0 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = train.matmul %0, %1 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %2 : tensor<32x32xf32>
}

// -----

// Bytes of floats that kernels read and write: a separate cast counts in two formats,
// a table counts only rows that are looked up, a slice of an operand counts only that
// slice; classes are not floats.
// CHECK:       mpc.kernel_report = "{
// CHECK-SAME:  \22bytes\22:384,\22bytes_16bit\22:128,\22bytes_required\22:256,\22calls\22:0,\22launches\22:1,{{[^]]*}}],{{[^]]*}}\22name\22:\22predict\22
// CHECK-SAME:  \22bytes\22:1024,\22bytes_16bit\22:0,{{[^]]*}}],{{[^]]*}}\22name\22:\22rows\22
func.func @predict(%x: tensor<64xf32>) -> tensor<64xbf16> attributes {train.entry = #train.entry<predict>} {
  %0 = amp.cast %x : tensor<64xf32> to tensor<64xbf16>
  return %0 : tensor<64xbf16>
}
func.func @rows(%table: tensor<1000x16xf32>, %rows: tensor<8xi64>) -> tensor<8x16xf32> {
  %0 = train.gather %table, %rows {axis = 0 : i64} : (tensor<1000x16xf32>, tensor<8xi64>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
