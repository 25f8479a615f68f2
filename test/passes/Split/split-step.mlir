// RUN: mpc-opt %s --mpc-split-step --split-input-file | FileCheck %s

// A product, a bias and a gelu in bf16: the gradient of gelu needs the sum, that of the
// weight the input. Counters and weights are states that both read; the view of the
// weights is made again.
module attributes {mpc.external_loss, mpc.external_update} {
  // CHECK:       train.state @"residual/0" residual : tensor<[[SHAPE0:.*]]>
  // CHECK:       train.state @"residual/1" residual : tensor<[[SHAPE1:.*]]>
  // CHECK-NOT:   train.state
  train.state @parameters parameter : tensor<1x1024xf32>
  // CHECK-LABEL: func.func @forward(
  // CHECK-SAME:    %[[X:[^:]*]]: tensor<4x8xf32> {mpc.name = "x"})
  // CHECK-SAME:    -> (tensor<4x3xf32> {mpc.name = "y"})
  // CHECK-SAME:    train.entry = #train.entry<forward>
  // CHECK-DAG:     %[[H:.*]] = train.matmul %[[X]]
  // CHECK-DAG:     %[[Y:.*]] = train.gelu %[[H]]
  // CHECK-DAG:     train.write @"residual/{{.}}", %[[H]]
  // CHECK-DAG:     train.write @"residual/{{.}}", %[[X]]
  // CHECK-NOT:     train.gelu_grad
  // CHECK:         return %[[Y]] : tensor<4x3xf32>
  // CHECK-LABEL: func.func @backward(
  // CHECK-SAME:    %[[DY:[^:]*]]: tensor<4x3xf32> {mpc.name = "gradient:y"})
  // CHECK-SAME:    -> (tensor<8x3xf32> {mpc.name = "gradient:w"})
  // CHECK-SAME:    train.entry = #train.entry<backward>
  // CHECK-DAG:     train.read @"residual/0"
  // CHECK-DAG:     train.read @"residual/1"
  // CHECK-NOT:     train.matmul {{.*}} -> tensor<4x3xf32>
  // CHECK-NOT:     train.write
  // CHECK:         train.gelu_grad
  // CHECK:         train.matmul {{.*}} -> tensor<8x3xf32>
  // CHECK-NOT: func.func
  func.func @step(%x: tensor<4x8xf32> {mpc.name = "x"}, %dy: tensor<4x3xf32> {mpc.name = "gradient:y", mpc.gradient_of = "y"}) -> (tensor<4x3xf32> {mpc.name = "y"}, tensor<8x3xf32> {mpc.name = "gradient:w", mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<step>} {
    %p = train.read @parameters : tensor<1x1024xf32>
    %w = train.unpack %p {offset = 0 : i64} : (tensor<1x1024xf32>) -> tensor<8x3xf32>
    %h = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %y = train.gelu %h : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %dh = train.gelu_grad %dy, %h : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %dw = train.matmul %x, %dh {transpose_lhs} : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    return %y, %dw : tensor<4x3xf32>, tensor<8x3xf32>
  }
}

// -----

// Casts: of a tensor that is kept wide, the narrow form is made again; of one that was
// widened, the narrow form is kept. The step count that the forward pass changes is kept.
// What only the backward pass needs is computed there.
module attributes {mpc.external_loss, mpc.external_update} {
  // CHECK-DAG:   train.state @"residual/{{.}}" residual : tensor<4xbf16>
  // CHECK-DAG:   train.state @"residual/{{.}}" residual : tensor<4xf32>
  // CHECK-DAG:   train.state @"residual/{{.}}" residual : tensor<i64>
  train.state @step_count step_count : tensor<i64>
  // CHECK-LABEL: func.func @forward(
  // CHECK:         train.increment
  // CHECK-NOT:     train.exp
  // CHECK-LABEL: func.func @backward(
  // CHECK-NOT:     train.read @step_count
  // CHECK:         amp.cast {{.*}} tensor<4xbf16> to tensor<4xf32>
  // CHECK:         train.exp
  func.func @step(%a: tensor<4xbf16> {mpc.name = "a"}, %b: tensor<4xf32> {mpc.name = "b"}, %dy: tensor<4xf32> {mpc.name = "gradient:y", mpc.gradient_of = "y"}) -> (tensor<4xf32> {mpc.name = "y"}, tensor<4xf32> {mpc.name = "gradient:w", mpc.gradient_of = "w"}, tensor<4xbf16> {mpc.name = "gradient:v", mpc.gradient_of = "v"}) attributes {train.entry = #train.entry<step>} {
    %n = train.read @step_count : tensor<i64>
    %next = train.increment %n : (tensor<i64>) -> tensor<i64>
    %relu = train.relu %a : (tensor<4xbf16>) -> tensor<4xbf16>
    %wide = amp.cast %relu : tensor<4xbf16> to tensor<4xf32>
    %sum = train.add %wide, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = train.tanh %sum : (tensor<4xf32>) -> tensor<4xf32>
    %narrow = amp.cast %y : tensor<4xf32> to tensor<4xbf16>
    %again = amp.cast %narrow : tensor<4xbf16> to tensor<4xf32>
    %out = train.mul %again, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %f = train.cast %n {to = f32} : (tensor<i64>) -> tensor<f32>
    %e = train.exp %f : (tensor<f32>) -> tensor<f32>
    %d0 = train.mul %dy, %e : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %d1 = train.mul %d0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d2 = train.mul %d1, %wide : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %low = amp.cast %d2 : tensor<4xf32> to tensor<4xbf16>
    %d3 = train.mul %low, %narrow : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    train.write @step_count, %next : tensor<i64>
    return %out, %d2, %d3 : tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>
  }
}

// -----

// A program with a loss of its own stays as it is.
module {
  // CHECK-LABEL: func.func @step
  // CHECK-NOT:   func.func
  func.func @step(%x: tensor<4xf32> {mpc.name = "x"}) -> (tensor<4xf32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<step>} {
    return %x : tensor<4xf32>
  }
}
