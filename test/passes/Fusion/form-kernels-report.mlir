// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-form-kernels=report --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

func.func @path(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-remark @+1 {{starts a new kernel: no kernel makes or shares its operands}}
  %0 = train.relu %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.matmul %0, %0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @+1 {{starts a new kernel: an op outside runs between them}}
  %2 = train.add %0, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

func.func @whole_sum(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  // expected-remark @+1 {{starts a new kernel: no kernel makes or shares its operands}}
  %0 = train.reduce_sum %x {axes = array<i64: 0>} : (tensor<64x128xf32>) -> tensor<128xf32>
  // expected-remark @+1 {{starts a new kernel: needs the sum over all rows}}
  %1 = train.add %x, %0 : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}

// -----

func.func @other_size(%x: tensor<8x8xf32>) -> tensor<6x6xf32> {
  // expected-remark @+1 {{starts a new kernel: no kernel makes or shares its operands}}
  %0 = train.relu %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-remark @+1 {{starts a new kernel: walks another number of elements}}
  %1 = train.slice %0 {offsets = array<i64: 1, 1>} : (tensor<8x8xf32>) -> tensor<6x6xf32>
  return %1 : tensor<6x6xf32>
}

// -----

func.func @transposed(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @+1 {{starts a new kernel: no kernel makes or shares its operands}}
  %0 = train.relu %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-remark @+1 {{starts a new kernel: reads a value of the kernel at another place}}
  %1 = train.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// Each position of a window would have to find the elements of others made.
func.func @computed(%x: tensor<2x3x8xf32>) -> tensor<2x3x3x8xf32> {
  // expected-remark @+1 {{starts a new kernel: no kernel makes or shares its operands}}
  %0 = train.relu %x : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  // expected-remark @+1 {{starts a new kernel: reads a value of the kernel at computed places}}
  %1 = train.unfold %0 {kernel_shape = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>} : (tensor<2x3x8xf32>) -> tensor<2x3x3x8xf32>
  return %1 : tensor<2x3x3x8xf32>
}

// -----

func.func @table(%x: tensor<64x8xf32>, %i: tensor<64xi64>) -> tensor<64x8xf32> {
  // expected-remark @+1 {{starts a new kernel: no kernel makes or shares its operands}}
  %0 = train.tanh %x : (tensor<64x8xf32>) -> tensor<64x8xf32>
  // expected-remark @+1 {{starts a new kernel: reads a value of the kernel at computed places}}
  %1 = train.gather %0, %i : (tensor<64x8xf32>, tensor<64xi64>) -> tensor<64x8xf32>
  %2 = train.relu %1 : (tensor<64x8xf32>) -> tensor<64x8xf32>
  return %2 : tensor<64x8xf32>
}
