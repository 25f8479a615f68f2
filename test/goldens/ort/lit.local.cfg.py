# The commands of the tests in this folder; %{model} is a folder of test/models/ort.
config.recursiveExpansionLimit = 3
config.substitutions[:0] = [
    ("%{prepare}", "%ort_data %{ort}/%{model} %t.all.npz %t.first.npz"),
    ("%{compile}", "mpc compile %{ort}/%{model} %{options} -o %t.mpc"),
    (
        "%{train}",
        "rm -rf %t.run && mpc train %t.mpc --data %t.all.npz --eval-data %t.first.npz"
        " --no-shuffle --threads=1 --checkpoint-dir %t.run --json > %t.json",
    ),
    ("%{compare}", "%compare_ort %{ort}/%{model}/golden.npz %t.json %t.run"),
    ("%{ort}", config.test_source_root + "/models/ort"),
]
