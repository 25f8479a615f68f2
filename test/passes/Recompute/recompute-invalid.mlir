// RUN: not mpc-opt %s --mpc-recompute=recompute=full --split-input-file 2>&1 | FileCheck %s

// CHECK: error: recompute and memory-budget need a backward pass that mpc makes; this model brings its own; leave them out
module {
  func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> attributes {train.entry = #train.entry<step>} {
    return %x : tensor<8xf32>
  }
}

// -----

// CHECK: error: recompute and memory-budget need a backward pass that mpc makes; this model has none; leave them out
module attributes {mpc.predict_only} {
  func.func @predict(%x: tensor<8xf32>) -> tensor<8xf32> attributes {train.entry = #train.entry<predict>} {
    return %x : tensor<8xf32>
  }
}
