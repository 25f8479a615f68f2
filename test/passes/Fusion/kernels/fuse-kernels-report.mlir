// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-fuse-kernels=report --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

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

// The element that a later op reads is computed wherever the walk reaches it: the
// whole table must be complete before.
func.func @computed(%next: tensor<64xi64>, %one: tensor<i64>) -> tensor<64xi64> {
  // expected-remark @+1 {{starts a new kernel: no kernel makes or shares its operands}}
  %0 = train.integer %next, %one {kind = #train<integer_operation sub>} : (tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
  // expected-remark @+1 {{starts a new kernel: reads a value of the kernel at computed places}}
  %1 = train.gather %0, %0 : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %1 : tensor<64xi64>
}
