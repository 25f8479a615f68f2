// RUN: mpc-opt %s --mpc-share-kernels=minimum=2 | FileCheck %s
// RUN: mpc-opt %s --mpc-share-kernels=many=2 | FileCheck %s
// RUN: mpc-opt %s --mpc-share-kernels | FileCheck %s --check-prefix=FEW

// Fewer kernels than the minimum keep their code.
// FEW-NOT: @shared_kernel
// FEW-NOT: call

// Rows of 8 and of 24 columns. The step of the loop and the divisor are equal;
// the constant that both strides share is one argument.
// CHECK:       func.func private @shared_kernel(%[[OPERANDS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[COLUMNS:[a-z0-9]+]]: i64) attributes {mpc.kernel, no_inline}
// CHECK:         %[[FOUR:.*]] = arith.constant 4 : i64
// CHECK:         scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           arith.divui %[[ROW]], %[[FOUR]]
// CHECK:           arith.muli %[[ROW]], %[[COLUMNS]]
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[COLUMNS]] step %[[FOUR]]
// CHECK-LABEL: func.func private @narrow(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64)
// CHECK-NEXT:    %[[EIGHT:.*]] = arith.constant 8 : i64
// CHECK-NEXT:    call @shared_kernel(%arg0, %arg1, %arg2, %[[EIGHT]])
// CHECK-NEXT:    return
func.func private @narrow(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {mpc.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  scf.for %row = %begin to %end step %one : i64 {
    %outer = arith.divui %row, %four : i64
    %first = arith.muli %row, %eight : i64
    %place = arith.addi %outer, %first : i64
    scf.for %column = %zero to %eight step %four : i64 {
      %at = arith.addi %place, %column : i64
      %p = llvm.getelementptr %operands[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %x = llvm.load %p : !llvm.ptr -> f32
      llvm.store %x, %p : f32, !llvm.ptr
    }
  }
  return
}

// CHECK-LABEL: func.func private @wide(
// CHECK-NEXT:    %[[N:.*]] = arith.constant 24 : i64
// CHECK-NEXT:    call @shared_kernel(%arg0, %arg1, %arg2, %[[N]])
func.func private @wide(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {mpc.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %many = arith.constant 24 : i64
  scf.for %row = %begin to %end step %one : i64 {
    %outer = arith.divui %row, %four : i64
    %first = arith.muli %row, %many : i64
    %place = arith.addi %outer, %first : i64
    scf.for %column = %zero to %many step %four : i64 {
      %at = arith.addi %place, %column : i64
      %p = llvm.getelementptr %operands[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %x = llvm.load %p : !llvm.ptr -> f32
      llvm.store %x, %p : f32, !llvm.ptr
    }
  }
  return
}

// Another divisor: division by a constant is much faster.
// CHECK-LABEL: func.func private @other_divisor(
// CHECK-NOT:     call
// CHECK:         arith.divui
func.func private @other_divisor(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {mpc.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %five = arith.constant 5 : i64
  %many = arith.constant 24 : i64
  scf.for %row = %begin to %end step %one : i64 {
    %outer = arith.divui %row, %five : i64
    %first = arith.muli %row, %many : i64
    %place = arith.addi %outer, %first : i64
    scf.for %column = %zero to %many step %four : i64 {
      %at = arith.addi %place, %column : i64
      %p = llvm.getelementptr %operands[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %x = llvm.load %p : !llvm.ptr -> f32
      llvm.store %x, %p : f32, !llvm.ptr
    }
  }
  return
}

// Items that compute sums: the number of strips may differ.
// CHECK-LABEL: func.func private @two_strips(
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-NEXT:    call @shared_kernel_0(%arg0, %arg1, %arg2, %[[TWO]])
func.func private @two_strips(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {mpc.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 50 : i64
  %none = arith.constant 0.0 : f32
  %strips = arith.constant 2 : i64
  scf.for %item = %begin to %end step %one : i64 {
    %strip = arith.remui %item, %strips : i64
    %p = llvm.getelementptr %operands[%strip] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %sum = scf.for %row = %zero to %rows step %one iter_args(%total = %none) -> f32 : i64 {
      %x = llvm.load %p : !llvm.ptr -> f32
      %next = arith.addf %total, %x : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %p : f32, !llvm.ptr
  }
  return
}

// CHECK-LABEL: func.func private @three_strips(
// CHECK-NEXT:    %[[THREE:.*]] = arith.constant 3 : i64
// CHECK-NEXT:    call @shared_kernel_0(%arg0, %arg1, %arg2, %[[THREE]])
func.func private @three_strips(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {mpc.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 50 : i64
  %none = arith.constant 0.0 : f32
  %strips = arith.constant 3 : i64
  scf.for %item = %begin to %end step %one : i64 {
    %strip = arith.remui %item, %strips : i64
    %p = llvm.getelementptr %operands[%strip] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %sum = scf.for %row = %zero to %rows step %one iter_args(%total = %none) -> f32 : i64 {
      %x = llvm.load %p : !llvm.ptr -> f32
      %next = arith.addf %total, %x : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %p : f32, !llvm.ptr
  }
  return
}
