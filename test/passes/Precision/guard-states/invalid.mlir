// RUN: mpc-opt %s --mpc-guard-states --verify-diagnostics

module attributes {mpc.precision = "fp32"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  // expected-error @+1 {{'step' trains, but packs no gradients that could be tested}}
  func.func @step(%x: tensor<1x1024xf32>) attributes {train.entry = #train.entry<step>} {
    train.write @parameters, %x : tensor<1x1024xf32>
    return
  }
}
