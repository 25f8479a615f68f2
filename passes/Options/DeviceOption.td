//===- DeviceOption.td - The device of a pass --------------*- tablegen -*-===//
#ifndef MPC_PASSES_OPTIONS_DEVICEOPTION_TD
#define MPC_PASSES_OPTIONS_DEVICEOPTION_TD

include "mlir/Pass/PassBase.td"

// For passes whose Passes.h includes compiler/Target/Backend.h.
def DeviceOption
    : Option<"device", "device", "const ::mpc::Backend *",
             /*default=*/"::mpc::defaultBackend()", "What the kernels are for",
             [{::mpc::BackendValues()}]>;

#endif // MPC_PASSES_OPTIONS_DEVICEOPTION_TD
