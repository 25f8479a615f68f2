"""Processes that mpirun has started train as one process, and as `mpc train`."""

import filecmp
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from digits import FOLDER, run_mpc

SCRIPT = (sys.executable, "-m", "with_ranks.script")
TESTS = pathlib.Path(__file__).resolve().parent.parent
LAUNCHERS = [name for name in ("mpirun.openmpi", "mpirun.mpich") if shutil.which(name)]
# Open MPI refuses to run as root, or more processes than CPUs, unless asked.
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def start(launcher, *command):
    return subprocess.Popen(
        [launcher, "-n", "2", *map(str, command)], env=ENVIRONMENT, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, cwd=TESTS,
    )


class Processes(unittest.TestCase):
    def setUp(self):
        self.assertTrue(LAUNCHERS)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def run_script(self, launcher, what, folder="", status=0):
        process = start(launcher, *SCRIPT, what, os.path.join(self.folder, folder))
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode == 0, status == 0, output)
        return output

    def test_sessions(self):
        for launcher in LAUNCHERS:
            self.assertEqual(self.run_script(launcher, "session").count("equal"), 2)

    def test_trainer_is_the_command(self):
        package = os.path.join(self.folder, "m.mpc")
        run_mpc("compile", FOLDER / "mlp.onnx", "--batch=16", "--precision=fp32",
                "--data-parallel", "-o", package)
        data = ["--data", FOLDER / "digits-train.npz", "--threads=1", "--checkpoint-every=20"]
        expected = os.path.join(self.folder, "command")

        def command(launcher, folder, *more):
            process = start(launcher, os.environ["MPC_COMMAND"], "train", package, *data,
                            f"--checkpoint-dir={folder}", *more)
            output, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, output)

        command(LAUNCHERS[0], expected, "--epochs=2", "--seed=3")
        for launcher in LAUNCHERS:
            own, other = launcher, f"{launcher}-continued"
            output = self.run_script(launcher, "trainer", own)
            self.assertEqual(output.count("left out in each epoch"), 1, output)
            self.assertEqual(output.count("step 94 loss"), 1, output)
            self.assertIn("model.mpc", os.listdir(os.path.join(self.folder, own, "trained")))
            # The command begins, and the trainer continues; then the other way around.
            command(launcher, os.path.join(self.folder, other), "--steps=30", "--seed=3")
            self.run_script(launcher, "resume", other)
            stopped = f"{launcher}-stopped"
            self.run_script(launcher, "stop", stopped)
            self.assertEqual(
                sorted(os.listdir(os.path.join(self.folder, stopped))),
                [".lock", "log_history.json", "step-5", "trained"],
            )
            command(launcher, os.path.join(self.folder, stopped), "--epochs=2", "--resume")
            for folder in (own, other, stopped):
                for name in os.listdir(f"{expected}/step-94"):
                    path = os.path.join(self.folder, folder, "step-94", name)
                    self.assertTrue(filecmp.cmp(f"{expected}/step-94/{name}", path, False), path)

    def test_failures(self):
        for launcher in LAUNCHERS:
            for what in ("raise", "fail"):
                begin = time.monotonic()
                output = self.run_script(launcher, what, f"{launcher}-{what}", status=1)
                self.assertIn("ValueError: my own error", output)
                self.assertLess(time.monotonic() - begin, 45)  # The other one would wait 60 s.
            output = self.run_script(launcher, "hang", status=1)
            self.assertRegex(output, r"RankLost: no answer from rank 1 on \S+ for 2 s")

    def test_signals(self):
        for launcher in LAUNCHERS:
            for number, words in ((signal.SIGTERM, "stopped by SIGTERM on rank 1"),
                                  (signal.SIGINT, "KeyboardInterrupt")):
                folder = os.path.join(self.folder, f"{launcher}-{number}")
                process = start(launcher, *SCRIPT, "wait", folder)
                end = time.monotonic() + 60
                while not os.path.exists(f"{folder}/ready"):
                    self.assertTrue(time.monotonic() < end and process.poll() is None)
                    time.sleep(0.05)
                os.kill(self.second_rank(process), number)
                output, _ = process.communicate(timeout=60)
                self.assertNotEqual(process.returncode, 0)
                self.assertIn(words, output)
                (saved,) = (name for name in os.listdir(folder) if name.startswith("step-"))
                run_mpc("checkpoint", "verify", os.path.join(folder, saved))

    def second_rank(self, process):
        for entry in os.listdir("/proc"):
            try:
                command = pathlib.Path(f"/proc/{entry}/cmdline").read_text()
                environment = pathlib.Path(f"/proc/{entry}/environ").read_text()
            except OSError:
                continue  # It has ended, or is none.
            is_script = command.startswith(sys.executable) and self.folder in command
            if is_script and re.search(r"(?:OMPI_COMM_WORLD|PMI)_RANK=1\0", environment):
                return int(entry)
        self.fail("rank 1 was not found")


if __name__ == "__main__":
    unittest.main()
