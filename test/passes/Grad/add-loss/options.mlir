// RUN: mpc-opt %s --mpc-add-loss=loss=output:cost | FileCheck %s --check-prefix=OUTPUT
// RUN: mpc-opt %s --mpc-add-loss=loss=bce-with-logits:p | FileCheck %s --check-prefix=BCE
// RUN: mpc-opt %s --mpc-add-loss=loss=l1:p | FileCheck %s --check-prefix=L1

// OUTPUT: module attributes {mpc.loss = "output 'cost' of the model", mpc.loss_parts = {{.*}}, mpc.notes = ["loss: output 'cost' of the model (as asked; training minimizes its mean)"]}
// BCE:    module attributes {mpc.loss = "bce-with-logits of output 'p' against input 'targets'"
// BCE-SAME: 'p' comes from sigmoid
// L1:     module attributes {mpc.loss = "l1 of output 'p' against input 'targets'"
module {
  // OUTPUT-LABEL: func.func @predict
  // OUTPUT-SAME:    -> (tensor<4x3xf32> {mpc.name = "p"})
  // OUTPUT-LABEL: func.func @train
  // OUTPUT:         %[[COST:.*]] = train.mul
  // OUTPUT:         train.reduce_mean %[[COST]] {axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  // BCE-LABEL:    func.func @predict
  // BCE-SAME:       -> (tensor<4x3xf32> {mpc.name = "p"}, tensor<4x3xf32> {mpc.name = "cost"})
  // BCE-LABEL:    func.func @train
  // BCE-SAME:       (%[[X:[^:]*]]: tensor<4x3xf32>
  // BCE-NOT:        train.sigmoid
  // BCE:            train.element_loss %[[X]], %{{.*}} {kind = #train<element_loss bce_with_logits>
  // L1-LABEL:     func.func @train
  // L1:             %[[P:.*]] = train.sigmoid
  // L1:             train.element_loss %[[P]], %{{.*}} {kind = #train<element_loss l1>
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}) -> (tensor<4x3xf32> {mpc.name = "p"}, tensor<4x3xf32> {mpc.name = "cost"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.sigmoid %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = train.mul %0, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
  }
}
