// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @class_loss_c1(%x: tensor<4x6xf32>, %l: tensor<6xi64>) {
  // expected-error @+2 {{'train.softmax_cross_entropy' op 'labels' must have shape [4], but has [6]}}
  // expected-error @+1 {{'train.softmax_cross_entropy' op failed to infer returned types}}
  %0 = train.softmax_cross_entropy %x, %l {reduction = #train<reduction mean>} : (tensor<4x6xf32>, tensor<6xi64>) -> tensor<f32>
  return
}

// -----

func.func @class_loss_c1_rank(%x: tensor<4xf32>, %l: tensor<4xi64>) {
  // expected-error @+2 {{'train.nll_loss' op the first operand must have rank 2 or more, but has rank 1}}
  // expected-error @+1 {{'train.nll_loss' op failed to infer returned types}}
  %0 = train.nll_loss %x, %l {reduction = #train<reduction mean>} : (tensor<4xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @class_loss_c2(%x: tensor<4x6xf32>, %l: tensor<4xi64>, %w: tensor<4xf32>) {
  // expected-error @+2 {{'train.nll_loss' op 'weight' must have shape [6], but has [4]}}
  // expected-error @+1 {{'train.nll_loss' op failed to infer returned types}}
  %0 = train.nll_loss %x, %l, %w {reduction = #train<reduction mean>} : (tensor<4x6xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

// Labels are compared in 32 bits.
func.func @class_loss_c3(%x: tensor<1x2147483648xf32>, %l: tensor<1xi64>) {
  // expected-error @+2 {{'train.nll_loss' op there may be at most 2^31 - 1 classes, but there are 2147483648}}
  // expected-error @+1 {{'train.nll_loss' op failed to infer returned types}}
  %0 = train.nll_loss %x, %l {reduction = #train<reduction mean>} : (tensor<1x2147483648xf32>, tensor<1xi64>) -> tensor<f32>
  return
}

// -----

// The mean has one gradient, not one per label.
func.func @class_loss_grad_c1(%g: tensor<4xf32>, %x: tensor<4x6xf32>, %l: tensor<4xi64>) {
  // expected-error @+2 {{'train.softmax_cross_entropy_grad' op 'grad' must have shape [], but has [4]}}
  // expected-error @+1 {{'train.softmax_cross_entropy_grad' op failed to infer returned types}}
  %0 = train.softmax_cross_entropy_grad %g, %x, %l {reduction = #train<reduction mean>} : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  return
}

// -----

// Targets do not broadcast: if they would have to, the model is most likely wrong.
func.func @element_loss_c1(%p: tensor<4x6xf32>, %t: tensor<6xf32>) {
  // expected-error @+2 {{'train.element_loss' op 'target' must have shape [4, 6], but has [6]}}
  // expected-error @+1 {{'train.element_loss' op failed to infer returned types}}
  %0 = train.element_loss %p, %t {kind = #train<element_loss mse>, reduction = #train<reduction mean>} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<f32>
  return
}

// -----

func.func @element_loss_grad_c1(%g: tensor<f32>, %p: tensor<4xf32>) {
  // expected-error @+2 {{'train.element_loss_grad' op 'grad' must have shape [4], but has []}}
  // expected-error @+1 {{'train.element_loss_grad' op failed to infer returned types}}
  %0 = train.element_loss_grad %g, %p, %p {kind = #train<element_loss l1>, reduction = #train<reduction none>} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @is_correct_c1(%x: tensor<4x6xf32>, %l: tensor<4x1xi64>) {
  // expected-error @+2 {{'train.is_correct' op 'labels' must have shape [4], but has [4, 1]}}
  // expected-error @+1 {{'train.is_correct' op failed to infer returned types}}
  %0 = train.is_correct %x, %l : (tensor<4x6xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  return
}

// -----

// Positions are compared as f32.
func.func @is_correct_c2(%x: tensor<1x16777217xf32>, %l: tensor<1xi64>) {
  // expected-error @+2 {{'train.is_correct' op there may be at most 2^24 classes, but there are 16777217}}
  // expected-error @+1 {{'train.is_correct' op failed to infer returned types}}
  %0 = train.is_correct %x, %l : (tensor<1x16777217xf32>, tensor<1xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @is_counted_c1_labels(%l: tensor<i64>) {
  // expected-error @+2 {{'train.is_counted' op labels must have rank 1 or more, but have rank 0}}
  // expected-error @+1 {{'train.is_counted' op failed to infer returned types}}
  %0 = train.is_counted %l : (tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @is_counted_c1_weight(%l: tensor<4xi64>, %w: tensor<4x1xf32>) {
  // expected-error @+2 {{'train.is_counted' op 'weight' must have rank 1, but has rank 2}}
  // expected-error @+1 {{'train.is_counted' op failed to infer returned types}}
  %0 = train.is_counted %l, %w : (tensor<4xi64>, tensor<4x1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @class_loss_c4_share(%x: tensor<4x6xf32>, %l: tensor<4xi64>) {
  // expected-error @+2 {{'train.softmax_cross_entropy' op 'label_smoothing' must lie in [0, 1], but is 1.5}}
  // expected-error @+1 {{'train.softmax_cross_entropy' op failed to infer returned types}}
  %0 = train.softmax_cross_entropy %x, %l {label_smoothing = 1.5 : f64, reduction = #train<reduction mean>} : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @class_loss_c4_weight(%x: tensor<4x6xf32>, %l: tensor<4xi64>, %w: tensor<6xf32>) {
  // expected-error @+2 {{'train.nll_loss' op label smoothing cannot be combined with class weights}}
  // expected-error @+1 {{'train.nll_loss' op failed to infer returned types}}
  %0 = train.nll_loss %x, %l, %w {label_smoothing = 0.1 : f64, reduction = #train<reduction mean>} : (tensor<4x6xf32>, tensor<4xi64>, tensor<6xf32>) -> tensor<f32>
  return
}

// -----

func.func @class_loss_c5(%x: tensor<4x6xf32>, %l: tensor<4xi64>) {
  // expected-error @+2 {{'train.softmax_cross_entropy' op 'classes' must lie in [1, 6], but is 7}}
  // expected-error @+1 {{'train.softmax_cross_entropy' op failed to infer returned types}}
  %0 = train.softmax_cross_entropy %x, %l {classes = 7 : i64, reduction = #train<reduction mean>} : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @class_loss_c5_weight(%g: tensor<f32>, %x: tensor<4x6xf32>, %l: tensor<4xi64>, %w: tensor<6xf32>) {
  // expected-error @+2 {{'train.softmax_cross_entropy_grad' op padded classes cannot be combined with class weights}}
  // expected-error @+1 {{'train.softmax_cross_entropy_grad' op failed to infer returned types}}
  %0 = train.softmax_cross_entropy_grad %g, %x, %l, %w {classes = 5 : i64, reduction = #train<reduction mean>} : (tensor<f32>, tensor<4x6xf32>, tensor<4xi64>, tensor<6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @is_correct_c3(%x: tensor<4x6xf32>, %l: tensor<4xi64>) {
  // expected-error @+2 {{'train.is_correct' op 'classes' must lie in [1, 6], but is 0}}
  // expected-error @+1 {{'train.is_correct' op failed to infer returned types}}
  %0 = train.is_correct %x, %l {classes = 0 : i64} : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}
