//===- Report.h - The report of a compilation -------------------*- C++ -*-===//
//
// The report travels as JSON, in the module and in the package:
//
//   { "version": 1, "model": "mlp.onnx", "precision": "bf16",
//     "functions": [ { "name": "step", "totals": {...},
//       "casts": [ { "from": "f32", "to": "bf16", "bytes": 6144, "op": 3,
//                    "weight": false } ],
//       "ops": [
//       { "op": "train.matmul", "node": "fc1", "type": "Gemm", "class": "low",
//         "module": "encoder.0", "phase": "forward",
//         "operand_dtype": "bf16", "dtype": "f32", "accumulate_dtype": "f32",
//         "casts_in": 1, "casts_out": 0,
//         "rule_id": "class", "rule": "class", "reason": "...",
//         ("range": "[0, 1]",) ("terms": [ "other", "summed" ],)
//         "inputs": [ { "dtype": "bf16", "bytes": 4096, "op": 3, "cast": 0 },
//                     { "dtype": "bf16", "bytes": 8192, "state": "fc1.weight",
//                       "pinned": true } ],
//         "flops": 1048576, "flops_16bit": 1048576, ("flops_8bit": 1048576,)
//         ("flops_tf32": 1048576,)
//         "bytes": 20480, "bytes_16bit": 12288 } ] } ],
//     "groups": [ { "lr_factor": 0.1, "weight_decay": 0,
//                   "parameters": [ "fc1.weight" ] } ],
//     "recompute": [ { "function": "step", "ops": 12, "forward_ops": 18,
//       "flops": 4096, "flops_16bit": 4096, "bytes": 8192, "bytes_16bit": 8192,
//       "before": { "ops": 40, "kept_stride": 1, "kept_bytes": [ 0, 1024 ] },
//       "after": { "ops": 52, "kept_stride": 1, "kept_bytes": [ 0, 512 ] } } ],
//     "totals": { "flops", "flops_16bit", "bytes", "bytes_16bit", "casts",
//                 "weight_casts" },
//     "summary": { "functions": [...], "devices": [...] },
//     "devices": [ { "device": "cuda",
//       "machine": { "name": "an H100", "bytes_per_ns": 3350, "flops_per_ns":
//                    { "f32": 67000, "tf32": 495000, "16bit": 990000,
//                      "8bit": 1979000 } },
//       "state_bytes": 8192, "arena_bytes": 4096, "arena_bytes_unshared": 9216,
//       "entries": [ { "name": "step", "launches": 3, "calls": 4,
//                      "bytes": 16384, "bytes_16bit": 8192,
//                      ("bytes_8bit": 512,)
//                      "live_stride": 1, "live_bytes": [ 1024, 4096 ] } ],
//       "kernels": [ { "name": "kernel_0", "node": "relu1",
//                      "launches": { "step": 2, "predict": 1 } } ],
//       "transposes": [ { "function": "step", "kernel": "kernel_1",
//                         "node": "conv1", "origin": "layout",
//                         "bytes": 3072 } ],
//       "architectures": [ { "name": "sm_90", "assembled": true, "kernels": [
//         { "name": "kernel_0", "registers": 24, "stack": 0,
//           "spill_stores": 0, "spill_loads": 0, "shared": 4096 } ] } ] } ] }
//
// `range` is what is proven of the elements of the first result, where that is
// more than nothing, for all data and all weights.
//
// `terms` says of each result how it is made of operands (Terms.h).
//
// `rule_id` is one of compiler/Report/Model/Rules.cpp and is never renamed;
// `rule` and `reason` are for people.
//
// `bytes` are those of float operands and results, each counted once per op,
// before ops are fused. `casts` do not count the one that the optimizer makes
// when it writes the working copy; `weight_casts` are those of weights
// elsewhere. What a cast or an operand is made by is a line of the same
// function (`op`), a tensor of the model (`state`) or an input (`input`).
//
// `groups` are those of parameters that --group and --no-decay tell apart;
// there are none without these.
//
// `recompute` is there if --recompute or --memory-budget was given: what runs
// again, which no other number before the devices counts, and the bytes that
// are kept for the backward pass, op by op of the function as it was before and
// as it is, the first `forward_ops` alike; of every `kept_stride` ops the most.
//
// `bytes` of an entry are those of floats that its kernels read and write, once
// for each kernel. With the rates of `machine` they make the estimate `time_ns`
// of the summary, by the format that something is computed in, read or written
// as (compiler/Report/Text/Time.h).
//
// `live_bytes` are those of the arena that hold something that is still needed,
// at every `live_stride`-th instruction.
//
// `other_devices` names those that the program is for, too, and that have a
// report of their own: their formats, or the reasons for them, are others.
//
// `transposes` are launches of kernels that do nothing else; `bytes` are read
// and written. What the assembler says of a kernel is in registers of a thread
// and bytes; where there was none, `assembled` is false and nothing is known.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_REPORT_H
#define MPC_COMPILER_SUPPORT_REPORT_H

#include "compiler/Attributes/Attributes.h"

#include "compiler/Support/Machine.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc {

inline constexpr int64_t kReportVersion = 1;

/// What an assembler says of one kernel; -1 where it does not.
struct KernelResources {
  std::string kernel;
  int64_t registers = -1;   ///< Of a thread.
  int64_t stack = -1;       ///< Bytes of a thread, as are spills.
  int64_t spillStores = -1; ///< Bytes written since registers ran out,
  int64_t spillLoads = -1;  ///< and read again.
  int64_t shared = -1;      ///< Bytes of a block.
};

struct ArchitectureReport {
  std::string name;       ///< "sm_80".
  bool assembled = false; ///< False: there was no assembler.
  std::vector<KernelResources> kernels;
};

struct DeviceReport {
  std::string device;
  std::string kernels; ///< JSON: kKernelReportAttr.
  std::vector<ArchitectureReport> architectures;
  Machine machine; ///< That stands for the device.
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_REPORT_H
