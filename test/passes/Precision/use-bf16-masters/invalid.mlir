// RUN: mpc-opt %s -split-input-file -verify-diagnostics -mpc-use-bf16-masters=master-weights=bf16-kahan

// expected-error @+1 {{option 'master-weights'=bf16-kahan requires weights that are read in bf16, but the precision is fp16}}
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
}

// -----

module attributes {mpc.precision = "bf16"} {
  // expected-error @+1 {{the initial value of 'parameters' is not available}}
  train.state @parameters parameter : tensor<2xf32> = dense_resource<nowhere> : tensor<2xf32>
}
