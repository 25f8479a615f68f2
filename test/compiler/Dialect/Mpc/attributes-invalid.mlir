// RUN: mpc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'mpc.precison' is not declared in compiler/Attributes/Attributes.def}}
module attributes {mpc.precison = "bf16"} {
}

// -----

// expected-error @+1 {{'mpc.precision' must be a string, but is unit}}
module attributes {mpc.precision} {
}

// -----

// expected-error @+1 {{'mpc.loss_seed' is not allowed on modules}}
module attributes {mpc.loss_seed} {
}

// -----

// expected-error @+1 {{'mpc.range' must be two integers, [low, high), but is [0]}}
func.func @f(%x: tensor<2xi64> {mpc.range = [0]}) {
  return
}

// -----

// expected-error @+1 {{'mpc.tf32' is not allowed on inputs}}
func.func @f(%x: tensor<2xf32> {mpc.tf32}) {
  return
}

// -----

// expected-error @+1 {{'mpc.ignored' is not allowed on outputs}}
func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32> {mpc.ignored = 1 : i64}) {
  return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{'mpc.notes' is not allowed on functions}}
func.func @f() attributes {mpc.notes = ["a"]} {
  return
}

// -----

func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{'mpc.kernel' is not allowed on ops}}
  %0 = train.relu %x {mpc.kernel} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
