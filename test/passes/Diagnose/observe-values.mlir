// RUN: mpc-opt %s --mpc-observe-values --split-input-file --mlir-print-local-scope | FileCheck %s
// RUN: mpc-opt %s --mpc-observe-values=injectable --split-input-file | FileCheck %s --check-prefix=INJECT

// The step is unchanged; the copy returns a row for each float tensor, in order, and
// writes nothing. A view stands for the value that it shows.
// CHECK-LABEL: func.func @step
// CHECK-NOT:     train.observe
// CHECK:         train.write @parameters
// CHECK-LABEL: func.func @observe(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32> {mpc.name = "x"})
// CHECK-SAME:    -> (tensor<5x80xf64> {mpc.name = "observations"})
// CHECK-SAME:    mpc.observations = [
// CHECK-SAME:      {kind = "input", name = "x", reads = array<i64>, tensor = tensor<4xf32>},
// CHECK-SAME:      {kind = "state", name = "parameters", reads = array<i64>, tensor = tensor<1x1024xf32>},
// CHECK-SAME:      {kind = "forward", name = "act", op = "train.relu", reads = array<i64: 0>, tensor = tensor<4xf32>, type = "Relu"},
// CHECK-SAME:      {kind = "backward", meant, name = "act.grad", op = "train.mul", reads = array<i64: 2>, tensor = tensor<2x2xf32>, type = "Relu"},
// CHECK-SAME:      {kind = "update", name = "optimizer", op = "train.add", reads = array<i64: 1>, tensor = tensor<1x1024xf32>, type = ""}]
// CHECK-SAME:    mpc.tested = array<i64: 2, 3>
// CHECK-DAG:     %[[R0:.*]] = train.observe %[[X]]
// CHECK-DAG:     %[[P:.*]] = train.read @parameters
// CHECK-DAG:     %[[R1:.*]] = train.observe %[[P]]
// CHECK:         %[[Y:.*]] = train.relu %[[X]]
// CHECK-NEXT:    %[[R2:.*]] = train.observe %[[Y]]
// CHECK:         %[[G:.*]] = train.mul
// CHECK-NEXT:    %[[R3:.*]] = train.observe %[[G]]
// CHECK:         %[[W:.*]] = train.add
// CHECK-NEXT:    %[[R4:.*]] = train.observe %[[W]]
// CHECK-NOT:     train.write
// CHECK:         %[[TABLE:.*]] = train.pack %[[R0]], %[[R1]], %[[R2]], %[[R3]], %[[R4]] {offsets = array<i64: 0, 80, 160, 240, 320>}
// CHECK-NEXT:    return %[[TABLE]]

// In both functions a state selects the op for the fault; the observed value is the one others read.
// INJECT:       train.state @fault_value fault_value
// INJECT:       train.state @fault_place fault_place
// INJECT-LABEL: func.func @step
// INJECT:         %[[Y:.*]] = train.relu
// INJECT-NEXT:    %[[BAD:.*]] = train.inject %[[Y]], %{{.*}}, %{{.*}} {index = 0 : i64}
// INJECT-NEXT:    train.reshape %[[BAD]]
// INJECT-LABEL: func.func @observe
// INJECT:         %[[Y:.*]] = train.relu
// INJECT-NEXT:    %[[BAD:.*]] = train.inject %[[Y]], %{{.*}}, %{{.*}} {index = 0 : i64}
// INJECT-NEXT:    train.observe %[[BAD]]
module attributes {mpc.precision = "fp32"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  func.func @step(%x: tensor<4xf32> {mpc.name = "x"}) -> (tensor<4xf32> {mpc.name = "loss"}, tensor<i1> {mpc.name = "finite"}) attributes {train.entry = #train.entry<step>} {
    %inf = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
    %p = train.read @parameters : tensor<1x1024xf32>
    %y = train.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc(#act)
    %v = train.reshape %y : (tensor<4xf32>) -> tensor<2x2xf32>
    %g = train.mul %v, %inf : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32> loc(#grad)
    %new = train.add %p, %p : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32> loc("optimizer")
    %finite = amp.all_finite %y, %g : tensor<4xf32>, tensor<2x2xf32>
    %kept = amp.select_if_finite %new over %p if %finite : tensor<1x1024xf32>
    train.write @parameters, %kept : tensor<1x1024xf32>
    return %y, %finite : tensor<4xf32>, tensor<i1>
  }
}
#act = loc("act"("Relu"))
#grad = loc("act.grad"("Relu"))

// -----

// A micro-batch returns whether it is finite. A rounding is only in the copy, where
// its value has a row.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    -> (tensor<f32> {mpc.name = "loss"}, tensor<i1> {mpc.name = "finite"})
// CHECK-NOT:     train.rounding
// CHECK:         %[[PACK:.*]] = train.pack
// CHECK:         %[[FINITE:.*]] = amp.all_finite %[[PACK]], %[[LOSS:.*]] {
// CHECK:         return %{{.*}}, %[[FINITE]]
// CHECK-LABEL: func.func @observe(
// CHECK-SAME:    -> (tensor<3x80xf64> {mpc.name = "observations"}, tensor<1x8xf64> {mpc.name = "roundings"})
// CHECK-SAME:    {kind = "forward", name = "train.neg", {{.*}}rounding = 0 : i64
// CHECK-SAME:    mpc.tested = array<i64: 1, 2>
// CHECK:         train.rounding
// INJECT-LABEL: func.func @accumulate
module attributes {mpc.precision = "fp32"} {
  train.state @gradients gradient_sum : tensor<1x1024xf32>
  func.func @accumulate(%x: tensor<f32> {mpc.name = "x"}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<accumulate>} {
    %loss = train.neg %x : (tensor<f32>) -> tensor<f32>
    %g = train.neg %loss : (tensor<f32>) -> tensor<f32>
    train.rounding %loss, %g : (tensor<f32>, tensor<f32>) -> tensor<8xf64>
    %pack = train.pack %g {mpc.gradients, offsets = array<i64: 0>} : (tensor<f32>) -> tensor<1x1024xf32>
    train.write @gradients, %pack : tensor<1x1024xf32>
    return %loss : tensor<f32>
  }
}

// -----

// Functions that do not train are not observed.
// CHECK-LABEL: func.func @predict
// CHECK-NOT:     @observe
// INJECT-LABEL: func.func @predict
module {
  func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<predict>} {
    return %x : tensor<4xf32>
  }
}
