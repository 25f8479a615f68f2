# train-all.sh MPC PACKAGE MODEL DATA OPTIONS...: trains two epochs with each loss.
mpc=$1 package=$2 model=$3 data=$4
shift 4
for loss in cross-entropy mse l1 bce-with-logits huber smooth-l1 focal softmax-focal kl cosine poisson-nll; do
  "$mpc" compile "$model" --loss=$loss --batch=2 -o "$package" "$@"
  "$mpc" train "$package" --data "$data" --eval-data "$data" --epochs=2
done
