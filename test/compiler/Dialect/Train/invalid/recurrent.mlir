// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @lstm_c1(%a0: tensor<3x20xf32>, %a1: tensor<20x5xf32>, %a2: tensor<20xf32>, %a3: tensor<3x5xf32>, %a4: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.lstm' op input and recurrence must have ranks 3 and 2, but have 2 and 2}}
  // expected-error @+1 {{'train.lstm' op failed to infer returned types}}
  %0:4 = train.lstm %a0, %a1, %a2, %a3, %a4 : (tensor<3x20xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @lstm_c2_recurrence(%a0: tensor<4x3x20xf32>, %a1: tensor<15x5xf32>, %a2: tensor<20xf32>, %a3: tensor<3x5xf32>, %a4: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.lstm' op an input of [4, 3, 20] needs a recurrence of [20, a quarter of that], but it is [15, 5]}}
  // expected-error @+1 {{'train.lstm' op failed to infer returned types}}
  %0:4 = train.lstm %a0, %a1, %a2, %a3, %a4 : (tensor<4x3x20xf32>, tensor<15x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @lstm_c2_input(%a0: tensor<4x3x21xf32>, %a1: tensor<20x5xf32>, %a2: tensor<20xf32>, %a3: tensor<3x5xf32>, %a4: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.lstm' op an input of [4, 3, 21] needs}}
  // expected-error @+1 {{'train.lstm' op failed to infer returned types}}
  %0:4 = train.lstm %a0, %a1, %a2, %a3, %a4 : (tensor<4x3x21xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @lstm_c3(%a0: tensor<4x3x20xf32>, %a1: tensor<20x5xf32>, %a2: tensor<40xf32>, %a3: tensor<3x5xf32>, %a4: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.lstm' op 'bias' must have shape [20], but has [40]}}
  // expected-error @+1 {{'train.lstm' op failed to infer returned types}}
  %0:4 = train.lstm %a0, %a1, %a2, %a3, %a4 : (tensor<4x3x20xf32>, tensor<20x5xf32>, tensor<40xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @lstm_c4_hidden(%a0: tensor<4x3x20xf32>, %a1: tensor<20x5xf32>, %a2: tensor<20xf32>, %a3: tensor<5x3xf32>, %a4: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.lstm' op 'hidden' must have shape [3, 5], but has [5, 3]}}
  // expected-error @+1 {{'train.lstm' op failed to infer returned types}}
  %0:4 = train.lstm %a0, %a1, %a2, %a3, %a4 : (tensor<4x3x20xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<5x3xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @lstm_c4_cell(%a0: tensor<4x3x20xf32>, %a1: tensor<20x5xf32>, %a2: tensor<20xf32>, %a3: tensor<3x5xf32>, %a4: tensor<1x5xf32>) {
  // expected-error @+2 {{'train.lstm' op 'cell' must have shape [3, 5], but has [1, 5]}}
  // expected-error @+1 {{'train.lstm' op failed to infer returned types}}
  %0:4 = train.lstm %a0, %a1, %a2, %a3, %a4 : (tensor<4x3x20xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<1x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @lstm_grad_c1_rank(%a0: tensor<3x5xf32>, %a1: tensor<3x5xf32>, %a2: tensor<20x5xf32>, %a3: tensor<3x5xf32>, %a4: tensor<4x3x20xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.lstm_grad' op 'grad' must have rank 3, but has rank 2}}
  // expected-error @+1 {{'train.lstm_grad' op failed to infer returned types}}
  %0:3 = train.lstm_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<20x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @lstm_grad_c1_last_cell_grad(%a0: tensor<4x3x5xf32>, %a1: tensor<7x7xf32>, %a2: tensor<20x5xf32>, %a3: tensor<3x5xf32>, %a4: tensor<4x3x20xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.lstm_grad' op 'last_cell_grad' must have shape [3, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.lstm_grad' op failed to infer returned types}}
  %0:3 = train.lstm_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<7x7xf32>, tensor<20x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @lstm_grad_c1_recurrence(%a0: tensor<4x3x5xf32>, %a1: tensor<3x5xf32>, %a2: tensor<7x7xf32>, %a3: tensor<3x5xf32>, %a4: tensor<4x3x20xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.lstm_grad' op 'recurrence' must have shape [20, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.lstm_grad' op failed to infer returned types}}
  %0:3 = train.lstm_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<7x7xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @lstm_grad_c1_cell(%a0: tensor<4x3x5xf32>, %a1: tensor<3x5xf32>, %a2: tensor<20x5xf32>, %a3: tensor<7x7xf32>, %a4: tensor<4x3x20xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.lstm_grad' op 'cell' must have shape [3, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.lstm_grad' op failed to infer returned types}}
  %0:3 = train.lstm_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<20x5xf32>, tensor<7x7xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @lstm_grad_c1_gates(%a0: tensor<4x3x5xf32>, %a1: tensor<3x5xf32>, %a2: tensor<20x5xf32>, %a3: tensor<3x5xf32>, %a4: tensor<7x7xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.lstm_grad' op 'gates' must have shape [4, 3, 20], but has [7, 7]}}
  // expected-error @+1 {{'train.lstm_grad' op failed to infer returned types}}
  %0:3 = train.lstm_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<20x5xf32>, tensor<3x5xf32>, tensor<7x7xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @lstm_grad_c1_cells(%a0: tensor<4x3x5xf32>, %a1: tensor<3x5xf32>, %a2: tensor<20x5xf32>, %a3: tensor<3x5xf32>, %a4: tensor<4x3x20xf32>, %a5: tensor<7x7xf32>) {
  // expected-error @+2 {{'train.lstm_grad' op 'cells' must have shape [4, 3, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.lstm_grad' op failed to infer returned types}}
  %0:3 = train.lstm_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<20x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<7x7xf32>) -> (tensor<4x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @gru_c1(%a0: tensor<4x3x15xf32>, %a1: tensor<15xf32>, %a2: tensor<20xf32>, %a3: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.gru' op input and recurrence must have ranks 3 and 2, but have 3 and 1}}
  // expected-error @+1 {{'train.gru' op failed to infer returned types}}
  %0:3 = train.gru %a0, %a1, %a2, %a3 : (tensor<4x3x15xf32>, tensor<15xf32>, tensor<20xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @gru_c2(%a0: tensor<4x3x15xf32>, %a1: tensor<20x5xf32>, %a2: tensor<20xf32>, %a3: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.gru' op an input of [4, 3, 15] needs a recurrence of [15, a third of that], but it is [20, 5]}}
  // expected-error @+1 {{'train.gru' op failed to infer returned types}}
  %0:3 = train.gru %a0, %a1, %a2, %a3 : (tensor<4x3x15xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @gru_c3(%a0: tensor<4x3x15xf32>, %a1: tensor<15x5xf32>, %a2: tensor<15xf32>, %a3: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.gru' op 'bias' must have shape [20], but has [15]}}
  // expected-error @+1 {{'train.gru' op failed to infer returned types}}
  %0:3 = train.gru %a0, %a1, %a2, %a3 : (tensor<4x3x15xf32>, tensor<15x5xf32>, tensor<15xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @gru_c4(%a0: tensor<4x3x15xf32>, %a1: tensor<15x5xf32>, %a2: tensor<20xf32>, %a3: tensor<5x3xf32>) {
  // expected-error @+2 {{'train.gru' op 'hidden' must have shape [3, 5], but has [5, 3]}}
  // expected-error @+1 {{'train.gru' op failed to infer returned types}}
  %0:3 = train.gru %a0, %a1, %a2, %a3 : (tensor<4x3x15xf32>, tensor<15x5xf32>, tensor<20xf32>, tensor<5x3xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>)
  return
}

// -----

func.func @gru_grad_c1_rank(%a0: tensor<3x5xf32>, %a1: tensor<15x5xf32>, %a2: tensor<3x5xf32>, %a3: tensor<4x3x5xf32>, %a4: tensor<4x3x15xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.gru_grad' op 'grad' must have rank 3, but has rank 2}}
  // expected-error @+1 {{'train.gru_grad' op failed to infer returned types}}
  %0:3 = train.gru_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<3x5xf32>, tensor<15x5xf32>, tensor<3x5xf32>, tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @gru_grad_c1_recurrence(%a0: tensor<4x3x5xf32>, %a1: tensor<7x7xf32>, %a2: tensor<3x5xf32>, %a3: tensor<4x3x5xf32>, %a4: tensor<4x3x15xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.gru_grad' op 'recurrence' must have shape [15, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.gru_grad' op failed to infer returned types}}
  %0:3 = train.gru_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<7x7xf32>, tensor<3x5xf32>, tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @gru_grad_c1_hidden(%a0: tensor<4x3x5xf32>, %a1: tensor<15x5xf32>, %a2: tensor<7x7xf32>, %a3: tensor<4x3x5xf32>, %a4: tensor<4x3x15xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.gru_grad' op 'hidden' must have shape [3, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.gru_grad' op failed to infer returned types}}
  %0:3 = train.gru_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<15x5xf32>, tensor<7x7xf32>, tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @gru_grad_c1_states(%a0: tensor<4x3x5xf32>, %a1: tensor<15x5xf32>, %a2: tensor<3x5xf32>, %a3: tensor<7x7xf32>, %a4: tensor<4x3x15xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.gru_grad' op 'states' must have shape [4, 3, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.gru_grad' op failed to infer returned types}}
  %0:3 = train.gru_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<15x5xf32>, tensor<3x5xf32>, tensor<7x7xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @gru_grad_c1_gates(%a0: tensor<4x3x5xf32>, %a1: tensor<15x5xf32>, %a2: tensor<3x5xf32>, %a3: tensor<4x3x5xf32>, %a4: tensor<7x7xf32>, %a5: tensor<4x3x5xf32>) {
  // expected-error @+2 {{'train.gru_grad' op 'gates' must have shape [4, 3, 15], but has [7, 7]}}
  // expected-error @+1 {{'train.gru_grad' op failed to infer returned types}}
  %0:3 = train.gru_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<15x5xf32>, tensor<3x5xf32>, tensor<4x3x5xf32>, tensor<7x7xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @gru_grad_c1_products(%a0: tensor<4x3x5xf32>, %a1: tensor<15x5xf32>, %a2: tensor<3x5xf32>, %a3: tensor<4x3x5xf32>, %a4: tensor<4x3x15xf32>, %a5: tensor<7x7xf32>) {
  // expected-error @+2 {{'train.gru_grad' op 'products' must have shape [4, 3, 5], but has [7, 7]}}
  // expected-error @+1 {{'train.gru_grad' op failed to infer returned types}}
  %0:3 = train.gru_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<4x3x5xf32>, tensor<15x5xf32>, tensor<3x5xf32>, tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<7x7xf32>) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  return
}
