// RUN: mpc-opt %s --split-input-file --verify-diagnostics

// expected-note @+1 {{the other is here}}
func.func @step() attributes {train.entry = #train.entry<step>} {
  return
}
// expected-error @+1 {{a program has one entry 'step', but this is a second one}}
func.func @again() attributes {train.entry = #train.entry<step>} {
  return
}

// -----

// expected-error @+1 {{'train.entry' must be a role such as #train.entry<step>, but is "step"}}
func.func @text() attributes {train.entry = "step"} {
  return
}

// -----

func.func @op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'train.entry' is only allowed on functions of a module}}
  %0 = train.relu %x {train.entry = #train.entry<step>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'train.entyr' is not an attribute of the train dialect}}
func.func @unknown() attributes {train.entyr = #train.entry<step>} {
  return
}
