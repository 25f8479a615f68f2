// RUN: mpc-opt %s --mpc-verify-plan --split-input-file --verify-diagnostics

// A state that must not change is written; a state is written with the wrong tensor;
// the old value of a state is needed after it was replaced.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 192 : i64} {
  // expected-error @+2 {{what 'f' leaves in state 'a' is tensor -1; its byte 0 should be byte 0 of the state memory, but that holds byte 0 of tensor 2, written by 'unary'}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  train.state @a parameter {exec.offset = 0 : i64} : tensor<16xf32>
  // expected-error @+2 {{what 'f' leaves in state 'b' is tensor 4; its byte 0 should be byte 64 of the state memory, but that holds byte 0 of tensor 3, written by 'unary'}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  train.state @b parameter {exec.offset = 64 : i64} : tensor<16xf32>
  train.state @c parameter {exec.offset = 128 : i64} : tensor<16xf32>
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 128 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<5 + 0>], reads = {c = #exec.value<1 + 0>}, writes = {b = #exec.value<4 + 0>, c = #exec.value<6 + 0>}, parts = []>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<state + 0 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<2 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<state + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<3 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<4 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<state + 128 : tensor<16xf32>>, #exec.buffer<state + 128 : tensor<16xf32>>] {values = [#exec.value<1 + 0>, #exec.value<6 + 0>]}
    // expected-error @+2 {{operand 0 of 'binary' is tensor 1; its byte 0 should be byte 128 of the state memory, but that holds byte 0 of tensor 6, written by 'unary'}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @binary items 1 grain 1 [#exec.buffer<state + 128 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 128 : tensor<16xf32>>] {values = [#exec.value<1 + 0>, #exec.value<0 + 0>, #exec.value<5 + 0>]}
  }
  func.func private @unary(%x: tensor<16xf32>) -> tensor<16xf32> attributes {mpc.kernel} {
    %e = tensor.empty() : tensor<16xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
    ^bb0(%a: f32, %o: f32):
      %n = arith.negf %a : f32
      linalg.yield %n : f32
    } -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  func.func private @binary(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> attributes {mpc.kernel} {
    %e = tensor.empty() : tensor<16xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %n = arith.addf %a, %b : f32
      linalg.yield %n : f32
    } -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// States must not overlap.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 128 : i64} {
  // expected-error @+3 {{what 'f' leaves in state 'a' is tensor -1; its byte 64 should be byte 64 of the state memory, but that holds byte 0 of tensor -2, there from the beginning}}
  // expected-error @+2 {{state 'a' is tensor -1; its byte 64 should be byte 64 of the state memory, but that holds byte 0 of tensor -2, there from the beginning}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  train.state @a parameter {exec.offset = 0 : i64} : tensor<32xf32>
  train.state @b parameter {exec.offset = 64 : i64} : tensor<16xf32>
  exec.entry @f inputs = [] outputs = [] attributes {dataflow = #exec.dataflow<inputs = [], outputs = [], reads = {}, writes = {}, parts = []>} {
  }
}
