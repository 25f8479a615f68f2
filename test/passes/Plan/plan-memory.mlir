// RUN: mpc-opt %s --mpc-stage-fusion --mpc-plan-memory --mpc-verify-plan --split-input-file | FileCheck %s

// States follow one another in the state memory, each at a multiple of 64
// bytes; booleans take a byte.
// CHECK:       module attributes {exec.arena_size = 0 : i64, exec.arena_unshared_size = 0 : i64, exec.state_size = 320 : i64}
// CHECK:         train.state @a parameter {exec.offset = 0 : i64} : tensor<17xf32>
// CHECK:         train.state @b optimizer {exec.offset = 128 : i64} : tensor<65xi1>
// CHECK:         train.state @c control {exec.offset = 256 : i64} : tensor<f32>
train.state @a parameter : tensor<17xf32>
train.state @b optimizer : tensor<65xi1>
train.state @c control : tensor<f32>

// -----

// The function becomes an entry with the names of its inputs and outputs;
// arguments and results of a kernel are its operands.
// CHECK-LABEL: exec.entry @predict
// CHECK-SAME:    inputs = [{batch_dim = 0 : i64, buffer = #exec.buffer<arena + [[X:[0-9]+]] : tensor<64x128xf32>>, name = "x"}]
// CHECK-SAME:    outputs = [{buffer = #exec.buffer<arena + [[Y:[0-9]+]] : tensor<64x128xf32>>, name = "y"}]
// CHECK-NEXT:    exec.launch @kernel_0 items 2 grain {{[0-9]+}} [#exec.buffer<arena + [[X]] : {{[^>]*}}>>, #exec.buffer<arena + [[Y]] : {{[^>]*}}>>]
// CHECK-NEXT:{{^ +}}}
// CHECK-NOT:   func.func @predict
func.func @predict(%x: tensor<64x128xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}) -> (tensor<64x128xf32> {mpc.name = "y"}) attributes {train.entry = #train.entry<predict>} {
  %0 = train.relu %x : (tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// -----

// An argument that is returned, with any shape, is its own output: its memory is kept
// until the end.
// CHECK-LABEL: exec.entry @returned
// CHECK-SAME:    inputs = [{buffer = #exec.buffer<arena + [[X:[0-9]+]] : tensor<4x8xf32>>}]
// CHECK-SAME:    outputs = [{buffer = #exec.buffer<arena + [[X]] : tensor<32xf32>>}, {buffer = #exec.buffer<arena + [[X]] : tensor<4x8xf32>>}]
// CHECK-NEXT:{{^ +}}}
func.func @returned(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4x8xf32>) {
  %0 = train.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  return %0, %x : tensor<32xf32>, tensor<4x8xf32>
}

// -----

// The new value of a state is computed in place: the kernel reads and writes each
// element once.
// CHECK-LABEL: exec.entry @in_place
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<state + 0 : {{[^>]*}}>>, #exec.buffer<arena + 0 : {{[^>]*}}>>, #exec.buffer<state + 0 : {{[^>]*}}>>]
// CHECK-NEXT:{{^ +}}}
train.state @w parameter : tensor<64x128xf32>
func.func @in_place(%g: tensor<64x128xf32>) {
  %w = train.read @w : tensor<64x128xf32>
  %0 = train.sub %w, %g : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  train.write @w, %0 : tensor<64x128xf32>
  return
}

// -----

// Not if something reads the old value later: the new value is then copied at the end.
// CHECK-LABEL: exec.entry @read_later
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<state + 0 : {{[^>]*}}>>, #exec.buffer<arena + {{.*}}>>, #exec.buffer<arena + [[NEW:[0-9]+]] : tensor<64x64xf32>>]
// CHECK-NEXT:    exec.call "matmul" [0, 0] [#exec.buffer<state + 0
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<arena + [[NEW]] : tensor<64x64xf32>>, #exec.buffer<state + 0 : tensor<64x64xf32>>]
// CHECK-NEXT:{{^ +}}}
train.state @w parameter : tensor<64x64xf32>
func.func @read_later(%g: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %0 = train.sub %w, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  train.write @w, %0 : tensor<64x64xf32>
  %1 = train.matmul %w, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// Nor if the kernel reads the old value at computed positions: another element may
// need a value that would be overwritten.
// CHECK-LABEL: exec.entry @computed_read
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<arena + {{[0-9]+}} : tensor<64xi64>>, #exec.buffer<state + 0 : {{[^>]*}}>>, #exec.buffer<arena + [[NEW:[0-9]+]] : tensor<64x128xf32>>]
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<arena + [[NEW]] : tensor<64x128xf32>>, #exec.buffer<state + 0 : tensor<64x128xf32>>]
// CHECK-NEXT:{{^ +}}}
train.state @w parameter : tensor<64x128xf32>
func.func @computed_read(%i: tensor<64xi64>) {
  %w = train.read @w : tensor<64x128xf32>
  %0 = train.gather %w, %i : (tensor<64x128xf32>, tensor<64xi64>) -> tensor<64x128xf32>
  %1 = train.sub %w, %0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  train.write @w, %1 : tensor<64x128xf32>
  return
}

// -----

// Nor if the last read is later, through a view of a part.
// CHECK-LABEL: exec.entry @part_read_later
// CHECK:         exec.launch @kernel_0 {{.*}} #exec.buffer<arena + [[NEW:[0-9]+]] : tensor<16x1024xf32>>]
// CHECK-NEXT:    exec.call "matmul" [0, 0] [#exec.buffer<state + 4096 : tensor<64x64xf32>>
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<arena + [[NEW]] : {{[^>]*}}>>, #exec.buffer<state + 0 : {{[^>]*}}>>]
train.state @w parameter : tensor<16x1024xf32>
func.func @part_read_later(%g: tensor<16x1024xf32>, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = train.read @w : tensor<16x1024xf32>
  %0 = train.sub %w, %g : (tensor<16x1024xf32>, tensor<16x1024xf32>) -> tensor<16x1024xf32>
  train.write @w, %0 : tensor<16x1024xf32>
  %1 = train.unpack %w {offset = 1024 : i64} : (tensor<16x1024xf32>) -> tensor<64x64xf32>
  %2 = train.matmul %1, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

// Nor in a kernel that walks its rows more than once: the first phase would
// overwrite what the second reads.
// CHECK-LABEL: exec.entry @several_phases
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<state + 0 : {{[^>]*}}>>, #exec.buffer<arena + [[NEW:[0-9]+]] : {{[^>]*}}>>]
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<arena + [[NEW]] : {{[^>]*}}>>, #exec.buffer<state + 0 : {{[^>]*}}>>]
train.state @w statistic : tensor<64x10xf32>
func.func @several_phases() {
  %w = train.read @w : tensor<64x10xf32>
  %0 = train.softmax %w {axis = 1 : i64} : (tensor<64x10xf32>) -> tensor<64x10xf32>
  train.write @w, %0 : tensor<64x10xf32>
  return
}

// -----

// Nor if elements are moved.
// CHECK-LABEL: exec.entry @moved
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<state + 0 : {{[^>]*}}>>, #exec.buffer<arena + 0 : {{[^>]*}}>>]
// CHECK-NEXT:    exec.call "copy"
train.state @w statistic : tensor<8x8xf32>
func.func @moved() {
  %w = train.read @w : tensor<8x8xf32>
  %0 = train.transpose %w {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  train.write @w, %0 : tensor<8x8xf32>
  return
}

// -----

// Nor by a catalog kernel that reads it, but by one that does not.
// CHECK-LABEL: exec.entry @catalog
// CHECK-NEXT:    exec.call "matmul" [0, 0] [#exec.buffer<state + 0 : {{[^>]*}}>>, #exec.buffer<arena + {{[0-9]+}} : {{[^>]*}}>>, #exec.buffer<arena + [[NEW:[0-9]+]] : {{[^>]*}}>>]
// CHECK-NEXT:    exec.call "matmul" [0, 0] [#exec.buffer<arena + {{[0-9]+}} : {{[^>]*}}>>, #exec.buffer<arena + {{[0-9]+}} : {{[^>]*}}>>, #exec.buffer<state + 256 : {{[^>]*}}>>]
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<arena + [[NEW]] : {{[^>]*}}>>, #exec.buffer<state + 0 : {{[^>]*}}>>]
// CHECK-NEXT:{{^ +}}}
train.state @w statistic : tensor<8x8xf32>
train.state @v statistic : tensor<8x8xf32>
func.func @catalog(%x: tensor<8x8xf32>) {
  %w = train.read @w : tensor<8x8xf32>
  %0 = train.matmul %w, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = train.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  train.write @w, %0 : tensor<8x8xf32>
  train.write @v, %1 : tensor<8x8xf32>
  return
}

// -----

// A value for two states is computed in one and copied to the other.
// CHECK-LABEL: exec.entry @two_states
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<arena + 0 : {{[^>]*}}>>, #exec.buffer<state + 0 : {{[^>]*}}>>]
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<state + 0 : {{[^>]*}}>>, #exec.buffer<state + 64 : {{[^>]*}}>>]
// CHECK-NEXT:{{^ +}}}
train.state @a statistic : tensor<8xf32>
train.state @b statistic : tensor<8xf32>
func.func @two_states(%x: tensor<8xf32>) {
  %0 = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  train.write @a, %0 : tensor<8xf32>
  train.write @b, %0 : tensor<8xf32>
  return
}

// -----

// Parts of a packed tensor are computed in place. Gaps are zeroed; a value with its own
// memory (an argument) is copied.
// CHECK-LABEL: exec.entry @pack
// CHECK-SAME:    inputs = [{{.*}}, {buffer = #exec.buffer<arena + [[B:[0-9]+]] : tensor<8x2xf32>>}]
// CHECK-SAME:    outputs = [{buffer = #exec.buffer<arena + 0 : tensor<64xf32>>}]
// CHECK-NEXT:    exec.call "matmul" {{.*}} #exec.buffer<arena + 0 : tensor<4x2xf32>>]
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} #exec.buffer<arena + 64 : tensor<8x2xf32>>]
// CHECK-NEXT:    exec.call "zero" [] [#exec.buffer<arena + 32 : tensor<8xf32>>]
// CHECK-NEXT:    exec.call "zero" [] [#exec.buffer<arena + 128 : tensor<8xf32>>]
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<arena + [[B]] : {{[^>]*}}>>, #exec.buffer<arena + 160 : tensor<8x2xf32>>]
// CHECK-NEXT:    exec.call "zero" [] [#exec.buffer<arena + 224 : tensor<8xf32>>]
// CHECK-NEXT:{{^ +}}}
func.func @pack(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<64xf32> {
  %0 = train.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %1 = train.relu %b : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %2 = train.pack %0, %1, %b {offsets = array<i64: 0, 16, 40>} : (tensor<4x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// A value that is packed twice is computed in the first slot and copied.
// CHECK-LABEL: exec.entry @packed_twice
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} #exec.buffer<arena + 0 : tensor<16xf32>>]
// CHECK-NEXT:    exec.call "copy" [] [#exec.buffer<arena + 0 : {{[^>]*}}>>, #exec.buffer<arena + 64 : {{[^>]*}}>>]
// CHECK-NEXT:{{^ +}}}
func.func @packed_twice(%x: tensor<16xf32>) -> tensor<32xf32> {
  %0 = train.relu %x : (tensor<16xf32>) -> tensor<16xf32>
  %1 = train.pack %0, %0 {offsets = array<i64: 0, 16>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

// Values that are not needed at the same time share memory: of a chain of four, two are
// live at the same time, and the input until it is read.
// CHECK:       exec.arena_size = 32768 : i64, exec.arena_unshared_size = 81920 : i64
// CHECK-LABEL: exec.entry @reuse
func.func @reuse(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = train.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.matmul %0, %0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = train.matmul %1, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = train.matmul %2, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// -----

// An instruction is named after the nodes it comes from.
// CHECK-LABEL: exec.entry @names
// CHECK:         exec.launch @kernel_0 {{.*}} {name = "fc1 and 1 more", values
func.func @names(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = train.relu %x : (tensor<8xf32>) -> tensor<8xf32> loc("fc1")
  %1 = train.tanh %0 : (tensor<8xf32>) -> tensor<8xf32> loc("fc2")
  return %1 : tensor<8xf32>
}

// -----

// A part that begins where a larger tensor does, which does not fit into the slot.
// CHECK-LABEL: exec.entry @part_of_larger
// CHECK-SAME:    outputs = [{buffer = #exec.buffer<arena + [[PACK:[0-9]+]] : tensor<96xf32>>
// CHECK:         exec.call "matmul" {{.*}} #exec.buffer<arena + [[LARGE:[0-9]+]] : tensor<64x64xf32>>]
// CHECK:         exec.call "copy" [] [#exec.buffer<arena + [[LARGE]] : tensor<32xf32>>, #exec.buffer<arena + [[PACK]] : tensor<32xf32>>]
func.func @part_of_larger(%x: tensor<64x64xf32>, %y: tensor<64xf32>) -> tensor<96xf32> {
  %0 = train.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.unpack %0 {offset = 0 : i64} : (tensor<64x64xf32>) -> tensor<32xf32>
  %2 = train.relu %y : (tensor<64xf32>) -> tensor<64xf32>
  %3 = train.pack %1, %2 {offsets = array<i64: 0, 32>} : (tensor<32xf32>, tensor<64xf32>) -> tensor<96xf32>
  return %3 : tensor<96xf32>
}

// -----

// Nor into a state, which is followed by others.
// CHECK-LABEL: exec.entry @state_of_larger
// CHECK:         exec.call "matmul" {{.*}} #exec.buffer<arena + [[LARGE:[0-9]+]] : tensor<64x64xf32>>]
// CHECK:         exec.call "copy" [] [#exec.buffer<arena + [[LARGE]] : tensor<32xf32>>, #exec.buffer<state + 0 : tensor<32xf32>>]
train.state @w parameter : tensor<32xf32>
train.state @v parameter : tensor<32xf32>
func.func @state_of_larger(%x: tensor<64x64xf32>) {
  %0 = train.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = train.unpack %0 {offset = 0 : i64} : (tensor<64x64xf32>) -> tensor<32xf32>
  train.write @w, %1 : tensor<32xf32>
  return
}

// -----

// A result reuses the memory of an operand that is not read any more, also in a packed
// tensor: three products and two sums need two buffers.
// CHECK-LABEL: exec.entry @in_the_place_of_an_operand
// CHECK-NEXT:    exec.call "matmul" [0, 0] [{{.*}}, #exec.buffer<arena + [[P:[0-9]+]] : tensor<16x16xf32>>]
// CHECK-NEXT:    exec.call "matmul" [0, 1] [{{.*}}, #exec.buffer<arena + [[Q:[0-9]+]] : tensor<16x16xf32>>]
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<arena + [[P]] : {{[^>]*}}>>, #exec.buffer<arena + [[Q]] : {{[^>]*}}>>, #exec.buffer<arena + [[P]] : {{[^>]*}}>>]
// CHECK-NEXT:    exec.call "matmul" [0, 0] [#exec.buffer<arena + [[P]] : {{[^>]*}}>>, {{.*}}, #exec.buffer<arena + [[R:[0-9]+]] : tensor<16x16xf32>>]
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<arena + [[P]] : {{[^>]*}}>>, #exec.buffer<arena + [[R]] : {{[^>]*}}>>, #exec.buffer<arena + [[P]] : {{[^>]*}}>>]
func.func @in_the_place_of_an_operand(%x: tensor<16x16xf32>, %g: tensor<256xf32>) -> tensor<2x256xf32> {
  %p = train.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %q = train.matmul %x, %x {transpose_rhs} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = train.add %p, %q : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = train.matmul %0, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = train.add %0, %r : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = train.pack %1, %g {offsets = array<i64: 0, 256>} : (tensor<16x16xf32>, tensor<256xf32>) -> tensor<2x256xf32>
  return %2 : tensor<2x256xf32>
}

// -----

// Not if the kernel reads the operand again after writing there: so the second result
// reuses it, not the first, which reuses the memory of the input.
// CHECK-LABEL: exec.entry @read_again
// CHECK-NEXT:    exec.call "matmul" [0, 0] [#exec.buffer<arena + 0 : {{[^>]*}}>>, {{.*}}, #exec.buffer<arena + 1024 : tensor<16x16xf32>>]
// CHECK-NEXT:    exec.launch @kernel_0 {{.*}} [#exec.buffer<arena + 1024 : {{[^>]*}}>>, #exec.buffer<arena + 0 : {{[^>]*}}>>, #exec.buffer<arena + 1024 : {{[^>]*}}>>]
func.func @read_again(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %p = train.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = train.exp %p : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = train.mul %0, %p : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = train.matmul %0, %1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2, %1 : tensor<16x16xf32>, tensor<16x16xf32>
}
