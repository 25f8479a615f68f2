// RUN: mpc-opt %s --mpc-verify-plan --split-input-file --verify-diagnostics

// The output of the stage is accepted, up to the last byte of each memory.
module attributes {exec.arena_size = 128 : i64, exec.state_size = 64 : i64} {
  train.state @w parameter {exec.offset = 0 : i64} : tensor<16xf32>
  exec.entry @step inputs = [{name = "x", buffer = #exec.buffer<arena + 64 : tensor<16xf32>>}]
      outputs = [{name = "y", buffer = #exec.buffer<arena + 0 : tensor<4x4xf32>>}]
      attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<1 + 0>], reads = {}, writes = {w = #exec.value<1 + 0>}, parts = []>} {
    exec.launch @kernel_0 items 1 grain 1 [#exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<state + 0 : tensor<4x4xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
    exec.call "copy" [] [#exec.buffer<state + 0 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<16xf32>>] {values = [#exec.value<1 + 0>, #exec.value<1 + 0>]}
  }
  func.func private @kernel_0(tensor<16xf32>) -> tensor<16xf32> attributes {mpc.kernel}
}

// -----

// expected-error @+2 {{the module lacks 'exec.state_size'}}
// expected-note @+1 {{expected mpc-plan-memory to prevent this}}
module attributes {exec.arena_size = 0 : i64} {
}

// -----

// expected-error @+2 {{the module lacks 'exec.arena_size'}}
// expected-note @+1 {{expected mpc-plan-memory to prevent this}}
module attributes {exec.state_size = 0 : i64} {
}

// -----

module attributes {exec.arena_size = 0 : i64, exec.state_size = 64 : i64} {
  // expected-error @+2 {{state 'w' has no place}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  train.state @w parameter : tensor<16xf32>
  // expected-error @+2 {{a buffer takes bytes 4 to 68 of the state memory, which has 64}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  train.state @v parameter {exec.offset = 4 : i64} : tensor<16xf32>
  // expected-error @+2 {{a program holds only states, entries and kernels}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  func.func private @predict()
}

// -----

module attributes {exec.arena_size = 64 : i64, exec.state_size = 0 : i64} {
  // expected-error @+2 {{an input or output of 'inputs' has no buffer}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @inputs inputs = [{name = "x"}] outputs = [] {
  }
  // expected-error @+2 {{a buffer takes bytes 0 to 65 of the arena memory, which has 64}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @outputs inputs = [] outputs = [{name = "y", buffer = #exec.buffer<arena + 0 : tensor<65xi1>>}] {
  }
}

// -----

module attributes {exec.arena_size = 64 : i64, exec.state_size = 0 : i64} {
  func.func private @kernel_0(tensor<4xf32>) -> tensor<4xf32> attributes {mpc.kernel}
  exec.entry @instructions inputs = [] outputs = [] {
    // expected-error @+2 {{'arith.constant' is not an instruction}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    %0 = arith.constant 0 : i64
    // expected-error @+2 {{a buffer takes bytes -4 to 12 of the arena memory, which has 64}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.call "zero" [] [#exec.buffer<arena + -4 : tensor<4xf32>>]
    // expected-error @+2 {{launches 'kernel_1', which is not a kernel}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @kernel_1 items 1 grain 1 []
    // expected-error @+2 {{'kernel_0' takes 2 operands, but gets 1}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @kernel_0 items 1 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>]
    // expected-error @+2 {{operand 1 of 'kernel_0' has 8 bytes, but the kernel takes 16}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @kernel_0 items 1 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>, #exec.buffer<arena + 0 : tensor<4xbf16>>]
    // expected-error @+2 {{operand 1 starts at byte 32, which is not a multiple of 64}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @kernel_0 items 1 grain 1 [#exec.buffer<arena + 0 : tensor<4xf32>>, #exec.buffer<arena + 32 : tensor<4xf32>>]
    // Copies and zeroing may start at any byte.
    exec.call "zero" [] [#exec.buffer<arena + 4 : tensor<4xf32>>]
  }
}
