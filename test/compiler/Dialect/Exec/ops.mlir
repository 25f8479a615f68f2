// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// CHECK-LABEL: exec.entry @step
// CHECK-SAME:    inputs = [{buffer = #exec.buffer<arena + 0 : tensor<4xf32>>, name = "x"}]
// CHECK-SAME:    outputs = [{buffer = #exec.buffer<arena + 64 : tensor<f32>>, name = "loss"}]
// CHECK:         exec.call "zero" [] [#exec.buffer<state + 128 : tensor<4xi64>>]
// CHECK:         exec.call "matmul" [0, 1] [#exec.buffer<arena + 0 : tensor<1x4xbf16>>, #exec.buffer<arena + 64 : tensor<1x4xbf16>>, #exec.buffer<arena + 128 : tensor<1x1xf32>>] {name = "fc1"}
// CHECK:         exec.launch @kernel_0 items 3 grain 2 [#exec.buffer<arena + 0 : tensor<4xi1>>]
exec.entry @step inputs = [{name = "x", buffer = #exec.buffer<arena + 0 : tensor<4xf32>>}]
    outputs = [{name = "loss", buffer = #exec.buffer<arena + 64 : tensor<f32>>}] {
  exec.call "zero" [] [#exec.buffer<state + 128 : tensor<4xi64>>]
  exec.call "matmul" [0, 1] [#exec.buffer<arena + 0 : tensor<1x4xbf16>>, #exec.buffer<arena + 64 : tensor<1x4xbf16>>, #exec.buffer<arena + 128 : tensor<1x1xf32>>] {name = "fc1"}
  exec.launch @kernel_0 items 3 grain 2 [#exec.buffer<arena + 0 : tensor<4xi1>>]
}

// Items have two elements each in the last two operands, and write the last one.
// CHECK-LABEL: exec.entry @apply
// CHECK:         exec.launch @kernel_1 items 3 grain 1
// CHECK-SAME:    {item_elements = array<i64: 0, 2, 2>, results = 1 : i64}
exec.entry @apply inputs = [] outputs = [] {
  exec.launch @kernel_1 items 3 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>, #exec.buffer<arena + 64 : tensor<5xf32>>, #exec.buffer<state + 0 : tensor<6xf32>>] {item_elements = array<i64: 0, 2, 2>, results = 1 : i64}
}

// An entry may have nothing to do.
// CHECK-LABEL: exec.entry @empty inputs = [] outputs = []
exec.entry @empty inputs = [] outputs = [] {
}

// The dataflow, independent of memory, for the proof of the plan.
// CHECK-LABEL: exec.entry @proven
// CHECK-SAME:    attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [], reads = {fc1.weight = #exec.value<1 + 0>}, writes = {}, parts = [#exec.part<3 + 64 : 16 = <2 + 0>>]>}
// CHECK:         exec.call "copy" [] [{{.*}}] {values = [#exec.value<0 + 0>, #exec.value<3 + 64>]}
exec.entry @proven inputs = [{name = "x", buffer = #exec.buffer<arena + 0 : tensor<4xf32>>}] outputs = []
    attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [], reads = {fc1.weight = #exec.value<1 + 0>}, writes = {}, parts = [#exec.part<3 + 64 : 16 = <2 + 0>>]>} {
  exec.call "copy" [] [#exec.buffer<arena + 0 : tensor<4xf32>>, #exec.buffer<arena + 64 : tensor<4xf32>>] {values = [#exec.value<0 + 0>, #exec.value<3 + 64>]}
}
