//===- TrainOps.td - Training ops, by family ---------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_TRAINOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_TRAINOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"
include "compiler/Dialect/Train/IR/EntryRoles.td"
include "compiler/Dialect/Train/IR/StateOps.td"
include "compiler/Dialect/Train/IR/ElementwiseOps.td"
include "compiler/Dialect/Train/IR/FunctionOps.td"
include "compiler/Dialect/Train/IR/ShapeOps.td"
include "compiler/Dialect/Train/IR/ReductionOps.td"
include "compiler/Dialect/Train/IR/ContractionOps.td"
include "compiler/Dialect/Train/IR/PoolingOps.td"
include "compiler/Dialect/Train/IR/WindowOps.td"
include "compiler/Dialect/Train/IR/AttentionOps.td"
include "compiler/Dialect/Train/IR/EmbeddingOps.td"
include "compiler/Dialect/Train/IR/IndexingOps.td"
include "compiler/Dialect/Train/IR/IntegerOps.td"
include "compiler/Dialect/Train/IR/NormalizationOps.td"
include "compiler/Dialect/Train/IR/LossOps.td"
include "compiler/Dialect/Train/IR/RandomOps.td"
include "compiler/Dialect/Train/IR/GradientOps.td"
include "compiler/Dialect/Train/IR/OptimizerOps.td"
include "compiler/Dialect/Train/IR/ObserveOps.td"

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_TRAINOPS_TD
