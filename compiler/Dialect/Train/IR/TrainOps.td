//===- TrainOps.td - Training ops, by family ---------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_TRAINOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_TRAINOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"
include "compiler/Dialect/Train/IR/EntryRoles.td"
include "compiler/Dialect/Train/IR/StateOps.td"
include "compiler/Dialect/Train/Ops/Elementwise/ElementwiseOps.td"
include "compiler/Dialect/Train/Ops/Function/FunctionOps.td"
include "compiler/Dialect/Train/Ops/Shape/ShapeOps.td"
include "compiler/Dialect/Train/Ops/Reduction/ReductionOps.td"
include "compiler/Dialect/Train/Ops/Contraction/ContractionOps.td"
include "compiler/Dialect/Train/Ops/Window/PoolingOps.td"
include "compiler/Dialect/Train/Ops/Window/WindowOps.td"
include "compiler/Dialect/Train/Ops/Attention/AttentionOps.td"
include "compiler/Dialect/Train/Ops/Recurrent/RecurrentOps.td"
include "compiler/Dialect/Train/Ops/Indexing/EmbeddingOps.td"
include "compiler/Dialect/Train/Ops/Indexing/IndexingOps.td"
include "compiler/Dialect/Train/Ops/Elementwise/IntegerOps.td"
include "compiler/Dialect/Train/Ops/Norm/NormalizationOps.td"
include "compiler/Dialect/Train/Ops/Loss/LossOps.td"
include "compiler/Dialect/Train/Ops/Random/RandomOps.td"
include "compiler/Dialect/Train/Ops/GradientOps.td"
include "compiler/Dialect/Train/Ops/Optimizer/OptimizerOps.td"
include "compiler/Dialect/Train/Ops/Observe/ObserveOps.td"

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_TRAINOPS_TD
