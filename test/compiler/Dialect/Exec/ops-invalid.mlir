// RUN: mpc-opt %s --split-input-file --verify-diagnostics

exec.entry @call_c1 inputs = [] outputs = [] {
  // expected-error @+1 {{'exec.call' op names a kernel that the catalog does not have: 'matmull'}}
  exec.call "matmull" [] []
}

// -----

exec.entry @launch_c1_items inputs = [] outputs = [] {
  // expected-error @+1 {{attribute 'items' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  exec.launch @kernel_0 items 0 grain 1 []
}

// -----

exec.entry @launch_c1_grain inputs = [] outputs = [] {
  // expected-error @+1 {{attribute 'grain' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  exec.launch @kernel_0 items 1 grain -1 []
}

// -----

exec.entry @launch_c2 inputs = [] outputs = [] {
  // expected-error @+1 {{attribute 'threads' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 1024}}
  exec.launch @kernel_0 items 1 grain 1 threads 2048 []
}

// -----

exec.entry @launch_c3 inputs = [] outputs = [] {
  // expected-error @+1 {{attribute 'shared' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 232448}}
  exec.launch @kernel_0 items 1 grain 1 threads 1024 shared 262144 []
}

// -----

exec.entry @operands inputs = [] outputs = [] {
  // expected-error @+1 {{attribute 'operands' failed to satisfy constraint: array of buffers}}
  exec.launch @kernel_0 items 1 grain 1 [4 : i64]
}

// -----

exec.entry @launch_c4 inputs = [] outputs = [] {
  // expected-error @+1 {{'exec.launch' op writes 2 of 1 operands}}
  exec.launch @kernel_0 items 1 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>] {results = 2 : i64}
}

// -----

exec.entry @launch_c5_operands inputs = [] outputs = [] {
  // expected-error @+1 {{'exec.launch' op has the elements of items for 2 of 1 operands}}
  exec.launch @kernel_0 items 1 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>] {item_elements = array<i64: 4, 4>}
}

// -----

exec.entry @launch_c5_all inputs = [] outputs = [] {
  // expected-error @+1 {{'exec.launch' op divides 4 elements of operand 0 into 3 items of 2}}
  exec.launch @kernel_0 items 3 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>] {item_elements = array<i64: 2>}
}

// -----

exec.entry @launch_c5_written inputs = [] outputs = [] {
  // expected-error @+1 {{'exec.launch' op divides 4 elements of operand 0 into 2 items of 0}}
  exec.launch @kernel_0 items 2 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>] {item_elements = array<i64: 0>, results = 1 : i64}
}
