// RUN: not mpc-opt %s --mpc-recompute=recompute=full --split-input-file 2>&1 | FileCheck %s

// CHECK: error: option 'recompute' and option 'memory-budget' do not apply: the model brings its own training step
module {
  func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> attributes {train.entry = #train.entry<step>} {
    return %x : tensor<8xf32>
  }
}

// -----

// CHECK: error: option 'recompute' and option 'memory-budget' do not apply: the model has no backward pass
module attributes {mpc.predict_only} {
  func.func @predict(%x: tensor<8xf32>) -> tensor<8xf32> attributes {train.entry = #train.entry<predict>} {
    return %x : tensor<8xf32>
  }
}
