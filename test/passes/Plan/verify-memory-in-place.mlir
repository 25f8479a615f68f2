// RUN: mpc-opt %s --mpc-verify-plan --split-input-file --verify-diagnostics

// In place, by a kernel that reads elements after it wrote others; by one that may
// continue in the memory of one operand, but not in that of another.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<4x4xf32>>}, {buffer = #exec.buffer<arena + 64 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 0 : tensor<4x4xf32>>}, {buffer = #exec.buffer<arena + 64 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>, #exec.value<1 + 0>], outputs = [#exec.value<2 + 0>, #exec.value<3 + 0>], reads = {}, writes = {}, parts = []>} {
    // expected-error @+2 {{operand 1 of 'turn', a result, takes the place of operand 0, but the kernel may read its elements after writing there}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @turn items 1 grain 1 [#exec.buffer<arena + 0 : tensor<4x4xf32>>, #exec.buffer<arena + 0 : tensor<4x4xf32>>] {values = [#exec.value<0 + 0>, #exec.value<2 + 0>]}
    // expected-error @+2 {{operand 0 of 'continue' is tensor 4; its byte 0 should be byte 128 of the arena memory, but nothing was written there}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @continue items 1 grain 1 [#exec.buffer<arena + 128 : tensor<8xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<4 + 0>, #exec.value<1 + 0>, #exec.value<3 + 0>]}
  }
  func.func private @turn(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {mpc.kernel} {
    %e = tensor.empty() : tensor<4x4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func private @continue(%x: tensor<8xf32>, %whole: tensor<16xf32>) -> tensor<16xf32> attributes {mpc.kernel} {
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i + 8)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%whole : tensor<16xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// In place, but shifted.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<32xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<1 + 0>], reads = {}, writes = {}, parts = []>} {
    // expected-error @+2 {{operand 1 of 'narrow', a result, overlaps a part of operand 0, which is read}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @narrow items 1 grain 1 [#exec.buffer<arena + 0 : tensor<32xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>]}
  }
  func.func private @narrow(tensor<32xf32>) -> tensor<16xf32> attributes {mpc.kernel}
}

// -----

// A catalog kernel that may work in place, but not of this operand.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<4x4xf32>>}, {buffer = #exec.buffer<arena + 64 : tensor<4x4xf32>>}, {buffer = #exec.buffer<arena + 128 : tensor<4x4xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<4x4xf32>>}, {buffer = #exec.buffer<arena + 128 : tensor<4x4xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>, #exec.value<1 + 0>, #exec.value<2 + 0>], outputs = [#exec.value<4 + 0>, #exec.value<3 + 0>], reads = {}, writes = {}, parts = []>} {
    exec.call "matmul_add" [0, 0] [#exec.buffer<arena + 0 : tensor<4x4xf32>>, #exec.buffer<arena + 64 : tensor<4x4xf32>>, #exec.buffer<arena + 128 : tensor<4x4xf32>>, #exec.buffer<arena + 128 : tensor<4x4xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>, #exec.value<2 + 0>, #exec.value<3 + 0>]}
    // expected-error @+2 {{operand 3 of 'matmul_add', a result, takes the place of operand 1, but the kernel may read its elements after writing there}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.call "matmul_add" [0, 0] [#exec.buffer<arena + 0 : tensor<4x4xf32>>, #exec.buffer<arena + 64 : tensor<4x4xf32>>, #exec.buffer<arena + 128 : tensor<4x4xf32>>, #exec.buffer<arena + 64 : tensor<4x4xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>, #exec.value<3 + 0>, #exec.value<4 + 0>]}
  }
}

// -----

// Other catalog kernels never work in place.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<4x4xf32>>}, {buffer = #exec.buffer<arena + 64 : tensor<4x4xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<4x4xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>, #exec.value<1 + 0>], outputs = [#exec.value<2 + 0>], reads = {}, writes = {}, parts = []>} {
    // expected-error @+2 {{operand 2 of 'matmul', a result, takes the place of operand 1, but the kernel may read its elements after writing there}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.call "matmul" [0, 0] [#exec.buffer<arena + 0 : tensor<4x4xf32>>, #exec.buffer<arena + 64 : tensor<4x4xf32>>, #exec.buffer<arena + 64 : tensor<4x4xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>, #exec.value<2 + 0>]}
  }
}

// -----

// Two results in the same memory.
module attributes {exec.arena_size = 256 : i64, exec.state_size = 0 : i64} {
  // expected-error @+2 {{output 0 of 'f' is tensor 1; its byte 0 should be byte 64 of the arena memory, but that holds byte 0 of tensor 2, written by 'two'}}
  // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
  exec.entry @f inputs = [{buffer = #exec.buffer<arena + 0 : tensor<16xf32>>}] outputs = [{buffer = #exec.buffer<arena + 64 : tensor<16xf32>>}] attributes {dataflow = #exec.dataflow<inputs = [#exec.value<0 + 0>], outputs = [#exec.value<1 + 0>], reads = {}, writes = {}, parts = []>} {
    // expected-error @+2 {{operand 2 of 'two', a result, overlaps operand 1, another}}
    // expected-note @+1 {{expected mpc-plan-memory to prevent this}}
    exec.launch @two items 1 grain 1 [#exec.buffer<arena + 0 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>, #exec.buffer<arena + 64 : tensor<16xf32>>] {values = [#exec.value<0 + 0>, #exec.value<1 + 0>, #exec.value<2 + 0>]}
  }
  func.func private @two(tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {mpc.kernel}
}
