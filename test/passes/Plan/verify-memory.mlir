// RUN: mpc-opt %s --mpc-verify-plan --split-input-file --verify-diagnostics

// Memory may be reused when its contents are no longer needed; a result may overwrite
// an operand, element by element; a view has the memory of its source, from its own
// offset on; parts are inside the whole; a copy equals its source; a state has its old
// value or the one that is written.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 192 : i64} {
  train.state @w parameter {exec.offset = 0 : i64} : tensor<16xf32>
  train.state @v parameter {exec.offset = 64 : i64} : tensor<32xf32>
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<16xf32>>}, {buffer = #exec.buffer<arena + 128 : tensor<32xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<4 + 0>, #exec.value<5 + 0>], reads = {v = #exec.value<10 + 0>}, writes = {w = #exec.value<4 + 0>}, parts = [#exec.part<5 + 0 : 64 = <3 + 0>>, #exec.part<5 + 64 : 64 = <6 + 0>>]>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<1 + 0>, #exec.value<2 + 0>]}
    exec.launch @binary items 1 grain 1 [#exec.buffer<state + 128 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<16xf32>>] {values = [#exec.value<10 + 64>, #exec.value<2 + 0>, #exec.value<3 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<state + 0 : tensor<16xf32>>] {values = [#exec.value<3 + 0>, #exec.value<4 + 0>]}
    exec.call "copy" [] [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 128 : tensor<16xf32>>] {values = [#exec.value<3 + 0>, #exec.value<3 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 128 : tensor<16xf32>>, #exec.buffer<arena + 192 : tensor<16xf32>>] {values = [#exec.value<5 + 0>, #exec.value<6 + 0>]}
    exec.call "copy" [] [#exec.buffer<state + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<4 + 0>, #exec.value<4 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 192 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<16xf32>>] {values = [#exec.value<5 + 64>, #exec.value<7 + 0>]}
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

// Two tensors that are needed at the same time, one over a part of the other.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 192 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<3 + 0>], reads = {}, writes = {}, parts = []>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<2 + 0>]}
    exec.launch @wide items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<8xf32>>] {values = [#exec.value<2 + 0>, #exec.value<4 + 0>]}
    // expected-error @+2 {{operand 0 of 'binary' is tensor 1; its byte 0 should be byte 64 of the arena memory, but that holds byte 0 of tensor 4, written by 'wide'}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @binary items 1 grain 1 [#exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 192 : tensor<16xf32>>] {values = [#exec.value<1 + 0>, #exec.value<2 + 0>, #exec.value<3 + 0>]}
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
  func.func private @wide(tensor<16xf32>) -> tensor<8xf32> attributes {mpc.kernel}
}

// -----

// One covers all of the other: a later read would get the wrong tensor.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 128 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<3 + 0>], reads = {}, writes = {}, parts = []>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<2 + 0>]}
    // expected-error @+2 {{operand 0 of 'binary' is tensor 1; its byte 0 should be byte 64 of the arena memory, but that holds byte 0 of tensor 2, written by 'unary'}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @binary items 1 grain 1 [#exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 128 : tensor<16xf32>>] {values = [#exec.value<1 + 0>, #exec.value<2 + 0>, #exec.value<3 + 0>]}
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

// One covers the last bytes of the other.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  // expected-error @+2 {{output 0 of 'f' is tensor 0; its byte 64 should be byte 64 of the arena memory, but that holds byte 0 of tensor 1, written by 'unary'}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<32xf32>>}] outputs = [{buffer = #exec.buffer<arena + 0 : tensor<32xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<0 + 0>], reads = {}, writes = {}, parts = []>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
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
}

// -----

// All inputs must be intact when the call begins, and all outputs when it ends.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  // expected-error @+3 {{input 0 of 'f' is tensor 0; its byte 64 should be byte 64 of the arena memory, but that holds byte 0 of tensor 1, there from the beginning}}
  // expected-error @+2 {{output 0 of 'f' is tensor 2; its byte 0 should be byte 128 of the arena memory, but nothing was written there}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<32xf32>>}, {buffer = #exec.buffer<arena + 64 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 128 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>, #exec.value<1 + 0>], outputs = [#exec.value<2 + 0>], reads = {}, writes = {}, parts = []>} {
  }
}

// -----

// A view with the wrong offset.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 128 : i64} {
  train.state @v parameter {exec.offset = 0 : i64} : tensor<32xf32>
  exec.entry @f inputs = [] outputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [], outputs = [#exec.value<1 + 0>], reads = {v = #exec.value<0 + 0>}, writes = {}, parts = []>} {
    // expected-error @+2 {{operand 0 of 'unary' is tensor 0; its byte 64 should be byte 0 of the state memory, but that holds byte 0 of tensor 0, there from the beginning}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @unary items 1 grain 1 [#exec.buffer<state + 0 : tensor<16xf32>>, #exec.buffer<arena + 0 : tensor<16xf32>>] {values = [#exec.value<0 + 64>, #exec.value<1 + 0>]}
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
}

// -----

// A packed tensor whose second part was computed elsewhere and not copied, and one whose
// first part was overwritten before the whole is read.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  // expected-error @+2 {{output 0 of 'f' is tensor 3; its byte 64 should be byte 128 of the arena memory, but nothing was written there}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<32xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<3 + 0>], reads = {}, writes = {}, parts = [#exec.part<3 + 0 : 64 = <1 + 0>>, #exec.part<3 + 64 : 64 = <2 + 0>>]>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 192 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<2 + 0>]}
  }
  // expected-error @+2 {{output 0 of 'g' is tensor 3; its byte 0 should be byte 64 of the arena memory, but that holds byte 0 of tensor 4, written by 'unary'}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @g inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<32xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<3 + 0>], reads = {}, writes = {}, parts = [#exec.part<3 + 0 : 64 = <1 + 0>>, #exec.part<3 + 64 : 64 = <2 + 0>>]>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 128 : tensor<16xf32>>] {values = [#exec.value<1 + 0>, #exec.value<2 + 0>]}
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<4 + 0>]}
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
}

// -----

// A part that is larger than its slot overwrites what follows it.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  // expected-error @+2 {{output 0 of 'f' is tensor 3; its byte 64 should be byte 128 of the arena memory, but that holds byte 64 of tensor 1, written by 'grow'}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}, {buffer = #exec.buffer<arena + 192 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<32xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>, #exec.value<5 + 0>], outputs = [#exec.value<3 + 0>], reads = {}, writes = {}, parts = [#exec.part<3 + 0 : 64 = <1 + 0>>, #exec.part<3 + 64 : 64 = <2 + 0>>]>} {
    exec.launch @unary items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 128 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<2 + 0>]}
    exec.launch @grow items 1 grain 1 [#exec.buffer<arena + 192 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<32xf32>>] {values = [#exec.value<5 + 0>, #exec.value<1 + 0>]}
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
  func.func private @grow(tensor<16xf32>) -> tensor<32xf32> attributes {mpc.kernel}
}

// -----

// The dataflow of an entry point must be given.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  // expected-error @+2 {{'f' lacks its dataflow}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @f inputs = [] outputs = [] {
  }
  // expected-error @+2 {{the dataflow of 'g' has other inputs or outputs}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @g inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [] attributes {dataflow = #exec.dataflow<inputs = [], outputs = [], reads = {}, writes = {}, parts = []>} {
  }
  exec.entry @h inputs = [] outputs = [] attributes {dataflow = #exec.dataflow<inputs = [], outputs = [], reads = {}, writes = {}, parts = []>} {
    // expected-error @+2 {{'zero' lacks the dataflow of its operands}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.call "zero" [] [#exec.buffer<arena + 0 : tensor<16xf32>>]
  }
}
