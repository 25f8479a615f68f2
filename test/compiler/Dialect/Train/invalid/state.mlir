// RUN: mpc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{unknown role of a state 'weight'}}
train.state @w weight : tensor<2xf32>

// -----

// state_c5
// expected-error @+1 {{'train.state' op with role step_count must be one number, but is 'tensor<1xi64>'}}
train.state @state_c5 step_count : tensor<1xi64>

// -----

// expected-note @+1 {{another is here}}
train.state @learning_rate learning_rate : tensor<f32>
// expected-error @+1 {{'train.state' op must be the only one with role learning_rate}}
train.state @state_c5 learning_rate : tensor<f32>

// -----

// expected-error @+1 {{'train.state' op 'initial_value' must have the type of the state, 'tensor<2xf32>', but has 'tensor<3xf32>'}}
train.state @state_c1 parameter : tensor<2xf32> = dense<0.0> : tensor<3xf32>

// -----

// expected-error @+1 {{'train.state' op slot 'w' must lie inside the 8 elements of the state, but is #train.slot<"w", 4, [5]>}}
train.state @state_c2_outside parameter {slots = [#train.slot<"w", 4, [5]>]} : tensor<8xf32>

// -----

// expected-error @+1 {{'train.state' op slots must not overlap, but 'w' ends at 5 and 'b' begins at 4}}
train.state @state_c2_overlap parameter {slots = [#train.slot<"b", 4, [2]>, #train.slot<"w", 0, [5]>]} : tensor<8xf32>

// -----

// A product of extents that overflows must not look small.
// expected-error @+1 {{'train.state' op slot 'w' must lie inside the 8 elements of the state}}
train.state @state_c2_huge parameter {slots = [#train.slot<"w", 0, [4294967296, 4294967296]>]} : tensor<8xf32>

// -----

// expected-error @+1 {{'train.state' op with role working_copy must name its original in 'of'}}
train.state @state_c3_missing working_copy : tensor<8xbf16>

// -----

train.state @w parameter : tensor<8xf32>
// expected-error @+1 {{'train.state' op with role constant must not have 'of': it belongs to no other state}}
train.state @state_c3_kind constant {of = @w} : tensor<8xf32>

// -----

// expected-error @+1 {{'train.state' op 'of' must name a state, but @w is none}}
train.state @state_c3_unknown working_copy {of = @w} : tensor<8xbf16>

// -----

// expected-note @+1 {{that state is here}}
train.state @w parameter : tensor<9xf32>
// expected-error @+1 {{'train.state' op must have the shape of the state that it belongs to, but they are 'tensor<8xbf16>' and 'tensor<9xf32>'}}
train.state @state_c3_shape working_copy {of = @w} : tensor<8xbf16>

// -----

func.func @read_c1() {
  // expected-error @+1 {{'train.read' op needs a state, but @read_c1 is none}}
  %0 = train.read @read_c1 : tensor<2xf32>
  return
}

// -----

// expected-note @+1 {{the state is here}}
train.state @w parameter : tensor<2xf32>
func.func @read_c1_type() {
  // expected-error @+1 {{'train.read' op value of type 'tensor<3xf32>' does not fit state @w of type 'tensor<2xf32>'}}
  %0 = train.read @w : tensor<3xf32>
  return
}

// -----

// expected-note @+1 {{the state is here}}
train.state @w parameter : tensor<2xf32>
func.func @write_c1(%x: tensor<2xbf16>) {
  // expected-error @+1 {{'train.write' op value of type 'tensor<2xbf16>' does not fit state @w of type 'tensor<2xf32>'}}
  train.write @w, %x : tensor<2xbf16>
  return
}

// -----

func.func @pack_c1_count(%x: tensor<2xf32>) {
  // expected-error @+1 {{'train.pack' op needs one offset per operand, but has 2 for 1}}
  %0 = train.pack %x {offsets = array<i64: 0, 2>} : (tensor<2xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @pack_c1_order(%x: tensor<2xf32>) {
  // expected-error @+1 {{'train.pack' op operands must follow each other, but operand 1 begins at 1, before the end of the preceding operand at 2}}
  %0 = train.pack %x, %x {offsets = array<i64: 0, 1>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @pack_c1_end(%x: tensor<2xf32>) {
  // expected-error @+1 {{'train.pack' op operands must lie inside 'tensor<8xf32>', but end at element 9}}
  %0 = train.pack %x {offsets = array<i64: 7>} : (tensor<2xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @pack_c2(%x: tensor<2xf32>, %y: tensor<2xbf16>) {
  // expected-error @+1 {{'train.pack' op operands must have the element type of 'tensor<8xf32>', but operand 1 is 'tensor<2xbf16>'}}
  %0 = train.pack %x, %y {offsets = array<i64: 0, 2>} : (tensor<2xf32>, tensor<2xbf16>) -> tensor<8xf32>
  return
}

// -----

func.func @unpack_c1(%x: tensor<8xf32>) {
  // expected-error @+1 {{'train.unpack' op elements 7 to 9 must lie inside 'tensor<8xf32>'}}
  %0 = train.unpack %x {offset = 7 : i64} : (tensor<8xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @unpack_c2(%x: tensor<8xf32>) {
  // expected-error @+1 {{'train.unpack' op must have the element type of its packed state, 'tensor<8xf32>', but is 'tensor<2xbf16>'}}
  %0 = train.unpack %x {offset = 0 : i64} : (tensor<8xf32>) -> tensor<2xbf16>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @+1 {{'train.constant' op value must have the type of the result, 'tensor<2xf32>', but has 'tensor<3xf32>'}}
  %0 = train.constant dense<1.0> : tensor<3xf32> : tensor<2xf32>
  return
}

// -----

func.func @gradient_c1(%y: tensor<f32>, %x: tensor<2xf32>) {
  // expected-error @+1 {{'train.gradient' op results must have the types of the xs}}
  %0 = train.gradient %y, %x : (tensor<f32>, tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @gradient_c2(%y: tensor<f32>, %x: tensor<2xf32>) {
  %h = train.neg %x : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{'train.gradient' op takes gradients only with respect to inputs of the function and reads of states, not results of train.neg}}
  %0 = train.gradient %y, %h : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
