#!/usr/bin/env bash
# From two ONNX files to two trained models: compiles the digits examples in
# bf16, trains them on handwritten digits, shows the precision report and the
# accuracy on images not used for training, and exports the models to ONNX.
# Running it again skips finished work; --again trains from scratch.
#
# usage: tools/demo.sh [--again]
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  "" | --again) ;;
  *) refuse_or_help "$1" 7 ;;
esac

digits=$root/runtime/examples/digits
demo=$build/demo
mpc=$build/bin/mpc

step "Installing what is missing" "$root/tools/setup.sh"
step "Configuring" configure
step "Building the mpc command" cmake --build "$build" --target mpc

[ "${1:-}" != --again ] || rm -rf "$demo"
mkdir -p "$demo"
cd "$demo"

# A recompiled package needs a new training run.
compile() {
  if [ "$1.mpc" -nt "$digits/$1.onnx" ] && [ "$1.mpc" -nt "$mpc" ]; then
    echo "    $1.mpc is up to date"
    return
  fi
  rm -rf "$1-run"
  "$mpc" compile "$digits/$1.onnx" --precision=bf16 --batch=64
}

train() {
  "$mpc" train "$1.mpc" --data "$digits/digits-train.npz" \
    --eval-data "$digits/digits-test.npz" --epochs=30 \
    --checkpoint-dir="$1-run" --resume
}

export_model() {
  "$mpc" export "$1.mpc" --checkpoint "$1-run" --model "$digits/$1.onnx" \
    -o "$1-trained.onnx"
}

for model in mlp cnn; do
  step "Compiling $model.onnx for mixed precision, bf16" compile "$model"
  step "Training $model on 1500 handwritten digits, 30 epochs" train "$model"
  step "Which op of $model runs in which precision" \
    "$mpc" report "$model.mpc" --function=step
  step "Exporting the trained $model to ONNX" export_model "$model"
done

printf '\n%sAccuracy on 297 images that training never saw%s\n' "$bold" "$plain"
for model in mlp cnn; do
  printf '%s  ' "$model"
  "$mpc" eval "$model.mpc" --data "$digits/digits-test.npz" --checkpoint "$model-run"
done
echo "Packages, checkpoints and trained ONNX files are in $demo"
